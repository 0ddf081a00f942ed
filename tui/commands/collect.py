"""``deepthink collect``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def collect(
    dataset: Annotated[
        list[Path] | None,
        typer.Option(
            "--dataset",
            metavar="FILE",
            help="HotpotQA, 2WikiMultihopQA or MuSiQue as JSON lines: collected without a language model, "
            "each into a store of its own. Can be given several times.",
        ),
    ] = None,
    questions: Annotated[
        Path | None,
        typer.Option(
            "--questions",
            metavar="FILE",
            help='Questions about your own library, a JSON object a line: {"question": …, "answer": …}.',
        ),
    ] = None,
    answers: Annotated[
        bool,
        typer.Option("--answers", help="With --questions: answer at every state, a model call each."),
    ] = False,
    collections: Annotated[
        list[str] | None,
        typer.Option("--collection", "-c", metavar="NAME", help="With --questions: where to look."),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, metavar="N", help="The first N by a fixed shuffle.")
    ] = None,
    epsilon: Annotated[
        float, typer.Option("--epsilon", min=0.0, max=1.0, help="Share of exploration.")
    ] = 0.1,
    seed: Annotated[int, typer.Option("--seed", help="Of shuffle and exploration.")] = 0,
) -> int:
    """Gather decisions to learn a policy from.

    Questions are worked through to the full horizon. What was collected is kept: the same command goes on
    where it was stopped.
    """
    from tui.collecting import collect_datasets, collect_own

    if bool(dataset) == bool(questions):
        raise typer.BadParameter("Name either --dataset or --questions.")
    if questions is not None:
        return collect_own(questions, collections or [], answers, limit, epsilon, seed)
    if answers or collections:
        raise typer.BadParameter("--answers and --collection go with --questions.")
    return collect_datasets(dataset or [], limit, epsilon, seed)
