"""The first start: each step, each key, what goes wrong, and a first question that works."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import Static
from textual.widgets._footer import FooterKey

from agent.documents.ingest import IngestEvent
from agent.documents.sample_library import demo_question
from models.catalogue import QWEN_CODER_1_5B, ModelEntry
from models.fetch.files import ChecksumMismatch
from models.fetch.pull import DiskFull
from tests.tui.conftest import MakeApp, Picture
from tests.tui.pulling import Pulling
from tests.tui.seen import toasts
from tests.tui.waiting import PATIENCE, comes, opens, until
from traces.runs import Runs
from tui.app.app import Appearance, DeepthinkApp
from tui.app.engine import Engine
from tui.app.help import HelpScreen
from tui.ask.conversation import Beginning, load_beginning
from tui.ask.prompt import Prompt
from tui.ask.welcome import WelcomeScreen, is_here
from tui.library.actions import Intake, read_in
from tui.library.files import FilesScreen
from tui.library.ingest_panel import IngestPanel
from tui.settings.settings import load

DEFAULTS = ["qwen2.5-coder-1.5b", "qwen2.5-coder-0.5b", "bge-small-en", "ms-marco-minilm-l12"]


class _Machine(Pulling):
    """A machine without models; pulling brings them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(monkeypatch, lambda entry: self.pulled.append(entry.name))
        self.pulled: list[str] = []
        monkeypatch.setattr("tui.ask.welcome.is_here", lambda entry: entry.name in self.pulled)
        monkeypatch.setattr("tui.app.engine.Engine.prepare", lambda *_: None)


@pytest.fixture
def app(make_app: MakeApp) -> DeepthinkApp:
    """The app without documents."""
    return make_app()


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> _Machine:
    return _Machine(monkeypatch)


def _shown(app: App[Any]) -> str:
    return "\n".join(str(part.render()) for part in app.screen.query(Static) if part.display)


async def _shows(pilot: Pilot[Any], words: str) -> None:
    await until(pilot, lambda: words in _shown(pilot.app))


async def _opened(pilot: Pilot[Any]) -> list[str | None]:
    """Open the first steps; what they end with."""
    answers: list[str | None] = []
    pilot.app.push_screen(WelcomeScreen(), answers.append)
    await _shows(pilot, "▸")
    return answers


def test_a_model_file_other_than_the_published_one_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    def differs(_entry: ModelEntry) -> Path:
        raise ChecksumMismatch("It differs.", "Pull it.")

    monkeypatch.setattr("models.fetch.pull.checked", differs)
    assert not is_here(QWEN_CODER_1_5B)


async def test_enter_enter_enter_and_a_question_that_works(
    machine: _Machine, app: DeepthinkApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEEPTHINK_APPROVE", "always")
    async with app.run_test(size=(80, 24)) as pilot:
        await _shows(pilot, "▸ 1")
        lines = [line.split() for line in _shown(app).splitlines()]
        first = lines.index("⏎ fetches 1.7 GB, once.".split())
        assert [line[0] for line in lines[first + 1 : first + 5]] == DEFAULTS
        assert lines[first + 1][1:] == ["1.1", "GB", "Apache-2.0"], "its size and its licence"
        machine.hold.clear()
        await pilot.press("enter")
        await _shows(pilot, "50% of 1.1 GB")
        assert "! publisher: example.org is away" in _shown(app)
        machine.hold.set()
        await _shows(pilot, "✓ 1")
        assert machine.pulled == DEFAULTS
        await pilot.press("enter")
        await _shows(pilot, "✓ 2")
        assert "12 in the library, all of them samples." in _shown(app)
        await pilot.press("enter")
        runs = Runs(app.engine.store)
        await until(pilot, lambda: any(run.finished for run in runs.recent(1)))
        (run,) = runs.recent(1)
        assert (run.question, run.status) == (demo_question(), "answered")


@pytest.mark.usefixtures("bare")
async def test_a_pull_that_stops_or_fails_is_taken_up_again_or_the_smaller_model_is_used(
    machine: _Machine, app: DeepthinkApp
) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await _opened(pilot)
        machine.hold.clear()
        await pilot.press("enter")
        await _shows(pilot, "50%")
        await pilot.press("enter", "ctrl+s", "ctrl+o", "x")  # only the last is possible now
        await _shows(pilot, "Stopped; what was done so far is kept.")
        assert machine.pulled == []
        machine.hold.set()
        machine.fails = DiskFull("It needs 1.12 GB, and there are 0.4.", "Make room.")
        await pilot.press("enter")
        await _shows(pilot, "✗ Not enough disk space")
        assert "Make room." in _shown(app)
        assert len(app.failures) == 1
        machine.fails = None
        await pilot.press("ctrl+s")
        await _shows(pilot, "✓ 1")
        assert "✗" not in _shown(app)
        assert load().model == "qwen2.5-coder-0.5b"
        assert "qwen2.5-coder-0.5b is here." in _shown(app)
        await pilot.press("ctrl+s")  # no longer possible
        await pilot.pause()
        assert machine.pulled == DEFAULTS[1:]


@pytest.mark.usefixtures("bare")
async def test_documents_of_ones_own(
    app: DeepthinkApp, machine: _Machine, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    machine.pulled = list(DEFAULTS)
    (folder / "broken.pdf").write_bytes(b"%PDF-1.4 no pages")
    async with app.run_test(size=(80, 24)) as pilot:
        answers = await _opened(pilot)
        await pilot.press("ctrl+o")
        (await comes(pilot, FilesScreen)).dismiss(None)
        await comes(pilot, WelcomeScreen)
        assert "“" in _shown(app), "the sample question"
        files = await opens(pilot, FilesScreen, "ctrl+o")
        go_on = threading.Event()

        def held(*arguments: Any) -> Iterator[IngestEvent]:
            go_on.wait(PATIENCE)
            yield from read_in(*arguments)

        monkeypatch.setattr("tui.library.ingest_panel.read_in", held)
        files.dismiss(Intake((folder,), (), "mine", "what is known"))
        await _shows(pilot, "of your documents")
        assert "“" not in _shown(app), "the sample question is not one of these documents"
        go_on.set()
        await _shows(pilot, "✓ 2")
        assert "2 in the library." in _shown(app)
        help_screen = await opens(pilot, HelpScreen, "f1")
        assert "The first start" in next(iter(help_screen._texts))
        await pilot.press("escape")
        await comes(pilot, WelcomeScreen)
        assert "✗ broken.pdf: " in _shown(app)
        await pilot.press("enter")
        await until(pilot, lambda: answers)
    assert answers == [""]  # the sample question would find nothing in them


@pytest.mark.usefixtures("bare")
async def test_a_folder_without_documents_says_so_once(
    app: DeepthinkApp, machine: _Machine, tmp_path: Path
) -> None:
    machine.pulled = list(DEFAULTS)
    (empty := tmp_path / "empty").mkdir()
    async with app.run_test(size=(80, 24)) as pilot:
        await _opened(pilot)
        await pilot.press("ctrl+o")
        (await comes(pilot, FilesScreen)).dismiss(Intake((empty,), (), "mine", ""))
        await until(pilot, lambda: app.failures and "⏎" in _shown(app))
        panel = app.screen.query_one(IngestPanel)
        (why,) = [str(line) for line in panel.lines(80) if "✗" in str(line)][1:]
        assert why.startswith("✗ No readable file in")
        assert not app.screen.query_one("#trouble").display
        assert toasts(app) == []


@pytest.mark.usefixtures("bare")
async def test_escape_leaves_and_stops(machine: _Machine, app: DeepthinkApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        answers = await _opened(pilot)
        await pilot.press("ctrl+c")
        await until(pilot, lambda: any("quit" in toast.message for toast in app._notifications))
        assert "Quit" in {key.description for key in app.screen.query(FooterKey)}
        machine.hold.clear()
        await pilot.press("enter")
        await _shows(pilot, "50%")
        await pilot.press("escape")
        await until(pilot, lambda: answers)
        await until(pilot, lambda: not any(worker.is_running for worker in app.workers))
    assert answers == [""]
    assert machine.pulled == []


async def test_what_was_typed_before_the_app_could_read_it_is_asked(machine: _Machine) -> None:
    app = DeepthinkApp(look=Appearance(reduced_motion=True), prepare=False, typed="Who?\nIs")
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.screen.query_one(Prompt).text == "Is")
        assert app.screen.query_one(Prompt).earlier == ["Who?"]


async def test_typing_a_question_closes_the_first_steps(app: DeepthinkApp, machine: _Machine) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await _shows(pilot, "▸ 1")
        for letter in "xyz":
            app.post_message(events.Key(letter, letter))
        await until(pilot, lambda: app.screen.query(Prompt))
        await until(pilot, lambda: app.screen.query_one(Prompt).text == "xyz")


async def test_who_is_writing_a_question_at_the_first_start_is_left_alone(
    app: DeepthinkApp, machine: _Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = threading.Event()

    def slow(engine: Engine, session: str) -> Beginning:
        assert looked.wait(PATIENCE)
        return load_beginning(engine, session)

    monkeypatch.setattr("tui.ask.screen.load_beginning", slow)
    async with app.run_test(size=(80, 24)) as pilot:
        ask = app.screen
        await pilot.press(*"Who")
        looked.set()
        await _shows(pilot, "The library is empty.")
        await pilot.press(*" is so")
        assert (app.screen, ask.query_one(Prompt).text) == (ask, "Who is so")


@pytest.mark.usefixtures("bare")
@pytest.mark.parametrize(
    ("look", "step"), [("120x40-light", "fetching"), ("80x24-dark", "question")], indirect=["look"]
)
def test_welcome_in_pictures(step: str, machine: _Machine, picture: Picture) -> None:
    async def show(pilot: Pilot[Any]) -> None:
        await _opened(pilot)
        await pilot.press("enter")
        await _shows(pilot, "50%" if step == "fetching" else "✓ 2")

    if step == "fetching":
        machine.hold.clear()
    else:
        machine.pulled = list(DEFAULTS)
    try:
        picture(show)
    finally:
        machine.hold.set()
