"""What the loop costs: `lean` against `seed`, same questions, same 1.5B model, in one run."""

from __future__ import annotations

from dataclasses import dataclass, replace

import agent.events as ev
from agent.documents import sample_library
from agent.run import Request, run
from tests.benchmarks.library import NVIDIA, chat, embedder, read_into, reader
from tests.benchmarks.table import Row, Table
from traces import paths
from traces.store import Store

_SEGMENTS = (
    "What were NVIDIA's Compute & Networking and Graphics revenues in fiscal 2023, and how did each change "
    "from 2022?"
)


@dataclass(frozen=True)
class _Cost:
    """One run: its research steps, its end, its answer."""

    steps: int
    finished: ev.RunFinished
    answer: str

    @property
    def reused(self) -> float:
        """Share of all prompt tokens that were taken over from the call before."""
        return self.finished.reused / max(1, self.finished.reused + self.finished.evaluated)


def measure() -> Table:
    """Each run on a freshly opened model, so that none profits from the prefix of another."""
    store = Store(paths.store_file())
    read_into(store, "filings", [NVIDIA], "NVIDIA's annual report on Form 10-K for fiscal year 2023")
    for name, description in sample_library.COLLECTIONS.items():
        read_into(store, name, sample_library.documents(name), description)
    samples = tuple(sample_library.COLLECTIONS)
    demo = sample_library.demo_question().question
    bridge = next(q.question for q in sample_library.questions() if q.id == "bridge-2")
    requests = [
        Request(demo, collections=samples),
        Request(bridge, collections=samples),
        Request(_SEGMENTS, collections=("filings",)),
    ]
    rows: list[Row] = []
    notes: list[str] = []
    totals = {"lean": [0.0, 0.0], "seed": [0.0, 0.0]}
    reused = 0.0
    for number, request in enumerate(requests, start=1):
        notes.append(f"Question {number}: {request.question}")
        for profile, total in totals.items():
            cost = _cost(profile, request, store)
            total[0] += cost.finished.seconds
            total[1] += cost.finished.generated
            if profile == "lean" and number == 1:
                reused = cost.reused
            rows.append(_row(number, profile, cost))
            notes.append(f"{profile} answered {number}: {cost.answer}")
    seconds = totals["lean"][0] / totals["seed"][0]
    tokens = totals["lean"][1] / totals["seed"][1]
    rows += [
        Row(
            "prompt tokens reused by lean, question 1", f"{reused:.0%}", "at least 50 %", met=reused >= 0.5
        ),
        Row("seconds, lean / seed, all questions", f"{seconds:.0%}", "at most 40 %", met=seconds <= 0.4),
        Row("generated tokens, lean / seed", f"{tokens:.0%}", "at most 40 %", met=tokens <= 0.4),
    ]
    notes.append("Qwen2.5-Coder 1.5B at temperature 0; a run may make another plan and so other steps.")
    return Table("loop", "The loop's cost: lean against seed", rows, notes)


def _cost(profile: str, request: Request, store: Store) -> _Cost:
    model = chat()
    steps = 0
    answer = ""
    asked = replace(request, profile=profile, route="deep", approve="always")
    try:
        for event in run(asked, chat=model, embedder=embedder(), reader=reader(), store=store):
            if isinstance(event, ev.StepStarted):
                steps = event.step
            elif isinstance(event, ev.Answered):
                answer = event.answer
            elif isinstance(event, ev.RunFinished):
                return _Cost(steps, event, answer)
    finally:
        model.close()
    raise AssertionError("a run ended without RunFinished")


def _row(number: int, profile: str, cost: _Cost) -> Row:
    end = cost.finished
    return Row(
        f"question {number}, {profile}",
        f"{end.status}, {cost.steps} steps, {end.model_calls} calls, {end.seconds:.1f} s, tokens "
        f"{end.evaluated} evaluated / {end.reused} reused / {end.generated} generated",
    )
