"""Steering: what a person may do to a run while it goes on, from any thread.

The run asks here between its nodes, and its model calls poll `agent.budget.Stop`. So a request takes
effect at once where a model call can be given up for it, and after the node under way where not.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from agent.state import ACTIONS, Action

CHECK_SECONDS = 0.1  # how often a run that waits looks whether it was stopped


class Steering:
    """The wheel of one run.

    Args:
        cancel: An event of the caller's that cancels the run as well, Ctrl-C for one.
    """

    def __init__(self, cancel: threading.Event | None = None) -> None:
        self._cancel = cancel or threading.Event()
        self._lock = threading.Condition()
        self._left = False
        self._paused = False
        self._held = False  # a node waits until the run goes on
        self._finish = False
        self._skip = False
        self._added: list[str] = []
        self._override: Action | None = None
        self._replies: list[str] = []
        self._teaching = False

    # --- what a person does -------------------------------------------------------------------

    def cancel(self) -> None:
        """End the run without an answer, within a second. It can be resumed later."""
        self._cancel.set()

    def leave(self) -> None:
        """End the run because nobody stays to watch it: it is interrupted, as if it had been killed."""
        self._left = not self._cancel.is_set()  # what was cancelled before stays cancelled
        self._cancel.set()

    def pause(self) -> None:
        """Stop after the node under way, until `resume`."""
        with self._lock:
            self._paused = True

    def resume(self) -> None:
        """Go on after `pause`."""
        with self._lock:
            self._paused = False
            self._lock.notify_all()

    def finish(self) -> None:
        """Stop looking and answer now, from what was found; a paused run goes on for it."""
        with self._lock:
            self._finish = True
            self._paused = False
            self._lock.notify_all()

    def look_again(self) -> None:
        """Take `finish` back: more is to be searched after all."""
        with self._lock:
            self._finish = False

    def skip(self) -> None:
        """Give up the research step under way."""
        with self._lock:
            self._skip = True

    def add(self, question: str) -> None:
        """Append a step to the plan; it is taken into account at the next decision."""
        with self._lock:
            self._added.append(" ".join(question.split()))

    def override(self, action: str) -> None:
        """Take the next decision in the decider's place.

        Raises:
            ValueError: it is none of CONTINUE, REVISE and FINISH.
        """
        if action not in ACTIONS:
            raise ValueError(f"{action!r} is none of {', '.join(ACTIONS)}")
        with self._lock:
            self._override = action
            self._lock.notify_all()

    def reply(self, text: str) -> None:
        """Answer what the run asked (`agent.events.Asked`)."""
        with self._lock:
            self._replies.append(text)
            self._lock.notify_all()

    def teach(self, on: bool) -> None:
        """Be asked at each decision from now on, or no more; one that waits is then the decider's."""
        with self._lock:
            self._teaching = on
            self._lock.notify_all()

    @property
    def teaching(self) -> bool:
        """Whether a person takes the decisions, with the decider's as a suggestion."""
        return self._teaching

    @property
    def paused(self) -> bool:
        """Whether `pause` was asked for and `resume` not yet."""
        return self._paused

    # --- what the run asks --------------------------------------------------------------------

    @property
    def cancelled(self) -> threading.Event:
        """Set once the run is to end without an answer."""
        return self._cancel

    @property
    def left(self) -> bool:
        """Whether it ends because of `leave`."""
        return self._left

    @property
    def finishing(self) -> bool:
        """Whether the run is to answer now."""
        return self._finish

    @property
    def skipping(self) -> bool:
        """Whether the step under way is to be given up."""
        return self._skip

    @property
    def overriding(self) -> bool:
        """Whether `take_override` has one to give."""
        return self._override is not None

    def wait_while_paused(self, on_pause: Callable[[], None], stopped: Callable[[], bool]) -> bool:
        """Block until the run may go on; True if it had to wait and nobody else waits already.

        Searches run side by side, and what they wait together is one pause: the first of them tells it
        and counts it.

        Args:
            on_pause: Called before waiting, unless somebody else waits already.
            stopped: Whether the run is at its end anyway.
        """
        if not self._paused or stopped():
            return False
        with self._lock:
            first, self._held = not self._held, True
        if first:
            on_pause()
        with self._lock:
            while self._paused and not stopped():
                self._lock.wait(CHECK_SECONDS)
            if first:
                self._held = False
        return first

    def wait_for_reply(self, stopped: Callable[[], bool]) -> str | None:
        """The next reply; None if the run was stopped before one came."""
        with self._lock:
            while not self._replies:
                if stopped():
                    return None
                self._lock.wait(CHECK_SECONDS)
            return self._replies.pop(0)

    def forget_replies(self) -> None:
        """Drop replies that nobody waited for: they came too late for what they were about."""
        with self._lock:
            self._replies = []

    def take_skip(self) -> bool:
        """Whether the step was given up; asked once."""
        with self._lock:
            skip, self._skip = self._skip, False
            return skip

    def take_added(self) -> list[str]:
        """The steps that were added since the last time."""
        with self._lock:
            added, self._added = self._added, []
            return [question for question in added if question]

    def take_override(self) -> Action | None:
        """The decision a person took in advance, if any."""
        with self._lock:
            action, self._override = self._override, None
            return action
