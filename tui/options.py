"""Arguments and options that several commands share, and their evaluation."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from traces.records import ALL_COLLECTIONS
from tui import completion
from tui.failures import WrongUsage

if TYPE_CHECKING:
    from tui.ask.terminal import Form
    from tui.settings.settings import Settings

Asked = Annotated[
    list[str] | None,
    typer.Argument(metavar="QUESTION", help="In your own words; - reads it from stdin, as does a pipe."),
]


def collection_option(help_text: str) -> Any:
    """The option that names collections, with their completion."""
    names = ("--collection", "-c")
    return typer.Option(*names, metavar="NAME", help=help_text, autocompletion=completion.collections)


Collections = Annotated[
    list[str] | None,
    collection_option("Search here only, in follow-ups as well; may be repeated. all: all of your own."),
]
Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        metavar="NAME",
        help="A catalogue name, a .gguf path, ollama:NAME or openai:NAME.",
        autocompletion=completion.chat_models,
    ),
]
From = Annotated[
    list[str] | None,
    typer.Option("--from", metavar="NAME", help="Only what this person wrote or sent; may be repeated."),
]
After = Annotated[
    str | None,
    typer.Option("--after", metavar="DATE", help="Only documents of this day, month or year, or later."),
]
Before = Annotated[
    str | None, typer.Option("--before", metavar="DATE", help="Only documents from before that date.")
]
Type = Annotated[
    list[str] | None,
    typer.Option("--type", metavar="TYPE", help="Only mail, pdf, spreadsheet, xlsx …; may be repeated."),
]
InFolder = Annotated[
    list[str] | None,
    typer.Option("--folder", metavar="NAME", help="Only in this folder, at any depth; may be repeated."),
]
Json = Annotated[bool, typer.Option("--json", help="One JSON object at the end, nothing else.")]
AsJson = Annotated[bool, typer.Option("--json", help="As JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Only the answer; no progress.")]
Plain = Annotated[bool, typer.Option("--plain", help="One line per event, without colour or animation.")]


RunId = Annotated[
    str,
    typer.Argument(metavar="RUN", help="The beginning of its id, or last.", autocompletion=completion.runs),
]
Limit = Annotated[int, typer.Option("--limit", "-n", min=1, help="How many.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def is_alone(context: typer.Context, **flags: bool) -> bool:
    """Whether a group of commands was called without one of them.

    Raises `WrongUsage` if one follows a flag that is given: only the list without a command heeds it.
    """
    if context.invoked_subcommand is None:
        return True
    for name in (name for name, is_given in flags.items() if is_given):
        raise WrongUsage(
            f"--{name} has no effect there.",
            f"Put it last: {context.command_path} {context.invoked_subcommand} --{name}",
        )
    return False


def confirm(question: str, yes: bool) -> None:
    """Ask before something that cannot be undone, unless ``yes``. Raises `typer.Abort`, `WrongUsage`."""
    if yes:
        return
    from tui.terminal import clean

    if not sys.stdin.isatty():
        raise WrongUsage(
            f"This has to be confirmed, but the input is not a terminal: {clean(question)}", "Add --yes."
        )
    typer.confirm(clean(question), abort=True)


def question_of(words: Sequence[str] | None) -> str:
    """The question as one text; read from stdin for ``-``, and without words if that is no terminal."""
    if not words and sys.stdin.isatty():
        raise WrongUsage("There is no question.", 'Ask something, for example: deepthink ask "Who …?"')
    text = sys.stdin.read() if not words or list(words) == ["-"] else " ".join(words)
    # Bytes that are not text would become lone surrogates, which the store refuses.
    return text.encode("utf-8", "replace").decode("utf-8")


def collections_of(names: Sequence[str], settings: Settings) -> tuple[str, ...]:
    """The collections to search: those named, else that of the settings; all if empty."""
    if ALL_COLLECTIONS in names:
        return ()
    return tuple(names or ([settings.collection] if settings.collection else ()))


def filter_pairs(
    sender: Sequence[str] | None,
    after: str | None,
    before: str | None,
    kind: Sequence[str] | None,
    folder: Sequence[str] | None,
) -> list[tuple[str, str]]:
    """The names and values of the filters that documents must pass."""
    filters = {"from": sender, "type": kind, "folder": folder, "after": [after], "before": [before]}
    given = ((name, value) for name, values in filters.items() for value in values or ())
    return [(name, value) for name, value in given if value is not None]


def form_of(*, as_json: bool, plain: bool, quiet: bool = False) -> Form:
    if plain and (as_json or quiet):
        other = "--json" if as_json else "--quiet"
        raise WrongUsage(f"--plain and {other} exclude each other.", "Choose one of them.")
    return "json" if as_json else "quiet" if quiet else "plain" if plain else "auto"
