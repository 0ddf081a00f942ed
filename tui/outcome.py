"""What a run came to: a fold over its events, for scripts, for export and for the exit code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from agent import events as ev
from agent.state import Evidence, Note, PlanStep
from tui.failures import DONE, NOT_FOUND


@dataclass(slots=True)
class Step:
    """One research step."""

    number: int
    question: str
    tool: str
    query: str = ""
    strategy: str = ""
    hits: list[dict[str, Any]] = field(default_factory=list)
    reranker: str = ""
    kept: list[int] = field(default_factory=list)
    note: Note | None = None


@dataclass(slots=True)
class Outcome:
    """The run so far; complete once `agent.events.RunFinished` was taken."""

    started: ev.RunStarted | None = None
    finished: ev.RunFinished | None = None
    answered: ev.Answered | None = None
    plan: list[PlanStep] = field(default_factory=list)
    revisions: int = 0
    steps: list[Step] = field(default_factory=list)
    decisions: list[ev.Decided] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)
    calls: list[ev.ModelCalled] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def take(self, event: ev.Event) -> None:  # noqa: PLR0912 - one arm per event
        """Add an event; events that this fold has no use for are passed over."""
        match event:
            case ev.RunStarted():
                self.started = event
            case ev.Planned():
                self.plan, self.revisions = list(event.steps), event.revision
            case ev.StepStarted():
                self.steps.append(Step(event.step, event.plan_step["question"], event.plan_step["tool"]))
            case ev.Searched() if self.steps:
                step = self.steps[-1]
                step.query, step.strategy = event.query, event.strategy
                step.hits = [_hit(dict(hit)) for hit in event.hits]
            case ev.Reranked() if self.steps:
                self.steps[-1].reranker = event.reranker
            case ev.EvidenceKept():
                self.evidence.extend(event.fresh)
                if self.steps:
                    self.steps[-1].kept = [*(item["number"] for item in event.fresh), *event.again]
            case ev.Noted() if self.steps:
                self.steps[-1].note = event.note
            case ev.Decided():
                self.decisions.append(event)
            case ev.ModelCalled():
                self.calls.append(event)
            case ev.Warned():
                self.warnings.append(event.message)
            case ev.Answered():
                self.answered = event
            case ev.RunFinished():
                self.finished = event
            case _:
                pass

    @property
    def exit_code(self) -> int:
        """`DONE` if the question was answered, else `NOT_FOUND`."""
        return DONE if self.finished is not None and self.finished.status == "answered" else NOT_FOUND

    def to_json(self) -> dict[str, Any]:
        """The run as one JSON object; the keys are part of what scripts may rely on."""
        started = self.started
        finished = self.finished
        answered = self.answered
        return {
            "run_id": started.run_id if started else "",
            "question": started.question if started else "",
            "answer": answered.answer if answered else "",
            "status": finished.status if finished else "running",
            "stopped_because": finished.stopped_because if finished else "",
            "sentences": list(answered.sentences) if answered else [],
            "sources": [_source(item) for item in answered.sources] if answered else [],
            "plan": [dict(step) for step in self.plan],
            "revisions": self.revisions,
            "steps": [asdict(step) for step in self.steps],
            "decisions": [_decision(decided) for decided in self.decisions],
            "warnings": list(self.warnings),
            "model": started.chat_model if started else "",
            "embedder": started.embedder if started else "",
            "reranker": started.reranker if started else "",
            "profile": started.profile if started else "",
            "decider": started.decider if started else "",
            "collections": list(started.collections) if started else [],
            "usage": {
                "model_calls": finished.model_calls if finished else len(self.calls),
                "evaluated": finished.evaluated if finished else sum(c.evaluated for c in self.calls),
                "reused": finished.reused if finished else sum(c.reused for c in self.calls),
                "generated": finished.generated if finished else sum(c.generated for c in self.calls),
            },
            "seconds": finished.seconds if finished else None,
        }


def _hit(hit: Mapping[str, Any]) -> dict[str, Any]:
    wanted = ("passage_id", "collection", "document", "title", "section", "page", "score", "scores")
    return {name: hit[name] for name in wanted}


def _source(item: Evidence) -> dict[str, Any]:
    # The whole chunk stays in the library; a script gets what the answer rests on.
    return {name: value for name, value in item.items() if name not in {"text", "step", "score"}}


def _decision(decided: ev.Decided) -> dict[str, Any]:
    return {
        "step": decided.step,
        "action": decided.action,
        "source": decided.source,
        "probabilities": decided.probabilities,
        "latency_ms": decided.latency_ms,
        "justification": decided.justification,
    }
