"""Events as a run emits them, made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agent import events as ev
from agent.decisions.decider import STATE_VERSION
from agent.state import PLAN_ACTIONS, Candidate, Claim, Evidence, Note, PlanStep, Verdict
from tests.agent import made

LONG = "Which single supplier does Orlavane buy all of its ceramic compressor bearings from, and why?"
STEP = PlanStep(question=LONG, reason="", tool="reports", keywords="", section="")


_PLACE: dict[str, Any] = {
    "collection": "reports",
    "document": "annual-report.html",
    "title": "Annual report 2024",
    "date": "2025-02-28",
    "section": "Annual report 2024 › Item 1A. Risk Factors › A single supplier",
    "page": 12,
}


def evidence(number: int, **changes: object) -> Evidence:
    excerpt = "Orlavane buys all of its ceramic compressor bearings from Tolvang Ceramics. " * 4
    return made.evidence(number, **{"text": "the whole chunk", **_PLACE, "excerpt": excerpt, **changes})


def candidate(item: Evidence) -> Candidate:
    place = {name: item[name] for name in (*_PLACE, "kind")}  # type: ignore[literal-required]
    return made.candidate(item["passage_id"], item["text"], scores={"fused": 0.5}, **place)


def search(step: int, query: str, hits: int, rung: str = "") -> ev.Searched:
    found = [candidate(evidence(10 * step + n)) for n in range(hits)]
    return ev.Searched(step, query, "hybrid", "reports", "", found, rung)


def claim(
    text: str, verdict: Verdict = "supported", reason: str = "", cites: Sequence[int] = (1,)
) -> Claim:
    return Claim(text=text, cites=list(cites), support=0.5, verdict=verdict, reason=reason)


def finished(status: str = "answered", because: str = "llm: enough is known") -> ev.RunFinished:
    return ev.RunFinished(status, because, 61.2, 5, 2066, 3448, 126)


def started() -> ev.RunStarted:
    return ev.RunStarted("abc123def456", LONG, "lean", "llama.cpp:qwen", "minilm", "", "rules", ["reports"])


def note(sentence: str, step: int = 1) -> Note:
    return Note({**made.note(sentence, 1, step=step, question=LONG), "answer": ""})


def shares(probabilities: Sequence[float]) -> dict[str, float]:
    return dict(zip(PLAN_ACTIONS, probabilities, strict=True))


def shadow(action: str, probabilities: Sequence[float], source: str = "llm") -> dict[str, Any]:
    """What a second source would have done."""
    return {
        "action": action,
        "probabilities": shares(probabilities),
        "source": source,
        "latency_ms": 900.0,
        "justification": "",
        "behaviour_probability": 1.0,
    }


def decided(
    action: str = "CONTINUE", probabilities: Sequence[float] = (0.72, 0.08, 0.2), **changed: Any
) -> ev.Decided:
    """A decision by the rules after the first step, where all three were possible."""
    fields: dict[str, Any] = {
        "step": 1,
        "state_version": STATE_VERSION,
        "state": {},
        "valid": list(PLAN_ACTIONS),
        "action": action,
        "probabilities": shares(probabilities),
        "source": "rules",
        "latency_ms": 0.4,
        "justification": "a step is open",
        "behaviour_probability": 1.0,
        **changed,
    }
    return ev.Decided(**fields)


def whole_run(first: Evidence | None = None) -> list[ev.Event]:
    first = first or evidence(1)
    table = evidence(2, kind="table", page=None, section="", excerpt="In millions | 2024\nRevenue | 26,974")
    sentence = "Orlavane buys them from Tolvang Ceramics (not supported by the sources) [1]."
    return [
        started(),
        ev.Routed("deep", "It needs one fact to find another.", "rules", LONG, LONG),
        ev.FirstLook(
            "Tolvang Ceramics", "Orlavane buys them from Tolvang Ceramics.", 1, "Annual report", 12, 0.4
        ),
        ev.NodeStarted("plan", 0),
        ev.Planned([STEP, STEP], 0, "model"),
        ev.StepStarted(1, STEP),
        ev.NodeStarted("retrieve", 1),
        search(1, LONG, 9),
        ev.NodeFinished("retrieve", 1, 0.1),
        search(1, "who makes the bearings", 3),
        ev.Reranked(1, "", [1], [0.5]),
        ev.Graded(1, "correct", "threshold", [1, 2, 3], ["correct", "incorrect", "incorrect"], [0.9, 0, 0]),
        ev.EvidenceKept(1, [first, table], [7]),
        ev.Noted(note("It is Tolvang."), ""),
        ev.Decided(1, 1, {}, ["FINISH"], "FINISH", {"FINISH": 0.81}, "llm", 3.0, "enough is known", 1.0),
        ev.ModelCalled("write", 100, 300, 40, 1.0),
        ev.Heartbeat("synthesise", 1, 3.0, 40),
        ev.AnswerText("Orlavane buys them "),
        ev.AnswerText("from Tolvang Ceramics."),
        ev.Answered(
            sentence,
            [claim("Orlavane buys them.", "not", "[1] does not say this"), claim("So it is.")],
            [first, table],
        ),
        finished(),
    ]
