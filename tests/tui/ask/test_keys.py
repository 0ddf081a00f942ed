"""Where the keys go while one asks: nothing that is typed is lost, nothing is chosen by accident."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from textual import events
from textual.widgets import OptionList, Static

from agent.documents.ingest import ingest
from models.protocols import Chat
from tests.scripted import HashEmbedder
from tests.tui.ask.test_screen import asked, begun, ready, shown
from tests.tui.conftest import QUESTION, Answering, Gate, MakeApp
from tests.tui.run.test_steering import UNSUPPORTED, asking, held, over
from tests.tui.waiting import PATIENCE, until
from traces.runs import Runs
from tui.app.engine import Engine
from tui.ask.conversation import Conversation
from tui.ask.prompt import Prompt
from tui.decisions.strip import DecisionStrip
from tui.run.asked import AskedBox
from tui.run.evidence import EvidenceList
from tui.run.exchange import Answer, Exchange
from tui.run.panel import PlanTree


async def test_escape_the_key_of_the_screen_and_letters_lead_back_to_the_prompt(
    make_app: MakeApp, filled: Path
) -> None:
    app = make_app(Answering())
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await asked(pilot)
        prompt = screen.query_one(Prompt)
        for back in ("escape", "f2"):
            await pilot.press("ctrl+y")
            assert isinstance(app.focused, Answer)
            await pilot.press(back)
            await until(pilot, lambda: prompt.has_focus)
        screen.query_one(Conversation).focus()
        await pilot.press("w", "h", "o")
        await until(pilot, lambda: prompt.text == "who")
        await pilot.press("escape")
        assert prompt.text == ""
        await pilot.press("up")
        await until(pilot, lambda: prompt.text == "who")


async def test_the_arrows_go_through_the_thinking(make_app: MakeApp, filled: Path) -> None:
    app = make_app(Answering())
    async with app.run_test(size=(80, 24)) as pilot:
        await asked(pilot)
        await pilot.press("ctrl+l")
        await until(pilot, lambda: isinstance(app.focused, PlanTree))
        await pilot.press("right")
        await until(pilot, lambda: isinstance(app.focused, EvidenceList))
        await pilot.press("left")
        await until(pilot, lambda: isinstance(app.focused, PlanTree))


async def test_what_is_typed_with_the_key_that_hides_the_thinking_is_for_the_prompt(
    make_app: MakeApp, filled: Path
) -> None:
    app = make_app(Answering())
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await asked(pilot)
        await pilot.press("ctrl+l", "right", "right")
        await until(pilot, lambda: isinstance(app.focused, DecisionStrip))  # where letters are decisions
        for key in ("ctrl+l", "f", "c"):  # at once: they wait before the first has had its effect
            app.post_message(events.Key(key, key if len(key) == 1 else None))
        await until(pilot, lambda: screen.query_one(Prompt).text == "fc")


async def test_who_went_to_the_citations_before_the_run_had_ended_stays_there(
    make_app: MakeApp, filled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    end, chat = threading.Event(), Engine.chat

    @contextmanager
    def ends_late(engine: Engine, model: str = "") -> Iterator[Chat]:
        with chat(engine, model) as opened:
            yield opened
        assert end.wait(PATIENCE)

    monkeypatch.setattr(Engine, "chat", ends_late)
    app = make_app(Answering())
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await begun(pilot)
        await until(pilot, lambda: screen.fold and screen.fold.over)  # as it says, for all to see
        await pilot.press("ctrl+y")
        assert isinstance(app.focused, Answer)
        end.set()
        await over(pilot, screen)
        await pilot.pause()
        assert isinstance(app.focused, Answer)


async def test_who_was_at_a_question_that_is_taken_away_is_at_the_prompt(
    make_app: MakeApp, filled: Path
) -> None:
    app = make_app(Answering(answer=UNSUPPORTED))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await begun(pilot)
        await until(pilot, lambda: screen.query("AskedBox OptionList:focus"))
        assert screen.live is not None
        screen.live.steering.cancel()
        await over(pilot, screen)
        await until(pilot, lambda: screen.query_one(Prompt).has_focus)


async def test_what_is_typed_where_nothing_has_the_focus_is_for_the_prompt(
    make_app: MakeApp, filled: Path
) -> None:
    app = make_app(Answering())
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await ready(pilot)
        screen.set_focus(None)
        await pilot.press("h", "i")
        assert screen.query_one(Prompt).text == "hi"


async def test_a_question_of_the_run_takes_no_keys_from_who_is_typing(
    make_app: MakeApp, filled: Path
) -> None:
    gate = Gate(1)
    app = make_app(Answering(answer=UNSUPPORTED, during=gate))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await ready(pilot)
        prompt = screen.query_one(Prompt)
        prompt.put(QUESTION)
        await pilot.press("enter")
        await until(pilot, gate.reached.is_set)
        await pilot.press("h", "e")
        gate.open()
        await until(pilot, asking(screen, "approve"))
        await pilot.press("y")
        assert prompt.text == "hey"
        await pilot.press("ctrl+y")
        choices = screen.query_one(AskedBox).query_one(OptionList)
        assert choices.has_focus
        await pilot.press("enter")  # nothing is under the cursor: nothing is chosen
        assert screen.query(AskedBox)
        await pilot.press("down", "enter")
        await over(pilot, screen)
        assert Runs(app.engine.store).find("last").status == "answered"
        assert prompt.text == "hey"


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("#nosuch where is it?", "No collection is called nosuch; there are facts."),
        ("@/nonexistent/file.md what is it?", "There is no file or folder /nonexistent/file.md."),
        ("what says @~nobody-here about it?", "There is no file or folder ~nobody-here."),
        pytest.param(
            f"@/{'x' * 300} what is it?", f"There is no file or folder /{'x' * 300}.", id="too long"
        ),
        ("#facts", "Write the question beside it."),
    ],
)
async def test_what_is_mistyped_is_not_asked(
    make_app: MakeApp, filled: Path, typed: str, told: str
) -> None:
    app = make_app(Answering())
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await begun(pilot, typed)
        await until(pilot, lambda: [toast.message for toast in app._notifications] == [told])
        assert screen.live is None
        assert not screen.query(Exchange)
        assert screen.query_one(Prompt).text == typed


async def test_a_run_that_was_interrupted_is_offered_without_taking_the_keys(
    make_app: MakeApp, filled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(2)
    app = make_app(Answering(during=gate))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await held(pilot, gate)
    again = make_app(Answering())
    async with again.run_test(size=(120, 40)) as pilot:
        screen = await ready(pilot)
        line = screen.query_one("#offer", Static)
        await until(pilot, lambda: line.display)
        assert "interrupted" in shown(line)
        await pilot.press("w")
        assert screen.query_one(Prompt).text == "w"
        await pilot.press("f12")
        await until(pilot, lambda: again.screen is not screen and again.screen.query(OptionList))
        await pilot.press("enter")
        await until(pilot, lambda: screen.query(Exchange))
        assert not line.display
        await over(pilot, screen)
        assert Runs(again.engine.store).find("last").status == "answered"


async def test_skipping_and_deciding_are_refused_where_nothing_is_left_to_skip_or_decide(
    make_app: MakeApp, filled: Path
) -> None:
    gate = Gate()
    app = make_app(Answering(during=gate))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await begun(pilot)
        await until(pilot, lambda: screen.fold and screen.fold.node == "route")  # whose model call is held
        assert screen.fold is not None
        screen.fold.node = "synthesise"
        await pilot.press("ctrl+g", "ctrl+d")
        assert not screen.query(AskedBox)
        told = [toast.message for toast in app._notifications]
        assert told == ["There is no step to skip right now.", "This run has made its last decision."]
        await pilot.press("escape")
        gate.open()
        await over(pilot, screen)


async def test_a_collection_that_was_read_meanwhile_can_be_named(
    make_app: MakeApp, filled: Path, tmp_path: Path
) -> None:
    (tmp_path / "rent.md").write_text("# Rent\n\nThe rent of the Brevnes plant is 400,000 crowns a year.\n")
    app = make_app(Answering())
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await ready(pilot)
        await pilot.press("f3")
        for _ in ingest(
            [tmp_path / "rent.md"], collection="rents", store=app.engine.store, embedder=HashEmbedder()
        ):
            pass
        await pilot.press("f2")
        await until(pilot, lambda: "rents" in screen.known)
        screen.query_one(Prompt).put("#rents What is the rent of the Brevnes plant?")
        await pilot.press("enter")
        await until(pilot, lambda: screen.query(Exchange))
        screen.cancel()
        await over(pilot, screen)
