"""Supporting-passage recall of the funnel alone, asked with gold sub-questions: no language model.

The dev files' paragraphs are pooled. A question is worked off as a run works off a plan, step by step
through the real funnel, but its plan is given: MuSiQue's steps and 2Wiki's facts as look-ups with the
answers of earlier ones put in. HotpotQA tells no sub-questions; it is searched as `policy.collecting` does.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from agent.budget import Budget
from agent.retrieval.fusion import best_first, reciprocal_rank_fusion
from agent.retrieval.memo_reader import MemoReader
from agent.retrieval.passage_text import show
from agent.state import PlanStep, RunState, new_state
from agent.stepping import research_step
from models.protocols import Embedder
from policy.judging.bootstrap import draws, mean
from tests.benchmarks import library as made
from tests.benchmarks.collecting.remembering import RememberingRecall
from tests.benchmarks.collecting.unread import first_plan, graded, resolved, unread
from tests.benchmarks.multihop import (
    Question,
    QuestionSet,
    RememberingEmbedder,
    filled,
    named,
    pool,
    read_questions,
)
from tests.benchmarks.table import Row, Table
from tests.conftest import DATA
from traces import paths
from traces.library import Library
from traces.records import Scope
from traces.store import Store

TOP: Final = 10
KEPT: Final = 5  # passages that a step of a run keeps at most
BARS: Final = {"hotpotqa": 0.90, "2wikimultihopqa": 0.90, "musique": 0.80}
_ALONE = "the whole question alone"
_UNION = "its sub-questions"
_FUSED = f"its sub-questions, fused to {TOP} passages in all"
_FIRST = f"the {KEPT} of each sub-question's {TOP} that the reader puts first"
_HELD = "kept by the steps of a run"


@dataclass(frozen=True)
class _Worked:
    """What one question brought.

    Attributes:
        shares: Of the question's gold passages, by what was looked at.
        own: For each sub-question whose gold passage is told, whether its own ten best hold it.
        first: The same for the best of them by the reader.
        held: Passages that its steps kept.
    """

    shares: dict[str, float]
    own: list[bool]
    first: list[bool]
    held: int


def measure() -> Table:
    """Means over the questions of each dev file, with bootstrap intervals."""
    embedder = made.embedder()
    reader = MemoReader(made.reader())
    rows: list[Row] = []
    for name, bar in BARS.items():
        questions = read_questions(DATA / "multihop" / f"{name}_dev.jsonl")
        funnel = _Funnel(questions, Store(paths.store_file()), embedder, reader)
        worked = [
            _told(number, funnel.work(one)) for number, one in enumerate(questions.questions, start=1)
        ]
        rows.extend(_rows(f"{name} dev, {len(worked)} questions", worked, bar))
    return Table("funnel", "The funnel alone, with gold sub-questions", rows, _NOTES)


def _told(number: int, worked: _Worked) -> _Worked:
    if number % 20 == 0:
        sys.stderr.write(f"{number} questions\n")
    return worked


class _Funnel:
    """The real steps of a run over one pooled file, with nothing in them that a model would answer."""

    def __init__(
        self, questions: QuestionSet, store: Store, embedder: Embedder, reader: MemoReader
    ) -> None:
        remembering = RememberingEmbedder(embedder)
        for done, total in pool(questions, store, remembering):
            sys.stderr.write(f"{questions.name}: {done} of {total} paragraphs\n")
        library = Library(store)
        self._store = store
        self._questions = questions
        self._scope = [Scope(collections=(questions.name,))]
        self._recall = RememberingRecall(library, remembering)
        self._reader = reader
        self._deps = unread(library, questions.name, self._recall, reader, Budget())

    def work(self, question: Question) -> _Worked:
        """The question's plan worked off; then what its searches brought by themselves."""
        self._recall.forget()
        self._reader.forget()
        with self._store.connect():
            asked, held = self._walked(question)
            found = [self._found(one) for one in asked]
            best = [self._first(one, passages) for one, passages in zip(asked, found, strict=True)]
            alone = self._found(question.text)
        fused = best_first(reciprocal_rank_fusion([list(passages) for passages in found]))[:TOP]
        brought = {
            _ALONE: set(alone),
            _UNION: {number for passages in found for number in passages},
            _FUSED: set(fused),
            _FIRST: {number for passages in best for number in passages},
            _HELD: held,
        }
        shares = {
            what: len(question.gold & numbers) / len(question.gold) for what, numbers in brought.items()
        }
        told = [
            (at, support)
            for at, support in enumerate(self._supports(question, asked))
            if support is not None
        ]
        return _Worked(
            shares,
            [support in found[at] for at, support in told],
            [support in best[at] for at, support in told],
            len(held),
        )

    def _walked(self, question: Question) -> tuple[list[str], set[int]]:
        """The sub-questions as they were searched for, and the paragraphs that the steps kept."""
        state = RunState({**new_state(question.text), "plan": _plan(question)})
        while state["position"] + 1 < len(state["plan"]):
            state = graded(research_step(resolved(state, question), self._deps))
        return [step["question"] for step in state["plan"]], {int(e["document"]) for e in state["evidence"]}

    def _found(self, query: str) -> dict[int, str]:
        """The ten best paragraphs of one search, best first, as the reader is shown them."""
        hits = self._recall.search(query, "hybrid", self._scope, TOP)
        return {
            int(p.document): show(p.title, p.section, p.date, p.text, p.kind).text
            for p in (hit.passage for hit in hits)
        }

    def _first(self, query: str, found: dict[int, str]) -> list[int]:
        readings = dict(zip(found, self._reader.read(query, list(found.values())), strict=True))
        return sorted(readings, key=lambda number: -readings[number].probability)[:KEPT]

    def _supports(self, question: Question, asked: Sequence[str]) -> list[int | None]:
        """The gold passage of each sub-question: told by MuSiQue, and by the words of 2Wiki's look-ups."""
        if not question.hops:
            return [None] * len(asked)
        titles = {number: self._questions.paragraphs[number].title for number in question.gold}
        return [
            hop.support if hop.support is not None else named(text, titles)
            for hop, text in zip(question.hops, asked, strict=True)
        ]


def _plan(question: Question) -> list[PlanStep]:
    """The sub-questions, with every reference to an earlier one's answer put in where the file tells it."""
    answers = [hop.answer for hop in question.hops]
    steps = first_plan(question)
    return (
        [PlanStep({**s, "question": filled(s["question"], answers)}) for s in steps] if answers else steps
    )


def _rows(label: str, worked: Sequence[_Worked], bar: float) -> list[Row]:
    rows = [
        _row(f"{label}: {_ALONE}, top {TOP}", [one.shares[_ALONE] for one in worked]),
        _row(f"{label}: {_UNION}, top {TOP} of each", [one.shares[_UNION] for one in worked], bar),
        _row(f"{label}: {_FUSED}", [one.shares[_FUSED] for one in worked]),
    ]
    own = [found for one in worked for found in one.own]
    if own:
        told = f"{label}, {len(own)} sub-questions whose own gold passage is told"
        rows.append(_row(f"{told}: in its top {TOP}", own))
        rows.append(
            _row(
                f"{told}: in the {KEPT} the reader puts first",
                [f for one in worked for f in one.first],
            )
        )
    rows.append(_row(f"{label}: {_FIRST}", [one.shares[_FIRST] for one in worked]))
    held = np.mean([one.held for one in worked])
    rows.append(
        _row(f"{label}: {_HELD}, {held:.1f} passages a question", [one.shares[_HELD] for one in worked])
    )
    return rows


def _row(what: str, found: Sequence[float] | Sequence[bool], bar: float | None = None) -> Row:
    share = mean(np.array(found, dtype=np.float64), draws(len(found)))
    told = f"{share.estimate:.3f} ({share.low:.3f} to {share.high:.3f})"
    return Row(what, told) if bar is None else Row(what, told, f"at least {bar:.2f}", share.estimate >= bar)


_NOTES: Final = [
    "Pooled: all paragraphs of a dev file are one library, each a document of its own, which ingestion "
    "cuts into several passages where it is long: ten passages may be fewer paragraphs. A figure is "
    "the mean share of the question's supporting passages, all of them, whichever sub-question they "
    "belong to; where it says “sub-questions whose own gold passage is told”, it is the share of "
    "these. In brackets the 95 % bootstrap interval of the mean (2,000 draws).",
    f"“Top {TOP} of each”, which the bar is about: the {TOP} best passages of one hybrid search "
    "(vectors, diverse vectors, keywords, fused) for each sub-question; what they hold together is "
    f"counted, so a question of two sub-questions shows up to {2 * TOP} passages. “Fused to {TOP} in "
    f"all” is stricter: the lists are fused by reciprocal rank and cut to {TOP} passages for the whole "
    "question.",
    "Gold sub-questions. MuSiQue: its steps, with the answers of earlier steps put in; “entity >> "
    "relation” is asked as “What is the relation of entity?”. 2WikiMultihopQA dev tells no "
    "sub-questions: each of its facts (subject, relation, object) is asked as a planner words a look-up, "
    "“What is the RELATION of SUBJECT?”, with the subject itself. The passage of such a look-up is "
    "the gold one whose title stands in it.",
    "HotpotQA tells no sub-questions: the question itself is asked, and then the question with the title "
    "of the best passage that its steps have kept and that it does not name "
    "(`tests.benchmarks.collecting`). Nothing of that is told by gold.",
    "“Kept by the steps of a run”: each sub-question goes through the run's own step (the "
    "reader, the grade, what is far behind the best left out, corrections where the grade "
    f"asks for them), which keeps at most {KEPT} passages. “The {KEPT} … the reader puts first” has "
    "neither grade nor corrections.",
]
