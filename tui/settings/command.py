"""``deepthink config`` and ``deepthink paths``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Annotated

import typer
from rich.text import Text

from traces import paths as locations
from tui import completion, failures
from tui.options import AsJson, is_alone
from tui.settings.settings import Entry, as_text, drop, entries, put, require_key, variable
from tui.terminal import console, one_line, print_json

_Key = Annotated[
    str, typer.Argument(metavar="KEY", help="For example budget.steps.", autocompletion=completion.settings)
]
app = typer.Typer(invoke_without_command=True)


@app.callback()
def config(context: typer.Context, as_json: AsJson = False) -> None:
    """Show and change the settings.

    Without a command, it lists every value and where it comes from. Exits with 2 if one cannot be used.
    """
    if not is_alone(context, json=as_json):
        return
    settings_in_force, error = entries()
    if as_json:
        print_json({entry.key: _as_json(entry) for entry in settings_in_force})
    else:
        _list(settings_in_force)
    if error is not None:
        raise error


def _list(settings_in_force: Sequence[Entry]) -> None:
    out = console()
    for entry in settings_in_force:
        value = one_line(entry.text) or "(empty)"
        origin = entry.origin if entry.layer == "environment" else entry.layer
        changed = entry.layer != "default"
        line = Text(f"{entry.key} = ", style="bold" if changed else "")
        line.append(value, style="bold cyan" if changed else "cyan")
        line.append(f"  ({origin})", style="dim")
        if entry.problem:
            line.append(f"  not valid, here the default: {one_line(entry.problem)}", style="yellow")
        out.print(line)
        out.print(Text(f"    {entry.description}", style="dim"))
    file = locations.config_file()
    note = "" if file.exists() else " (not created yet)"
    out.print(Text(f"\nChange one: deepthink config set KEY VALUE. The file is {file}{note}."))


@app.command("set", context_settings={"ignore_unknown_options": True})  # a value may begin with -
def set_value(key: _Key, value: Annotated[str, typer.Argument(metavar="VALUE")]) -> None:
    """Write one setting into the file.

    Comments and everything else in the file stay.
    """
    typer.echo(f"{key} = {as_text(put(key, value))}")
    if value_there := os.environ.get(variable(key)):
        failures.warn(f"{variable(key)} in the environment says {value_there} and wins over the file.")


@app.command("get")
def get_value(key: _Key, as_json: AsJson = False) -> None:
    """Print the value in force."""
    require_key(key)
    settings_in_force, error = entries()
    if error is not None:
        raise error
    entry = next(entry for entry in settings_in_force if entry.key == key)
    if as_json:
        print_json(_as_json(entry))
    else:
        typer.echo(entry.text)


def _as_json(entry: Entry) -> dict[str, object]:
    return {"value": entry.value, "layer": entry.layer, "origin": entry.origin}


@app.command("unset")
def unset(key: _Key) -> None:
    """Take one setting out of the file."""
    typer.echo(f"{key} is back to its default." if drop(key) else f"{key} is not in the file.")


def paths(as_json: AsJson = False) -> None:
    """Show where everything is kept."""
    places = {
        "library": locations.store_file(),
        "models": locations.models_dir(),
        "settings": locations.config_file(),
        "probes": locations.probes_file(),
        "log": locations.log_file(),
    }
    if as_json:
        print_json(places)
        return
    for name, path in places.items():
        typer.echo(f"{name:<9} {path}{'' if path.exists() else '  (not created yet)'}")
