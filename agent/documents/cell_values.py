"""Telling the numbers of a table from what names them."""

from __future__ import annotations

import re

CURRENCY = re.compile(r"(?:[A-Z]{1,3})?[$€£¥₹]")
CLOSING = re.compile(r"[)%\]]+|%\s*\)|pts\.?|bps")
_CODE = r"(?:USD|EUR|GBP|JPY|CNY|RMB|CHF|CAD|AUD|HKD|INR|KRW)\s?"
_VALUE = re.compile(
    rf"(?:[A-Z]{{0,3}}[$€£¥₹]|{_CODE})?"
    r"[\s(\[<>~≈+\-−–]*(?:[A-Z]{0,3}[$€£¥₹])?\s*\.?\d(?:[\d,.'\s]*\d)?"
    r"(?:[)%\]\s*†]|\^[+\-−–]?\d+(?:,\d+)*|\([a-z\d]{1,3}\)|pts\.?|bps|bn|m|x|years?|million|billion)*"
    r"|[—–\-−]+\s*%?|n/?a|nm",
    re.IGNORECASE,
)
_YEAR = re.compile(r"\(?(?:19|20)\d\d(?:[A-Z]|\^\d+)?\)?")
_UNIT = re.compile(
    r"\(.*(?:millions?|thousands?|billions?|dollars|unaudited|except|amounts|percent|[$€£¥%]).*\)"
    r"|.{0,12}\bin (?:millions|thousands|billions)\b.{0,40}",
    re.IGNORECASE,
)
_PERIOD = re.compile(
    r"\b(?:ended|ending|as of|fiscal|year|quarter|months|weeks|q[1-4]|[12]h|(?:19|20)\d\d)\b"
    r"|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\w*\.?\s+\d",
    re.IGNORECASE,
)


def is_value(text: str) -> bool:
    """Whether ``text`` is a quantity (or the dash for none), not a year that names a column."""
    return bool(_VALUE.fullmatch(text.strip())) and not is_year(text)


def is_year(text: str) -> bool:
    """Whether ``text`` is a year and nothing else."""
    return bool(_YEAR.fullmatch(text.strip()))


def is_unit(text: str) -> bool:
    """Whether ``text`` only says in what the numbers count, such as ``(In millions)``."""
    return bool(_UNIT.fullmatch(text.strip()))


def names_period(text: str) -> bool:
    """Whether ``text`` says when: ``13 Weeks Ended``, ``As of June 30,``, ``2022``."""
    return bool(_PERIOD.search(text))
