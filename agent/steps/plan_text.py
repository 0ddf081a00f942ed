"""The planner's language: the plain text that it reads and writes.

The small planning model was trained on exactly this text, so training and inference both use this module.
Its prompt has the collections to choose from, the conversation, the question and the findings so far, and
ends in ``Plan:``. It writes one of::

    TALK                               no documents are needed
    ASK Which contract do you mean?    a clarifying question
    How much did Dalton bill?          the self-contained question; "=" if it is as typed
    [invoices] =                       its look-ups, in order; "=" repeats the question above
    Who signed #1?                     "#1" is the result of the first look-up

A question without look-ups means that the findings answer it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from agent.state import PlanStep
from models.structured import Origin
from traces.plain_text import squeezed

MOST_LOOKUPS: Final = 5
MOST_TOKENS: Final = 160
"""Upper bound of the planner's reply."""
RESULT: Final = re.compile(r"#(\d+)")
"""A reference to the result of an earlier look-up."""
COLLECTION: Final = re.compile(r"\[([^\]\n]+)\] ")
"""Before a look-up, the collection to prefer."""
MOST_TURNS: Final = 2
"""Most recent exchanges that the prompt includes."""

_MAX_ANSWER_CHARS: Final = 240  # of an earlier answer
_MAX_FINDING_CHARS: Final = 200  # also of a description
_SAME: Final = "="
_TALK: Final = "TALK"
_ASK: Final = "ASK "

Kind: TypeAlias = Literal["search", "talk", "ask"]


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """The input of a plan."""

    question: str  # as typed
    history: Sequence[tuple[str, str]] = ()  # questions and answers before it, oldest first
    collections: Sequence[tuple[str, str]] = ()  # names and descriptions; empty without a choice
    findings: Sequence[str] = ()  # so far; empty for a first plan


@dataclass(frozen=True, slots=True)
class Plan:
    """What a planner makes of a request."""

    kind: Kind  # ``talk`` if no documents are needed, ``ask`` for a clarifying question
    question: str  # self-contained; for ``ask`` the clarifying question
    steps: list[PlanStep] = field(default_factory=list)  # in order; empty if nothing is missing
    origin: Literal["planner"] | Origin = "planner"  # the taught planner, a language model, the default


def look_up(question: str, tool: str = "") -> PlanStep:
    """A step that has only a question and, where given, the collection to prefer."""
    return PlanStep(question=question, reason="", tool=tool, keywords="", section="")


def prompt(request: PlanRequest) -> str:
    """The prompt that the planner completes."""
    lines = [
        f"- {name}: {_shortened(description, _MAX_FINDING_CHARS)}"
        for name, description in request.collections
    ]
    if lines:
        lines.insert(0, "Collections:")
    for question, answer in request.history[-MOST_TURNS:]:
        lines += [f"Before: {squeezed(question)}", f"Answer: {_shortened(answer, _MAX_ANSWER_CHARS)}"]
    lines.append(f"Question: {squeezed(request.question)}")
    lines += [f"Found: {_shortened(finding, _MAX_FINDING_CHARS)}" for finding in request.findings]
    lines.append("Plan:")
    return "\n".join(lines)


def reply(plan: Plan, request: PlanRequest) -> str:
    """The reply that the planner should learn for ``request``."""
    if plan.kind == "talk":
        return f" {_TALK}"
    if plan.kind == "ask":
        return f" {_ASK}{squeezed(plan.question)}"
    question = squeezed(plan.question)
    lines = [_SAME if question == squeezed(request.question) else question]
    for step in plan.steps:
        step_question = squeezed(step["question"])
        prefix = f"[{step['tool']}] " if step["tool"] else ""
        lines.append(prefix + (_SAME if step_question == question else step_question))
    return " " + "\n".join(lines)


def parse(text: str, request: PlanRequest) -> Plan | None:
    """The plan in the planner's reply ``text``; None if it breaks the format."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    if not lines:
        return None
    if lines[0] == _TALK:
        return Plan("talk", request.question) if len(lines) == 1 else None
    if lines[0].startswith(_ASK):
        return Plan("ask", lines[0].removeprefix(_ASK).strip()) if len(lines) == 1 else None
    question = squeezed(request.question) if lines[0] == _SAME else lines[0]
    names = {name for name, _ in request.collections}
    prompt_text = prompt(request)  # "#n" copied from it, such as an invoice number, refers to no look-up
    steps: list[PlanStep] = []
    for line in lines[1:]:
        prefix = COLLECTION.match(line)
        collection = prefix[1] if prefix and prefix[1] in names else ""
        step_question = line[prefix.end() :].strip() if prefix else line
        step = look_up(question if step_question == _SAME else step_question, collection)
        references = {n for n in RESULT.findall(step["question"]) if f"#{n}" not in prompt_text}
        if any(not 1 <= int(n) <= len(steps) for n in references):
            return None  # it refers to no earlier look-up
        if step["question"] not in {earlier["question"] for earlier in steps}:
            steps.append(step)
    if len(steps) > MOST_LOOKUPS or not (steps or request.findings):
        return None
    return Plan("search", question, steps)


def _shortened(text: str, limit: int) -> str:
    """``text`` on one line, truncated after a word if it is longer than ``limit`` characters."""
    line = squeezed(text)
    return line if len(line) <= limit else line[:limit].rpartition(" ")[0] + " …"
