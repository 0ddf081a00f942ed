"""``deepthink runs``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from tui.commands.options import AsJson

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
    from tui.runs_view import show_list, show_unfinished

    if unfinished:
        show_unfinished(as_json=as_json)
    else:
        show_list(limit, as_json=as_json)


@app.command("show")
def show(
    run: _Id = "last",
    plain: Annotated[bool, typer.Option("--plain", help="One line per event, no colour.")] = False,
    as_json: AsJson = False,
) -> None:
    """Replay a run in the terminal."""
    from tui.runs_view import export as write_down
    from tui.runs_view import replay

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
    from tui.runs_view import rate as put_rating

    put_rating(run, rating, note, drop=drop)


@app.command("delete")
def delete(
    run: _Id,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Delete a run with all that is stored of it.

    Its decisions, labels and rating go too. The library keeps what was read, cached web pages included.
    """
    from tui.runs_view import delete as delete_stored

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
    from tui.runs_view import export as write_down

    write_down(run, form, output)
