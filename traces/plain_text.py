"""Unsafe characters in text from outside: they control a terminal, hide, or break UTF-8.

Documents, model replies, file names and addresses are all text from outside.
"""

from __future__ import annotations

import re
from typing import Any, Final

UNSAFE: Final = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters, but for tab and newline
    "\u202a-\u202e\u2066-\u2069"  # directional overrides: displayed in another order than read
    "\U000e0000-\U000e007f"  # tags: invisible, but a language model reads them as letters
    "\ud800-\udfff"  # half a character, invalid in files and terminals
    "]"
)


def plain(text: str) -> str:
    """``text`` without unsafe characters; those that separate words become a space."""
    return UNSAFE.sub(lambda match: " " if match[0].isspace() else "", text.replace("\r\n", "\n"))


def squeezed(text: str) -> str:
    """``text`` on one line, with one space in place of all other white space."""
    return " ".join(text.split())


def plain_values(value: Any) -> Any:
    """``value``, made of JSON types, with `plain` applied to all its texts."""
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, list):
        return [plain_values(item) for item in value]
    if isinstance(value, dict):
        return {name: plain_values(item) for name, item in value.items()}
    return value
