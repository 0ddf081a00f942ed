"""What a list says of a stored run: when it began, how it ended, why it can go on."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from traces.runs import Run, RunSummary

WHY: Final[Mapping[str, str]] = {
    "waiting": "waits for you",
    "interrupted": "was interrupted",
    "failed": "failed",
    "cancelled": "was cancelled",
    "going on": "is going on",
}
"""Why a run did not come to its end (`agent.run.Resumable.why`), in words."""


def local(moment: datetime) -> datetime:
    """A moment of the store, which has them in UTC, by this machine's clock."""
    return moment.replace(tzinfo=UTC).astimezone()


def status(run: Run | RunSummary) -> str:
    """How a run ended, or that it has not, in a word or two."""
    if run.finished is None:
        return "waiting" if run.status == "waiting" else "unfinished"
    return run.status.replace("_", " ")
