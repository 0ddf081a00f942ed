"""``deepthink compare``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from tui.asking import Form


def compare(
    question: Annotated[
        list[str], typer.Argument(metavar="QUESTION", help="In your own words; - reads it from stdin.")
    ],
    systems: Annotated[
        str,
        typer.Option(
            "--systems",
            metavar="A,B",
            help="Of closed-book, shallow, search-and-answer, crag, seed, lean; they answer in this order.",
        ),
    ] = "shallow,search-and-answer,lean",
    collection: Annotated[
        list[str] | None,
        typer.Option("--collection", "-c", metavar="NAME", help="Search here only; may be repeated."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model", "-m", metavar="NAME", help="A catalogue name, a .gguf path, or ollama:NAME."
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object at the end, nothing else.")
    ] = False,
    plain: Annotated[
        bool, typer.Option("--plain", help="One answer after the other: no colour, nothing that moves.")
    ] = False,
) -> int:
    """Put one question to several systems, and see their answers next to each other.

    Each answers from your documents, on the same model, one after the other. Exits with 0 if one of them
    found an answer and none failed, with 3 if the documents do not say.
    """
    from tui.comparing import compare as run_and_show
    from tui.settings import load

    settings = load({"model": model})
    default = (settings.collection,) if settings.collection else ()
    form: Form = "json" if as_json else "plain" if plain else "auto"
    # Bytes that are no text would reach the store as halves of characters, which it refuses.
    asked = (
        (sys.stdin.read() if question == ["-"] else " ".join(question))
        .encode("utf-8", "replace")
        .decode("utf-8")
    )
    return run_and_show(asked, systems, settings, form, tuple(collection or default))
