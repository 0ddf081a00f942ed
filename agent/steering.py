"""Steering: how the user controls a run, from any thread.

The run checks these controls between its nodes, and its model calls poll `agent.budget.Stop`. So a request
takes effect at once if a model call can be aborted for it, else after the current node.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from agent.state import ACTIONS, Action
from traces.plain_text import plain

CHECK_SECONDS = 0.1  # how often a waiting run checks whether it was stopped


class Steering:
    """The controls of one run.

    Args:
        cancel: An event of the caller that also cancels the run, for example on Ctrl-C.

    Attributes (read only):
        cancelled: Set once the run should end without an answer.
        left: Whether the run ends because of `leave`.
        paused: Whether the run is paused.
        finishing: Whether the run should answer now.
        skipping: Whether the current step should be skipped.
        teaching: Whether the user takes the decisions, with the decider's as suggestions.
    """

    def __init__(self, cancel: threading.Event | None = None) -> None:
        self.cancelled = cancel or threading.Event()
        self.left = False
        self.paused = False
        self.finishing = False
        self.skipping = False
        self.teaching = False
        self._lock = threading.Condition()
        self._has_waiter = False  # a node waits for the end of the pause
        self._added: list[str] = []
        self._override: Action | None = None
        self._replies: list[str] = []

    # --- for the user -------------------------------------------------------------------------

    def cancel(self) -> None:
        """End the run without an answer, within a second. It can be resumed later."""
        self.cancelled.set()

    def leave(self) -> None:
        """End the run because its viewer closes: it is interrupted, and can be resumed."""
        self.left = not self.cancelled.is_set()  # a cancelled run stays cancelled
        self.cancelled.set()

    def pause(self) -> None:
        """Stop after the current node, until `resume`."""
        with self._lock:
            self.paused = True

    def resume(self) -> None:
        """Continue after `pause`."""
        with self._lock:
            self.paused = False
            self._lock.notify_all()

    def finish(self) -> None:
        """Stop searching and answer now; this also ends a pause."""
        with self._lock:
            self.finishing = True
            self.paused = False
            self._lock.notify_all()

    def look_again(self) -> None:
        """Undo `finish`: search more."""
        with self._lock:
            self.finishing = False

    def skip(self) -> None:
        """Skip the current research step."""
        with self._lock:
            self.skipping = True

    def add(self, question: str) -> None:
        """Append a step to the plan, from the next decision on."""
        with self._lock:
            self._added.append(" ".join(plain(question).split()))

    def override(self, action: str) -> None:
        """Take the next decision instead of the decider.

        Raises:
            ValueError: It is not CONTINUE, REVISE or FINISH.
        """
        if action not in ACTIONS:
            raise ValueError(f"{action!r} is none of {', '.join(ACTIONS)}")
        with self._lock:
            self._override = action
            self._lock.notify_all()

    def reply(self, text: str) -> None:
        """Answer the run's question (`agent.events.Asked`)."""
        with self._lock:
            self._replies.append(plain(text))
            self._lock.notify_all()

    def teach(self, on: bool) -> None:
        """Turn teaching on or off; while it is on, the user takes each decision.

        If it is turned off while a decision waits, the decider takes it.
        """
        with self._lock:
            self.teaching = on
            self._lock.notify_all()

    # --- for the run --------------------------------------------------------------------------

    @property
    def overriding(self) -> bool:
        """Whether `take_override` would return a decision."""
        return self._override is not None

    def wait_while_paused(self, on_pause: Callable[[], None], stopped: Callable[[], bool]) -> bool:
        """Block during a pause; True for the first thread that had to wait.

        Searches run in parallel and share one pause, which the first of them reports and counts. The first
        thread calls ``on_pause`` before waiting; ``stopped`` returns whether the run ends anyway.
        """
        if not self.paused or stopped():
            return False
        with self._lock:
            first, self._has_waiter = not self._has_waiter, True
        if first:
            on_pause()
        with self._lock:
            while self.paused and not stopped():
                self._lock.wait(CHECK_SECONDS)
            if first:
                self._has_waiter = False
        return first

    def wait_for_reply(self, stopped: Callable[[], bool]) -> str | None:
        """The next reply; None if the run was stopped before a reply came."""
        with self._lock:
            while not self._replies:
                if stopped():
                    return None
                self._lock.wait(CHECK_SECONDS)
            return self._replies.pop(0)

    def forget_replies(self) -> None:
        """Drop replies that came too late."""
        with self._lock:
            self._replies = []

    def take_skip(self) -> bool:
        """Whether the step was skipped; resets the request."""
        with self._lock:
            skip, self.skipping = self.skipping, False
            return skip

    def take_added(self) -> list[str]:
        """The steps added since the last call."""
        with self._lock:
            added, self._added = self._added, []
            return [question for question in added if question]

    def take_override(self) -> Action | None:
        """The decision that the user took in advance, if any."""
        with self._lock:
            action, self._override = self._override, None
            return action
