"""The model-free grader's calibration: fitted on the train files, checked on dev and the sample library.

A grade has to tell a library that holds the answer from one that does not. So every question is asked
twice: with its supporting paragraphs in the library, and with them taken out. And libraries differ: the
train questions are asked of the pooled paragraphs and of the few that come with their own record, all
about the same things.
"""

from __future__ import annotations

import random
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from agent.cognition.calibration import BY_EMBEDDER, BY_RERANKER, WORDS_ALONE, Calibration, Thresholds

from agent import sample_library
from agent.cognition.grading import CalibratedGrader, Grade, features, overall
from agent.retrieval.keyword import KeywordIndex
from agent.retrieval.recall import Hit, Recall
from agent.retrieval.terms import terms
from agent.state import Candidate
from models import boxed_reranker
from models.protocols import Embedder, Reranker, Vectors
from policy.reranking.command import kept_out
from policy.reranking.mining import as_the_product_has_it, document_of
from policy.reranking.questions import SETS, Asked, Pool, read_pool
from tests.benchmarks import library as made
from tests.benchmarks.table import Row, Table
from tests.conftest import DATA
from traces import paths
from traces.library import Library
from traces.records import Scope
from traces.store import Store

TOP = 10
FOLDS = 5
MOST_TRAIN, MOST_DEV = 400, 200  # questions of each file
PRECISION = 0.8  # of "correct", wanted
PRECISION_OF_WORDS = 0.5  # of "correct", where words alone decide: more is not to be had
LOST = 0.03  # share of supporting paragraphs that may be graded "incorrect"
FEATURES = {
    "all-minilm-l6-v2": ("vector", "coverage", "names"),
    "words": ("coverage", "names", "sentence"),
    boxed_reranker.NAME: ("rerank", "vector", "coverage", "names"),
}

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Example:
    """A passage that was recalled for a question. ``setting`` ends in a minus if the gold was taken out."""

    found: dict[str, float]
    helps: bool
    record: str
    asked: tuple[str, str]  # setting and question
    setting: str


def measure() -> Table:
    """Fits, checks, and prints the constants of `agent.cognition.calibration`."""
    embedder = made.embedder()
    store = Store(paths.store_file())
    reranker = made.reranker()
    sets = {name: _read(name, "train") for name in SETS}
    # The reranker was trained on the others: what it says of them is too good.
    untaught = kept_out(record for questions in sets.values() for record in questions.own)
    read_of = _Reader(store, embedder, reranker, untaught)
    every = [e for questions in sets.values() for e in read_of.examples(questions, own=True)]
    dev = {name: read_of.examples(_read(name, "dev"), own=False) for name in SETS}
    kept = {
        "all-minilm-l6-v2": BY_EMBEDDER["all-minilm-l6-v2"],
        "words": WORDS_ALONE,
        boxed_reranker.NAME: BY_RERANKER["all-minilm-l6-v2", boxed_reranker.NAME],
    }
    rows: list[Row] = []
    for name, columns in FEATURES.items():
        train = [e for e in every if "rerank" in e.found] if "rerank" in columns else every
        wanted = PRECISION_OF_WORDS if name == "words" else PRECISION
        fitted, held_out = _calibrate(train, columns, wanted)
        sys.stderr.write(f"{name}: {fitted}\n")
        rows.extend(_rows(f"{name}, train, held out", train, held_out, fitted.thresholds))
        for dev_name, examples in dev.items():
            told = f"{name}, {dev_name} dev"
            rows.extend(_rows(told, examples, _graded(kept[name], examples), kept[name].thresholds))
            rows.append(_loss(f"{told}, by the fitted constants", examples, _graded(fitted, examples)))
        off = _distance(fitted, kept[name])
        rows.append(
            Row(f"{name}: kept constants against the fitted ones", f"{off:.3f}", "0.05", off <= 0.05)
        )
    rows.extend(_sample_rows(store, embedder, None))
    rows.extend(_sample_rows(store, embedder, reranker))
    notes = [
        f"Up to {MOST_TRAIN} questions of each train file and {MOST_DEV} of each dev file, top {TOP} each; "
        "all questions once with and once without their supporting paragraphs in the library; the train "
        "questions in the pooled library and among their own record's paragraphs.",
        f"Train: predictions for each record by a fit on others ({FOLDS} folds). Dev: the kept constants.",
        "Paragraphs that hold the answer but are not marked as supporting are left out everywhere: nobody "
        "knows whether they help.",
        "ECE: expected calibration error, 15 bins of equal width.",
    ]
    return Table("grading", "Grading without a model", rows, notes)


def _read(name: str, split: str) -> Pool:
    return read_pool(DATA / "multihop" / f"{name}_{split}.jsonl")


def _lookups(questions: Pool) -> list[Asked]:
    """What asks for one fact and has one supporting paragraph; where a file has none, whole questions."""
    return [one for one in questions.asked if not one.whole] or list(questions.asked)


class _Reader:
    """What the questions of a set recall, with the features of every passage in each setting.

    Those of the reranker are there for dev questions, and of the train questions for ``untaught`` records.
    """

    def __init__(self, store: Store, embedder: Embedder, reranker: Reranker, untaught: set[str]) -> None:
        self._library = Library(store)
        self._embedder = embedder
        self._reranker = reranker
        self._untaught = untaught
        self._recall = Recall(self._library, embedder)

    def examples(self, questions: Pool, *, own: bool) -> list[Example]:
        """``own``: among the paragraphs of their own record as well, as the train questions are asked."""
        lookups = _lookups(questions)
        sys.stderr.write(
            f"{questions.name}: {len(questions.paragraphs)} paragraphs, {len(lookups)} questions\n"
        )
        vectors = self._embedder.embed_passages([one.passage for one in questions.paragraphs])
        self._library.put_document(document_of(questions), vectors, self._embedder.name)
        (document,) = self._library.documents(questions.name)
        number = {passage.id: passage.position for passage in self._library.document_passages(document.id)}
        random.Random(0).shuffle(lookups)
        scope = [Scope(collections=(questions.name,))]
        most = MOST_TRAIN if own else MOST_DEV
        examples: list[Example] = []
        for place, lookup in enumerate(lookups):
            reranked = not own or lookup.record in self._untaught
            if place >= most and not (own and reranked):
                continue
            left_out = lookup.gold | lookup.doubtful
            hits = self._recall.search(lookup.question, "hybrid", scope, TOP + len(left_out))
            pooled = [(number[hit.passage.id], candidate(as_the_product_has_it(hit))) for hit in hits]
            examples.extend(_two_settings("pooled", lookup, self._scored(lookup, pooled, reranked)))
            if own:
                query = self._embedder.embed_query(lookup.question)
                for setting, found in _among_its_own(questions, lookup, vectors, query):
                    for i, passage in self._scored(lookup, found, reranked):
                        found_of = features(lookup.question, passage)
                        asked = (setting, lookup.question)
                        examples.append(Example(found_of, i in lookup.gold, lookup.record, asked, setting))
        return examples

    def _scored(
        self, lookup: Asked, found: Sequence[tuple[int, Candidate]], reranked: bool
    ) -> Sequence[tuple[int, Candidate]]:
        if not reranked:
            return found
        texts = [f"{passage['title']}. {passage['text']}" for _, passage in found]
        for (_, passage), score in zip(found, self._reranker.score(lookup.question, texts), strict=True):
            passage["scores"]["rerank"] = score
        return found


def candidate(hit: Hit) -> Candidate:
    """A hit as the graph's state holds it."""
    p = hit.passage
    return _candidate(p.text, p.title, p.section, p.date, hit.scores, passage_id=p.id)


def _candidate(
    text: str, title: str, section: str, date: str, scores: dict[str, float], passage_id: int = 0
) -> Candidate:
    return Candidate(
        passage_id=passage_id,
        document_id=0,
        collection="",
        document="",
        title=title,
        date=date,
        section=section,
        page=None,
        kind="text",
        text=text,
        score=0.0,
        scores=scores,
        grade="",
    )


def _two_settings(setting: str, lookup: Asked, found: Sequence[tuple[int, Candidate]]) -> Iterator[Example]:
    clear = [(i, passage) for i, passage in found if i not in lookup.doubtful]
    without = [(i, passage) for i, passage in clear if i not in lookup.gold]
    for name, kept in ((setting, clear), (f"{setting}-", without)):
        for i, passage in kept[:TOP]:
            scored = features(lookup.question, passage)
            yield Example(scored, i in lookup.gold, lookup.record, (name, lookup.question), name)


def _among_its_own(
    questions: Pool, lookup: Asked, vectors: Vectors, query: Vectors
) -> Iterator[tuple[str, list[tuple[int, Candidate]]]]:
    """The same in a library of the record's own paragraphs, whose idf is its own as well."""
    for setting, removed in (("own", lookup.doubtful), ("own-", lookup.doubtful | lookup.gold)):
        ids = sorted(i for i in questions.own[lookup.record] if i not in removed)
        rows = [(i, " ".join(terms(questions.paragraphs[i].passage))) for i in ids]
        covered = KeywordIndex(rows).coverage(terms(lookup.question), ids)
        found: list[tuple[int, Candidate]] = []
        for i in sorted(ids, key=lambda i: -float(vectors[i] @ query))[:TOP]:
            one = questions.paragraphs[i]
            scores = {"vector": float(vectors[i] @ query), "coverage": covered[i]}
            found.append((i, _candidate(one.text, one.title, "", "", scores)))
        yield setting, found


# --- the fit -----------------------------------------------------------------------------------


def _calibrate(
    examples: Sequence[Example], columns: Sequence[str], precision: float
) -> tuple[Calibration, Floats]:
    """The calibration fitted on everything, its thresholds chosen on held-out predictions; and those."""
    x = np.array([[e.found[name] for name in columns] for e in examples])
    y = _helps(examples)
    records = sorted({e.record for e in examples})
    random.Random(0).shuffle(records)
    fold_of = {record: i % FOLDS for i, record in enumerate(records)}
    fold = np.array([fold_of[e.record] for e in examples])
    held_out = np.zeros(len(y))
    for i in range(FOLDS):
        held_out[fold == i] = _logistic(x[fold == i], _fit(x[fold != i], y[fold != i]))
    intercept, *weights = (round(float(w), 2) for w in _fit(x, y))
    thresholds = Thresholds(
        correct=round(_upper(held_out, y, precision), 2),
        incorrect=round(float(np.quantile(held_out[y], LOST)), 4),
    )
    return Calibration(intercept, dict(zip(columns, weights, strict=True)), thresholds), held_out


def _fit(x: Floats, y: Bools) -> Floats:
    """Logistic regression by Newton's method: the intercept, then a weight per column of ``x``."""
    design = np.column_stack([np.ones(len(x)), x])
    weights = np.zeros(design.shape[1])
    for _ in range(30):
        p = 1 / (1 + np.exp(-design @ weights))
        curvature = design.T @ (design * (p * (1 - p))[:, None]) + 1e-6 * np.eye(len(weights))
        weights = weights + np.linalg.solve(curvature, design.T @ (y - p))
    return weights


def _logistic(x: Floats, weights: Floats) -> Floats:
    odds: Floats = weights[0] + x @ weights[1:]
    return 1 / (1 + np.exp(-odds))


def _upper(p: Floats, y: Bools, precision: float) -> float:
    """The lowest threshold from which ``precision`` holds."""
    order = np.argsort(-p)
    holds = np.flatnonzero(np.cumsum(y[order]) / np.arange(1, len(y) + 1) >= precision)
    return float(p[order[holds[-1]]])


def _distance(one: Calibration, other: Calibration) -> float:
    """The largest difference of two calibrations in any probability, over a grid of features."""
    grid = np.stack(np.meshgrid(*[np.linspace(0, 1, 6)] * len(one.weights)), axis=-1).reshape(
        -1, len(one.weights)
    )
    gaps = [
        abs(one.probability(at) - other.probability(at))
        for at in (dict(zip(one.weights, map(float, point), strict=True)) for point in grid)
    ]
    return max(gaps)


# --- what is told of it ------------------------------------------------------------------------


def _rows(name: str, examples: Sequence[Example], p: Floats, at: Thresholds) -> list[Row]:
    y = _helps(examples)
    correct, incorrect = p >= at.correct, p < at.incorrect
    rows = [
        _loss(name, examples, p),
        Row(
            f"{name}: “correct” from {at.correct}",
            f"precision {y[correct].mean():.2f}, recall {correct[y].mean():.2f}",
        ),
        Row(
            f"{name}: “incorrect” below {at.incorrect}",
            f"{incorrect[y].mean():.1%} of supporting paragraphs, {incorrect[~y].mean():.1%} of the others",
        ),
    ]
    grades = np.where(correct, "correct", np.where(incorrect, "incorrect", "ambiguous"))
    by_question: dict[tuple[str, str], list[Grade]] = {}
    for example, grade in zip(examples, grades, strict=True):
        by_question.setdefault(example.asked, []).append(grade.item())
    for setting in sorted({e.setting for e in examples}):
        counts = Counter(overall(given) for (where, _), given in by_question.items() if where == setting)
        told = ", ".join(
            f"{counts[g] / counts.total():.0%} {g}" for g in ("correct", "ambiguous", "incorrect")
        )
        label = (
            f"{setting.removesuffix('-')}, supporting paragraphs taken out"
            if setting[-1] == "-"
            else setting
        )
        rows.append(Row(f"{name}: all passages together, {label}", told))
    return rows


def _graded(by: Calibration, examples: Sequence[Example]) -> Floats:
    return np.array([by.probability(e.found) for e in examples])


def _helps(examples: Sequence[Example]) -> Bools:
    return np.array([e.helps for e in examples])


def _loss(name: str, examples: Sequence[Example], p: Floats) -> Row:
    y = _helps(examples)
    loss = -float(np.mean(np.log(np.where(y, p, 1 - p))))
    return Row(f"{name}: log loss, ECE", f"{loss:.3f}, {_ece(p, y):.3f}")


def _ece(p: Floats, y: Bools, bins: int = 15) -> float:
    """Expected calibration error: mean gap of probability and frequency in bins of equal width."""
    bucket = np.minimum((p * bins).astype(int), bins - 1)
    inside = [bucket == i for i in range(bins)]
    return float(sum(m.mean() * abs(p[m].mean() - y[m].mean()) for m in inside if m.any()))


def _sample_rows(store: Store, embedder: Embedder, reranker: Reranker | None) -> list[Row]:
    """The sample library: all about one company, and two questions that it cannot answer."""
    for name, description in sample_library.COLLECTIONS.items():
        made.read_into(store, name, sample_library.documents(name), description)
    recall = Recall(Library(store), embedder)
    calibration = BY_RERANKER[embedder.name, reranker.name] if reranker else BY_EMBEDDER[embedder.name]
    what = f"sample library, {reranker.name if reranker else embedder.name}"
    grader = CalibratedGrader(embedder.name)
    best: dict[
        tuple[str, str], float
    ] = {}  # (question, gold passage) to its best probability in any lookup
    answerable: Counter[Grade] = Counter()
    rows: list[Row] = []
    for question in sample_library.questions():
        for lookup in question.steps or (question.question,):
            hits = recall.search(lookup, "hybrid", [Scope(collections=question.collections)], TOP)
            candidates = [candidate(hit) for hit in hits]
            if reranker:
                scores = reranker.score(lookup, [f"{c['title']}. {c['text']}" for c in candidates])
                for passage, score in zip(candidates, scores, strict=True):
                    passage["scores"]["rerank"], passage["reranker"] = score, reranker.name
            graded = grader.graded(lookup, candidates)
            together = overall([one.grade for one in graded])
            if question.kind == "unanswerable":
                top = max(one.probability for one in graded)
                rows.append(Row(f"{what}, {question.id}", f"{together} (best passage {top:.2f})"))
                continue
            answerable[together] += 1
            for hit, one in zip(hits, graded, strict=True):
                for evidence in question.evidence:
                    if evidence.document.endswith(hit.passage.document) and _holds(hit, evidence.quote):
                        key = (question.id, evidence.quote)
                        best[key] = max(one.probability, best.get(key, 0.0))
    lost = sum(p < calibration.thresholds.incorrect for p in best.values())
    told = ", ".join(f"{answerable[g]} {g}" for g in ("correct", "ambiguous", "incorrect"))
    return [
        Row(f"{what}, answerable lookups: all passages together", told),
        Row(f"{what}, gold passages graded “incorrect”", f"{lost} of {len(best)}", "0", lost == 0),
        Row(f"{what}, gold passages: lowest probability", f"{min(best.values()):.3f}"),
        *rows,
    ]


def _holds(hit: Hit, quote: str) -> bool:
    """A row of a table is quoted without its bars, a line of a CSV file with commas in their place."""
    wanted, text = (re.sub(r"[\s|,]+", " ", part).casefold() for part in (quote, hit.passage.text))
    return wanted in text
