"""What a person does to the run they watch; the screen that shows a live run has these actions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.screen import Screen

if TYPE_CHECKING:
    from tui.app.fold import RunFold
    from tui.app.live import LiveRun
    from tui.app.widgets.exchange import Exchange

AFTER_THE_LAST_DECISION = frozenset({"synthesise", "verify", "answer_directly"})
"""Nodes that no decision of this round follows."""

WITHOUT_DECISIONS = frozenset({"direct", "single"})
"""Routes of questions that take no plan, and so no decision."""

OVERRIDE = "override"
"""What the question for the next decision is about; the others come from the run."""


class Steers(Screen[None]):
    """Actions on the run under way; they are possible only while there is one.

    Attributes:
        live: The run under way.
        fold: What is known of it, or of the last one.
        exchange: Where it is shown.
        teaching: Whether the person takes each decision, in this run and those to come.
    """

    live: LiveRun | None = None
    fold: RunFold | None = None
    exchange: Exchange | None = None
    teaching: bool = False

    def cancel(self) -> None:
        """End the run without an answer."""
        if self.live is not None:
            self.live.steering.cancel()
            self.notify("Cancelled; it can be resumed.")

    def action_pause(self) -> None:
        """Pause it, or go on."""
        if self.live is None or self.fold is None:
            return
        steering = self.live.steering
        if steering.paused:
            steering.resume()
            self.notify("It goes on.")
        else:
            steering.pause()
            self.notify("It pauses after what is under way.")
        self.paused_changed(steering.paused)

    def action_finish(self) -> None:
        """Have it answer from what was found."""
        if self.live is not None:
            self.live.steering.finish()
            self.notify("It answers from what was found.")

    def action_skip(self) -> None:
        """Give up the step under way."""
        from tui.transcript import IN_STEP

        if self.live is None:
            return
        if self.fold is not None and self.fold.node in IN_STEP:
            self.live.steering.skip()
            self.notify(f"Step {self.fold.step} is given up.")
        else:
            self.notify("No step is under way.", severity="warning")

    def action_decide(self) -> None:
        """Ask for the next decision."""
        if self.live is None or self.exchange is None:
            return
        if self.fold is not None and self.fold.asked is not None:
            self.notify("The run is asking already.", severity="warning")
            return
        if why := self.why_no_decision():
            self.notify(why, severity="warning")
            return
        from agent import events as ev
        from agent.state import ACTIONS
        from tui.app.widgets.asked import AskedBox

        question = "What is to be done at the next decision?"
        self.exchange.ask(AskedBox(ev.Asked(OVERRIDE, question, list(ACTIONS))))

    def why_no_decision(self) -> str:
        """Why the run comes to no decision any more, in a sentence; "" if it may."""
        fold = self.fold
        if fold is None:
            return ""
        if fold.outcome.routed is not None and fold.outcome.routed.route in WITHOUT_DECISIONS:
            return "This run takes no decisions: its question is answered in one go."
        return "The last decision of this run is taken." if fold.node in AFTER_THE_LAST_DECISION else ""

    def action_teach(self) -> None:
        """Take each decision from now on, or leave them to the decider again."""
        self.teaching = not self.teaching
        if self.live is not None:
            self.live.steering.teach(self.teaching)
        self.notify(
            "Teaching: each decision waits for you." if self.teaching else "The decider decides again."
        )
        self.teaching_changed()

    def decided(self, action: str) -> None:
        """The person took the next decision."""
        if self.live is not None:
            self.live.steering.override(action)
            self.notify(f"{action} at the next decision.")

    def paused_changed(self, paused: bool) -> None:
        """To be shown."""

    def teaching_changed(self) -> None:
        """To be shown."""
