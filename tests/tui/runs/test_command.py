"""`deepthink runs`: what ran can be listed, shown again and written down."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from agent import checkpoints
from agent import events as ev
from agent.run import Resumable
from tests.tui import parts, stored
from tests.tui.conftest import QUESTION, Run
from tests.tui.stored import cut_off
from traces.runs import Runs
from tui.assemble import open_store
from tui.run.fold import fold_of


@pytest.fixture
def ran(library: Path, deepthink: Run) -> str:
    """One run is stored; what it showed."""
    return deepthink("ask", QUESTION, "--plain").out


def test_a_replay_shows_what_the_run_showed(ran: str, deepthink: Run) -> None:
    assert deepthink("runs", "show").out == ran
    assert deepthink("runs", "show", "last", "--plain").out == ran
    run_id = ran.rsplit("run ", maxsplit=1)[-1].strip()
    assert deepthink("runs", "show", run_id[:5]).out == ran


def test_json_is_what_ask_gives_and_of_an_imported_run_what_is_known(
    library: Path, deepthink: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "t.parquet"
    original = json.loads(deepthink("ask", QUESTION, "--json").out)
    assert json.loads(deepthink("runs", "export", "-f", "json").out) == original
    assert deepthink("traces", "export", str(file)).code == 0
    monkeypatch.setenv("DEEPTHINK_HOME", str(tmp_path / "other"))
    assert deepthink("traces", "import", str(file)).code == 0
    exported = json.loads(deepthink("runs", "export", "-f", "json").out)
    for name in ("run_id", "question", "status"):
        assert exported[name] == original[name]
    assert exported["decisions"] == original["decisions"]
    assert deepthink("runs", "export").out.startswith(f"# {QUESTION}\n")


def test_markdown_of_a_run_in_which_everything_happened(deepthink: Run) -> None:
    stored.store_page()
    stored.store_run(stored.everything(), question=stored.ASKED)
    text = deepthink("runs", "export").out
    headings = [line.removeprefix("## ") for line in text.splitlines() if line.startswith("## ")]
    parts_of_it = "Claims Sources Contradictions Plan Steps Decisions".split()
    assert headings == [*parts_of_it, "Stepping in", "Run"]
    for part in (
        f"# {stored.ASKED}\n\nTaken to ask: {stored.QUESTION}\n",
        "1 of 3 sentences is supported by its sources.",
        "- supported: Tolvang supplies it. [1]\n",
        "- **only partly supported** (the sources do not say “May”): It burnt in May. [2]\n",
        "**[1] Supply › Bearings, p. 3** (facts, `supplier.md`, 2024-05-01)",
        f"(web, <{stored.PAGE}>, 2024-06-02)",
        "- 40 units [1] (2024-05-01) is followed, 30 ",
        "1. Who supplies it?  \n   Tolvang does. [1]\n   - search: who supplies it (hybrid, in facts: ",
        "   - grade: 1 maybe relevant, 1 not relevant (calibrated): not enough\n"
        "   - retry: searching asking the web\n"
        f"     - <{stored.PAGE}>\n     - javascript:alert(1)\n   - search: fire at Tolvang",
        "- after step 1: FINISH by rules (FINISH 70%, CONTINUE 20%, REVISE 10%): enough",
        "- Which year? → you: the last one\n",
        "- The answer is not grounded. → you chose: accept it as it is\n",
        "- also to be found out: What of Brevnes?\n",
        "- route: research in steps: it asks for two things\n",
        "- ended: answered with doubts\n",
        "- resumed: once\n",
    ):
        assert part in text
    assert "<script>" not in text
    assert not re.search(r"[\x00-\x08\x0b-\x1f]", text)


def test_json_of_a_run_in_which_everything_happened(deepthink: Run) -> None:
    stored.store_page()
    stored.store_run(stored.everything(), question=stored.ASKED, session="0123456789ab")
    run = json.loads(deepthink("runs", "export", "-f", "json").out)
    expected = {
        "question": stored.ASKED,
        "standalone": stored.QUESTION,
        "session": "0123456789ab",
        "route": "deep",
        "routed_because": "it asks for two things",
        "routed_by": "llm",
        "grounded": False,
        "share": 0.5,
        "resumed": 1,
        "steering": [{"what": "add", "detail": "What of Brevnes?", "waited": 0.0}],
    }
    assert {name: run[name] for name in expected} == expected
    verdicts = [(s["verdict"], s["flagged"]) for s in run["sentences"]]
    assert verdicts == [("supported", False), ("partly", True), ("not", True)]
    assert run["answer"].startswith("Tolvang supplies it")  # the last one, not the draft before it
    assert [source["url"] for source in run["sources"]] == ["", stored.PAGE, ""]
    assert run["sources"][0]["quote"] == stored.QUOTE
    assert [item["number"] for item in run["evidence"]] == [1, 2, 3]
    (step,) = run["steps"]
    assert [(s["query"], s["strategy"], s["rung"], len(s["hits"])) for s in step["searches"]] == [
        ("who supplies it", "hybrid", "", 2),
        ("supplier of it", "keyword", "", 1),
        ("fire at Tolvang", "hybrid", "web", 1),
    ]
    assert [hit["passage_id"] for hit in step["hits"]] == [101, 102, 103]
    assert [grading["grade"] for grading in step["gradings"]] == ["incorrect", "correct"]
    graded = {"passage_id": 101, "grade": "ambiguous", "probability": 0.4}
    assert step["gradings"][0]["passages"][0] == graded
    assert step["grade"] == "correct"
    assert [(c["rung"], len(c["pages"])) for c in step["corrections"]] == [("web", 2)]
    assert step["kept"] == [1, 2, 3]
    assert run["contradictions"][0]["value"] == "40 units"
    replies = [(r["about"], r["reply"]) for r in run["replies"]]
    assert replies == [("clarify", "the last one"), ("approve", "accept")]
    tokens = {"evaluated": 50, "reused": 10, "generated": 5}
    assert run["nodes"][0] == {"node": "route", "step": 0, "seconds": 0.3, **tokens}


_UNCONFIRMED = [
    (1.0, ev.Answered("It burnt [1].", [parts.claim("It burnt.", "unsure")], [stored.passage(1)]))
]


@pytest.mark.parametrize(
    ("status", "events", "code", "word"),
    [
        ("answered", (), 0, "answered"),
        ("answered", stored.everything(), 9, "answered with doubts"),
        ("answered", _UNCONFIRMED, 9, "answered with doubts"),
        ("not_found", (), 3, "not found"),
        ("waiting", (), 7, "waiting"),
        ("rejected", (), 8, "withheld"),
    ],
)
def test_how_a_run_ended_is_one_word_everywhere_and_its_exit_code(
    status: str, events: Sequence[tuple[float, ev.Event]], code: int, word: str, deepthink: Run
) -> None:
    run_id = stored.store_run(events, status=status)
    fold = fold_of(open_store(), Runs(open_store()).find(run_id))
    assert (fold.status, fold.exit_code) == (status, code)
    (listed,) = json.loads(deepthink("runs", "--json").out)
    for told in (listed, json.loads(deepthink("runs", "export", "-f", "json").out)):
        assert told["status"] == word.replace(" ", "_")
    assert word in deepthink("runs").out
    assert word in deepthink("runs", "export").out


def test_what_can_be_resumed_is_listed_with_why_and_how(
    deepthink: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    whys: dict[Any, tuple[str, str]] = {
        "waiting": ("waiting", "waits for you"),
        "interrupted": ("running", "was interrupted"),
        "failed": ("failed", "failed"),
        "cancelled": ("cancelled", "was cancelled"),
        "going on": ("running", "is going on"),
    }
    for why, (status, words) in whys.items():
        run = Runs(open_store()).find(stored.store_run(status=status, question="Who owns it?"))
        monkeypatch.setattr("agent.run.resumable", lambda _store: [Resumable(run, why)])  # noqa: B023
        for command in ("runs --unfinished", "runs list -u"):
            out = " ".join(deepthink(*command.split()).out.split())
            for told in (run.id, words, "Who owns it?"):
                assert told in out
            assert (f"deepthink resume {run.id}" in out) == (why != "going on")


def test_a_run_that_is_going_on_is_running_neither_the_last_nor_deleted_and_a_killed_one_unfinished(
    deepthink: Run,
) -> None:
    killed, ended = cut_off(), stored.store_run(question="Who owned it?")
    run_id = cut_off(question="Who owns it?")
    with checkpoints.open_checkpoints(open_store(), run_id, lambda _log: None):
        listed = {run["run_id"]: run["status"] for run in json.loads(deepthink("runs", "--json").out)}
        assert listed == {killed: "unfinished", ended: "answered", run_id: "running"}
        assert re.search(rf"{run_id} .* running ", deepthink("runs").out)
        for command in ("show", "export"):
            assert "Who owned it?" in deepthink("runs", command, "last").out
        assert f"Run {run_id} is still going on." in deepthink("runs", "show", run_id).out
        told = deepthink("runs", "delete", run_id, "--yes").refused()
    assert f"Run {run_id} is being worked on by another process." in told
    assert "running" not in deepthink("runs").out
    assert "Who owns it?" in deepthink("runs", "show", "last").out, "it was cut off"


def test_a_run_without_an_answer_is_not_rated(deepthink: Run) -> None:
    run_id = stored.store_run(status="cancelled", answer="")
    assert f"Run {run_id} has no answer to rate." in deepthink("runs", "rate", run_id, "good").refused()
    assert deepthink("runs", "rate", run_id, "--drop").code == 0


def test_no_command_takes_a_run_that_is_going_on_for_the_last(deepthink: Run) -> None:
    run_id = cut_off(events=[(0.5, parts.decided())])
    commands = ("runs show", "runs export", "traces show", "traces label last 1 finish", "forget run last")
    with checkpoints.open_checkpoints(open_store(), run_id, lambda _log: None):
        for command in commands:
            said = deepthink(*command.split()).refused()
            assert "No run has ended yet: one is still going on." in said, command
        ended = stored.store_run([(0.5, parts.decided())])
        stored.store_run(question="Who owned it?")  # it decided nothing
        newest = cut_off(events=[(0.5, parts.decided())])
        with checkpoints.open_checkpoints(open_store(), newest, lambda _log: None):
            assert json.loads(deepthink("traces", "show", "--json").out)["run_id"] == ended
            assert ended in deepthink("traces", "label", "last", "1", "finish").out


def test_a_replay_says_what_is_to_be_done_about_a_run_without_an_end(deepthink: Run) -> None:
    killed = stored.store_run(status="running")
    assert deepthink("runs", "--unfinished").out == "There is nothing to resume.\n"
    shown = deepthink("runs", "show").out
    assert f"Run {killed} has no end" in shown
    assert "--unfinished" not in shown, "it would lead nowhere"
    waiting = stored.store_run(status="waiting")
    assert f"deepthink resume {waiting}" in deepthink("runs", "show").out
    cut_off()
    assert "deepthink runs --unfinished" in deepthink("runs", "show").out


def test_deleting_asks_or_needs_a_yes_and_takes_all_of_a_run_and_no_other(
    deepthink: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone, kept = cut_off(), cut_off()
    assert "The latest 1 of 2 runs" in deepthink("runs", "list", "-n", "1").out
    assert "latest" not in deepthink("runs", "list").out
    assert "Add --yes" in deepthink("runs", "delete", gone).refused()
    ran = deepthink("runs", "delete", gone[:8], "--yes")
    assert (ran.code, ran.out, ran.err) == (0, f"Deleted run {gone}.\n", "")
    runs = Runs(open_store())
    assert [run.id for run in runs.recent()] == [kept]
    assert not runs.events(gone)
    assert not checkpoints.exists(open_store(), gone)
    assert checkpoints.exists(open_store(), kept)
    evil = stored.store_run(question=f"Why {stored.EVIL}?")
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    asked: list[str] = []
    monkeypatch.setattr("typer.confirm", lambda text, **_how: asked.append(text))
    assert deepthink("runs", "delete", "last").code == 0
    (question,) = asked
    assert question.startswith(f"Delete run {evil} “Why ")
    assert "\x1b" not in question
    assert [run.id for run in runs.recent()] == [kept]


def test_an_unknown_run_is_wrong_usage(deepthink: Run) -> None:
    for command, wanted in product(("show", "export", "delete"), ("last", "zzz")):
        deepthink("runs", command, wanted).refused()


def test_an_export_is_written_to_a_file_or_to_stdout(
    deepthink: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored.store_run()
    text = deepthink("runs", "export").out
    file, missing = tmp_path / "run.md", str(tmp_path / "not" / "there.md")
    assert deepthink("runs", "export", "last", "-o", str(file)).code == 0
    assert file.read_text(encoding="utf-8") == text
    monkeypatch.chdir(tmp_path)
    assert deepthink("runs", "export", "-o", "-").out == text
    assert not Path("-").exists()
    assert missing in deepthink("runs", "export", "-o", missing).refused(4)


def test_what_a_run_should_have_looked_up_is_said_shown_and_withdrawn(ran: str, deepthink: Run) -> None:
    planned = deepthink("runs", "plan", "last").out
    said = deepthink("runs", "plan", "last", "Who makes the bearings?", "Where is #1?")
    assert said.code == 0
    assert said.out.endswith("1 plan so far, the planner can learn from 10.\n")
    assert deepthink("runs", "plan", "last").out == "Who makes the bearings?\nWhere is #1?\n"
    shown = json.loads(deepthink("runs", "plan", "last", "--json").out)
    assert (shown["question"], shown["corrected"]) == (QUESTION, True)
    assert shown["lookups"][1] == {"collection": "", "question": "Where is #1?"}
    deepthink("runs", "plan", "last", "--drop", "--json").refused()
    assert "nowhere" in deepthink("runs", "plan", "last", "[nowhere] Who makes the bearings?").refused()
    assert deepthink("runs", "plan", "last", "--drop").code == 0
    assert deepthink("runs", "plan", "last").out == planned
