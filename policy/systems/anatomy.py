"""Where a wrong answer was lost: the first stage after which it could no longer be right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from policy.systems.metrics import Measures

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
        measures: Of the answer, by `policy.systems.metrics.measured`.
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
