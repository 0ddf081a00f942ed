"""``deepthink ask``."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from tui.commands.options import (
    Asked,
    Collections,
    Json,
    Model,
    Plain,
    Quiet,
    collections_of,
    form_of,
    question_of,
)


def ask(
    question: Asked,
    collection: Collections = None,
    profile: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="lean: few model calls; seed: asks the model at every turn."),
    ] = None,
    decider: Annotated[
        str | None, typer.Option(metavar="NAME", help="Who decides to go on or stop: rules, llm, learned.")
    ] = None,
    model: Model = None,
    session: Annotated[
        str | None,
        typer.Option(
            "--session",
            "-s",
            metavar="NAME",
            help="Its conversation: a name, known or new, or an id (4 characters are enough).",
        ),
    ] = None,
    go_on: Annotated[
        bool, typer.Option("--continue", "-C", help="Go on with the conversation used last.")
    ] = False,
    route: Annotated[
        Literal["single", "deep"] | None,
        typer.Option(help="One search, or research in steps; left out: as the question needs."),
    ] = None,
    brief: Annotated[bool, typer.Option("--brief", help="A short answer.")] = False,
    report: Annotated[bool, typer.Option("--report", help="A long answer, with sections.")] = False,
    approve: Annotated[
        Literal["ask", "always", "never"] | None,
        typer.Option(help="Show unsupported answers: ask, always or never."),
    ] = None,
    web: Annotated[
        bool | None,
        typer.Option("--web/--no-web", help="Search the web where the documents fall short."),
    ] = None,
    steps: Annotated[str | None, typer.Option(metavar="N", help="Research steps the run may take.")] = None,
    seconds: Annotated[str | None, typer.Option(metavar="N", help="Seconds the run may take.")] = None,
    tokens: Annotated[str | None, typer.Option(metavar="N", help="Tokens the model may compute.")] = None,
    as_json: Json = False,
    plain: Plain = False,
    quiet: Quiet = False,
) -> int:
    """Answer a question from your documents, with citations.

    In a pipe the answer alone goes to stdout, and progress to stderr. Exits with 0 if it was answered, 3 if
    the documents do not say, 7 if it waits for you, 8 if the answer was withheld, 9 if it was answered in
    part, 10 if it was stopped first. While it runs on a terminal, ? shows the keys that steer it.
    """
    from tui.asking import ask as run_and_show
    from tui.asking import request, session_of
    from tui.failures import WrongUsage
    from tui.settings import load

    if brief and report:
        raise WrongUsage("--brief and --report exclude each other.", "Choose one of them.")
    if session and go_on:
        raise WrongUsage("--session and --continue exclude each other.", "Choose one of them.")
    settings = load(
        {
            "profile": profile,
            "decider": decider,
            "model": model,
            "length": "brief" if brief else "report" if report else None,
            "approve": approve,
            "web": web,
            "budget.steps": steps,
            "budget.seconds": seconds,
            "budget.tokens": tokens,
        }
    )
    form = form_of(as_json=as_json, plain=plain, quiet=quiet)
    wanted = request(
        question_of(question),
        settings,
        form,
        collections=collections_of(collection, settings),
        route=route or "",
        session=session_of(session, go_on=go_on),
    )
    return run_and_show(wanted, settings, form)
