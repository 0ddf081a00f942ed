"""Work on models for worker threads, and the view of a download."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from textual.content import Content

from tui.app.lists import Drawn, DrawnText, gauge
from tui.app.work import Job
from tui.terminal import clean, one_line, size

if TYPE_CHECKING:
    from models.catalogue import CatalogueRole
    from models.fetch.files import PullProgress
    from tui.app.engine import Engine
    from tui.models.actions import ModelRow

_NOTES: Final = 3


class PullJob(Job["PullProgress"]):
    """Fetches catalogue models one after the other; stopping it keeps what was fetched."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(self._fetch)
        self.names = names

    def _fetch(self, cancel: threading.Event) -> None:
        from models.catalogue import entry
        from models.fetch.files import PullCancelled
        from models.fetch.pull import pull, shared_sources

        with suppress(PullCancelled), shared_sources() as sources:
            for name in self.names:
                pull(entry(name), progress=self.put, cancel=cancel, sources=sources)


class PullView(DrawnText):
    """Name, phase, bar, and the sources that were given up; hidden while nothing is fetched."""

    DEFAULT_CSS = "PullView.-still { display: none; }"

    def __init__(self) -> None:
        super().__init__(id="pull", classes="-still")
        self._progress: PullProgress | None = None
        self._notes: list[str] = []

    def take(self, reports: Iterable[PullProgress]) -> None:
        for report in reports:
            if report.given_up:
                self._notes = [*self._notes, clean(report.given_up)][-_NOTES:]
            self._progress = report
        self.remove_class("-still")
        self.update(Drawn(self._draw))

    def clear(self) -> None:
        self._progress, self._notes = None, []
        self.add_class("-still")

    def _draw(self, width: int) -> Content:
        progress = self._progress
        if progress is None:
            return Content("")
        from tui.models.pulling import PHASES

        source = f", from {progress.source}" if progress.phase == "fetching" and progress.source else ""
        head = f"{progress.model}: {PHASES[progress.phase]}{source}"
        share = progress.done / max(1, progress.total)
        words = f" {share:4.0%} of {size(progress.total)}"
        lines = [
            Content(head).stylize("bold", 0, len(progress.model)),
            gauge(share, max(width - len(words), 8)) + words,
            *(Content(f"! {one_line(note, width - 2)}").stylize("$warning") for note in self._notes),
        ]
        return Content("\n").join(lines)


@dataclass(frozen=True, slots=True)
class Unconfirmed:
    """The user has to confirm a model on another machine, to which documents would be sent."""

    url: str


def use(engine: Engine, name: str, role: CatalogueRole | None, *, confirmed: bool) -> str | Unconfirmed:
    """Put a model into the settings, reload the engine, and return what follows from that; "" if nothing.

    A model on another machine is not used until the user agrees that documents are sent there. Raises
    `ModelMissing` if it is not here, `BadSetting`.
    """
    from models.servers.kinds import split
    from traces.library import Library
    from tui.assemble import unconfirmed_address
    from tui.models.actions import choose
    from tui.settings.settings import put

    kind, _ = split(name)
    if url := unconfirmed_address(engine.reload(), kind):
        if not confirmed:
            return Unconfirmed(url)
        put(f"{kind}_confirmed", url)
    role, _ = choose(name, role)
    engine.reload()
    if role == "embedder":
        done, total = Library(engine.store).embedded(engine.embedder().name)
        if done < total:
            count = f"{total - done:,} passages are embedded again in the background"
            return f"{count}; until then only words find them."
    return ""


class ProbeJob(Job[str]):
    """Measures a language model, tells each step in words, and stores the result."""

    def __init__(self, engine: Engine, row: ModelRow) -> None:
        super().__init__(self._measure)
        self.row = row
        self._engine = engine

    def _measure(self, cancel: threading.Event) -> None:
        from models.probe import probe, remember
        from models.protocols import GenerationCancelled
        from tui import assemble

        engine, row = self._engine, self.row
        # The model in use is in memory already, and a second copy of it might not fit.
        settings = engine.settings().model_copy(update={"model": row.name})
        opened = engine.chat() if row.used else closing(assemble.open_chat(settings))
        with suppress(GenerationCancelled), opened as model:
            remember(probe(model, cancel=cancel, on_step=self.put))
