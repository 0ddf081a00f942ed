"""A list whose row under the cursor has a sign before it: what is chosen is not told by colour alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from textual import on
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

MARK = "▸ "
_PADDING = 1  # cells that are kept free beside the rows


@dataclass(frozen=True, slots=True)
class Line:
    """One row: its name, and how it is drawn in so many cells."""

    id: str
    drawn: Callable[[int], Content]


class MarkedList(OptionList):
    """Rows that one of is under the cursor; they are drawn anew for another width."""

    DEFAULT_CSS = """
    MarkedList {
        height: auto; border: none; padding: 0 0 0 1; background: $background; overflow-x: hidden;
    }
    MarkedList:focus { border: none; background-tint: $background 0%; }
    MarkedList > .option-list--option-highlighted, MarkedList:focus > .option-list--option-highlighted {
        background: $background; color: $foreground; text-style: none;
    }
    MarkedList:focus > .option-list--option-highlighted { background: $panel; }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, markup=False)
        self._entries: Sequence[Line] = ()
        self._marked: int | None = None

    @property
    def chosen(self) -> str:
        """Name of the row under the cursor; "" if there is none."""
        at = self.highlighted
        return self._entries[at].id if at is not None and at < len(self._entries) else ""

    def show(self, lines: Sequence[Line], first: str = "") -> None:
        """Draw other rows, the cursor where it was; at first on ``first``."""
        wanted = self.chosen or first
        self._entries = lines
        self._marked = next(
            (at for at, line in enumerate(lines) if line.id == wanted), 0 if lines else None
        )
        self.set_options([Option(self._drawn(at), id=line.id) for at, line in enumerate(lines)])
        self.highlighted = self._marked

    def go_to(self, name: str) -> None:
        """Put the cursor on a row, if it is there."""
        at = next((at for at, line in enumerate(self._entries) if line.id == name), None)
        if at is not None:
            self.highlighted = at

    def on_resize(self) -> None:
        """There is another width."""
        self._redraw(range(len(self._entries)))

    @on(OptionList.OptionHighlighted)
    def _move_mark(self) -> None:
        before, self._marked = self._marked, self.highlighted
        self._redraw(at for at in (before, self._marked) if at is not None and at < len(self._entries))

    def _redraw(self, which: Iterable[int]) -> None:
        for at in which:
            self.replace_option_prompt_at_index(at, self._drawn(at))

    def _drawn(self, at: int) -> Content:
        width = max(self.scrollable_content_region.width - _PADDING, 40)
        mark = (MARK, "bold $accent") if at == self._marked else "  "
        return Content.assemble(mark, self._entries[at].drawn(width - len(MARK)))
