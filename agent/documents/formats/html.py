"""Web pages and EDGAR filings, inline XBRL included.

lxml parses; a walk over the tree splits it where its own blocks begin and end. Filings have neither
headings nor paragraphs, only styled ``div`` and ``span``, so each block keeps its look for `outline` to
judge, and page breaks help to tell running headers from text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain
from pathlib import Path

from lxml import etree
from lxml.html import HtmlElement, HTMLParser, document_fromstring

from agent.documents.cover import full_date
from agent.documents.document import Block, Look, ParsedDocument, Table, UnreadableDocument
from agent.documents.encoding import decode
from agent.documents.formats.furniture import without_furniture
from agent.documents.outline import outlined
from agent.documents.prose import bulleted, is_marker, normal, separator
from agent.documents.tables import LONGEST_REPEATED, Cell, build_table

# The last two lead elsewhere: their words, on every page of a site, are found in place of what a page says.
_UNSEEN = frozenset(
    "head script style noscript template ix:header ix:hidden object iframe datalist title meta "
    "nav search".split()
)
_UNSEEN_ROLES = frozenset({"navigation", "search"})
_BLOCKS = frozenset(
    "address article aside blockquote body center dd details dialog dir div dl dt fieldset "
    "figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr html li main menu nav ol p pre "
    "section summary table tbody td tfoot th thead tr ul caption option".split()
)
_HIDES = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden|(?:opacity|font-size)\s*:\s*0*\.?0+(?:%|[a-z]+)?\s*(?:;|!|$)",
    re.IGNORECASE,
)
_PROPERTY = re.compile(r"([a-z-]+)\s*:\s*([^;]+)", re.IGNORECASE)
_LENGTH = re.compile(r"([\d.]+)\s*(pt|px|em|rem|%)")
_FONT_SIZES = {"1": 7.5, "2": 10.0, "3": 12.0, "4": 13.5, "5": 18.0, "6": 24.0, "7": 36.0}
_BLACK = {"", "#000000", "#000", "black", "inherit", "rgb(0,0,0)", "windowtext"}
_NORMAL_SIZE = 12.0
_ROOT_LOOK = Look(size=_NORMAL_SIZE)
_MOST_SPAN = 1000  # what browsers clamp a colspan to
_MARKING_TAGS = {
    **dict.fromkeys(("b", "strong", "th"), "bold"),
    **dict.fromkeys(("i", "em", "cite"), "italic"),
    **dict.fromkeys(("u", "ins"), "underlined"),
}
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
# Characters not allowed in XML, and references to them: the parser accepts them, the tree does not.
_NOT_XML = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]"
    "|&#(?:0*(?:[0-8]|1[124-9]|2[0-9]|3[01]|6553[45])(?![0-9])"
    "|x0*(?:[0-8bcef]|1[0-9a-f]|fff[ef])(?![0-9a-f]));?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Style:
    marks: dict[str, bool]  # the fields of `Look` that it sets, except the size
    size: tuple[float, str] | None
    raised: bool
    inline: bool
    breaks: tuple[bool, bool]  # whether a printed page ends before the element, and after it


@dataclass(frozen=True, slots=True)
class _Run:
    text: str
    look: Look


def _is_hidden(element: HtmlElement) -> bool:
    tag = element.tag
    if not isinstance(tag, str):
        return True
    return (
        tag in _UNSEEN
        or element.get("role") in _UNSEEN_ROLES
        or element.get("hidden") is not None
        or _HIDES.search(element.get("style", "")) is not None
        or (tag == "a" and _is_permalink(element))
    )


def _is_permalink(link: HtmlElement) -> bool:
    """Whether a link is only a sign, such as ¶, in a heading or beside what it leads to."""
    target = link.get("href", "").removeprefix("#")
    return not any(map(str.isalnum, link.text_content())) and any(
        part.tag in _HEADINGS or part.get("id") == target for part in (link, *link.iterancestors())
    )


def _is_block(element: HtmlElement) -> bool:
    """Whether the element begins a new line."""
    return element.tag in _BLOCKS and not _style(element.get("style", "")).inline


def _look_of(element: HtmlElement, inherited: Look) -> Look:
    look = inherited
    tag = element.tag
    if mark := _MARKING_TAGS.get(str(tag)):
        look = replace(look, **{mark: True})
    elif tag in {"sup", "sub"}:
        return look
    elif tag == "font":
        size = _FONT_SIZES.get(element.get("size", ""), look.size)
        look = replace(look, size=size, coloured=_is_coloured(element.get("color", "")))
    css = element.get("style")
    if not css:
        return look
    style = _style(css)
    size = look.size
    if style.size is not None:
        number, unit = style.size
        factor = {"pt": 1.0, "px": 0.75, "em": look.size, "%": look.size / 100}
        size = round(number * factor.get(unit, _NORMAL_SIZE), 1)
    return replace(look, size=size, **style.marks)


@lru_cache(maxsize=4096)
def _style(css: str) -> _Style:
    values = {name.lower(): value.strip().lower() for name, value in _PROPERTY.findall(css)}
    marks: dict[str, bool] = {}
    if weight := values.get("font-weight"):
        marks["bold"] = weight in {"bold", "bolder"} or weight[0] in "6789"
    if slant := values.get("font-style"):
        marks["italic"] = slant in {"italic", "oblique"}
    if line := values.get("text-decoration"):
        marks["underlined"] = "underline" in line
    if colour := values.get("color"):
        marks["coloured"] = _is_coloured(colour)
    length = _LENGTH.match(values.get("font-size", ""))
    return _Style(
        marks=marks,
        size=(float(length[1]), length[2]) if length and length[1].strip(".") else None,
        raised=values.get("vertical-align") == "super"
        or (values.get("position") == "relative" and values.get("top", "").startswith("-")),
        inline=values.get("display", "").startswith("inline"),
        breaks=(
            _ends_page(values.get("page-break-before") or values.get("break-before")),
            _ends_page(values.get("page-break-after") or values.get("break-after")),
        ),
    )


def _is_coloured(colour: str) -> bool:
    return colour.replace(" ", "").lower() not in _BLACK


def _ends_page(value: str | None) -> bool:
    return value in {"always", "page", "left", "right"}


def _runs(element: HtmlElement, look: Look) -> Iterator[_Run]:
    """The visible text inside ``element``, whose own look is ``look``; a space between blocks."""
    stack: list[tuple[HtmlElement, Look, bool]] = [(element, look, False)]
    while stack:
        current, style, done = stack.pop()
        if done:
            if _is_block(current):
                yield _Run(" ", style)
            if current is not element and current.tail:
                yield _Run(current.tail, style)
            continue
        outer = style
        if not _is_hidden(current):
            if current is not element:
                style = _look_of(current, style)
            if current.tag == "br" or _is_block(current):
                yield _Run(" ", style)
            if current.text:
                yield _Run(current.text, style)
            stack.append((current, outer, True))
            stack.extend((child, style, False) for child in reversed(current))
        elif current is not element and current.tail:
            yield _Run(current.tail, outer)


def _separate_raised(root: HtmlElement) -> None:
    """Separate raised digits from the numbers beside them. Changes the tree."""
    for element in root.iter():
        if _is_hidden(element) or not _is_raised(element):
            continue
        text = element.text_content()
        if not text:
            continue
        element.tail = separator(text, element.tail or "", raised=False) + (element.tail or "")
        mark = separator(_text_before(element), text, raised=True)
        previous, parent = element.getprevious(), element.getparent()
        if previous is not None:
            previous.tail = (previous.tail or "") + mark
        elif parent is not None:
            parent.text = (parent.text or "") + mark


def _is_raised(element: HtmlElement) -> bool:
    """Whether the element is a superscript; Word and EDGAR tools mark it only by a style."""
    if element.tag == "sup":
        return True
    css = element.get("style")
    return bool(css) and _style(css).raised and not _is_block(element)


def _text_before(element: HtmlElement) -> str:
    """The text before the element on its line, unless that is raised too."""
    inner: HtmlElement | None = element
    while inner is not None and not _is_block(inner):
        part = inner.getprevious()
        while part is not None:
            if part.tail:
                return str(part.tail)
            if not _is_hidden(part):
                text = part.text_content()
                if text or part.tag == "br" or _is_block(part):
                    return "" if _is_block(part) or _is_raised(part) else str(text)
            part = part.getprevious()
        inner = inner.getparent()
        if inner is not None and inner.text:
            return str(inner.text)
    return ""


def _common_look(parts: list[_Run]) -> Look:
    """One look for all parts: bold only if all words are, with the size of the longest part."""
    worded = [run for run in parts if any(character.isalnum() for character in run.text)]
    if not worded:
        worded = parts or [_Run("", _ROOT_LOOK)]
    longest = max(worded, key=lambda run: len(run.text))
    return Look(
        size=longest.look.size,
        bold=all(run.look.bold for run in worded),
        italic=all(run.look.italic for run in worded),
        underlined=all(run.look.underlined for run in worded),
        coloured=all(run.look.coloured for run in worded),
    )


def _read_table(element: HtmlElement, look: Look) -> Table | list[str] | None:
    """The content of a ``table`` element.

    Returns:
        The table; or caption and text of the rows, if it only puts a bullet, a number or a label before a
        text; or None, if it is page layout, so that its cells should be read one after another.
    """
    if _lays_out(element):
        return None
    rows = list(_rows(element, look))
    filled_rows = [row for row in rows if any(cell.text for cell in row)]
    texts = [[cell.text for cell in row if cell.text] for row in filled_rows]
    caption = next((_cell(part, look, 0, 0).text for part in element.iter("caption")), "")
    lines = [*([caption] if caption else []), *(normal(" ".join(row)) for row in texts)]
    if len(filled_rows) <= 1 or all(
        len(row) == 1 or (len(row) == 2 and is_marker(row[0])) for row in texts
    ):
        return lines
    table = build_table(filled_rows, exact=True, header_rows=_declared_header(element), caption=caption)
    return table or lines


def _lays_out(element: HtmlElement) -> bool:
    """Whether a cell contains a table or paragraphs, so that the table is page layout."""
    if any(part is not element and not _is_hidden(part) for part in element.iter("table")):
        return True
    return any(
        sum(1 for part in cell.iter("p", "li", "h1", "h2", "h3", "h4")) > 3
        and len(cell.text_content()) > 600
        for cell in element.iter("td")
    )


def _declared_header(element: HtmlElement) -> int | None:
    """The number of header rows (in ``thead``, or all ``th``), if the table declares any."""
    count = 0
    for row in element.iter("tr"):
        cells = [cell for cell in row if cell.tag in {"td", "th"}]
        parent = row.getparent()
        in_head = parent is not None and parent.tag == "thead"
        is_filled = any(normal(cell.text_content()) for cell in cells)
        if in_head or (len(cells) > 1 and all(cell.tag == "th" for cell in cells)):
            count += is_filled
        elif is_filled:
            break
    return count or None


def _rows(element: HtmlElement, look: Look) -> Iterator[list[Cell]]:
    """Rows of cells with their columns, taking account of column and row spans."""
    reaching: dict[int, tuple[int, Cell | None]] = {}  # column: rows left, cell that reaches down
    for row in element.iter("tr"):
        if _is_hidden(row):
            continue
        cells: list[Cell] = []
        column = 0
        reaching_below: dict[int, tuple[int, Cell | None]] = {}
        for part in [*row.iterchildren("td", "th"), None]:
            while column in reaching:
                rows_left, spanning_cell = reaching.pop(column)
                if spanning_cell is not None:
                    cells.append(spanning_cell)
                if rows_left > 1:
                    reaching_below[column] = (rows_left - 1, spanning_cell)
                column += 1
            if part is None or _is_hidden(part):
                continue
            width, height = _span(part, "colspan"), _span(part, "rowspan")
            cell = _cell(part, look, column, column + width)
            cells.append(cell)
            if height > 1:
                repeated = cell if len(cell.text.split()) <= LONGEST_REPEATED else None
                for offset in range(width):
                    reaching_below[column + offset] = (height - 1, None if offset else repeated)
            column += width
        reaching = {**{c: (n - 1, a) for c, (n, a) in reaching.items() if n > 1}, **reaching_below}
        yield cells


def _span(cell: HtmlElement, name: str) -> int:
    text = cell.get(name, "1").strip()
    return min(max(int(text), 1), _MOST_SPAN) if text.isdecimal() else 1


def _cell(element: HtmlElement, look: Look, start: int, end: int) -> Cell:
    parts = list(_runs(element, _look_of(element, look)))
    text = normal("".join(run.text for run in parts))
    strong = bool(text) and (element.tag == "th" or _common_look(parts).bold)
    return Cell(text, start, end, strong)


def read_html(path: Path, data: bytes) -> ParsedDocument:
    """Read ``data`` as HTML. Raises `UnreadableDocument` if the parser finds no document."""
    root = _parse(data, path.name)
    title, date = root.findtext(".//title") or "", _meta_date(root)
    author = next(iter(root.xpath("//meta[@name='author']/@content")), "")
    blocks = _blocks(root)
    pages: list[list[Block]] = [[] for _ in range(blocks[-1].page or 1)] if blocks else []
    for block in blocks:
        pages[(block.page or 1) - 1].append(block)
    blocks = list(chain.from_iterable(without_furniture(pages, lambda block: block.text)))
    return ParsedDocument(
        tuple(replace(block, page=None) for block in outlined(blocks)),
        _visible_text(root),
        title=title,
        date=date,
        author=author,
    )


def fragment_blocks(html: str) -> list[Block]:
    """The blocks of an HTML fragment, such as one inside Markdown."""
    return [replace(block, level=0, page=None) for block in _blocks(_fragment(html))]


def fragment_text(html: str) -> str:
    """The visible text of an HTML fragment."""
    return _visible_text(_fragment(html))


def _visible_text(root: HtmlElement) -> str:
    """All visible text of the page, one line for each block or cell. Changes the tree."""
    for element in [e for e in root.iter() if _is_hidden(e)]:
        if element.getparent() is not None:
            element.drop_tree()
    for element in root.iter(*_BLOCKS, "br"):
        element.text = "\n" + (element.text or "")
        element.tail = "\n" + (element.tail or "")
    text = etree.tostring(root, method="text", encoding="unicode", with_tail=False)
    lines = (normal(line) for line in text.splitlines())
    return "\n".join(line for line in lines if line)


def _parse(data: bytes, name: str) -> HtmlElement:
    try:
        text = decode(data)
        # The encoding in an XML declaration no longer holds for decoded text.
        return _tree(text.partition("?>")[2] if text.startswith("<?xml") else text)
    except (etree.LxmlError, ValueError) as error:
        raise UnreadableDocument(
            f"{name} looks like a web page, but nothing in it can be read ({error}).",
            "Open it in a browser, save it again and add the new file.",
        ) from error


def _fragment(html: str) -> HtmlElement:
    """The body of a page around ``html``, which may be any part of a page, or invisible."""
    return _tree(f"<html><body>{html}</body></html>").body


def _tree(html: str) -> HtmlElement:
    parser = HTMLParser(huge_tree=True, encoding="utf-8")
    root = document_fromstring(_NOT_XML.sub(" ", html).encode(), parser=parser)
    _separate_raised(root)
    return root


@dataclass(slots=True)
class _Walk:
    blocks: list[Block] = field(default_factory=list)
    parts: list[_Run] = field(default_factory=list)
    page: int = 1
    level: int = 0
    items: int = 0
    keep_lines: int = 0

    def end_passage(self) -> None:
        raw = "".join(run.text for run in self.parts)
        text = raw.strip("\n").rstrip() if self.keep_lines else normal(raw)
        if text.strip():
            item = self.items > 0 and not self.level
            text = bulleted(text, item=item)
            look = _common_look(self.parts)
            is_code = self.keep_lines > 0  # no heading, however it looks
            self.blocks.append(Block("text", text, self.level, self.page, look=look, item=item or is_code))
        self.parts = []


def _blocks(root: HtmlElement) -> list[Block]:
    walk = _Walk()
    stack: list[tuple[HtmlElement, Look, bool]] = [(root, _ROOT_LOOK, False)]
    while stack:
        element, look, done = stack.pop()
        if done:
            _leave(walk, element)
        elif not _is_hidden(element):
            style = _look_of(element, look)
            if _enter(walk, element, style):
                stack.append((element, look, True))
                stack.extend((child, style, False) for child in reversed(element))
                continue
        if element.tail and element is not root:
            walk.parts.append(_Run(element.tail, look))
    walk.end_passage()
    return walk.blocks


def _enter(walk: _Walk, element: HtmlElement, look: Look) -> bool:
    """Begin an element; returns False if it was already read completely, with its children."""
    if _is_block(element):
        walk.end_passage()
    before, after = _style(element.get("style", "")).breaks
    walk.page += before
    if element.tag == "table":
        content = _read_table(element, look)
        if isinstance(content, list):
            row_look = _common_look(list(_runs(element, look)))
            walk.blocks.extend(
                Block("text", bulleted(row), page=walk.page, look=row_look) for row in content
            )
        elif content is not None:
            walk.blocks.append(Block("table", page=walk.page, table=content))
        walk.page += after and content is not None
        return content is None
    walk.level = _HEADINGS.get(str(element.tag), walk.level)
    walk.items += element.tag == "li"
    walk.keep_lines += element.tag == "pre"
    if element.tag == "br":
        walk.parts.append(_Run("\n" if walk.keep_lines else " ", look))
    if element.text:
        walk.parts.append(_Run(element.text, look))
    return True


def _leave(walk: _Walk, element: HtmlElement) -> None:
    if _is_block(element):
        walk.end_passage()
    if element.tag in _HEADINGS:
        walk.level = 0
    walk.items -= element.tag == "li"
    walk.keep_lines -= element.tag == "pre"
    walk.page += _style(element.get("style", "")).breaks[1]


def _meta_date(root: HtmlElement) -> str:
    names = {"date", "dc.date", "article:published_time", "datepublished", "dcterms.date"}
    for meta in root.iter("meta"):
        name = meta.get("name") or meta.get("property") or meta.get("itemprop") or ""
        if name.lower() in names:
            return full_date(meta.get("content", "")[:10])
    return ""
