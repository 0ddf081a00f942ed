"""The checks: what works, what does not, and the way out. They change nothing and load no model."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageMetadata, PackageNotFoundError, distribution, requires
from pathlib import Path
from typing import Final, Literal

from models.boxed_planner.planner import own_adapter
from models.catalogue import QWEN_CODER_0_5B
from models.fetch.pull import checked
from models.servers.kinds import server_class, split
from traces import paths
from traces.errors import DeepthinkError
from traces.library import Library
from traces.store import Store, StoreBusy
from tui import assemble
from tui.models.actions import SHORT, served
from tui.settings.settings import BadSetting, Settings, load
from tui.terminal import console, counted, size

State = Literal["ok", "warn", "fail", "unknown"]
Result = tuple[State, str, str]  # with the detail and the way out

STYLES: Final[Mapping[State, str]] = {"ok": "green", "warn": "yellow", "fail": "bold red", "unknown": "dim"}
_CHOOSE_POLICY: Final = "Choose another: `deepthink policy use NAME`."
_LITTLE_DISK: Final = 2_000_000_000
_LITTLE_MEMORY: Final = 4_000_000_000


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check; ``way_out`` says what to do, "" if nothing.

    ``error`` is what it ended with.
    """

    name: str
    state: State
    detail: str
    way_out: str = ""
    error: DeepthinkError | None = None


def findings(terminal: str = "") -> Iterator[Finding]:
    """Run all checks in turn.

    Args:
        terminal: What is known about the terminal, if stdout is not connected to it.
    """
    settings, about_settings = _settings()
    checks: dict[str, Callable[[], Result]] = {
        "Python": _python,
        "packages": _packages,
        "settings": lambda: about_settings,
        "data folder": _data_folder,
        "disk space": _disk,
        "language model": partial(_language_model, settings),
        "embedder": partial(_embedder, settings),
        "reranker": partial(_reranker, settings),
        "planner": partial(_planner, settings),
        "policy": _policy,
        "library": _library,
        **{
            server_class(kind).TITLE: partial(_server, settings, kind, needed)
            for kind, needed in served(settings).items()
        },
        "memory": _memory,
        "cores": _cores,
        "terminal": lambda: ("ok", terminal, "") if terminal else _terminal(),
    }
    for name, check in checks.items():
        try:
            yield Finding(name, *check())
        except DeepthinkError as error:
            yield Finding(name, "fail", error.message, error.way_out, error)


def _python() -> Result:
    # deepthink cannot be installed on an older Python, so this cannot fail.
    return "ok", f"{platform.python_version()} on {platform.system()} {platform.machine()}", ""


def _packages() -> Result:
    packages = dependencies()
    missing = [package.name for package in packages if not package.version]
    if missing:
        way_out = "Install deepthink-tui again; llama-cpp-python needs cmake and a C++ compiler for that."
        return "fail", f"missing: {', '.join(missing)}", way_out
    return "ok", f"all {len(packages)} are installed", ""


def _settings() -> tuple[Settings, Result]:
    """The settings, or the defaults if they cannot be used, so that the other checks can run."""
    warnings: list[str] = []
    try:
        settings = load(warn=warnings.append)
    except BadSetting as error:
        return Settings(), ("fail", error.message, error.way_out)
    if warnings:
        return settings, ("warn", " ".join(warnings), "")
    path = paths.config_file()
    return settings, ("ok", str(path) if path.exists() else "all defaults, no file", "")


def _data_folder() -> Result:
    folder = paths.data_dir()
    nearest = _nearest(folder)
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        way_out = "Make it writable, or set DEEPTHINK_HOME to another."
        return "fail", f"{folder} cannot be written", way_out
    return "ok", f"{folder}{'' if folder.exists() else ', made when needed'}", ""


def _disk() -> Result:
    free = {
        folder: shutil.disk_usage(_nearest(folder)).free
        for folder in (paths.data_dir(), paths.models_dir())
    }
    folder, least = min(free.items(), key=lambda item: item[1])
    if least < _LITTLE_DISK:
        need = (
            f"Models take about {size(_LITTLE_DISK)}; free some, or set DEEPTHINK_MODELS to a larger disk."
        )
        return "warn", f"{size(least)} free for {folder}", need
    return "ok", f"{size(least)} free", ""


def _language_model(settings: Settings) -> Result:
    from models.llama_cpp.gguf import read_head

    if kind := split(settings.model)[0]:
        return "ok", f"{settings.model}, see {server_class(kind).TITLE} below", ""
    path, name = assemble.chat_file(settings.model)
    head = read_head(path)
    context = f", trained for {head.trained_context:,} tokens" if head.trained_context else ""
    return "ok", f"{name}, {size(head.size)}{context}", ""


def _embedder(settings: Settings) -> Result:
    if kind := split(settings.embedder)[0]:
        return "ok", f"{settings.embedder}, see {server_class(kind).TITLE} below", ""
    return "ok", str(assemble.model_folder(settings.embedder, "embedder")), ""


def _reranker(settings: Settings) -> Result:
    if settings.reranker == assemble.NO_RERANKER:
        return "ok", "none; the reader that ships orders the passages", ""
    return "ok", str(assemble.model_folder(settings.reranker, "reranker")), ""


def _planner(settings: Settings) -> Result:
    if settings.planner == "model":
        return "ok", "the language model plans", ""
    base = QWEN_CODER_0_5B
    if checked(base) is None:
        detail = f"{base.name} ({size(base.size)}) is not on this machine, so the language model plans"
        return "warn", detail, f"Fetch it: `deepthink models pull {base.name}`."
    whose = "your own" if own_adapter().is_file() else "the one that ships"
    return "ok", f"{whose}, on {base.name}", ""


def _policy() -> Result:
    from policy.serving.registry import Registry

    registry = Registry()
    active = registry.active()
    policy = next((policy for policy in registry.listed() if policy.active), None)
    if active.warning:
        return "warn", active.warning, _CHOOSE_POLICY
    if policy is None and active.folder:
        return "warn", f"{active.name} is missing; rules decide", _CHOOSE_POLICY
    if policy is None:
        return "ok", "none; rules decide when to stop", ""
    if policy.problem:
        return "warn", f"{policy.name}, but rules decide: {policy.problem}", _CHOOSE_POLICY
    return "ok", f"{policy.name}{', built in' if policy.boxed else ''}", ""


def _library() -> Result:
    path = paths.store_file()
    if not path.exists():
        return "ok", "empty", "Add documents: `deepthink ingest PATH`."
    store = Store(path, patience=2.0)
    try:
        with store.connect() as db:
            row = db.execute("SELECT max(version) FROM schema_version").fetchone()
        collections = Library(store).collections()
    except StoreBusy as busy:
        return "unknown", busy.message, busy.way_out
    documents = sum(collection.documents for collection in collections)
    held = f"{counted(documents, 'document')} in {counted(len(collections), 'collection')}"
    return "ok", f"{held}, {size(path.stat().st_size)}, schema {row[0] if row else '?'}", ""


def _server(settings: Settings, kind: str, needed: Sequence[str]) -> Result:
    try:
        server = assemble.open_server(settings, kind, SHORT)
    except DeepthinkError as error:  # its address
        return "fail" if needed else "unknown", error.message, error.way_out
    try:
        about, models = server.about(), server.models()
    except DeepthinkError as error:
        if not needed:
            return "unknown", f"{error.message} It is optional.", ""
        return "fail", f"{error.message} {', '.join(needed)} needs it.", error.way_out
    if needed and (address := assemble.unconfirmed_address(settings, kind)):
        way_out = f"Agree: `deepthink config set {kind}_confirmed {address}`"
        return "fail", f"documents would be sent to {address}", way_out
    if missing := [name for name in needed if server.full_name(name) not in models]:
        way_out = server.FETCH.format(model=missing[0]) or f"It has: {', '.join(models) or 'none'}"
        return "fail" if server.LISTS_ALL else "warn", f"{about} does not list {missing[0]}", way_out
    return "ok", f"{about}, {counted(len(models), 'model')}", ""


def _memory() -> Result:
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return "unknown", "this system does not say", ""
    if total < _LITTLE_MEMORY:
        return "warn", size(total), "Use the smaller model: `deepthink models use qwen2.5-coder-0.5b`."
    return "ok", size(total), ""


def _cores() -> Result:
    affinity = getattr(os, "sched_getaffinity", None)
    count = len(affinity(0)) if affinity else os.cpu_count() or 1
    return ("ok", str(count), "") if count > 1 else ("warn", str(count), "It will be slow.")


def _terminal() -> Result:
    encoding = (sys.stdout.encoding or "").lower()
    if "utf" not in encoding:
        return "warn", f"encoding {encoding or 'unknown'}", "Set LANG to a UTF-8 locale, e.g. C.UTF-8."
    out = console()
    if not out.is_terminal:
        return "ok", "output goes to a file or another program: plain text", ""
    return "ok", f"{out.width} columns used, colours: {out.color_system or 'none'}, {encoding}", ""


def _nearest(folder: Path) -> Path:
    """The folder, or its nearest existing parent."""
    absolute = folder.absolute()
    return next(path for path in (absolute, *absolute.parents) if path.exists())


_MAX_LICENCE: Final = 60  # characters; some packages put the whole text into the field


@dataclass(frozen=True, slots=True)
class Dependency:
    """A direct dependency; ``version`` and ``licence`` are "" if it is not installed."""

    name: str
    version: str
    licence: str


def dependencies() -> list[Dependency]:
    """The direct dependencies sorted by name, without those of extras."""
    names = {
        re.split(r"[^\w.-]", line)[0] for line in requires("deepthink-tui") or () if "extra ==" not in line
    }
    return [_dependency(name) for name in sorted(names)]


def _dependency(name: str) -> Dependency:
    try:
        package = distribution(name)
    except PackageNotFoundError:
        return Dependency(name, "", "")
    return Dependency(name, package.version, _licence(package.metadata))


def _licence(metadata: PackageMetadata) -> str:
    """The licence from the package's metadata: its expression, its classifiers, or its text."""
    if "License-Expression" in metadata:
        return metadata["License-Expression"]
    classifiers = [
        line.rpartition(" :: ")[2]
        for line in metadata.get_all("Classifier") or ()
        if line.startswith("License :: ") and not line.endswith(":: OSI Approved")
    ]
    words = (metadata.get_all("License") or [""])[0]
    return ", ".join(classifiers) or " ".join(words.split())[:_MAX_LICENCE] or "not stated"
