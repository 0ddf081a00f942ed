"""What inline styles and presentational tags say about the look of text, what they raise and hide."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from agent.documents.outline import Look
from agent.documents.superscript import separator

if TYPE_CHECKING:
    from lxml.html import HtmlElement

UNSEEN = frozenset(
    "head script style noscript template ix:header ix:hidden object iframe datalist title meta".split()
)
BLOCKS = frozenset(
    "address article aside blockquote body center dd details dialog dir div dl dt fieldset "
    "figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr html li main menu nav ol p pre "
    "section summary table tbody td tfoot th thead tr ul caption option".split()
)
_HIDES = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_PROPERTY = re.compile(r"([a-z-]+)\s*:\s*([^;]+)", re.IGNORECASE)
_LENGTH = re.compile(r"([\d.]+)\s*(pt|px|em|rem|%)")
_FONT_SIZES = {"1": 7.5, "2": 10.0, "3": 12.0, "4": 13.5, "5": 18.0, "6": 24.0, "7": 36.0}
_BLACK = {"", "#000000", "#000", "black", "inherit", "rgb(0,0,0)", "windowtext"}
_NORMAL_SIZE = 12.0
ROOT_LOOK = Look(size=_NORMAL_SIZE)


@dataclass(frozen=True, slots=True)
class _Style:
    bold: bool | None = None
    italic: bool | None = None
    underlined: bool | None = None
    coloured: bool | None = None
    size: tuple[float, str] | None = None
    raised: bool = False
    inline: bool = False
    breaks_before: bool = False
    breaks_after: bool = False


@dataclass(frozen=True, slots=True)
class Run:
    """Text of one look."""

    text: str
    look: Look


def is_hidden(element: HtmlElement) -> bool:
    """Whether neither the element nor what it holds is seen."""
    tag = element.tag
    if not isinstance(tag, str):
        return True
    return (
        tag in UNSEEN
        or element.get("hidden") is not None
        or _HIDES.search(element.get("style", "")) is not None
    )


def is_block(element: HtmlElement) -> bool:
    """Whether the element begins a line of its own."""
    return element.tag in BLOCKS and not _style(element.get("style", "")).inline


def breaks_page(element: HtmlElement) -> tuple[bool, bool]:
    """Whether a printed page ends before, and after, the element."""
    style = _style(element.get("style", ""))
    return style.breaks_before, style.breaks_after


def look_of(element: HtmlElement, inherited: Look) -> Look:
    """The look of the element's text, given that of the text around it."""
    look = inherited
    tag = element.tag
    if tag in {"b", "strong", "th"}:
        look = replace(look, bold=True)
    elif tag in {"i", "em", "cite"}:
        look = replace(look, italic=True)
    elif tag in {"u", "ins"}:
        look = replace(look, underlined=True)
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
    return Look(
        size=size,
        bold=look.bold if style.bold is None else style.bold,
        italic=look.italic if style.italic is None else style.italic,
        underlined=look.underlined if style.underlined is None else style.underlined,
        coloured=look.coloured if style.coloured is None else style.coloured,
    )


@lru_cache(maxsize=4096)
def _style(css: str) -> _Style:
    values = {name.lower(): value.strip().lower() for name, value in _PROPERTY.findall(css)}
    weight = values.get("font-weight")
    slant = values.get("font-style")
    line = values.get("text-decoration")
    colour = values.get("color")
    length = _LENGTH.match(values.get("font-size", ""))
    return _Style(
        bold=None if weight is None else weight in {"bold", "bolder"} or weight[0] in "6789",
        italic=None if slant is None else slant in {"italic", "oblique"},
        underlined=None if line is None else "underline" in line,
        coloured=None if colour is None else _is_coloured(colour),
        size=(float(length[1]), length[2]) if length and length[1].strip(".") else None,
        raised=values.get("vertical-align") == "super"
        or (values.get("position") == "relative" and values.get("top", "").startswith("-")),
        inline=values.get("display", "").startswith("inline"),
        breaks_before=_ends_page(values.get("page-break-before") or values.get("break-before")),
        breaks_after=_ends_page(values.get("page-break-after") or values.get("break-after")),
    )


def _is_coloured(colour: str) -> bool:
    return colour.replace(" ", "").lower() not in _BLACK


def _ends_page(value: str | None) -> bool:
    return value in {"always", "page", "left", "right"}


def runs(element: HtmlElement, look: Look) -> Iterator[Run]:
    """The visible text inside ``element``, whose own look is ``look``, with a space between blocks."""
    stack: list[tuple[HtmlElement, Look, bool]] = [(element, look, False)]
    while stack:
        current, style, done = stack.pop()
        if done:
            if is_block(current):
                yield Run(" ", style)
            if current is not element and current.tail:
                yield Run(current.tail, style)
            continue
        outer = style
        if not is_hidden(current):
            if current is not element:
                style = look_of(current, style)
            if current.tag == "br" or is_block(current):
                yield Run(" ", style)
            if current.text:
                yield Run(current.text, style)
            stack.append((current, outer, True))
            stack.extend((child, style, False) for child in reversed(current))
        elif current is not element and current.tail:
            yield Run(current.tail, outer)


def separate_raised(root: HtmlElement) -> None:
    """Keep raised digits apart from the numbers beside them. Changes the tree."""
    for element in root.iter():
        if is_hidden(element) or not _is_raised(element):
            continue
        text = element.text_content()
        if not text:
            continue
        element.tail = separator(text, element.tail or "", raised=False) + (element.tail or "")
        mark = separator(_text_before(element), text, raised=True)
        before, parent = element.getprevious(), element.getparent()
        if before is not None:
            before.tail = (before.tail or "") + mark
        elif parent is not None:
            parent.text = (parent.text or "") + mark


def _is_raised(element: HtmlElement) -> bool:
    """Whether the element is a superscript; Word and EDGAR's writers set one with a style only."""
    if element.tag == "sup":
        return True
    css = element.get("style")
    return bool(css) and _style(css).raised and not is_block(element)


def _text_before(element: HtmlElement) -> str:
    """The text on the element's line that ends where it begins, unless that is raised too."""
    inner: HtmlElement | None = element
    while inner is not None and not is_block(inner):
        part = inner.getprevious()
        while part is not None:
            if part.tail:
                return str(part.tail)
            if not is_hidden(part):
                text = part.text_content()
                if text or part.tag == "br" or is_block(part):
                    return "" if is_block(part) or _is_raised(part) else str(text)
            part = part.getprevious()
        inner = inner.getparent()
        if inner is not None and inner.text:
            return str(inner.text)
    return ""


def common_look(parts: list[Run]) -> Look:
    """The look of the whole: bold only if all its words are, as large as most of it."""
    seen = [run for run in parts if any(character.isalnum() for character in run.text)]
    if not seen:
        seen = parts or [Run("", ROOT_LOOK)]
    longest = max(seen, key=lambda run: len(run.text))
    return Look(
        size=longest.look.size,
        bold=all(run.look.bold for run in seen),
        italic=all(run.look.italic for run in seen),
        underlined=all(run.look.underlined for run in seen),
        coloured=all(run.look.coloured for run in seen),
    )
