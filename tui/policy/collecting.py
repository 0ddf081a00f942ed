"""``deepthink collect``: progress and result."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from policy.collecting import collect as collect_cases
from policy.evaluation.systems import Parts
from policy.questions import Progress, read_set
from tui import failures
from tui.assemble import open_parts, open_store
from tui.bars import show_progress
from tui.interrupts import ctrl_c
from tui.library.actions import embed
from tui.settings.settings import load
from tui.terminal import clean, console, duration


def collect(
    questions: Annotated[
        Path,
        typer.Option(
            "--questions",
            metavar="FILE",
            help='About your own library, a JSON object a line: {"question": …, "answer": …}.',
        ),
    ],
    answers: Annotated[
        bool, typer.Option("--answers", help="Answer at every state, a model call each.")
    ] = False,
    collections: Annotated[
        list[str] | None, typer.Option("--collection", "-c", metavar="NAME", help="Where to look.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, metavar="N", help="The first N by a fixed shuffle.")
    ] = None,
    epsilon: Annotated[
        float, typer.Option("--epsilon", min=0.0, max=1.0, help="Share of exploration.")
    ] = 0.1,
    seed: Annotated[int, typer.Option("--seed", help="Random seed of shuffle and exploration.")] = 0,
) -> int:
    """Gather decisions to learn a policy from.

    Each question's plan is followed to its end. What was collected is kept: the same command resumes where
    it was stopped.
    """
    settings = load()
    case_set = read_set(str(questions))
    cases = list(case_set.cases)
    random.Random(seed).shuffle(cases)
    store, models = open_store(), open_parts(settings)
    with ctrl_c() as cancel, closing(models["chat"]):
        embed(store, models["embedder"], cancel)
        parts = Parts(
            **models,
            store=store,
            collections=tuple(collections or ()),
            budget=settings.budget,
            cancel=cancel,
        )
        chosen = replace(case_set, cases=tuple(cases[:limit]))
        events = collect_cases(chosen, parts, answers=answers, epsilon=epsilon, seed=seed)
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
