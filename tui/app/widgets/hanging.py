"""Lines that go on under their text, not under the sign before it."""

from __future__ import annotations

from textwrap import wrap

_NARROWEST = 16


def hanging(lead: str, text: str, width: int) -> str:
    """``lead`` and ``text``, folded to ``width`` cells with its further lines indented by the lead.

    Args:
        lead: What stands before the first line.
        text: One line of text.
        width: Cells; a list that is not laid out yet has none, and is drawn again when it has.
    """
    indent = " " * len(lead)
    room = max(width, len(lead) + _NARROWEST)
    return "\n".join(wrap(text, room, initial_indent=lead, subsequent_indent=indent) or [lead])
