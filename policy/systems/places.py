"""Where passages stand, and how much of the gold evidence is among them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agent.state import Candidate, Evidence
from policy.systems.cases import Place


def place_of(passage: Evidence | Candidate) -> Place:
    """Where a passage stands: its document's name and its page, where it has one."""
    return Place(passage["document"], passage["page"])


def places_of(passages: Iterable[Evidence | Candidate]) -> tuple[Place, ...]:
    """Where passages stand, each place once, in their order."""
    return tuple(dict.fromkeys(map(place_of, passages)))


def ids_of(passages: Iterable[Evidence]) -> tuple[int, ...]:
    """What the library calls passages, each once, in their order."""
    return tuple(dict.fromkeys(passage["passage_id"] for passage in passages))


def share(gold: Sequence[Place], places: Iterable[Place]) -> float:
    """Share of the gold places, 0 to 1, that at least one of ``places`` is evidence from.

    Raises:
        ValueError: there are no gold places; then nothing can be said, and 0 or 1 would say something.
    """
    if not gold:
        raise ValueError("there are no gold places to be found")
    held = set(places)
    return sum(any(wanted.covers(place) for place in held) for wanted in gold) / len(gold)
