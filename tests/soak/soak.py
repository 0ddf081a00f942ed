"""Rounds of kills, of full disks and of several processes at once, and what each came to."""

from __future__ import annotations

import pickle
import random
import signal
import statistics
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import cycle, islice
from pathlib import Path

from agent.checkpoints import exists
from tests.agent.conftest import fill
from tests.benchmarks.table import Row
from tests.policy.training.made import collected
from tests.scripted import HashEmbedder
from tests.soak.checking import Seen, problems
from tests.soak.jobs import (
    COLLECTED,
    FAULT,
    JOBS,
    Ended,
    change_files,
    done,
    fork,
    killed,
    prepare,
    use_home,
    wait,
)
from traces.paths import store_file
from traces.runs import Runs
from traces.store import Store

_QUESTIONS = 52  # to train from
_HANG_UP = 5  # one signal in so many is that of a terminal that closes


class Soak:
    """A home in which jobs are killed; `rows` tell what came of it, and `problems` what did not hold."""

    def __init__(
        self, folder: Path, seed: int = 0, tell: Callable[[str], object] = lambda _line: None
    ) -> None:
        prepare()
        self.rows: list[Row] = []
        self.problems: list[str] = []
        self.home = folder / "home"
        use_home(self.home)
        self._told = folder / "told"
        self._chance = random.Random(seed)
        self._tell = tell
        self._seen = Seen()
        self._usual: dict[str, float] = {}
        self._must(lambda: fill(Store(store_file()), HashEmbedder()))
        self._must(lambda: collected(self.home / COLLECTED, _QUESTIONS))
        change_files(self.home, self._chance)
        for name in JOBS:
            self._usual[name] = self._must(self._job(name)).seconds

    def kill(self, times: int) -> None:
        """Kill each job in turn at a random moment, and check the home after each; then resume the rest."""
        tried: Counter[str] = Counter()
        before = len(self.problems)
        turns = cycle(JOBS)
        while tried.total() < times:
            name = next(turns)
            if name == "ingest":
                change_files(self.home, self._chance)
            if name == "resume" and not self._unfinished():
                self._kill("ask", at=0.5)
                tried["ask"] += 1
            self._kill(name)
            tried[name] += 1
        unfinished = self._unfinished()
        resumed: list[float] = []
        for _ in range(unfinished):
            resumed.append(self._must(self._job("resume")).seconds / unfinished)
            if not self._unfinished():
                break
        self._check("the end")
        found = len(self.problems) - before
        survived = f"{tried.total() - found} of {tried.total()} ({_counted(tried)})"
        self.rows += [
            Row("kills survived, of those tried", survived, "all", met=not found),
            Row(
                "unfinished runs at the end, and seconds to resume one to its answer (median)",
                f"{unfinished}, {statistics.median(resumed or [0.0]):.1f} s",
            ),
        ]

    def _kill(self, name: str, at: float | None = None) -> None:
        for _ in range(20):  # a job that ends before it is killed is tried again
            share = at if at is not None else self._chance.random()
            by = signal.SIGHUP if self._chance.randrange(_HANG_UP) == 0 else signal.SIGKILL
            ended = killed(self._job(name), self._told, share * self._usual[name], by)
            if ended.code == FAULT:
                self.problems.append(f"{name}: {ended.told}")
            if ended.signal:
                break
            self._usual[name] = ended.seconds
        self._check(f"{name} was killed after {share:.0%}")

    def fill_up(self, times: int) -> None:
        """Have the disk fill up under each job in turn, and check the home after each."""
        before = len(self.problems)
        for name in islice(cycle(JOBS), times):
            if name == "ingest":
                change_files(self.home, self._chance)
            largest = self._chance.randrange(2_000, store_file().stat().st_size + 200_000)
            ended = done(self._job(name), self._told, largest)
            if ended.code == FAULT or ended.signal:
                self.problems.append(
                    f"{name} with files of at most {largest} bytes: {ended.told} {ended.signal}"
                )
            self._check(f"the disk was full for {name} at {largest} bytes")
        found = len(self.problems) - before
        survived = f"{times - found} of {times}"
        self.rows.append(Row("full disks survived, of those tried", survived, "all", met=not found))

    def crowd(self, minutes: float) -> None:
        """Run jobs in processes at once."""
        before = len(self.problems)
        until = time.monotonic() + 60 * minutes
        working: dict[int, tuple[str, Path, float]] = {}
        count: Counter[str] = Counter()

        def begin(name: str) -> None:
            told = self._told.with_name(f"told-{name}")
            if name == "ingest":
                change_files(self.home, self._chance)
            working[fork(self._job(name), told)] = (name, told, time.monotonic())

        for name in ("ingest", "ask", "train", "label"):  # the app labels, lists and searches
            begin(name)
        while working:
            child, (name, told, began) = next(iter(working.items()))
            ended = wait(child, told, began)
            del working[child]
            count[name] += 1
            if ended.code:
                self.problems.append(f"{name} beside others: {ended.told}")
            if time.monotonic() < until:
                begin(name)
        self._check("a crowd")
        found = len(self.problems) - before
        what = f"{minutes:g} minutes of ingest, ask, train and label at once"
        result = f"{_counted(count)}; problems: {found}"
        self.rows.append(Row(what, result, "no lock error, nothing lost", met=not found))

    def _job(self, name: str) -> Callable[[], None]:
        return partial(JOBS[name], self.home)

    def _must(self, work: Callable[[], object]) -> Ended:
        ended = done(work, self._told)
        if ended.code or ended.signal:
            raise AssertionError(f"a job that was left alone failed: {ended}")
        return ended

    def _unfinished(self) -> int:
        count = self._told.with_name("unfinished")

        def look() -> None:
            store = Store(store_file())
            left = [run for run in Runs(store).unfinished() if exists(store, run.id)]
            count.write_text(str(len(left)))

        self._must(look)
        return int(count.read_text())

    def _check(self, after: str) -> None:
        """In a fork, since a process that has opened the store keeps some of it in memory."""
        kept = self._told.with_name("checked")

        def check() -> None:
            found = problems(self.home, self._seen)
            kept.write_bytes(pickle.dumps((found, self._seen)))

        self._tell(after)
        ended = done(check, self._told)
        if ended.code or ended.signal:
            self.problems.append(f"after {after}: the check failed: {ended.told}")
            return
        found, self._seen = pickle.loads(kept.read_bytes())
        self.problems += [f"after {after}: {one}" for one in found]


def _counted(jobs: Counter[str]) -> str:
    return ", ".join(f"{name} {times}" for name, times in jobs.items())
