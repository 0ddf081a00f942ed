"""Names with what there is to say of them, in two columns that are folded, under titles."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from textwrap import wrap

from textual.content import Content

from tui.terminal import clean

_QUIET = "$foreground 65%"
_NARROWEST = 12


def facts(rows: Sequence[tuple[str, str]], width: int, column: int = 0) -> list[Content]:
    """Lines of at most ``width`` cells.

    Args:
        rows: Names and texts.
        width: Of a line.
        column: Cells of the names; as wide as the longest, and half the width at most, if 0.
    """
    widest = max((len(name) for name, _ in rows), default=0) + 2
    column = column or max(_NARROWEST, min(widest, width // 2))
    lines: list[Content] = []
    for name, text in rows:
        left = wrap(clean(name), column - 2)
        right = wrap(clean(text), max(width - column, _NARROWEST))
        for first, second in zip_longest(left, right, fillvalue=""):
            lines.append(Content.assemble((first.ljust(column), _QUIET), second))
    return lines


def titled(title: str, lines: Sequence[Content | str]) -> list[Content]:
    """The lines under a title, and an empty one after them."""
    return [
        Content.styled(title, "bold $primary"),
        *(Content(x) if isinstance(x, str) else x for x in lines),
        Content(""),
    ]
