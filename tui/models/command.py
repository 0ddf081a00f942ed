"""``deepthink models``."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from tui import completion
from tui.options import AsJson

app = typer.Typer(
    help="Fetch, measure and choose models.", invoke_without_command=True, rich_markup_mode=None
)


@app.callback()
def models(context: typer.Context, as_json: AsJson = False) -> None:
    """Fetch, measure and choose models; without a command: list them."""
    if not context.invoked_subcommand:
        list_models(as_json=as_json)


@app.command("list")
def list_models(as_json: AsJson = False) -> None:
    """List known models: which are here, which are in use."""
    from tui.models.tables import show_models

    show_models(as_json=as_json)


@app.command("pull")
def pull(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            help="The chosen language model, embedder and reranker if none is named.",
            autocompletion=completion.models,
        ),
    ] = None,
    recheck: Annotated[
        bool,
        typer.Option("--recheck", help="Compare what is here with its sha256, fetch it again if wrong."),
    ] = False,
) -> None:
    """Fetch models; a download that was cut off is resumed."""
    from models.catalogue import entry
    from tui.assemble import default_entries
    from tui.models.pulling import pull_models
    from tui.settings.settings import load

    wanted = list(dict.fromkeys(map(entry, names))) if names else default_entries(load())
    if not wanted:
        typer.echo("The settings name no model of the catalogue; nothing to fetch.")
        return
    pull_models(wanted, recheck=recheck)


@app.command("probe")
def probe(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="The language model in use if none is named.",
            autocompletion=completion.chat_models,
        ),
    ] = None,
) -> None:
    """Measure a language model, and remember what came out.

    Looks at the context really granted, JSON by schema, and speed."""
    from tui.models.tables import probe_model

    probe_model(name)


@app.command("use")
def use(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="A catalogue name, a path, ollama:NAME or openai:NAME.",
            autocompletion=completion.models,
        ),
    ],
    role: Annotated[
        Literal["chat", "embedder", "reranker"] | None,
        typer.Option("--as", help="What for, where the name does not tell."),
    ] = None,
) -> None:
    """Choose a model from now on: writes it into the settings."""
    from tui.models.tables import choose

    choose(name, role)
