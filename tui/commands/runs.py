"""``deepthink runs``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

app = typer.Typer(help="Look at earlier runs.", invoke_without_command=True, rich_markup_mode=None)
_Id = Annotated[str, typer.Argument(metavar="RUN", help="The beginning of its id, or last.")]


@app.callback()
def runs(context: typer.Context) -> None:
    """Look at earlier runs; without a command: the latest."""
    if not context.invoked_subcommand:
        list_runs()


@app.command("list")
def list_runs(
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many.")] = 20,
) -> None:
    """List the latest runs, newest first."""
    from tui.runs_view import show_list

    show_list(limit)


@app.command("show")
def show(
    run: _Id = "last",
    plain: Annotated[bool, typer.Option("--plain", help="One line per event, no colour.")] = False,
) -> None:
    """Show a run as it was shown when it ran."""
    from tui.runs_view import replay

    replay(run, plain=plain)


@app.command("export")
def export(
    run: _Id = "last",
    form: Annotated[
        Literal["md", "json"], typer.Option("--format", "-f", help="Markdown, or one JSON object.")
    ] = "md",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Into a file, not to stdout.")
    ] = None,
) -> None:
    """Write a run down, as Markdown or JSON.

    Question, answer, sources with quotes, plan, findings, decisions, cost.
    """
    from tui.runs_view import export as write_down

    write_down(run, form, output)
