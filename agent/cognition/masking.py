"""Masking: a question with a mark for each name, so that forms can be told by its small words alone.

"Where did the author of Kadis die?" is "Where did the author of ⟦0⟧ die?".
"""

from __future__ import annotations

import re

from agent.cognition.surface import pieces

NAME = r"(?:#\d|⟦\d+⟧)"
"""Pattern of a mark, or of a reference to an earlier look-up."""

WORK = "film|movie|song|album|single|book|novel|play|opera|show|series|game"
"""What a title is the title of."""

_ABBREVIATED = 3  # letters: "D. J. Ode", "Mr. Ode"
_DOT = re.compile(r"\.\s?")
_MARK = re.compile(r"⟦(\d+)⟧")
_BRACKET = re.compile(r"\s?\([^()]*\)")


def bare(question: str) -> str:
    """The question on one line, without its question mark: as `masked` and all forms want it."""
    return " ".join(question.split()).rstrip("?？. ")


def masked(text: str) -> tuple[str, list[str]]:
    """``text`` with its names as ⟦0⟧, ⟦1⟧ …, and the names; brackets behind a name belong to it."""
    parts: list[str] = []
    names: list[str] = []
    at = 0
    for piece in pieces(text):
        if piece.kind != "name" or piece.start < at:
            continue
        short = names and len(re.split(r"\W", names[-1])[-1]) <= _ABBREVIATED
        if short and _DOT.fullmatch(text[at : piece.start]):
            names[-1] = text[at - len(names[-1]) : piece.end]
            at = piece.end
            continue
        bracket = _BRACKET.match(text, piece.end)
        end = bracket.end() if bracket else piece.end
        parts += [text[at : piece.start], f"⟦{len(names)}⟧"]
        names.append(text[piece.start : end])
        at = end
    return "".join([*parts, text[at:]]), names


def unmasked(text: str, names: list[str]) -> str:
    """``text`` with its names again."""
    return _MARK.sub(lambda mark: names[int(mark.group(1))], text)
