"""Runs as the store holds them, made by hand: whatever may stand in one is in here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from agent import checkpoints
from agent import events as ev
from agent.state import PLAN_ACTIONS, Candidate, Evidence, Note, PlanStep
from tests.tui import parts
from tests.tui.parts import claim
from traces.decisions import DecisionRow, Label
from traces.library import Library
from traces.records import NewDocument
from traces.runs import NewRun, RunEnd, Runs, StoredEvent
from traces.store import Store
from tui.assemble import open_store

EVIL = "<script>alert('gotcha')</script> & \x1b[2J*stars* \u0007"
ASKED = "And who supplies it?"
QUESTION = "Who supplies Orlavane's ceramic bearings?"
QUOTE = "Orlavane buys all of its ceramic bearings from Tolvang Ceramics."
PAGE = "https://example.org/fire?a=1&b=2"
PAGE_NAME = PAGE.removeprefix("https://")


def passage(number: int, **changed: object) -> Evidence:
    supply = {
        "passage_id": 100 + number,
        "collection": "facts",
        "document": "supplier.md",
        "title": "Supply",
        "date": "2024-05-01",
        "section": "Supply › Bearings",
        "page": 3,
        "text": f"Before it. {QUOTE} After it.",
        "excerpt": QUOTE,
        "score": 0.9,
    }
    return parts.evidence(number, **{**supply, **changed})


def candidate(passage_id: int) -> Candidate:
    return parts.candidate(
        passage(0, passage_id=passage_id, date="", section="Supply", page=None, text=QUOTE)
    )


def everything() -> list[tuple[float, ev.Event]]:
    """The events of a run in which everything happened that can, with the seconds when it did."""
    step = PlanStep(question="Who supplies it?", reason="", tool="facts", keywords="", section="")
    web = passage(
        2,
        document=PAGE_NAME,
        collection="web",
        title=EVIL,
        section="",
        page=None,
        date="2024-06-02",
    )
    table = passage(3, kind="table", text=f"| {EVIL} |\n| 1 |", excerpt=f"| {EVIL} |\n| 1 |")
    claims = [
        claim("Tolvang supplies it.", "supported"),
        claim("It burnt in May.", "partly", "the sources do not say “May”", [2]),
        claim(EVIL, "not", "nothing that is cited says so", []),
    ]
    first = ev.Answered("A first draft.", claims[:1], [passage(1)])
    answer = ev.Answered(
        f"Tolvang supplies it [1]. It burnt in May (partly supported) [2].\n\n{EVIL} (not supported) [9].",
        claims,
        [passage(1), web, table],
        share=0.5,
        grounded=False,
        quotes={"1": QUOTE, "2": EVIL},
    )
    probabilities = {"CONTINUE": 0.2, "REVISE": 0.1, "FINISH": 0.7}
    decided = ev.Decided(1, 1, {}, [], "FINISH", probabilities, "rules", 0.3, f"enough {EVIL}", 1.0)
    return [
        (0.1, ev.NodeStarted("route", 0)),
        (0.2, ev.ModelCalled("route", 50, 10, 5, 0.1)),
        (0.3, ev.Routed("deep", "it asks for two things", "llm", ASKED, QUESTION)),
        (0.4, ev.NodeFinished("route", 0, 0.3, 50, 10, 5)),
        (0.4, ev.Replied("clarify", "Which year?", "the last one", "person")),
        (0.5, ev.NodeStarted("plan", 0)),
        (0.6, ev.Planned([step], 0, "model")),
        (0.6, ev.NodeFinished("plan", 0, 0.1)),
        (0.7, ev.StepStarted(1, step)),
        (0.8, ev.Searched(1, "who supplies it", "hybrid", "facts", "", [*map(candidate, (101, 102))])),
        (0.8, ev.Searched(1, "supplier of it", "keyword", "facts", "", [candidate(102)])),
        (0.9, ev.Reranked(1, "cross", [101, 102], [0.9, 0.1])),
        (1.0, ev.Graded(1, "incorrect", "calibrated", [101, 102], ["ambiguous", "incorrect"], [0.4, 0.1])),
        (
            1.1,
            ev.Corrected(
                1,
                "web",
                "asking the web",
                ["fire at Tolvang"],
                [
                    {"url": PAGE, "title": EVIL, "date": "2024-06-02", "cached": False},
                    {"url": "javascript:alert(1)", "title": "evil", "date": "", "cached": True},
                ],
            ),
        ),
        (1.2, ev.Searched(1, "fire at Tolvang", "hybrid", "web", "", [candidate(103)], rung="web")),
        (1.3, ev.Graded(1, "correct", "calibrated", [103], ["correct"], [0.95])),
        (1.4, ev.EvidenceKept(1, [passage(1), web, table], [])),
        (1.5, ev.Steered("add", "What of Brevnes?")),
        (1.6, ev.Noted(Note(
            step=1, question="Who supplies it?", sentence="Tolvang does.", answer="Tolvang", cites=[1],
            found=True, revision=0,
        ), "rule")),
        (1.7, ev.NodeStarted("decide", 1)),
        (1.8, decided),
        (1.9, ev.NodeFinished("decide", 1, 0.2)),
        (2.0, ev.Contradicted(1, "40 units", 1, "2024-05-01", f"30 {EVIL}", 2, "2023-01-01")),
        (2.1, ev.NodeStarted("synthesise", 0)),
        (2.5, ev.ModelCalled("answer", 200, 100, 40, 0.35)),
        (2.5, ev.NodeFinished("synthesise", 0, 0.4, 200, 100, 40)),
        (2.6, first),
        (2.7, ev.Resumed("", QUESTION, "approve", "llama.cpp:small")),
        (2.8, ev.Replied("approve", "The answer is not grounded.", "accept", "person")),
        (2.9, ev.Warned(f"the web is away {EVIL}")),
        (3.0, answer),
    ]  # fmt: skip


def store_page() -> None:
    """Put the web page that `everything` cites into the library."""
    page = NewDocument(
        collection="web",
        source=PAGE,
        name=PAGE_NAME,
        title=EVIL,
        media_type="text/html",
        sha256="0",
        bytes=1,
        pages=None,
        date="2024-06-02",
        coverage=1.0,
        notices=(),
        reader=1,
        chunks=(),
    )
    Library(open_store()).put_document(page, np.zeros((0, 8), np.float32), "hashed")


def store_run(
    events: Sequence[tuple[float, ev.Event]] = (),
    *,
    question: str = QUESTION,
    session: str = "",
    status: str = "answered",
    answer: str = "Tolvang.",
    store: Store | None = None,
    request: Mapping[str, Any] | None = None,
) -> str:
    """Store a run with these events between its beginning and its end; returns its id.

    Of status ``running`` and ``waiting`` it has no end.
    """
    runs = Runs(store or open_store())
    setup = ("lean", "llama.cpp:small", "minilm", "cross", "rules")
    started = ev.RunStarted("", question, *setup, ["facts", "web"], session)
    run_id = runs.begin(NewRun(question, *setup, ("facts", "web"), session, request or {}))
    told: list[tuple[float, ev.Event]] = [(0.0, started), *events]
    told = [
        (at, replace(event, run_id=run_id) if isinstance(event, ev.RunStarted | ev.Resumed) else event)
        for at, event in told
    ]
    last = told[-1][0]
    if answer and status == "answered" and not any(isinstance(event, ev.Answered) for _, event in events):
        told.append((last, ev.Answered(answer, [], [])))
    ended = status not in {"running", "waiting"}
    if ended:
        because = "ModelMissing: of /home/me/model.gguf" if status == "failed" else "enough was found"
        told.append((last + 0.1, ev.RunFinished(status, because, last + 0.1, 2, 250, 110, 45)))
    decided = [event for _, event in told if isinstance(event, ev.Decided)]
    runs.record(
        run_id,
        [StoredEvent(seq, at, event.kind, event.payload()) for seq, (at, event) in enumerate(told)],
        [row for seq, event in enumerate(decided) for row in _decision_rows(seq, event)],
        labels=[Label(seq, event.action, "teach") for seq, event in enumerate(decided) if event.label],
        end=RunEnd(status, "enough was found", answer, 2, 250, 110, 45, question) if ended else None,
    )
    if status == "waiting":
        runs.wait(run_id)
    return run_id


def _decision_rows(seq: int, event: ev.Decided) -> list[DecisionRow]:
    """The row of a decision, and that of its shadow if there is one."""
    row = DecisionRow(
        seq,
        event.step,
        event.state_version,
        event.state,
        tuple(event.valid or PLAN_ACTIONS),
        event.action,
        event.probabilities,
        event.behaviour_probability,
        event.source,
        event.latency_ms,
        event.justification,
    )
    return [row, replace(row, **event.shadow, shadow=True)] if event.shadow else [row]


def cut_off(**how: Any) -> str:
    """A run that left a checkpoint, so that it can be resumed."""
    run_id = store_run(**{"status": "running", **how})
    with checkpoints.open_checkpoints(open_store(), run_id, lambda _log: None):
        return run_id
