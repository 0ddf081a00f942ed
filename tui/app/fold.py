"""What is known of a run from its events, as the app's views need it; live and replayed runs alike."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from agent import events as ev
from tui.outcome import Outcome, Step

Part = Literal["question", "status", "plan", "evidence", "decisions", "text", "answer", "asked", "meters"]
"""What of a run's picture an event changes; views redraw no more than that."""

EVERYTHING: frozenset[Part] = frozenset(
    ("question", "status", "plan", "evidence", "decisions", "text", "answer", "asked", "meters")
)

StepState = Literal["open", "under way", "found", "nothing", "skipped"]

_PARTS: dict[type[ev.Event], tuple[Part, ...]] = {
    ev.RunStarted: ("question", "status", "meters"),
    ev.Resumed: ("question", "status", "meters"),
    ev.Routed: ("question", "status", "plan"),
    ev.Asked: ("asked", "status"),
    ev.Replied: ("asked", "status"),
    ev.Steered: ("status", "plan"),
    ev.NodeStarted: ("status",),
    ev.NodeProgress: ("status",),
    ev.Planned: ("plan",),
    ev.FirstLook: ("text",),
    ev.StepStarted: ("plan", "evidence"),
    ev.Searched: ("plan", "evidence"),
    ev.Reranked: ("evidence",),
    ev.Graded: ("evidence",),
    ev.Corrected: ("plan", "evidence"),
    ev.EvidenceKept: ("evidence", "plan"),
    ev.Noted: ("plan", "evidence"),
    ev.Contradicted: ("evidence",),
    ev.Decided: ("decisions", "plan", "meters", "asked"),
    ev.Heartbeat: ("meters",),
    ev.AnswerText: ("text",),
    ev.Answered: ("answer",),
    ev.Warned: ("status",),
    ev.RunFinished: ("status", "meters", "plan", "answer", "asked"),
}


@dataclass(slots=True)
class RunFold:
    """A run so far.

    Attributes:
        outcome: Everything that is stored of it.
        node: The node under way; "" before the first and after the last.
        step: The research step under way, 0 outside steps.
        message: What the node is at, in a few words.
        text: The answer as it is being written; begun anew when it is written anew.
        asked: What the run waits for, if anything.
        paused: Whether a person paused it.
        elapsed: Seconds since it began, as far as told.
        steered: Steps that were given up.
        failure: What its worker failed with, in words; a run that could not begin has no other end.
    """

    outcome: Outcome = field(default_factory=Outcome)
    run_id: str = ""
    node: str = ""
    step: int = 0
    message: str = ""
    text: str = ""
    asked: ev.Asked | None = None
    paused: bool = False
    elapsed: float = 0.0
    steered: set[int] = field(default_factory=set)
    failure: str = ""
    _resumed_after: float = 0.0

    def take(self, event: ev.Event) -> tuple[Part, ...]:  # noqa: PLR0912 - one arm per event
        """Add an event; what of the picture it changes."""
        self.outcome.take(event)
        match event:
            case ev.RunStarted():
                self.run_id = event.run_id
            case ev.Resumed():
                self.run_id = event.run_id
                self.node = event.node
                self._resumed_after = self.elapsed
            case ev.NodeStarted():
                self.node, self.step, self.message = event.node, event.step, ""
                if event.node in {"synthesise", "answer_directly"}:
                    self.text = ""
            case ev.NodeProgress():
                self.message = event.message
            case ev.AnswerText():
                self.text += event.text
            case ev.Asked():
                self.asked = event
            case ev.Replied():
                self.asked = None
            case ev.Decided() if self.asked is not None and self.asked.about == "decide":
                self.asked = None  # it was taken otherwise, or left to the decider
            case ev.Steered():
                self._steered(event)
            case ev.Heartbeat():
                if self.asked is None and not self.paused:  # the run does not wait for a person
                    self.elapsed = self._resumed_after + event.elapsed
            case ev.RunFinished():
                self.node, self.step, self.message, self.asked, self.paused = "", 0, "", None, False
                self.elapsed = event.seconds
            case _:
                pass
        return _PARTS.get(type(event), ())

    def take_all(self, events: Iterable[ev.Event]) -> frozenset[Part]:
        """Add several events; what of the picture they change together."""
        changed: set[Part] = set()
        for event in events:
            changed.update(self.take(event))
        return frozenset(changed)

    def _steered(self, event: ev.Steered) -> None:
        if event.what == "skip":
            self.steered.add(self.step)
        elif event.what in {"pause", "resume"}:
            self.paused = event.what == "pause"

    @property
    def over(self) -> bool:
        """Whether the run has come to an end, be it that it waits for a person who was not there."""
        return self.outcome.finished is not None or bool(self.failure)

    def state_of(self, step: Step) -> StepState:
        """How far a research step has come."""
        if step.number in self.steered:
            return "skipped"
        if step.note is not None:
            return "found" if step.note["found"] else "nothing"
        return "open" if self.over else "under way"
