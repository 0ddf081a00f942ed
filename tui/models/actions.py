"""The work on models, for threads, and the view of a download."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from textual.content import Content
from textual.dom import DOMNode
from textual.message import Message
from textual.widgets import Static

from tui.app.lists import gauge
from tui.app.work import Failed, failed
from tui.terminal import clean, one_line, size

if TYPE_CHECKING:
    from models.catalogue import CatalogueRole
    from models.fetch import PullProgress
    from tui.app.engine import Engine
    from tui.models.tables import ModelRow

_PHASES: Final = {
    "waiting": "waiting",
    "fetching": "fetching",
    "checking": "checking the sha256",
    "done": "in place",
}
_NOTES: Final = 3
_SHARES: Final = 500


@dataclass
class PullTold(Message):
    """How far a pull has come; ``given_up`` says which source was given up and why, "" if none was."""

    progress: PullProgress
    given_up: str


@dataclass
class PullEnded(Message):
    """The models are in place, or the pull was stopped, or it failed."""

    names: Sequence[str]
    stopped: bool = False
    failure: Failed | None = None


def pull_models(node: DOMNode, names: Sequence[str], cancel: threading.Event) -> PullEnded:
    """Fetch catalogue models one after the other, telling ``node``; for a worker.

    A failure is in the message, so that the widget that shows the pull knows that it has ended.
    """
    from models import fetch
    from models.catalogue import entry
    from models.fetch.files import PullCancelled
    from tui.models.pulling import GivenUp

    try:
        with fetch.shared_sources() as sources:
            for name in names:
                given_up_sources, last = GivenUp(), ("", -1)

                def tell(progress: PullProgress, given_up_sources: GivenUp = given_up_sources) -> None:
                    nonlocal last
                    given_up = given_up_sources.reason(progress)
                    # A block a message would be a thousand of them; what shows is a share of the bar.
                    now = (progress.phase, _SHARES * progress.done // max(1, progress.total))
                    if now != last or given_up or progress.phase != "fetching":
                        last = now
                        node.post_message(PullTold(progress, given_up))

                fetch.pull(entry(name), progress=tell, cancel=cancel, sources=sources)
    except PullCancelled:
        return PullEnded(names, stopped=True)
    except BaseException as error:  # noqa: BLE001 - sent as a message: a worker never closes the app
        return PullEnded(names, failure=failed(error))
    return PullEnded(names)


class PullView(Static):
    """Name, phase, bar, and the sources that were given up; empty while nothing is fetched."""

    DEFAULT_CSS = """
    PullView { height: auto; color: $foreground; }
    PullView.-still { display: none; }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes="-still", markup=False)
        self._progress: PullProgress | None = None
        self._notes: list[str] = []

    def show(self, report: PullTold) -> None:
        """Draw how far it is."""
        self._progress = report.progress
        if report.given_up:
            self._notes = [*self._notes, report.given_up][-_NOTES:]
        self.remove_class("-still")
        self.redraw()

    def clear(self) -> None:
        """Nothing is fetched any more."""
        self._progress = None
        self._notes = []
        self.add_class("-still")

    def on_resize(self) -> None:
        self.redraw()

    def redraw(self) -> None:
        """Draw it."""
        progress = self._progress
        if progress is None:
            return
        source = f", from {progress.source}" if progress.phase == "fetching" and progress.source else ""
        head = f"{progress.model}: {_PHASES[progress.phase]}{source}"
        notes = [clean(progress.detail)] if progress.phase == "waiting" else self._notes
        lines = [
            Content(head).stylize("bold", 0, len(progress.model)),
            bar(progress.done / max(1, progress.total), self.content_size.width, size(progress.total)),
            *(
                Content(f"! {one_line(note, self.content_size.width - 2)}").stylize("$warning")
                for note in notes
            ),
        ]
        self.update(Content("\n").join(lines))


def bar(share: float, width: int, of: str) -> Content:
    """A bar of ``width`` columns with its share of ``of`` in words behind it."""
    words = f" {share:4.0%} of {of}"
    return gauge(share, max(width - len(words), 8)) + words


@dataclass
class ModelsListed(Message):
    """What the catalogue and the models folder have, and what is in use."""

    rows: Sequence[ModelRow]
    folder: str


@dataclass
class ServersListed(Message):
    """What the servers that answer have; ``message`` says where they were looked for."""

    rows: Sequence[ModelRow]
    message: str


@dataclass
class ModelUsed(Message):
    """A model is in the settings; ``note`` is what follows from that, "" if nothing does."""

    role: CatalogueRole
    name: str
    note: str


@dataclass
class ToConfirm(Message):
    """A model is on another machine, to which documents would be sent."""

    name: str
    url: str


@dataclass
class ProbeStep(Message):
    """What is being measured."""

    step: str


@dataclass
class JobEnded(Message):
    """A probe or a comparison has ended; ``message`` is its result."""

    message: str = ""
    failure: Failed | None = None


def list_models(engine: Engine) -> ModelsListed:
    """The catalogue, the models folder, and what the settings name beyond them. Raises `BadSetting`."""
    from traces.paths import models_dir
    from tui.models.tables import local_rows

    return ModelsListed(local_rows(engine.settings()), str(models_dir()))


def list_servers(engine: Engine) -> ServersListed:
    """What the servers have that answer at once; none is needed. Raises `BadSetting`."""
    from tui.models.tables import served, served_rows

    settings = engine.settings()
    servers = served(settings)
    return ServersListed(served_rows(servers, settings), "\n".join(server.message for server in servers))


def use(
    engine: Engine, name: str, role: CatalogueRole | None, *, confirmed: bool = False
) -> ModelUsed | ToConfirm:
    """Put a model into the settings, which the engine reads again.

    A model on another machine is not used before the user has agreed that documents are sent there.

    Raises:
        ModelMissing: it is not on this machine.
        BadSetting: the settings file cannot be read or written.
    """
    from traces.library import Library
    from tui.assemble import OPENAI, unconfirmed_address
    from tui.models.tables import role_of, take
    from tui.settings.file import put

    if name.startswith(OPENAI) and (url := unconfirmed_address(engine.reload())):
        if not confirmed:
            return ToConfirm(name, url)
        put("openai_confirmed", url)
    wanted: CatalogueRole = role or role_of(name)
    _, stored = take(name, wanted)
    engine.reload()
    note = ""
    if wanted == "embedder":
        done, total = Library(engine.store).embedded(engine.embedder().name)
        if done < total:
            note = (
                f"{total - done:,} passages are embedded anew in the background; until then they are found "
                "by their words."
            )
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
    except BaseException as error:  # noqa: BLE001 - sent as a message: a worker never closes the app
        return JobEnded(failure=failed(error))
    return JobEnded(f"{row.label} is measured.")
