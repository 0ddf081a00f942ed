"""`deepthink resume`: which run is chosen, and what is handed on; how a run resumes is the agent's."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from agent import checkpoints
from agent.run import Request
from tests.tui import stored
from tests.tui.conftest import QUESTION, Answer, Run
from tests.tui.stored import cut_off
from traces.runs import Runs
from tui import failures
from tui.ask import asking
from tui.assemble import open_store
from tui.settings.settings import Settings


@dataclass
class Resumed:
    """What `tui.ask.asking.resume` was called with."""

    calls: list[dict[str, Any]] = field(default_factory=list)

    def __call__(self, run_id: str, settings: Settings, form: str, approve: str | None = None) -> int:
        self.calls.append(
            {"run": run_id, "model": settings.model, "web": settings.web, "form": form, "approve": approve}
        )
        return 7


@pytest.fixture
def resumed(monkeypatch: pytest.MonkeyPatch) -> Resumed:
    double = Resumed()
    monkeypatch.setattr("tui.ask.asking.resume", double, raising=False)
    return double


def test_nothing_to_resume_is_said_kindly(resumed: Resumed, deepthink: Run) -> None:
    stored.store_run()
    stored.store_run(status="running")  # cut off before its first checkpoint
    ran = deepthink("resume")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == "There is nothing to resume.\n"
    assert deepthink("resume", "--json").out == "null\n"
    assert not resumed.calls


def test_the_newest_that_can_be_resumed_is(resumed: Resumed, deepthink: Run) -> None:
    cut_off()
    newest = cut_off(status="waiting")
    stored.store_run()
    ran = deepthink("resume")
    assert (ran.code, ran.out) == (7, "")
    assert [call["run"] for call in resumed.calls] == [newest]


def test_a_run_is_named_by_the_beginning_of_its_id(resumed: Resumed, deepthink: Run) -> None:
    older = cut_off()
    cut_off()
    deepthink("resume", older[:8], "--approve", "never", "--plain")
    deepthink("resume", older, "--json")
    assert [(c["run"], c["form"], c["approve"]) for c in resumed.calls] == [
        (older, "plain", "never"),
        (older, "json", None),
    ]


def test_a_run_that_another_process_works_on_is_left_alone(resumed: Resumed, deepthink: Run) -> None:
    run_id = stored.store_run(status="running")
    with checkpoints.open_checkpoints(open_store(), run_id, lambda _log: None):
        ran = deepthink("resume")
    assert ran.code == 0
    assert f"run {run_id} is still going on" in ran.out
    assert not resumed.calls


def test_of_a_run_that_cannot_go_on_no_model_is_asked_for(no_models: None, deepthink: Run) -> None:
    ended = stored.store_run()
    ran = deepthink("resume", ended)
    assert (ran.code, f"Run {ended} has ended." in ran.err) == (2, True)


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
    assert (run["question"], run["status"], run["resumed"]) == (QUESTION, "answered", 2)
    assert len(run["steps"]) == 2  # those of before it waited
    assert [(reply["reply"], reply["by"]) for reply in run["replies"]] == [("accept", "rule")]
    assert "nothing to resume" in deepthink("resume").out


@pytest.mark.parametrize(
    ("asked", "option", "is_set", "searches"),
    [
        (False, (), True, False),  # it was asked with --no-web
        (True, (), False, True),
        (True, ("--no-web",), True, False),
        (False, ("--web",), False, True),
    ],
)
def test_a_run_goes_on_with_the_web_or_without_as_it_was_asked(
    asked: bool,
    option: tuple[str, ...],
    is_set: bool,
    searches: bool,
    resumed: Resumed,
    deepthink: Run,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DEEPTHINK_WEB", str(is_set))
    cut_off(request=asdict(Request("Who?", web=asked)))
    assert deepthink("resume", *option).code == 7
    assert [call["web"] for call in resumed.calls] == [searches]


@pytest.mark.parametrize("arguments", [(), ("--web",)], ids=" ".join)
def test_whether_a_run_may_search_the_web_is_stored_with_it(
    arguments: tuple[str, ...],
    library: Path,
    model: Answer,
    deepthink: Run,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tui.ask.asking.open_web", lambda settings, *_: object() if settings.web else None)
    model()
    deepthink("ask", QUESTION, *arguments)
    assert asking.web_of(Runs(open_store()).find("last")) is bool(arguments)


@pytest.mark.parametrize(
    "arguments",
    [("resume", "nope"), ("resume", "--approve", "perhaps"), ("resume", "a", "b")],
    ids=" ".join,
)
def test_wrong_usage(arguments: tuple[str, ...], resumed: Resumed, deepthink: Run) -> None:
    ran = deepthink(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert len(ran.err.splitlines()) == 2
    assert not resumed.calls


def test_the_model_that_it_began_with_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = Runs(open_store())
    run = runs.find(stored.store_run())
    here: dict[str, Path | None] = {"qwen2.5-coder-0.5b": Path("/models/small.gguf")}
    monkeypatch.setattr("tui.ask.asking.installed", lambda entry: here.get(entry.name))

    def model(chat_model: str) -> str | None:
        return asking.model_of(replace(run, chat_model=chat_model))

    assert model("llama.cpp:qwen2.5-coder-0.5b") == "qwen2.5-coder-0.5b"
    assert model("ollama:llama3:8b") == "ollama:llama3:8b"
    assert model("llama.cpp:qwen2.5-coder-1.5b") is None  # removed since: the settings' model takes over
    assert model("llama.cpp:my-own-file") is None
