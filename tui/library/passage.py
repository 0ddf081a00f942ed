"""A passage in its document, the supporting sentence marked, a picture of its page, and its original."""

from __future__ import annotations

import math
import os
import re
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from textual import events, on
from textual.app import App, ComposeResult
from textual.containers import Container, Horizontal, Vertical
from textual.content import Content
from textual.dom import DOMNode
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.screen import ModalScreen
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.visual import Visual
from textual.widget import Widget
from textual.widgets import Static

from agent.documents.table_text import SEPARATOR, parts, row_cells
from agent.text.sentences import sentences
from traces.paths import originals_dir
from traces.records import Document, Passage
from tui.app.base import KeyLine
from tui.app.find import FindBar
from tui.app.keys import bindings
from tui.app.reach import deepthink
from tui.app.work import in_background
from tui.terminal import clean, one_line

if TYPE_CHECKING:
    from PIL.Image import Image

    from agent.documents.document import ParsedDocument
    from agent.state import Candidate, Evidence
    from tui.app.engine import Engine


_PICTURED = "-pictured"  # class of a screen with a picture beside its text
_LONGEST_SIDE = 1400  # pixels: enough for half of a large screen


class PagePicture(Container):
    """A picture of one page, drawn by a ``widget`` for this terminal; hidden if there is none."""

    def __init__(self, widget: type[Widget]) -> None:
        super().__init__()
        self._widget = widget
        self._page: tuple[str, int] | None = None

    def compose(self) -> ComposeResult:
        yield self._widget(id="page")

    def show(self, document: Document | None, page: int | None) -> None:
        """Show a page of a document, counted from 1; hide the picture for types without page images."""
        from agent.documents.reading import BY_TYPE

        kind = BY_TYPE.get(document.media_type) if document is not None else None
        if document is None or kind is None or not kind.has_scans:
            self._page = None
            self.screen.remove_class(_PICTURED)
        elif self._page != (document.source, page or 1):
            self._page = (document.source, page or 1)
            work = partial(_draw_page, *self._page)
            in_background(self, work, self._draw, group="picture", exclusive=True)

    def _draw(self, picture: Image | None) -> None:
        self.screen.set_class(picture is not None, _PICTURED)
        if picture is not None:
            setattr(self.query_one(self._widget), "image", picture)  # noqa: B010 - textual-image's


def _draw_page(source: str, page: int) -> Image | None:
    from agent.documents.document import UnreadableDocument
    from agent.documents.scanning import page_picture

    try:
        data = None if "://" in source else content_of(Path(source))
        if data is None:
            return None
        pixels = page_picture(Path(source).name, data, page, _LONGEST_SIDE)
    except UnreadableDocument:  # it has changed since it was read; its passages are still shown
        return None
    from PIL import Image

    return Image.fromarray(pixels)


_LONG_ENOUGH = 12  # characters that a part needs to be searched for alone


def find_quote(text: str, quote: str) -> list[tuple[int, int]]:
    """Start and end of ``quote`` in ``text``, or of those of its sentences that are in it, in order.

    Ignores case, white space and the bars between table cells. An ellipsis ``…`` splits the quote into
    parts.
    """
    quoted_parts = [part for part in quote.split("…") if part.strip()]
    for pieces in (quoted_parts, [piece for part in quoted_parts for piece in sentences(part)]):
        spans: list[tuple[int, int]] = []
        for part in pieces:
            if len(pieces) == 1 or len(compact(part)) >= _LONG_ENOUGH:
                spans += find_words(text, part)[:1]
        if spans:
            return _merge_spans(spans)
    return []


def find_words(text: str, words: str) -> list[tuple[int, int]]:
    """Start and end of every occurrence of ``words`` in ``text``; ignores white space, bars and case."""
    letters = compact(words)
    pattern = re.compile(r"[\s|]*".join(map(re.escape, letters)), re.IGNORECASE)
    return [match.span() for match in pattern.finditer(text)] if letters else []


def compact(text: str) -> str:
    return "".join(text.split()).replace("|", "").lower()


def _merge_spans(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


_NUMBER = re.compile(r"[^\w]*[\d.,]+[^\w]*|[^\w]*|n/?a", re.IGNORECASE)
_GAP = 2  # columns between two cells


def align_table(text: str, width: int) -> str:
    """Align a table of lines with cells joined by `SEPARATOR`; unchanged if it would be too wide.

    Columns of numbers are aligned right. Headings longer than the values below them are wrapped. Lines
    without cells, such as the caption, stay as they are.
    """
    lines = text.splitlines()
    rows = [[cell.strip() for cell in row_cells(line)] if SEPARATOR in line else None for line in lines]
    table_rows = [row for row in rows if row]
    header_rows = next((i for i, row in enumerate(table_rows) if any(map(_is_number, row[1:]))), 0)
    names, body = table_rows[:header_rows], table_rows[header_rows:]
    count = max((len(row) for row in table_rows), default=0)
    widths: list[int] = []
    right: list[bool] = []
    for i in range(count):
        values = [row[i] for row in body if len(row) > i]
        words = [word for row in names if len(row) > i for word in row[i].split()]
        widths.append(max(map(cell_len, [*values, *words]), default=0))
        right.append(i > 0 and 2 * sum(map(_is_number, values)) >= len(values))
    if not count or sum(widths) + _GAP * (count - 1) > width:
        return text

    def format_row(row: list[str]) -> str:
        cells = (
            " " * (widths[i] - cell_len(cell)) + cell
            if right[i]
            else cell + " " * (widths[i] - cell_len(cell))
            for i, cell in enumerate(row)
        )
        return (" " * _GAP).join(cells).rstrip()

    output: list[str] = []
    for line, row in zip(lines, rows, strict=True):
        if row is None:
            output.append(line)
        elif any(row is name for name in names):
            cell_lines = [wrap(cell, widths[i]) if widths[i] else [] for i, cell in enumerate(row)]
            height = max(map(len, cell_lines))
            padded_cells = [[""] * (height - len(cell)) + cell for cell in cell_lines]
            output += [format_row(list(row_line)) for row_line in zip(*padded_cells, strict=True)]
        else:
            output.append(format_row(row))
    return "\n".join(output)


def list_table(table: Content, width: int) -> Content:
    """Each row as its first cell and, below it, the others beside the names of their columns.

    For a table that is too wide to be aligned.
    """
    lines = [line for line in table.split("\n") if line.plain.strip()]
    head, body = parts(table.plain)
    room = width - _GAP
    names: list[Content] = []
    rows: list[tuple[Content, list[Content]]] = []  # a line as it is, and what is below it
    for number, line in enumerate(lines):
        # As `row_cells`, with the marks.
        line_cells = Content.assemble(" " * line.plain.startswith("| "), line)
        first, *others = line_cells.split(SEPARATOR, allow_blank=True)
        if others and body and number < len(head):
            names = [first, *others]
            continue
        cells = [
            Content.assemble((names[column].plain, "$foreground 65%"), " ", cell)
            if 0 < column < len(names)
            else cell
            for column, cell in enumerate((first, *others))
            if cell.plain.strip()
        ]
        rows.append((cells[0].stylize("bold"), cells[1:]) if others else (line, []))
    lengths = [cell.cell_length for _, cells in rows for cell in cells]
    column_width = max((length for length in lengths if length <= room // 3), default=room) + _GAP
    output: list[Content] = []
    for label, cells in rows:
        output.append(label)
        free = 0  # columns to the right of the last cell
        for cell in cells:
            if cell.cell_length <= free:
                output[-1] = Content.assemble(
                    output[-1].pad_right(room - free + _GAP - output[-1].cell_length), cell
                )
            else:
                output += [line.pad_left(_GAP) for line in cell.wrap(room)]
                free = room
            free -= math.ceil((cell.cell_length + _GAP) / column_width) * column_width
    return Content("\n").join(output)


def _is_number(cell: str) -> bool:
    return bool(cell) and _NUMBER.fullmatch(cell) is not None


_NEAR = 20  # passages laid out before and after the target, and again near either end
_MARGIN = 2
_ABOVE = 3  # lines above the passage scrolled to


class DocumentText(ScrollView, can_focus=True):
    """Passages in reading order, one of them current, one possibly cited."""

    HELP = """\
### The document

The passages of the document in their order; keys are for the one with the bar in the margin. The supporting
sentence is between “ and ”.
"""
    DEFAULT_CSS = """
    DocumentText {
        background: $background; padding: 0 2 0 1; height: 1fr;
        overflow-x: hidden; scrollbar-gutter: stable;
    }
    """
    current: reactive[int] = reactive(0)  # index of the passage with a bar in the margin

    class Moved(Message):
        """Another passage became current."""

    def __init__(self, label: str, quote: str) -> None:
        super().__init__()
        self._label = label
        self._quote = quote
        self._target = -1
        self._words = ""
        self._passages: Sequence[Passage] = ()
        self._first = self._last = 0  # the range that is laid out, its end excluded
        self._lines: list[Strip] = []
        self._starts: list[int] = []  # the first line of each passage laid out
        # Lines by passage, whether it is current, and the words found in it.
        self._strip_cache: dict[tuple[int, bool, str], list[Strip]] = {}
        self._cached_for: tuple[object, ...] = ()

    def open(self, passages: Sequence[Passage], target: int) -> None:
        self._passages = passages
        self._target = target
        self._strip_cache = {}
        self.go_to(target)

    def go_to(self, index: int) -> None:
        if not self._passages:
            return
        index = min(max(index, 0), len(self._passages) - 1)
        self.set_reactive(DocumentText.current, index)
        if not self._first <= index < self._last:
            self._first, self._last = self._around(index)
        self._lay_out()
        top = self._starts[index - self._first]
        self.scroll_to(y=max(top - _ABOVE, 0), animate=False, force=True)
        self.post_message(self.Moved())

    def find(self, words: str, direction: int) -> tuple[int, int]:
        """Go to the next passage that contains ``words``, wrapping around, and mark them everywhere.

        ``direction`` 0 is forwards from the current passage, itself included. Returns its number among
        the passages that contain them, from 1, and their number; 0, 0 if none does.
        """
        self._words = words
        matches = [i for i in range(len(self._passages)) if self._is_match(i)]
        if not matches:
            self._lay_out()
            return 0, 0
        ahead = [i for i in matches if (i >= self.current if direction == 0 else i > self.current)]
        behind = [i for i in matches if i < self.current]
        self.go_to((behind or matches)[-1] if direction < 0 else (ahead or matches)[0])
        return matches.index(self.current) + 1, len(matches)

    def _is_match(self, index: int) -> bool:
        needle = compact(self._words)
        return bool(needle) and needle in compact(self._passages[index].text)

    @property
    def passage(self) -> Passage | None:
        return self._passages[self.current] if self._passages else None

    def _around(self, index: int) -> tuple[int, int]:
        return max(index - _NEAR, 0), min(index + _NEAR + 1, len(self._passages))

    def _lay_out(self) -> None:
        width = self.scrollable_content_region.width - _MARGIN
        if width <= 0:  # not on the screen yet; `on_resize` lays out again
            self._lines, self._starts = [], [0] * (self._last - self._first)
            return
        cached_for = (width, self.visual_style, self.app.theme, self._target)
        if cached_for != self._cached_for:
            self._strip_cache, self._cached_for = {}, cached_for
        self._lines, self._starts = [], []
        for index in range(self._first, self._last):
            self._starts.append(len(self._lines))
            words = self._words if self._is_match(index) else ""
            key = (index, index == self.current, words)
            if key not in self._strip_cache:
                self._strip_cache[key] = self._strips(index, width)
            self._lines.extend(self._strip_cache[key])
        self.virtual_size = Size(width + _MARGIN, len(self._lines))
        self.refresh()

    def _strips(self, index: int, width: int) -> list[Strip]:
        passage, before = self._passages[index], self._passages[index - 1] if index else None
        bar = "[b $primary]▌[/] " if index == self.current else "  "
        pieces: list[tuple[str, Content]] = []
        if passage.section and (before is None or before.section != passage.section):
            pieces.append(("  ", Content(one_line(passage.section)).stylize("bold $primary")))
        if passage.page and (before is None or before.page != passage.page):
            pieces.append(("  ", Content(f"p. {passage.page}").stylize("$foreground 55%")))
        if index == self._target and self._label:
            pieces.append((bar, Content(f"▸ {self._label}").stylize("bold $accent")))
        pieces.append((bar, self._highlight(index, width)))
        strips: list[Strip] = []
        for margin, content in pieces:
            edge = Visual.to_strips(
                self, Content.from_markup(margin), _MARGIN, 1, self.visual_style, apply_selection=False
            )
            lines = Visual.to_strips(
                self, content, width, None, self.visual_style, apply_selection=False, pad=True
            )
            strips.extend(Strip.join([edge[0], line]) for line in lines)
        return [*strips, Strip.blank(width + _MARGIN, self.rich_style)]

    def _highlight(self, index: int, width: int) -> Content:
        passage = self._passages[index]
        text = clean(passage.text)
        is_table = passage.kind == "table"
        content = self._marked(align_table(text, width - 2) if is_table else text, index)
        return list_table(content, width - 2) if is_table and SEPARATOR in content.plain else content

    def _marked(self, text: str, index: int) -> Content:
        content = Content(text)
        for start, end in find_words(text, self._words):
            content = content.stylize("reverse", start, end)
        quote_spans = find_quote(text, self._quote) if index == self._target and self._quote else []
        for start, end in reversed(quote_spans):
            inside = content[start:end].stylize("bold underline $accent")
            opening = Content("“").stylize("bold $accent")
            closing = Content("”").stylize("bold $accent")
            content = Content("").join([content[:start], opening, inside, closing, content[end:]])
        return content

    def render_line(self, y: int) -> Strip:
        index = self.scroll_offset.y + y
        width = self.scrollable_content_region.width
        if index >= len(self._lines):
            return Strip.blank(width, self.rich_style)
        return self._lines[index].crop_extend(0, width, self.rich_style)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if any(self._ends_near()):
            self.call_later(self._extend)

    def _ends_near(self) -> tuple[bool, bool]:
        """Whether the start and the end of the laid-out range are near, with more passages beyond."""
        page = self.size.height
        before = self._first > 0 and self.scroll_y < page
        after = self._last < len(self._passages) and self.scroll_y + 2 * page >= len(self._lines)
        return before, after

    async def _extend(self) -> None:
        # The animation aims at a line of the old layout.
        await self.stop_animation("scroll_y")
        before, after = self._ends_near()
        more = min(_NEAR, self._first) if before else 0
        self._first -= more
        self._last = min(self._last + (_NEAR if after else 0), len(self._passages))
        if before or after:
            scroll_y = self.scroll_y
            self._lay_out()
            self.scroll_to(y=scroll_y + self._starts[more], animate=False, force=True)

    def on_resize(self, _event: events.Resize) -> None:
        if self._passages:
            self.go_to(self.current)

    def notify_style_update(self) -> None:
        super().notify_style_update()
        if self._passages:
            self._lay_out()

    def action_scroll_home(self) -> None:
        self.go_to(0)

    def action_scroll_end(self) -> None:
        self.go_to(len(self._passages) - 1)


_LETTERS = frozenset({"passage", "copy", "original", "find"})  # actions of keys that are letters
_GONE = "This passage is no longer in the library: its document was removed, or read again and split anew."


class PassageScreen(ModalScreen[None]):
    CSS_PATH = "passage.tcss"
    AUTO_FOCUS = "DocumentText"
    BINDINGS = bindings("passage")
    HELP = DocumentText.HELP

    def __init__(
        self, passage_id: int, quote: str = "", number: int = 0, kept: Candidate | Evidence | None = None
    ) -> None:
        super().__init__()
        self._passage_id = passage_id
        self._quote = quote  # sentences or table rows to mark
        self._number = number  # of its citation; 0 if it is not cited
        self._kept = kept  # the run's copy, shown if the library no longer has the passage
        self._document: Document | None = None
        self._count = 0

    def compose(self) -> ComposeResult:
        label = f"cited as [{self._number}]" if self._number else "the passage"
        text = DocumentText(label, self._quote)
        with Vertical(id="passage"):
            yield Static("…", id="heading", classes="title", markup=False)
            yield Static(id="place", markup=False)
            yield Static(id="gone", markup=False)
            with Horizontal():
                yield text
                if widget := deepthink(self).picture_widget:
                    yield PagePicture(widget)
            yield FindBar(text.find, 1, "Words to find in the document")
            yield KeyLine()

    def on_mount(self) -> None:
        self.query_one("#gone").display = False
        in_background(self, self._fetch, self._show, group="passage")

    def _fetch(self) -> tuple[Document | None, list[Passage], int]:
        """The document, its passages, none if it is gone, and the index of this one."""
        from traces.library import Library

        library = Library(deepthink(self).engine.store)
        with library.together():
            document = library.document_of(self._passage_id)
            passages = library.document_passages(document.id) if document else []
        at = next((i for i, passage in enumerate(passages) if passage.id == self._passage_id), 0)
        return document, passages, at

    def _show(self, opened: tuple[Document | None, list[Passage], int]) -> None:
        self._document, passages, at = opened
        kept = self._kept
        if not passages:
            notice = self.query_one("#gone", Static)
            notice.update(f"{_GONE} What the run kept of it:" if kept else _GONE)
            notice.display = True
            heading = "A passage that is gone"
            if kept is not None:
                heading = one_line(kept["title"] or kept["document"])
                section, text = kept["section"], kept["text"]
                passages = [
                    Passage(0, 0, kept["collection"], "", heading, "", section, None, 0, "text", text)
                ]
            self.query_one("#heading", Static).update(heading)
        self._count = len(passages)
        self.query_one(DocumentText).open(passages, at)

    @on(DocumentText.Moved)
    def _show_place(self) -> None:
        text = self.query_one(DocumentText)
        passage, document = text.passage, self._document
        if passage is None:
            return
        self.query_one("#heading", Static).update(one_line(passage.title or passage.document))
        source = document.source if document else ""
        name = source if "://" in source else passage.document
        facts = [passage.collection, clean(name), passage.date]
        if passage.page:
            total = f" of {document.pages}" if document and document.pages else ""
            facts.append(f"p. {passage.page}{total}")
        if document:
            facts.append(f"passage {text.current + 1:,} of {self._count:,}")
        place = Content(" · ".join(one_line(fact) for fact in facts if fact))
        if passage.section:
            place = Content("\n").join([place, Content(one_line(passage.section))])
        self.query_one("#place", Static).update(place)
        for picture in self.query(PagePicture):
            picture.show(document, passage.page)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While words to find are typed, letters belong to them."""
        return not (isinstance(self.focused, FindBar) and action in _LETTERS)

    def action_passage(self, by: int) -> None:
        text = self.query_one(DocumentText)
        text.go_to(text.current + by)

    def action_find(self) -> None:
        self.query_one(FindBar).open()

    def action_copy(self) -> None:
        passage = self.query_one(DocumentText).passage
        if passage is not None:
            self.app.copy_to_clipboard(clean(passage.text))
            self.notify("Copied.")

    def action_original(self) -> None:
        """Open the document itself, a PDF at the page; without a desktop, say where it is."""
        passage = self.query_one(DocumentText).passage
        if self._document is not None and passage is not None:
            open_original(self, passage.id)


def open_kept(node: DOMNode, item: Candidate | Evidence, number: int = 0, quote: str = "") -> None:
    """Open a passage of a run; ``number`` is its citation's, 0 if it was not kept."""
    node.app.push_screen(PassageScreen(item["passage_id"], quote, number, item))


_DESKTOP = ("DISPLAY", "WAYLAND_DISPLAY", "TEXTUAL_DRIVER")  # one is set where a file can be opened


def open_original(node: DOMNode, passage_id: int) -> None:
    """Find the original of a passage in the background, then open it."""
    find = partial(find_original, deepthink(node).engine, passage_id)
    in_background(node.app, find, partial(_show, node.app), group="original", exclusive=True)


def find_original(engine: Engine, passage_id: int) -> tuple[str, str]:
    """Find the original of a passage; if it is inside another file, extract a copy.

    Returns the URL of a web page or a file, and the source with page or section; "" and why if it is gone.
    Raises `UnreadableDocument` if the enclosing file can no longer be read.
    """
    from agent.documents.reading import BY_TYPE, PDF
    from traces.library import Library

    library = Library(engine.store)
    with library.together():
        document = library.document_of(passage_id)
        if document is None:
            return "", "This passage is no longer in the library."
        (passage,) = library.passages([passage_id])
    source = document.source
    group = BY_TYPE[document.media_type].group if document.media_type in BY_TYPE else ""
    place = source
    if passage.page:
        place += f", slide {passage.page}" if group == "slides" else f", p. {passage.page}"
    elif passage.section:
        place += f", {passage.section}"
    page = f"#page={passage.page}" if passage.page and document.media_type == PDF else ""
    if "://" in source:
        return source + page, place
    path = Path(source) if Path(source).exists() else _extract_copy(Path(source))
    if path is None:
        return "", f"The file is no longer there: {source}"
    return path.as_uri() + page, place


def _show(app: App[Any], original: tuple[str, str]) -> None:
    """Open an original; without a desktop, copy its address and say where it is."""
    address, place = original
    if not address:
        app.notify(place, severity="warning", markup=False)
    elif sys.platform == "linux" and not any(name in os.environ for name in _DESKTOP):
        app.copy_to_clipboard(address)
        app.notify(f"{place} (copied: there is no desktop to open it)", markup=False)
    else:
        app.open_url(address)
        app.notify(f"Opening {place}", markup=False)


def content_of(source: Path) -> bytes | None:
    """The content of a file, an attachment, a message of a mailbox or a file of an archive; None if gone.

    Raises `UnreadableDocument` if the enclosing file can no longer be read.
    """
    from agent.documents.reading import read

    if source.is_file():
        return source.read_bytes()
    outer = next((path for path in source.parents if path.is_file()), None)
    return _enclosed_content(read(outer), source.relative_to(outer).as_posix()) if outer else None


def _extract_copy(source: Path) -> Path | None:
    """Extract a file inside another to a temporary folder; None if it is gone."""
    content = content_of(source)
    if content is None:
        return None
    originals_dir().mkdir(mode=0o700, parents=True, exist_ok=True)
    copy = Path(tempfile.mkdtemp(dir=originals_dir()), source.name)
    copy.write_bytes(content)
    copy.chmod(0o400)  # read-only: changes to it would be lost
    return copy


def _enclosed_content(outer: ParsedDocument, inner: str) -> bytes | None:
    """The bytes of a file inside another, by its path there; None if there is no such file."""
    from agent.documents.reading import read_bytes

    for enclosed in outer.enclosed:
        if inner == enclosed.name:
            return enclosed.content()
        if inner.startswith(f"{enclosed.name}/"):
            name = PurePosixPath(enclosed.name).name
            return _enclosed_content(
                read_bytes(name, enclosed.content()), inner.removeprefix(f"{enclosed.name}/")
            )
    return None
