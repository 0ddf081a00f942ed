"""What a document's first lines say it is: its title and its date."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from agent.documents.document import Block

_MONTHS = "january february march april may june july august september october november december".split()
_MONTH = r"(?:" + "|".join(f"{month[:3]}(?:{month[3:]})?" for month in _MONTHS) + r")\.?"
_DATES = re.compile(
    rf"(?P<iso>\d{{4}}-\d{{2}}-\d{{2}})|(?P<month>{_MONTH})\s+(?P<day>\d{{1,2}}),?\s+(?P<year>\d{{4}})"
    rf"|(?P<day2>\d{{1,2}})\s+(?P<month2>{_MONTH}),?\s+(?P<year2>\d{{4}})"
    r"|(?P<year3>\d{4})年(?P<month3>\d{1,2})月(?P<day3>\d{1,2})日",
    re.IGNORECASE,
)
_PERIOD = re.compile(r"(?:fiscal year|year|quarterly period|quarter|period)\s+ended:?\s", re.IGNORECASE)
_FORM = re.compile(r"form\s+(?:10-[KQ]|20-F|8-K|40-F|6-K|S-1)(?:/A)?|annual report", re.IGNORECASE)
_ISSUED = re.compile(r"\b(?:date:|dated|(?:filed|published|issued) on)\s+", re.IGNORECASE)
_GENERATED = re.compile(r"[\w-]*\d{6,}[\w-]*|.*\.(?:docx?|pdf|html?|indd|tex)|Microsoft \w+ - .*")
_REGISTRANT = "exact name of registrant"
_FIRST = 60  # blocks of the first page or so
_LONGEST_TITLE = 160


def stated_title(declared: str, blocks: Sequence[Block], path: Path) -> str:
    """The document's title: that of a filing's cover, the declared one, the first heading, the name."""
    if cover := _filing(blocks):
        return cover
    if _says_something(declared, path):
        return declared[:_LONGEST_TITLE]
    headings = [block for block in blocks[:12] if block.kind == "heading"]
    if headings:
        first = headings[0] if headings[0] is blocks[0] else min(headings, key=lambda block: block.level)
        return first.text[:_LONGEST_TITLE]
    return title_of_name(path)


def title_of_name(path: Path) -> str:
    """The title of a document that states none."""
    return " ".join(path.stem.replace("_", " ").split()) or path.name


def stated_date(blocks: Sequence[Block]) -> str:
    """The date the document gives itself, as ISO: when it was issued, else the period it reports on.

    When it was issued comes first because it tells which of two documents on one period is the later.
    """
    first = [block.text for block in blocks[:_FIRST] if block.text]
    for text in first[:20]:
        if (issued := _ISSUED.search(text)) and (match := _DATES.match(text, issued.end())):
            return _iso(match)
    if any(_FORM.fullmatch(text) for text in first):
        for text in first:
            if (period := _PERIOD.search(text)) and (match := _DATES.match(text, period.end())):
                return _iso(match)
    for text in first[:20]:
        if match := _DATES.fullmatch(text.strip()):
            return _iso(match)
    return ""


def _says_something(title: str, path: Path) -> bool:
    plain = re.sub(r"[\W_]+", "", title).casefold()
    if plain in {"", "untitled", "document", re.sub(r"[\W_]+", "", path.stem).casefold()}:
        return False
    generated = re.fullmatch(
        r"[\w-]*\d{6,}[\w-]*|.*\.(?:docx?|pdf|html?|indd|tex)|Microsoft \w+ - .*", title
    )
    return generated is None and any(character.isalpha() for character in title)


def _filing(blocks: Sequence[Block]) -> str:
    """``NVIDIA CORPORATION, FORM 10-K, January 29, 2023`` from the cover of a filing, else nothing."""
    first = blocks[:_FIRST]
    form = next((match[0] for block in first if (match := _FORM.fullmatch(block.text))), "")
    for index, block in enumerate(first):
        if form and index and _REGISTRANT in block.text.casefold():
            name = block.text.casefold().partition(_REGISTRANT)[0].strip(" (")
            above = [other.text for other in first[max(0, index - 4) : index] if other.text]
            company = block.text[: len(name)] if name else above[-1] if above else ""
            ended = next(
                (
                    match[0]
                    for other in first
                    if (period := _PERIOD.search(other.text))
                    and (match := _DATES.match(other.text, period.end()))
                ),
                "",
            )
            return ", ".join(part for part in (company, form, ended) if part)[:_LONGEST_TITLE]
    return ""


def _iso(match: re.Match[str]) -> str:
    if match["iso"]:
        parts = [int(part) for part in match["iso"].split("-")]
    else:
        month = match["month"] or match["month2"] or match["month3"]
        number = (
            int(month)
            if month.isdecimal()
            else next(i for i, name in enumerate(_MONTHS, 1) if name[:3] == month[:3].lower())
        )
        year = match["year"] or match["year2"] or match["year3"]
        parts = [int(year), number, int(match["day"] or match["day2"] or match["day3"])]
    try:
        return date(*parts).isoformat()
    except ValueError:
        return ""  # February 30: printed, but no day
