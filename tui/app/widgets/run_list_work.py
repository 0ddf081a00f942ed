"""What is done with stored runs in the background, and the messages that tell of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.message import Message

from traces.ratings import Rating, Ratings
from traces.runs import Runs, RunSummary
from traces.store import Store
from tui.app.widgets.run_list_preview import Preview, preview_of

if TYPE_CHECKING:
    from agent.run import Resumable


@dataclass
class RunsLoaded(Message):
    """A page of the runs that fit, and how many fit in all; the ``first`` page begins the list anew."""

    first: bool
    runs: list[RunSummary]
    total: int


@dataclass
class Previewed(Message):
    """What is to be shown of a run."""

    preview: Preview


@dataclass
class Rated(Message):
    """A run's rating is stored; "" if it was taken back."""

    run_id: str
    rating: Rating | str


@dataclass
class RunDeleted(Message):
    """A run is no more."""

    run_id: str


@dataclass
class FoundUnfinished(Message):
    """What can be resumed."""

    found: list[Resumable]


def load(store: Store, text: str, statuses: Sequence[str], limit: int, offset: int) -> RunsLoaded:
    """A page of the runs that fit."""
    with store.connect():  # one opening for both
        found = Runs(store).search(text, statuses, limit=limit, offset=offset)
        return RunsLoaded(not offset, found, Runs(store).count(text, statuses))


def preview(store: Store, run_id: str) -> Previewed:
    """What is to be shown of a run. Raises `UnknownRun`."""
    return Previewed(preview_of(store, run_id))


def rate(store: Store, run_id: str, rating: Rating | None) -> Rated:
    """Rate a run; None takes its rating back. Raises `UnknownRun`."""
    if rating is None:
        Ratings(store).withdraw(run_id)
    else:
        Ratings(store).rate(run_id, rating)
    return Rated(run_id, rating or "")


def delete(store: Store, run_id: str) -> RunDeleted:
    """Delete a run. Raises `GoingOn`."""
    from tui.removal import delete_run

    delete_run(store, run_id)
    return RunDeleted(run_id)


def find_unfinished(store: Store) -> FoundUnfinished:
    """What can be resumed."""
    from tui.app.screens.unfinished import unfinished

    return FoundUnfinished(unfinished(store))
