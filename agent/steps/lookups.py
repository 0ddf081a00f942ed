"""The planner's language: what it reads, and what it writes, as plain text.

The small planning model was trained on exactly this text, so both its training and its use go through here.
It reads the collections to choose from, the conversation, the question and what was found so far, and ends
in ``Plan:``. It writes one of::

    TALK                               no documents are needed
    ASK Which contract do you mean?    a question back
    How much did Dalton bill?          the question complete in itself; "=" where it is as typed
    [invoices] =                       its look-ups, in order; "=" repeats the question above
    Who signed #1?                     "#1" is the result of the first look-up

A question without look-ups needs nothing more than what was found.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

MOST_LOOKUPS: Final = 5
MOST_TOKENS: Final = 160
"""Of what the planner writes."""
RESULT: Final = re.compile(r"#(\d+)")
"""A reference to the result of an earlier look-up."""
MOST_TURNS: Final = 2
"""Earlier exchanges that are shown, the most recent ones."""

_MOST_ANSWER: Final = 240  # characters of an earlier answer
_MOST_FINDING: Final = 200
_SAME: Final = "="
_TALK: Final = "TALK"
_ASK: Final = "ASK "
_IN: Final = re.compile(r"\[([^\]\n]+)\] ")

Kind: TypeAlias = Literal["search", "talk", "ask"]


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """What a plan is made from.

    Attributes:
        question: As typed.
        history: Questions and answers before it, oldest first.
        collections: Name and description of each collection to choose from; empty where there is no choice.
        findings: What is known so far; empty for a first plan.
    """

    question: str
    history: Sequence[tuple[str, str]] = ()
    collections: Sequence[tuple[str, str]] = ()
    findings: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Lookup:
    """One search: a complete question, and the collection to prefer ("" for all)."""

    question: str
    collection: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """What the planner made of a request.

    Attributes:
        kind: ``search``, ``talk`` where no documents are needed, ``ask`` where it asks back.
        question: The question complete in itself; for ``ask`` the question to ask back.
        lookups: In order; empty where nothing is missing.
    """

    kind: Kind
    question: str
    lookups: tuple[Lookup, ...] = field(default=())


def prompt(request: PlanRequest) -> str:
    """The text that the planner continues."""
    lines = [f"- {name}: {_line(about, _MOST_FINDING)}" for name, about in request.collections]
    if lines:
        lines.insert(0, "Collections:")
    for question, answer in request.history[-MOST_TURNS:]:
        lines += [f"Before: {_line(question)}", f"Answer: {_line(answer, _MOST_ANSWER)}"]
    lines.append(f"Question: {_line(request.question)}")
    lines += [f"Found: {_line(finding, _MOST_FINDING)}" for finding in request.findings]
    lines.append("Plan:")
    return "\n".join(lines)


def reply(plan: Plan, request: PlanRequest) -> str:
    """What the planner should write for ``request``, to train it."""
    if plan.kind == "talk":
        return f" {_TALK}"
    if plan.kind == "ask":
        return f" {_ASK}{_line(plan.question)}"
    question = _line(plan.question)
    lines = [_SAME if question == _line(request.question) else question]
    for lookup in plan.lookups:
        asked = _line(lookup.question)
        where = f"[{lookup.collection}] " if lookup.collection else ""
        lines.append(where + (_SAME if asked == question else asked))
    return " " + "\n".join(lines)


def parse(text: str, request: PlanRequest) -> Plan | None:
    """The plan in what the planner wrote; None if it breaks the form."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    if not lines:
        return None
    if lines[0] == _TALK:
        return Plan("talk", request.question) if len(lines) == 1 else None
    if lines[0].startswith(_ASK):
        return Plan("ask", lines[0].removeprefix(_ASK).strip()) if len(lines) == 1 else None
    question = _line(request.question) if lines[0] == _SAME else lines[0]
    names = {name for name, _ in request.collections}
    shown = prompt(request)  # what was copied from it, as the number of an invoice, refers to no look-up
    lookups: list[Lookup] = []
    for line in lines[1:]:
        where = _IN.match(line)
        collection = where[1] if where and where[1] in names else ""
        asked = line[where.end() :].strip() if where else line
        lookup = Lookup(question if asked == _SAME else asked, collection)
        results = {n for n in RESULT.findall(lookup.question) if f"#{n}" not in shown}
        if any(not 1 <= int(n) <= len(lookups) for n in results):
            return None  # it needs the result of none before it
        if lookup.question not in {before.question for before in lookups}:
            lookups.append(lookup)
    if len(lookups) > MOST_LOOKUPS or not (lookups or request.findings):
        return None
    return Plan("search", question, tuple(lookups))


def _line(text: str, most: int | None = None) -> str:
    """``text`` on one line, cut at a word where it is longer than ``most`` characters."""
    line = " ".join(text.split())
    if most is None or len(line) <= most:
        return line
    return line[:most].rpartition(" ")[0] + " …"
