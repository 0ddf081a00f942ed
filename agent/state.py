"""The graph's state: JSON-only, because a checkpoint must outlive the code that wrote it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypedDict

Action = Literal["CONTINUE", "REVISE", "FINISH"]
ACTIONS: tuple[Action, ...] = ("CONTINUE", "REVISE", "FINISH")


class PlanStep(TypedDict):
    """One step of a plan. ``question`` may refer to the finding of step n as ``#n``."""

    question: str
    reason: str
    tool: str  # a collection's name
    keywords: str
    section: str  # where the planner expects it, in its own words; "" if it does not say


class Candidate(TypedDict):
    """A recalled passage, before it is cited."""

    passage_id: int
    document_id: int
    collection: str
    document: str
    title: str
    date: str
    section: str
    page: int | None
    kind: str
    text: str
    score: float
    scores: dict[str, float]


class Evidence(TypedDict):
    """A passage that was kept. ``number`` is its citation, one per chunk, assigned by code."""

    number: int
    step: int
    passage_id: int
    collection: str
    document: str
    title: str
    date: str
    section: str
    page: int | None
    kind: str
    text: str  # the whole chunk
    excerpt: str  # what distillation left of it, and what the model reads
    score: float


class Note(TypedDict):
    """What one step found: one factual sentence, and the short answer inside it."""

    step: int
    question: str  # with references resolved
    sentence: str
    answer: str
    cites: list[int]
    found: bool
    revision: int  # of the plan, when the step was taken


class RunState(TypedDict):
    """Everything a run knows. Each node's docstring says which fields it reads and writes."""

    question: str
    plan: list[PlanStep]  # finished steps first, then what is left
    position: int  # index in the plan of the step under way
    step: int  # 1-based number of the step under way, counted over revisions
    revisions: int
    query: str
    strategy: str
    candidates: list[Candidate]
    fresh: list[int]  # citation numbers this step added
    again: list[int]  # citation numbers this step found that were known before
    barren: int  # steps in a row that brought no new evidence
    queries: list[str]  # every search so far, normalised, to refuse the same one twice
    evidence: list[Evidence]
    notes: list[Note]
    notebook: list[str]
    action: str
    stopped_because: str
    answer: str
    status: str  # "", then "answered" or "not_found"


def still_missing(notes: Sequence[Note]) -> list[Note]:
    """The steps that found nothing and were not made good by a step of a later revision."""
    latest = max((note["revision"] for note in notes if note["found"]), default=-1)
    return [note for note in notes if not note["found"] and note["revision"] >= latest]


def new_state(question: str) -> RunState:
    """The state of a run that has not begun."""
    return RunState(
        question=question,
        plan=[],
        position=-1,
        step=0,
        revisions=0,
        query="",
        strategy="",
        candidates=[],
        fresh=[],
        again=[],
        barren=0,
        queries=[],
        evidence=[],
        notes=[],
        notebook=[],
        action="",
        stopped_because="",
        answer="",
        status="",
    )
