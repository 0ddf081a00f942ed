"""The graph's state: JSON-only, because a checkpoint must outlive the code that wrote it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal, NotRequired, TypedDict

Action = Literal["CONTINUE", "REVISE", "FINISH"]
ACTIONS: tuple[Action, ...] = ("CONTINUE", "REVISE", "FINISH")

Route = Literal["clarify", "direct", "single", "deep"]
Rung = Literal["reword", "widen", "collections", "web"]
RUNGS: tuple[Rung, ...] = ("reword", "widen", "collections", "web")
"""What a step's correction tries, in this order."""

_LIKE_A_MARK = re.compile(r"\[(\d+(?:\s*,\s*\d+)*)\]")

RELEVANCE = "relevance"
"""Stage name of the grader's probability that a passage helps, among a candidate's scores."""

ADDED = "added"
"""The reason of a plan's step that the user added during the run."""

Verdict = Literal["supported", "partly", "not"]


class Turn(TypedDict):
    """One earlier exchange of the session."""

    question: str  # as a question of its own
    answer: str


class PlanStep(TypedDict):
    """One step of a plan. ``question`` may refer to the finding of step n as ``#n``."""

    question: str
    reason: str
    tool: str  # a collection's name
    keywords: str
    section: str  # where the planner expects it, in its own words; "" if it does not say


class AnswerSpan(TypedDict):
    """Words of a passage that may answer the step's question."""

    text: str
    unit: str  # the sentence or table row that contains them
    probability: float  # that they answer it


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
    grade: str  # "" until graded, then correct, ambiguous or incorrect
    author: NotRequired[str]  # who wrote or sent the document
    spans: NotRequired[list[AnswerSpan]]  # most probable first; none before it is read


class Search(TypedDict):
    """What one search of a step is sent: one phrasing, and where to look. Several run side by side."""

    step: int
    query: str
    keywords: str
    strategy: str
    tool: str
    section: str
    question: str  # the step's, which may name a section itself
    rung: str  # "" for the first round, else the correction this search belongs to
    hard: bool  # search nowhere else than where tool and section say
    collections: list[str]
    documents: list[int]  # search these only; all if empty
    sections: list[str]  # search these only, stored paths; all if empty


class Recalled(TypedDict):
    """What one search brought, best first."""

    query: str
    rung: str
    candidates: list[Candidate]


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
    author: NotRequired[str]  # as in `Candidate`
    relevance: NotRequired[float]  # the grader's probability that it helps; not in older runs


class Earlier(TypedDict):
    """What an earlier version of a finding's document says instead."""

    answer: str
    sentence: str
    number: int  # its citation
    date: str


class Note(TypedDict):
    """What one step found: one factual sentence, and the short answer inside it."""

    step: int
    question: str  # with references resolved
    sentence: str
    answer: str
    cites: list[int]
    found: bool
    revision: int  # of the plan, when the step was taken
    relevance: NotRequired[float]  # of the step's best passage, by the grader; not in older runs
    skipped: NotRequired[bool]  # by the user: what the documents say is unknown
    sure: NotRequired[bool]  # whether the reader was sure, so that nothing else was asked
    earlier: NotRequired[Earlier]  # where two versions of a document disagree; the later one is followed


class Claim(TypedDict):
    """A sentence of the answer, checked against what it cites."""

    text: str  # without citation marks
    cites: list[int]
    support: float  # the reader's probability that its passages say it, 0 to 1
    verdict: Verdict
    reason: str  # why it is not supported, in words for the user; "" if it is


class Logged(TypedDict):
    """An event as the checkpoint holds it until the store has it."""

    superstep: int  # LangGraph's count of rounds, in which the event arose
    stored: int  # the last superstep whose events the store had by then
    elapsed: float
    kind: str
    payload: dict[str, Any]


def searched(search: Search) -> str:
    """What tells one search from another: its words, and where they are looked for."""
    places = [search["tool"], search["section"], *search["collections"], *search["sections"]]
    where = [*places, *map(str, search["documents"])]
    return " ".join([*search["query"].split(), "in", *where]).casefold()


def gather(old: list[Recalled], new: list[Recalled]) -> list[Recalled]:
    """Reducer for the results of parallel searches: appends; an empty list clears."""
    return [*old, *new] if new else []


def unstored(old: list[Logged], new: list[Logged]) -> list[Logged]:
    """Reducer of the log: the events that the store had not when the last of them arose."""
    both = [*old, *new]
    stored = max((entry["stored"] for entry in both), default=0)
    return [entry for entry in both if entry["superstep"] > stored]


class RunState(TypedDict):
    """Everything a run knows. Each node's docstring says which fields it reads and writes."""

    asked: str  # in the user's words
    question: str  # the same as a question of its own
    turns: list[Turn]  # the session before this run
    route: str
    looked: list[Candidate]  # the best passages for the question as it is
    asking: str  # the clarifying question, while one is open
    clarified: bool  # one clarifying question is enough
    plan: list[PlanStep]  # finished steps first, then what is left
    planned_by: str  # who made the first plan
    position: int  # index in the plan of the step under way
    step: int  # 1-based number of the step under way, counted over revisions
    revisions: int
    query: str
    strategy: str
    searches: list[Search]  # this round's
    recalled: Annotated[list[Recalled], gather]  # this step's, over all rounds
    candidates: list[Candidate]
    grade: str  # of the step's passages together: correct, ambiguous or incorrect
    rungs: list[str]  # corrections this step has tried
    offline: bool  # the web did not answer: not tried again in this run
    fresh: list[int]  # citation numbers this step added
    again: list[int]  # citation numbers this step found that were known before
    barren: int  # steps in a row that brought no new evidence
    queries: list[str]  # every search so far, normalised, to refuse the same one twice
    evidence: list[Evidence]
    notes: list[Note]
    notebook: list[str]
    action: str
    stopped_because: str
    draft: str  # the answer as it was written, with its marks
    claims: list[Claim]
    share: float  # of the answer's sentences that are supported
    grounded: bool
    approval: str  # the user's reply to an ungrounded answer: accept, rewrite, search, stop
    answer: str
    status: str  # "", then "answered", "not_found", "stopped" or "rejected"
    log: Annotated[list[Logged], unstored]


def citation_marks(numbers: Iterable[int]) -> str:
    """``[1][4]``: how an answer cites passages 1 and 4."""
    return "".join(f"[{number}]" for number in numbers)


def without_marks(text: str) -> str:
    """``text`` from a document or a question, with what looks like a citation in round brackets.

    Only code gives citations: what a document writes itself must not become one of the answer's.
    """
    return _LIKE_A_MARK.sub(r"(\1)", text)


def added_and_open(state: RunState) -> list[str]:
    """The questions of the steps that the user added and that are still open."""
    return [s["question"] for s in state["plan"][state["position"] + 1 :] if s["reason"] == ADDED]


def still_missing(notes: Sequence[Note]) -> list[Note]:
    """The steps that found nothing, without those before a successful revision."""
    latest = max((note["revision"] for note in notes if note["found"]), default=-1)
    return [note for note in notes if not note["found"] and note["revision"] >= latest]


def nothing_found(notes: Sequence[Note]) -> bool:
    """True if steps were taken and none found anything: the evidence is then read once more as a whole."""
    return bool(notes) and not any(note["found"] for note in notes)


def new_state(question: str, turns: Sequence[Turn] = ()) -> RunState:
    """The state of a run that has not begun."""
    return RunState(
        asked=question,
        question=question,
        turns=list(turns),
        route="",
        planned_by="",
        looked=[],
        asking="",
        clarified=False,
        plan=[],
        position=-1,
        step=0,
        revisions=0,
        query="",
        strategy="",
        searches=[],
        recalled=[],
        candidates=[],
        grade="",
        rungs=[],
        offline=False,
        fresh=[],
        again=[],
        barren=0,
        queries=[],
        evidence=[],
        notes=[],
        notebook=[],
        action="",
        stopped_because="",
        draft="",
        claims=[],
        share=0.0,
        grounded=False,
        approval="",
        answer="",
        status="",
        log=[],
    )
