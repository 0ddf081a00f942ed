"""``deepthink ask``, ``resume``, ``compare``, ``demo`` and ``graph``."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from tui import completion
from tui.options import (
    After,
    AsJson,
    Asked,
    Before,
    Collections,
    From,
    InFolder,
    Json,
    Model,
    Plain,
    Quiet,
    Type,
    collections_of,
    filter_pairs,
    form_of,
    question_of,
)

_Approve = Annotated[
    Literal["ask", "always", "never"] | None,
    typer.Option(help="Show unsupported answers: ask, always or never."),
]
_Web = Annotated[
    bool | None, typer.Option("--web/--no-web", help="Search the web where the documents fall short.")
]


def ask(
    question: Asked = None,
    collection: Collections = None,
    profile: Annotated[
        Literal["lean", "seed"] | None,
        typer.Option(help="lean: few model calls; seed: asks the model at every turn."),
    ] = None,
    decider: Annotated[
        Literal["rules", "llm", "learned"] | None,
        typer.Option(help="What decides whether to continue or stop."),
    ] = None,
    model: Model = None,
    session: Annotated[
        str | None,
        typer.Option(
            "--session",
            "-s",
            metavar="NAME",
            help="The conversation: an existing or new name, or an id (4 characters are enough).",
            autocompletion=completion.sessions,
        ),
    ] = None,
    go_on: Annotated[
        bool, typer.Option("--continue", "-C", help="Continue the last conversation.")
    ] = False,
    brief: Annotated[bool, typer.Option("--brief", help="A short answer.")] = False,
    report: Annotated[bool, typer.Option("--report", help="A long answer, with sections.")] = False,
    approve: _Approve = None,
    web: _Web = None,
    steps: Annotated[str | None, typer.Option(metavar="N", help="Research steps the run may take.")] = None,
    seconds: Annotated[str | None, typer.Option(metavar="N", help="Seconds the run may take.")] = None,
    tokens: Annotated[str | None, typer.Option(metavar="N", help="Tokens the model may compute.")] = None,
    sender: From = None,
    after: After = None,
    before: Before = None,
    kind: Type = None,
    folder: InFolder = None,
    as_json: Json = False,
    plain: Plain = False,
    quiet: Quiet = False,
) -> int:
    """Answer a question from your documents, with citations.

    In a pipe the answer alone goes to stdout, and progress to stderr. Exits with 0 if it was answered, 3 if
    the documents do not say, 7 if it waits for you, 8 if the answer was withheld, 9 if it was answered in
    part, 10 if it was stopped first. While it runs on a terminal, ? shows the keys that steer it.
    """
    from tui.ask import warm
    from tui.ask.terminal import AskOptions, is_interactive
    from tui.failures import WrongUsage
    from tui.settings.settings import load

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
    typed = AskOptions(
        question_of(question),
        collection or (),
        session,
        go_on,
        filter_pairs(sender, after, before, kind, folder),
    )
    code = warm.ask_server(typed, settings, form)
    if code is not None:
        return code
    from tui.ask.asking import ask as run_and_show
    from tui.ask.asking import request_of

    code = run_and_show(request_of(typed, settings, interactive=is_interactive(form)), settings, form)
    warm.start_server(settings)
    return code


def resume(
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN",
            help="Its id or the beginning of it; by default the newest.",
            autocompletion=completion.runs,
        ),
    ] = "",
    approve: _Approve = None,
    web: _Web = None,
    as_json: Json = False,
    plain: Plain = False,
    quiet: Quiet = False,
) -> int:
    """Continue a run that was interrupted or waits for you.

    It continues after its last finished node, with the model it began with, and as it was asked unless
    --approve or --web say otherwise; no answered model call is repeated. `deepthink runs --unfinished`
    lists what can be resumed. Exits as `ask` does, and with 0 if there is nothing to resume (--json then
    gives null).
    """
    from tui.ask.asking import choose, model_of, web_of
    from tui.ask.asking import resume as resume_and_show
    from tui.settings.settings import load

    run_or_reason = choose(run)
    if isinstance(run_or_reason, str):
        typer.echo("null" if as_json else run_or_reason)
        return 0
    form = form_of(as_json=as_json, plain=plain, quiet=quiet)
    # A setting of today must not take a run to the web that was started without it.
    web_allowed = web_of(run_or_reason) if web is None else web
    settings = load({"model": model_of(run_or_reason), "web": web_allowed})
    return resume_and_show(run_or_reason.id, settings, form, approve=approve)


def compare(
    question: Asked = None,
    systems: Annotated[
        str,
        typer.Option(
            "--systems",
            metavar="A,B",
            help="Some of shallow, search-and-guess, seed, lean; they answer in the given order.",
        ),
    ] = "shallow,search-and-guess,lean",
    collection: Collections = None,
    model: Model = None,
    as_json: Json = False,
    plain: Annotated[
        bool, typer.Option("--plain", help="One answer after another, without colour or animation.")
    ] = False,
) -> int:
    """Ask several systems the same question.

    Each answers from your documents, on the same model, one after the other. Exits with 0 if one of them
    found an answer and none failed, with 3 if the documents do not say.
    """
    from tui.ask.compare import compare as run_and_show
    from tui.settings.settings import load

    settings = load({"model": model})
    return run_and_show(
        question_of(question),
        systems,
        settings,
        form_of(as_json=as_json, plain=plain),
        collections_of(collection or (), settings),
    )


def demo(plain: Plain = False) -> int:
    """See it work: fetch models, read a sample library, ask it."""
    from tui.ask.asking import demonstrate

    return demonstrate("plain" if plain else "auto")


def serve(
    minutes: Annotated[
        float | None,
        typer.Option(metavar="N", min=0, help="Stop after N minutes without a question; 0: never."),
    ] = None,
) -> int:
    """Keep the models warm, so that `ask` answers sooner.

    `ask` uses it automatically, and on a terminal starts one in the background (the setting warm_minutes).
    It listens on a socket that only you can open, not on the network. Ctrl-C stops it.
    """
    from tui.ask import warm

    return warm.serve(minutes or 0.0)


def graph(
    form: Annotated[
        Literal["text", "mermaid"], typer.Option("--format", "-f", help="Lines to read, or Mermaid source.")
    ] = "text",
    as_json: AsJson = False,
) -> None:
    """Print the graph of a run; needs no model.

    It shows the nodes, from routing the question to checking the answer, and the edges between them.
    """
    from agent.graph import edges, mermaid
    from tui.terminal import print_json

    if as_json:
        print_json(edges())
    elif form == "mermaid":
        typer.echo(mermaid().rstrip())
    else:
        for edge in edges():
            arrow = "┄→" if edge.is_conditional else "──→"
            condition = f"  ({edge.condition})" if edge.condition else ""
            typer.echo(f"{edge.source:<15} {arrow:<4} {edge.target}{condition}")
