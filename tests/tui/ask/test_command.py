"""`deepthink ask`, `resume` and `demo` on a scripted model: what is shown, where, and the exit code."""

from __future__ import annotations

import io
import json
import signal
import threading
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from agent import checkpoints
from agent.documents.sample_library import COLLECTIONS, demo_question
from agent.run import Request
from models.catalogue import ModelEntry
from models.protocols import ChatOptions, ModelUnreachable
from tests.tui.conftest import QUESTION, Answer, Run, ctrl_c_at
from tests.tui.stored import cut_off, store_run
from traces.library import Library
from traces.runs import Runs, Sessions, UnknownSession
from tui import failures
from tui.ask import asking
from tui.ask.terminal import AskOptions, Form, is_interactive
from tui.assemble import open_store
from tui.settings.settings import Settings, put

ESCAPE = "\x1b"


def test_in_a_pipe_only_the_answer_goes_to_stdout_progress_to_stderr(library: Path, deepthink: Run) -> None:
    ran = deepthink("ask", QUESTION)
    assert ran.code == failures.DONE
    answer = Runs(open_store()).find("last").answer
    assert ran.out == f"{answer}\n"
    assert "step 1: " in ran.err
    assert answer not in ran.err
    quiet = deepthink("ask", QUESTION, "--quiet")
    assert (quiet.out, quiet.err) == (f"{answer}\n", "")


def test_a_plain_answer_to_a_question_from_stdin_is_lines_with_the_answer_once(
    library: Path, model: Answer, deepthink: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = model()
    monkeypatch.setattr("sys.stdin", io.StringIO(QUESTION + "\n"))
    ran = deepthink("ask", "-", "--plain")
    assert ran.code == 0
    assert ran.err == ""
    assert ESCAPE not in ran.out
    labels = [line.split(":")[0] for line in ran.out.splitlines() if not line.startswith((" ", "["))]
    assert labels == [
        *("question", "look", "route", "plan"),
        *("step 1", "search", "grade", "kept", "finding", "decide"),
        *("step 2", "search", "grade", "kept", "finding", "decide"),
        *("answer", "sources", "done"),
    ]
    assert ran.out.startswith(f"question: {QUESTION} |")
    assert ran.out.count("buys its ceramic bearings") == 1
    assert "] Supply\n    facts · supplier.md\n    “Orlavane buys all" in ran.out
    assert "run " + Runs(open_store()).find("last").id in ran.out
    assert chat.closed


def test_json_is_one_object_and_nothing_else(library: Path, model: Answer, deepthink: Run) -> None:
    model()
    ran = deepthink("ask", QUESTION, "--json", "--collection", "facts")
    assert (ran.code, ran.err) == (0, "")
    answer = json.loads(ran.out)
    assert set(answer) >= set(
        "run_id session question answer status stopped_because grounded share sentences sources plan steps "
        "decisions warnings model embedder reranker profile decider collections usage seconds".split()
    )
    assert answer["status"] == "answered"
    document = {source["number"]: source["document"] for source in answer["sources"]}
    cited = [[document[n] for n in s["cites"]] for s in answer["sentences"]]
    assert cited == [["supplier.md"], ["fire.md"]]
    assert set(answer["sentences"][0]) == {"text", "cites", "support", "verdict", "reason", "flagged"}
    assert any("halted production" in source["excerpt"] for source in answer["sources"])
    assert [step["note"]["answer"] for step in answer["steps"]] == ["Tolvang Ceramics", "A fire"]
    assert [d["action"] for d in answer["decisions"]] == ["CONTINUE", "FINISH"]
    assert answer["usage"]["model_calls"] == 4  # route, plan, the first finding, the answer
    assert answer["usage"]["reused"] == 20
    assert answer["collections"] == ["facts"]
    assert answer["model"] == "scripted"


def test_what_the_documents_do_not_say_exits_with_3(library: Path, model: Answer, deepthink: Run) -> None:
    model(finds=False)
    ran = deepthink("ask", "What", "is", "the", "list", "price?", "--plain")
    assert ran.code == 3
    assert "not found in your documents" in ran.out
    assert "--collection all" not in ran.err
    assert "Nearest: " in ran.err
    assert "--collection all" in deepthink("ask", "What is the price?", "-c", "facts").err
    assert json.loads(deepthink("ask", "What is the price?", "--json").out)["status"] == "not_found"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Request, Settings]]:
    """What `ask` was called with, which does nothing else."""
    calls: list[tuple[Request, Settings]] = []

    def ask(request: Request, settings: Settings, _form: str) -> int:
        calls.append((request, settings))
        return 0

    monkeypatch.setattr("tui.ask.asking.ask", ask)
    return calls


def test_options_become_the_request(asked: list[tuple[Request, Settings]], deepthink: Run) -> None:
    assert deepthink("ask", "Why?").code == 0
    request, settings = asked.pop()
    assert request == Request("Why?", approve="always"), "nobody is there to be asked"
    assert settings.web is False
    flags = ("--report", "--approve", "never", "--web")
    assert deepthink("ask", "Why?", *flags).code == 0
    request, settings = asked.pop()
    assert request == Request("Why?", length="report", approve="never")
    assert settings.web is True
    for setting in ("web true", "length report", "approve ask", "collection facts", "shadow learned"):
        put(*setting.split())
    limits = "--profile seed --decider llm --steps 1 --tokens 5000 --seconds 60".split()
    assert deepthink("ask", "Why?", "--brief", "--no-web", *limits).code == 0
    request, settings = asked.pop()
    assert request == Request(
        "Why?",
        collections=("facts",),
        profile="seed",
        decider="llm",
        shadow="learned",
        budget=replace(Request("").budget, steps=1, tokens=5000, seconds=60.0),
        length="brief",
        approve="ask",
    )
    assert not settings.web
    assert deepthink("ask", "Why?", "-c", "reports", "--from", "petra", "--after", "2024-03").code == 0
    request, _ = asked.pop()
    assert request.collections == ("reports",)
    assert (request.filters.people, request.filters.after) == (("petra",), "2024-03")


@pytest.mark.parametrize(
    ("form", "typing", "out", "err", "interactive"),
    [
        ("plain", True, True, True, True),
        ("json", True, True, True, False),
        ("auto", True, False, True, True),
        ("auto", True, False, False, False),
        ("auto", False, True, True, False),
    ],
)
def test_a_person_is_asked_only_where_one_is_there(
    form: Form, typing: bool, out: bool, err: bool, interactive: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, there in (("stdin", typing), ("stdout", out), ("stderr", err)):
        monkeypatch.setattr(f"sys.{name}.isatty", lambda there=there: there, raising=False)
    made = asking.request_of(AskOptions("Why?"), Settings(), interactive=is_interactive(form))
    assert (made.interactive, made.approve) == (interactive, "ask" if interactive else "always")


def test_sessions_are_named_and_gone_on_with(asked: list[tuple[Request, Settings]], deepthink: Run) -> None:
    nothing = deepthink("ask", "Why?", "--continue")
    assert (nothing.code, "No session is stored yet" in nothing.err) == (2, True)
    assert deepthink("ask", "Why?", "--session", "bearings").code == 0
    wanted = asked.pop()[0]
    assert (wanted.session, wanted.session_name) == ("", "bearings"), "it begins with the run"
    named = Sessions(open_store()).begin("bearings")
    store_run(session=named)
    for flags in (("-s", "bearings"), ("-s", named[:4]), ("-C",), ("-s", "last")):
        deepthink("ask", "And why?", *flags)
        wanted = asked.pop()[0]
        assert (wanted.session, wanted.session_name) == (named, "")
    deepthink("ask", "What else?", "-s", named[0])
    wanted = asked.pop()[0]
    assert (wanted.session, wanted.session_name) == ("", named[0]), "a digit is a name"
    with open_store().transaction() as db:
        db.execute("INSERT INTO sessions VALUES ('abcd1', '', now()), ('abcd2', '', now())")
    several = deepthink("ask", "Why?", "-s", "abcd")
    assert (several.code, "Several sessions fit" in several.err, asked) == (2, True, [])


def test_a_follow_up_searches_where_the_question_before_it_did(
    asked: list[tuple[Request, Settings]], deepthink: Run
) -> None:
    deepthink("config", "set", "collection", "notes")
    session = Sessions(open_store()).begin("bearings")
    store_run(session=session, request=asdict(Request("Who?", collections=("facts",))))
    scopes = {(): ("notes",), ("-C",): ("facts",), ("-C", "-c", "web"): ("web",), ("-C", "-c", "all"): ()}
    for flags, collections in scopes.items():
        deepthink("ask", "And why?", *flags)
        assert asked.pop()[0].collections == collections
    store_run(session=session, request=asdict(Request("Who?")))
    deepthink("ask", "And why?", "-C")
    assert asked.pop()[0].collections == ()


def test_a_session_is_begun_with_its_first_run(library: Path, deepthink: Run) -> None:
    assert deepthink("ask", " ", "-s", "bearings").code == 2
    assert deepthink("ask", QUESTION, "-s", "bearings", "-c", "elsewhere").code == 2
    with pytest.raises(UnknownSession):
        Sessions(open_store()).find("bearings")
    for question in (QUESTION, "And who supplies the seals?"):
        assert deepthink("ask", question, "-s", "bearings").code in {0, 3}
    assert [(s.name, s.runs) for s in Sessions(open_store()).recent()] == [("bearings", 2)]


def test_wrong_input_is_one_sentence_and_a_way_out(library: Path, deepthink: Run) -> None:
    for arguments, words in (
        ((QUESTION, "--brief", "--report"), "--brief and --report exclude each other"),
        ((QUESTION, "--plain", "--json"), "--plain and --json exclude each other"),
        ((QUESTION, "--plain", "--quiet"), "--plain and --quiet exclude each other"),
        ((QUESTION, "--after", "2026", "--before", "2025"), "No day is both after 2026 and before 2025"),
        ((QUESTION, "--after", "2025-06", "--before", "2025"), "No day is both"),
        ((QUESTION, "-s", "x", "-C"), "--session and --continue exclude each other"),
        (("",), "The question is empty."),
        (("?",), "The question has no words."),
        (("why " * 12_500,), "too long: it has 49,999 characters"),
        ((QUESTION, "-c", "nope"), "no collection “nope”; the library has: facts"),
        ((QUESTION, "--profile", "nope"), "'nope' is not one of 'lean', 'seed'"),
        ((QUESTION, "--steps", "0"), "--steps: it has to be at least 1"),
    ):
        assert words in deepthink("ask", *arguments).refused()


def test_an_empty_library_says_how_to_fill_it(deepthink: Run) -> None:
    ran = deepthink("ask", QUESTION)
    assert ran.code == 2
    assert "deepthink ingest PATH" in ran.err
    assert "deepthink demo" in ran.err


def test_without_the_model_there_is_a_clear_choice(library: Path, no_models: None, deepthink: Run) -> None:
    for arguments, words in (
        ((), "qwen2.5-coder-1.5b (1.1 GB) is not on this machine"),
        (("--model", "qwen2.5-coder-0.5b"), "qwen2.5-coder-0.5b (491 MB) is not on this machine"),
        (("--model", "nope"), "no model called “nope”"),
        (("--model", "/nowhere/model.gguf"), "no model file /nowhere/model.gguf"),
        (("--model", "all-minilm-l6-v2"), "all-minilm-l6-v2 is an embedder, not a language model"),
    ):
        ran = deepthink("ask", QUESTION, *arguments)
        assert (ran.code, ran.out) == (5, "")
        assert words in ran.err
        assert arguments or "deepthink models pull" in ran.err


def test_a_model_that_fails_ends_the_run_with_code_5(library: Path, model: Answer, deepthink: Run) -> None:
    def down(_options: ChatOptions) -> None:
        raise ModelUnreachable("No Ollama server answers.", "Start it with `ollama serve`.")

    model(during=down)
    ran = deepthink("ask", QUESTION, "--json")
    assert (ran.code, ran.out) == (5, "")
    assert ran.err.splitlines()[-1] == "  Start it with `ollama serve`."
    assert Runs(open_store()).find("last").status == "failed"


def test_ctrl_c_cancels_the_run_and_exits_with_130(library: Path, model: Answer, deepthink: Run) -> None:
    before = signal.getsignal(signal.SIGINT)
    chat = model(during=ctrl_c_at(1))
    ran = deepthink("ask", QUESTION, "--plain")
    assert ran.code == 130
    run_id = Runs(open_store()).find("last").id
    assert "done: cancelled, " in ran.out
    assert f"Run {run_id} can be resumed: `deepthink resume {run_id}`" in ran.out
    assert ran.err == "The answer was cancelled.\n"
    assert chat.closed
    assert signal.getsignal(signal.SIGINT) is before
    assert Runs(open_store()).find("last").status == "cancelled"


def test_a_reader_that_goes_away_ends_the_run(
    library: Path, model: Answer, deepthink: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = model()

    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    monkeypatch.setattr("sys.stdout", Gone())
    ran = deepthink("ask", QUESTION, "--plain")
    assert (ran.code, ran.err) == (1, "")
    assert chat.closed
    assert not [t for t in threading.enumerate() if t.name == "deepthink-run"]


Resumed = list[dict[str, Any]]


@pytest.fixture
def resumed(monkeypatch: pytest.MonkeyPatch) -> Resumed:
    """What `tui.ask.asking.resume` was called with."""
    calls: Resumed = []

    def resume(run_id: str, settings: Settings, form: str, approve: str | None = None) -> int:
        calls.append({"run": run_id, "web": settings.web, "form": form, "approve": approve})
        return 7

    monkeypatch.setattr("tui.ask.asking.resume", resume)
    return calls


def test_the_newest_resumable_run_is_resumed_or_the_one_named(resumed: Resumed, deepthink: Run) -> None:
    store_run()
    store_run(status="running")  # cut off before its first checkpoint
    ran = deepthink("resume")
    assert (ran.code, ran.out, ran.err) == (0, "There is nothing to resume.\n", "")
    assert deepthink("resume", "--json").out == "null\n"
    older, newest = cut_off(), cut_off(status="waiting")
    store_run()
    assert deepthink("resume").code == 7
    assert deepthink("resume", "last").code == 7
    deepthink("resume", older[:8], "--approve", "never", "--plain")
    deepthink("resume", older, "--json")
    assert [(c["run"], c["form"], c["approve"]) for c in resumed] == [
        (newest, "auto", None),
        (newest, "auto", None),
        (older, "plain", "never"),
        (older, "json", None),
    ]


def test_a_run_that_another_process_works_on_is_left_alone(resumed: Resumed, deepthink: Run) -> None:
    run_id = store_run(status="running")
    with checkpoints.open_checkpoints(open_store(), run_id, lambda _log: None):
        for arguments in ([], ["last"]):
            ran = deepthink("resume", *arguments)
            assert ran.code == 0
            assert f"run {run_id} is still going on" in ran.out
    assert not resumed


def test_what_cannot_be_resumed_is_wrong_usage_and_no_model_is_asked_for(
    no_models: None, deepthink: Run
) -> None:
    ended = store_run()
    assert f"Run {ended} has ended." in deepthink("resume", ended).refused()
    for arguments in (("nope",), ("--approve", "perhaps"), ("a", "b")):
        deepthink("resume", *arguments).refused()


def test_a_run_that_waits_goes_on_with_a_reply(library: Path, model: Answer, deepthink: Run) -> None:
    model(answer="Tolvang Ceramics supplies the bearings [1]. The chairman resigned in anger [2].")
    waiting = deepthink("ask", QUESTION, "--approve", "ask", "--json")
    told = json.loads(waiting.out)
    assert (waiting.code, told["status"]) == (failures.WAITING, "waiting")
    assert waiting.err == f"Note: Run {told['run_id']} waits: `deepthink resume {told['run_id']}`.\n"
    assert "waits for you" in deepthink("runs", "--unfinished").out
    assert deepthink("resume").code == 7  # nobody is there to answer, so it still waits
    ran = deepthink("resume", "--approve", "always", "--json")
    assert (ran.code, ran.err) == (failures.PARTLY, "")
    run = json.loads(ran.out)
    assert (run["question"], run["status"], run["resumed"]) == (QUESTION, "answered_with_doubts", 2)
    assert len(run["steps"]) == 2  # those of before it waited
    assert [(reply["reply"], reply["by"]) for reply in run["replies"]] == [("accept", "rule")]
    assert "nothing to resume" in deepthink("resume").out


def test_a_run_goes_on_with_the_web_or_without_as_it_was_asked(
    resumed: Resumed, deepthink: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    for asked, option, is_set, searches in (
        (False, (), True, False),  # it was asked with --no-web
        (True, (), False, True),
        (True, ("--no-web",), True, False),
        (False, ("--web",), False, True),
    ):
        monkeypatch.setenv("DEEPTHINK_WEB", str(is_set))
        cut_off(request=asdict(Request("Who?", web=asked)))
        assert deepthink("resume", *option).code == 7
        assert resumed.pop()["web"] is searches


def test_whether_a_run_may_search_the_web_is_stored_with_it(
    library: Path, deepthink: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui.assemble.open_web", lambda settings, *_: object() if settings.web else None)
    for arguments in ((), ("--web",)):
        deepthink("ask", QUESTION, *arguments)
        assert asking.web_of(Runs(open_store()).find("last")) is bool(arguments)


def test_the_model_that_it_began_with_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = Runs(open_store())
    run = runs.find(store_run())
    here: dict[str, Path | None] = {"qwen2.5-coder-0.5b": Path("/models/small.gguf")}
    monkeypatch.setattr("tui.ask.asking.installed", lambda entry: here.get(entry.name))

    def model(chat_model: str) -> str | None:
        return asking.model_of(replace(run, chat_model=chat_model))

    assert model("llama.cpp:qwen2.5-coder-0.5b") == "qwen2.5-coder-0.5b"
    assert model("ollama:llama3:8b") == "ollama:llama3:8b"
    assert model("llama.cpp:qwen2.5-coder-1.5b") is None  # removed since: the settings' model takes over
    assert model("llama.cpp:my-own-file") is None


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    names: list[str] = []

    def pull_models(entries: list[ModelEntry]) -> None:
        names.extend(entry.name for entry in entries)

    monkeypatch.setattr("tui.models.pulling.pull_models", pull_models)
    return names


def test_the_demo_fetches_reads_and_asks(
    no_models: None, fetched: list[str], model: Answer, deepthink: Run
) -> None:
    model()
    ran = deepthink("demo")
    assert ran.code == 0
    assert fetched == ["qwen2.5-coder-1.5b", "qwen2.5-coder-0.5b", "bge-small-en", "ms-marco-minilm-l12"]
    assert f"question: {demo_question()}" in ran.err
    assert "Tolvang Ceramics" in ran.out
    held = {c.name: c.description for c in Library(open_store()).collections()}
    assert held == dict(COLLECTIONS)
    again = deepthink("demo", "--plain")
    assert again.code == 0
    assert again.out.count(" unchanged in ") == 2


def test_the_graph_needs_no_model(no_models: None, deepthink: Run) -> None:
    text = deepthink("graph").out
    assert "synthesise      ──→  verify" in text
    assert "REVISE" in text
    mermaid = deepthink("graph", "--format", "mermaid").out
    assert "graph TD" in mermaid
    assert deepthink("graph", "--format", "png").code == 2
    edges = json.loads(deepthink("graph", "--json").out)
    assert {"source": "synthesise", "target": "verify", "is_conditional": False, "condition": ""} in edges
    assert len(edges) == len(text.splitlines())


def test_the_app_needs_a_terminal(deepthink: Run) -> None:
    assert "needs a terminal" in deepthink("tui").refused()
