"""``deepthink collect``: progress and result."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from policy.collecting import collect as collect_cases
from policy.evaluation.systems import Parts
from policy.questions import read_set
from tui import failures
from tui.assemble import open_parts, open_store
from tui.bars import show_progress
from tui.interrupts import ctrl_c
from tui.library.actions import embed
from tui.options import collection_option
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
    collections: Annotated[list[str] | None, collection_option("Where to look.")] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, metavar="N", help="The first N by a fixed shuffle.")
    ] = None,
) -> int:
    """Gather decisions to learn a policy from.

    Each question's plan is followed to its end. What was collected is kept: the same command resumes where
    it was stopped.
    """
    settings = load()
    cases = read_set(str(questions)).first(limit)
    store, models = open_store(), open_parts(settings)
    name, start = clean(cases.name), time.monotonic()
    with ctrl_c() as cancel, closing(models["chat"]):
        embed(store, models["embedder"], cancel)
        searched = tuple(collections or ())
        parts = Parts(**models, store=store, collections=searched, budget=settings.budget, cancel=cancel)
        events = collect_cases(cases, parts, answers=answers)
        last = show_progress(events, lambda progress: f"{name}: {progress.doing}")
        if last is not None:
            took = duration(time.monotonic() - start)
            console().print(f"{name}: {last.done:,} of {last.total:,} questions, {took}")
        if cancel.is_set():
            failures.warn("Stopped. What was collected is kept; the same command continues.")
            return failures.EXIT_CODES["cancelled"]
    failed = last.failed if last else ()
    for reason in failed:
        failures.warn(clean(reason))
    # on one line, so that it can be copied
    console().print(Text("  deepthink train-policy --from traces", style="dim"), soft_wrap=True)
    return failures.EXIT_CODES["input"] if failed else failures.DONE
