"""How far a passage supports a sentence, without a model: shared content, and every number."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from agent.retrieval.terms import terms
from agent.state import Evidence

_HAS_DIGIT = re.compile(r"\d")


def content(item: Evidence) -> str:
    """All that a citation of ``item`` may rest on: its chunk, and where that stands."""
    return f"{item['title']} {item['section']} {item['date']} {item['text']}"


def support(sentence: str, item: Evidence) -> float:
    """Share of the content terms of ``sentence`` that stand in the passage, 0 to 1.

    Numbers count double: a sentence with a right wording and a wrong figure is not supported.
    """
    return joint_support(sentence, [item])


def joint_support(sentence: str, items: Iterable[Evidence]) -> float:
    """The same against several passages together."""
    return _share(terms(sentence), _held(items))


def missing_numbers(sentence: str, items: Iterable[Evidence]) -> list[str]:
    """The numbers of ``sentence`` that stand in none of the passages."""
    have = _held(items)
    return [t for t in terms(sentence) if _HAS_DIGIT.search(t) and t not in have]


def best_source(sentence: str, items: Sequence[Evidence]) -> Evidence | None:
    """The passage that supports the sentence best; the earlier of equals; None without passages."""
    return max(items, key=lambda item: support(sentence, item), default=None)


def _held(items: Iterable[Evidence]) -> set[str]:
    return {term for item in items for term in terms(content(item))}


def _share(wanted: Sequence[str], have: set[str]) -> float:
    if not wanted:
        return 0.0
    weights = [2 if _HAS_DIGIT.search(term) else 1 for term in wanted]
    held = sum(w for term, w in zip(wanted, weights, strict=True) if term in have)
    return held / sum(weights)
