"""What is measured of an answer, without a judge, and the stage that lost a wrong one.

Exact match and F1 by the data sets' own normalisation (`policy.evaluation.scoring`), the evidence and the
citations against the gold passages, abstentions, and the cost.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from policy.evaluation import scoring
from policy.evaluation.answered import Answered
from policy.evaluation.cases import Case, Place

Measures: TypeAlias = Mapping[str, float]

JUDGED: Final = ("right", "wrong", "wrong_supported", "refused_wrongly", "refused_rightly", "first_words")
"""Of answers that are judged by patterns. ``right`` and ``refused_wrongly`` are over the questions with an
answer, ``refused_rightly`` over those that have none, ``wrong`` and ``wrong_supported`` (wrong, and no
sentence flagged) over all; ``first_words`` is in seconds."""

_MARK: Final = re.compile(r"\s*\[\d+\]")

QUALITY: Final = ("em", "f1", "holds")
"""Of the short answer: exact match and F1; of the whole answer: whether it states a gold answer."""

EVIDENCE: Final = ("recall", "precision", "citation_recall", "citation_precision")
"""Of the passages held and of those cited, against the gold places."""

CONDUCT: Final = ("flagged", "abstained", "abstained_rightly", "abstained_wrongly")
"""Whether a sentence is flagged; whether it abstains, and whether that is right."""

COST: Final = ("steps", "calls", "evaluated", "reused", "generated", "seconds")
"""As `policy.evaluation.answered.Cost`."""

TRACED: Final = ("reached", "recalled", "noted")
"""As `policy.evaluation.answered.Answered.traced`."""


def measured(case: Case, answered: Answered, short: str) -> dict[str, float]:
    """All measures of an answer by name; those that cannot be known are left out.

    An abstention has an EM and F1 of 0 where there is an answer, and of 1 where there is none; an answer
    where there is none has 0. So it is with ``holds``. An answer that states, in short or as a whole, what
    no right answer states has 0 of all three, right as the rest of it may be. Without gold places there is
    no recall or precision, with nothing held no precision, without citations no citation precision, and
    where no sentence claims anything none can be flagged. The traced shares keep their names.

    Args:
        case: What was asked.
        answered: The answer.
        short: The same in as few words as the question asks for; see `shortening`.
    """
    cost = answered.cost
    return {
        **(_judged(case, answered) if case.by_patterns else _quality(case, answered, short)),
        **_evidence(case.gold, answered.held, ""),
        **_evidence(case.gold, answered.cited, "citation_"),
        **({"flagged": float(answered.flagged > 0)} if answered.sentences else {}),
        "abstained": float(answered.abstained),
        "abstained_rightly": float(answered.abstained and not case.answers),
        "abstained_wrongly": float(answered.abstained and bool(case.answers)),
        **{name: float(getattr(cost, name)) for name in COST},
        **answered.traced,
    }


def right_by_patterns(case: Case, text: str) -> bool:
    """Whether an answer, its citation marks left out, matches what it must and nothing that it must not."""
    bare = _MARK.sub("", text)

    def matches(pattern: str) -> bool:
        return re.search(pattern, bare, re.IGNORECASE) is not None

    return all(map(matches, case.required)) and not any(map(matches, case.forbidden))


def _judged(case: Case, answered: Answered) -> dict[str, float]:
    """`JUDGED`, ``right`` once more under ``right_`` and the kind, and `QUALITY` as the same verdict."""
    said = not answered.abstained
    right = said and bool(case.answers) and right_by_patterns(case, answered.text)
    found = {"wrong": said and not right, "wrong_supported": said and not right and not answered.flagged}
    if case.answers:
        found |= {"right": right, f"right_{case.kind}": right, "refused_wrongly": not said}
    else:
        found |= {"refused_rightly": not said}
    verdict = right if case.answers else not said
    times = {} if answered.first_words is None else {"first_words": answered.first_words}
    shares = {name: float(value) for name, value in found.items()}
    return {**dict.fromkeys(QUALITY, float(verdict)), **shares, **times}


def _quality(case: Case, answered: Answered, short: str) -> dict[str, float]:
    if answered.abstained or not case.answers:
        return dict.fromkeys(QUALITY, float(answered.abstained and not case.answers))
    if scoring.holds(short, case.wrong) or scoring.holds(answered.text, case.wrong):
        return dict.fromkeys(QUALITY, 0.0)
    return {
        "em": scoring.exact_match(short, case.answers),
        "f1": scoring.f1(short, case.answers),
        "holds": float(scoring.holds(answered.text, case.answers)),
    }


def _evidence(gold: Sequence[Place], found: Sequence[Place], what: str) -> dict[str, float]:
    if not gold:
        return {}
    covered = sum(any(place.covers(one) for one in found) for place in gold)
    shares = {f"{what}recall": covered / len(gold)}
    if found:
        right = sum(any(place.covers(one) for place in gold) for one in found)
        shares[f"{what}precision"] = right / len(found)
    return shares


STAGES: Final = ("plan", "recall", "rerank", "distil", "stopped early", "stopped late", "reading")
"""``plan``: no search asked for some of the gold evidence. ``recall``: a search did, and did not bring it.
``rerank``: it was brought and not kept. ``distil``: it was kept and not noted. ``stopped early`` and
``stopped late``: a later or an earlier stop of the same research was right. ``reading``: everything was
there."""

NEAR: Final = 0.5
"""From this F1 on an answer counts as right."""


def right(measures: Measures) -> bool:
    """Whether an answer counts as right: it is one of the gold answers, or near one, or states one.

    An answer that states one, and has nothing of it in its short form, is wrong.
    """
    near = measures["em"] == 1 or measures["f1"] >= NEAR
    return near or (measures.get("holds") == 1 and measures["f1"] > 0)


def lost(measures: Measures, earlier: Sequence[Measures] = (), later: Sequence[Measures] = ()) -> str:
    """The first of `STAGES` that lost an answer; "" for a right one.

    Stops of the same trajectory come first: if one of those was right, the evidence was within reach. Then
    the gold evidence is followed, and a stage whose measure is missing is passed over. So a system without
    a plan, for which no ``reached`` is measured, loses at ``recall`` what its search did not bring. If not
    even ``recalled`` is measured it has no stage between search and prompt: what it does not hold, it did
    not find. That is where a model that answers without a search loses as well.

    Everything else is reading: an answer where there is none, an abstention over noted evidence.

    Args:
        measures: Of the answer, by `policy.evaluation.metrics.measured`.
        earlier: Of the answers at earlier stops of the same trajectory.
        later: Of those at later stops.
    """
    if right(measures):
        return ""
    found = {
        "stopped late": any(map(right, earlier)),
        "stopped early": any(map(right, later)),
        "plan": measures.get("reached", 1) < 1,
        "recall": measures.get("recalled", 1) < 1,
        # Under the same name it takes the place of the line above, whose measure is missing then.
        "rerank" if "recalled" in measures else "recall": measures.get("recall", 1) < 1,
        "distil": measures.get("noted", 1) < 1,
    }
    return next((stage for stage, here in found.items() if here), "reading")
