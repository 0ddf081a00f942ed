"""The graph's state: JSON-only, because a checkpoint must outlive the code that wrote it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, NotRequired, TypedDict, cast, get_origin, get_type_hints

Action = Literal["CONTINUE", "REVISE", "FINISH", "MORE", "WORDS", "ASK"]
"""What comes next. The first letters differ: they spell the path to a decision."""
PLAN_ACTIONS: tuple[Action, ...] = ("CONTINUE", "REVISE", "FINISH")
TRIES: tuple[Action, ...] = ("MORE", "WORDS", "ASK")
"""Further tries of a step that found nothing: read more passages of its searches, search in other words,
ask the language model what its passages say."""
ACTIONS: tuple[Action, ...] = (*PLAN_ACTIONS, *TRIES)

Route = Literal["clarify", "direct", "single", "deep"]
Grade = Literal["correct", "ambiguous", "incorrect"]
Rung = Literal["reword", "widen", "collections", "web"]
RUNGS: tuple[Rung, ...] = ("reword", "widen", "collections", "web")
"""The corrections that a step tries, in this order."""

_LIKE_A_MARK = re.compile(r"\[(\d+(?:\s*,\s*\d+)*)\]")

RELEVANCE = "relevance"
"""Stage name of the grader's probability that a passage helps, among a candidate's scores."""

ADDED = "added"
"""The reason of a step that the user added to the plan during the run."""

Verdict = Literal["supported", "unsure", "partly", "not"]
VERDICTS: Mapping[Verdict, str] = {
    "supported": "supported",
    "unsure": "not confirmed by the sources",
    "partly": "only partly supported",
    "not": "not supported by the sources",
}
"""The words for a verdict, in the answer and wherever it is shown."""


class Turn(TypedDict):
    """One earlier exchange of the session."""

    question: str  # self-contained
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


class FoundPassage(TypedDict):
    """A stored passage that a search found."""

    passage_id: int
    collection: str
    document: str
    title: str
    date: str
    section: str
    page: int | None
    kind: str
    text: str  # the whole chunk
    score: float
    author: NotRequired[str]  # who wrote or sent the document


class Candidate(FoundPassage):
    """A recalled passage, before it is cited."""

    document_id: int
    scores: dict[str, float]
    grade: str  # "" until graded, then correct, ambiguous or incorrect
    spans: NotRequired[list[AnswerSpan]]  # most probable first; none before it is read


class Search(TypedDict):
    """The input of one search of a step: one phrasing, and where to search. Searches run in parallel."""

    step: int
    query: str
    keywords: str
    strategy: str
    tool: str
    section: str
    question: str  # the step's question, which may name a section itself
    rung: str  # "" for the first round, else the correction that this search belongs to
    hard: bool  # search only where tool and section say
    collections: list[str]
    documents: list[int]  # search these only; all if empty
    sections: list[str]  # search these only, stored paths; all if empty
    skip: NotRequired[int]  # the best hits that are left out, because they were read


class Recalled(TypedDict):
    """The result of one search, best first."""

    query: str
    candidates: list[Candidate]
    search: NotRequired[Search]  # not in older runs, as the next
    further: NotRequired[bool]  # whether it has hits after these


class Evidence(FoundPassage):
    """A kept passage. ``number`` is its citation, one per chunk, assigned by code."""

    number: int
    step: int
    excerpt: str  # the distilled text, which the model reads
    relevance: NotRequired[float]  # the grader's probability that it helps; not in older runs, as the next
    best: NotRequired[bool]  # whether a look-up, or the question itself, found it first of all
    extremes: NotRequired[list[str]]  # of its table, computed: those that may answer the question


class Earlier(TypedDict):
    """The different statement of an earlier version of a finding's document."""

    answer: str
    sentence: str
    number: int  # its citation
    date: str


class Note(TypedDict):
    """The finding of one step: a factual sentence, and the short answer inside it."""

    step: int
    question: str  # with references resolved
    sentence: str
    answer: str
    cites: list[int]
    found: bool
    revision: int  # of the plan, when the step was taken
    relevance: NotRequired[float]  # of the step's best passage, by the grader; not in older runs
    span: NotRequired[float]  # the reader's probability of its best span; not in older runs
    answers: NotRequired[float]  # that the sentence answers the user's question; not in older runs
    known: NotRequired[list[float]]  # for each open step, that the first look's passages answer it already
    skipped: NotRequired[bool]  # whether the user skipped it, so that the documents' answer is unknown
    sure: NotRequired[bool]  # whether the reader was sure, so that the language model was not asked
    earlier: NotRequired[Earlier]  # if two versions of a document disagree; the later one is followed


class Claim(TypedDict):
    """A sentence of the answer, checked against the passages that it cites."""

    text: str  # without citation marks
    cites: list[int]
    support: float  # the reader's probability that its passages support it, 0 to 1
    verdict: Verdict
    reason: str  # why it is not supported, for the user; "" if it is
    refuted: NotRequired[bool]  # a passage that it cites may say otherwise


class Logged(TypedDict):
    """An event as kept in the checkpoint until it is stored."""

    superstep: int  # LangGraph's superstep in which the event was emitted
    stored: int  # the last superstep whose events were stored by then
    elapsed: float
    kind: str
    payload: dict[str, Any]


def searched(search: Search) -> str:
    """The key of a search: its words, and where they are searched."""
    places = [search["tool"], search["section"], *search["collections"], *search["sections"]]
    parts = [*places, *map(str, search["documents"])]
    return " ".join([*search["query"].split(), "in", *parts]).casefold()


def gather(old: list[Recalled], new: list[Recalled]) -> list[Recalled]:
    """Reducer for the results of parallel searches: appends; an empty list clears."""
    return [*old, *new] if new else []


def unstored(old: list[Logged], new: list[Logged]) -> list[Logged]:
    """Reducer of the log: the events that were not stored when the last of them was emitted."""
    entries = [*old, *new]
    last_stored = max((entry["stored"] for entry in entries), default=0)
    return [entry for entry in entries if entry["superstep"] > last_stored]


class RunState(TypedDict):
    """The whole state of a run. Each node's docstring says which fields it reads and writes."""

    asked: str  # in the user's words
    question: str  # the same, self-contained
    turns: list[Turn]  # the session before this run
    route: str
    looked: list[Candidate]  # the best passages for the question as it is
    asking: str  # the clarifying question, while one is open
    clarified: bool  # whether a clarifying question was asked; one is enough
    plan: list[PlanStep]  # finished steps first, then the remaining ones
    planned_by: str  # who made the first plan
    position: int  # index of the current step in the plan
    step: int  # 1-based number of the current step, counted over revisions
    revisions: int
    query: str
    searches: list[Search]  # the searches of this round
    recalled: Annotated[list[Recalled], gather]  # the results of this step, over all rounds
    candidates: list[Candidate]
    grade: str  # of the step's passages together: correct, ambiguous or incorrect
    rungs: list[str]  # corrections that this step has tried
    offline: bool  # the web did not answer, and is not tried again in this run
    fresh: list[int]  # citation numbers that this step added
    again: list[int]  # citation numbers of this step's passages that were already in the evidence
    tried: NotRequired[list[str]]  # further tries of this step; not in older runs, as the next
    unasked: NotRequired[bool]  # whether the step has passages and the reader alone read them
    barren: int  # number of consecutive steps without new evidence
    queries: list[str]  # the keys of all searches so far (`searched`), so that none runs twice
    evidence: list[Evidence]
    notes: list[Note]
    notebook: list[str]
    action: str
    stopped_because: str
    draft: str  # the answer as it was written, with its marks
    claims: list[Claim]
    share: float  # share of the answer's sentences that are supported
    grounded: bool
    approval: str  # the user's reply to an ungrounded answer: accept, rewrite, search, stop
    spent: NotRequired[list[str]]  # replies that would bring nothing more; not in older runs
    answer: str
    status: str  # "", "overruled" (a refusal), then "answered", "not_found", "stopped" or "rejected"
    log: Annotated[list[Logged], unstored]


def citation_marks(numbers: Iterable[int]) -> str:
    """``[1][4]``: how an answer cites passages 1 and 4."""
    return "".join(f"[{number}]" for number in numbers)


def without_marks(text: str) -> str:
    """``text`` from a document or a question, with round brackets around anything like a citation.

    Only code assigns citations: a document's own numbers must not become citations of the answer.
    """
    return _LIKE_A_MARK.sub(r"(\1)", text)


def likeliest(
    passages: Iterable[tuple[int, float, Sequence[AnswerSpan]]],
) -> tuple[int, AnswerSpan] | None:
    """The most probable span of several passages, with its passage's number; None without any.

    A passage is its number, the probability that it answers, and its spans. A span's own probability says
    where in its passage the answer is: a passage about something else has a sure span too.
    """
    scored = [(score, number, span) for number, score, spans in passages for span in spans]
    best = max(scored, key=lambda one: one[0] * one[2]["probability"], default=None)
    return best[1:] if best else None


def current_step(state: RunState) -> PlanStep:
    """The step that the run is at."""
    return state["plan"][state["position"]]


def open_steps(state: RunState) -> list[PlanStep]:
    """The steps of the plan that are still to come."""
    return state["plan"][state["position"] + 1 :]


def added_and_open(state: RunState) -> list[str]:
    """The questions of the steps that the user added and that are still open."""
    return [step["question"] for step in open_steps(state) if step["reason"] == ADDED]


def still_missing(notes: Sequence[Note]) -> list[Note]:
    """The steps that found nothing, without those before a successful revision."""
    latest = max((note["revision"] for note in notes if note["found"]), default=-1)
    return [note for note in notes if not note["found"] and note["revision"] >= latest]


def nothing_found(notes: Sequence[Note]) -> bool:
    """True if there were steps and none found anything; the evidence is then read again as a whole."""
    return bool(notes) and not any(note["found"] for note in notes)


def new_state(question: str, turns: Sequence[Turn] = ()) -> RunState:
    """The state of a run that has not begun: before the first step of its plan, and otherwise empty."""
    state: dict[str, Any] = {
        name: (get_origin(kind) or kind)() for name, kind in get_type_hints(RunState).items()
    }
    state |= {"asked": question, "question": question, "turns": list(turns), "position": -1}
    return cast(RunState, state)


def updated(state: RunState, update: Mapping[str, Any]) -> RunState:
    """The state with a node's update."""
    return cast(RunState, {**state, **update})
