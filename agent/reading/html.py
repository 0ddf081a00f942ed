"""Web pages and EDGAR filings, inline XBRL included.

lxml parses; a walk over the tree cuts it into passages where blocks begin and end. Filings have
neither headings nor paragraphs, only styled ``div`` and ``span``, so the look of each passage is kept
for `outline` to judge, and print marks (page breaks) tell running headers from text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from agent.reading.cover import stated_date, stated_title
from agent.reading.document import Block, ParsedDocument, UnreadableDocument
from agent.reading.encoding import decode
from agent.reading.furniture import furniture
from agent.reading.html_style import (
    BLOCKS,
    ROOT_LOOK,
    Run,
    breaks_page,
    common_look,
    is_block,
    is_hidden,
    look_of,
    runs,
    separate_raised,
)
from agent.reading.html_table import read_table
from agent.reading.outline import Look, Passage, outlined, without_breaks
from agent.reading.prose import bulleted, normal

if TYPE_CHECKING:
    from lxml.html import HtmlElement

_HEADINGS = {"h1": 1, "h2": 2, "h3": 3, "h4": 4, "h5": 5, "h6": 6}
# What XML has no place for, as a character or a reference: the parser takes it, the tree does not.
_NOT_XML = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]"
    "|&#(?:0*(?:[0-8]|1[124-9]|2[0-9]|3[01]|6553[45])(?![0-9])"
    "|x0*(?:[0-8bcef]|1[0-9a-f]|fff[ef])(?![0-9a-f]));?",
    re.IGNORECASE,
)


def read_html(path: Path, data: bytes) -> ParsedDocument:
    """Read ``data`` as HTML.

    Raises:
        UnreadableDocument: The parser finds no document in it.
    """
    root = _parsed(data, path.name)
    passages = _without_furniture(_passages(root))
    blocks = outlined(without_breaks(passages))
    title = root.findtext(".//title") or ""
    return ParsedDocument(
        title=stated_title(normal(title), blocks, path),
        media_type="text/html",
        blocks=tuple(replace(block, page=None) for block in blocks),
        visible_text=visible_text(_parsed(data, path.name)),
        date=_meta_date(root) or stated_date(blocks),
        author=normal(next(iter(root.xpath("//meta[@name='author']/@content")), "")),
    )


def fragment_blocks(html: str) -> list[Block]:
    """The blocks of a piece of HTML, such as one that stands inside Markdown."""
    passages = _passages(_fragment(html))
    return [Block("table", table=p.table) if p.table else Block("text", p.text) for p in passages]


def fragment_text(html: str) -> str:
    """The visible text of a piece of HTML."""
    return visible_text(_fragment(html))


def visible_text(root: HtmlElement) -> str:
    """All text of the page that is not hidden, a line for each block or cell. Changes the tree."""
    from lxml import etree

    separate_raised(root)
    for element in [e for e in root.iter() if is_hidden(e)]:
        parent = element.getparent()
        if parent is None:
            continue
        before, tail = element.getprevious(), element.tail or ""
        if before is not None:
            before.tail = (before.tail or "") + tail
        else:
            parent.text = (parent.text or "") + tail
        parent.remove(element)
    for element in root.iter(*BLOCKS, "br"):
        element.text = "\n" + (element.text or "")
        element.tail = "\n" + (element.tail or "")
    text = etree.tostring(root, method="text", encoding="unicode", with_tail=False)
    lines = (normal(line) for line in text.splitlines())
    return "\n".join(line for line in lines if line)


def _parsed(data: bytes, name: str) -> HtmlElement:
    from lxml import etree

    try:
        return _tree(_without_declaration(decode(data)))
    except (etree.LxmlError, ValueError) as error:
        raise UnreadableDocument(
            f"{name} looks like a web page, but nothing in it can be read ({error}).",
            "Open it in a browser, save it again and add the new file.",
        ) from error


def _fragment(html: str) -> HtmlElement:
    """The body of a page around ``html``, which may hold any part of a page, or nothing that is seen."""
    return _tree(f"<html><body>{html}</body></html>").body


def _tree(html: str) -> HtmlElement:
    from lxml import html as lxml_html

    parser = lxml_html.HTMLParser(huge_tree=True, encoding="utf-8")
    return lxml_html.document_fromstring(_NOT_XML.sub(" ", html).encode(), parser=parser)


def _without_declaration(text: str) -> str:
    """The text without an XML declaration, whose encoding no longer holds once it is decoded."""
    if text.startswith("<?xml"):
        return text.partition("?>")[2]
    return text


@dataclass(slots=True)
class _Walk:
    """Passages found so far, and the words of the one being read."""

    passages: list[Passage] = field(default_factory=list)
    parts: list[Run] = field(default_factory=list)
    page: int = 1
    level: int = 0
    items: int = 0
    keep_lines: int = 0

    def end_passage(self) -> None:
        raw = "".join(run.text for run in self.parts)
        text = raw.strip("\n").rstrip() if self.keep_lines else normal(raw)
        if text.strip():
            item = self.items > 0 and not self.level
            text = bulleted(text)
            if item and not text.startswith("• "):
                text = f"• {text}"
            look = common_look(self.parts)
            self.passages.append(Passage(text, look, self.level, self.page, item=item))
        self.parts = []


def _passages(root: HtmlElement) -> list[Passage]:
    separate_raised(root)
    walk = _Walk()
    stack: list[tuple[HtmlElement, Look, bool]] = [(root, ROOT_LOOK, False)]
    while stack:
        element, look, done = stack.pop()
        if done:
            _leave(walk, element)
        elif not is_hidden(element):
            style = look_of(element, look)
            if _enter(walk, element, style):
                stack.append((element, look, True))
                stack.extend((child, style, False) for child in reversed(element))
                continue
        if element.tail and element is not root:
            walk.parts.append(Run(element.tail, look))
    walk.end_passage()
    return walk.passages


def _enter(walk: _Walk, element: HtmlElement, look: Look) -> bool:
    """Begin an element; False if it has been read whole."""
    if is_block(element):
        walk.end_passage()
    walk.page += breaks_page(element)[0]
    if element.tag == "table":
        read = read_table(element, look)
        if isinstance(read, list):
            row_look = common_look(list(runs(element, look)))
            walk.passages.extend(Passage(bulleted(row), row_look, page=walk.page) for row in read)
        elif read is not None:
            walk.passages.append(Passage("", page=walk.page, table=read))
        walk.page += breaks_page(element)[1] if read is not None else 0
        return read is None
    walk.level = _HEADINGS.get(str(element.tag), walk.level)
    walk.items += element.tag == "li"
    walk.keep_lines += element.tag == "pre"
    if element.tag == "br":
        walk.parts.append(Run("\n" if walk.keep_lines else " ", look))
    if element.text:
        walk.parts.append(Run(element.text, look))
    return True


def _leave(walk: _Walk, element: HtmlElement) -> None:
    if is_block(element):
        walk.end_passage()
    if element.tag in _HEADINGS:
        walk.level = 0
    walk.items -= element.tag == "li"
    walk.keep_lines -= element.tag == "pre"
    walk.page += breaks_page(element)[1]


def _without_furniture(passages: list[Passage]) -> list[Passage]:
    pages: list[list[Passage]] = [[] for _ in range(passages[-1].page or 1)] if passages else []
    for passage in passages:
        pages[(passage.page or 1) - 1].append(passage)
    unwanted = furniture([[passage.text for passage in page] for page in pages])
    return [
        passage
        for number, page in enumerate(pages)
        for entry, passage in enumerate(page)
        if (number, entry) not in unwanted
    ]


def _meta_date(root: HtmlElement) -> str:
    """The date in the page's own metadata, as ISO, or an empty string."""
    names = {"date", "dc.date", "article:published_time", "datepublished", "dcterms.date"}
    for meta in root.iter("meta"):
        name = meta.get("name") or meta.get("property") or meta.get("itemprop") or ""
        if name.lower() in names:
            return stated_date([Block("text", meta.get("content", "")[:10])])
    return ""
