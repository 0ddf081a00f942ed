"""Rounds of kills, of full disks and of several processes at once, and what each came to."""

from __future__ import annotations

import pickle
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle
from pathlib import Path

from agent.checkpoints import exists
from tests.agent.conftest import fill
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

_QUESTIONS = 60  # to train from
_HANG_UP = 5  # one signal in so many is that of a terminal that closes


@dataclass
class Kills:
    """What came of killing.

    Attributes:
        tried: Signals sent, by job.
        problems: What did not hold afterwards, in sentences.
        resumed: Seconds that each resumption took.
        unfinished: Runs that were left to resume at the end.
    """

    tried: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    resumed: list[float] = field(default_factory=list)
    unfinished: int = 0


class Soak:
    """A home in which jobs are killed."""

    def __init__(
        self, folder: Path, seed: int = 0, tell: Callable[[str], object] = lambda _line: None
    ) -> None:
        prepare()
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

    def kill(self, times: int) -> Kills:
        """Kill each job in turn at a random moment, and check the home after each."""
        came = Kills()
        turns = cycle(JOBS)
        while came.tried.total() < times:
            name = next(turns)
            if name == "ingest":
                change_files(self.home, self._chance)
            if name == "resume" and not self._unfinished():
                self._kill("ask", came, at=0.5)
            self._kill(name, came)
        came.unfinished = self._unfinished()
        for _ in range(came.unfinished):
            came.resumed.append(self._must(self._job("resume")).seconds / came.unfinished)
            if not self._unfinished():
                break
        came.problems += self._check("the end")
        return came

    def _kill(self, name: str, came: Kills, at: float | None = None) -> None:
        for _ in range(20):  # a job that ends before it is killed is tried again
            share = at if at is not None else self._chance.random()
            by = signal.SIGHUP if self._chance.randrange(_HANG_UP) == 0 else signal.SIGKILL
            ended = killed(self._job(name), self._told, share * self._usual[name], by)
            if ended.code == FAULT:
                came.problems.append(f"{name}: {ended.told}")
            if ended.signal:
                break
            self._usual[name] = ended.seconds
        came.tried[name] += 1
        came.problems += self._check(f"{name} was killed after {share:.0%}")

    def fill_up(self, times: int) -> list[str]:
        """Have the disk fill up under each job in turn, and check the home after each; the problems."""
        found = []
        for number in range(times):
            name = list(JOBS)[number % len(JOBS)]
            if name == "ingest":
                change_files(self.home, self._chance)
            largest = self._chance.randrange(2_000, store_file().stat().st_size + 200_000)
            ended = done(self._job(name), self._told, largest)
            if ended.code == FAULT or ended.signal:
                found.append(f"{name} with files of at most {largest} bytes: {ended.told} {ended.signal}")
            found += self._check(f"the disk was full for {name} at {largest} bytes")
        return found

    def crowd(self, seconds: float) -> tuple[Counter[str], list[str]]:
        """Run jobs in processes at once; how often each was done, and the problems."""
        until = time.monotonic() + seconds
        working: dict[int, tuple[str, Path, float]] = {}
        count: Counter[str] = Counter()
        found: list[str] = []
        names = ["ingest", "ask", "train", "label"]  # the app labels, lists and searches

        def begin(name: str) -> None:
            told = self._told.with_name(f"told-{name}")
            if name == "ingest":
                change_files(self.home, self._chance)
            working[fork(self._job(name), told)] = (name, told, time.monotonic())

        for name in names:
            begin(name)
        while working:
            child, (name, told, began) = next(iter(working.items()))
            ended = wait(child, told, began)
            del working[child]
            count[name] += 1
            if ended.code:
                found.append(f"{name} beside others: {ended.told}")
            if time.monotonic() < until:
                begin(name)
        return count, found + self._check("a crowd")

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

    def _check(self, after: str) -> list[str]:
        """In a fork, since a process that has opened the store keeps some of it in memory."""
        kept = self._told.with_name("checked")

        def check() -> None:
            found = problems(self.home, self._seen)
            kept.write_bytes(pickle.dumps((found, self._seen)))

        self._tell(after)
        ended = done(check, self._told)
        if ended.code or ended.signal:
            return [f"after {after}: the check failed: {ended.told}"]
        found, self._seen = pickle.loads(kept.read_bytes())
        return [f"after {after}: {one}" for one in found]
