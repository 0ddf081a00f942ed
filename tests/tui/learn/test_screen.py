"""The screen Learn: what it begins with, and the ways between its views."""

from __future__ import annotations

import pytest
from textual.widgets import Static, TabbedContent

from tests.tui.decisions.test_screen import QUESTION, TAKEN, opened, store_decided
from tests.tui.policy.test_screen import some
from tests.tui.seen import text_of
from tests.tui.waiting import until
from traces.decisions import Labels
from traces.runs import CorrectedPlans
from tui.app.app import DeepthinkApp
from tui.decisions.strip import DecisionStrip
from tui.policy.policies import PolicyRows
from tui.policy.training_panel import MethodList, SourceList


async def test_its_views_are_gone_through_by_key_and_mouse(app: DeepthinkApp) -> None:
    store_decided(app.engine.store)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        await until(
            pilot, lambda: "Not enough decisions yet: 4 of at least 20." in text_of(screen, "#purpose")
        )
        tabs = screen.query_one(TabbedContent)
        await pilot.press("t")
        assert tabs.active == "decisions", "it teaches there, and trains elsewhere"
        for key, shown, focused in (
            ("right", "policies", PolicyRows),
            ("right", "training", MethodList),
            ("f5", "decisions", DecisionStrip),
            ("left", "training", MethodList),
            ("right", "decisions", DecisionStrip),
        ):
            await pilot.press(key)
            await until(pilot, lambda: isinstance(screen.focused, focused))  # noqa: B023
            assert tabs.active == shown
        await pilot.click(tabs.get_tab("policies"))
        await until(pilot, lambda: isinstance(screen.focused, PolicyRows))
        await pilot.press("f2", "f5")
        await until(pilot, lambda: app.screen is screen)
        assert tabs.active == "policies", "one comes back to the view one left"


async def test_a_narrow_window_cuts_nothing_above_the_views(
    app: DeepthinkApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("traces.decisions.count_decisions", lambda _store: some())
    async with app.run_test(size=(60, 24)) as pilot:
        screen = await opened(pilot)
        purpose = screen.query_one("#purpose")
        await until(pilot, lambda: "other views" in text_of(screen, "#purpose"))
        await pilot.pause()
        seen = " ".join(purpose.render_line(y).text.strip() for y in range(purpose.size.height))
        assert " ".join(seen.split()) == " ".join(text_of(screen, "#purpose").split())


async def test_what_is_said_is_counted_at_once_and_what_was_said_elsewhere_on_return(
    app: DeepthinkApp,
) -> None:
    taken = [decision for decision in TAKEN if decision.label != "teach"]
    run_id = store_decided(app.engine.store, taken)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        await until(pilot, lambda: "3 of at least 20" in text_of(screen, "#purpose"))
        assert "You" not in text_of(screen, "#purpose")
        await until(pilot, lambda: screen.query_one(DecisionStrip).option_count == 3)
        await pilot.press("home", "1")
        await until(pilot, lambda: "You labelled 1." in text_of(screen, "#purpose"))
        await pilot.press("backspace")
        await until(pilot, lambda: "You" not in text_of(screen, "#purpose"))
        await pilot.press("left")
        await pilot.press("right")
        await until(pilot, lambda: screen.query_one(TabbedContent).active == "decisions")
        Labels(app.engine.store).put(run_id, 0, "FINISH")
        CorrectedPlans(app.engine.store).put(run_id, [("", "Who makes the bearings?")])
        await pilot.press("left")
        await until(pilot, lambda: "You labelled 1 and corrected 1 plan." in text_of(screen, "#purpose"))
        sources = screen.query_one(SourceList)
        assert "3 decisions" in str(sources.get_option_at_index(0).prompt)
        await pilot.press("down", "down")
        await until(pilot, lambda: "1 of 10 plans" in str(sources.get_option_at_index(0).prompt))


async def test_what_cannot_be_read_is_told_once_and_read_again(app: DeepthinkApp) -> None:
    app.engine.store.path.parent.mkdir(parents=True)
    app.engine.store.path.write_bytes(b"this is no database")
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        message = screen.query_one("#message", Static)
        assert "The library file is damaged" in str(message.content)
        assert "u tries again" in str(message.content)
        await until(pilot, lambda: "✗ The library file is damaged" in text_of(screen, "#purpose"))
        await pilot.press("right")
        await until(pilot, lambda: "u tries again" in text_of(screen, "#card Static"))
        assert len(app._notifications) <= 1, "the Ask screen may tell it; this one shows it"
        app.engine.store.path.unlink()
        store_decided(app.engine.store)
        await pilot.press("u")
        await until(pilot, lambda: "There is no policy" in text_of(screen, "#card Static"))
        assert "4 of at least 20" in text_of(screen, "#purpose")
        await pilot.press("left", "u")
        await until(pilot, lambda: QUESTION in text_of(screen, "#run"))
        assert not message.display
