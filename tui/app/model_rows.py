"""The models there are as rows to show, and the work on them; for threads."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from textual.dom import DOMNode
from textual.message import Message

from tui.app.widgets.model_pull import PullTold
from tui.app.work import Failed, failed
from tui.terminal import size

if TYPE_CHECKING:
    from models.catalogue import CatalogueRole, ModelEntry
    from models.fetch import PullProgress
    from tui.app.engine import Engine
    from tui.settings import Settings

Role = Literal["chat", "embedder", "reranker"]
ROLES: Final[tuple[Role, ...]] = ("chat", "embedder", "reranker")


@dataclass(frozen=True, slots=True)
class ModelRow:
    """One model.

    Attributes:
        name: As the setting takes it: a catalogue name, a path, ``ollama:NAME``, or none.
        label: As it is shown.
        size: Bytes; 0 where nobody says.
        known: Whether the catalogue has it, so that it can be fetched and verified.
        about: What it is and where it lies.
        probe: What was measured, as labels and words; empty if it was not.
    """

    role: Role
    name: str
    label: str
    size: int
    here: bool
    used: bool
    known: bool
    about: str
    probe: Mapping[str, str] = field(default_factory=dict)


class ModelsListed(Message):
    """What the catalogue and the models folder have, and what is in use."""

    def __init__(self, rows: Sequence[ModelRow], folder: str) -> None:
        super().__init__()
        self.rows = rows
        self.folder = folder


class OllamaListed(Message):
    """What the Ollama server has; ``told`` says in words where it was looked for."""

    def __init__(self, rows: Sequence[ModelRow], told: str) -> None:
        super().__init__()
        self.rows = rows
        self.told = told


class ModelUsed(Message):
    """A model is in the settings; ``note`` is what follows from that, "" if nothing does."""

    def __init__(self, role: Role, name: str, note: str) -> None:
        super().__init__()
        self.role = role
        self.name = name
        self.note = note


class ProbeStep(Message):
    """What is being measured."""

    def __init__(self, step: str) -> None:
        super().__init__()
        self.step = step


class JobEnded(Message):
    """A probe or a comparison has ended; ``told`` is its result in words."""

    def __init__(self, told: str = "", *, failure: Failed | None = None) -> None:
        super().__init__()
        self.told = told
        self.failure = failure


def list_models(engine: Engine) -> ModelsListed:
    """The catalogue, the models folder, and what the settings name beyond them. Raises `BadSetting`."""
    from models.catalogue import CATALOGUE
    from traces.paths import models_dir
    from tui.assemble import NO_RERANKER

    settings = engine.settings()
    rows = [_of_catalogue(entry, settings) for entry in CATALOGUE]
    rows += _of_folder(settings)
    named = {(row.role, row.name) for row in rows}
    for role, name in _wanted(settings).items():
        if name == NO_RERANKER:
            continue
        if (role, name.lower()) not in named and (role, name) not in named:
            rows.append(_row(role, name, Path(name).stem if _is_path(name) else name, settings, about=name))
    without = "The reader that ships orders the passages by itself."
    rows.append(_row("reranker", NO_RERANKER, NO_RERANKER, settings, about=without))
    return ModelsListed(sorted(rows, key=lambda row: ROLES.index(row.role)), str(models_dir()))


def list_ollama(engine: Engine) -> OllamaListed:
    """What the Ollama server has, if one answers at once; none is needed. Raises `BadSetting`."""
    from tui.model_choice import ollama_models

    settings = engine.settings()
    url, found, told = ollama_models(settings)
    rows = [_row(role, name, name.removesuffix(":latest"), settings, about=url) for name, role in found]
    return OllamaListed(rows, told)


def use(engine: Engine, name: str, role: Role | None) -> ModelUsed:
    """Put a model into the settings, which the engine reads again.

    Raises:
        ModelMissing: it is not on this machine.
        BadSetting: the settings file cannot be read or written.
    """
    from traces.library import Library
    from tui.model_choice import role_of, take

    wanted: Role = role or role_of(name)
    _, stored = take(name, wanted)
    engine.reload()
    note = ""
    if wanted == "embedder":
        done, total = Library(engine.store).embedded(engine.embedder().name)
        if done < total:
            lacking = f"{total - done:,} passages"
            note = f"{lacking} are embedded anew in the background, and till then found by their words."
    return ModelUsed(wanted, stored, note)


def probe(node: DOMNode, engine: Engine, row: ModelRow, cancel: threading.Event) -> JobEnded:
    """Measure a language model, telling ``node`` each step; what came out is remembered."""
    from models.probe import probe as measure
    from models.probe import remember
    from models.protocols import GenerationCancelled
    from tui import assemble

    def tell(step: str) -> None:
        node.post_message(ProbeStep(step))

    try:
        # The model in use is in memory already, and a second copy of it might not fit.
        settings = engine.settings().model_copy(update={"model": row.name})
        with engine.chat() if row.used else closing(assemble.open_chat(settings)) as model:
            result = measure(model, cancel=cancel, on_step=tell)
        remember(result)
    except GenerationCancelled:
        return JobEnded("Stopped.")
    except BaseException as error:  # noqa: BLE001 - told as a message: a worker never closes the app
        return JobEnded(failure=failed(error))
    return JobEnded(f"{row.label} is measured.")


def verify(node: DOMNode, row: ModelRow, cancel: threading.Event) -> JobEnded:
    """Compare a catalogue model's files with its publisher's sha256, telling ``node``."""
    from models import fetch
    from models.catalogue import entry
    from models.fetch import PullCancelled

    def tell(progress: PullProgress) -> None:
        node.post_message(PullTold(progress, ""))

    try:
        fetch.checked(entry(row.name), progress=tell, cancel=cancel, again=True)
    except PullCancelled:
        return JobEnded("Stopped.")
    except BaseException as error:  # noqa: BLE001 - told as a message: a worker never closes the app
        return JobEnded(failure=failed(error))
    return JobEnded(f"{row.label} is as its publisher lists it, byte for byte.")


def _of_catalogue(entry: ModelEntry, settings: Settings) -> ModelRow:
    from models.fetch import begun, installed

    here, left = installed(entry) is not None, begun(entry)
    half = f" {size(left)} of it is fetched; fetching resumes there." if left and not here else ""
    return _row(
        entry.role,
        entry.name,
        entry.name,
        settings,
        about=f"{entry.description} ({entry.licence}){half}",
        size=entry.size,
        here=here,
        known=True,
    )


def _of_folder(settings: Settings) -> Iterator[ModelRow]:
    """Files and folders in the models folder that the catalogue does not name."""
    from models.catalogue import CATALOGUE
    from models.protocols import ModelMissing
    from traces.paths import models_dir
    from tui.model_choice import role_of

    known = {entry.name for entry in CATALOGUE}
    folder = models_dir()
    places = sorted(folder.iterdir()) if folder.is_dir() else []
    for place in places:
        if place.name in known or place.name.startswith("."):
            continue
        inside = sorted(place.glob("*.gguf")) if place.is_dir() else [place]
        for path in inside or [place]:
            if path.is_file() and path.suffix.lower() != ".gguf":
                continue
            try:
                role: CatalogueRole = role_of(str(path))
            except ModelMissing:
                continue
            size = path.stat().st_size if path.is_file() else _folder_size(path)
            yield _row(
                role, str(path), path.stem if path.is_file() else path.name, settings, str(path), size
            )


def _row(
    role: Role,
    name: str,
    label: str,
    settings: Settings,
    about: str = "",
    size: int = 0,
    here: bool = True,
    known: bool = False,
) -> ModelRow:
    from models.probe import recall
    from tui.model_choice import measured

    wanted = _wanted(settings)[role]
    used = (wanted.lower() if known else wanted) == name
    called = name if name.startswith("ollama:") else f"llama.cpp:{label}"
    result = recall(called) if role == "chat" else None
    return ModelRow(role, name, label, size, here, used, known, about, measured(result) if result else {})


def _wanted(settings: Settings) -> dict[Role, str]:
    return {"chat": settings.model, "embedder": settings.embedder, "reranker": settings.reranker}


def _folder_size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _is_path(name: str) -> bool:
    return "/" in name or name.lower().endswith(".gguf")
