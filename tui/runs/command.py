"""``deepthink runs`` and ``deepthink sessions``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from tui.options import AsJson

app = typer.Typer(help="Look at earlier runs.", invoke_without_command=True, rich_markup_mode=None)
_Id = Annotated[str, typer.Argument(metavar="RUN", help="The beginning of its id, or last.")]
_Unfinished = Annotated[
    bool, typer.Option("--unfinished", "-u", help="Only what can be resumed, and why it stopped.")
]


@app.callback()
def runs(context: typer.Context, unfinished: _Unfinished = False, as_json: AsJson = False) -> None:
    """Look at earlier runs; without a command: the latest."""
    if not context.invoked_subcommand:
        list_runs(unfinished=unfinished, as_json=as_json)
    elif unfinished:
        raise typer.BadParameter("--unfinished belongs behind `runs list`.")


@app.command("list")
def list_runs(
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many.")] = 20,
    unfinished: _Unfinished = False,
    as_json: AsJson = False,
) -> None:
    """List the latest runs, newest first."""
    from tui.runs.tables import show_runs, show_unfinished

    if unfinished:
        show_unfinished(as_json=as_json)
    else:
        show_runs(limit, as_json=as_json)


@app.command("show")
def show(
    run: _Id = "last",
    plain: Annotated[bool, typer.Option("--plain", help="One line per event, no colour.")] = False,
    as_json: AsJson = False,
) -> None:
    """Replay a run in the terminal."""
    from tui.runs.tables import export as write_down
    from tui.runs.tables import replay

    if as_json:
        write_down(run, "json", None)
        return
    replay(run, plain=plain)


@app.command("rate")
def rate(
    run: _Id,
    rating: Annotated[
        Literal["good", "partly", "wrong"] | None,
        typer.Argument(metavar="[RATING]", help="good, partly or wrong."),
    ] = None,
    note: Annotated[str, typer.Option("--note", metavar="TEXT", help="Why.")] = "",
    drop: Annotated[bool, typer.Option("--drop", help="Take the rating back.")] = False,
) -> None:
    """Say how good the answer of a run is.

    A policy learns from it. A later rating of the same run replaces the earlier one.
    """
    from tui.runs.tables import rate as put_rating

    put_rating(run, rating, note, drop=drop)


@app.command("delete")
def delete(
    run: _Id,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Delete a run with all that is stored of it.

    Its decisions, labels and rating go too. The library keeps what was read, cached web pages included.
    """
    from tui.runs.tables import remove_run as delete_stored

    delete_stored(run, ask=not yes)


@app.command("export")
def export(
    run: _Id = "last",
    form: Annotated[
        Literal["md", "html", "json"],
        typer.Option("--format", "-f", help="Markdown, one HTML page, or one JSON object."),
    ] = "md",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Into a file, not to stdout.")
    ] = None,
) -> None:
    """Export a run: Markdown, HTML or JSON.

    Question, answer, verdicts, sources with quotes, contradictions, plan, steps, decisions, cost.
    """
    from tui.runs.tables import export as write_down

    write_down(run, form, output)


sessions_app = typer.Typer(
    help="See, name and delete conversations.", invoke_without_command=True, rich_markup_mode=None
)
_Wanted = Annotated[
    str, typer.Argument(metavar="SESSION", help="Its name, its id (4 characters are enough), or last.")
]


@sessions_app.callback()
def sessions(context: typer.Context, as_json: AsJson = False) -> None:
    """See, name and delete conversations; without a command: the latest.

    Every question belongs to one. `deepthink ask --session NAME` goes on with a conversation: a follow-up
    may lean on what was asked before it.
    """
    if not context.invoked_subcommand:
        list_sessions(as_json=as_json)


@sessions_app.command("list")
def list_sessions(
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many.")] = 20,
    as_json: AsJson = False,
) -> None:
    """List the sessions, the one used last first."""
    from tui.runs.tables import show_sessions

    show_sessions(limit, as_json=as_json)


@sessions_app.command("show")
def show_session(session: _Wanted = "last", as_json: AsJson = False) -> None:
    """Show a conversation: questions, answers, runs."""
    from tui.runs.tables import show as show_conversation

    show_conversation(session, as_json=as_json)


@sessions_app.command("name")
def name(
    session: _Wanted,
    new_name: Annotated[str, typer.Argument(metavar="NAME", help="What to call it from now on.")],
) -> None:
    """Give a session a name, or another one."""
    from tui.runs.tables import rename

    rename(session, new_name)


@sessions_app.command("delete")
def delete_session(
    session: _Wanted,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Delete a session with all its runs.

    The library keeps what was read, cached web pages included.
    """
    from tui.runs.tables import remove_session as delete_with_runs

    delete_with_runs(session, ask=not yes)
