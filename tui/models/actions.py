"""Work on models for worker threads, and the view of a download."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
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

_NOTES: Final = 3
_SHARES: Final = 500


@dataclass
class PullTold(Message):
    """The progress of a pull."""

    progress: PullProgress


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

    try:
        with fetch.shared_sources() as sources:
            for name in names:
                last_state = ("", -1)

                def tell(progress: PullProgress) -> None:
                    nonlocal last_state
                    # Post only what changes the bar: a message per block would be thousands.
                    shown_state = (progress.phase, _SHARES * progress.done // max(1, progress.total))
                    if shown_state != last_state or progress.given_up or progress.phase != "fetching":
                        last_state = shown_state
                        node.post_message(PullTold(progress))

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
        if self._progress.given_up:
            self._notes = [*self._notes, clean(self._progress.given_up)][-_NOTES:]
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
        from tui.models.pulling import PHASES

        source = f", from {progress.source}" if progress.phase == "fetching" and progress.source else ""
        head = f"{progress.model}: {PHASES[progress.phase]}{source}"
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


@dataclass(frozen=True, slots=True)
class Used:
    """A model is in the settings; ``note`` says what follows from that, "" if nothing."""

    role: CatalogueRole
    note: str


@dataclass(frozen=True, slots=True)
class Unconfirmed:
    """The user has to confirm a model on another machine, to which documents would be sent."""

    url: str


def use(engine: Engine, name: str, role: CatalogueRole | None, *, confirmed: bool) -> Used | Unconfirmed:
    """Put a model into the settings, and reload the engine.

    A model on another machine is not used until the user agrees that documents are sent there.

    Raises:
        ModelMissing: it is not on this machine.
        BadSetting: the settings file cannot be read or written.
    """
    from traces.library import Library
    from tui.assemble import OPENAI, unconfirmed_address
    from tui.models.tables import choose, role_of
    from tui.settings.settings import put

    if name.startswith(OPENAI) and (url := unconfirmed_address(engine.reload())):
        if not confirmed:
            return Unconfirmed(url)
        put("openai_confirmed", url)
    model_role: CatalogueRole = role or role_of(name)
    choose(name, model_role)
    engine.reload()
    note = ""
    if model_role == "embedder":
        done, total = Library(engine.store).embedded(engine.embedder().name)
        if done < total:
            note = (
                f"{total - done:,} passages are embedded again in the background; until then only words "
                "find them."
            )
    return Used(model_role, note)


def probe(engine: Engine, row: ModelRow, cancel: threading.Event, on_step: Callable[[str], None]) -> str:
    """Measure a language model, and store the result; returns a sentence about it."""
    from models.probe import probe as measure
    from models.probe import remember
    from models.protocols import GenerationCancelled
    from tui import assemble

    # The model in use is in memory already, and a second copy of it might not fit.
    settings = engine.settings().model_copy(update={"model": row.name})
    try:
        with engine.chat() if row.used else closing(assemble.open_chat(settings)) as model:
            remember(measure(model, cancel=cancel, on_step=on_step))
    except GenerationCancelled:
        return "Stopped."
    return f"{row.label} is measured."
