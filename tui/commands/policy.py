"""``deepthink policy``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tui.commands.options import AsJson

app = typer.Typer(
    help="See, choose and compare learned policies.", invoke_without_command=True, rich_markup_mode=None
)
_Name = Annotated[
    str, typer.Argument(metavar="NAME", help="Its name, the beginning of it, or box for the shipped one.")
]


@app.callback()
def policy(context: typer.Context, as_json: AsJson = False) -> None:
    """See, choose and compare learned policies; without a command: list them.

    A policy decides after each research step whether to go on, revise the plan or answer. The one in the
    box is active until another is chosen; `deepthink train-policy` makes new ones from your own runs.
    """
    if not context.invoked_subcommand:
        list_policies(as_json=as_json)


@app.command("list")
def list_policies(as_json: AsJson = False) -> None:
    """List policies: the active one, their data, the gate's verdict."""
    from tui.policy_view import show_list

    show_list(as_json=as_json)


@app.command("show")
def show(
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="The active one if none is named.")] = "",
    card: Annotated[bool, typer.Option("--card", help="The model card, as Markdown.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show one policy: its data, its measures, the gate's verdict."""
    from tui.policy_view import show as show_one
    from tui.policy_view import show_card

    if card:
        show_card(name)
    else:
        show_one(name, as_json=as_json)


@app.command("use")
def use(
    name: _Name,
    force: Annotated[
        bool, typer.Option("--force", help="Even if the gate did not pass it; that is recorded.")
    ] = False,
) -> None:
    """Make a policy the active one, from the next question on.

    Only one that the gate has passed, unless --force is given: its rule was stated before the policy was
    measured, and `policy show` tells both.
    """
    from tui.policy_view import use as activate

    activate(name, force=force)


@app.command("rollback")
def rollback() -> None:
    """Go back to the policy that was active before."""
    from tui.policy_view import rollback as go_back

    go_back()


@app.command("history")
def history(as_json: AsJson = False) -> None:
    """List when which policy became active, and why."""
    from tui.policy_view import show_history

    show_history(as_json=as_json)


@app.command("compare")
def compare(
    first: Annotated[str, typer.Argument(metavar="A", help="A policy.")],
    second: Annotated[
        str, typer.Argument(metavar="[B]", help="Another one; the active one if none is named.")
    ] = "",
    sources: Annotated[
        list[str] | None,
        typer.Option(
            "--from",
            metavar="traces|FILE",
            help="Your own traces (the default), collected stores, exports; can be given several times.",
        ),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="All questions: for data that neither was trained on.")
    ] = False,
) -> None:
    """Compare two policies on the same held-out questions.

    Quality, steps and utility of each with the default schedule beside them, the differences with their 95%
    intervals, and how often both decide alike. Your own runs hold one path each: what a policy would have
    done differently is known only where it stops earlier.
    """
    from tui.policy_view import show_comparison

    files = [Path(source) for source in sources or [] if source != "traces"]
    show_comparison(first, second, files, own="traces" in (sources or ["traces"]), everything=everything)


@app.command("export")
def export(
    name: _Name,
    to: Annotated[
        Path, typer.Option("--to", metavar="FOLDER", help="Where the files go; made if it is not there.")
    ] = Path(),
) -> None:
    """Write one that is a language model as GGUF, with a Modelfile."""
    from tui.policy_view import export as write_down

    write_down(name, to)


@app.command("remove")
def remove(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its whole name.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Delete a policy of your own; the active one and the box stay."""
    from tui.policy_view import remove as remove_policy

    remove_policy(name, ask=not yes)
