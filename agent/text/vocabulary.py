"""Words beside numbers in a language, from CLDR: months, units, currencies, scales. Also yes and no."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from agent.text.language import CJK

if TYPE_CHECKING:
    from babel import Locale

CURRENCY = "currency"
"""The unit of an amount of money whose currency is unknown, or whose sign several countries use."""

YES_NO = frozenset("yes no ja nein oui non sí no sì sim não nee 是 是的 对 不 不是 否".split())
"""The answers of one word, in the languages whose number words are read, and in Chinese."""

SPELLED = frozenset({"en", "fr", "es", "pt", "de", "it", "nl"})
"""Languages whose number words `text_to_num` reads."""

# CLDR's units by what they measure.
_MEASURES = {
    "duration": "year month week day hour minute second millisecond",
    "concentr": "percent permille",
    "length": "kilometer meter centimeter millimeter mile yard foot inch",
    "mass": "tonne kilogram gram milligram pound ounce",
    "volume": "liter milliliter cubic-meter gallon",
    "area": "square-kilometer square-meter square-foot hectare acre",
    "temperature": "celsius fahrenheit",
    "digital": "byte kilobyte megabyte gigabyte terabyte",
    "power": "watt kilowatt megawatt",
    "energy": "kilowatt-hour",
    "electric": "volt ampere milliampere ohm",
    "frequency": "hertz kilohertz megahertz gigahertz",
    "speed": "kilometer-per-hour mile-per-hour",
}
# Where pint names a unit otherwise than CLDR.
_PINT_NAMES = {
    "tonne": "metric_ton",
    "cubic-meter": "meter**3",
    "square-kilometer": "kilometer**2",
    "square-meter": "meter**2",
    "square-foot": "foot**2",
    "celsius": "degC",
    "fahrenheit": "degF",
    "kilometer-per-hour": "kilometer/hour",
    "mile-per-hour": "mile/hour",
}
# CLDR's name of a unit, and pint's.
_UNITS = {
    f"{measure}-{unit}": _PINT_NAMES.get(unit, unit.replace("-", "_"))
    for measure, units in _MEASURES.items()
    for unit in units.split()
}
KINDS = {unit: cldr.partition("-")[0] for cldr, unit in _UNITS.items()}
"""What each unit measures; only units of one kind can be converted."""

_LONG_ONLY = frozenset({"length-inch"})  # "5 in 2023"
_CURRENCIES = ("USD", "EUR", "GBP", "JPY", "CNY", "CHF", "SEK", "NOK", "DKK", "PLN", "INR", "AUD", "CAD")
_FINANCE_SCALES = {"bn": 9, "mn": 6, "m": 6, "k": 3, "tn": 12}  # after an amount of money; not in CLDR
_PLURAL_NUMBERS = (1, 2, 3, 5, 1.5)  # numbers that produce every plural form of CLDR's languages
_CJK = re.compile(f"[{CJK}]")
_CODE_BEFORE = re.compile(r"(?<![^\W\d])([A-Z]{3})\s?$")
_SHORTEST_PREFIX = 5  # letters of a month's name that begins other words: "Mainz" and "Junior" have none
_LONGEST_ENDING = 2  # letters that an inflected unit may have more: "in 24 Monaten"


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words beside numbers in one language and English."""

    language: str  # ISO 639-1 code
    comma: bool | None  # whether the decimal sign is a comma; None if the language is unknown
    months: Mapping[str, int]  # names and abbreviations without full stop, also capitalised
    own_months: Mapping[str, int]  # full names that may begin other words; none in English
    months_alone: frozenset[str]  # capitalised full names: months even without day and year
    days: frozenset[str]  # full names of weekdays
    scales: Mapping[str, int]  # case-folded scale words, with their power of ten
    units: Mapping[str, str]  # case-folded unit names, with pint's name or the currency's code
    signs: Mapping[str, str]  # the same for abbreviated units and currency signs, whose case is kept

    def month_in(self, word: str) -> int:
        """The month whose name ``word`` begins with, as "Januarwoche" does; else 0."""
        return next((month for name, month in self.own_months.items() if word.startswith(name)), 0)

    def money_before(self, text: str) -> str:
        """The currency whose sign or code is at the end of ``text``, else ""."""
        stripped = text.rstrip()
        if stripped and unicodedata.category(stripped[-1]) == "Sc":
            return self.signs.get(stripped[-1], CURRENCY)
        code = _CODE_BEFORE.search(text)
        return code[1] if code and code[1] in _CURRENCIES else ""

    def scale_after(self, text: str, *, money: bool) -> tuple[int, int]:
        """The power of ten of the scale word at the start of ``text``, and its length; else 0 and 0."""
        for word in sorted(self.scales, key=len, reverse=True) if _CJK.match(text) else ():
            if _CJK.match(word) and text.startswith(word):
                return self.scales[word], len(word)
        match = re.match(r"\s?-?([^\W\d_]+)\b\.?", text)
        if match is None:
            return 0, 0
        word = match[1].casefold()
        scale = self.scales.get(word, 0) if len(word) > 1 else 0
        if not scale and (money or match[1] in {"M", "K", "B"}):
            scale = _FINANCE_SCALES.get(word, self.scales.get(word, 0))
        return (scale, match.end()) if scale else (0, 0)

    def unit_after(self, text: str) -> str:
        """The unit at the start of ``text``; "" if there is none, or the sign is ambiguous."""
        text = text.removeprefix(" ").removeprefix("-")
        if _CJK.match(text):
            fitting = [word for word in self.signs if _CJK.match(word) and text.startswith(word)]
            return self.signs[max(fitting, key=len)] if fitting else ""
        if text[:1] and unicodedata.category(text[0]) == "Sc":
            return self.signs.get(text[0], CURRENCY)
        if text[:1] in {"%", "‰"}:
            return self.signs.get(text[0], "")
        words = re.match(r"°\s?[CF]\b|[^\W\d_]+(?:[ /-][^\W\d_]+){0,2}", text)
        phrase = words.group() if words else ""
        while phrase:
            if unit := self._unit(phrase):
                return unit
            phrase = re.sub(r"[ /-]?[^\W\d_°]+$|°.*$", "", phrase)
        return ""

    def _unit(self, words: str) -> str:
        if words in self.signs:
            return self.signs[words]
        if words in _CURRENCIES:
            return words
        folded = words.casefold()
        for removed in range(_LONGEST_ENDING + 1):
            stem = folded[: len(folded) - removed]
            if stem in self.units and (not removed or len(stem) > _LONGEST_ENDING + 1):
                return self.units[stem]
        return ""


@lru_cache(maxsize=32)
def vocabulary(language: str) -> Vocabulary:
    """The words beside numbers in ``language`` and English; English alone if CLDR lacks the language."""
    from babel import Locale
    from babel.localedata import exists

    locale_codes = [language] if language and exists(language) else []
    locales = [Locale.parse(code) for code in (*locale_codes, "en", "en_GB")]
    units, signs = _units(locales)
    own_months = locales[0].months["format"]["wide"] if locale_codes and language != "en" else {}
    wide = [str(name) for locale in locales for name in locale.months["format"]["wide"].values()]
    return Vocabulary(
        language=language or "en",
        comma=str(locales[0].number_symbols["latn"]["decimal"]) == "," if language else None,
        months=_months(locales),
        own_months={
            str(name): number for number, name in own_months.items() if len(name) >= _SHORTEST_PREFIX
        },
        months_alone=frozenset(name for name in wide if name[0].isupper()),
        days=frozenset(str(n) for locale in locales for n in locale.days["format"]["wide"].values()),
        scales=_scales(locales),
        units=units,
        signs=signs,
    )


@lru_cache(maxsize=32)
def writes_days_with_a_stop(language: str) -> bool:
    """Whether a day of the month, and so any ordinal, has a full stop in ``language``: "31. Dezember"."""
    from babel import Locale
    from babel.localedata import exists

    return exists(language) and "d." in Locale.parse(language).date_formats["long"].pattern


def _months(locales: Sequence[Locale]) -> dict[str, int]:
    numbers: dict[str, int] = {}
    for locale in locales:
        for context in ("format", "stand-alone"):
            for width in ("wide", "abbreviated"):
                for number, name in locale.months[context][width].items():
                    word = str(name).rstrip(".")
                    for variant in (word, word.title(), word.upper()):
                        numbers.setdefault(variant, number)
    return {name: number for name, number in numbers.items() if name.isalpha()}


def _scales(locales: Sequence[Locale]) -> dict[str, int]:
    """The words of CLDR's compact forms: from "000 Millionen" for 10^8, the word means 10^6."""
    powers: dict[str, int] = {}
    for locale in locales:
        lengths = [locale.compact_decimal_formats.get(length) for length in ("long", "short")]
        for size, pattern in [
            item for formats in lengths if formats for forms in formats.values() for item in forms.items()
        ]:
            zeros, word = re.fullmatch(r"(0*)(.*)", pattern.pattern).groups()  # type: ignore[union-attr]
            word = word.strip(" \u00a0\u202f'").replace("'", "").casefold().rstrip(".")
            if zeros and word.isalpha():
                powers.setdefault(word, len(size) - len(zeros))
    return powers


def _units(locales: Sequence[Locale]) -> tuple[dict[str, str], dict[str, str]]:
    """Units by case-folded full name, and by sign with its case kept, without ambiguous ones."""
    from babel.numbers import get_currency_name, get_currency_symbol
    from babel.units import format_unit

    names: dict[str, set[str]] = {}
    signs: dict[str, set[str]] = {}
    for locale in locales:
        for cldr, unit in _UNITS.items():
            for count in _PLURAL_NUMBERS:
                name = _without_number(format_unit(count, cldr, "long", locale=locale))
                names.setdefault(name.casefold(), set()).add(unit)
                if cldr not in _LONG_ONLY:
                    sign = _without_number(format_unit(count, cldr, "short", locale=locale)).rstrip(".")
                    signs.setdefault(sign, set()).add(unit)
        for code in _CURRENCIES:
            name = get_currency_name(code, count=2, locale=locale)
            words = re.findall(r"[^\W\d_]+", name)
            common = [word for word in words if word.islower()] or words[-1:]  # "US dollars": dollars
            for word in (name, get_currency_name(code, count=1, locale=locale), *common):
                names.setdefault(word.casefold(), set()).add(code)
            signs.setdefault(get_currency_symbol(code, locale=locale), set()).add(code)
    signs["$"], signs["¥"] = {CURRENCY}, {CURRENCY}  # several countries'
    return _unambiguous(names), _unambiguous(signs)


def _without_number(formatted: str) -> str:
    return re.sub(r"[\d.,٫]", "", formatted).strip(" \u00a0\u202f")


def _unambiguous(units: Mapping[str, set[str]]) -> dict[str, str]:
    unambiguous: dict[str, str] = {}
    for word, meanings in units.items():
        if len(meanings) == 1:
            unambiguous[word] = next(iter(meanings))
        elif all(len(unit) == 3 and unit.isupper() for unit in meanings):
            unambiguous[word] = CURRENCY
    return {word: unit for word, unit in unambiguous.items() if word and not word.startswith("duration-")}
