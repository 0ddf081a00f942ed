"""The command line as a person runs it: in this process, on a scripted model and hashed vectors."""

from __future__ import annotations

import re
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import duckdb
import pytest
import typer.main

from agent.prompts import NOT_FOUND
from models.protocols import ChatOptions, Choice, Message, Reply, Usage
from models.scripted import HashEmbedder
from tests.agent.conftest import UnsureReader
from traces.paths import store_file
from traces.store import Store
from tui import cli

FACTS = {
    "supplier.md": "# Supply\n\nOrlavane buys all of its ceramic bearings from Tolvang Ceramics.\n",
    "fire.md": "# Fire\n\nA fire at the Brevnes plant of Tolvang Ceramics halted production in May.\n",
}
QUESTION = "Name the supplier of Orlavane's ceramic bearings and the event that halted its plant."
_get_command = cache(typer.main.get_command)
_NUMBERED = re.compile(r"^\[(\d+)\].*", re.MULTILINE)


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
    _words: dict[str, str] = field(default_factory=lambda: {"suppl": "Tolvang Ceramics", "halt": "A fire"})

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def generate(self, messages: Sequence[Message], options: ChatOptions) -> Reply:
        self.during(options)
        prompt = messages[-1].content
        wanted = (options.schema or {}).get("properties", {})
        if "steps" in wanted:
            text = '{"steps": ["Who supplies the ceramic bearings?", "What halted the plant of #1?"]}'
        elif "source" in wanted:
            text = self._find(prompt)
        elif prompt.startswith("PASSAGES:") and not self.finds:
            text = NOT_FOUND
        else:
            text = self.answer
            if options.on_text is not None:
                for piece in re.findall(r"\S+\s*", text):
                    options.on_text(piece)
        return Reply(text, Usage(len(prompt.split()), 5, len(text.split())))

    def _find(self, prompt: str) -> str:
        asked = prompt.rsplit("\n\n", 1)[-1]
        answer = next((found for word, found in self._words.items() if word in asked), "")
        shown = [m for m in _NUMBERED.finditer(prompt) if answer and answer in m.group()]
        if not self.finds or not shown:
            return '{"source": 0, "answer": ""}'
        return f'{{"source": {shown[-1].group(1)}, "answer": "{answer}"}}'

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


Run = Callable[..., Ran]
Answer = Callable[..., Answering]


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
    """No test waits for models that search, or depends on the terminal it is started from."""
    for name in ("COLUMNS", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    embedder = HashEmbedder()
    for user in ("tui.assemble", "tui.asking", "tui.searching", "tui.demonstration"):
        monkeypatch.setattr(f"{user}.open_embedder", lambda _settings: embedder)
    for user in ("assemble", "asking", "comparing", "evaluating", "collecting"):
        monkeypatch.setattr(f"tui.{user}.open_reader", lambda _settings: UnsureReader())
    monkeypatch.setattr("policy.registry._SHIPPED", Path("no-box"))  # the rules decide


@pytest.fixture(autouse=True)
def stay_open(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Keep a store open once it was opened, since each opening takes 16 ms; not where others open it."""
    held: dict[Path, duckdb.DuckDBPyConnection] = {}
    opening = Store._open

    def opened(store: Store) -> duckdb.DuckDBPyConnection:
        connection = opening(store)
        if store.path not in held:
            held[store.path] = duckdb.connect(str(store.path))
        return connection

    if not hasattr(request.module, "subprocess"):
        monkeypatch.setattr(Store, "_open", opened)
    yield
    for connection in held.values():
        connection.close()


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Answer:
    """Put a model in place of the real one."""

    def use(**how: object) -> Answering:
        chat = Answering(**how)  # type: ignore[arg-type]
        monkeypatch.setattr("tui.asking.open_chat", lambda _settings: chat)
        return chat

    return use


@pytest.fixture
def no_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without any model."""
    monkeypatch.setenv("DEEPTHINK_MODELS", str(tmp_path / "no-models"))


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
    return folder
