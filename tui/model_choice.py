"""Which models there are, which are in use, and changing that."""

from __future__ import annotations

import json
from contextlib import closing

import typer
from rich.padding import Padding
from rich.text import Text

from models.catalogue import CATALOGUE, CatalogueRole, entry
from models.fetch import installed
from models.model_folder import is_onnx
from models.probe import ProbeResult, probe, recall, remember
from models.protocols import ModelMissing
from traces.paths import models_dir
from traces.typed_path import expanded_path
from tui import assemble, failures
from tui.interrupts import ctrl_c
from tui.settings import Settings, load
from tui.settings_file import put
from tui.terminal import console, size

KEYS: dict[CatalogueRole, str] = {"chat": "model", "embedder": "embedder", "reranker": "reranker"}
"""Role of a model to the setting that names the one in use."""


def show_models() -> None:
    """The catalogue with what is here and in use, and what is in use beyond it."""
    settings = load()
    out = console()
    used = _in_use(settings)
    for known in CATALOGUE:
        here = installed(known) is not None
        states = ["here" if here else f"not here: deepthink models pull {known.name}"]
        if known.name in used.values():
            states.insert(0, "in use")
        line = Text(known.name, style="bold" if here else "")
        line.append(f"  {KEYS[known.role]}, {size(known.size)}, {', '.join(states)}", style="not bold")
        out.print(line)
        out.print(
            Padding(Text(f"{known.description} ({known.licence})", style="dim"), (0, 0, 0, 4), expand=False)
        )
    names = {known.name for known in CATALOGUE}
    for key, name in used.items():
        if name not in {*names, assemble.NO_RERANKER}:
            out.print(Text(f"in use as {key}: {name}"))
    for model in (f"llama.cpp:{known.name}" for known in CATALOGUE if known.role == "chat"):
        known_of = recall(model)
        if known_of is not None:
            out.print(
                Text(f"{model}, measured {known_of.measured_at[:10]}: {_speed(known_of)}", style="dim")
            )
    out.print(Text(f"\nThey lie in {models_dir()}. Any .gguf path and ollama:NAME work too.", style="dim"))


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
    key, stored = take(name, role)
    typer.echo(f"{key} = {stored}")
    if key == KEYS["embedder"]:
        failures.warn(
            "A library that another made is embedded anew as you go on, or by `library embed` now."
        )


def take(name: str, role: CatalogueRole | None) -> tuple[str, str]:
    """Write ``name`` into the settings for its role; the setting and its value.

    Raises:
        ModelMissing: it is not known or not on this machine.
        BadSetting: the settings file cannot be read or written.
    """
    role = role or role_of(name)
    if role == "reranker" and name == assemble.NO_RERANKER:
        pass  # it is no place
    elif name == assemble.OLLAMA:
        raise ModelMissing("No model of Ollama's is named.", "Name one, as in ollama:llama3.")
    elif not name.startswith(assemble.OLLAMA):
        name = _located(name, role)
    put(KEYS[role], name)
    return KEYS[role], name


def role_of(name: str) -> CatalogueRole:
    """What a model is for, by its name or by what lies at its path. Raises `ModelMissing`."""
    if name.lower().endswith(".gguf") or name.startswith(assemble.OLLAMA):
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


def _in_use(settings: Settings) -> dict[str, str]:
    return {"model": settings.model, "embedder": settings.embedder, "reranker": settings.reranker}
