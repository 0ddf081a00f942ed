"""Citations numbered in the order in which an answer is read."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from agent import events as ev
from agent.state import Claim, Evidence

_MARK = re.compile(r"\[(\d+)\]")


def _new(number: int, order: Mapping[int, int]) -> int:
    return order.get(number, number)


def reading_order(answered: ev.Answered, kept: Sequence[Evidence]) -> dict[int, int]:
    """Each passage's number to its new one: 1 for what is cited first; last comes what is not cited."""
    held = [item["number"] for item in (*answered.sources, *kept)]
    cited = [int(mark) for mark in _MARK.findall(answered.answer) if int(mark) in held]
    return {old: new for new, old in enumerate(dict.fromkeys([*cited, *held]), start=1)}


def renumbered(answered: ev.Answered, order: Mapping[int, int]) -> ev.Answered:
    """The answer with its marks, sentences, sources and quotes by their new numbers."""
    return replace(
        answered,
        answer=_marks(answered.answer, order),
        sentences=[
            Claim(
                {
                    **claim,
                    "cites": [_new(number, order) for number in claim["cites"]],
                    "reason": _marks(claim["reason"], order),
                }
            )
            for claim in answered.sentences
        ],
        sources=numbered(answered.sources, order),
        quotes={str(_new(int(key), order)): quote for key, quote in answered.quotes.items()},
    )


def numbered(items: Sequence[Evidence], order: Mapping[int, int]) -> list[Evidence]:
    """Passages by their new numbers, in their order."""
    made = [Evidence({**item, "number": _new(item["number"], order)}) for item in items]
    return sorted(made, key=lambda item: item["number"])


def _marks(text: str, order: Mapping[int, int]) -> str:
    return _MARK.sub(lambda mark: f"[{_new(int(mark[1]), order)}]", text)
