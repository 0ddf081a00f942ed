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


class Steers(Screen[None]):
    """Actions on the run under way; they are possible only while there is one.

    Attributes:
        live: The run under way.
        fold: What is known of it, or of the last one.
        exchange: Where it is shown.
        teaching: Whether the person takes each decision, in this run and those to come.
        deciding: Whether they take the next one.
    """

    live: LiveRun | None = None
    fold: RunFold | None = None
    exchange: Exchange | None = None
    teaching: bool = False
    deciding: bool = False

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
            self.notify("Resumed.")
        else:
            steering.pause()
            self.notify("Pausing after this step.")
        self.paused_changed(steering.paused)

    def action_finish(self) -> None:
        """Have it answer from what was found."""
        if self.live is not None:
            self.live.steering.finish()
            self.notify("Answering now, from what was found.")

    def action_skip(self) -> None:
        """Give up the step under way."""
        from tui.transcript import IN_STEP

        if self.live is None:
            return
        if self.fold is not None and self.fold.node in IN_STEP:
            self.live.steering.skip()
            self.notify(f"Step {self.fold.step} skipped.")
        else:
            self.notify("There is no step to skip right now.", severity="warning")

    def action_decide(self) -> None:
        """Have the run wait at its next decision, which the person takes."""
        if self.live is None:
            return
        if self.fold is not None and self.fold.asked is not None:
            self.notify("The run is already asking you.", severity="warning")
            return
        if why := self.why_no_decision():
            self.notify(why, severity="warning")
            return
        self.deciding = True
        self.live.steering.teach(True)
        self.notify("The run waits for you at its next decision.")

    def why_no_decision(self) -> str:
        """Why the run comes to no decision any more, in a sentence; "" if it may."""
        fold = self.fold
        if fold is None:
            return ""
        if fold.outcome.routed is not None and fold.outcome.routed.route in WITHOUT_DECISIONS:
            return "This run makes no decisions: it answers in one go."
        return "This run has made its last decision." if fold.node in AFTER_THE_LAST_DECISION else ""

    def action_teach(self) -> None:
        """Take each decision from now on, or leave them to the decider again."""
        self.teaching = not self.teaching
        if self.live is not None:
            self.live.steering.teach(self.teaching)
        self.notify(
            "Teaching: each decision waits for you." if self.teaching else "Automatic decisions again."
        )
        self.teaching_changed()

    def reply(self, text: str) -> None:
        """Hand the run what the person replied; the decision they asked for is taken with it."""
        if self.live is None:
            return
        self.live.steering.reply(text)
        if self.deciding:
            self.deciding = False
            self.live.steering.teach(self.teaching)

    def paused_changed(self, paused: bool) -> None:
        """To be shown."""

    def teaching_changed(self) -> None:
        """To be shown."""
