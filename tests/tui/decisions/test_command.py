"""`deepthink traces`: decisions can be listed, read with what came of them, labelled, counted, moved."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent.decisions.decider import OLDEST_VERSION, STATE_VERSION
from tests.traces.test_decisions import LINE, TREE
from tests.traces.test_parquet import collected, rows, watched
from tests.tui import stored
from tests.tui.conftest import QUESTION, Run
from traces.collected import Collected, Gold
from traces.decisions import Labels, Outcome
from traces.runs import Ratings, Runs
from traces.store import Store
from tui.assemble import open_store


@pytest.fixture
def ids() -> tuple[str, str]:
    """A watched run with a label and a rating, and a collected tree; the tree is the newer."""
    store = open_store()
    return watched(store), collected(store)


def test_without_a_decision_each_says_what_to_do(deepthink: Run, tmp_path: Path) -> None:
    assert "deepthink ask" in deepthink("traces").out
    assert "deepthink ask" in deepthink("traces", "stats").out
    stored.store_run()
    for told in (deepthink("traces").out, stats := deepthink("traces", "stats").out):
        assert "1 run so far" in told
    assert "deepthink collect" in stats
    export = deepthink("traces", "export", str(tmp_path / "t.parquet"))
    assert "No decision is stored yet" in export.refused()


def test_a_real_run_can_be_read_as_it_was_decided_also_without_its_document(
    library: Path, deepthink: Run
) -> None:
    deepthink("ask", QUESTION)
    run_id = Runs(open_store()).find("last").id
    out = deepthink("traces", "show", "--state").out
    assert out.startswith(f"{QUESTION}\nrun {run_id} · ")
    assert "after step 1: CONTINUE by " in out
    assert f"state version {STATE_VERSION}" in out
    assert f"│ question: {QUESTION}" in out
    assert "│ step 1" in out
    assert "steps_left" in out
    assert "by verifier" in out
    assert "│" not in deepthink("traces", "show", run_id[:5]).out
    shown = json.loads(deepthink("traces", "show", "--state", "--json").out)
    decisions = Runs(open_store()).decisions(run_id)
    assert [d["text"] for d in shown["decisions"]] == [d.text for d in decisions]
    assert [d["features"] for d in shown["decisions"]] == [d.features for d in decisions]


def test_the_list_says_who_decided_and_what_came_of_it(
    ids: tuple[str, str], deepthink: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored.store_run()  # without a decision: not in the list
    lines = [line for line in deepthink("traces").out.splitlines() if "llm" in line]
    assert [line.split()[0] for line in lines] == [ids[1], ids[0]]
    assert "4 in a tree" in lines[0]
    assert "0.33–1.00 answer, evidence" in lines[0]
    assert "musique: Why?" in lines[0]
    assert "partly" in lines[1]
    monkeypatch.setenv("COLUMNS", "80")
    head = deepthink("traces").out.splitlines()[0].split()
    assert (head[:2], head[-1]) == (["run", "decisions"], "question"), "no word is broken"
    listed = json.loads(deepthink("traces", "--json").out)
    found = [(run["id"], run["tree"], run["labels"]) for run in listed]
    assert found == [(ids[1], True, 0), (ids[0], False, 1)]
    assert all(run["started"].endswith("Z") for run in listed)


def test_a_run_is_shown_with_what_was_said_of_it(ids: tuple[str, str], deepthink: Run) -> None:
    out = deepthink("traces", "show", ids[0]).out
    assert "rated partly" in out
    assert "second opinion: FINISH by llm" in out
    assert "label: FINISH (said): “enough”, I'd say" in out
    assert "finishing here is worth 0.50 by rating, 0.75 by verifier" in out
    tree = deepthink("traces", "show").out
    assert "musique 2hop__1" in tree
    assert "right: Ørsted" in tree
    assert "path CR" in tree
    assert "1.00 by answer, 0.33 by evidence" in tree
    shown = json.loads(deepthink("traces", "show", ids[0], "--json").out)
    assert [d["seq"] for d in shown["decisions"]] == [0, 0, 1, 2]
    assert shown["decisions"][2]["label"]["action"] == "FINISH"
    assert shown["decisions"][3]["qualities"] == {"rating": 0.5, "verifier": 0.75}
    assert "state" not in shown["decisions"][0]


def test_a_decision_is_labelled_and_the_label_taken_back(ids: tuple[str, str], deepthink: Run) -> None:
    done = deepthink("traces", "label", ids[0][:6], "1", "finish", "--note", "it was there")
    assert (done.code, done.err) == (0, "")
    label = Labels(open_store()).of_run(ids[0])[0]
    assert (label.action, label.origin, label.note) == ("FINISH", "said", "it was there")
    assert deepthink("traces", "label", ids[0], "1", "--drop").code == 0
    assert list(Labels(open_store()).of_run(ids[0])) == [1]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("label", "last", "9", "finish"), "no stored decision 9"),
        (("label", "last", "1", "finish"), "FINISH was not possible at decision 1"),
        (("label", "last", "2", "stop"), "STOP was not possible"),
        (("label", "last", "2"), "Say what the decision should have been"),
        (("label", "last", "2", "finish", "--drop"), "Say what the decision should have been"),
        (("label", "zzz", "2", "finish"), "No run begins with “zzz”"),
        (("show", "zzz"), "No run begins with “zzz”"),
        (("label", "last", "9", "--drop"), "has no stored decision 9"),
        (("export", "-"), "- does not end in .parquet"),
        (("export", "t.csv"), "as Parquet"),
    ],
    ids=" ".join,
)
def test_what_cannot_be_is_one_sentence_and_a_way_out(
    arguments: tuple[str, ...],
    words: str,
    ids: tuple[str, str],
    deepthink: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert words in deepthink("traces", *arguments).refused()
    assert not (tmp_path / "t.parquet").exists()
    assert list(Labels(open_store()).of_run(ids[0])) == [1]


def test_the_counts(ids: tuple[str, str], deepthink: Run) -> None:
    out = deepthink("traces", "stats").out
    lines = {line[:16].strip(): line[16:] for line in out.splitlines()}
    assert lines["decisions"] == "7 in 2 runs; 1 second opinion"
    assert lines["taken by"] == "llm 7"
    assert lines["actions"] == "CONTINUE 3, FINISH 3, REVISE 1"
    assert (
        lines["state versions"] == f"3: 4, 1: 3 (today's is {STATE_VERSION}, read from {OLDEST_VERSION} on)"
    )
    assert lines["labels"] == "said 1"
    assert lines["transitions"] == "FINISH 5, CONTINUE 3, REVISE 2"
    # The first state of the tree is measured too, but nobody could finish there.
    assert lines["quality known"].startswith("of 5 states, 0.63 on average")
    assert lines["musique"] == "questions 1, decisions 4"
    enough = "Not enough decisions yet: 4 of at least 20. 3 of an older encoding cannot be learnt from."
    assert lines["to train from"].startswith(enough)
    found = json.loads(deepthink("traces", "stats", "--json").out)
    assert (found["decisions"], found["shadows"]) == (7, 1)
    assert found["needed"] == {"forest": 20, "encoder": 3000}
    assert found["missing"] == {"forest": 16, "encoder": 2996}
    assert found["qualities"] == {"evidence": 2, "answer": 1, "override": 1, "rating": 1}


def test_a_collected_store_is_looked_at_by_its_file(deepthink: Run, tmp_path: Path) -> None:
    path = tmp_path / "musique.duckdb"
    outcomes = [Outcome("CR", "evidence", 1.0, {"recall": 1.0})]
    gold = Gold("musique", "1", ["So"])
    Collected(Store(path)).put(gold, "Why?", TREE, outcomes, embedder="e", reranker="")
    run_id = gold.run_id
    for command in ((), ("list",), ("show",)):
        assert run_id in deepthink("traces", "--store", str(path), *command).out
    assert deepthink("traces", "--store", str(path), "export", str(tmp_path / "t.parquet")).code == 0
    assert {row["run_id"] for row in rows(tmp_path / "t.parquet")} == {run_id}
    missing = tmp_path / "none.duckdb"
    assert str(missing) in deepthink("traces", "--store", str(missing), "stats").refused(4)
    assert not missing.exists()


def test_traces_go_elsewhere(
    ids: tuple[str, str], deepthink: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parquet, second = tmp_path / "t.parquet", tmp_path / "second.parquet"
    wrote = deepthink("traces", "export", str(parquet))
    assert wrote.out == f"8 decisions of 2 runs, 1 second opinion among them: {parquet}.\n"
    assert deepthink("traces", "export", str(second)).code == 0

    monkeypatch.setenv("DEEPTHINK_HOME", str(tmp_path / "elsewhere"))
    took = deepthink("traces", "import", str(parquet), str(second))
    assert (took.code, took.err) == (0, "")
    assert "8 decisions of 2 new runs imported." in took.out
    assert "There already: 8 decisions." in took.out
    assert f"state version older than {OLDEST_VERSION}" in took.out
    assert "imported from t.parquet" in deepthink("traces", "show", ids[0]).out
    assert Ratings(open_store()).of(ids[0]) is not None
    # What an imported run did not bring is not pretended.
    replay = deepthink("runs", "show", ids[1]).out
    assert "was imported from t.parquet: " in replay
    assert Runs(open_store()).find(ids[1]).question in replay.partition("was imported")[0]
    assert f"deepthink traces show {ids[1]}" in replay
    assert ids[1] in deepthink("runs").out
    again = deepthink("traces", "import", str(parquet))
    assert "0 decisions of 0 new runs imported." in again.out


def test_a_run_that_was_imported_without_its_end_is_not_offered_to_be_resumed(
    deepthink: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = stored.store_run(status="waiting")
    Runs(open_store()).record(run_id, [], LINE)
    deepthink("traces", "export", str(tmp_path / "t.parquet"))
    monkeypatch.setenv("DEEPTHINK_HOME", str(tmp_path / "elsewhere"))
    assert deepthink("traces", "import", str(tmp_path / "t.parquet")).code == 0
    assert Runs(open_store()).find(run_id).status == "waiting"
    assert "nothing to resume" in deepthink("runs", "--unfinished").out
    assert "no checkpoint" in deepthink("resume", run_id).refused()


def test_an_answer_is_rated_and_the_rating_withdrawn(ids: tuple[str, str], deepthink: Run) -> None:
    assert deepthink("runs", "rate", ids[1][:6], "wrong", "--note", "it is Siemens").code == 0
    rating = Ratings(open_store()).of(ids[1])
    assert rating is not None
    assert (rating.rating, rating.note) == ("wrong", "it is Siemens")
    assert deepthink("runs", "rate", ids[1], "--drop").code == 0
    assert Ratings(open_store()).of(ids[1]) is None
    for arguments in (("last",), ("last", "good", "--drop"), ("last", "splendid"), ("zzz", "good")):
        deepthink("runs", "rate", *arguments).refused()
