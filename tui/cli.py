"""The command line: every command by name. Nothing heavier than typer is imported here."""

from __future__ import annotations

import io
import shlex
import sys
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

from tui import failures
from tui.ask import command as ask
from tui.decisions import command as decisions
from tui.doctor import command as doctor
from tui.library import command as library
from tui.models import command as models
from tui.policy import command as policy
from tui.runs import command as runs
from tui.settings import command as settings

_GROUPS: Final = {
    "Ask and read": "ask resume sessions runs compare tui",
    "Your library": "ingest sync library",
    "Learn and measure": "traces collect train-policy policy evaluate graph",
    "Set up": "demo models config doctor paths",
}
_EXITS: Final = """Exit codes: 0 answered or done, 2 wrong usage, 3 not found in your documents, 4 a file or
other input, 5 a model, 6 the library, 7 waits for you, 8 withheld, 9 answered in part, 10 stopped before an
answer was found, 70 a fault in deepthink, 130 cancelled."""


class _Grouped(TyperGroup):
    """Commands by what they are for, in the order a person meets them."""

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        """Names for the help."""
        return " ".join(_GROUPS.values()).split()

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """A list for each group."""
        for title, names in _GROUPS.items():
            commands = [(name, self.commands[name]) for name in names.split()]
            with formatter.section(title):
                limit = formatter.width - 6 - max(map(len, names.split()))
                formatter.write_dl([(n, c.get_short_help_str(limit)) for n, c in commands])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """What looks like a question is told how to ask it."""
        if args and args[0] not in self.commands and (" " in args[0] or args[0].endswith(("?", "？"))):
            raise failures.WrongUsage(
                f"There is no command “{args[0]}”.", f"To ask it: deepthink ask {shlex.quote(args[0])}"
            )
        return super().resolve_command(ctx, args)


app = typer.Typer(
    name="deepthink",
    cls=_Grouped,
    epilog=_EXITS,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
app.command("demo")(ask.demo)
app.command("ingest")(library.ingest)
app.command("sync")(library.sync)
app.command("ask")(ask.ask)
app.command("compare")(ask.compare)
app.command("resume")(ask.resume)
app.add_typer(runs.sessions_app, name="sessions")
app.add_typer(library.app, name="library")
app.add_typer(runs.app, name="runs")
app.add_typer(decisions.app, name="traces")
app.command("collect")(policy.collect)
app.command("train-policy")(policy.train_policy)
app.add_typer(policy.app, name="policy")
app.add_typer(policy.evaluate_app, name="evaluate")
app.add_typer(models.app, name="models")
app.add_typer(settings.app, name="config")
app.command("doctor")(doctor.doctor)
app.command("paths")(settings.paths)
app.command("graph")(ask.graph)


@app.command("tui")
def open_app() -> int:
    """Open the full-screen app, as `deepthink-tui` does."""
    from tui.app.main import run

    return run([])


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
    _say_types_in_words(command)
    return failures.guarded(lambda: command.main(arguments, prog_name="deepthink", standalone_mode=False))


def _say_types_in_words(command: Any) -> None:
    """What a parameter takes, as a person says it; typer says ``<list[str]>`` and ``<int range>``."""
    for parameter in command.params:
        shown = parameter.display_type
        parameter.display_type = lambda ctx, shown=shown: _in_words(shown(ctx))
    for inner in getattr(command, "commands", {}).values():
        _say_types_in_words(inner)


def _in_words(shown: str) -> str:
    if "|" in shown:
        return shown.strip("<>")
    words = {"int": "N", "float": "X", "str": "TEXT", "path": "PATH", "file": "FILE", "directory": "FOLDER"}
    return words.get(shown.strip("<>").removesuffix(" range"), "")


def main() -> None:
    """Entry point of the console script."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that cannot show “›” shows ?
    sys.exit(run(sys.argv[1:]))
