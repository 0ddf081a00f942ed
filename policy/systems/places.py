"""Where passages stand, and how much of the gold evidence is among them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agent.state import Candidate, Evidence, Note
from policy.systems.cases import Case, Place


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


def traced(case: Case, **stages: Iterable[Place]) -> dict[str, float]:
    """The share of the gold places among those of each stage, by its name; nothing without gold places."""
    return {name: share(case.gold, stage) for name, stage in stages.items()} if case.gold else {}


def noted(evidence: Iterable[Evidence], notes: Iterable[Note]) -> tuple[Place, ...]:
    """Where those passages stand that a finding cites, each place once."""
    return places_of(numbered(evidence, (n for note in notes if note["found"] for n in note["cites"])))


def numbered(evidence: Iterable[Evidence], numbers: Iterable[int]) -> list[Evidence]:
    """The passages of these citation numbers."""
    wanted = set(numbers)
    return [item for item in evidence if item["number"] in wanted]
