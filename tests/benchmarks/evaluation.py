"""The loop beside one prompt on the multi-hop dev files, for hours; a killed run continues.

    python -m tests.benchmarks.evaluation [MODEL …] [--data DIR] [--work DIR]

The committed rows hold ids, outcomes and counts, no passages and no answers. The tables in BENCHMARKS.md
are made from them.

The data sets' own measures compare a few words with a few words, and no system writes so briefly. So the
model is asked once for the words of each answer that the question asks for; no system is charged for that.
"""

from __future__ import annotations

import argparse
import threading
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Final

from agent.text.terms import terms
from models.protocols import Chat, ChatOptions, Message
from policy.evaluation.evaluating import Row, Rows, evaluate
from policy.evaluation.measures import exact_match, f1
from policy.evaluation.report import markdown
from policy.evaluation.systems import GUESS, LEAN, Parts
from policy.questions import CaseSet, Progress
from tests.benchmarks.multihop import pool, pooled, read_questions
from tests.benchmarks.table import RESULTS, markdown_table, refilled, write_rows
from tests.conftest import DATA
from traces.store import Store
from tui.assemble import open_chat, open_embedder, open_learned, open_planner, open_reader
from tui.bars import show_progress
from tui.interrupts import ctrl_c
from tui.settings.settings import load

PAGE = Path(__file__).parents[2] / "BENCHMARKS.md"
ROWS = RESULTS / "evaluation.rows.jsonl"
TABLES = RESULTS / "evaluation.md"
SETS = ("hotpotqa_dev", "2wikimultihopqa_dev", "musique_dev")
MODELS = ("qwen2.5-coder-1.5b", "qwen2.5-coder-0.5b")
SYSTEMS = (GUESS, LEAN)

_WHERE = (
    "On the dev files, all paragraphs of a file in one library; a question that a system finds nothing\n"
    "for counts as wrong. Rows may be of several machines, each as fast as it is: tokens do not depend on\n"
    "that, seconds do. Where answers were lost, what was cited, and paired differences are in\n"
    "[`tests/benchmarks/results/evaluation.md`](tests/benchmarks/results/evaluation.md)."
)
_COPY = "You copy the answer to a question out of a text. You add nothing of your own."
# Asked to copy, a 0.5B model repeats the text; shown how, it copies.
_EXAMPLES: Final = (
    ("Who built the Marrow bridge?", "The Marrow bridge was built by Ansel Kadis in 1911.", "Ansel Kadis"),
    (
        "When did the company that owns Lunar Tide open its first shop?",
        "Lunar Tide is owned by Varo Foods, a retailer that opened its first shop on 3 May 1964.",
        "3 May 1964",
    ),
    ("Were Ilse Brandt and Ugo Marin born in one country?", "Both were born in Estonia.", "yes"),
)


def main() -> None:
    """Continue with the models that are named, one after the other, until all is done or it is stopped."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.evaluation", description=__doc__)
    parser.add_argument("models", nargs="*", default=MODELS)
    parser.add_argument("--limit", type=int, default=40, help="questions of each set, by a fixed shuffle")
    parser.add_argument("--data", type=Path, default=DATA / "multihop", help="where the dev files are")
    parser.add_argument("--work", type=Path, default=Path("build/evaluation"), help="kept between runs")
    given = parser.parse_args()
    work: Path = given.work
    with ctrl_c() as cancel:
        for model in given.models:
            try:
                for name in SETS:
                    ask(model, given.data / f"{name}.jsonl", given.limit, work, cancel)
            finally:
                keep(work / "rows.jsonl")


def ask(model: str, file: Path, limit: int, work: Path, cancel: threading.Event) -> None:
    """Ask one model the first ``limit`` questions of one file, but for those that have a row."""
    settings = load({"model": model})
    questions, store = read_questions(file), Store(work / "library.duckdb")
    embedder = open_embedder(settings)
    for _ in pool(questions, store, embedder, cancel):
        pass
    cases = pooled(questions).first(limit)
    with closing(open_chat(settings)) as chat:
        parts = Parts(
            chat,
            embedder,
            open_reader(settings),
            store,
            cases.collections,
            settings.budget,
            open_learned(),
            open_planner(settings),
            cancel=cancel,
        )
        rows = Rows(work / "rows.jsonl")

        def describe(progress: Progress) -> str:
            return f"{file.stem}: {progress.doing}"

        show_progress(evaluate(cases, SYSTEMS, parts, rows), describe)
        shorten_rows(rows, cases, chat)


def shorten_rows(rows: Rows, cases: CaseSet, chat: Chat) -> None:
    """Add exact match and F1 of the short answer to the rows that lack them."""
    for row in rows.all():
        case = next((one for one in cases.cases if one.id == row.question), None)
        if case is None or row.questions != cases.name or row.model != chat.name or "f1" in row.measures:
            continue
        short = "" if row.measures["abstained"] else shorten(chat, case.question, row.answer)
        scores = {"em": exact_match(short, case.answers), "f1": f1(short, case.answers)}
        rows.add(replace(row, measures={**row.measures, **scores}))


def shorten(chat: Chat, question: str, text: str) -> str:
    """The answer in as few words as the question asks for; "" where the model invents one."""
    shown = [
        message
        for asked, answer, short in _EXAMPLES
        for message in (_put(asked, answer), Message("assistant", short))
    ]
    messages = [Message("system", _COPY), *shown, _put(question, text)]
    reply = chat.generate(messages, ChatOptions(max_tokens=24)).text.strip()
    short = reply.partition("\n")[0].removesuffix(".").strip("\"'* ")
    copied = short.lower() in {"yes", "no"} or set(terms(short)) & set(terms(text))
    return short if copied else ""


def _put(question: str, text: str) -> Message:
    return Message("user", f"QUESTION: {question}\nTEXT: {text}\nANSWER:")


def keep(rows: Path) -> None:
    """Write the rows and the tables of them, and the summary into BENCHMARKS.md."""
    found = sorted(Rows(rows).all(), key=lambda row: row.key)
    if not found:
        return
    write_rows(ROWS, found)
    TABLES.write_text(markdown(found, "make evaluation"), "utf-8")
    PAGE.write_text(refilled(PAGE.read_text("utf-8"), "evaluation", digest(found)), "utf-8")


def digest(rows: Sequence[Row]) -> str:
    """A table for each model: F1 on each set, and what an answer takes."""
    models = sorted({row.model for row in rows}, reverse=True)  # the larger first
    tables = [_table(model, [row for row in rows if row.model == model]) for model in models]
    return "\n".join([*tables, _WHERE])


def _table(model: str, rows: Sequence[Row]) -> str:
    sets = sorted({row.questions for row in rows})
    head = [
        "system",
        *(f"F1 {name.removesuffix('_dev')}" for name in sets),
        "steps",
        "tokens read",
        "seconds",
    ]
    lines: list[list[str]] = []
    for system in SYSTEMS:
        own = [row for row in rows if row.system == system]
        if own:
            of_sets = ([row for row in own if row.questions == name] for name in sets)
            cells = [f"{100 * _mean(each, 'f1'):.1f} ({len(each)})" if each else "–" for each in of_sets]
            cells += [
                f"{_mean(own, name):,.{digits}f}"
                for name, digits in (("steps", 1), ("evaluated", 0), ("seconds", 0))
            ]
            lines.append([system, *cells])
    return f"{model.rpartition(':')[2]}, F1 in points (questions)\n\n{markdown_table(head, lines)}"


def _mean(rows: Sequence[Row], measure: str) -> float:
    return fmean(row.measures[measure] for row in rows)


if __name__ == "__main__":
    main()
