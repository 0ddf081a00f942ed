"""A pull of models under way: the work for a thread, its messages, and the lines that show it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from textual.content import Content
from textual.dom import DOMNode
from textual.message import Message
from textual.widgets import Static

from tui.app.work import Failed, failed
from tui.terminal import clean, one_line, size

if TYPE_CHECKING:
    from models.fetch import PullProgress

_PHASES: Final = {
    "waiting": "waiting",
    "fetching": "fetching",
    "checking": "checking the sha256",
    "done": "in place",
}
_NOTES: Final = 3
_SHARES: Final = 500


class PullTold(Message):
    """How far a pull has come; ``given_up`` says which source was given up and why, "" if none was."""

    def __init__(self, progress: PullProgress, given_up: str) -> None:
        super().__init__()
        self.progress = progress
        self.given_up = given_up


class PullEnded(Message):
    """The models are in place, or the pull was stopped, or it failed."""

    def __init__(
        self, names: Sequence[str], *, stopped: bool = False, failure: Failed | None = None
    ) -> None:
        super().__init__()
        self.names = names
        self.stopped = stopped
        self.failure = failure


def pull_models(node: DOMNode, names: Sequence[str], cancel: threading.Event) -> PullEnded:
    """Fetch catalogue models one after the other, telling ``node``; for a worker.

    What goes wrong is in the message, so that who shows the pull knows that it has ended.
    """
    from models import fetch
    from models.catalogue import entry
    from models.fetch import PullCancelled
    from tui.pulling import GivenUp

    try:
        with fetch.shared_sources() as sources:
            for name in names:
                told, last = GivenUp(), ("", -1)

                def tell(progress: PullProgress, told: GivenUp = told) -> None:
                    nonlocal last
                    given_up = told.reason(progress)
                    # A block a message would be a thousand of them; what shows is a share of the bar.
                    now = (progress.phase, _SHARES * progress.done // max(1, progress.total))
                    if now != last or given_up or progress.phase != "fetching":
                        last = now
                        node.post_message(PullTold(progress, given_up))

                fetch.pull(entry(name), progress=tell, cancel=cancel, sources=sources)
    except PullCancelled:
        return PullEnded(names, stopped=True)
    except BaseException as error:  # noqa: BLE001 - told as a message: a worker never closes the app
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

    def show(self, told: PullTold) -> None:
        """Draw how far it is."""
        self._progress = told.progress
        if told.given_up:
            self._notes = [*self._notes, told.given_up][-_NOTES:]
        self.remove_class("-still")
        self.redraw()

    def clear(self) -> None:
        """Nothing is fetched any more."""
        self._progress = None
        self._notes = []
        self.add_class("-still")

    def on_resize(self) -> None:
        """The bar is as long as there is room."""
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
    room = max(width - len(words), 8)
    full = round(min(max(share, 0.0), 1.0) * room)
    return Content.assemble(("━" * full, "$primary"), ("┄" * (room - full), "$foreground 40%"), words)
