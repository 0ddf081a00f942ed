"""``deepthink ask``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from tui.asking import Form


def ask(
    question: Annotated[
        list[str], typer.Argument(metavar="QUESTION", help="In your own words; - reads it from stdin.")
    ],
    collection: Annotated[
        list[str] | None,
        typer.Option("--collection", "-c", metavar="NAME", help="Search here only; may be repeated."),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="lean (few model calls) or seed (asks at every turn)."),
    ] = None,
    decider: Annotated[
        str | None, typer.Option(metavar="NAME", help="Who decides to go on or stop: rules or llm.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model", "-m", metavar="NAME", help="A catalogue name, a .gguf path, or ollama:NAME."
        ),
    ] = None,
    steps: Annotated[str | None, typer.Option(metavar="N", help="Research steps the run may take.")] = None,
    seconds: Annotated[str | None, typer.Option(metavar="N", help="Seconds the run may take.")] = None,
    tokens: Annotated[str | None, typer.Option(metavar="N", help="Tokens the model may compute.")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object at the end, nothing else.")
    ] = False,
    plain: Annotated[
        bool, typer.Option("--plain", help="One line per event: no colour, nothing that moves.")
    ] = False,
) -> int:
    """Answer a question from your documents, with citations.

    Exits with 0 if it was answered and 3 if the documents do not say.
    """
    from agent.run import Request
    from tui.asking import ask as run_and_show
    from tui.settings import load

    settings = load(
        {
            "profile": profile,
            "decider": decider,
            "model": model,
            "budget.steps": steps,
            "budget.seconds": seconds,
            "budget.tokens": tokens,
        }
    )
    default = (settings.collection,) if settings.collection else ()
    request = Request(
        # Bytes that are no text would reach the store as halves of characters, which it refuses.
        question=(sys.stdin.read() if question == ["-"] else " ".join(question))
        .encode("utf-8", "replace")
        .decode("utf-8"),
        collections=tuple(collection or default),
        profile=settings.profile,
        decider=settings.decider,
        budget=settings.run_budget(),
    )
    form: Form = "json" if as_json else "plain" if plain else "auto"
    return run_and_show(request, settings, form)
