"""``deepthink traces``."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    help="See, label and exchange the decisions that runs took.",
    invoke_without_command=True,
    rich_markup_mode=None,
)
_Id = Annotated[str, typer.Argument(metavar="RUN", help="The beginning of its id, or last.")]
_Json = Annotated[bool, typer.Option("--json", help="One JSON object.")]


@app.callback()
def traces(
    context: typer.Context,
    store: Annotated[
        Path | None,
        typer.Option("--store", metavar="FILE", help="A collected store, in place of your own runs."),
    ] = None,
) -> None:
    """See, label and exchange the decisions that runs took; without a command: the latest.

    Every decision is kept as a step of a Markov decision process: the state as the decider saw it, what it
    could do, what it did, and what came of it. `deepthink train-policy` learns from them.
    """
    context.obj = store
    if not context.invoked_subcommand:
        list_traces(context)


@app.command("list")
def list_traces(
    context: typer.Context,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many.")] = 20,
    source: Annotated[
        str, typer.Option("--source", "-s", metavar="NAME", help="Decided by: rules, llm, learned, human.")
    ] = "",
    dataset: Annotated[
        str, typer.Option("--dataset", metavar="NAME", help="Only questions of this data set.")
    ] = "",
    labelled: Annotated[bool, typer.Option("--labelled", help="Only with a label of yours.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="A JSON list.")] = False,
) -> None:
    """List the runs that decided something, newest first."""
    from tui.decisions.tables import show_list

    show_list(context.obj, limit, source, dataset, labelled=labelled, as_json=as_json)


@app.command("show")
def show(
    context: typer.Context,
    run: _Id = "last",
    state: Annotated[bool, typer.Option("--state", help="Each state too, as text and as numbers.")] = False,
    as_json: _Json = False,
) -> None:
    """Show the decisions of a run, and what came of each."""
    from tui.decisions.tables import show_run

    show_run(context.obj, run, state=state, as_json=as_json)


@app.command("label")
def label(
    context: typer.Context,
    run: _Id,
    decision: Annotated[
        int, typer.Argument(metavar="DECISION", min=1, help="Its number in `traces show`.")
    ],
    action: Annotated[
        str | None, typer.Argument(metavar="[ACTION]", help="What was right: continue, revise, finish.")
    ] = None,
    note: Annotated[str, typer.Option("--note", metavar="TEXT", help="Why.")] = "",
    drop: Annotated[bool, typer.Option("--drop", help="Take the label back.")] = False,
) -> None:
    """Say what a decision should have been.

    A later label of the same decision replaces the earlier one.
    """
    from tui.decisions.tables import label as put_label

    put_label(context.obj, run, decision, action, note, drop=drop)


@app.command("stats")
def stats(context: typer.Context, as_json: _Json = False) -> None:
    """Count what there is to learn from."""
    from tui.decisions.tables import show_stats

    show_stats(context.obj, as_json=as_json)


@app.command("export")
def export(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE.parquet", help="Replaced if it is there.")],
    since: Annotated[
        datetime | None,
        typer.Option(formats=["%Y-%m-%d"], metavar="DATE", help="Runs of this day and later."),
    ] = None,
    run: Annotated[
        list[str] | None,
        typer.Option("--run", metavar="RUN", help="Only this run; can be given several times."),
    ] = None,
    shadow: Annotated[
        bool, typer.Option("--include-shadow/--no-shadow", help="Second opinions too, or not.")
    ] = True,
) -> None:
    """Write decisions as Parquet, a row each, to train elsewhere.

    Labels, ratings and outcomes come along. Exports of many machines read as one table.
    """
    from tui.decisions.tables import export_to

    export_to(context.obj, file, since, run or [], shadows=shadow)


@app.command("import")
def import_traces(
    context: typer.Context,
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="Written by `traces export`.")],
) -> None:
    """Take in decisions from other machines, all or none.

    Runs that are there already stay as they are. Of labels, ratings and outcomes the newer counts.
    """
    from tui.decisions.tables import import_from

    import_from(context.obj, files)
