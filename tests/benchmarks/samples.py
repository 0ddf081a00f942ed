"""The sample library's questions, answered by `lean` with the 1.5B model."""

from __future__ import annotations

import sys

import agent.events as ev
from agent.documents import sample_library
from agent.run import Request, run
from policy.evaluation.measures import holds
from tests.benchmarks.library import chat, embedder, read_into, reader
from tests.benchmarks.table import Row, Table
from traces import paths
from traces.store import Store


def measure() -> Table:
    """Right: holds the gold answer and none of the superseded values; for the unanswerable, not found."""
    store = Store(paths.store_file())
    for name, description in sample_library.COLLECTIONS.items():
        read_into(store, name, sample_library.documents(name), description)
    model = chat()
    vectors, reads = embedder(), reader()
    rows: list[Row] = []
    right = flagged = sentences = 0
    for question in sample_library.questions():
        answered = ev.Answered("", [], [])
        finished = ev.RunFinished("", "", 0, 0, 0, 0, 0)
        for event in run(
            Request(question.question, approve="always"),
            chat=model,
            embedder=vectors,
            reader=reads,
            store=store,
        ):
            if isinstance(event, ev.Answered):
                answered = event
            elif isinstance(event, ev.RunFinished):
                finished = event
        ok = is_right(question, answered.answer, finished.status)
        right += ok
        sentences += len(answered.sentences)
        flagged += sum(claim["verdict"] != "supported" for claim in answered.sentences)
        rows.append(
            Row(
                f"{question.id}",
                f"{'right' if ok else 'wrong'}, {finished.seconds:.0f} s: {answered.answer}",
            )
        )
        sys.stderr.write(f"{question.id}: {'right' if ok else 'wrong'}\n")
    rows.append(Row("right", f"{right} of {len(rows)}"))
    rows.append(Row("sentences flagged as not or only partly supported", f"{flagged} of {sentences}"))
    return Table(
        "samples",
        "The sample library's questions",
        rows,
        ["Profile lean, Qwen2.5-Coder 1.5B; embedder and reader are the default ones."],
    )


def is_right(question: sample_library.SampleQuestion, answer: str, status: str) -> bool:
    """Whether an answer to a sample question is right."""
    if question.kind == "unanswerable":
        return status == "not_found"
    clean = not any(holds(answer, [wrong]) for wrong in question.must_not_contain)
    return clean and holds(answer, [question.answer, *question.aliases])
