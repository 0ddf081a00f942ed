"""Planning: a question becomes a few lookups, each with a tool and a likely section."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from pydantic import BaseModel, Field

from agent import prompts
from agent.cognition.decomposing import decompose
from agent.retrieval.terms import terms
from agent.session import Session
from agent.state import PlanStep
from models.structured import Origin

MOST_STEPS = 4
_LABEL = re.compile(r"^(?:(?:look-?up|step) )?\d[:.)] (?=\S+ )", re.IGNORECASE)
_STATES = re.compile(
    r"[.。]$|^(?!(?:in|on|at|by|for|from|of|to|with|who|what|which|when|where|why|how)\b)"
    r"\S+(?: \S+)*? (?:is|was|are|were|has|had) ",
    re.IGNORECASE,
)
_STEP_TOKENS = 60  # JSON of one lookup, generously; the seed's form is about twice as long


@dataclass(frozen=True, slots=True)
class Plan:
    """Steps, and whether the model gave them, a rule did, or the default stands in."""

    steps: list[PlanStep]
    origin: Origin | Literal["rule"]


class Planner(Protocol):
    """Makes the plan, and makes what is left of it anew."""

    def plan(self, session: Session, notebook: Sequence[str], question: str, tools: Sequence[str]) -> Plan:
        """The first plan."""
        ...

    def revise(
        self,
        session: Session,
        notebook: Sequence[str],
        missing: Sequence[str],
        tools: Sequence[str],
        most: int,
    ) -> Plan:
        """New steps for what is ``missing``; never a step that was asked before in the same words."""
        ...


class _Lookups(BaseModel):
    steps: list[str] = Field(max_length=MOST_STEPS)


class _Step(BaseModel):
    question: str
    reason: str
    tool: str
    keywords: str
    section: str


class _FullPlan(BaseModel):
    steps: list[_Step] = Field(max_length=MOST_STEPS)


class ModelPlanner:
    """Asks the model.

    Args:
        full: Ask for reason, tool, keywords and section with each step, as the seed does. Small models
            fill these in without regard to the question (a 1.5B model named the same collection for
            every step of 16 questions, and sections that do not exist), at twice the tokens; so
            ``lean`` asks for the lookups alone and searches everywhere.
    """

    def __init__(self, *, full: bool) -> None:
        self._full = full

    def plan(self, session: Session, notebook: Sequence[str], question: str, tools: Sequence[str]) -> Plan:
        """The model's plan; one step with the whole question if it gives none that bears on it."""
        instruction = prompts.seed_plan(tools, MOST_STEPS) if self._full else prompts.plan(MOST_STEPS)
        steps, origin = self._ask(session, "plan", notebook, instruction, MOST_STEPS)
        steps = _bearing_on(question, _tidy(steps, tools))
        return Plan(steps, origin) if steps else Plan([_whole(question)], "default")

    def revise(
        self,
        session: Session,
        notebook: Sequence[str],
        missing: Sequence[str],
        tools: Sequence[str],
        most: int,
    ) -> Plan:
        """The model's new steps, without those it asked before; there may be none."""
        instruction = prompts.revise(missing, most, full=self._full)
        steps, origin = self._ask(session, "revise", notebook, instruction, most)
        asked = {_folded(line) for entry in notebook for line in entry.splitlines()}
        fresh = [
            step
            for step in _bearing_on("\n".join(notebook), _tidy(steps, tools))
            if not any(line.endswith(_folded(step["question"])) for line in asked)
        ]
        return Plan(fresh[:most], origin)

    def _ask(
        self, session: Session, purpose: str, notebook: Sequence[str], instruction: str, most: int
    ) -> tuple[list[PlanStep], Origin]:
        tokens = 40 + most * _STEP_TOKENS * (2 if self._full else 1)
        if self._full:
            full = session.ask(purpose, notebook, instruction, _FullPlan, _FullPlan(steps=[]), tokens)
            return [_plan_step(step) for step in full.value.steps], full.origin
        bare = session.ask(purpose, notebook, instruction, _Lookups, _Lookups(steps=[]), tokens)
        return [_whole(question) for question in bare.value.steps], bare.origin


class RulesFirstPlanner:
    """A question whose form shows its look-ups is planned by rule; the model plans the others (``lean``).

    Args:
        model: Plans what no rule does, and every revision.
    """

    def __init__(self, model: ModelPlanner) -> None:
        self._model = model

    def plan(self, session: Session, notebook: Sequence[str], question: str, tools: Sequence[str]) -> Plan:
        """The question's own clauses where it is made of them."""
        steps = decompose(question)
        if steps:
            return Plan([_whole(step) for step in steps], "rule")
        return self._model.plan(session, notebook, question, tools)

    def revise(
        self,
        session: Session,
        notebook: Sequence[str],
        missing: Sequence[str],
        tools: Sequence[str],
        most: int,
    ) -> Plan:
        """As the model does."""
        return self._model.revise(session, notebook, missing, tools, most)


def _plan_step(step: _Step) -> PlanStep:
    return PlanStep(
        question=step.question,
        reason=step.reason,
        tool=step.tool,
        keywords=step.keywords,
        section=step.section,
    )


def _whole(question: str) -> PlanStep:
    return PlanStep(question=question, reason="", tool="", keywords="", section="")


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


def _tidy(steps: Sequence[PlanStep], tools: Sequence[str]) -> list[PlanStep]:
    """One line each, no empty or repeated question, and no tool that does not exist."""
    seen: set[str] = set()
    tidy: list[PlanStep] = []
    for step in steps:
        question = _LABEL.sub("", " ".join(step["question"].split()))
        if not question or _folded(question) in seen:
            continue
        seen.add(_folded(question))
        tool = step["tool"] if step["tool"] in tools else ""
        tidy.append(PlanStep({**step, "question": question, "tool": tool}))
    return tidy


def _bearing_on(text: str, steps: Sequence[PlanStep]) -> list[PlanStep]:
    """The steps that have to do with ``text``: questions, not copied from an example, not about nothing.

    A step bears on it if it shares a term with it, or refers to an earlier step. A statement is the
    model's guess at an answer; where nothing is marked as a question, all but statements may be one.
    """
    if steps and "#" in steps[0]["question"] and "#" not in text:
        return []  # the step it refers to was not made
    known = set(terms(text))
    asks = [step for step in steps if step["question"].endswith(("?", "？"))]
    asks = asks or [step for step in steps if not _STATES.search(step["question"])]
    return [
        step
        for step in asks
        if step["question"] not in prompts.EXAMPLE_STEPS
        and not any(n in step["question"] and n not in text for n in prompts.EXAMPLE_NAMES)
        and ("#" in step["question"] or not known.isdisjoint(terms(step["question"])))
    ]
