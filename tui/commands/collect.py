"""``deepthink collect``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


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
        bool,
        typer.Option("--answers", help="Answer at every state, a model call each."),
    ] = False,
    collections: Annotated[
        list[str] | None,
        typer.Option("--collection", "-c", metavar="NAME", help="Where to look."),
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
    from tui.collecting import collect_own

    return collect_own(questions, collections or [], answers, limit, epsilon, seed)
