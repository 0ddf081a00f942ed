"""Runs that took decisions: which are stored, one of them as a fold, and its heading."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from textual.content import Content
from textual.dom import DOMNode
from textual.message import Message

from traces.labels import Label
from traces.runs import Run, RunSummary
from traces.store import Store
from tui.app.fold import RunFold
from tui.app.work import in_background
from tui.run_status import local, status
from tui.terminal import one_line
from tui.wording import ENDINGS

_PAGE = 100  # runs looked through at a time


class RunsListed(Message):
    """Runs that took decisions.

    Attributes:
        runs: Newest first.
        first: Where they begin, counted from the newest run; 0 for all that are known anew.
        seen: Runs looked through so far, those without decisions included; where the next page begins.
        complete: Whether there are no more.
    """

    def __init__(self, runs: Sequence[RunSummary], first: int, seen: int, *, complete: bool) -> None:
        super().__init__()
        self.runs = runs
        self.first = first
        self.seen = seen
        self.complete = complete


class RunRead(Message):
    """A stored run as far as it has come, with what people said of its decisions."""

    def __init__(self, run: Run, fold: RunFold, labels: Mapping[int, Label]) -> None:
        super().__init__()
        self.run = run
        self.fold = fold
        self.labels = labels


def list_runs(node: DOMNode, store: Store, first: int = 0, since: datetime | None = None) -> None:
    """Look for runs that took decisions in a worker; `RunsListed` or `Failed` is posted to ``node``.

    Args:
        node: The screen.
        store: Where they are.
        first: Where to begin, counted from the newest run.
        since: As far back as it is looked at least.
    """

    def work() -> Message:
        from traces.runs import Runs

        runs, at = Runs(store), first
        found: list[RunSummary] = []
        while True:
            page = runs.search(limit=_PAGE, offset=at)
            at += len(page)
            found += [run for run in page if run.decisions]
            complete = len(page) < _PAGE
            if complete or (found and (since is None or page[-1].started <= since)):
                return RunsListed(found, first, at, complete=complete)

    in_background(node, work, group="runs", exclusive=True)


def older(runs: Sequence[RunSummary], known: Sequence[RunSummary]) -> list[RunSummary]:
    """Those that are older than all that are known: runs begun meanwhile have moved the others on."""
    if not known:
        return list(runs)
    oldest = (known[-1].started, known[-1].id)
    return [run for run in runs if (run.started, run.id) < oldest]


def read_run(node: DOMNode, store: Store, run_id: str) -> None:
    """Read a run in a worker; `RunRead` or `Failed` is posted to ``node``."""

    def work() -> Message:
        from traces.labels import Labels
        from traces.runs import Runs
        from tui.imported import stored_or_told
        from tui.outcome import events_of

        runs = Runs(store)
        with store.connect():
            run = runs.find(run_id)
            stored, labels = stored_or_told(runs, run), Labels(store).of_run(run_id)
        fold = RunFold(run_id=run_id)
        fold.take_all(events_of(stored))
        return RunRead(run, fold, labels)

    in_background(node, work, group="run", exclusive=True)


def heading(fold: RunFold, run: Run | None, *, live: bool, teaching: bool, place: str) -> Content:
    """The question of a run, and beneath it how it stands.

    Args:
        fold: The run.
        run: As it is stored, if it was read from there.
        live: Whether it goes on in this app.
        teaching: Whether it asks at each decision.
        place: Which of how many it is, in words.
    """
    if run is not None:
        facts = [f"{local(run.started):%Y-%m-%d %H:%M}", status(run)]
    else:
        facts = ["● live" if live else ENDINGS.get(fold.outcome.status, fold.outcome.status)]
    taken = len(fold.outcome.decisions)
    facts.append(f"{taken} decision{'s' * (taken != 1)}")
    facts += ["teach mode"] * teaching + ["paused"] * fold.paused + [place] * bool(place)
    question = one_line(fold.outcome.question) or "…"
    told = Content.assemble((question, "bold"), "\n", (" · ".join(facts), "$foreground 65%"))
    if fold.asked is not None and fold.asked.about == "decide":
        wait = "? It waits for you: 1, 2 or 3 on the last row takes the decision."
        told = Content.assemble(told, "\n", (wait, "bold $accent"))
    return told
