"""``deepthink sessions``."""

from __future__ import annotations

from typing import Annotated

import typer

from tui.commands.options import AsJson

app = typer.Typer(
    help="See, name and delete conversations.", invoke_without_command=True, rich_markup_mode=None
)
_Wanted = Annotated[
    str, typer.Argument(metavar="SESSION", help="Its name, its id (4 characters are enough), or last.")
]


@app.callback()
def sessions(context: typer.Context, as_json: AsJson = False) -> None:
    """See, name and delete conversations; without a command: the latest.

    Every question belongs to one. `deepthink ask --session NAME` goes on with a conversation: a follow-up
    may lean on what was asked before it.
    """
    if not context.invoked_subcommand:
        list_sessions(as_json=as_json)


@app.command("list")
def list_sessions(
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many.")] = 20,
    as_json: AsJson = False,
) -> None:
    """List the sessions, the one used last first."""
    from tui.sessions_view import show_list

    show_list(limit, as_json=as_json)


@app.command("show")
def show(session: _Wanted = "last", as_json: AsJson = False) -> None:
    """Show a conversation: questions, answers, runs."""
    from tui.sessions_view import show as show_conversation

    show_conversation(session, as_json=as_json)


@app.command("name")
def name(
    session: _Wanted,
    new_name: Annotated[str, typer.Argument(metavar="NAME", help="What to call it from now on.")],
) -> None:
    """Give a session a name, or another one."""
    from tui.sessions_view import rename

    rename(session, new_name)


@app.command("delete")
def delete(
    session: _Wanted,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Delete a session with all its runs.

    The library keeps what was read, cached web pages included.
    """
    from tui.sessions_view import delete as delete_with_runs

    delete_with_runs(session, ask=not yes)
