"""A run that goes on, taught on the screen of decisions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from tests.tui.ask.test_screen import ready
from tests.tui.conftest import QUESTION, Answering, MakeApp
from tests.tui.decisions.test_screen import opened, rows, text
from tests.tui.waiting import until
from traces.labels import Labels
from tui.ask.prompt import Prompt
from tui.decisions.strip import DecisionStrip


async def test_a_run_is_taught_to_its_end(make_app: MakeApp, filled: Path) -> None:
    app = make_app(Answering())
    async with app.run_test(size=(80, 24)) as driver:
        pilot: Pilot[Any] = driver
        asking = await ready(pilot)
        screen = await opened(pilot)
        await pilot.press("t")
        assert asking.teaching
        await pilot.press("f2")
        asking.query_one(Prompt).put(QUESTION)
        await pilot.press("enter", "f5")
        strip = screen.query_one(DecisionStrip)
        await until(pilot, lambda: "It waits for you" in text(screen, "#run"))
        assert "● live" in text(screen, "#run")
        assert strip.option_count == 1
        assert screen.focused is strip
        await pilot.press("1")
        await until(pilot, lambda: "✎ you: right" in rows(screen))
        await until(pilot, lambda: strip.option_count == 2 and "It waits for you" in text(screen, "#run"))
        await pilot.press("3")
        await until(pilot, lambda: rows(screen).count("✎ you: right") == 2)
        await until(pilot, lambda: asking.live is None or (asking.fold and asking.fold.unanswered))
        if asking.live is not None:  # the answer is to be approved, which is the main screen's
            asking.live.steering.reply("accept")
        await until(pilot, lambda: asking.live is None)
        assert asking.fold is not None
        labels = Labels(app.engine.store).of_run(asking.fold.run_id)
        assert [(label.action, label.origin) for label in labels.values()] == [
            ("CONTINUE", "teach"),
            ("FINISH", "teach"),
        ]
        await until(pilot, lambda: "● live" not in text(screen, "#run"))
        await pilot.press("home", "3")
        await until(pilot, lambda: "✎ you: FINISH" in rows(screen))
        labels = Labels(app.engine.store).of_run(asking.fold.run_id)
        assert (labels[0].action, labels[0].origin) == ("FINISH", "said")
