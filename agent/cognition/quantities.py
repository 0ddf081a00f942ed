"""Numbers in prose, compared by what they mean: ``seven`` is 7, ``3,940`` is 3940."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

# "one" is mostly a pronoun ("the larger one"), so it counts as a word, not as a number.
_WORDS = {
    word: str(value)
    for value, word in enumerate(
        "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen twenty".split(),
        start=2,
    )
} | {
    word: str(10 * tens)
    for tens, word in enumerate("thirty forty fifty sixty seventy eighty ninety".split(), 3)
}
_SCALES = {"thousand": 3, "million": 6, "billion": 9, "trillion": 12, "m": 6, "bn": 9, "万": 4, "亿": 8}
_BEFORE = r"(?<![A-Za-z\u00c0-\u024f\d.])"  # Chinese and Japanese write a number right after a word
_NUMBER = re.compile(
    _BEFORE + r"(?:[$€£¥]\s?)?(\d+(?:[.,]\d+)*)\s?(thousand|million|billion|trillion|bn\b|m\b|万|亿)?"
    r"|" + _BEFORE + "(" + "|".join(_WORDS) + r")\b(?:\s(thousand|million|billion|trillion))?",
    re.IGNORECASE,
)
_YEAR = re.compile(
    r"(?<![\d.,$€£])(?:1[5-9]|20)\d\d(?![\d.,]*\d|%|[\u3040-\u5e73\u5e75-\u9fff])"
)  # 年 may follow
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?"
_DATE = re.compile(
    rf"\b\d{{4}}-\d\d-\d\d\b|\b\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTH}|\b{_MONTH} \d{{1,2}}\b"
    r"|\d{1,2}月\d{1,2}日"
)
_EXACT_DIGITS = 3  # a scaled number with fewer significant digits is too round to be matched by rounding


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number as it stands in a text.

    Attributes:
        shown: The digits or the word.
        value: Without its scale word: a table "in millions" leaves the scale out.
        scale: Power of ten its scale word stands for; 0 without one.
        calendar: Whether it is the day or the month of a date, which no amount is read from.
    """

    shown: str
    value: Decimal
    scale: int
    calendar: bool = False


def quantities(text: str) -> list[Quantity]:
    """The numbers of ``text`` in order; years and parts of dates and names ("Ostra 180") among them."""
    found: list[Quantity] = []
    dated = [match.span() for match in _DATE.finditer(text)]
    for match in _NUMBER.finditer(text):
        digits, scale, word, word_scale = match.groups()
        shown = digits or word
        plain = _WORDS[word.casefold()] if word else _plain(digits)
        power = _SCALES.get((scale or word_scale or "").casefold(), 0)
        calendar = (
            len(plain) <= 2 and not power and any(a <= match.start() and match.end() <= b for a, b in dated)
        )
        found.append(Quantity(shown, Decimal(plain), power, calendar))
    return found


def years(text: str) -> set[str]:
    """The years of ``text``: 1500 to 2099, not part of a larger number, no amount of money."""
    return set(_YEAR.findall(text))


def stands(wanted: Quantity, held: Iterable[Quantity]) -> bool:
    """True if one of ``held`` says the same number.

    Exactly, whatever the scale words, since tables leave them out; or, where ``wanted`` has a scale word
    and three significant digits, by rounding ("$1.28 billion" for 1,284.6 in a table in millions).
    """
    return any(_same(wanted, other) for other in held)


def _plain(digits: str) -> str:
    return digits.replace(",", "").rstrip(".") if digits.count(".") < 2 else digits.partition(".")[0]


def _same(wanted: Quantity, other: Quantity) -> bool:
    if wanted.calendar != other.calendar:
        return False
    if wanted.value == other.value:
        return not (wanted.scale and other.scale) or wanted.scale == other.scale
    significant = wanted.value.as_tuple()
    if not wanted.scale or len(significant.digits) < _EXACT_DIGITS or not other.value:
        return False
    gap = other.value.adjusted() - wanted.value.adjusted()
    if gap not in (3, 6, 9):  # one or more scale words apart
        return False
    if other.scale and wanted.scale - other.scale != gap:
        return False
    scaled = other.value.scaleb(-gap)
    return scaled.quantize(wanted.value) == wanted.value
