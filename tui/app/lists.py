"""Lines and lists that several screens show: facts in two columns, hanging lines, a marked list."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from textwrap import wrap
from typing import ClassVar

from rich.cells import cell_len
from textual import on
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from tui.terminal import one_line, padded

_QUIET = "$foreground 65%"
_NARROWEST = 12


def facts(rows: Sequence[tuple[str, str]], width: int, column: int = 0) -> list[Content]:
    """Names and texts in two columns, folded to ``width`` cells.

    With ``column`` 0 the names are as wide as the longest, and half the width at most.
    """
    widest = max((cell_len(name) for name, _ in rows), default=0) + 2
    column = column or max(_NARROWEST, min(widest, width // 2))
    lines: list[Content] = []
    for name, text in rows:
        left = folded(name, column - 2)
        right = folded(text, max(width - column, _NARROWEST))
        for first, second in zip_longest(left, right, fillvalue=""):
            lines.append(Content.assemble((padded(first, column), _QUIET), second))
    return lines


def folded(text: str, width: int) -> list[str]:
    """``text`` in lines of at most ``width`` cells: wide characters, as of Chinese, take two."""
    line = one_line(text)
    if line.isascii():
        return wrap(line, width)
    return [part.plain.rstrip() for part in Content(line).wrap(width)]


def titled(title: str, lines: Sequence[Content | str]) -> list[Content]:
    """The lines under a title, and an empty one after them."""
    return [
        Content.styled(title, "bold $primary"),
        *(Content(x) if isinstance(x, str) else x for x in lines),
        Content(""),
    ]


def gauge(share: float, width: int) -> Content:
    """A share from 0 to 1 as a bar of ``width`` cells."""
    full = round(min(max(share, 0.0), 1.0) * width)
    return Content.assemble(("━" * full, "$primary"), ("┄" * (width - full), "$foreground 40%"))


_NARROWEST_TEXT = 16
_PADDING = 2  # cells that a list keeps free beside its entries


class HangingList(OptionList):
    """A list whose entries are folded by `hanging` and redrawn when the width changes.

    An entry always has some cells: Textual cannot draw one without.
    """

    DEFAULT_CSS = "HangingList { min-width: 8; }"

    def __init__(self, *, classes: str | None = None) -> None:
        super().__init__(markup=False, classes=classes)
        self.width = 0
        """Cells an entry has, as it was last drawn."""

    def on_resize(self) -> None:
        if self.scrollable_content_region.width - _PADDING != self.width:
            self.redraw()

    def redraw(self) -> None:
        """Draw every entry for the current width."""
        self.width = self.scrollable_content_region.width - _PADDING
        self.draw()

    def draw(self) -> None:
        """Fold the entries to `width`; there may be none yet."""
        raise NotImplementedError


def hanging(lead: str, text: str, width: int) -> str:
    """``lead`` and ``text``, folded to ``width`` cells with its further lines indented by the lead.

    A list that is not laid out yet has no width, and is drawn again when it has.
    """
    indent = cell_len(lead)
    lines = folded(text, max(width - indent, _NARROWEST_TEXT)) or [""]
    return f"\n{' ' * indent}".join([f"{lead}{lines[0]}", *lines[1:]])


MARK = "▸ "
_ROW_PADDING = 1  # cells that are kept free beside the rows


@dataclass(frozen=True, slots=True)
class Line:
    """One row: its name, "" for a heading, and how it is drawn in so many cells."""

    id: str
    drawn: Callable[[int], Content]


def heading(title: str, *, first: bool) -> Line:
    """The title of the rows after it, with an empty line before it unless it is the ``first``."""
    content = Content.styled(title, "bold $primary")
    return Line("", lambda _width: content if first else Content("\n") + content)


class MarkedList(OptionList):
    """Rows, one of them under the cursor; redrawn when the width changes."""

    DEFAULT_CSS = """
    MarkedList {
        height: auto; border: none; padding: 0 0 0 1; background: $background; overflow-x: hidden;
    }
    MarkedList:focus { border: none; background-tint: $background 0%; }
    MarkedList > .option-list--option-highlighted, MarkedList:focus > .option-list--option-highlighted {
        background: $background; color: $foreground; text-style: none;
    }
    MarkedList:focus > .option-list--option-highlighted { background: $panel; }
    MarkedList > .option-list--option-disabled { color: $foreground; }
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
        rows = {line.id: at for at, line in enumerate(lines) if line.id}
        kept = next((rows[name] for name in (self.chosen, first) if name in rows), None)
        self._entries = lines
        self._marked = kept if kept is not None else next(iter(rows.values()), None)
        self.set_options(
            Option(self._drawn(at), id=line.id or None, disabled=not line.id)
            for at, line in enumerate(lines)
        )
        self.highlighted = self._marked

    def go_to(self, name: str) -> None:
        """Put the cursor on a row, if it is there."""
        at = next((at for at, line in enumerate(self._entries) if line.id == name), None)
        if at is not None:
            self.highlighted = at

    def on_resize(self) -> None:
        self._redraw(range(len(self._entries)))

    @on(OptionList.OptionHighlighted)
    def _move_mark(self) -> None:
        before, self._marked = self._marked, self.highlighted
        self._redraw(at for at in (before, self._marked) if at is not None and at < len(self._entries))

    def _redraw(self, which: Iterable[int]) -> None:
        for at in which:
            self.replace_option_prompt_at_index(at, self._drawn(at))

    def _drawn(self, at: int) -> Content:
        line = self._entries[at]
        width = max(self.scrollable_content_region.width - _ROW_PADDING, 40)
        if not line.id:
            return line.drawn(width)
        mark = (MARK, "bold $accent") if at == self._marked else "  "
        return Content.assemble(mark, line.drawn(width - len(MARK)))


class ScreenRows(MarkedList, inherit_bindings=False):
    """The rows of a screen; Enter is the screen's, so that it can be remapped."""

    DEFAULT_CSS = "ScreenRows { height: 1fr; scrollbar-gutter: stable; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        binding
        for binding in OptionList.BINDINGS
        if not (isinstance(binding, Binding) and binding.key == "enter")
    ]


class Offers(HangingList):
    """Rows under an answer; the first is under the cursor once the list has the focus."""

    DEFAULT_CSS = """
    Offers { height: auto; border: none; background: transparent; padding: 1 0 1 2; }
    Offers:focus { border: none; }
    Offers > .option-list--option-highlighted { background: transparent; text-style: none; }
    Offers:focus > .option-list--option-highlighted { background: $panel; text-style: bold; }
    """

    def __init__(self) -> None:
        super().__init__(classes="hidden")

    def draw(self) -> None:
        at = self.highlighted
        self.set_options(self.rows())
        self.highlighted = at if at is not None and at < self.option_count else None

    def rows(self) -> Iterable[Option]:
        raise NotImplementedError

    def on_focus(self) -> None:
        if self.highlighted is None and self.option_count:
            self.highlighted = 0
