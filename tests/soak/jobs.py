"""The jobs of the soak: what a person's processes do to a home, on scripted models, each in a fork.

A fork of a process that has imported everything, so that the time in which a job can be killed is the time
in which it works.
"""

from __future__ import annotations

import importlib
import json
import os
import random
import resource
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.documents.ingest import ingest
from agent.run import Request, resumable, resume, run
from policy import judging
from policy.serving.registry import Registry
from policy.training import forest
from policy.training.course import TrainingRequest, train
from tests.agent.killing import QUESTION, Oracle, Reader, warm_up
from tests.scripted import HashEmbedder
from traces.decisions import Labels
from traces.errors import DeepthinkError
from traces.paths import data_dir, store_file
from traces.runs import Runs
from traces.store import Store
from tui.failures import explained

TREES = 3
_LATE = ("sklearn.ensemble", "safetensors.numpy")
_FILES = 6
_PARAGRAPHS = 12
COLLECTED = "collected.duckdb"
"""Decisions to train from, beside the home's data."""
TOLD, FAULT = 3, 1
"""Exit codes: the user was told what is wrong in a sentence; or there is a fault."""


def prepare() -> None:
    warm_up()
    for name in _LATE:
        importlib.import_module(name)
    forest.TREES = TREES  # type: ignore[misc]
    forest.ROUNDS = 1  # type: ignore[misc]
    judging._TIMED = 3


def change_files(home: Path, chance: random.Random) -> None:
    """Write, change and delete some documents, as their author would."""
    folder = home / "documents"
    folder.mkdir(exist_ok=True)
    for number in range(_FILES):
        path = folder / f"{number}.md"
        match chance.randrange(4):
            case 0:
                path.unlink(missing_ok=True)
            case 1 | 2:
                path.write_text(document(number, chance.randrange(10**6)), "utf-8")


def document(number: int, version: int) -> str:
    """The text of a document: each paragraph says which, so that one that is half there shows."""
    paragraphs = [
        f"Document {number} version {version} paragraph {i} of {_PARAGRAPHS}. "
        + "It goes on about bearings. " * 20
        for i in range(_PARAGRAPHS)
    ]
    return f"# Document {number}\n\n" + "\n\n".join(paragraphs) + "\n"


def paragraphs(text: str) -> set[str]:
    return {piece.split(".")[0] for piece in text.split("Document ") if " paragraph " in piece}


def _store() -> Store:
    return Store(store_file())


def _parts(home: Path) -> dict[str, Any]:
    models = {"chat": Oracle(home / "calls"), "embedder": HashEmbedder(), "reader": Reader()}
    return {**models, "store": _store()}


def _ingest(home: Path) -> None:
    folders = [home / "documents"]
    list(ingest(folders, collection="docs", store=_store(), embedder=HashEmbedder(), follow=True))


def _ask(home: Path) -> None:
    request = Request(QUESTION, route="deep", shadow="llm", collections=("reports", "news"))
    list(run(request, **_parts(home)))


def _resume(home: Path) -> None:
    for one in resumable(_store()):
        if one.why != "going on":
            list(resume(one.run.id, **_parts(home)))


def _label(home: Path) -> None:
    """Label the decisions of the latest runs; what was begun and what was done is written down."""
    store = _store()
    for one in Runs(store).recent(5):
        for decision in Runs(store).decisions(one.id):
            if decision.shadow:
                continue
            note = f"{random.getrandbits(40):x}"
            with (home / "log").open("a", buffering=1) as log:  # a line is written as a whole
                log.write(json.dumps(["begun", one.id, decision.seq, note]) + "\n")
                Labels(store).put(one.id, decision.seq, decision.valid_actions[-1], note=note)
                log.write(json.dumps(["done", one.id, decision.seq, note]) + "\n")


def _train(home: Path) -> None:
    request = TrainingRequest(method="forest", sources=(home / COLLECTED,), activation="force")
    train(request, lambda _event: None)


def _promote(home: Path) -> None:
    registry = Registry()
    for number in range(20):
        own = [one for one in registry.listed() if not one.boxed and one.manifest is not None]
        if number % 3 == 2 and registry.history():
            registry.use("box")
            registry.rollback()
        if own:
            registry.use(own[number % len(own)].name, force=True)


JOBS: dict[str, Callable[[Path], None]] = {
    "ingest": _ingest,
    "ask": _ask,
    "resume": _resume,
    "label": _label,
    "train": _train,
    "promote": _promote,
}
"""By name; each works in the home that `use_home` names."""


def use_home(home: Path) -> None:
    """Have this process, and its forks, work in a home."""
    os.environ["DEEPTHINK_HOME"] = str(home)
    data_dir().mkdir(parents=True, exist_ok=True)


@dataclass(frozen=True, slots=True)
class Ended:
    """How a process ended: by which signal (0 for none), its exit code, and what it told the user."""

    signal: int
    code: int
    told: str
    seconds: float


def fork(work: Callable[[], object], told: Path, largest_file: int = 0) -> int:
    """Begin ``work`` in a fork that writes what the user sees to ``told``; its process number.

    ``largest_file``: bytes; a write beyond them fails as on a full disk. 0 for no limit.
    """
    told.unlink(missing_ok=True)
    child = os.fork()
    if child:
        return child
    code = FAULT
    try:
        if largest_file:
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))
        work()
        code = 0
    except BaseException as error:  # noqa: BLE001 - told to whoever reads the result
        known = explained(error)
        if isinstance(error, DeepthinkError) or known.kind != "internal":
            code = TOLD
        told.write_text(f"{known.title}: {known.message} ({type(error).__name__})")
    finally:
        os._exit(code)  # in any case: a fork must not go on as its parent


def wait(child: int, told: Path, began: float) -> Ended:
    _, status = os.waitpid(child, 0)
    killed = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    code = 0 if killed else os.WEXITSTATUS(status)
    said = told.read_text() if told.exists() else ""
    return Ended(killed, code, said, time.monotonic() - began)


def done(work: Callable[[], object], told: Path, largest_file: int = 0) -> Ended:
    began = time.monotonic()
    return wait(fork(work, told, largest_file), told, began)


def killed(work: Callable[[], object], told: Path, after: float, by: signal.Signals) -> Ended:
    """Begin ``work`` in a fork, and send it a signal after some seconds."""
    began = time.monotonic()
    child = fork(work, told)
    while time.monotonic() - began < after:
        if os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            break
        time.sleep(0.001)
    else:
        os.kill(child, by)
    return wait(child, told, began)
