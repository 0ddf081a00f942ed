"""The decision interface: a policy state goes in, an action comes out.

The sources of decisions are in `agent.decisions.sources`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

from agent.budget import OUT_OF_TIME, OUT_OF_TOKENS, Budget
from agent.state import (
    PLAN_ACTIONS,
    RELEVANCE,
    RUNGS,
    TRIES,
    Action,
    Candidate,
    RunState,
    likeliest,
    open_steps,
    still_missing,
)

STATE_VERSION = 5
OLDEST_VERSION = 3
"""The oldest version that is still read: fields since then have defaults."""
_MOST_SCORES = 5


@dataclass(frozen=True, slots=True)
class PolicyState:
    """What a decider sees. It is built from the run alone and is stored with every decision."""

    question: str  # the user's
    step: int  # finished research steps
    steps_left: int  # that the budget still allows, as the next two
    revisions_left: int
    tokens_left: float  # share of the token budget, 0 to 1
    plan_done: int  # finished steps of the plan
    open_questions: list[str]  # of the plan's remaining steps
    last_action: str  # "" at the first decision
    query: str  # the last search
    fresh: int  # passages that the last step added
    again: int  # passages of the last step that were already in the evidence
    barren: int  # consecutive steps without a new passage
    top_score: float  # of the last step's best passage
    scores: list[float]  # the grader's probability that a passage helps, for the last step's best five
    grade: str  # of the last step's passages together: correct, ambiguous or incorrect
    corrections: int  # in the last step
    findings: list[dict[str, Any]]
    """Question, short answer and success of each finished step; the grader's probability that its best
    passage helps (``relevance``), the reader's of its best span (``span``), and the reader's that its
    sentence answers the user's question (``answers``). ``skipped`` only if the user skipped the step."""
    missing: list[str]  # questions of steps that found nothing, unless a later revision answered them
    evidence: list[dict[str, Any]]
    """Title and excerpt of each kept passage, the step that found it, and the grader's probability that it
    helps (``relevance``)."""
    look: dict[str, Any] = field(default_factory=lambda: {"answer": "", "span": 0.0, "score": 0.0})
    """What the user's question finds by itself: the reader's likeliest answer, its probability (``span``)
    and that of the best passage (``score``)."""
    known: list[float] = field(default_factory=list)
    """For each open question, the reader's probability that those passages answer it already."""
    retryable: bool = False  # whether the last step found nothing, without being skipped
    unread: bool = False  # whether its searches have passages that were not read
    unasked: bool = False  # whether it has passages that the language model was not asked about
    tried: list[str] = field(default_factory=list)  # its further tries
    notebook: list[str] = field(default_factory=list, compare=False, repr=False)
    """For deciders that read text; stored with the run's events, not here."""

    def to_json(self) -> dict[str, Any]:
        """The state as it is stored, without the notebook."""
        fields = asdict(self)
        del fields["notebook"]
        return fields


@dataclass(frozen=True, slots=True)
class Decision:
    """An action, with the source's probability of each."""

    action: Action
    probabilities: dict[Action, float]  # that each is the right one; they sum to one, a missing one has 0
    source: str  # who decided
    latency_ms: float  # how long the decision took
    justification: str = ""  # the reason in words, if the source gives one
    behaviour_probability: float = 1.0
    """That this source takes ``action`` in this state: 1 for a source that always takes its best action.
    Off-policy evaluation weights by it."""


class Decider(Protocol):
    """A source of decisions."""

    @property
    def name(self) -> str:
        """``rules``, ``llm``, ``learned`` or ``human``."""

    def decide(self, state: PolicyState, valid: Sequence[Action]) -> Decision:
        """One of ``valid``, which is never empty; actions outside it have probability zero."""


def is_stuck(state: PolicyState) -> bool:
    """Whether an open step refers to what an earlier one did not find."""
    missed = [f"#{n}" for n, finding in enumerate(state.findings, start=1) if not finding["found"]]
    return any(mark in question for mark in missed for question in state.open_questions)


def certain(action: Action) -> dict[Action, float]:
    """Probability 1 for one action."""
    return {**dict.fromkeys(PLAN_ACTIONS, 0.0), action: 1.0}


def policy_state(state: RunState, budget: Budget, tokens_left: int) -> PolicyState:
    """The policy state of a run; runs and training use the same code."""
    evidence = state["evidence"]
    recalled = state["recalled"]
    found = {c["passage_id"] for result in recalled for c in result["candidates"]}
    last = state["notes"][-1] if state["notes"] else None
    return PolicyState(
        question=state["question"],
        step=state["step"],
        steps_left=max(0, budget.steps - state["step"]),
        revisions_left=max(0, budget.revisions - state["revisions"]),
        tokens_left=round(tokens_left / budget.tokens, 4),
        plan_done=state["position"] + 1,
        open_questions=[step["question"] for step in open_steps(state)],
        last_action=state["action"],
        query=state["query"],
        fresh=len(state["fresh"]),
        again=len(state["again"]),
        barren=state["barren"],
        top_score=round(max((c["score"] for c in state["candidates"]), default=0.0), 6),
        scores=[c["scores"].get(RELEVANCE, 0.0) for c in state["candidates"][:_MOST_SCORES]],
        grade=state["grade"],
        corrections=len(state["rungs"]),
        findings=[
            {
                "question": n["question"],
                "answer": n["answer"],
                "found": n["found"],
                "relevance": n.get("relevance", 0.0),
                "span": n.get("span", 0.0),
                "answers": n.get("answers", 0.0),
                **({"skipped": True} if n.get("skipped") else {}),
            }
            for n in state["notes"]
        ],
        missing=[note["question"] for note in still_missing(state["notes"])],
        evidence=[
            {
                "title": e["title"],
                "excerpt": e["excerpt"][:400],
                "step": e["step"],
                "relevance": e.get("relevance", 0.0),
            }
            for e in evidence
        ],
        look=_look(state["looked"]),
        known=[*(last.get("known", []) if last else [])],
        # Without a query a revision brought no step, and nothing is left of the last one to try.
        retryable=last is not None
        and last["step"] == state["step"]
        and not (last["found"] or last.get("skipped"))
        and bool(state["query"]),
        unread=len(found) > len(state["candidates"]) or any(r.get("further") for r in recalled),
        unasked=state.get("unasked", False),
        tried=[*state.get("tried", ())],
        notebook=list(state["notebook"]),
    )


def _look(passages: Sequence[Candidate]) -> dict[str, Any]:
    """The reader's likeliest answer among the passages of the first look."""
    best = likeliest((p["passage_id"], p["score"], p.get("spans", [])) for p in passages)
    return {
        "answer": best[1]["text"] if best else "",
        "span": best[1]["probability"] if best else 0.0,
        "score": round(max((passage["score"] for passage in passages), default=0.0), 4),
    }


def used_up(state: PolicyState, budget: Budget, *, out_of_time: bool) -> str:
    """The reason for a run to stop here without a decision, else ""."""
    if out_of_time:
        return OUT_OF_TIME
    if state.tokens_left <= 0:
        return OUT_OF_TOKENS
    if state.barren >= budget.barren:
        return f"no new evidence in {state.barren} steps"
    if state.steps_left == 0 and state.open_questions:
        return "step budget"
    return ""


def valid_actions(state: PolicyState) -> tuple[Action, ...]:
    """The valid actions.

    CONTINUE needs an open step and REVISE a finished step and evidence, and both need room in the budget;
    FINISH needs evidence, unless no step is open or no other of these is valid. A step that found nothing
    may be tried further, once in each way that can bring something.
    """
    valid: list[Action] = []
    if state.steps_left > 0:
        if state.open_questions:
            valid.append("CONTINUE")
        if state.revisions_left > 0 and state.step > 0 and state.evidence:
            valid.append("REVISE")
    if state.evidence or not state.open_questions or not valid:
        valid.append("FINISH")
    if state.retryable:
        possible = (state.unread, state.corrections < len(RUNGS), state.unasked)
        valid += [one for one, can in zip(TRIES, possible, strict=True) if can and one not in state.tried]
    return tuple(valid)
