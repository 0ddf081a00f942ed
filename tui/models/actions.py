"""Listing the models, which of them are in use, and choosing one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from models.catalogue import CATALOGUE, CatalogueRole, ModelEntry, entry
from models.encoders import is_onnx
from models.fetch.pull import begun, installed
from models.probe import ProbeResult, recall
from models.protocols import ModelMissing
from models.servers.chat import Patience
from models.servers.kinds import KINDS, server_class, split
from traces.errors import DeepthinkError
from traces.paths import expanded_path, models_dir
from tui import assemble
from tui.assemble import is_path
from tui.settings.settings import Settings, put
from tui.terminal import counted, size

SHORT: Final = Patience(connect=1.5, first_token=3.0, idle=3.0)


@dataclass(frozen=True, slots=True)
class ServerModels:
    kind: str  # of `KINDS`
    url: str
    models: list[tuple[str, CatalogueRole]]  # names as in the settings, each with its role
    message: str  # the same in words, or why there are none


def served(settings: Settings) -> dict[str, list[str]]:
    """The kinds of servers that are used, have an address or a usual one, each with its models in use."""
    names = [split(name) for name in in_use(settings).values()]
    models = {kind: [model for other, model in names if other == kind] for kind in KINDS}
    return {
        kind: used
        for kind, used in models.items()
        if used or getattr(settings, f"{kind}_url") or server_class(kind).IS_USUAL
    }


def find_servers(settings: Settings) -> list[ServerModels]:
    return [find_server(settings, kind, used) for kind, used in served(settings).items()]


def find_server(settings: Settings, kind: str, used: Sequence[str]) -> ServerModels:
    """The models of a server, if it answers at once; ``used`` are those in use."""
    url = getattr(settings, f"{kind}_url")
    try:
        server = assemble.open_server(settings, kind, SHORT)
    except DeepthinkError as error:  # its address
        return ServerModels(kind, url, [], f"{error.message} {error.way_out}")
    try:
        models = [(f"{kind}:{name}", server.role(name)) for name in server.models()]
    except DeepthinkError as error:
        way_out = error.way_out if used or url else "It is optional."
        return ServerModels(kind, server.url, [], f"{error.message} {way_out}")
    text = f"{server.TITLE} at {server.url} has {counted(len(models), 'model')}."
    return ServerModels(kind, server.url, models, text)


KEYS: dict[CatalogueRole, str] = {"chat": "model", "embedder": "embedder", "reranker": "reranker"}
"""The setting for each role."""


@dataclass(frozen=True, slots=True)
class ModelRow:
    role: CatalogueRole
    name: str  # as in the settings: a catalogue name, a path, a server's model, or none
    label: str  # the name to show
    size: int  # bytes; 0 if unknown
    here: bool
    used: bool
    known: bool  # it is in the catalogue, so it can be fetched and verified
    about: str  # what it is, or where it is
    probe: Mapping[str, str]  # its measurements by label; empty if there are none


def local_rows(settings: Settings) -> list[ModelRow]:
    """The catalogue, the models folder, and other models in the settings, by role."""
    rows = [_of_catalogue(entry, settings) for entry in CATALOGUE]
    rows += _of_folder(settings)
    listed_names = {(row.role, row.name) for row in rows}
    for role, name in in_use(settings).items():
        if name == assemble.NO_RERANKER:
            continue
        if (role, name.lower()) not in listed_names and (role, name) not in listed_names:
            rows.append(_row(role, name, Path(name).stem if is_path(name) else name, settings, about=name))
    none = assemble.NO_RERANKER
    about = "The reader that ships orders the passages by itself."
    rows.append(_row("reranker", none, none, settings, about=about))
    return sorted(rows, key=lambda row: list(KEYS).index(row.role))


def served_rows(servers: Sequence[ServerModels], settings: Settings) -> list[ModelRow]:
    return [
        _row(role, name, name.removesuffix(":latest"), settings, about=server.url)
        for server in servers
        for name, role in server.models
    ]


def _of_catalogue(entry: ModelEntry, settings: Settings) -> ModelRow:
    is_here, fetched_bytes = installed(entry) is not None, begun(entry)
    progress = ""
    if fetched_bytes and not is_here:
        progress = f". {size(fetched_bytes)} of it is fetched; fetching resumes there."
    return _row(
        entry.role,
        entry.name,
        entry.name,
        settings,
        about=f"{entry.description} ({entry.licence}){progress}",
        size=entry.size,
        here=is_here,
        known=True,
    )


def _of_folder(settings: Settings) -> Iterator[ModelRow]:
    """Files and folders in the models folder that are not in the catalogue."""
    catalogue_names = {entry.name for entry in CATALOGUE}
    for item in sorted(models_dir().glob("[!.]*")):
        if item.name in catalogue_names or (item.is_file() and item.suffix.lower() != ".gguf"):
            continue
        for path in sorted(item.glob("*.gguf")) or [item]:
            try:
                role: CatalogueRole = role_of(str(path))
            except ModelMissing:
                continue
            files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
            size = sum(file.stat().st_size for file in files)
            label = path.stem if path.is_file() else path.name
            yield _row(role, str(path), label, settings, str(path), size)


def _row(
    role: CatalogueRole,
    name: str,
    label: str,
    settings: Settings,
    about: str = "",
    size: int = 0,
    here: bool = True,
    known: bool = False,
) -> ModelRow:
    name_in_use = in_use(settings)[role]
    used = (name_in_use.lower() if known else name_in_use) == name
    probe_name = name if split(name)[0] else f"llama.cpp:{label}"
    result = recall(probe_name) if role == "chat" else None
    return ModelRow(
        role, name, label, size, here, used, known, about, probe_facts(result) if result else {}
    )


def in_use(settings: Settings) -> dict[CatalogueRole, str]:
    return {role: getattr(settings, key) for role, key in KEYS.items()}


def probe_facts(result: ProbeResult) -> dict[str, str]:
    thinking = {None: "no such switch", True: "honoured", False: "not honoured"}[result.schema_thinking]
    return {
        "context": f"{result.context_tokens:,} tokens are really granted",
        "JSON by schema": "honoured" if result.schema else "not honoured; answers are repaired or replaced",
        "… while thinking": thinking,
        "choices": "with probabilities" if result.label_probabilities else "without probabilities",
        "speed": f"reads {result.prefill:,.0f} tokens/s, writes {result.generation:,.0f} tokens/s",
    }


def choose(name: str, role: CatalogueRole | None) -> tuple[CatalogueRole, str]:
    """Write ``name`` into the settings for its role; returns the role and the value of the setting.

    Raises `ModelMissing` if the model is unknown or not on this machine, `BadSetting`.
    """
    role = role or role_of(name)
    kind, model = split(name)
    if role == "reranker" and name == assemble.NO_RERANKER:
        pass  # not a file
    elif kind and not model:
        raise ModelMissing("No model of the server's is named.", f"Name one, as in {name}llama3.")
    elif kind and role not in server_class(kind).ROLES:
        raise ModelMissing(f"{name} cannot be the {role}.", f"Choose another {role}.")
    elif not kind:
        names_files = is_path(name) or expanded_path(name).is_dir()
        place = str(expanded_path(name).absolute()) if names_files else name
        path = assemble.chat_file(place)[0] if role == "chat" else assemble.model_folder(place, role)
        name = str(path) if names_files else entry(name).name
    put(KEYS[role], name)
    return role, name


def role_of(name: str) -> CatalogueRole:
    """The role of a model, by its name or by the files at its path. Raises `ModelMissing`."""
    if name.lower().endswith(".gguf") or split(name)[0]:
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
