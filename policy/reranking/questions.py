"""What a reranker learns from: questions, the paragraphs that support them, and a file's paragraphs pooled.

Whole questions, and the smaller questions that a plan would put: MuSiQue's steps with the answers of
earlier steps put in, and 2Wiki's question pairs.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

SETS: Final = ("hotpotqa", "2wikimultihopqa", "musique")
_SHORTEST_ANSWER = 4  # letters; "yes" and "5" stand nearly everywhere

Paragraph = tuple[str, str]  # title, text


@dataclass(frozen=True)
class Asked:
    """A question and the paragraphs that support it, as numbers in a `Pool`.

    Attributes:
        record: Id of the record that it comes from: splits go by this.
        question: As it is searched for.
        whole: Whether it is a record's own question, not a part of it.
        gold: The supporting paragraphs.
        doubtful: Others that hold the answer; nobody has said whether they help.
    """

    record: str
    question: str
    whole: bool
    gold: frozenset[int]
    doubtful: frozenset[int]


@dataclass(frozen=True)
class Pool:
    """One file: the paragraphs of all its records, each once, and what is asked of them."""

    name: str
    paragraphs: list[Paragraph]
    asked: list[Asked]


def read_pool(path: Path) -> Pool:
    """Reads a file of HotpotQA, 2Wiki or MuSiQue records, told apart by their fields.

    Raises:
        OSError: it cannot be read.
        ValueError: a line is no JSON.
        KeyError: a record lacks a field of its format.
    """
    numbers: dict[Paragraph, int] = {}
    found: list[tuple[str, str, str, bool, frozenset[int]]] = []
    for line in path.read_text("utf-8").splitlines():
        record = json.loads(line)
        key = str(record.get("_id") or record["id"])
        given = _paragraphs(record)
        here = [numbers.setdefault(paragraph, len(numbers)) for paragraph in given]
        for question, answer, whole, support in _asked(record, given):
            found.append((key, question, answer, whole, frozenset(here[i] for i in support)))
    texts = [text.casefold() for _, text in numbers]
    asked = [
        Asked(key, question, whole, gold, frozenset(_holding(answer, texts)) - gold)
        for key, question, answer, whole, gold in found
    ]
    return Pool(path.stem, list(numbers), asked)


def _holding(answer: str, texts: list[str]) -> list[int]:
    wanted = answer.casefold()
    return [i for i, text in enumerate(texts) if wanted in text] if len(wanted) >= _SHORTEST_ANSWER else []


def _paragraphs(record: dict[str, Any]) -> list[Paragraph]:
    if "paragraphs" in record:
        return [(p["title"], p["paragraph_text"].strip()) for p in record["paragraphs"]]
    return [(title, " ".join(s.strip() for s in sentences)) for title, sentences in record["context"]]


def _asked(record: dict[str, Any], given: list[Paragraph]) -> list[tuple[str, str, bool, list[int]]]:
    """Each question, its answer, whether it is the whole one, and its support as positions in ``given``."""
    if "question_decomposition" in record:
        steps = record["question_decomposition"]
        answers = [step["answer"] for step in steps]
        support = [i for i, p in enumerate(record["paragraphs"]) if p["is_supporting"]]
        return [(record["question"], record["answer"], True, support)] + [
            (
                _put(_resolved(step["question"], answers)),
                step["answer"],
                False,
                [step["paragraph_support_idx"]],
            )
            for step in steps
            if step["paragraph_support_idx"] is not None
        ]
    titles = {title for title, _ in record["supporting_facts"]}
    support = [i for i, (title, _) in enumerate(given) if title in titles]
    asked = [(record["question"], record["answer"], True, support)]
    for pair in record.get("qa_pairs") or ():
        question, sentence = pair["question"].casefold(), pair["answer"].casefold()
        # It names what it asks about; of two titles in it the longer is meant ("Devotion", "Devotion II").
        named = [i for i in support if _plain(given[i][0]) in question]
        # Its answer is a sentence; the facts beside it say which words of it are asked for.
        facts = [o for _, _, o in record["evidences"] if o.casefold() in sentence]
        answer = next((o for o in facts if o.casefold() not in question), "")
        if named:
            meant = max(named, key=lambda i: len(_plain(given[i][0])))
            asked.append((pair["question"], answer, False, [meant]))
    return asked


def _resolved(question: str, answers: list[str]) -> str:
    return re.sub(r"#(\d+)", lambda match: answers[int(match[1]) - 1], question)


def _put(question: str) -> str:
    """MuSiQue writes some steps as ``entity >> relation``: put as a question of it."""
    subject, found, relation = question.partition(" >> ")
    return f"What is the {relation.strip()} of {subject.strip()}?" if found else question


def _plain(title: str) -> str:
    """Without what Wikipedia adds in brackets to tell two of a name apart."""
    return re.sub(r"\s*\(.*?\)\s*$", "", title).casefold()
