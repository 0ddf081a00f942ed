"""Which of the stored runs the list shows: those of a status, those with some words in them."""

from __future__ import annotations

from collections.abc import Sequence

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Input, Static

_PAUSE = 0.15  # seconds without a key before the search begins
STATUSES: Sequence[tuple[str, tuple[str, ...]]] = (
    ("any", ()),
    ("answered", ("answered",)),
    ("not found", ("not_found", "stopped")),
    ("unfinished", ("running", "waiting")),
    ("cancelled", ("cancelled",)),
    ("failed", ("failed",)),
    ("rejected", ("rejected",)),
)
"""What can be chosen, with the statuses of the store that it stands for."""


class RunFilter(Horizontal):
    """One line: status, words, and how many runs fit.

    Attributes:
        text: Words that are looked for.
        statuses: Statuses of the store; any if empty.
    """

    DEFAULT_CSS = """
    RunFilter { height: 1; padding: 0 1; }
    RunFilter #run-status { width: auto; padding-right: 2; }
    RunFilter #run-search { width: 1fr; height: 1; border: none; padding: 0 1; }
    RunFilter #run-count { width: auto; padding-left: 2; color: $foreground 65%; }
    """

    class Changed(Message):
        """Other runs are wanted."""

    class Done(Message):
        """Nothing more is typed: the list may have the keys."""

    def __init__(self) -> None:
        super().__init__()
        self.text = ""
        self._status = 0
        self._typed: Timer | None = None

    def compose(self) -> ComposeResult:
        """Status, search, count."""
        yield Static(id="run-status")
        yield Input(placeholder="search (/)", id="run-search", compact=True)
        yield Static("…", id="run-count")

    def on_mount(self) -> None:
        """Every run at first."""
        self._show_status()

    @property
    def statuses(self) -> tuple[str, ...]:
        """As `traces.runs.Runs.search` takes them."""
        return STATUSES[self._status][1]

    @property
    def active(self) -> bool:
        """Whether some runs are left out."""
        return bool(self._status or self.text.strip())

    @property
    def typing(self) -> bool:
        """Whether the search has the keys."""
        return self.query_one(Input).has_focus

    def type(self) -> None:
        """Give the search the keys."""
        self.screen.set_focus(self.query_one(Input))  # at once: what is typed next belongs there

    def turn(self, by: int) -> None:
        """The next status, or the one before."""
        self._status = (self._status + by) % len(STATUSES)
        self._show_status()
        self.post_message(self.Changed())

    def clear(self) -> None:
        """Every run again."""
        self._status, self.text = 0, ""
        self.query_one(Input).value = ""
        self._show_status()
        self.post_message(self.Changed())

    def tell(self, total: int | None) -> None:
        """How many runs fit; None if that could not be found out."""
        told = "✗" if total is None else f"{total:,} run{'s' * (total != 1)}{' found' * self.active}"
        self.query_one("#run-count", Static).update(told)

    @on(Input.Changed)
    def _type(self, event: Input.Changed) -> None:
        event.stop()
        if event.value.split() == self.text.split():
            return
        self.text = event.value
        if self._typed is not None:
            self._typed.stop()
        self._typed = self.set_timer(_PAUSE, lambda: self.post_message(self.Changed()))

    @on(Input.Submitted)
    def _typed_enter(self, event: Input.Submitted) -> None:
        event.stop()
        self.post_message(self.Done())

    def _show_status(self) -> None:
        style = "bold $primary" if self._status else ""
        told = Content.assemble("status ", (f"‹{STATUSES[self._status][0]}›", style))
        self.query_one("#run-status", Static).update(told.stylize("@click=screen.status(1)"))
