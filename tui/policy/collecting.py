"""Collecting decisions on the command line: progress and result."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from rich.text import Text

from policy.collecting import Collection, collect
from policy.questions import Progress, read_set
from tui import failures
from tui.assemble import open_chat, open_embedder, open_planner, open_reader, open_store
from tui.bars import show_progress
from tui.interrupts import ctrl_c
from tui.library.actions import embed
from tui.settings.settings import load
from tui.terminal import clean, console, duration


def collect_own(
    file: Path, collections: list[str], answers: bool, limit: int | None, epsilon: float, seed: int
) -> int:
    """Collect decisions on the user's own questions with the language model; returns the exit code.

    Raises:
        BadQuestions: the file does not contain questions.
        EmptyLibrary, UnknownCollection, ModelMissing: before anything is collected.
    """
    settings = load()
    case_set = read_set(str(file))
    questions = list(case_set.cases)
    random.Random(seed).shuffle(questions)
    task = Collection(
        case_set.name, questions[:limit], answers, tuple(collections), epsilon, seed, settings.run_budget()
    )
    store, embedder = open_store(), open_embedder(settings)
    with ctrl_c() as cancel, closing(open_chat(settings)) as chat:
        embed(store, embedder, cancel)
        events = collect(
            task,
            chat=chat,
            embedder=embedder,
            reader=open_reader(settings),
            planner=open_planner(settings),
            store=store,
            cancel=cancel,
        )
        failed = watch_collecting(case_set.name, events)
        if cancel.is_set():
            failures.warn("Stopped. What was collected is kept; the same command continues.")
            return failures.EXIT_CODES["cancelled"]
    for reason in failed:
        failures.warn(clean(reason))
    # on one line, so that it can be copied
    console().print(Text("  deepthink train-policy --from traces", style="dim"), soft_wrap=True)
    return failures.EXIT_CODES["input"] if failed else failures.DONE


def watch_collecting(name: str, events: Iterable[Progress]) -> tuple[str, ...]:
    """Show the progress and the result; returns the questions that failed."""
    start = time.monotonic()
    last = show_progress(events, lambda progress: f"{clean(name)}: {progress.doing}")
    if last is None:
        return ()
    took = duration(time.monotonic() - start)
    console().print(f"{clean(name)}: {last.done:,} of {last.total:,} questions, {took}")
    return last.failed
