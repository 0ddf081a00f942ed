"""Stepping into a run in the app: pausing, answering, deciding, being asked."""

from __future__ import annotations

import re
import threading
from functools import partial

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, OptionList, Static

from agent.events import Asked, NodeStarted, Routed, Steered
from agent.run import resumable
from models.protocols import ChatOptions
from tests.tui import parts
from tests.tui.ask.test_screen import UNSUPPORTED, accept, answer_of, asking, begun, over, ready
from tests.tui.conftest import QUESTION, Answering, Gate
from tests.tui.seen import text_of, toasts
from tests.tui.waiting import PATIENCE, opens, until
from traces.decisions import Labels
from traces.runs import Runs
from tui.app.app import DeepthinkApp
from tui.app.help import HelpScreen
from tui.ask.conversation import Conversation
from tui.ask.prompt import Prompt
from tui.ask.screen import AskScreen
from tui.assemble import open_store
from tui.decisions.strip import DecisionStrip
from tui.run.exchange import AskedBox, Exchange, WaysOn
from tui.run.fold import RunFold
from tui.run.live import LiveRun, Meters, RunBar
from tui.run.panel import PlanTree


async def held(pilot: Pilot[int], gate: Gate) -> AskScreen:
    """Ask, and wait until the run stands at the gate."""
    screen = await begun(pilot)
    await until(pilot, gate.reached.is_set)
    return screen


async def asks(pilot: Pilot[int], screen: AskScreen, about: str) -> OptionList:
    """The choices of what the run asks, once they have the keys."""
    await until(pilot, asking(screen, about))
    choices = screen.query_one(AskedBox).query_one(OptionList)
    await until(pilot, lambda: choices.has_focus)
    return choices


async def test_a_cancelled_run_restores_the_prompt_and_resumes_and_leaving_interrupts_one(
    app: DeepthinkApp, chat: Answering
) -> None:
    gate = chat.during = Gate()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await held(pilot, gate)
        await pilot.press("escape")
        await over(pilot, screen)
        assert screen.query_one(Prompt).text == QUESTION
        assert screen.query_one(Prompt).has_focus
        assert not app.failures
        run = Runs(app.engine.store).find("last")
        assert run.status == "cancelled"
        gate.open()
        cancelled = screen.query_one(Exchange)
        assert "f12, then r" in text_of(cancelled, ".state"), "how it is resumed"
        screen.resume(run.id)
        await until(pilot, lambda: [turn for turn in screen.query(Exchange) if turn is not cancelled])
        await over(pilot, screen)
        assert Runs(app.engine.store).find(run.id).status == "answered"
        assert len(screen.query(Exchange)) == 1, "in place of what was cancelled"
        assert screen.query_one(Prompt).text == ""
        gate = chat.during = Gate()
        await held(pilot, gate)
        await pilot.press("ctrl+q")
    (left,) = resumable(open_store())
    assert (left.why, left.run.status, left.run.finished) == ("interrupted", "running", None)


async def test_a_run_that_takes_long_to_cancel_says_so_until_it_ends(
    app: DeepthinkApp, chat: Answering
) -> None:
    reached, goes_on = threading.Event(), threading.Event()

    def hold(_options: ChatOptions) -> None:
        reached.set()
        goes_on.wait(PATIENCE)

    chat.during = hold
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await begun(pilot)
        await until(pilot, reached.is_set)
        await pilot.press("escape")
        screen.draw_all()  # as each event of the run has it
        assert "being cancelled" in text_of(screen, ".state")
        goes_on.set()
        await over(pilot, screen)
        assert "being cancelled" not in text_of(screen, ".state")


async def test_a_pause_is_shown_from_the_key_until_it_is_over(app: DeepthinkApp, chat: Answering) -> None:
    gate = chat.during = Gate(1)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await held(pilot, gate)
        for label, said in (("resume", "Pausing after this step."), ("pause", "Resumed.")):
            await pilot.press("ctrl+o")
            screen.draw_all()  # as each event of the run has it
            assert label in str(screen.query_one(RunBar).render())
            assert toasts(app)[-1:] == [said]
            assert ("pausing after this step" in text_of(screen, ".state")) is (label == "resume")
        await pilot.press("ctrl+o")
        gate.open()
        await until(pilot, lambda: screen.fold is not None and screen.fold.paused)
        assert "paused after" in text_of(screen, ".state")
        await pilot.press("ctrl+o")
        await accept(pilot, screen)
        assert "Tolvang Ceramics" in answer_of(screen.query_one(Exchange))


async def test_nothing_is_promised_that_the_run_can_no_longer_do(
    app: DeepthinkApp, chat: Answering
) -> None:
    gate = chat.during = Gate()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await held(pilot, gate)
        assert screen.fold is not None
        screen.query_one(Prompt).put("What does the plant cost?")
        assert screen.fold.routed is None
        assert "add" not in text_of(screen, "RunBar"), "there may be no plan"
        no_step = "There is no step to skip right now."
        for route, node, said, now in (
            ("deep", "synthesise", "This run has made its last decision.", "Nothing is searched any more"),
            ("direct", "", "This run makes no decisions: it answers in one go.", "Answering now"),
        ):
            screen.fold.take_all([Routed(route, "", "rules", QUESTION, QUESTION), NodeStarted(node, 0)])
            screen.draw_all()  # as each event of the run has it
            assert not any(word in text_of(screen, "RunBar") for word in ("add", "decide one"))
            app.clear_notifications()
            await pilot.press("ctrl+b")
            assert not toasts(app)
            await pilot.press("enter")
            assert toasts(app) == ["A run is in progress; ask this when it has ended."], "no step of it"
            for key, message in (("ctrl+d", said), ("ctrl+g", no_step), ("ctrl+n", now)):
                app.clear_notifications()
                await pilot.press(key)
                await until(pilot, lambda: toasts(app))
                assert toasts(app)[0].startswith(message)
        assert screen.query_one(Prompt).text == "What does the plant cost?"
        assert not screen.query(AskedBox)
        screen.cancel()
        gate.open()
        await over(pilot, screen)


async def test_answer_now_skip_and_add(app: DeepthinkApp, chat: Answering) -> None:
    gate = chat.during = Gate(3)  # after the route and the plan
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await held(pilot, gate)
        await pilot.press("ctrl+b")  # nothing to add
        screen.query_one(Prompt).put("What does the plant cost?")
        await pilot.press("ctrl+b", "ctrl+g")
        assert screen.query_one(Prompt).text == ""
        gate.open()
        await until(pilot, lambda: screen.fold and len(screen.fold.plan) > 2)
        assert screen.fold is not None
        assert screen.fold.skipped_steps
        await pilot.press("ctrl+n")
        await accept(pilot, screen)
        assert {"skip", "add"} <= {event.what for event in screen.fold.every(Steered)}


async def test_a_decision_is_taken_by_the_person_and_is_a_label(app: DeepthinkApp, chat: Answering) -> None:
    gate = chat.during = Gate(1)
    runs = Runs(app.engine.store)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await held(pilot, gate)
        await pilot.press("ctrl+d")
        gate.open()
        choices = await asks(pilot, screen, "decide")
        assert choices.highlighted is not None, "what is suggested is under the cursor"
        await pilot.press(str(choices.option_count), "enter")  # FINISH comes last
        await until(pilot, lambda: not asking(screen, "decide")())
        await accept(pilot, screen)
        run = runs.find("last")
        assert next(d.source for d in runs.decisions(run.id) if not d.shadow) == "human"
        labels = Labels(app.engine.store).of_run(run.id).values()
        assert [(label.origin, label.action) for label in labels] == [("teach", "FINISH")], "one alone"


async def test_teaching_asks_at_each_decision(app: DeepthinkApp) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await ready(pilot)
        await pilot.press("ctrl+t")
        assert "teaching" in str(screen.query_one(Meters).render())
        await begun(pilot)
        choices = await asks(pilot, screen, "decide")
        assert sum("← suggested" in str(option.prompt) for option in choices.options) == 1
        strip = screen.query_one(DecisionStrip)
        await until(pilot, lambda: strip.current and isinstance(strip.current.decided, Asked))
        assert not strip.check_action("say", ("ASK",))
        strip.action_say("FINISH")
        await until(pilot, lambda: screen.fold and screen.fold.decisions)
        await pilot.press("ctrl+t")
        await accept(pilot, screen)
        run = Runs(app.engine.store).find("last")
        assert Labels(app.engine.store).of_run(run.id)[0].origin == "teach"


async def test_an_unsupported_answer_is_judged_again_and_again(app: DeepthinkApp, chat: Answering) -> None:
    chat.answer = UNSUPPORTED
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await begun(pilot)
        choices = await asks(pilot, screen, "approve")
        box = screen.query_one(AskedBox)
        await pilot.press("ctrl+n")
        assert toasts(app)[-1] == "The run waits for your choice."
        offered = str(screen.query_one(RunBar).render())
        assert "cancel" in offered
        assert not any(word in offered for word in ("pause", "answer", "skip", "add", "decide one"))
        prompt, conversation = screen.query_one(Prompt), screen.query_one(Conversation)
        told = "".join(str(part.render()) for part in conversation.query(Static))
        assert told.count("not supported by the sources: “") == 1
        screen.focus_input()
        await pilot.press("x", "enter")
        assert (prompt.text, prompt.has_focus) == ("x", True)
        assert app.key_of("ask.citations") in str(prompt.border_title), "where the user looks"
        assert prompt.border_subtitle
        await pilot.press("backspace")
        await pilot.resize_terminal(60, 16)
        conversation.scroll_home(animate=False)
        await until(pilot, lambda: not conversation.region.contains(*choices.region.offset))
        await pilot.press("ctrl+y")
        await until(pilot, lambda: conversation.region.contains(*choices.region.offset))
        assert choices.has_focus
        await pilot.resize_terminal(120, 40)
        choices.highlighted = choices.get_option_index("search")
        await pilot.press("enter")
        await until(pilot, lambda: box not in screen.query(AskedBox) and asking(screen, "approve")())
        choices = screen.query_one(AskedBox).query_one(OptionList)
        await pilot.press("ctrl+y")  # just after typing, a new box leaves the prompt its focus
        await until(pilot, lambda: choices.has_focus)
        choices.highlighted = choices.get_option_index("stop")
        await pilot.press("enter")
        await over(pilot, screen)
        assert f"{prompt.border_title}{prompt.border_subtitle}" == ""
        assert Runs(app.engine.store).find("last").status == "rejected"
        ways = screen.query_one(WaysOn)
        await until(pilot, lambda: ways.option_count)
        rows = [str(option.prompt) for option in ways.options]
        assert "Tolvang Ceramics" in rows[0], "the nearest passages come first"
        assert rows[-2:] == ["→ Rephrase the question", "→ Search the library with this question"]
        exchange = screen.query_one(Exchange)
        assert "Mars Mining" not in "".join(str(part.render()) for part in exchange.query(Static))
        await pilot.resize_terminal(60, 16)
        ways.focus()
        ways.highlighted = rows.index("→ Show what was withheld")
        await pilot.press("enter")
        await until(pilot, lambda: exchange.query_one(".withheld").display)
        lines = text_of(exchange, ".withheld").splitlines()
        assert lines[0] == "The withheld answer:"
        assert "Mars Mining" in lines[1]
        assert lines[2].startswith("✗ not supported by the sources: ")
        shown = exchange.query_one(".withheld")
        await until(pilot, lambda: conversation.region.contains(*shown.region.offset))


async def test_the_number_of_a_choice_is_taken_from_the_prompt_too(
    app: DeepthinkApp, chat: Answering
) -> None:
    chat.answer = UNSUPPORTED
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await begun(pilot)
        await asks(pilot, screen, "approve")
        screen.focus_input()
        await pilot.press("4", "enter")
        await over(pilot, screen)
        assert Runs(app.engine.store).find("last").status == "rejected"


async def test_choices_are_numbered_as_shown_where_another_is_no_longer_offered(
    app: DeepthinkApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LiveRun, "start", lambda _run, _shown_by: None)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await begun(pilot)
        await until(pilot, lambda: screen.exchange and screen.exchange.is_mounted)
        asked = Asked("approve", "What now?", ["accept", "search", "stop"])
        screen._fold_events([parts.started(), asked])
        choices = await asks(pilot, screen, "approve")
        numbers = [str(option.prompt).split()[0] for option in choices.options]
        assert numbers == ["1", "2", "3"]
        await pilot.press("3")
        assert choices.highlighted == 2
        await pilot.press("4")  # of no choice: it begins a text
        await until(pilot, lambda: screen.query_one(Prompt).text == "34")


@pytest.mark.parametrize("reads", [True, False])
async def test_where_columns_are_few_a_question_takes_the_place_and_the_keys_of_the_thinking(
    reads: bool, app: DeepthinkApp, chat: Answering
) -> None:
    chat.answer = UNSUPPORTED
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await begun(pilot)
        choices = await asks(pilot, screen, "approve")
        thinking = screen.query_one("#thinking")
        await until(pilot, lambda: thinking.display)
        if reads:
            screen.query_one(PlanTree).focus()
            await until(pilot, lambda: thinking.has_focus_within)
        else:
            for shown in (False, True):
                await pilot.press("ctrl+l")
                await until(pilot, lambda: thinking.display is shown and choices.has_focus)  # noqa: B023
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: choices.has_focus and choices.region and not thinking.display)
        await pilot.press("ctrl+l")  # as the user wants it
        await until(pilot, lambda: thinking.has_focus_within)
        await pilot.press(*(["escape", "enter"] if reads else ["ctrl+l"]))
        await until(pilot, lambda: choices.has_focus and choices.region)
        await pilot.resize_terminal(120, 40)
        await pilot.press("4", "enter")
        await over(pilot, screen)
        assert Runs(app.engine.store).find("last").status == "rejected"


async def test_a_question_comes_in_place_of_the_thinking_and_so_does_the_answer(
    app: DeepthinkApp, chat: Answering
) -> None:
    gate = chat.during = Gate(1)
    chat.answer = UNSUPPORTED
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await held(pilot, gate)
        thinking = screen.query_one("#thinking")
        await pilot.press("ctrl+l")
        await until(pilot, lambda: thinking.has_focus_within)
        gate.open()
        choices = await asks(pilot, screen, "approve")
        await until(pilot, lambda: choices.region)
        await pilot.press("1", "ctrl+l")
        await until(pilot, lambda: thinking.has_focus_within)
        screen.reply("accept")
        await over(pilot, screen)
        await until(pilot, lambda: not thinking.display)
        assert screen.query_one(Prompt).has_focus
        assert screen.query_one(Conversation).region
        await pilot.press("ctrl+l")
        await until(pilot, lambda: thinking.display)
        await pilot.press("ctrl+y")
        await until(pilot, lambda: not thinking.display)


async def test_a_question_takes_the_keys_from_a_prompt_that_holds_text(
    app: DeepthinkApp, chat: Answering, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui.ask.prompt._TYPING_SECONDS", 0.0)  # the text was typed a while ago
    gate = chat.during = Gate(1)
    chat.answer = UNSUPPORTED
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await held(pilot, gate)
        screen.query_one(Prompt).put("And in winter?")
        assert screen.query_one(Prompt).has_focus
        gate.open()
        await asks(pilot, screen, "approve")
        await pilot.press("4", "enter")
        await over(pilot, screen)
        assert screen.query_one(Prompt).text == "And in winter?"


async def test_what_is_vague_is_asked_back_inline_without_markup(app: DeepthinkApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await begun(pilot, "What about it?")
        await until(pilot, asking(screen, "clarify"))
        await until(pilot, lambda: bool(screen.query("AskedBox Input")))
        field = screen.query_one(AskedBox).query_one(Input)
        await until(pilot, lambda: field.has_focus)
        await pilot.press(*"Which")
        assert field.content_size.height == 1
        assert "Which" in field.render_line(0).text, "what is typed is seen"
        field.value = QUESTION
        await pilot.press("enter")
        await accept(pilot, screen)
        assert Runs(app.engine.store).find("last").status == "answered"
        exchange = screen.query_one(Conversation).begin(QUESTION)
        await until(pilot, lambda: exchange.is_mounted)
        for question in ("The [acme] or the [/beta] report?", "[A] or [B]?", "[link=x] it?"):
            exchange.show(RunFold(unanswered=Asked("clarify", question, [])))
            box = exchange.box
            assert box is not None
            await until(pilot, partial(asks_in, box, question))


def asks_in(box: AskedBox, question: str) -> bool:
    """Whether the box is drawn with the question."""
    return any(question in str(part.render()) for part in box.query(".asks").results(Static))


async def test_the_help_of_the_prompt_has_what_a_key_does_now(app: DeepthinkApp, chat: Answering) -> None:
    async def helped() -> str:
        screen.query_one(Prompt).focus()
        shown = await opens(pilot, HelpScreen, "f1")
        text = "\n".join(str(part.render()) for part in shown.query("#pages > Static, #pages > .keys"))
        await pilot.press("escape")
        return text

    gate = chat.during = Gate()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await held(pilot, gate)
        now = (await helped()).partition("Elsewhere")[0]
        assert re.search(r"\^d +Take the next decision yourself\.", now)
        assert "Send the question." in now
        assert "select" not in now.casefold(), "the keys of any editor are left out"
        gate.open()
        await over(pilot, screen)
        now, _, later = (await helped()).partition("Not now: During a run")
        assert "Take the next decision yourself." not in now
        assert re.search(r"\^d +Take the next decision yourself\.", later)
