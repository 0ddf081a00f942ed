"""What is measured of an answer, without a judge.

Exact match and F1 by the data sets' own normalisation (`policy.scoring`), the evidence at the end and the
citations against the gold passages, abstentions, and what it took.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from policy.systems.answered import Answered
from policy.systems.cases import Case

Measures: TypeAlias = Mapping[str, float]

QUALITY: Final = ("em", "f1", "holds")
"""Of the short answer: exact match and F1; of the whole answer: whether it states a gold answer."""

EVIDENCE: Final = ("recall", "precision", "citation_recall", "citation_precision")
"""Of the passages held and of those cited, against the gold places."""

CONDUCT: Final = ("flagged", "abstained", "abstained_rightly", "abstained_wrongly")
"""Whether a sentence is flagged; whether it abstains, and whether that is right."""

COST: Final = ("steps", "calls", "evaluated", "reused", "generated", "seconds")
"""As `policy.systems.answered.Cost`."""

TRACED: Final = ("reached", "recalled", "noted")
"""As `policy.systems.answered.Answered.traced`."""


def measured(case: Case, answered: Answered) -> dict[str, float]:
    """All measures of an answer by name; those that cannot be known are left out.

    An abstention has an EM and F1 of 0 where there is an answer, and of 1 where there is none. Without gold
    places there is no recall or precision; without citations no citation precision.
    """
    raise NotImplementedError
