"""What the reader is calibrated and measured on: questions and claims of texts kept out of training."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.benchmarks.multihop import read_questions
from tests.benchmarks.reader.data import (
    Context,
    Pool,
    Verdict,
    context_of,
    held_out_articles,
    judged_answers,
    records,
    source_of,
    steps,
    written,
)
from tests.benchmarks.reader.passages import Source, evidence, shown

FOLDS: Final = 2
_WRONG = 3  # passages of other texts beside those of the question's own


@dataclass(frozen=True, slots=True)
class Question:
    """A question with the passages it is read in."""

    text: str
    passages: tuple[str, ...]
    answers: tuple[str, ...]  # right ones; empty where no passage answers
    gold: frozenset[int]  # positions of the passages that answer
    kind: str  # what it takes, or ""
    fold: int  # of its text: what one fold is measured by was calibrated on the others


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim with a passage; ``kind`` is its trick, ``fold`` as of a question."""

    text: str
    passage: str
    verdict: Verdict
    kind: str
    fold: int


def squad(folder: Path) -> list[Question]:
    """Questions on the articles of SQuAD 2.0's dev set that were kept out."""
    kept = held_out_articles(folder)
    lines = [one for one in records(folder / "squad-2.0-dev.jsonl") if one["title"] in kept]
    order = sorted(kept)
    return list(
        _questions([context_of(one) for one in lines], [order.index(one["title"]) for one in lines])
    )


def written_questions(folder: Path) -> list[Question]:
    """Questions on the written passages that were kept out."""
    lines = written(folder, held_out=True)
    return list(_questions([context_of(one) for one in lines], range(len(lines))))


def _questions(contexts: Sequence[Context], folds: Sequence[int]) -> Iterator[Question]:
    draw = random.Random(0)
    pool = Pool(contexts, near=0.0)
    for number, context in enumerate(contexts):
        passages = [shown(context.source, one) for one in context.passages]
        for asked in context.asked:
            gold = asked.found_in(context.passages)
            if not passages or (asked.answers and not gold):
                continue
            wrong = (pool.wrong(number, asked, None, draw) for _ in range(_WRONG))
            others = dict.fromkeys(shown(*one) for one in wrong if one)
            yield Question(
                asked.text,
                tuple(dict.fromkeys([*passages, *others])),
                asked.answers,
                frozenset(gold),
                asked.kind,
                folds[number] % FOLDS,
            )


def musique(multihop: Path) -> list[Question]:
    """MuSiQue's dev steps among the 20 paragraphs of their record."""
    questions = read_questions(multihop / "musique_dev.jsonl")
    found = []
    for text, answer, support, others in steps(questions, pairs=False):
        numbers = sorted((support, *others))
        passages = [
            shown(Source(questions.paragraphs[n].title), questions.paragraphs[n].text) for n in numbers
        ]
        found.append(Question(text, tuple(passages), (answer,), frozenset({numbers.index(support)}), "", 0))
    return found


def written_claims(folder: Path) -> list[Claim]:
    """Claims on the written passages that were kept out."""
    return [
        Claim(
            one["claim"],
            shown(source_of(record), evidence(record["context"])),
            one["label"],
            one["how"],
            number % FOLDS,
        )
        for number, record in enumerate(written(folder, held_out=True))
        for one in record["claims"]
    ]


def answers(folder: Path) -> list[Claim]:
    """Questions with an answer each, as one claim: on SQuAD and the written passages kept out."""
    kept = held_out_articles(folder)
    articles = [one for one in records(folder / "squad-2.0-dev.jsonl") if one["title"] in kept]
    claims = []
    for kind, lines in (("written", written(folder, held_out=True)), ("squad", articles)):
        pool = Pool([context_of(one) for one in lines])
        for number, (one,) in enumerate(judged_answers(pool, random.Random(0))):
            assert one.verdict is not None
            claims.append(Claim(one.text, one.passage, one.verdict, kind, number % FOLDS))
    return claims


def support_test(folder: Path) -> list[Claim]:
    """The test of the support head: never learned from, never calibrated on."""
    return [
        Claim(one["claim"], shown(Source(), evidence(one["passage"])), one["label"], one["kind"], 0)
        for one in records(folder / "support_test.jsonl")
    ]
