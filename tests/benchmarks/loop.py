"""What the loop costs: `lean` against `seed`, same question, same 1.5B model, in one run."""

from __future__ import annotations

from dataclasses import dataclass

import agent.events as ev
from agent.run import Request, run
from tests.benchmarks.library import NVIDIA, chat, embedder, read_into
from tests.benchmarks.table import Row, Table
from traces import paths
from traces.store import Store

QUESTION = (
    "What was NVIDIA's total revenue in fiscal year 2023, what were its Data Center revenues, and what "
    "does the company say about export controls on A100 and H100?"
)


@dataclass(frozen=True)
class _Cost:
    steps: int
    finished: ev.RunFinished
    answer: str

    @property
    def reused(self) -> float:
        return self.finished.reused / max(1, self.finished.reused + self.finished.evaluated)


def measure() -> Table:
    """Each profile on a freshly opened model, so that neither profits from the other's prefix."""
    store = Store(paths.store_file())
    read_into(store, "filings", [NVIDIA], "NVIDIA's annual report on Form 10-K for fiscal year 2023")
    lean, seed = _cost("lean", store), _cost("seed", store)
    seconds = lean.finished.seconds / seed.finished.seconds
    tokens = lean.finished.generated / seed.finished.generated
    return Table(
        "loop",
        "The loop's cost: lean against seed",
        [
            *_rows("lean", lean),
            *_rows("seed", seed),
            Row(
                "prompt tokens reused in lean",
                f"{lean.reused:.0%}",
                "at least 50 %",
                met=lean.reused >= 0.5,
            ),
            Row("seconds, lean / seed", f"{seconds:.0%}", "at most 40 %", met=seconds <= 0.4),
            Row("generated tokens, lean / seed", f"{tokens:.0%}", "at most 40 %", met=tokens <= 0.4),
        ],
        [f"Question: {QUESTION}", f"lean answered: {lean.answer}", f"seed answered: {seed.answer}"],
    )


def _cost(profile: str, store: Store) -> _Cost:
    model = chat()
    steps = 0
    answer = ""
    try:
        for event in run(
            Request(QUESTION, profile=profile), chat=model, embedder=embedder(), reranker=None, store=store
        ):
            if isinstance(event, ev.StepStarted):
                steps = event.step
            elif isinstance(event, ev.Answered):
                answer = event.answer
            elif isinstance(event, ev.RunFinished):
                if event.status != "answered":
                    raise RuntimeError(f"{profile} ended as {event.status}: {event.stopped_because}")
                return _Cost(steps, event, answer)
    finally:
        model.close()
    raise AssertionError("a run ended without RunFinished")


def _rows(name: str, cost: _Cost) -> list[Row]:
    end = cost.finished
    return [
        Row(f"{name}: steps, model calls", f"{cost.steps}, {end.model_calls}"),
        Row(f"{name}: seconds", f"{end.seconds:.1f}"),
        Row(
            f"{name}: tokens evaluated / reused / generated",
            f"{end.evaluated} / {end.reused} / {end.generated}",
        ),
    ]
