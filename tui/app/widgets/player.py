"""Playing a stored run: where one is in its events, what is known there, and how long until the next.

Nothing here draws; the player of the replay screen and its tests use it alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from agent import events as ev
from tui import blocks
from tui.app.fold import EVERYTHING, Part, RunFold
from tui.blocks import Block
from tui.terminal import duration, one_line
from tui.transcript import DOING
from tui.wording import ENDINGS

READING: Final = 0
"""The speed at which each event stands as long as its words take to read."""
SPEEDS: Final[Sequence[int]] = (1, 4, 16, READING)
"""Speeds in the order in which they are gone through."""
_LONGEST = 2.0  # seconds at speed 1: nobody waits for a model that has long answered
_WORDS_PER_SECOND = 4.0  # 240 a minute, as people read on a screen
_LONGEST_READING = 8.0  # seconds; a whole answer is read with the player paused


class Player:
    """A position in the events of a run, and the fold up to there.

    Attributes:
        events: Of the whole run.
        at: Seconds since the run began, one for each event.
        fold: What is known of the run after the first `position` events.
        position: How many events have happened, from 0.
        speed: One of `SPEEDS`.
    """

    def __init__(self, events: Sequence[ev.Event], at: Sequence[float]) -> None:
        self.events = events
        self.at = at
        self.fold = RunFold()
        self.position = 0
        self.speed: int = SPEEDS[0]
        self.steps = [n for n, event in enumerate(events, start=1) if isinstance(event, ev.StepStarted)]

    @property
    def over(self) -> bool:
        """Whether nothing follows."""
        return self.position >= len(self.events)

    @property
    def elapsed(self) -> float:
        """Seconds of the run that have passed."""
        return self.at[self.position - 1] if self.position else 0.0

    @property
    def total(self) -> float:
        """Seconds of the whole run."""
        return self.at[-1] if self.at else 0.0

    @property
    def last(self) -> ev.Event | None:
        """What happened last."""
        return self.events[self.position - 1] if self.position else None

    def seek(self, position: int) -> frozenset[Part]:
        """Go to a position, kept within the run; what of the run's picture that changes.

        Going back folds anew from the beginning.
        """
        position = max(0, min(position, len(self.events)))
        if position == self.position:
            return frozenset()
        if position < self.position:
            self.fold = RunFold()
            self.fold.take_all(self.events[:position])
            changed = EVERYTHING
        else:
            changed = self.fold.take_all(self.events[self.position : position]) | {"meters"}
        self.position = position
        if not self.fold.over:  # heartbeats are not stored; the events themselves know the time
            self.fold.elapsed = self.elapsed
        return changed

    def part(self, by: int) -> int:
        """The position where the next research step begins, or where the one before does.

        Args:
            by: 1 for the next, the run's end if there is none; -1 for the one before, else the beginning.
        """
        if by > 0:
            return next((step for step in self.steps if step > self.position), len(self.events))
        return next((step for step in reversed(self.steps) if step < self.position), 0)

    def wait(self, position: int | None = None) -> float:
        """Seconds until the next event is to be shown, at the speed that is set.

        Args:
            position: As if one were there; where one is if not given.
        """
        position = self.position if position is None else position
        if position >= len(self.events) or not position:
            return 0.0
        if self.speed == READING:
            return min(reading_time(self.events[position - 1]), _LONGEST_READING)
        gap = max(0.0, self.at[position] - self.at[position - 1])
        return min(gap, _LONGEST) / self.speed

    def within(self, seconds: float) -> int:
        """The position that is reached in so many seconds; at least one event on."""
        position = min(self.position + 1, len(self.events))
        while position < len(self.events) and self.wait(position) <= seconds:
            seconds -= self.wait(position)
            position += 1
        return position

    def faster(self, by: int) -> None:
        """The next speed, or the one before; it ends at either end."""
        at = SPEEDS.index(self.speed) + by
        self.speed = SPEEDS[max(0, min(at, len(SPEEDS) - 1))]


def told(event: ev.Event) -> str:
    """An event in a line."""
    said = _said(event)
    return one_line(f"{said.label}: {said.text}" if said.text else said.label)


def reading_time(event: ev.Event) -> float:
    """Seconds that a person takes to read what an event brings; none for what only counts and measures."""
    if isinstance(event, ev.NodeStarted | ev.NodeFinished | ev.ModelCalled | ev.NotebookGrew | ev.Reranked):
        return 0.0
    said = _said(event)
    text = event.answer if isinstance(event, ev.Answered) else " ".join([said.text, *said.items])
    return len(text.split()) / _WORDS_PER_SECOND


def _said(event: ev.Event) -> Block:  # noqa: PLR0911, PLR0912 - one arm per event
    match event:
        case ev.RunStarted():
            return Block("question", event.question)
        case ev.Resumed():
            return Block("resumed", f"at: {DOING.get(event.node, event.node)}" if event.node else "")
        case ev.Routed():
            return blocks.route(event)
        case ev.Replied():
            return blocks.reply(event)
        case ev.Steered():
            return blocks.steered(event)
        case ev.NodeStarted():
            return Block(DOING.get(event.node, event.node))
        case ev.NodeFinished():
            return Block("done", f"{DOING.get(event.node, event.node)}, {duration(event.seconds)}")
        case ev.ModelCalled():
            tokens = f"{event.evaluated:,} read, {event.reused:,} reused, {event.generated:,} written"
            return Block("model call", f"{event.purpose}, {tokens}, {duration(event.seconds)}")
        case ev.NotebookGrew():
            return Block("notebook", event.entry)
        case ev.FirstLook():
            return blocks.first_look(event)
        case ev.Planned():
            return blocks.plan(event)
        case ev.StepStarted():
            return Block(f"step {event.step}", event.plan_step["question"])
        case ev.Searched():
            return blocks.search([event], "")
        case ev.Reranked():
            return Block(
                "read", f"{len(event.order)} passages" + f" by {event.reranker}" * bool(event.reranker)
            )
        case ev.Graded():
            return blocks.grades(event)
        case ev.Corrected():
            return blocks.correction(event)
        case ev.EvidenceKept():
            return blocks.kept(event)
        case ev.Noted():
            return blocks.finding(event)
        case ev.Decided():
            return blocks.decision(event)
        case ev.Contradicted():
            return blocks.contradiction(event)
        case ev.Warned():
            return Block("note", event.message)
        case ev.Answered():
            return Block("answer", event.answer)
        case ev.RunFinished():
            return Block("end", f"{ENDINGS.get(event.status, event.status)}, {duration(event.seconds)}")
        case _:
            return Block(event.kind)
