"""Work on models for worker threads, and the view of a download."""

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
    from models.fetch.files import PullProgress
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
    """The progress of a pull; ``given_up`` says which source was given up and why, "" if none was."""

    progress: PullProgress
    given_up: str


@dataclass
class PullEnded(Message):
    """The pull has ended: the models are in place, or it was stopped or failed."""

    names: Sequence[str]
    stopped: bool = False
    failure: Failed | None = None


def pull_models(node: DOMNode, names: Sequence[str], cancel: threading.Event) -> PullEnded:
    """Fetch catalogue models one after the other, posting progress to ``node``. Call it in a worker.

    A failure is in the message, so that the widget that shows the pull learns that it has ended.
    """
    from models import fetch
    from models.catalogue import entry
    from models.fetch.files import PullCancelled
    from tui.models.pulling import GivenUp

    try:
        with fetch.shared_sources() as sources:
            for name in names:
                abandoned, last_state = GivenUp(), ("", -1)

                def tell(progress: PullProgress, abandoned: GivenUp = abandoned) -> None:
                    nonlocal last_state
                    reason = abandoned.reason(progress)
                    # Post only what changes the bar: a message per block would be thousands.
                    shown_state = (progress.phase, _SHARES * progress.done // max(1, progress.total))
                    if shown_state != last_state or reason or progress.phase != "fetching":
                        last_state = shown_state
                        node.post_message(PullTold(progress, reason))

                fetch.pull(entry(name), progress=tell, cancel=cancel, sources=sources)
    except PullCancelled:
        return PullEnded(names, stopped=True)
    except BaseException as error:  # noqa: BLE001 - sent as a message: a worker never closes the app
        return PullEnded(names, failure=failed(error))
    return PullEnded(names)


class PullView(Static):
    """Name, phase, bar, and the sources that were given up; hidden while nothing is fetched."""

    DEFAULT_CSS = """
    PullView { height: auto; color: $foreground; }
    PullView.-still { display: none; }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes="-still", markup=False)
        self._progress: PullProgress | None = None
        self._notes: list[str] = []

    def show(self, report: PullTold) -> None:
        """Show the progress."""
        self._progress = report.progress
        if report.given_up:
            self._notes = [*self._notes, report.given_up][-_NOTES:]
        self.remove_class("-still")
        self.redraw()

    def clear(self) -> None:
        """Hide the view."""
        self._progress = None
        self._notes = []
        self.add_class("-still")

    def on_resize(self) -> None:
        self.redraw()

    def redraw(self) -> None:
        """Draw the progress in the present width."""
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


def bar(share: float, width: int, total: str) -> Content:
    """A bar of ``width`` columns, followed by its share of ``total`` in words."""
    words = f" {share:4.0%} of {total}"
    return gauge(share, max(width - len(words), 8)) + words


@dataclass
class ModelsListed(Message):
    """The models of the catalogue and the models folder, and which are in use."""

    rows: Sequence[ModelRow]
    folder: str


@dataclass
class ServersListed(Message):
    """The models of the servers that answer; ``message`` says which servers were asked."""

    rows: Sequence[ModelRow]
    message: str


@dataclass
class ModelUsed(Message):
    """A model was put into the settings; ``note`` says what follows from that, "" if nothing."""

    role: CatalogueRole
    name: str
    note: str


@dataclass
class ToConfirm(Message):
    """The user has to confirm a model on another machine, to which documents would be sent."""

    name: str
    url: str


@dataclass
class ProbeStep(Message):
    """The step of a probe that has begun."""

    step: str


@dataclass
class JobEnded(Message):
    """A probe or a comparison has ended; ``message`` is its result."""

    message: str = ""
    failure: Failed | None = None


def list_models(engine: Engine) -> ModelsListed:
    """The catalogue, the models folder, and other models in the settings. Raises `BadSetting`."""
    from traces.paths import models_dir
    from tui.models.tables import local_rows

    return ModelsListed(local_rows(engine.settings()), str(models_dir()))


def list_servers(engine: Engine) -> ServersListed:
    """The models of servers that answer at once; servers are optional. Raises `BadSetting`."""
    from tui.models.tables import find_servers, served_rows

    settings = engine.settings()
    servers = find_servers(settings)
    return ServersListed(served_rows(servers, settings), "\n".join(server.message for server in servers))


def use(
    engine: Engine, name: str, role: CatalogueRole | None, *, confirmed: bool = False
) -> ModelUsed | ToConfirm:
    """Put a model into the settings, and reload the engine.

    A model on another machine is not used until the user agrees that documents are sent there.

    Raises:
        ModelMissing: it is not on this machine.
        BadSetting: the settings file cannot be read or written.
    """
    from traces.library import Library
    from tui.assemble import OPENAI, unconfirmed_address
    from tui.models.tables import choose, role_of
    from tui.settings.file import put

    if name.startswith(OPENAI) and (url := unconfirmed_address(engine.reload())):
        if not confirmed:
            return ToConfirm(name, url)
        put("openai_confirmed", url)
    model_role: CatalogueRole = role or role_of(name)
    _, stored_name = choose(name, model_role)
    engine.reload()
    note = ""
    if model_role == "embedder":
        done, total = Library(engine.store).embedded(engine.embedder().name)
        if done < total:
            note = (
                f"{total - done:,} passages are embedded again in the background; until then only words "
                "find them."
            )
    return ModelUsed(model_role, stored_name, note)


def probe(node: DOMNode, engine: Engine, row: ModelRow, cancel: threading.Event) -> JobEnded:
    """Measure a language model, posting each step to ``node``, and store the result."""
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
