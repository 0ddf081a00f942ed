"""Steering: how the user controls a run, from any thread.

The run checks these controls between its nodes, and its model calls poll `agent.budget.Stop`. So a request
takes effect at once if a model call can be aborted for it, else after the current node.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

from agent.state import ACTIONS, Action
from traces.plain_text import plain, squeezed

_CHECK_SECONDS = 0.05  # how often a waiting run checks the controls


class Steering:
    """The controls of one run; its attributes are read only.

    ``cancel`` is an event of the caller that also cancels the run, for example on Ctrl-C.
    """

    def __init__(self, cancel: threading.Event | None = None) -> None:
        # Each control is set in one operation and read by polling, so that none needs a lock.
        self.cancelled = cancel or threading.Event()  # set once the run should end without an answer
        self.left = False  # whether the run ends because of `leave`
        self.paused = False
        self.finishing = False  # whether the run should answer now
        self.skipping = False  # whether the current step should be skipped
        self.teaching = False  # whether the user takes the decisions, with the decider's as suggestions
        self._first_waiter = threading.Lock()  # held by the first node that waits for the end of a pause
        self._added: deque[str] = deque()
        self._override: deque[Action] = deque(maxlen=1)
        self._replies: deque[str] = deque()

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
        self.paused = True

    def resume(self) -> None:
        """Continue after `pause`."""
        self.paused = False

    def finish(self) -> None:
        """Stop searching and answer now; this also ends a pause."""
        self.finishing = True
        self.paused = False

    def look_again(self) -> None:
        """Undo `finish`: search more."""
        self.finishing = False

    def skip(self) -> None:
        """Skip the current research step."""
        self.skipping = True

    def add(self, question: str) -> None:
        """Append a step to the plan, from the next decision on."""
        self._added.append(squeezed(plain(question)))

    def override(self, action: str) -> None:
        """Take the next decision instead of the decider.

        Raises `ValueError` if it is none of `ACTIONS`.
        """
        if action not in ACTIONS:
            raise ValueError(f"{action!r} is none of {', '.join(ACTIONS)}")
        self._override.append(action)

    def reply(self, text: str) -> None:
        """Answer the run's question (`agent.events.Asked`)."""
        self._replies.append(plain(text))

    def teach(self, on: bool) -> None:
        """Turn teaching on or off; while it is on, the user takes each decision.

        If it is turned off while a decision waits, the decider takes it.
        """
        self.teaching = on

    # --- for the run --------------------------------------------------------------------------

    @property
    def overriding(self) -> bool:
        """Whether `take_override` would return a decision."""
        return bool(self._override)

    def wait_while_paused(self, on_pause: Callable[[], None], stopped: Callable[[], bool]) -> bool:
        """Block during a pause; True for the first thread that had to wait.

        Searches run in parallel and share one pause, which the first of them reports and counts. The first
        thread calls ``on_pause`` before waiting; ``stopped`` returns whether the run ends anyway.
        """
        if not self.paused or stopped():
            return False
        first = self._first_waiter.acquire(blocking=False)
        if first:
            on_pause()
        while self.paused and not stopped():
            time.sleep(_CHECK_SECONDS)
        if first:
            self._first_waiter.release()
        return first

    def wait_for_reply(self, stopped: Callable[[], bool]) -> str | None:
        """The next reply; None if the run was stopped before a reply came."""
        while not self._replies:
            if stopped():
                return None
            time.sleep(_CHECK_SECONDS)
        return self._replies.popleft()

    def forget_replies(self) -> None:
        """Drop replies that came too late."""
        self._replies.clear()

    def take_skip(self) -> bool:
        """Whether the step was skipped; resets the request."""
        skip, self.skipping = self.skipping, False
        return skip

    def take_added(self) -> list[str]:
        """The steps added since the last call."""
        added = [self._added.popleft() for _ in range(len(self._added))]
        return [question for question in added if question]

    def take_override(self) -> Action | None:
        """The decision that the user took in advance, if any."""
        return self._override.pop() if self._override else None
