"""The command line: all commands by name. It imports nothing heavier than typer."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Mapping
from functools import cache, partial
from importlib import import_module
from typing import Annotated, Any, Final, cast

import typer
from typer.core import TyperGroup

from traces.paths import keep_private
from tui import failures
from tui.app.main import BEGIN_HELP, LOOPBACK, PORT, show_version

_COMMANDS: Final[dict[str, dict[str, tuple[str, str]]]] = {
    "Ask and read": {
        "ask": ("tui.ask.command:ask", "Answer a question from your documents, with citations."),
        "resume": ("tui.ask.command:resume", "Continue a run that was interrupted or waits for you."),
        "sessions": ("tui.runs.command:sessions_app", "See, name and delete conversations."),
        "runs": ("tui.runs.command:app", "Look at earlier runs."),
        "serve": ("tui.ask.command:serve", "Keep the models warm, so that `ask` answers sooner."),
        "compare": ("tui.ask.command:compare", "Ask several systems the same question."),
        "tui": ("tui.cli:open_app", "Open the full-screen app, as `deepthink-tui` does."),
    },
    "Your library": {
        "ingest": ("tui.library.command:ingest", "Read documents into the library."),
        "sync": ("tui.library.command:sync", "Update the library from the folders it follows."),
        "library": ("tui.library.command:app", "See, search and prune what was read."),
        "backup": ("tui.safekeeping:backup", "Write the library, runs, policies and settings to one file."),
        "restore": ("tui.safekeeping:restore", "Put a backup back, or repair a damaged library."),
        "forget": ("tui.safekeeping:forget", "Erase a document or a run, and every trace of it."),
        "mcp": ("tui.mcp:mcp", "Serve the library to editors and assistants, over MCP."),
    },
    "Learn and measure": {
        "traces": ("tui.decisions.command:app", "See, label and exchange the decisions that runs took."),
        "collect": ("tui.policy.collecting:collect", "Gather decisions to learn a policy from."),
        "train-policy": (
            "tui.policy.training:train_policy",
            "Train a policy that decides when to go on, revise or finish.",
        ),
        "train-planner": (
            "tui.policy.training:train_planner",
            "Train the planner on the plans that you have corrected.",
        ),
        "policy": ("tui.policy.command:app", "See and choose learned policies."),
        "evaluate": ("tui.policy.evaluating:app", "Compare systems on questions with known answers."),
        "graph": ("tui.ask.command:graph", "Print the graph of a run; needs no model."),
    },
    "Set up": {
        "demo": ("tui.ask.command:demo", "See it work: fetch models, read a sample library, ask it."),
        "models": ("tui.models.command:app", "Fetch, measure and choose models."),
        "config": ("tui.settings.command:app", "Show and change the settings."),
        "doctor": ("tui.doctor.command:doctor", "Check this installation, with a way out for each fault."),
        "paths": ("tui.settings.command:paths", "Show where everything is kept."),
    },
}
"""Commands by purpose, in the order in which users meet them: where each is, and its short help."""

_PLACES: Final = {name: place for group in _COMMANDS.values() for name, (place, _) in group.items()}
_EXITS: Final = """Exit codes: 0 answered or done, 1 doctor found a fault, 2 wrong usage, 3 not found in
your documents, 4 a file or other input, 5 a model, 6 the library, 7 waits for you, 8 withheld, 9 answered
with doubts, 10 stopped before an answer was found, 70 a fault in deepthink, 130 cancelled."""


class _GroupedCommands(TyperGroup):
    """Commands by group, each imported when it is called: the help imports none."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.commands = cast(Any, dict.fromkeys(_PLACES))  # `get_command` loads them

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        return list(_PLACES)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return load_command(cmd_name) if cmd_name in _PLACES else None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for title, commands in _COMMANDS.items():
            with formatter.section(title):
                formatter.write_dl([(name, short_help) for name, (_, short_help) in commands.items()])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """If the first argument looks like a question, raise an error that says how to ask it."""
        if args and args[0] not in self.commands and (" " in args[0] or args[0].endswith(("?", "？"))):
            from tui.terminal import shell_word

            raise failures.WrongUsage(
                f"There is no command “{args[0]}”.", f"To ask it: deepthink ask {shell_word(args[0])}"
            )
        return super().resolve_command(ctx, args)


@cache
def load_command(name: str) -> Any:
    module, _, attribute = _PLACES[name].partition(":")
    command_or_app = getattr(import_module(module), attribute)
    if isinstance(command_or_app, typer.Typer):
        command_or_app.rich_markup_mode = None  # the help shows docstrings as they are
        command: Any = typer.main.get_group(command_or_app)
    else:
        single_app = typer.Typer(add_completion=False, rich_markup_mode=None)
        single_app.command()(command_or_app)
        command = typer.main.get_command(single_app)
    command.name = name
    _adapt(command)
    return command


app = typer.Typer(
    name="deepthink",
    cls=_GroupedCommands,
    epilog=_EXITS,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _version(is_given: bool) -> None:
    if is_given:
        raise typer.Exit(show_version())


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


def open_app(
    begin: Annotated[
        list[str] | None, typer.Argument(metavar="PATH|QUESTION", help=BEGIN_HELP.capitalize() + ".")
    ] = None,
    serve: Annotated[
        bool, typer.Option("--serve", help="Serve it to a browser instead, at the link that is printed.")
    ] = False,
    host: Annotated[
        str, typer.Option(help="Address to serve on; other machines can reach any but this one.")
    ] = LOOPBACK,
    port: Annotated[int, typer.Option(help="Port to serve on.")] = PORT,
) -> int:
    """Open the full-screen app, as `deepthink-tui` does."""
    from tui.app.main import open_app as open_or_serve

    return open_or_serve(begin or [], serve, host, port)


def run(arguments: list[str]) -> int:
    """Run the command that ``arguments`` name, report what goes wrong, and return the exit code."""
    command = typer.main.get_command(app)
    return failures.guarded(lambda: command.main(arguments, prog_name="deepthink", standalone_mode=False))


class _Context(typer.Context):
    """Adds itself to an error of the parser that does not say which command is wrong."""

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool | None:
        if getattr(error, "ctx", self) is None:
            error.ctx = self
        return super().__exit__(kind, error, trace)


def _adapt(command: Any) -> None:
    """Have errors name the command, refuse empty values, and name the types of parameters in plain words.

    Typer shows ``<list[str]>`` and ``<int range>``.
    """
    command.context_class = _Context
    for parameter in command.params:
        display_type = parameter.display_type
        is_option = parameter.param_type_name == "option"
        words = _TYPES if is_option else {}  # arguments have a name instead
        parameter.display_type = partial(_plain_type, display_type, words)
        if is_option:
            parameter.consume_value = partial(_nonempty, parameter.consume_value, parameter)
    for subcommand in getattr(command, "commands", {}).values():
        _adapt(subcommand)


def _nonempty(consume: Callable[[Any, Any], Any], option: Any, ctx: Any, typed: Mapping[str, Any]) -> Any:
    """The value of an option. Raises `WrongUsage` if an empty one is typed, which is not one left out."""
    value = typed.get(option.name)
    values = value if isinstance(value, list) else [value]
    if not ctx.resilient_parsing and any(isinstance(one, str) and not one.strip() for one in values):
        raise failures.WrongUsage(f"{option.opts[0]} has no value.", "Write one, or leave it out.")
    return consume(ctx, typed)


_TYPES: Final = {
    "int": "N",
    "float": "X",
    "str": "TEXT",
    "path": "PATH",
    "file": "FILE",
    "directory": "FOLDER",
}


def _plain_type(display_type: Callable[[Any], str], words: Mapping[str, str], ctx: Any) -> str:
    name = display_type(ctx).strip("<>")
    return name if "|" in name else words.get(name.removesuffix(" range"), "")


def main() -> None:
    keep_private()
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that cannot show “›” shows “?”
    sys.exit(run(sys.argv[1:]))
