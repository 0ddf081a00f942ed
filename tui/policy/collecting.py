"""Collecting decisions on the command line: progress and result."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from rich.text import Text

from policy.collecting import CollectingProgress, WithModel, collect
from policy.questions import read_set
from tui import failures
from tui.assemble import open_chat, open_embedder, open_planner, open_reader, open_store
from tui.bars import watched
from tui.interrupts import ctrl_c
from tui.library import embedding
from tui.settings.settings import load
from tui.terminal import clean, console, duration


def collect_own(
    file: Path, collections: list[str], answers: bool, limit: int | None, epsilon: float, seed: int
) -> int:
    """Work a person's questions through with the language model; the exit code.

    Raises:
        BadQuestions: the file is none of questions.
        EmptyLibrary, UnknownCollection, ModelMissing: nothing was begun.
    """
    settings = load()
    read = read_set(str(file))
    questions = list(read.cases)
    random.Random(seed).shuffle(questions)
    wanted = WithModel(
        read.name, questions[:limit], answers, tuple(collections), epsilon, seed, settings.run_budget()
    )
    store, embedder = open_store(), open_embedder(settings)
    with ctrl_c() as cancel, closing(open_chat(settings)) as chat:
        embedding.embed(store, embedder, cancel)
        events = collect(
            wanted,
            chat=chat,
            embedder=embedder,
            reader=open_reader(settings),
            planner=open_planner(settings),
            store=store,
            cancel=cancel,
        )
        failed = watch_collecting(read.name, events)
        if cancel.is_set():
            failures.warn("Stopped. What was collected is kept; the same command continues.")
            return failures.EXIT_CODES["cancelled"]
    for why in failed:
        failures.warn(clean(why))
    # on one line, so that it can be copied
    console().print(Text("  deepthink train-policy --from traces", style="dim"), soft_wrap=True)
    return failures.EXIT_CODES["input"] if failed else failures.DONE


def watch_collecting(name: str, events: Iterable[CollectingProgress]) -> tuple[str, ...]:
    """Show it; questions that failed."""
    began = time.monotonic()
    units = {"reading": "paragraphs"}
    last = watched(events, lambda event: f"{clean(name)}: {units.get(event.doing, 'questions')}")
    if last is not None:
        console().print(
            f"{clean(name)}: {last.done:,} of {last.total:,} questions, {last.states:,} new states, "
            f"{duration(time.monotonic() - began)}"
        )
    return last.failed if last else ()
