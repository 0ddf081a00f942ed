"""The data gathered to learn a policy from, and how much is still missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from agent.decisions.decider import STATE_VERSION
from agent.state import ACTIONS
from traces.decisions import Agreement, count_decisions
from traces.labels import Origin
from traces.ratings import RATINGS
from traces.store import Store

NEEDED = 3_000
"""Decisions needed for a first training.

The smallest figure from which a learned controller is reported to gain is 1,000 questions (DynaKRAG,
arXiv 2607.06507: a forest on cheap features, +4.0 to +5.8 F1 over choosing at random), and a run takes
about three decisions.
"""


@dataclass(frozen=True, slots=True)
class Gathered:
    """The data to learn from: decisions that were acted on; shadows count only in the agreement.

    Attributes:
        runs: Runs with at least one decision.
        sources: Decisions by source, the most frequent first.
        labels: Labels by origin, with an entry for every origin.
        agreement: By day, for each pair of sources that judged the same states.
        usable: Decisions whose state has the current encoding.
    """

    runs: int
    sources: dict[str, int]
    actions: dict[str, int]
    labels: dict[str, int]
    ratings: dict[str, int]
    agreement: list[Agreement]
    usable: int
    needed: int = NEEDED

    @property
    def decisions(self) -> int:
        """All decisions, whatever the encoding of their state."""
        return sum(self.sources.values())

    @property
    def missing(self) -> int:
        """Usable decisions still to be gathered; 0 once there are enough."""
        return max(0, self.needed - self.usable)


def gathered(store: Store) -> Gathered:
    """Count the data in the store."""
    counts = count_decisions(store)
    return Gathered(
        runs=counts.runs,
        sources=counts.sources,
        actions=dict.fromkeys(ACTIONS, 0) | counts.actions,
        labels=dict.fromkeys(get_args(Origin), 0) | counts.origins,
        ratings=dict.fromkeys(RATINGS, 0) | counts.ratings,
        agreement=counts.agreement,
        usable=counts.versions.get(STATE_VERSION, 0),
    )
