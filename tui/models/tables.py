"""Which models there are, which are in use, and changing that."""

from __future__ import annotations

import json
import sys
from contextlib import closing
from typing import Final

import typer
from rich.padding import Padding
from rich.text import Text

from models.catalogue import CATALOGUE, CatalogueRole, ModelEntry, entry
from models.encoders.folder import is_onnx
from models.fetch import begun, installed
from models.probe import ProbeResult, probe, recall, remember
from models.protocols import ModelMissing
from traces.paths import models_dir
from traces.typed_path import expanded_path
from tui import assemble, failures
from tui.interrupts import ctrl_c
from tui.models.servers import Served, served
from tui.settings.file import put
from tui.settings.settings import Settings, load
from tui.terminal import console, print_json, size

KEYS: dict[CatalogueRole, str] = {"chat": "model", "embedder": "embedder", "reranker": "reranker"}
"""Role of a model to the setting that names the one in use."""
_SERVERS: Final = (assemble.OLLAMA, assemble.OPENAI)


def show_models(*, as_json: bool = False) -> None:
    """The catalogue with what is here and in use, what the servers have, and what is in use beyond them."""
    settings = load()
    out = console()
    used = _in_use(settings)
    servers = served(settings)
    found = [model for server in servers for model in server.models]
    if as_json:
        print_json(
            {
                "in_use": used,
                "folder": models_dir(),
                "known": [{**_as_row(known), "here": installed(known) is not None} for known in CATALOGUE],
                **{server.kind.removesuffix(":"): _as_server(server) for server in servers},
            }
        )
        return
    for known in CATALOGUE:
        here = installed(known) is not None
        half = f", {size(left)} of it fetched" if not here and (left := begun(known)) else ""
        states = ["here" if here else f"not here{half}: deepthink models pull {known.name}"]
        if known.name in used.values():
            states.insert(0, "in use")
        line = Text(known.name, style="bold" if here else "")
        line.append(f"  {KEYS[known.role]}, {size(known.size)}, {', '.join(states)}", style="not bold")
        out.print(line)
        out.print(
            Padding(Text(f"{known.description} ({known.licence})", style="dim"), (0, 0, 0, 4), expand=False)
        )
    for name, role in found:
        where = "from Ollama" if name.startswith(assemble.OLLAMA) else "from the server"
        states = ["in use", where] if name in used.values() else [where]
        out.print(Text(f"{name}  {KEYS[role]}, {', '.join(states)}"))
    names = {*(known.name for known in CATALOGUE), *(name for name, _ in found)}
    for key, name in used.items():
        if name not in {*names, assemble.NO_RERANKER}:
            out.print(Text(f"in use as {key}: {name}"))
    for model in (f"llama.cpp:{known.name}" for known in CATALOGUE if known.role == "chat"):
        known_of = recall(model)
        if known_of is not None:
            out.print(
                Text(f"{model}, measured {known_of.measured_at[:10]}: {_speed(known_of)}", style="dim")
            )
    out.print(
        Text(
            f"\nStored in {models_dir()}. Any .gguf file, ollama:NAME and openai:NAME can be used too. "
            f"{' '.join(server.told for server in servers)}",
            style="dim",
        )
    )


def probe_model(name: str | None) -> None:
    """Measure the named language model, or the one in use; show what came out, and remember it.

    Raises:
        ModelMissing, ModelUnreachable, ModelError: it cannot be measured.
        GenerationCancelled: Ctrl-C.
    """
    settings = load({"model": name})
    out = console()
    # A terminal sees the status move, a pipe sees nothing of it.
    with closing(assemble.open_chat(settings)) as chat, out.status(chat.name) as status, ctrl_c() as cancel:
        result = probe(chat, cancel=cancel, on_step=lambda what: status.update(f"{chat.name}: {what}"))
    remember(result)
    rows = measured(result)
    out.print(Text(result.name, style="bold"))
    for what, found in rows.items():
        out.print(f"  {what:<18}{found}")


def measured(result: ProbeResult) -> dict[str, str]:
    """What a probe found, as labels and words."""
    thinking = {None: "no such switch", True: "honoured", False: "not honoured"}[result.schema_thinking]
    return {
        "context": f"{result.context_tokens:,} tokens are really granted",
        "JSON by schema": "honoured" if result.schema else "not honoured; answers are repaired or replaced",
        "… while thinking": thinking,
        "choices": "with probabilities" if result.label_probabilities else "without probabilities",
        "speed": _speed(result),
    }


def _speed(result: ProbeResult) -> str:
    return f"reads {result.prefill:,.0f} tokens/s, writes {result.generation:,.0f} tokens/s"


def choose(name: str, role: CatalogueRole | None) -> None:
    """Write ``name`` into the settings for its role, and say so.

    Raises:
        ModelMissing: it is not known or not on this machine.
    """
    if name.startswith(assemble.OPENAI):
        _confirm_address(load())
    key, stored = take(name, role)
    typer.echo(f"{key} = {stored}")
    for server in served(load()) if stored.startswith(_SERVERS) else ():
        there = {name for model, _ in server.models for name in (model, model.removesuffix(":latest"))}
        if stored.startswith(server.kind) and stored not in there:
            how = ": `ollama pull` fetches a model" if server.kind == assemble.OLLAMA else ""
            failures.warn(f"{server.told} Without {stored} nothing can be answered{how}.")
    if key == KEYS["embedder"]:
        failures.warn(
            "A library that another made is embedded anew as you go on, or by `library embed` now."
        )


def _confirm_address(settings: Settings) -> None:
    """Ask, once, before documents are sent to another machine; the answer is a setting."""
    url = assemble.unconfirmed_address(settings)
    if not url:
        return
    if not sys.stdin.isatty():
        raise assemble.AddressNotConfirmed(url)
    typer.confirm(f"Questions and passages of your documents will be sent to {url}. Go on?", abort=True)
    put("openai_confirmed", url)


def take(name: str, role: CatalogueRole | None) -> tuple[str, str]:
    """Write ``name`` into the settings for its role; the setting and its value.

    Raises:
        ModelMissing: it is not known or not on this machine.
        BadSetting: the settings file cannot be read or written.
    """
    role = role or role_of(name)
    if role == "reranker" and name == assemble.NO_RERANKER:
        pass  # it is no place
    elif name in _SERVERS:
        raise ModelMissing("No model of the server's is named.", f"Name one, as in {name}llama3.")
    elif name.startswith(assemble.OPENAI) and role != "chat":
        raise ModelMissing(
            f"{name} can only be the language model.", "Choose another embedder or reranker."
        )
    elif not name.startswith(_SERVERS):
        name = _located(name, role)
    put(KEYS[role], name)
    return KEYS[role], name


def role_of(name: str) -> CatalogueRole:
    """What a model is for, by its name or by what lies at its path. Raises `ModelMissing`."""
    if name.lower().endswith(".gguf") or name.startswith(_SERVERS):
        return "chat"
    folder = expanded_path(name)
    if "/" not in name and not folder.is_dir():
        return entry(name).role
    if (folder / "modules.json").is_file():
        return "embedder"
    config = folder / "config.json"
    if not config.is_file():
        if is_onnx(folder):
            raise ModelMissing(
                f"{folder} does not say what it is for.", "Add --as embedder or --as reranker."
            )
        raise ModelMissing(f"There is no model in {folder}.", "Name a .gguf file or a model folder.")
    try:
        architectures = json.loads(config.read_text(encoding="utf-8")).get("architectures") or []
    except ValueError as error:
        raise ModelMissing(f"{config} is not valid JSON.", "Fetch the model's folder again.") from error
    scores = any("SequenceClassification" in str(architecture) for architecture in architectures)
    return "reranker" if scores else "embedder"


def _located(name: str, role: CatalogueRole) -> str:
    """The name as it is stored: a catalogue name, or an absolute path of something that is there."""
    is_folder = expanded_path(name).is_dir()
    if "/" in name or name.lower().endswith(".gguf") or is_folder:
        path = expanded_path(name).absolute()
        if role == "chat":
            return str(assemble.chat_file(str(path))[0])
        return str(assemble.located(str(path), role))
    if role == "chat":
        assemble.chat_file(name)
    else:
        assemble.located(name, role)
    return entry(name).name


def _as_row(known: ModelEntry) -> dict[str, object]:
    return {"name": known.name, "role": known.role, "size": known.size, "licence": known.licence}


def _as_server(server: Served) -> dict[str, object]:
    return {"url": server.url, "models": [{"name": name, "role": role} for name, role in server.models]}


def _in_use(settings: Settings) -> dict[str, str]:
    return {"model": settings.model, "embedder": settings.embedder, "reranker": settings.reranker}
