"""Raised digits on one line with the number beside them, without becoming a part of it.

``10⁶`` set with a small raised 6 must not be read as 106, nor 45.2 with the mark of footnote 1 as
45.21. Raised letters and signs (1st, a trademark) change no number and stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_NUMBER_ENDS = re.compile(r"[\d%)]\Z")
_NUMBER_BEGINS = re.compile(r"[+\-−–]?\d")


def separator(before: str, after: str, *, raised: bool) -> str:
    """What is written between two texts, of which ``after`` is raised, or else ``before``.

    Returns:
        ``^`` between a number and digits raised after it, a space between raised digits and a number
        after them, else nothing.
    """
    if raised:
        return "^" if _NUMBER_ENDS.search(before) and _NUMBER_BEGINS.match(after) else ""
    return " " if before[-1:].isdecimal() and after[:1].isdecimal() else ""


def on_one_line(parts: Iterable[tuple[str, bool]]) -> str:
    """Texts, each with whether it is raised, as one."""
    whole = ""
    was_raised = False
    for text, raised in parts:
        if not text:
            continue
        if raised != was_raised:
            whole += separator(whole, text, raised=raised)
        whole += text
        was_raised = raised
    return whole
