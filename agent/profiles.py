"""Profiles: which implementation each cognitive step uses.

``seed`` asks the language model everywhere, as the loop this product descends from does: the faithful
reproduction, and the baseline to beat. ``lean``, the default, asks it only what nothing cheaper
answers well: the plan, each step's finding, the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from agent.cognition import Cognition
from agent.decisions.decider import Decider
from agent.decisions.judges import ModelJudge, Rules
from agent.decisions.learned import LEARNED, Learned, LearnedOrRules, Policy
from agent.session import Session
from agent.steps.distil import distil_by_model, distil_by_spans
from agent.steps.grade import ModelGrader, ReaderGrader
from agent.steps.plan import AskedPlanner, TaughtPlanner
from agent.steps.queries import (
    ModelPhraser,
    PlainPhraser,
    model_query,
    model_strategy,
    plain_query,
    plain_strategy,
)
from agent.steps.reflect import model_finding, read_finding
from agent.steps.verify import ModelVerifier, ReadingVerifier
from models.protocols import Completer, Reader
from traces.errors import DeepthinkError


class UnknownProfile(DeepthinkError):
    """Raised when a profile is named that does not exist."""

    title = "Unknown profile"
    kind = "usage"


def _lean(reader: Reader, planner: Completer | None) -> Cognition:
    return Cognition(
        planner=TaughtPlanner(planner) if planner else AskedPlanner(full=False),
        rewrite=plain_query,
        phraser=PlainPhraser(),
        strategise=plain_strategy,
        grader=ReaderGrader(),
        distil=distil_by_spans,
        reflect=partial(read_finding, reader),
        verifier=ReadingVerifier(reader),
        decider=lambda _session: Rules(),
        answer_tokens=220,
        instant=True,
        hard_filters=False,
    )


def _seed(reader: Reader, _planner: Completer | None) -> Cognition:
    return Cognition(
        planner=AskedPlanner(full=True),
        rewrite=model_query,
        phraser=ModelPhraser(),
        strategise=model_strategy,
        grader=ModelGrader(),
        distil=distil_by_model,
        reflect=model_finding,
        verifier=ModelVerifier(ReadingVerifier(reader)),
        decider=lambda session: ModelJudge(session, explain=True),
        answer_tokens=400,
        instant=False,
        hard_filters=True,
    )


PROFILES: dict[str, Callable[[Reader, Completer | None], Cognition]] = {"lean": _lean, "seed": _seed}
DECIDES = {"lean": "rules", "seed": "llm"}
"""The decider of a profile if none is named and there is no learned policy."""
SOURCES = ("rules", "llm", LEARNED)
"""The deciders that can be named."""
_PREFERS_LEARNED = frozenset({"lean"})  # seed is the baseline, as it was described


def profile(name: str, reader: Reader, planner: Completer | None = None) -> Cognition:
    """The cognition of profile ``name``.

    ``planner`` was taught to plan; without it, the answering model plans.

    Raises:
        UnknownProfile: there is none of that name.
    """
    if name not in PROFILES:
        raise UnknownProfile(f"There is no profile “{name}”.", f"Choose one of: {', '.join(PROFILES)}.")
    return PROFILES[name](reader, planner)


def decides(profile_name: str, *, learned: bool) -> str:
    """The decider of a profile if none is named; ``learned``: whether there is a learned policy."""
    return LEARNED if learned and profile_name in _PREFERS_LEARNED else DECIDES[profile_name]


def check_decider(name: str) -> None:
    """Raises `UnknownProfile` unless there is a decision source of that name."""
    if name not in SOURCES:
        raise UnknownProfile(
            f"There is no decision source “{name}”.", f"Choose one of: {', '.join(SOURCES)}."
        )


def decider(name: str, learned: Policy | None = None, notice: str = "") -> Callable[[Session], Decider]:
    """The decision source called ``name``, to act: ``learned`` falls back on the rules.

    ``notice`` is a message before the first decision of a learned policy.

    Raises:
        UnknownProfile: there is none of that name.
    """
    check_decider(name)
    if name == LEARNED:
        return lambda session: LearnedOrRules(learned, session.warn_once, notice)
    return second_opinion(name, learned)


def second_opinion(name: str, learned: Policy | None = None) -> Callable[[Session], Decider]:
    """The decision source called ``name``, to compare with: it has no fallback.

    Raises:
        UnknownProfile: there is none of that name.
    """
    check_decider(name)
    sources: dict[str, Callable[[Session], Decider]] = {
        "rules": lambda _session: Rules(),
        "llm": lambda session: ModelJudge(session, explain=False),
        LEARNED: lambda _session: Learned(learned),
    }
    return sources[name]
