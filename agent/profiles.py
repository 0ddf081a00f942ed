"""Profiles: which implementation each cognitive step uses.

``seed`` asks the language model everywhere, as the loop this product descends from does: the faithful
reproduction, and the baseline to beat. ``lean``, the default, asks it only what nothing cheaper
answers well: the plan, each step's finding, the answer.
"""

from __future__ import annotations

from functools import partial

from agent.decisions.sources import LEARNED
from agent.deps import Cognition
from agent.steps.distil import distil_by_model, distil_by_spans
from agent.steps.grade import grade_by_model, grade_by_reader
from agent.steps.plan import AskedPlanner, TaughtPlanner
from agent.steps.queries import (
    model_phrasings,
    model_query,
    model_rewordings,
    model_strategy,
    plain_phrasings,
    plain_query,
    plain_rewordings,
    plain_strategy,
)
from agent.steps.reflect import model_finding, read_finding
from agent.steps.verify import verify_by_model, verify_by_reader
from models.protocols import Completer, Reader
from traces.errors import DeepthinkError

DECIDES = {"lean": "rules", "seed": "llm"}
"""The decider of each profile if none is named and there is no learned policy."""


class UnknownProfile(DeepthinkError, title="Unknown profile", kind="usage"):
    """Raised when a profile is named that does not exist."""


def profile(name: str, reader: Reader, planner: Completer | None = None) -> Cognition:
    """The cognition of profile ``name``.

    ``planner`` was taught to plan; without it, the answering model plans, as it always does in ``seed``.
    Raises `UnknownProfile` if there is none of that name.
    """
    if name == "lean":
        return Cognition(
            planner=TaughtPlanner(planner) if planner else AskedPlanner(full=False),
            rewrite=plain_query,
            phrase=plain_phrasings,
            reword=plain_rewordings,
            strategise=plain_strategy,
            grader="reader",
            grade=grade_by_reader,
            distil=distil_by_spans,
            reflect=partial(read_finding, reader),
            verify=partial(verify_by_reader, reader),
            answer_tokens=220,
            instant=True,
            hard_filters=False,
        )
    if name == "seed":
        return Cognition(
            planner=AskedPlanner(full=True),
            rewrite=model_query,
            phrase=model_phrasings,
            reword=model_rewordings,
            strategise=model_strategy,
            grader="llm",
            grade=grade_by_model,
            distil=distil_by_model,
            reflect=model_finding,
            verify=partial(verify_by_model, reader),
            answer_tokens=400,
            instant=False,
            hard_filters=True,
        )
    raise UnknownProfile(f"There is no profile “{name}”.", f"Choose one of: {', '.join(DECIDES)}.")


def decides(profile_name: str, *, learned: bool) -> str:
    """The decider of a profile if none is named; ``learned``: whether there is a learned policy.

    ``seed`` is the baseline, and decides as it was described.
    """
    return LEARNED if learned and profile_name == "lean" else DECIDES[profile_name]
