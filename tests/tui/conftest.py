"""The command line and the app, in this process, on a scripted model and hashed vectors."""

from __future__ import annotations

import os
import re
import shutil
import signal
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import duckdb
import pytest
import typer.main
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import Footer
from textual.widgets._footer import FooterKey

from agent.prompts import NOT_FOUND
from models.protocols import ChatOptions, Choice, GenerationCancelled, Message, Reply, Usage
from tests.agent.conftest import UnsureReader
from tests.scripted import HashEmbedder
from tests.tui.app.bare import bare
from tests.tui.waiting import until, wait
from traces.paths import store_file
from traces.store import Store
from tui import cli
from tui.app.app import Appearance, DeepthinkApp
from tui.assemble import open_chat

__all__ = ["bare"]
FACTS = {
    "supplier.md": "# Supply\n\nOrlavane buys all of its ceramic bearings from Tolvang Ceramics.\n",
    "fire.md": "# Fire\n\nA fire at the Brevnes plant of Tolvang Ceramics halted production in May.\n",
}
QUESTION = "Name the supplier of Orlavane's ceramic bearings and the event that halted its plant."
_get_command = cache(typer.main.get_command)
_FIRST_STEP = "Who supplies the ceramic bearings?"


@dataclass
class Answering:
    """A chat model that plans two steps, finds what holds its words, and answers from that.

    It goes by what it is asked for, not by the order of the calls, so that these tests hold whatever
    the loop's prompts become. ``during`` runs at the beginning of each call.
    """

    finds: bool = True
    answer: str = "Orlavane buys its ceramic bearings from Tolvang Ceramics. A fire halted production."
    during: Callable[[ChatOptions], None] = lambda _options: None
    closed: bool = False
    name: str = "scripted"
    context_tokens: int = 8192

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def generate(self, messages: Sequence[Message], options: ChatOptions) -> Reply:
        self.during(options)
        prompt = messages[-1].content
        wanted = (options.schema or {}).get("properties", {})
        if "route" in wanted:
            vague = prompt.endswith("What about it?")
            text = '{"route": "clarify"}' if vague else '{"route": "deep"}'
        elif "steps" in wanted:
            text = f'{{"steps": ["{_FIRST_STEP}", "What halted the plant of #1?"]}}'
        elif prompt.startswith("PASSAGES:") and not self.finds:
            text = NOT_FOUND
        elif f"QUESTION: {_FIRST_STEP}" in prompt:
            text = "Tolvang Ceramics"
        else:
            text = self.answer
            if options.on_text is not None:
                for piece in re.findall(r"\S+\s*", text):
                    options.on_text(piece)
        return Reply(text, Usage(len(prompt.split()), 5, len(text.split())))

    def choose(
        self, messages: Sequence[Message], options: Sequence[str], cancel: threading.Event | None = None
    ) -> Choice:
        weights = (0.2, 0.1, 0.7)
        return Choice(weights[: len(options)], Usage(1, 1, 0))

    def close(self) -> None:
        self.closed = True


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command left behind."""

    code: int
    out: str
    err: str

    def refused(self, code: int = 2) -> str:
        """What it says, which is one sentence and a way out, and nothing else."""
        assert (self.code, self.out) == (code, "")
        assert len(self.err.splitlines()) == 2
        return self.err


Run = Callable[..., Ran]
Answer = Callable[..., Answering]


@pytest.fixture
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The time of day in the pictures is everybody's."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def deepthink(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command; its exit code, stdout and stderr. What typer makes of the commands is made once."""
    monkeypatch.setattr("typer.main.get_command", _get_command)

    def run(*arguments: str) -> Ran:
        capsys.readouterr()
        code = cli.run(list(arguments))
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return run


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test waits for real models, or depends on the terminal it is started from."""
    for name in ("COLUMNS", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("tui.assemble.open_chat", lambda _settings: Answering())
    embedder = HashEmbedder()
    for user in ("tui.assemble", "tui.library.command"):
        monkeypatch.setattr(f"{user}.open_embedder", lambda _settings: embedder)
    for user in ("assemble", "policy.evaluating"):
        monkeypatch.setattr(f"tui.{user}.open_reader", lambda _settings: UnsureReader())
    monkeypatch.setattr(
        "models.boxed_planner.planner.installed_planner", lambda: None
    )  # the language model plans
    monkeypatch.setattr("policy.serving.registry._SHIPPED", Path("no-box"))  # the rules decide


@pytest.fixture(autouse=True, scope="session")
def parsed_once() -> Iterator[None]:
    """Style sheets are parsed once for all apps: each parses them anew, which is a tenth of a test."""
    parsed: dict[object, list[RuleSet]] = {}
    parse = Stylesheet._parse_rules

    def parse_once(sheet: Stylesheet, *given: Any, **named: Any) -> list[RuleSet]:
        key = tuple(sheet._variables.items()), given, tuple(named.items())
        if key not in parsed:
            parsed[key] = parse(sheet, *given, **named)
        return parsed[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stylesheet, "_parse_rules", parse_once)
        yield


@pytest.fixture(autouse=True)
def stay_open(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Keep a store open once it was opened, since each opening takes 16 ms; not where others open it."""
    held: dict[Path, duckdb.DuckDBPyConnection] = {}
    opening = Store._connection

    def opened(store: Store) -> duckdb.DuckDBPyConnection:
        connection = opening(store)
        if store.path not in held:
            held[store.path] = duckdb.connect(str(store.path))
        return connection

    if not request.node.get_closest_marker("shared_store"):
        monkeypatch.setattr(Store, "_connection", opened)
    yield
    for connection in held.values():
        connection.close()


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Answer:
    """Put another model in place of the real one."""

    def use(**how: object) -> Answering:
        chat = Answering(**how)  # type: ignore[arg-type]
        monkeypatch.setattr("tui.assemble.open_chat", lambda _settings: chat)
        return chat

    return use


@pytest.fixture
def no_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPTHINK_MODELS", str(tmp_path / "no-models"))
    monkeypatch.setattr("tui.assemble.open_chat", open_chat)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two small documents."""
    made = tmp_path / "documents"
    made.mkdir()
    for name, text in FACTS.items():
        (made / name).write_text(text, encoding="utf-8")
    return made


@pytest.fixture
def library(folder: Path, home: Path, deepthink: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The two documents are in the library, in the collection ``facts``; read once, then copied."""
    read = tmp_path_factory.getbasetemp() / "read"
    if not read.exists():
        assert deepthink("ingest", str(folder), "-c", "facts", "-d", "what is known").code == 0
        with Store(store_file()).connect() as db:
            db.execute("CHECKPOINT")
        shutil.copytree(home, read)
        return folder
    shutil.copytree(read, home, dirs_exist_ok=True)
    with Store(store_file()).connect() as db:
        db.execute("UPDATE documents SET source = ? || name", [f"{folder}/"])
        db.execute("UPDATE folders SET path = ?", [str(folder)])
    return folder


MakeApp = Callable[..., DeepthinkApp]


@pytest.fixture
def make_app(monkeypatch: pytest.MonkeyPatch) -> MakeApp:
    """The app, still; nothing moves in it, and it loads nothing by itself."""

    def make(
        chat: Answering | None = None,
        *,
        theme: str = "dark",
        keys: str = "",
        begin_with: Sequence[str] = (),
    ) -> DeepthinkApp:
        if chat is not None:
            monkeypatch.setattr("tui.assemble.open_chat", lambda _settings: chat)
        monkeypatch.setattr(DeepthinkApp, "NOTIFICATION_TIMEOUT", 600)  # no toast goes on a busy machine
        look = Appearance(theme, reduced_motion=True, keys=keys)
        return DeepthinkApp(look, prepare=False, begin_with=begin_with)

    return make


@pytest.fixture
def app(make_app: MakeApp) -> DeepthinkApp:
    """The app; made after the fixtures before it in a test's arguments."""
    return make_app()


def ctrl_c_at(call: int) -> Callable[[ChatOptions], None]:
    """Presses Ctrl-C in that call of the model, counted from 1; a call ends once it is told."""
    numbers = count(1)

    def during(options: ChatOptions) -> None:
        number = next(numbers)
        if number < call:
            return
        if number == call:
            os.kill(os.getpid(), signal.SIGINT)
        assert options.cancel is not None
        wait(options.cancel.is_set)
        raise GenerationCancelled("The answer was cancelled.")

    return during


class Gate:
    """Holds a model call until it is opened, so that a test can step in while the run goes on.

    Args:
        calls: The calls that are held, counted from 1; all if empty.
    """

    def __init__(self, *calls: int) -> None:
        self._calls = calls
        self._count = 0
        self._open = threading.Event()
        self.reached = threading.Event()

    def __call__(self, options: ChatOptions) -> None:
        self._count += 1
        if self._calls and self._count not in self._calls:
            return
        self.reached.set()
        while not self._open.wait(0.01):
            if options.cancel is not None and options.cancel.is_set():
                raise GenerationCancelled("The run was cancelled.")

    def open(self) -> None:
        self._open.set()


@dataclass(frozen=True)
class Look:
    """A size in columns and rows, and a theme."""

    size: tuple[int, int]
    theme: str


def looks(*names: str) -> pytest.MarkDecorator:
    """The looks in which a scene is compared, each as ``80x24-dark``; the colour may be ``no-color``."""
    return pytest.mark.parametrize("look", names, indirect=True)


@pytest.fixture
def look(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Look:
    """The look that ``looks`` names."""
    size, _, colour = request.param.partition("-")
    columns, rows = map(int, size.split("x"))
    if colour != "no-color":
        return Look((columns, rows), colour)
    monkeypatch.setenv("NO_COLOR", "1")
    return Look((columns, rows), "dark")


Scene = Callable[[Pilot[Any]], Awaitable[object]]
Picture = Callable[[Scene], None]


@pytest.fixture
def picture(look: Look, make_app: MakeApp, snap_compare: Callable[..., bool]) -> Picture:
    """Compare a scene in the look of the test with its picture, once the footer shows what is possible."""

    def compare(scene: Scene) -> None:
        async def settled(pilot: Pilot[Any]) -> None:
            await scene(pilot)
            await until(pilot, lambda: _footer(pilot.app.screen) == _possible(pilot.app.screen))

        app = make_app(theme=look.theme)
        assert snap_compare(app, terminal_size=look.size, run_before=settled)

    return compare


def _footer(screen: Screen[Any]) -> dict[str, bool]:
    return {key.action: not key.has_class("-disabled") for key in screen.query(FooterKey)}


def _possible(screen: Screen[Any]) -> dict[str, bool]:
    if not screen.query(Footer):
        return {}
    keys = [(key, enabled) for _, key, enabled, _ in screen.active_bindings.values() if key.show]
    return {key.action: enabled for key, enabled in reversed(keys)}  # the first key of an action is shown
