"""Where the keys go while one asks: nothing that is typed is lost, nothing is chosen by accident."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from textual import events
from textual.widget import Widget
from textual.widgets import OptionList

from tests.tui.ask.test_screen import asked, begun, ready
from tests.tui.conftest import QUESTION, Answering, Gate, MakeApp
from tests.tui.run.test_steering import UNSUPPORTED, asking, notified, over
from tests.tui.waiting import until
from traces.runs import Ratings, Runs
from tui.app.app import DeepthinkApp
from tui.ask.conversation import Conversation
from tui.ask.prompt import Prompt
from tui.decisions.strip import DecisionStrip
from tui.run.exchange import Answer, AskedBox, Exchange
from tui.run.panel import EvidenceList, PlanTree


def focused(app: DeepthinkApp, kind: type[Widget]) -> bool:
    """Whether a widget of that kind has the focus."""
    return isinstance(app.focused, kind)


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
        screen.set_focus(None)
        await pilot.press("m")
        assert prompt.text == "whom"


async def test_the_arrows_go_through_the_thinking_and_what_is_typed_as_it_is_hidden_is_the_prompts(
    make_app: MakeApp, filled: Path
) -> None:
    app = make_app(Answering())
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await asked(pilot)
        await pilot.press("ctrl+l")
        for key, part in (("right", EvidenceList), ("left", PlanTree), ("left", DecisionStrip)):
            await pilot.press(key)
            await until(pilot, partial(focused, app, part))
        for key in ("ctrl+l", "f", "c"):  # at once: they wait before the first has had its effect
            app.post_message(events.Key(key, key if len(key) == 1 else None))
        await until(pilot, lambda: screen.query_one(Prompt).text == "fc")


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


async def test_what_is_mistyped_is_not_asked(make_app: MakeApp, filled: Path) -> None:
    app = make_app(Answering())
    async with app.run_test(size=(120, 40)) as pilot:
        for typed, told in {
            "#nosuch where is it?": "No collection is called nosuch; there are facts.",
            "@/nonexistent/file.md what is it?": "There is no file or folder /nonexistent/file.md.",
            "what says @~nobody-here about it?": "There is no file or folder ~nobody-here.",
            f"@/{'x' * 300} what is it?": f"There is no file or folder /{'x' * 300}.",
            "#facts": "Add a question to it.",
        }.items():
            app.clear_notifications()
            screen = await begun(pilot, typed)
            await until(pilot, partial(notified, app, told))
            assert screen.live is None
            assert not screen.query(Exchange)
            assert screen.query_one(Prompt).text == typed


async def test_a_key_on_an_earlier_answer_is_about_that_answer(make_app: MakeApp, filled: Path) -> None:
    chat = Answering()
    app = make_app(chat)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await asked(pilot)
        answered = screen.fold
        chat.finds = False
        await asked(pilot, "Who owns the moon?")
        assert screen.fold is not answered
        await pilot.press("ctrl+y")  # the last answer with citations: the first of the two
        await until(pilot, lambda: screen.query(Answer).first().has_focus)
        await pilot.press("g")
        ratings, runs = Ratings(app.engine.store), Runs(app.engine.store)
        await until(pilot, lambda: any(ratings.of(run.id) for run in runs.recent()))
        assert [run.question for run in runs.recent() if ratings.of(run.id)] == [QUESTION]
