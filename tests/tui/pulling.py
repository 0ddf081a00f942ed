"""A stand-in for the fetching of models."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from models.catalogue import ModelEntry
from models.fetch.files import PullCancelled, PullProgress


class Pulling:
    """Takes the place of `models.fetch.pull.pull`: tells how far it is, waits where it is held, brings it.

    ``hold`` is to be cleared for that; ``fails`` is raised instead of bringing the model.
    """

    def __init__(
        self, patch: pytest.MonkeyPatch, brings: Callable[[ModelEntry], object], parts: int = 2
    ) -> None:
        self._brings, self._parts = brings, parts
        self.hold = threading.Event()
        self.hold.set()
        self.fails: Exception | None = None
        patch.setattr("models.fetch.pull.pull", self.pull)

    def wait(self, cancel: threading.Event, error: Exception) -> None:
        """Where it is held; raises ``error`` if it is cancelled there."""
        while not self.hold.wait(0.01):
            if cancel.is_set():
                raise error
        if self.fails is not None:
            raise self.fails

    def pull(
        self,
        entry: ModelEntry,
        *,
        progress: Callable[[PullProgress], None],
        cancel: threading.Event,
        **_: Any,
    ) -> Path:
        """Fetch one."""
        given_up, done = "publisher: example.org is away", entry.size // self._parts
        progress(PullProgress(entry.name, "fetching", done, entry.size, "wheels", given_up=given_up))
        self.wait(cancel, PullCancelled("It was cancelled.", "Pull again."))
        self._brings(entry)
        return Path("/models") / entry.name
