"""The title and date of a document, from its first lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from itertools import chain, takewhile
from pathlib import Path

from agent.documents.document import Block, ParsedDocument
from agent.documents.prose import normal
from agent.text.language import language
from agent.text.quantities import Date, dates

_PERIOD = re.compile(r"(?:fiscal year|year|quarterly period|quarter|period)\s+ended:?\s", re.IGNORECASE)
_FORM = re.compile(r"form\s+(?:10-[KQ]|20-F|8-K|40-F|6-K|S-1)(?:/A)?|annual report", re.IGNORECASE)
_ISSUED = re.compile(r"\b(?:date:|dated|(?:filed|published|issued) on)\s+", re.IGNORECASE)
_GENERATED = re.compile(r"[\w-]*\d{6,}[\w-]*|.*\.(?:docx?|pdf|html?|indd|tex)|Microsoft \w+ - .*")
_NAME_DATE = re.compile(r"(?<!\d)(\d{4})([-_]?)(\d\d)\2(\d\d)(?!\d)")
_NAME_YEARS = range(1900, 2101)
_REGISTRANT = "exact name of registrant"
_FIRST_BLOCKS = 60  # blocks of the first page or so
_LONGEST_TITLE = 160
_LONGEST_DATE = 40
_TOP = 6  # lines in which a date may have a label
_LABEL_WORDS = 4  # most words of a label before a date, as in "Price list valid from"


def with_cover(document: ParsedDocument, path: Path) -> ParsedDocument:
    """The document with its title (``document.title`` is the declared one), and a date if it has none."""
    return replace(
        document,
        title=stated_title(normal(document.title), document.blocks, path),
        date=document.date or stated_date(document.blocks),
    )


def stated_title(declared: str, blocks: Sequence[Block], path: Path) -> str:
    """The title: from a filing's cover, else declared, else the first heading, else the file name.

    A date alone, as at the head of a letter, is no title: the next heading is, if it directly follows. Nor
    is one of several headings alike below other text: it names a part, such as a question of a FAQ.
    """
    if cover := _filing(blocks):
        return cover
    code = _language(blocks)
    if _says_something(declared, path) and not is_date(declared, code):
        return _shortened(declared)
    headings = [index for index, block in enumerate(blocks[:12]) if block.kind == "heading"]
    if not headings:
        return title_of_name(path)
    first = 0 if headings[0] == 0 else min(headings, key=lambda index: blocks[index].level)
    levels = [block.level for block in blocks if block.kind == "heading"]
    if first and levels.count(blocks[first].level) > 1:
        return title_of_name(path)
    candidates = takewhile(
        lambda block: block.kind == "heading" and block.level <= blocks[first].level, blocks[first:]
    )
    title = next((block.text for block in candidates if not is_date(block.text, code)), "")
    return _shortened(title) or title_of_name(path)


def _language(blocks: Sequence[Block]) -> str:
    return language(max((block.text for block in blocks[:12]), key=len, default=""))


def _shortened(title: str) -> str:
    """The title; a very long one ends after a word, with an ellipsis."""
    if len(title) <= _LONGEST_TITLE:
        return title
    beginning = title[: _LONGEST_TITLE - 2]
    return f"{beginning.rpartition(' ')[0] or beginning} …"


def is_date(text: str, language_code: str) -> bool:
    """Whether ``text`` is only a date, with its year or day, in a language given by its ISO 639-1 code."""
    return len(text) <= _LONGEST_DATE and any(
        found.shown == normal(text) and (found.year or found.day) for found in dates(text, language_code)
    )


def title_of_name(path: Path) -> str:
    """The title of a document without a stated title, from its file name."""
    return " ".join(path.stem.replace("_", " ").split()) or path.name


def date_of_name(path: Path) -> str:
    """The ISO date at the beginning or the end of a file name; "" without one, and for two that differ."""
    days = {
        _iso(Date("", int(found[1]), int(found[3]), int(found[4])))
        for found in _NAME_DATE.finditer(path.stem)
        if int(found[1]) in _NAME_YEARS and (not found.start() or found.end() == len(path.stem))
    } - {""}
    return days.pop() if len(days) == 1 else ""


def stated_date(blocks: Sequence[Block]) -> str:
    """The document's ISO date: when it was issued, else the end of the period it reports on, else "".

    The date of issue comes first, because it shows which of two documents on one period is later. Without
    them, it is the first line that is a date, else one at the top that is a short label and a date ("Gültig
    ab 1. März 2026"), else that at the end of a heading above all text ("Minutes of the meeting of
    6 May 2025").
    """
    first = [block.text for block in blocks[:_FIRST_BLOCKS] if block.text]
    for text in first[:20]:
        if (issued := _ISSUED.search(text)) and (day := _date(text[issued.end() :])[1]):
            return day
    if any(_FORM.fullmatch(text) for text in first):
        for text in first:
            if (period := _PERIOD.search(text)) and (day := _date(text[period.end() :])[1]):
                return day
    code = _language(blocks)
    top = [line for text in first[:_TOP] for line in text.splitlines()][:_TOP]
    labelled = (_labelled_date(line, code, _LABEL_WORDS) for line in top)
    headings = [block.text for block in blocks[:1] if block.kind == "heading"]
    headed = (_labelled_date(heading, code, len(heading.split())) for heading in headings)
    return next(filter(None, chain(map(full_date, first[:20]), labelled, headed)), "")


def _labelled_date(text: str, language_code: str, most: int) -> str:
    """The ISO date at the end of a line that has nothing else but a label of ``most`` words; else ""."""
    line = normal(text) if len(text) <= _LONGEST_TITLE else ""
    for found in dates(line, language_code):
        label = line.removesuffix(found.shown)
        if label != line and len(label.split()) <= most and not any(map(str.isdigit, label)):
            return _iso(found)
    return ""


def full_date(text: str) -> str:
    """The ISO date that ``text`` is; "" if it is anything else or more than a full date."""
    shown, day = _date(text)
    return day if shown == normal(text) else ""


def _says_something(title: str, path: Path) -> bool:
    plain = re.sub(r"[\W_]+", "", title).casefold()
    if plain in {"", "untitled", "anonymous", "document", re.sub(r"[\W_]+", "", path.stem).casefold()}:
        return False
    return _GENERATED.fullmatch(title) is None and any(character.isalpha() for character in title)


def _filing(blocks: Sequence[Block]) -> str:
    """``NVIDIA CORPORATION, FORM 10-K, January 29, 2023`` from the cover of a filing, else ""."""
    first = blocks[:_FIRST_BLOCKS]
    form = next((match[0] for block in first if (match := _FORM.fullmatch(block.text))), "")
    for index, block in enumerate(first):
        if form and index and _REGISTRANT in block.text.casefold():
            name = block.text.casefold().partition(_REGISTRANT)[0].strip(" (")
            above = [other.text for other in first[max(0, index - 4) : index] if other.text]
            company = block.text[: len(name)] if name else above[-1] if above else ""
            periods = (_PERIOD.search(other.text) for other in first)
            period_ends = (_date(period.string[period.end() :])[0] for period in periods if period)
            period_end = next(filter(None, period_ends), "")
            return _shortened(", ".join(part for part in (company, form, period_end) if part))
    return ""


def _date(text: str) -> tuple[str, str]:
    """The full date at the start of ``text``, as written and as ISO; else two empty strings."""
    head = normal(text[:_LONGEST_DATE])
    for match in dates(head):
        if head.startswith(match.shown) and (day := _iso(match)):
            return match.shown, day
    return "", ""


def _iso(found: Date) -> str:
    """A full date in ISO form; "" without a day or year, and for one with slashes, which is ambiguous."""
    if not (found.year and found.day) or "/" in found.shown:
        return ""
    try:
        return date(found.year, found.month, found.day).isoformat()
    except ValueError:  # February 30: printed, but no date
        return ""
