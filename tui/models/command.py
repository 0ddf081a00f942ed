"""``deepthink models``."""

from __future__ import annotations

import sys
from contextlib import closing
from typing import Annotated, Any

import typer
from rich.padding import Padding
from rich.text import Text

from models.catalogue import CATALOGUE, CatalogueRole, entry
from models.fetch.pull import installed
from models.probe import probe as measure
from models.probe import remember
from models.servers.kinds import server_class, split
from traces.paths import models_dir
from tui import assemble, completion, failures
from tui.interrupts import ctrl_c
from tui.models import actions
from tui.models.pulling import pull_models
from tui.options import AsJson, is_alone
from tui.settings.settings import load, put
from tui.terminal import console, print_json, size

app = typer.Typer(invoke_without_command=True)


def _model_name(help_text: str, complete: Any = completion.models) -> Any:
    return typer.Argument(metavar="NAME", help=help_text, autocompletion=complete)


@app.callback()
def models(context: typer.Context, as_json: AsJson = False) -> None:
    """Fetch, measure and choose models.

    Without a command, it lists them.
    """
    if is_alone(context, json=as_json):
        list_models(as_json=as_json)


@app.command("list")
def list_models(as_json: AsJson = False) -> None:
    """List known models: which are here, which are in use."""
    settings = load()
    servers = actions.find_servers(settings)
    if as_json:
        fields = ("name", "role", "size", "licence")
        catalogue = [
            {**{name: getattr(model, name) for name in fields}, "here": installed(model) is not None}
            for model in CATALOGUE
        ]
        print_json(
            {
                "in_use": {actions.KEYS[role]: name for role, name in actions.in_use(settings).items()},
                "folder": models_dir(),
                "known": catalogue,
                **{
                    server.kind: {
                        "url": server.url,
                        "models": [{"name": name, "role": role} for name, role in server.models],
                    }
                    for server in servers
                },
            }
        )
        return
    out = console()
    server_rows = actions.served_rows(servers, settings)
    from_servers = {row.name for row in server_rows}
    for row in [
        *(row for row in actions.local_rows(settings) if row.name not in from_servers),
        *server_rows,
    ]:
        if row.name == assemble.NO_RERANKER and not row.used:
            continue
        out.print(_line(row, from_server=row.name in from_servers))
        notes = [row.about] if row.known else []
        notes += [f"measured: {row.probe['speed']}"] if row.probe else []
        for note in notes:
            out.print(Padding(Text(note, style="dim"), (0, 0, 0, 4), expand=False))
    out.print(
        Text(
            f"\nStored in {models_dir()}. Any .gguf file, ollama:NAME and openai:NAME can be used too. "
            f"{' '.join(server.message for server in servers)}",
            style="dim",
        )
    )


def _line(row: actions.ModelRow, *, from_server: bool) -> Text:
    facts = [actions.KEYS[row.role], *([size(row.size)] if row.size else []), *["in use"] * row.used]
    if from_server:
        facts.append(f"at {row.about}")
    elif row.known:
        facts.append("here" if row.here else f"not here: deepthink models pull {row.name}")
    line = Text(row.name, style="bold" if row.here else "")
    return line.append(f"  {', '.join(facts)}", style="not bold")


@app.command("pull")
def pull(
    names: Annotated[list[str] | None, _model_name("The models in the settings if none is named.")] = None,
    recheck: Annotated[
        bool, typer.Option("--recheck", help="Check the sha256 of models here; fetch them again if wrong.")
    ] = False,
) -> None:
    """Fetch models; a download that was cut off is resumed."""
    entries = list(dict.fromkeys(map(entry, names))) if names else assemble.default_entries(load())
    if not entries:
        typer.echo("The settings name no model of the catalogue; nothing to fetch.")
        return
    pull_models(entries, recheck=recheck)


@app.command("probe")
def probe(
    name: Annotated[
        str | None, _model_name("The language model in use if none is named.", completion.chat_models)
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Measure a language model, and store the result.

    Measures the context really granted, JSON by schema, and speed."""
    settings = load({"model": name})
    out = console()
    # Shown on a terminal only.
    with closing(assemble.open_chat(settings)) as chat, out.status(chat.name) as status, ctrl_c() as cancel:
        result = measure(chat, cancel=cancel, on_step=lambda step: status.update(f"{chat.name}: {step}"))
    remember(result)
    if as_json:
        print_json(result)
        return failures.DONE
    out.print(Text(result.name, style="bold"))
    for label, value in actions.probe_facts(result).items():
        out.print(f"  {label:<18}{value}")
    return failures.DONE


@app.command("use")
def use(
    name: Annotated[str, _model_name("A catalogue name, a path, ollama:NAME or openai:NAME.")],
    role: Annotated[
        CatalogueRole | None, typer.Option("--as", help="Its role, if the name does not tell.")
    ] = None,
) -> None:
    """Choose a model from now on: writes it into the settings."""
    _confirm_address(split(name)[0])
    role, stored_name = actions.choose(name, role)
    typer.echo(f"{actions.KEYS[role]} = {stored_name}")
    kind, model = split(stored_name)
    if kind:
        server, found = server_class(kind), actions.find_server(load(), kind, [model])
        if f"{kind}:{server.full_name(model)}" not in dict(found.models):
            hint = server.FETCH.format(model=model)
            failures.warn(f"{found.message} Without {stored_name} nothing can be answered. {hint}".rstrip())
    if role == "embedder":
        failures.warn(
            "A library embedded by another model is embedded again by `library embed`, or by the app."
        )


def _confirm_address(kind: str) -> None:
    """Ask, once, before documents are sent to another machine; the answer is a setting."""
    url = assemble.unconfirmed_address(load(), kind)
    if not url:
        return
    if not sys.stdin.isatty():
        raise assemble.AddressNotConfirmed(kind, url)
    typer.confirm(f"Questions and passages of your documents will be sent to {url}. Go on?", abort=True)
    put(f"{kind}_confirmed", url)
