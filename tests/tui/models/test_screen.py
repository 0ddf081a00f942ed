"""The models in the app: what there is, every key, progress, failures, and what follows from a choice."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import Input

from models.catalogue import BGE_SMALL_EN, QWEN_CODER_0_5B, QWEN_CODER_1_5B, ModelEntry
from models.fetch.files import CheckedFiles
from models.fetch.pull import DiskFull
from models.probe import ProbeResult
from models.protocols import GenerationCancelled
from models.servers.ollama import ModelFacts, OllamaServer
from models.servers.openai import OpenAiServer
from tests.tui.conftest import QUESTION, Answering, Gate, MakeApp, Picture
from tests.tui.pulling import Pulling
from tests.tui.seen import text_of, toasts
from tests.tui.waiting import comes, until
from tui.app.app import DeepthinkApp
from tui.app.confirm import ConfirmScreen
from tui.ask.screen import AskScreen
from tui.models.screen import ModelList
from tui.settings.settings import load, put

pytestmark = pytest.mark.usefixtures("bare")

_RESULT = ProbeResult("llama.cpp:qwen2.5-coder-1.5b", 8192, True, None, True, 85.2, 12.1)


def _install(folder: Path, entry: ModelEntry) -> None:
    """Files of the right names and sizes, with hardly a byte on the disk, taken for the published ones."""
    home = folder / entry.name
    for file in entry.files:
        path = home / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as stream:
            if file.path == "config.json":
                stream.write(b'{"architectures": ["BertModel"]}'.ljust(file.size))
            stream.truncate(file.size)
        CheckedFiles(home).add(file)


class _Machine(Pulling):
    """A models folder with the default models in it, and a pull that brings the others."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(monkeypatch, partial(_install, folder), parts=4)
        self.folder = folder
        self.prepared: list[str] = []
        for entry in (QWEN_CODER_1_5B, BGE_SMALL_EN):
            _install(folder, entry)
        monkeypatch.setenv("DEEPTHINK_MODELS", str(folder))
        monkeypatch.setenv("DEEPTHINK_OLLAMA_URL", "http://127.0.0.1:1")
        monkeypatch.setattr("models.probe.probe", self.probe)
        monkeypatch.setattr(
            "tui.app.engine.Engine.prepare", lambda engine: self.prepared.append(engine.settings().model)
        )

    def serve(self, monkeypatch: pytest.MonkeyPatch, models: Mapping[str, str]) -> None:
        facts = {name: ModelFacts(8192, frozenset({capability})) for name, capability in models.items()}
        monkeypatch.setattr(OllamaServer, "models", lambda _self: dict.fromkeys(models, "digest"))
        monkeypatch.setattr(OllamaServer, "facts", lambda _self, name: facts[name])

    def probe(
        self, chat: Answering, *, cancel: threading.Event, on_step: Callable[[str], None]
    ) -> ProbeResult:
        on_step("how fast it reads")
        self.wait(cancel, GenerationCancelled("It was cancelled."))
        return _RESULT


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> _Machine:
    """The default models are here, the smaller one is not, and no Ollama."""
    return _Machine(tmp_path / "models", monkeypatch)


def _shown(app: App[Any], part: str = "message") -> str:
    return text_of(app.screen, f"#{part}")


def _line(app: App[Any], name: str) -> str:
    rows = app.screen.query_one(ModelList)
    return next((str(o.prompt)[2:] for o in rows.options if o.id and name in o.id), "")


async def _at(app: App[Any], pilot: Pilot[Any], name: str, role: Any = "chat") -> None:
    if app.current_mode != "models":
        await pilot.press("f7")
    rows = app.screen.query_one(ModelList)
    await until(pilot, lambda: _line(app, name))
    rows.highlighted = rows.get_option_index(f"{role} {name}")
    await until(pilot, lambda: rows.row is not None and rows.row.name == name)


async def test_what_is_here_what_is_not_and_what_is_in_use(
    make_app: MakeApp, machine: _Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = machine.folder / "mine.gguf"
    mine.write_bytes(b"GGUF" * 300_000)
    (machine.folder / "notes.txt").write_text("not a model")
    (machine.folder / "odd").mkdir()
    machine.serve(monkeypatch, {"llama3:latest": "completion", "nomic:latest": "embedding"})
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await _at(app, pilot, QWEN_CODER_1_5B.name)
        await until(pilot, lambda: _line(app, "ollama:nomic"))
        assert _line(app, "mine.gguf").split() == ["✓", "mine", "1", "MB"]
        assert "notes" not in "".join(_line(app, name) for name in ("notes", "odd"))
        assert _line(app, "ollama:llama3").split() == ["✓", "ollama:llama3"]
        rows = app.screen.query_one(ModelList)
        rows.highlighted = rows.get_option_index("embedder ollama:nomic:latest")
        await until(pilot, lambda: rows.row is not None and rows.row.role == "embedder")
        assert "Apache-2.0" not in _shown(app, "detail")
        assert _shown(app, "servers") == "Ollama at http://127.0.0.1:1 has 2 models."
        for path in (machine.folder / QWEN_CODER_1_5B.name).iterdir():
            path.unlink()
        await pilot.press("u")
        await _at(app, pilot, QWEN_CODER_1_5B.name)
        await until(pilot, lambda: "the settings name it, and it is not" in _shown(app, "detail"))


async def test_a_model_on_another_machine_is_used_once_that_is_confirmed(
    make_app: MakeApp, machine: _Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OpenAiServer, "models", lambda _self: {"qwen3": None})
    put("openai_url", "http://box:8080")
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await _at(app, pilot, "openai:qwen3")
        for answer in ("n", "y"):
            await pilot.press("enter")
            await comes(pilot, ConfirmScreen)
            assert "http://box:8080/v1" in _shown(app, "detail")
            assert load().model == QWEN_CODER_1_5B.name
            await pilot.press(answer)
            await until(pilot, lambda: not isinstance(app.screen, ConfirmScreen))
        await until(pilot, lambda: load().model == "openai:qwen3")
        assert load().openai_confirmed == "http://box:8080/v1"


async def test_another_model_is_used_from_now_on_from_the_list_or_by_its_path(
    machine: _Machine, library: Path, app: DeepthinkApp
) -> None:
    with app.engine.store.connect() as db:
        db.execute("UPDATE library SET embedder = 'the one before'")
    mine = machine.folder / "mine.gguf"
    mine.write_bytes(b"GGUF")
    async with app.run_test(size=(80, 24)) as pilot:
        await _at(app, pilot, str(mine))
        await pilot.press("enter")
        await until(pilot, lambda: "✓ In use from now on." in _shown(app))
        assert load().model == str(mine)
        assert machine.prepared == [str(mine)]
        await until(pilot, lambda: "in use" in _line(app, "mine.gguf"))
        await _at(app, pilot, "none", "reranker")
        await pilot.press("enter")
        await until(pilot, lambda: load().reranker == "none")
        await until(pilot, lambda: "in use" in _line(app, "reranker none"))
        path = app.screen.query_one("#path", Input)
        await pilot.press("i")
        path.value = "/nowhere/x.gguf"
        await pilot.press("enter")
        await until(pilot, lambda: "There is no model file /nowhere/x.gguf." in _shown(app))
        assert "Correct the path, or choose another model." in _shown(app)
        assert path.has_focus
        await pilot.press("escape")
        assert not path.display
        assert app.screen.query_one(ModelList).has_focus
        await pilot.press("i")
        path.value = "ollama:llama3"
        await pilot.press("enter")
        await until(pilot, lambda: load().model == "ollama:llama3")
        await until(pilot, lambda: "in use" in _line(app, "ollama:llama3"))
        await pilot.press("i")
        path.value = str(machine.folder / BGE_SMALL_EN.name)
        await pilot.press("enter")
        await until(pilot, lambda: "! 2 passages are embedded again in the background" in _shown(app))
        assert load().embedder == str(machine.folder / BGE_SMALL_EN.name)


async def test_a_pull_shows_its_progress_and_brings_the_model(machine: _Machine, app: DeepthinkApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await _at(app, pilot, QWEN_CODER_0_5B.name)
        machine.hold.clear()
        await pilot.press("p")
        await until(pilot, lambda: "25% of 491 MB" in _shown(app, "pull"))
        await pilot.press("p", "t", "v", "enter", "i")  # one job at a time
        await pilot.press("x")
        await until(pilot, lambda: _shown(app) == "Stopped; what was fetched is kept.")
        machine.hold.set()
        machine.fails = DiskFull("It needs 0.49 GB, and there are 0.1.", "Make room.")
        await pilot.press("p")
        await until(pilot, lambda: "✗ Not enough disk space" in _shown(app))
        assert "Make room." in _shown(app)
        assert len(app.failures) == 1
        assert not app.screen.query_one("#pull").display
        machine.fails = None
        await pilot.press("p")
        await until(pilot, lambda: "✓ qwen2.5-coder-0.5b is here." in _shown(app))
        await until(pilot, lambda: "not here" not in _line(app, QWEN_CODER_0_5B.name))
        assert load().model == QWEN_CODER_1_5B.name
        await pilot.press("enter")
        await until(pilot, lambda: load().model == QWEN_CODER_0_5B.name)


async def test_a_pull_that_ends_behind_a_window_is_told(machine: _Machine, app: DeepthinkApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await _at(app, pilot, QWEN_CODER_0_5B.name)
        machine.hold.clear()
        await pilot.press("p", "f1")
        machine.hold.set()
        await until(pilot, lambda: toasts(app) == [f"{QWEN_CODER_0_5B.name} is here."])


async def test_a_model_is_measured(make_app: MakeApp, machine: _Machine) -> None:
    app = make_app(Answering(name="llama.cpp:qwen2.5-coder-1.5b"))
    async with app.run_test(size=(80, 24)) as pilot:
        await _at(app, pilot, QWEN_CODER_1_5B.name)
        assert "Not measured yet." in _shown(app, "detail")
        machine.hold.clear()
        await pilot.press("t")
        await until(pilot, lambda: _shown(app) == "… measuring: how fast it reads")
        await pilot.press("x")
        await until(pilot, lambda: _shown(app) == "Stopped.")
        machine.hold.set()
        await pilot.press("t")
        await until(pilot, lambda: "8,192 tokens are really granted" in _shown(app, "detail"))
        assert "reads 85 tokens/s, writes 12 tokens/s" in _shown(app, "detail")


async def test_nothing_is_measured_while_a_run_goes_on(
    machine: _Machine, library: Path, make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DeepthinkApp, "MODES", {**DeepthinkApp.MODES, "ask": AskScreen})
    app = make_app()
    mine = machine.folder / "mine.gguf"
    mine.write_bytes(b"GGUF")
    gate, opened = Gate(1), list[Answering]()

    def open_chat(_settings: object) -> Answering:
        opened.append(Answering(during=gate))
        return opened[-1]

    monkeypatch.setattr("tui.assemble.open_chat", open_chat)
    async with app.run_test(size=(80, 24)) as pilot:
        asking = await comes(pilot, AskScreen)
        asking.ask(QUESTION)
        await until(pilot, gate.reached.is_set)
        await _at(app, pilot, str(mine))
        await pilot.press("enter")
        await until(pilot, lambda: "after the current run" in _shown(app))
        await until(pilot, lambda: "in use" in _line(app, "mine.gguf"))
        await pilot.press("t")
        assert _shown(app) == "! A run is in progress. Measure it when the run has ended."
        assert [chat.closed for chat in opened] == [False]
        asking.cancel()
        await until(pilot, lambda: asking.live is None)
        await pilot.press("t")
        await until(pilot, lambda: _shown(app) == "mine is measured.")
        assert [chat.closed for chat in opened] == [True, False]


@pytest.mark.parametrize(
    ("look", "state"), [("80x24-dark", "normal"), ("120x40-dark", "pulling")], indirect=["look"]
)
def test_models_in_pictures(state: str, machine: _Machine, picture: Picture) -> None:
    async def show(pilot: Pilot[Any]) -> None:
        app = pilot.app
        wanted = QWEN_CODER_1_5B if state == "normal" else QWEN_CODER_0_5B
        await _at(app, pilot, wanted.name)
        await until(pilot, lambda: _shown(app, "servers"))
        if state == "pulling":
            machine.hold.clear()
            await pilot.press("p")
            await until(pilot, lambda: "25%" in _shown(app, "pull"))

    picture(show)
