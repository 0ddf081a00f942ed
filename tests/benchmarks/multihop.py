"""Multi-hop question sets: their paragraphs pooled into one library, and what is asked of them.

Three shapes of record become one. A *lookup* asks for one fact and has one supporting paragraph: a step
of MuSiQue's decompositions with the answers of earlier steps put in, or one of 2Wiki's sub-questions. Where
a file has none (HotpotQA, 2Wiki dev), the whole question stands, with all its supporting paragraphs.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from tests.conftest import DATA

NAMES = ("hotpotqa", "2wikimultihopqa", "musique")
Paragraph = tuple[str, str]  # title, text
_SHORTEST_ANSWER = 4  # letters; "yes" and "5" stand nearly everywhere


@dataclass(frozen=True)
class Lookup:
    """A question, the record it is from, and the numbers of paragraphs in the pool.

    Attributes:
        gold: The supporting paragraphs.
        doubtful: Others that hold the answer: they may help just as well, but nobody has marked them.
    """

    record: str
    question: str
    gold: frozenset[int]
    doubtful: frozenset[int]


@dataclass(frozen=True)
class QuestionSet:
    """One file.

    Attributes:
        name: Of the set and the split.
        pool: The paragraphs of all records, each once.
        own: The paragraphs that come with each record, as numbers in the pool.
        lookups: What is asked.
    """

    name: str
    pool: list[Paragraph]
    own: dict[str, list[int]]
    lookups: list[Lookup]


def read(name: str, split: str) -> QuestionSet:
    """The set ``name`` (see `NAMES`), ``train`` or ``dev``."""
    numbers: dict[Paragraph, int] = {}
    own: dict[str, list[int]] = {}
    asked: list[tuple[str, str, str, frozenset[int]]] = []
    for line in (DATA / "multihop" / f"{name}_{split}.jsonl").read_text("utf-8").splitlines():
        record = json.loads(line)
        key = str(record.get("_id") or record["id"])
        given = _paragraphs(record)
        here = [numbers.setdefault(paragraph, len(numbers)) for paragraph in given]
        own[key] = list(dict.fromkeys(here))
        for question, answer, support in _asked(record, given):
            asked.append((key, question, answer, frozenset(here[i] for i in support)))
    texts = [text.casefold() for _, text in numbers]
    lookups = [
        Lookup(key, question, gold, frozenset(_holding(answer, texts)) - gold)
        for key, question, answer, gold in asked
    ]
    return QuestionSet(f"{name} {split}", list(numbers), own, lookups)


def _holding(answer: str, texts: list[str]) -> list[int]:
    wanted = answer.casefold()
    return [i for i, text in enumerate(texts) if wanted in text] if len(wanted) >= _SHORTEST_ANSWER else []


def _paragraphs(record: dict[str, Any]) -> list[Paragraph]:
    if "paragraphs" in record:
        return [(p["title"], p["paragraph_text"].strip()) for p in record["paragraphs"]]
    return [(title, " ".join(s.strip() for s in sentences)) for title, sentences in record["context"]]


def _asked(record: dict[str, Any], given: list[Paragraph]) -> list[tuple[str, str, list[int]]]:
    """Each question with its answer and the positions of its supporting paragraphs in the record."""
    if "question_decomposition" in record:
        steps = record["question_decomposition"]
        answers = [step["answer"] for step in steps]
        return [
            (_resolved(step["question"], answers), step["answer"], [step["paragraph_support_idx"]])
            for step in steps
            if step["paragraph_support_idx"] is not None
        ]
    titles = {title for title, _ in record["supporting_facts"]}
    support = [i for i, (title, _) in enumerate(given) if title in titles]
    if "qa_pairs" not in record:
        return [(record["question"], record["answer"], support)]
    asked: list[tuple[str, str, list[int]]] = []
    for pair in record["qa_pairs"]:
        question, sentence = pair["question"].casefold(), pair["answer"].casefold()
        # It names what it asks about; of two titles in it the longer is meant ("Devotion", "Devotion II").
        named = [i for i in support if _plain(given[i][0]) in question]
        # Its answer is a sentence; the facts beside it say which words of it are asked for.
        facts = [o for _, _, o in record["evidences"] if o.casefold() in sentence]
        answer = next((o for o in facts if o.casefold() not in question), "")
        if named:
            asked.append((pair["question"], answer, [max(named, key=lambda i: len(_plain(given[i][0])))]))
    return asked


def _resolved(question: str, answers: list[str]) -> str:
    return re.sub(r"#(\d+)", lambda match: answers[int(match[1]) - 1], question)


def _plain(title: str) -> str:
    """Without what Wikipedia adds in brackets to tell two of a name apart."""
    return re.sub(r"\s*\(.*?\)\s*$", "", title).casefold()
