"""Numbers, dates and times in text: read in the notation of their language and compared by value.

Month names, unit names, scale words ("million") and number signs come from CLDR (`babel`), number words
from `text_to_num`, conversions from `pint`. An ambiguous number keeps both values: "1.200" is 1200 in one
document and 1.2 in another.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

from agent.text.language import language as language_of
from agent.text.sentences import sentences
from agent.text.vocabulary import CURRENCY, KINDS, SPELLED, Vocabulary, vocabulary

if TYPE_CHECKING:
    import pint

# "1,284.6", "1.284,6", "1 200", "1'200"; else digits with at most one decimal sign; else "1.2.3".
_GROUPED = r"\d{1,3}(?P<sign>[.,'’ ])\d{3}(?:(?P=sign)\d{3})*(?:[.,]\d+)?(?![\d]|[.,]\d)"
_NUMBER = re.compile(rf"(?<!\d)(?<!\d[.,])(?:{_GROUPED}|\d+(?:[.,]\d+)*)")
_BARE_YEAR = re.compile(r"(?:19|20)\d\d")
_ISO_DATE = re.compile(r"(?<![\d-])(?P<year>\d{4})-(?P<month>\d\d)(?:-(?P<day>\d\d))?(?![\d-])")
_NUMERIC_DATE = re.compile(r"(?<![\d./])(\d{1,2})([./])\s?(\d{1,2})\2\s?(\d{4})(?![\d/])")
_CJK_DATE = re.compile(
    r"(?=\d)(?:(?P<year>\d{4})\s?年\s?)?(?:(?P<month>\d{1,2})\s?月(?!间|間)\s?(?:(?P<day>\d{1,2})\s?[日号號])?)?"
)
_WORD = re.compile(r"[^\W\d_]+")
_DAY_BEFORE = re.compile(r"(?<![\d.,])(\d{1,2})(?:st|nd|rd|th|er|º|ª|\.)?(?:\s(?:of|de|del)\s|[\s-])$")
_YEAR = r"(?:(?:\s?,\s?|\.?\s(?:of |de |del )?|[/-])(?P<year>\d{4})(?!\d|[.,]\d))?"
_YEAR_AFTER = re.compile(_YEAR)
_DAY_AND_YEAR_AFTER = re.compile(rf"(?:\.?\s(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?!\d|[.,:]\d|\s?%))?{_YEAR}")
_CLOCK = re.compile(r"(?<![\d:.])(\d{1,2}):(\d\d)(?::\d\d)?(?![\d:])(?:\s?([ap])\.?m\b\.?)?", re.IGNORECASE)
_HOUR = re.compile(r"(?<![\d:.,])(\d{1,2})\s?([ap])\.?m\b\.?", re.IGNORECASE)
_CJK_NUMERAL = re.compile("[〇零一二两兩三四五六七八九十百千万萬亿億]+")
_UNAMBIGUOUS = re.compile(  # numbers that show which sign is the decimal one
    r"(?<![\d.,])(?:(?P<comma>\d+,\d{1,2}(?![\d,.])|\d{1,3}\.\d{3}(?:,|\.\d{3})\d)"
    r"|\d+\.\d{1,2}(?![\d,.])|\d{1,3},\d{3}(?:\.|,\d{3})\d)"
)
_ORDINAL = re.compile(r"(?:st|nd|rd|th|er|e)\b")
_NEGATIVE = re.compile(r"(?:^|[\s(\[|:])[−–-]$")
_SUPERSCRIPT = str.maketrans(
    "⁰¹²³⁴⁵⁶⁷⁸⁹", " " * 10
)  # footnote marks, and the 2 of m², are no digits of a number
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]")
_LOOKAHEAD = 48  # characters after a number that may contain its scale and unit
_EXACT_DIGITS = 3  # significant digits that a scaled number needs to be matched by rounding
_SCALES = (3, 6, 9, 12)
_CALENDAR_UNITS = frozenset({"year", "month"})


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number in a text."""

    shown: str  # its digits as written, or the value of its word in digits, without unit
    values: tuple[Decimal, ...]  # the possible ones: two if the notation is ambiguous
    unit: str = ""
    """A unit of `pint`, a currency's ISO code, `CURRENCY` for money of unknown currency, ``clock`` for a
    time of day in minutes; "" without unit."""
    scale: int = 0  # power of ten of its scale word, included in the values; 0 without one
    part: bool = False  # whether it is part of a name or code ("Q3") or a group of a spaced number


@dataclass(frozen=True, slots=True)
class Date:
    """A full or partial date; missing parts are 0."""

    shown: str  # as written
    year: int = 0  # four digits
    month: int = 0
    day: int = 0


Measure: TypeAlias = Quantity | Date


@lru_cache(maxsize=2048)
def read(text: str, language: str = "") -> tuple[Measure, ...]:
    """The numbers and dates of ``text``: dates first, then numbers in digits, then in words.

    If ``language``, an ISO 639-1 code, is "", only English words and signs are read.
    """
    words = vocabulary(language)
    remaining = unicodedata.normalize("NFKC", text.translate(_SUPERSCRIPT))
    measures: list[Measure] = []
    for reader in (_dates, _clocks):
        for start, end, measure in reader(remaining, words):
            measures.append(measure)
            remaining = remaining[:start] + " " * (end - start) + remaining[end:]
    comma = _decimal_comma(remaining, words)
    rest = remaining
    for start, end, quantities in _numbers(remaining, words, comma):
        measures += quantities
        rest = rest[:start] + "\x00" * (end - start) + rest[end:]
    measures += _number_words(rest, words)
    return tuple(measures)


def dates(text: str, language: str = "") -> list[Date]:
    """The dates of ``text``, full or partial; arguments as for `read`."""
    matches = _dates(unicodedata.normalize("NFKC", text), vocabulary(language))
    return [measure for _, _, measure in matches]


def dated(text: str) -> bool:
    """Whether ``text`` names a day, a month or a year.

    A month alone at the beginning of a sentence does not count, since any word has a capital there.
    """
    code = language_of(text)
    words = vocabulary(code)
    for sentence in sentences(unicodedata.normalize("NFKC", text)):
        beginning = _WORD.search(sentence)
        first = beginning.start() if beginning else 0
        for start, _, date in _dates(sentence, words):
            if start != first or date.shown not in words.months_alone:
                return True
    measures = read(text, code)
    return any(isinstance(m, Quantity) and not m.unit and _BARE_YEAR.fullmatch(m.shown) for m in measures)


def is_among(measure: Measure, measures: Sequence[Measure]) -> bool:
    """True if ``measure`` is among the ``measures`` of a text, in any notation and with either sign.

    A number without unit may be part of a date. A scaled number ("$1.28 billion") also matches a number
    without its scale (1,284.6 in a table in millions): exactly, or rounded if it has at least three
    significant digits. A date matches if one date has its day and month, and this or another its year.
    """
    if isinstance(measure, Date):
        years = {m.year for m in measures if isinstance(m, Date)} | {
            int(v) for m in measures if isinstance(m, Quantity) for v in m.values if v == int(v)
        }
        return any(isinstance(m, Date) and _within(measure, m, years) for m in measures) or (
            not measure.month and measure.year in years
        )
    for other in measures:
        if isinstance(other, Date):
            if not measure.unit and {other.year, other.month, other.day}.intersection(measure.values):
                return True
        elif _same_size(measure, other) or (
            measure.unit != other.unit and _same_converted(_without_sign(measure), _without_sign(other))
        ):
            return True
    return False


def _within(date: Date, other: Date, years: set[int]) -> bool:
    if date.month != other.month and date.month:
        return False
    if date.day != other.day and date.day:
        return False
    return not date.year or date.year == other.year or (not other.year and date.year in years)


def _same_size(quantity: Quantity, other: Quantity) -> bool:
    if not _comparable_units(quantity.unit, other.unit):
        return False
    mine, its = _without_sign(quantity).values, _without_sign(other).values
    if not set(mine).isdisjoint(its):
        return True
    scaled = quantity.scale and (not other.unit or _is_money(other.unit))
    return bool(scaled) and any(_rounds(m, quantity.scale, i, other.scale) for m in mine for i in its)


def _without_sign(quantity: Quantity) -> Quantity:
    return Quantity("", tuple(map(abs, quantity.values)), quantity.unit)


def _rounds(value: Decimal, scale: int, other: Decimal, other_scale: int) -> bool:
    mantissa = value.scaleb(-scale).normalize()
    exact = len(mantissa.as_tuple().digits) >= _EXACT_DIGITS
    for missing_scale in (0,) if other_scale else (0, *_SCALES):
        scaled = other.scaleb(missing_scale - scale)
        if scaled == mantissa:
            return True
        if exact and scaled.quantize(mantissa) == mantissa:
            return True
    return False


def _comparable_units(unit: str, other: str) -> bool:
    """True if values may be compared as they are."""
    if unit == other or not unit or not other:
        return True
    return CURRENCY in {unit, other} and _is_money(unit) and _is_money(other)


def _is_money(unit: str) -> bool:
    return unit == CURRENCY or (len(unit) == 3 and unit.isupper())


def _same_converted(quantity: Quantity, other: Quantity) -> bool:
    """Whether two unambiguous quantities in different units of one dimension are the same."""
    if len(quantity.values) != 1 or len(other.values) != 1:
        return False
    (mine,), (its,) = quantity.values, other.values
    if quantity.unit not in KINDS or KINDS[quantity.unit] != KINDS.get(other.unit):
        return False
    if (quantity.unit in _CALENDAR_UNITS) != (other.unit in _CALENDAR_UNITS):
        return False  # a month has 28 to 31 days
    return _to_base_unit(mine, quantity.unit) == _to_base_unit(its, other.unit)


def _to_base_unit(value: Decimal, unit: str) -> tuple[Decimal, str]:
    """The value in the base unit of its dimension, and that dimension."""
    base = _registry().Quantity(value, unit).to_base_units()
    return round(Decimal(base.magnitude), 9), str(base.dimensionality)


@lru_cache(maxsize=1)
def _registry() -> pint.UnitRegistry[Any]:
    import pint

    return pint.UnitRegistry(non_int_type=Decimal, cache_folder=None)


def _dates(text: str, words: Vocabulary) -> Iterator[tuple[int, int, Date]]:
    for match in [*_ISO_DATE.finditer(text), *_CJK_DATE.finditer(text)]:
        year, month, day = (int(match[name] or 0) for name in ("year", "month", "day"))
        if (year or month) and month <= 12 and day <= 31:
            yield *match.span(), Date(match.group(), year, month, day)
    for match in _WORD.finditer(text):
        month = words.months.get(match.group(), 0) or words.months.get(match.group().capitalize(), 0)
        before = _DAY_BEFORE.search(text, max(0, match.start() - 12), match.start()) if month else None
        after = (_YEAR_AFTER if before else _DAY_AND_YEAR_AFTER).match(text, match.end())
        if not month and after and after["year"] and (month := words.month_in(match.group())):
            yield (
                match.start(),
                after.end(),
                Date(text[match.start() : after.end()], int(after["year"]), month),
            )
            continue
        if not month or after is None:
            continue
        day = int(before[1] if before else after.groupdict()["day"] or 0)
        year = int(after["year"] or 0)
        start, end = before.start() if before else match.start(), after.end()
        # A name alone may be a verb or a person ("may", "June"): it is a month if it is a full name with a
        # capital, before a year, or beside a day.
        is_certain = year or before or (day and match.group() in words.months)
        if day <= 31 and (is_certain or match.group() in words.months_alone):
            yield start, end, Date(text[start:end].strip(" .,"), year, month, day)
    for match in _NUMERIC_DATE.finditer(text):
        first, sign, second, year = int(match[1]), match[2], int(match[3]), int(match[4])
        # Day first, except with slashes as in the US if only that is possible.
        if first <= 31 and 1 <= second <= 12:
            yield *match.span(), Date(match.group(), year, second, first)
        elif sign == "/" and second <= 31 and 1 <= first <= 12:
            yield *match.span(), Date(match.group(), year, first, second)


def _clocks(text: str, _words: Vocabulary) -> Iterator[tuple[int, int, Measure]]:
    for match in [*_CLOCK.finditer(text), *_HOUR.finditer(text)]:
        hour, minute = int(match[1]), int(match[2]) if match[2].isdigit() else 0
        half = (match[match.lastindex or 0] or "").casefold()
        if half in {"a", "p"}:
            hour = hour % 12 + (12 if half == "p" else 0)
        if hour < 25 and minute < 60:
            yield *match.span(), Quantity(match.group(), (Decimal(60 * hour + minute),), "clock")


def _decimal_comma(text: str, words: Vocabulary) -> bool | None:
    """Whether a comma is the decimal sign, by language and the numbers in the text; None if unknown."""
    commas = {bool(match["comma"]) for match in _UNAMBIGUOUS.finditer(text)}
    if words.comma is None:
        return commas.pop() if len(commas) == 1 else None
    return None if (not words.comma) in commas else words.comma


def _numbers(text: str, words: Vocabulary, comma: bool | None) -> Iterator[tuple[int, int, list[Measure]]]:
    for match in _NUMBER.finditer(text):
        start, end, digits = match.start(), match.end(), match.group()
        before, after = text[:start], text[end : end + _LOOKAHEAD]
        money = words.money_before(before)
        scale, scale_length = words.scale_after(after, money=bool(money))
        unit = words.unit_after(after[scale_length:])
        in_code = (
            not scale_length and not unit and _LATIN.match(after) is not None and not _ORDINAL.match(after)
        )
        in_code = in_code or (_LATIN.match(before[-1:]) is not None and not money)
        version = match["sign"] is None and len(re.findall(r"[.,]", digits)) > 1
        values = _values(digits, comma)
        if _NEGATIVE.search(before[-2:]):
            values = tuple(-value for value in values)
        scaled = tuple(value.scaleb(scale) for value in values)
        quantities: list[Measure] = [
            Quantity(digits, scaled, money or unit, scale, part=in_code or version)
        ]
        if " " in digits:  # "in Table 5 200 people": perhaps two numbers
            quantities += [
                Quantity(group, (Decimal(group),), part=True) for group in re.findall(r"\d+", digits)
            ]
        yield start, end + scale_length, quantities


def _values(digits: str, comma: bool | None) -> tuple[Decimal, ...]:
    """All possible values of digits with their signs."""
    compact = re.sub(r"['’ ]", "", digits)
    signs = re.findall(r"[.,]", compact)
    if not signs:
        return (Decimal(compact),)
    last = signs[-1]
    whole, _, fraction = compact.rpartition(last)
    as_decimal = Decimal(f"{re.sub('[.,]', '', whole)}.{fraction}")
    as_groups = Decimal(re.sub("[.,]", "", compact))
    if len(set(signs)) == 2:
        return (as_decimal,)
    if len(signs) > 1:
        return (as_groups,)
    if len(fraction) != 3 or len(whole) > 3 or whole == "0":
        return (as_decimal,)
    if comma is None:
        return (as_groups, as_decimal)
    return (as_decimal,) if (last == ",") == comma else (as_groups,)


def _number_words(text: str, words: Vocabulary) -> list[Measure]:
    """The numbers written as words, from two on: "one" is seldom a number."""
    measures: list[Measure] = []
    for match in _CJK_NUMERAL.finditer(text):
        value = _cjk_value(match.group())
        unit = words.unit_after(text[match.end() : match.end() + _LOOKAHEAD])
        if value >= 2 and (unit or len(match.group()) > 1):  # 三 alone is part of many words
            measures.append(Quantity(match.group(), (Decimal(value),), unit))
    if words.language in SPELLED:
        from text_to_num import alpha2digit

        in_digits = alpha2digit(text, words.language, 0)
        for _, _, quantities in _numbers(in_digits, words, comma=words.comma):
            measures += [
                q for q in quantities if isinstance(q, Quantity) and not q.part and q.values[0] >= 2
            ]
    return measures


def _cjk_value(numeral: str) -> int:
    total = section = digit = 0
    for sign in numeral.replace("两", "二").replace("兩", "二"):
        value = int(unicodedata.numeric(sign))
        if value >= 10_000:
            total, section, digit = (total + section + digit) * value, 0, 0
        elif value >= 10:
            section, digit = section + (digit or 1) * value, 0
        else:
            digit = digit * 10 + value if digit else value
    return total + section + digit
