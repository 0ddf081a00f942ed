"""What several screens use: text drawn for its width, facts in two columns, lists, sheets of lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from textwrap import wrap
from typing import ClassVar

from rich.cells import cell_len
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.css.styles import RulesMap
from textual.geometry import Size
from textual.selection import Selection
from textual.strip import Strip
from textual.style import Style
from textual.visual import RenderOptions, Visual
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from tui.terminal import one_line, padded

QUIET = "$foreground 65%"
_NARROWEST = 12


class Drawn(Visual):
    """Content that a function draws for the width at hand, and again for another one."""

    def __init__(self, draw: Callable[[int], Content]) -> None:
        self._draw = draw
        self._width = 80  # until it is known
        self._content: Content | None = None

    def __str__(self) -> str:
        return self._at(self._width).plain

    def _at(self, width: int) -> Content:
        if self._content is None or width != self._width:
            self._width, self._content = width, self._draw(width)
        return self._content

    def render_strips(
        self, width: int, height: int | None, style: Style, options: RenderOptions
    ) -> list[Strip]:
        return self._at(width).render_strips(width, height, style, options)

    def get_optimal_width(self, rules: RulesMap, container_width: int) -> int:
        return container_width

    def get_height(self, rules: RulesMap, width: int) -> int:
        return self._at(width).get_height(rules, width)


class DrawnText(Static):
    """A `Drawn` text, which can be selected."""

    def get_selection(self, selection: Selection) -> tuple[str, str]:
        return selection.extract(str(self.content)), "\n"


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


def titled(title: str, lines: Sequence[Content]) -> list[Content]:
    """The lines under a title, followed by an empty one."""
    return [Content.styled(title, "bold $primary"), *lines, Content("")]


def gauge(share: float, width: int, style: str = "$primary") -> Content:
    """A share from 0 to 1 as a bar of ``width`` cells."""
    full = round(min(max(share, 0.0), 1.0) * width)
    return Content.assemble(("━" * full, style), ("┄" * (width - full), "$foreground 40%"))


_NARROWEST_TEXT = 16


def hanging(lead: str, text: str, width: int) -> Content:
    """``lead`` and ``text``, wrapped to ``width`` cells; further lines are indented by the lead."""
    indent = cell_len(lead)
    lines = folded(text, max(width - indent, _NARROWEST_TEXT)) or [""]
    return Content(f"\n{' ' * indent}".join([f"{lead}{lines[0]}", *lines[1:]]))


class RowList(OptionList):
    """A list whose rows are `Drawn`.

    It has a minimum width, because Textual cannot draw a row without cells.
    """

    DEFAULT_CSS = """
    RowList { min-width: 8; }
    RowList > .option-list--option { padding: 0 2 0 0; }
    """

    def _size_updated(
        self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True
    ) -> bool:
        is_new = super()._size_updated(size, virtual_size, container_size, layout)
        if is_new:  # a Resize event would come after the frame in which the width is new
            self._clear_caches()
        return is_new

    def put(self, options: Iterable[Option]) -> None:
        """Replace the rows; the cursor stays where it is."""
        cursor = self.highlighted
        self.set_options(options)
        self.highlighted = cursor if cursor is not None and cursor < self.option_count else None


MARK = "▸ "


@dataclass(frozen=True, slots=True)
class Line:
    """One row: its name, "" for a heading, and the function that draws it in so many cells."""

    id: str
    draw: Callable[[int], Content]


def heading(title: str, *, first: bool) -> Line:
    """A title for the rows below, with an empty line before it unless it is the ``first``."""
    content = Content.styled(title, "bold $primary")
    return Line("", lambda _width: content if first else Content("\n") + content)


class MarkedList(RowList, inherit_bindings=False):
    """Rows with a mark at the cursor; the keys to the left and right are those of its surroundings."""

    BINDINGS: ClassVar[list[BindingType]] = OptionList.BINDINGS
    DEFAULT_CSS = """
    MarkedList {
        height: auto; border: none; padding: 0 0 0 1; background: $background; overflow-x: hidden;
    }
    MarkedList:focus { border: none; background-tint: $background 0%; }
    MarkedList > .option-list--option { padding: 0 1 0 0; }
    MarkedList > .option-list--option-highlighted, MarkedList:focus > .option-list--option-highlighted {
        background: $background; color: $foreground; text-style: none;
    }
    MarkedList:focus > .option-list--option-highlighted { background: $panel; }
    MarkedList > .option-list--option-disabled { color: $foreground; }
    """

    NARROWEST: ClassVar[int] = 40  # cells for which a row is drawn
    _entries: Sequence[Line] = ()
    _marked_row: int | None = None

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
            Option(self._drawn(index), id=line.id or None, disabled=not line.id)
            for index, line in enumerate(lines)
        )
        self.highlighted = self._marked_row

    @on(OptionList.OptionHighlighted)
    def _move_mark(self) -> None:
        previous, self._marked_row = self._marked_row, self.highlighted
        for index in (previous, self._marked_row):
            if index is not None and index < len(self._entries):
                self.replace_option_prompt_at_index(index, self._drawn(index))

    def redraw(self, name: str) -> None:
        """Draw a row again, since what it says has changed."""
        index = next(index for index, line in enumerate(self._entries) if line.id == name)
        self.replace_option_prompt_at_index(index, self._drawn(index))

    def _drawn(self, index: int) -> Drawn:
        return Drawn(partial(self._draw_row, index))

    def _draw_row(self, index: int, width: int) -> Content:
        line, width = self._entries[index], max(width, self.NARROWEST)
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

    @on(events.Resize)
    def _keep_cursor_in_view(self) -> None:
        """Scroll to the cursor: what is told of its row may take the row's place."""
        self.scroll_to_highlight()


class Notice(Static):
    """A few words, hidden while there are none; an error begins with ✗."""

    def __init__(self, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, markup=False)
        self.display = False

    def tell(self, words: Content | str) -> None:
        self.update(words)
        self.set_class(str(words).startswith("✗"), "error")
        self.display = bool(words)


class Sheet(VerticalScroll):
    """Lines that are drawn for its width, and again for another one."""

    DEFAULT_CSS = "Sheet { scrollbar-gutter: stable; }"
    NARROWEST: ClassVar[int] = 40  # cells for which the lines are drawn

    def compose(self) -> ComposeResult:
        yield DrawnText(Drawn(self._draw))

    def redraw(self) -> None:
        if self.is_mounted:
            self.query_one(DrawnText).update(Drawn(self._draw))

    def lines(self, width: int) -> Iterable[Content]:
        """What to show, in lines of at most ``width`` cells."""
        raise NotImplementedError

    def _draw(self, width: int) -> Content:
        return Content("\n").join(self.lines(max(width, self.NARROWEST)))
