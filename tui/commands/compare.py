"""``deepthink compare``."""

from __future__ import annotations

from typing import Annotated

import typer

from tui.commands.options import Asked, Collections, Json, Model, collections_of, form_of, question_of


def compare(
    question: Asked,
    systems: Annotated[
        str,
        typer.Option(
            "--systems",
            metavar="A,B",
            help="Of closed-book, shallow, search-and-answer, search-and-guess, crag, seed, lean; they "
            "answer in this order.",
        ),
    ] = "shallow,search-and-answer,lean",
    collection: Collections = None,
    model: Model = None,
    as_json: Json = False,
    plain: Annotated[
        bool, typer.Option("--plain", help="One answer after the other: no colour, nothing that moves.")
    ] = False,
) -> int:
    """Ask several systems the same question.

    Each answers from your documents, on the same model, one after the other. Exits with 0 if one of them
    found an answer and none failed, with 3 if the documents do not say.
    """
    from tui.comparing import compare as run_and_show
    from tui.settings import load

    settings = load({"model": model})
    return run_and_show(
        question_of(question),
        systems,
        settings,
        form_of(as_json=as_json, plain=plain),
        collections_of(collection, settings),
    )
