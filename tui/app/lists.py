"""What several screens use: facts in two columns, hanging lines, lists, sheets of lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from textwrap import wrap
from typing import ClassVar

from rich.cells import cell_len
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.events import Resize
from textual.geometry import Size
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from tui.terminal import one_line, padded

QUIET = "$foreground 65%"
_NARROWEST = 12


def facts(
    rows: Sequence[tuple[str, Content | str]], width: int, column: int = 0, style: str = QUIET
) -> list[Content]:
    """Names and texts in two columns, wrapped to ``width`` cells.

    With ``column`` 0, the first column is as wide as the longest name, at most half the width. ``style`` is
    that of the names.
    """
    widest = max((cell_len(name) for name, _ in rows), default=0) + 2
    column = column or max(_NARROWEST, min(widest, width // 2))
    lines: list[Content] = []
    for name, text in rows:
        room = max(width - column, _NARROWEST)
        right: Sequence[str | Content] = folded(text, room) if isinstance(text, str) else text.wrap(room)
        for first, second in zip_longest(folded(name, column - 2), right, fillvalue=""):
            lines.append(Content.assemble((padded(first, column), style), second))
    return lines


def folded(text: str, width: int) -> list[str]:
    """``text`` in lines of at most ``width`` cells; wide characters, such as Chinese, take two."""
    line = one_line(text)
    if line.isascii():
        return wrap(line, width)
    return [part.plain.rstrip() for part in Content(line).wrap(width)]


def titled(title: str, lines: Sequence[Content | str]) -> list[Content]:
    """The lines under a title, followed by an empty one."""
    return [
        Content.styled(title, "bold $primary"),
        *(Content(line) if isinstance(line, str) else line for line in lines),
        Content(""),
    ]


def gauge(share: float, width: int) -> Content:
    """A share from 0 to 1 as a bar of ``width`` cells."""
    full = round(min(max(share, 0.0), 1.0) * width)
    return Content.assemble(("━" * full, "$primary"), ("┄" * (width - full), "$foreground 40%"))


_NARROWEST_TEXT = 16
_PADDING = 2  # cells beside the entries of a list


class FittedList(OptionList):
    """A list that draws its entries for its width, and again before the first frame of another width."""

    _fitted = -1  # the width for which it was drawn last

    def _size_updated(
        self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True
    ) -> bool:
        is_new = super()._size_updated(size, virtual_size, container_size, layout)
        # A Resize event would come after the frame in which the width is new.
        if size and self.scrollable_content_region.width != self._fitted:
            self._fitted = self.scrollable_content_region.width
            self.redraw()
        return is_new

    def redraw(self) -> None:
        """Draw every entry for the current width; there may be none yet."""
        raise NotImplementedError


class HangingList(FittedList):
    """A list whose entries are wrapped by `hanging`.

    It has a minimum width, because Textual cannot draw an entry without cells.
    """

    DEFAULT_CSS = "HangingList { min-width: 8; }"

    def __init__(self, *, classes: str | None = None) -> None:
        super().__init__(markup=False, classes=classes)
        self.width = 0
        """Cells of an entry, as last drawn."""

    def redraw(self) -> None:
        self.width = self.scrollable_content_region.width - _PADDING
        self.draw()

    def draw(self) -> None:
        """Draw the entries, wrapped to `width`; there may be none yet."""
        raise NotImplementedError

    def put(self, options: Iterable[Option]) -> None:
        """Replace the entries; the cursor stays where it is."""
        cursor = self.highlighted
        self.set_options(options)
        self.highlighted = cursor if cursor is not None and cursor < self.option_count else None


def hanging(lead: str, text: str, width: int) -> str:
    """``lead`` and ``text``, wrapped to ``width`` cells; further lines are indented by the lead.

    ``width`` is 0 in a list that is not laid out yet; it is drawn again later.
    """
    indent = cell_len(lead)
    lines = folded(text, max(width - indent, _NARROWEST_TEXT)) or [""]
    return f"\n{' ' * indent}".join([f"{lead}{lines[0]}", *lines[1:]])


MARK = "▸ "
_ROW_PADDING = 1  # cells beside the rows


@dataclass(frozen=True, slots=True)
class Line:
    """One row: its name, "" for a heading, and the function that draws it in so many cells."""

    id: str
    draw: Callable[[int], Content]


def heading(title: str, *, first: bool) -> Line:
    """A title for the rows below, with an empty line before it unless it is the ``first``."""
    content = Content.styled(title, "bold $primary")
    return Line("", lambda _width: content if first else Content("\n") + content)


class MarkedList(FittedList, inherit_bindings=False):
    """Rows with a mark at the cursor; the keys to the left and right are those of its surroundings."""

    BINDINGS: ClassVar[list[BindingType]] = OptionList.BINDINGS
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

    NARROWEST: ClassVar[int] = 40  # cells for which a row is drawn

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, markup=False)
        self._entries: Sequence[Line] = ()
        self._marked_row: int | None = None

    @property
    def chosen(self) -> str:
        """Name of the row under the cursor; "" if there is none."""
        index = self.highlighted
        return self._entries[index].id if index is not None and index < len(self._entries) else ""

    def show(self, lines: Sequence[Line], first: str = "") -> None:
        """Show new rows; the cursor stays on its row, and starts on ``first``."""
        rows = {line.id: index for index, line in enumerate(lines) if line.id}
        cursor = next((rows[name] for name in (self.chosen, first) if name in rows), None)
        self._entries = lines
        self._marked_row = cursor if cursor is not None else next(iter(rows.values()), None)
        self.set_options(
            Option(self._draw_line(index), id=line.id or None, disabled=not line.id)
            for index, line in enumerate(lines)
        )
        self.highlighted = self._marked_row

    def go_to(self, name: str) -> None:
        """Put the cursor on a row, if it is there."""
        index = next((index for index, line in enumerate(self._entries) if line.id == name), None)
        if index is not None:
            self.highlighted = index

    def redraw(self) -> None:
        self._redraw(range(len(self._entries)))

    @on(OptionList.OptionHighlighted)
    def _move_mark(self) -> None:
        previous, self._marked_row = self._marked_row, self.highlighted
        self._redraw(
            index
            for index in (previous, self._marked_row)
            if index is not None and index < len(self._entries)
        )

    def _redraw(self, indexes: Iterable[int]) -> None:
        for index in indexes:
            self.replace_option_prompt_at_index(index, self._draw_line(index))

    def _draw_line(self, index: int) -> Content:
        line = self._entries[index]
        width = max(self.scrollable_content_region.width - _ROW_PADDING, self.NARROWEST)
        if not line.id:
            return line.draw(width)
        mark = (MARK, "bold $accent") if index == self._marked_row else "  "
        return Content.assemble(mark, line.draw(width - len(MARK)))


class ScreenRows(MarkedList, inherit_bindings=False):
    """The rows of a screen, which handles Enter itself, so that it can be remapped."""

    DEFAULT_CSS = "ScreenRows { height: 1fr; scrollbar-gutter: stable; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        binding
        for binding in OptionList.BINDINGS
        if not (isinstance(binding, Binding) and binding.key == "enter")
    ]


class Notice(Static):
    """A few words, hidden while there are none; an error begins with ✗."""

    def __init__(self, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, markup=False)
        self.display = False

    def tell(self, words: Content | str) -> None:
        """Show these words, or nothing."""
        self.update(words)
        self.set_class(str(words).startswith("✗"), "error")
        self.display = bool(words)


class Sheet(VerticalScroll):
    """Lines that are drawn for its width, and again for another one."""

    DEFAULT_CSS = "Sheet { scrollbar-gutter: stable; } Sheet Static { height: auto; }"
    NARROWEST: ClassVar[int] = 40  # cells for which the lines are drawn

    def compose(self) -> ComposeResult:
        yield Static(markup=False)

    @on(Resize)
    def redraw(self) -> None:
        """Draw the lines."""
        if self.is_mounted:
            width = max(self.scrollable_content_region.width, self.NARROWEST)
            self.query_one(Static).update(Content("\n").join(self.lines(width)))

    def lines(self, width: int) -> Iterable[Content]:
        """What to show, in lines of at most ``width`` cells."""
        raise NotImplementedError


class Offers(HangingList):
    """Rows under an answer; the cursor starts on the first once the list has the focus."""

    DEFAULT_CSS = """
    Offers { height: auto; border: none; background: transparent; padding: 1 0 1 2; }
    Offers:focus { border: none; }
    Offers > .option-list--option-highlighted { background: transparent; text-style: none; }
    Offers:focus > .option-list--option-highlighted { background: $panel; text-style: bold; }
    """

    def __init__(self) -> None:
        super().__init__(classes="hidden")

    def draw(self) -> None:
        self.put(self.rows())

    def rows(self) -> Iterable[Option]:
        raise NotImplementedError

    def on_focus(self) -> None:
        if self.highlighted is None and self.option_count:
            self.highlighted = 0
