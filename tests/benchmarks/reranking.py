"""The boxed reranker against the fused order: gold passages in the top 3, filings, calibration, speed.

The dev files' paragraphs are pooled; what is reranked is what one search of the product brings. The
reranker's own order is told apart from the grader's, which reads the reranker's score beside recall's and
which the order of a run goes by.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence

import numpy as np

from agent.cognition.grading import CalibratedGrader
from agent.nodes.retrieve import candidate
from agent.retrieval.recall import Hit, Recall
from agent.state import Candidate
from models import boxed_reranker
from models.protocols import Embedder, Reranker
from policy.reranking.measuring import calibration_error, interval
from policy.reranking.mining import as_the_product_has_it, library_of
from policy.reranking.questions import SETS, Asked, read_pool
from tests.benchmarks import library as made
from tests.benchmarks.library import FILINGS, read_into
from tests.benchmarks.table import Row, Table
from tests.conftest import DATA
from traces import paths
from traces.library import Library
from traces.records import Scope
from traces.store import Store

TOP = 3
TOPS = (TOP, 5, 10)
DEPTH = 10  # passages of a search that are reranked
GAIN = 0.08  # of the share of gold passages in the top 3, wanted
MILLISECONDS = 300
_ROUNDS = 5

Order = Callable[[str, list[Hit]], list[Hit]]


def measure() -> Table:
    """Recall of gold on the dev files, pages on the filings, milliseconds of ten pairs."""
    embedder = made.embedder()
    base = boxed_reranker.base_on_disk()
    assert base is not None, "the boxed reranker's base is not on disk"
    reranker = boxed_reranker.BoxedReranker(base)
    rows: list[Row] = []
    for name in SETS:
        rows.extend(_dev_rows(name, embedder, reranker))
    rows.extend(_filing_rows(embedder, reranker))
    rows.append(_speed(embedder, reranker))
    return Table(
        "reranking",
        "The boxed reranker",
        rows,
        [
            "Pooled: all paragraphs of a dev file are one library. A step is a sub-question with the "
            "answers of earlier steps put in; HotpotQA and 2Wiki dev have whole questions only.",
            "“graded” is the order a run keeps passages in: by the model-free grader's probability, "
            "without and with the reranker's score.",
            "In brackets the 95 % interval of the difference to the fused order, paired bootstrap.",
        ],
    )


def _dev_rows(name: str, embedder: Embedder, reranker: Reranker) -> list[Row]:
    pool = read_pool(DATA / "multihop" / f"{name}_dev.jsonl")
    sys.stderr.write(f"{pool.name}: {len(pool.paragraphs)} paragraphs, {len(pool.asked)} questions\n")
    rows: list[Row] = []
    with library_of(pool, embedder) as (library, number):
        recall = Recall(library, embedder)
        scope = [Scope(collections=(pool.name,))]
        for whole, what in ((True, "whole questions"), (False, "steps")):
            asked = [one for one in pool.asked if one.whole is whole]
            if not asked:
                continue
            found = [
                [as_the_product_has_it(hit) for hit in recall.search(one.question, "hybrid", scope, DEPTH)]
                for one in asked
            ]
            scores = [
                dict(zip(map(_id, hits), _scores(reranker, one.question, hits), strict=True))
                for one, hits in zip(asked, found, strict=True)
            ]
            label = f"{name} dev, {len(asked)} {what}, pooled, top {TOP} of {DEPTH}"
            rows.extend(_compared(label, asked, found, scores, number, embedder))
            rows.append(_calibration_row(f"{name} dev, {what}", asked, found, scores, number))
    return rows


def _compared(
    label: str,
    asked: Sequence[Asked],
    found: Sequence[list[Hit]],
    scores: Sequence[dict[int, float]],
    number: dict[int, int],
    embedder: Embedder,
) -> list[Row]:
    def shares(order: Callable[[int], list[Hit]]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """Of each question's gold passages, how many stand in the top."""
        got = [{number[_id(hit)] for hit in order(i)[:TOP]} for i in range(len(asked))]
        return np.array([len(one.gold & top) / len(one.gold) for one, top in zip(asked, got, strict=True)])

    grader = CalibratedGrader(embedder.name)

    def graded(i: int, reranked: bool) -> list[Hit]:
        given = [_candidate(hit, scores[i][_id(hit)] if reranked else None) for hit in found[i]]
        chances = [one.probability for one in grader.graded(asked[i].question, given)]
        return [found[i][j] for j in np.argsort([-p for p in chances], kind="stable")]

    fused = shares(lambda i: found[i])
    ceiling = float(
        np.mean(
            [
                len(one.gold & {number[_id(hit)] for hit in hits}) / len(one.gold)
                for one, hits in zip(asked, found, strict=True)
            ]
        )
    )
    rows = [Row(f"{label}: fused", f"{fused.mean():.3f} (all there is in them: {ceiling:.3f})")]
    orders: dict[str, Callable[[int], list[Hit]]] = {
        "graded without the reranker": lambda i: graded(i, reranked=False),
        "reranked": lambda i: sorted(found[i], key=lambda hit: -scores[i][_id(hit)]),
        "graded with the reranker": lambda i: graded(i, reranked=True),
    }
    for what, order in orders.items():
        ours = shares(order)
        gain = float(ours.mean() - fused.mean())
        low, high = interval(ours - fused)
        barred = what != "graded without the reranker" and not label.startswith("2wiki")
        rows.append(
            Row(
                f"{label}: {what}",
                f"{ours.mean():.3f} ({gain:+.3f}; {low:+.3f} to {high:+.3f})",
                f"+{GAIN}" if barred else "",
                gain >= GAIN if barred else None,
            )
        )
    return rows


def _calibration_row(
    label: str,
    asked: Sequence[Asked],
    found: Sequence[list[Hit]],
    scores: Sequence[dict[int, float]],
    number: dict[int, int],
) -> Row:
    chances: list[float] = []
    supports: list[bool] = []
    for one, hits, scored in zip(asked, found, scores, strict=True):
        for hit in hits:
            if number[_id(hit)] not in one.doubtful:
                chances.append(scored[_id(hit)])
                supports.append(number[_id(hit)] in one.gold)
    error = calibration_error(np.array(chances), np.array(supports))
    return Row(f"{label}: calibration error of the reranker's score, top {DEPTH}", f"{error:.3f}")


def _filing_rows(embedder: Embedder, reranker: Reranker) -> list[Row]:
    """FinanceBench's questions: in how many the gold page is among the pages of the top chunks."""
    store = Store(paths.store_file())
    read_into(store, "filings", sorted(FILINGS.glob("*.pdf")))
    library = Library(store)
    recall = Recall(library, embedder)
    documents = {document.name: document.id for document in library.documents()}
    grader = CalibratedGrader(embedder.name)
    counts: dict[tuple[str, int], int] = {}
    lines = (FILINGS / "financebench_15.jsonl").read_text("utf-8").splitlines()
    for line in lines:
        asked = json.loads(line)
        scope = [Scope(documents=(documents[asked["doc"]],))]
        gold = {page + 1 for page in asked["evidence_pages"]}
        hits = recall.search(asked["question"], "hybrid", scope, DEPTH)
        scores = _scores(reranker, asked["question"], hits)
        plain = grader.graded(asked["question"], [_candidate(hit, None) for hit in hits])
        both = grader.graded(
            asked["question"], [_candidate(hit, score) for hit, score in zip(hits, scores, strict=True)]
        )
        orders = {
            "fused": list(range(len(hits))),
            "graded without the reranker": sorted(range(len(hits)), key=lambda i: -plain[i].probability),
            "reranked": sorted(range(len(hits)), key=lambda i: -scores[i]),
            "graded with the reranker": sorted(range(len(hits)), key=lambda i: -both[i].probability),
        }
        for what, order in orders.items():
            for top in TOPS:
                pages = {hits[i].passage.page for i in order[:top]}
                counts[what, top] = counts.get((what, top), 0) + bool(pages & gold)
    rows: list[Row] = []
    fused = [counts["fused", top] for top in TOPS]
    for what in ("fused", "graded without the reranker", "reranked", "graded with the reranker"):
        found = [counts[what, top] for top in TOPS]
        judged = what in {"reranked", "graded with the reranker"}
        met = all(n >= f for n, f in zip(found, fused, strict=True)) if judged else None
        rows.append(
            Row(
                f"filings, gold page in the top {' / '.join(map(str, TOPS))} of {DEPTH}: {what}",
                " / ".join(map(str, found)) + f" of {len(lines)}",
                "no loss" if judged else "",
                met,
            )
        )
    return rows


def _speed(embedder: Embedder, reranker: Reranker) -> Row:
    """Milliseconds for ten long passages of a filing, the median of some rounds after a warm-up."""
    library = Library(Store(paths.store_file()))
    hits = Recall(library, embedder).search("What drove the change in net sales?", "hybrid", [Scope()], 10)
    taken: list[float] = []
    for _ in range(_ROUNDS + 1):
        began = time.perf_counter()
        _scores(reranker, "What drove the change in net sales?", hits)
        taken.append((time.perf_counter() - began) * 1000)
    median = statistics.median(taken[1:])
    return Row(
        "10 pairs, chunks of filings", f"{median:.0f} ms", f"{MILLISECONDS} ms", median < MILLISECONDS
    )


def _scores(reranker: Reranker, question: str, hits: Sequence[Hit]) -> list[float]:
    return reranker.score(question, [f"{hit.passage.title}. {hit.passage.text}" for hit in hits])


def _candidate(hit: Hit, score: float | None) -> Candidate:
    plain = candidate(hit)
    if score is None:
        return plain
    return Candidate(
        {**plain, "scores": {**plain["scores"], "rerank": score}, "reranker": boxed_reranker.NAME}
    )


def _id(hit: Hit) -> int:
    return hit.passage.id
