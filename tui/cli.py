"""The command line: every command by name. Nothing heavier than typer is imported here."""

from __future__ import annotations

import io
import sys
from typing import Annotated

import typer
from typer.core import TyperGroup

from tui import failures
from tui.commands import app as app_command
from tui.commands import (
    ask,
    collect,
    compare,
    config,
    demo,
    doctor,
    evaluate,
    graph,
    ingest,
    library,
    models,
    paths,
    policy,
    resume,
    runs,
    sessions,
    traces,
    train_policy,
)

_ORDER = (
    "demo ingest ask compare resume sessions library runs traces collect train-policy policy evaluate "
    "models config doctor paths graph tui"
).split()


class _InOrder(TyperGroup):
    """Commands in the order a person meets them; typer itself puts groups after commands."""

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        """Names for the help."""
        return list(_ORDER)


app = typer.Typer(
    name="deepthink",
    cls=_InOrder,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
app.command("demo")(demo.demo)
app.command("ingest")(ingest.ingest)
app.command("ask")(ask.ask)
app.command("compare")(compare.compare)
app.command("resume")(resume.resume)
app.add_typer(sessions.app, name="sessions")
app.add_typer(library.app, name="library")
app.add_typer(runs.app, name="runs")
app.add_typer(traces.app, name="traces")
app.command("collect")(collect.collect)
app.command("train-policy")(train_policy.train_policy)
app.add_typer(policy.app, name="policy")
app.add_typer(evaluate.app, name="evaluate")
app.add_typer(models.app, name="models")
app.add_typer(config.app, name="config")
app.command("doctor")(doctor.doctor)
app.command("paths")(paths.paths)
app.command("graph")(graph.graph)
app.command("tui")(app_command.app)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import PackageNotFoundError, version

        try:
            found = version("deepthink-tui")
        except PackageNotFoundError:
            found = "(a checkout that is not installed)"
        typer.echo(f"deepthink {found}")
        raise typer.Exit


@app.callback()
def deepthink(
    context: typer.Context,
    _version_wanted: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show tracebacks and write everything to the log.")
    ] = False,
) -> None:
    """Answers from your own documents, on your own machine, with every claim cited.

    Begin with `deepthink demo`, or with your own: `deepthink ingest FOLDER`, then `deepthink ask "…"`.
    """
    if debug:
        failures.debug()
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def run(arguments: list[str]) -> int:
    """Run the command that ``arguments`` name, told what goes wrong, and return the exit code."""
    command = typer.main.get_command(app)
    for parameter in command.params:  # completion is there for who looks for it
        if parameter.name in {"install_completion", "show_completion"}:
            parameter.hidden = True  # type: ignore[attr-defined] # options have it, arguments do not
    return failures.guarded(lambda: command.main(arguments, prog_name="deepthink", standalone_mode=False))


def main() -> None:
    """Entry point of the console script."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that cannot show “›” shows ?
    sys.exit(run(sys.argv[1:]))
