"""Planning: a question becomes a few lookups, each with a tool and a likely section."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pydantic import BaseModel, Field

from agent import prompts
from agent.session import Session
from agent.state import Note, PlanStep
from models.structured import Origin

MOST_STEPS = 4
_STEP_TOKENS = 90  # JSON of one lookup, generously; the seed's form is about twice as long


@dataclass(frozen=True, slots=True)
class Plan:
    """Steps, and whether the model gave them or the default stands in."""

    steps: list[PlanStep]
    origin: Origin


class Planner(Protocol):
    """Makes the plan, and makes what is left of it anew."""

    def plan(
        self, session: Session, notebook: Sequence[str], question: str, tools: Sequence[str]
    ) -> Plan:
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


class _Step(BaseModel):
    question: str
    tool: str = ""
    section: str = ""


class _FullStep(BaseModel):
    question: str
    reason: str
    tool: str
    keywords: str
    section: str


class _Plan(BaseModel):
    steps: list[_Step] = Field(max_length=8)


class _FullPlan(BaseModel):
    steps: list[_FullStep] = Field(max_length=8)


class WholeQuestion:
    """The model-free planner: one step that asks the whole question, everywhere."""

    def plan(
        self, session: Session, notebook: Sequence[str], question: str, tools: Sequence[str]
    ) -> Plan:
        """One step; needs neither session nor notebook."""
        return Plan([_whole(question)], "default")

    def revise(
        self,
        session: Session,
        notebook: Sequence[str],
        missing: Sequence[str],
        tools: Sequence[str],
        most: int,
    ) -> Plan:
        """No new steps: without a model there is no other way of asking."""
        return Plan([], "default")


class ModelPlanner:
    """Asks the model.

    Args:
        full: Ask for a reason and keywords with each step, as the seed does; costs twice the tokens.
    """

    def __init__(self, *, full: bool) -> None:
        self._full = full
        self._shape: type[_Plan] | type[_FullPlan] = _FullPlan if full else _Plan

    def plan(
        self, session: Session, notebook: Sequence[str], question: str, tools: Sequence[str]
    ) -> Plan:
        """The model's plan; one step with the whole question if it gives none."""
        steps, origin = self._ask(
            session, "plan", notebook, prompts.plan(tools, MOST_STEPS, full=self._full), MOST_STEPS
        )
        steps = _tidy(steps, tools)[:MOST_STEPS]
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
        steps, origin = self._ask(session, "revise", notebook, prompts.revise(missing, most), most)
        asked = {_folded(line) for entry in notebook for line in entry.splitlines()}
        fresh = [
            step
            for step in _tidy(steps, tools)
            if not any(line.endswith(_folded(step["question"])) for line in asked)
        ]
        return Plan(fresh[:most], origin)

    def _ask(
        self, session: Session, purpose: str, notebook: Sequence[str], instruction: str, most: int
    ) -> tuple[list[PlanStep], Origin]:
        tokens = most * _STEP_TOKENS * (2 if self._full else 1)
        shape = self._shape
        result = session.ask(purpose, notebook, instruction, shape, shape(steps=[]), tokens)
        return [_plan_step(step) for step in result.value.steps], result.origin


def _plan_step(step: _Step | _FullStep) -> PlanStep:
    return PlanStep(
        question=step.question,
        reason=step.reason if isinstance(step, _FullStep) else "",
        tool=step.tool,
        keywords=step.keywords if isinstance(step, _FullStep) else "",
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
        question = " ".join(step["question"].split())
        if not question or _folded(question) in seen:
            continue
        seen.add(_folded(question))
        tool = step["tool"] if step["tool"] in tools else ""
        tidy.append(PlanStep({**step, "question": question, "tool": tool}))
    return tidy


def open_references(steps: Sequence[PlanStep], notes: Sequence[Note]) -> list[str]:
    """The questions of the steps whose ``#n`` points at a finding that was not found."""
    lost = {f"#{note['step']}" for note in notes if not note["found"]}
    return [s["question"] for s in steps if any(mark in s["question"] for mark in lost)]
