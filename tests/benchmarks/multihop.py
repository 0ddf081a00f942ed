"""HotpotQA, 2WikiMultihopQA and MuSiQue: questions over a pooled library of their paragraphs."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from agent.documents.document import Block, ParsedDocument
from agent.documents.indexing import embed_library, new_document, passage_text
from agent.documents.sources import Content
from agent.steps.plan_text import RESULT
from models.protocols import Embedder
from policy.questions import BadQuestions, Case, CaseSet, Place, records
from traces.library import Library
from traces.records import NewDocument
from traces.store import Store

_BATCH = 256


@dataclass(frozen=True, slots=True)
class Paragraph:
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Hop:
    """A smaller question on the way; ``#n`` in it stands for the answer of the n-th."""

    question: str
    answer: str  # what is to be found; empty where the file does not say
    support: int | None = None  # position in `QuestionSet.paragraphs`, if the file says so


@dataclass(frozen=True, slots=True)
class Question:
    """A question whose answer is known; paragraphs are positions in `QuestionSet.paragraphs`.

    ``pairs`` are the smaller questions in the words of people, each with its paragraph: 2Wiki's train file
    has them, its other files do not, so nobody plans with them.
    """

    id: str  # within its data set
    text: str
    answers: tuple[str, ...]  # the answer and its aliases
    gold: frozenset[int]  # the paragraphs that support the answer
    hops: tuple[Hop, ...] = ()  # the smaller questions, in order; empty where the file does not say
    pairs: tuple[Hop, ...] = ()
    own: tuple[int, ...] = ()  # the paragraphs that come with the question
    compares: bool = False  # whether the file says that it compares; MuSiQue has chains only


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """One file, named as it is without its ending.

    ``paragraphs`` are those of all records, each once, pooled: the honest setting to retrieve from.
    """

    name: str
    paragraphs: tuple[Paragraph, ...]
    questions: tuple[Question, ...]


def read_questions(path: Path) -> QuestionSet:
    """Read a published file of JSON lines, of which the fields tell the set. Raises `BadQuestions`."""
    numbers: dict[Paragraph, int] = {}
    questions: list[Question] = []
    for line, record in records(path):
        read = _musique if "question_decomposition" in record else _hotpot
        try:
            questions.append(read(record, numbers))
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise BadQuestions(
                f"Line {line} of {path.name} is not a question: {type(error).__name__} {error}.",
                "Each line is a JSON object of HotpotQA, 2WikiMultihopQA or MuSiQue.",
            ) from error
    return QuestionSet(path.stem, tuple(numbers), tuple(questions))


def _musique(record: dict[str, Any], numbers: dict[Paragraph, int]) -> Question:
    here = _pooled([(p["title"], p["paragraph_text"].strip()) for p in record["paragraphs"]], numbers)
    gold = frozenset(
        here[i] for i, paragraph in enumerate(record["paragraphs"]) if paragraph["is_supporting"]
    )
    hops = tuple(
        Hop(_relation(step["question"]), step["answer"], None if support is None else here[support])
        for step in record["question_decomposition"]
        for support in [step["paragraph_support_idx"]]
    )
    answers = tuple(dict.fromkeys((record["answer"], *record.get("answer_aliases", ()))))
    return Question(
        str(record["id"]), record["question"], answers, gold, hops, own=tuple(dict.fromkeys(here))
    )


def _relation(question: str) -> str:
    """MuSiQue writes some steps as "Entity >> relation": a question of it."""
    subject, found, relation = question.partition(" >> ")
    return f"What is the {relation.strip()} of {subject.strip()}?" if found else question


def _hotpot(record: dict[str, Any], numbers: dict[Paragraph, int]) -> Question:
    """HotpotQA, and 2WikiMultihopQA, which shares its shape."""
    given = [(title, " ".join(s.strip() for s in sentences)) for title, sentences in record["context"]]
    here = _pooled(given, numbers)
    titles = {title for title, _ in record["supporting_facts"]}
    gold = {here[i]: title for i, (title, _) in enumerate(given) if title in titles}
    hops = tuple(_hops(record.get("evidences") or []))
    pairs = tuple(_pairs(record, gold))
    key = record.get("_id") or record["id"]
    own = tuple(dict.fromkeys(here))
    compares = "comparison" in record.get("type", "")
    return Question(
        str(key), record["question"], (record["answer"],), frozenset(gold), hops, pairs, own, compares
    )


def _hops(evidences: list[list[str]]) -> Iterator[Hop]:
    """2Wiki's facts ``(subject, relation, object)`` as questions, in the same words on every split.

    A subject that an earlier fact found is not known in advance: it is asked for as ``#n``.
    """
    found: dict[str, int] = {}
    asked: set[str] = set()
    number = 0
    for subject, relation, object_ in evidences:
        known = found.get(subject.casefold())
        question = f"What is the {relation} of {f'#{known}' if known else subject}?"
        if question in asked:
            continue  # a second value of the same relation
        asked.add(question)
        number += 1
        found.setdefault(object_.casefold(), number)
        yield Hop(question, object_)


def _pairs(record: dict[str, Any], gold: dict[int, str]) -> Iterator[Hop]:
    """2Wiki's question pairs whose paragraph their words tell."""
    for pair in record.get("qa_pairs") or ():
        question, sentence = pair["question"].casefold(), pair["answer"].casefold()
        # Its answer is a sentence; the facts beside it say which words of it are asked for.
        facts = [fact for _, _, fact in record["evidences"] if fact.casefold() in sentence]
        answer = next((fact for fact in facts if fact.casefold() not in question), "")
        paragraph = named(question, gold)
        if paragraph is not None:
            yield Hop(pair["question"], answer, paragraph)


def named(question: str, titles: Mapping[int, str]) -> int | None:
    """The position of the paragraph whose title is in ``question``; of several that of the longest title.

    A question names what it asks about, and of "Devotion" and "Devotion II" the longer is meant.
    """
    asked = question.casefold()
    standing = [paragraph for paragraph, title in titles.items() if _plain(title) in asked]
    return max(standing, key=lambda paragraph: len(_plain(titles[paragraph])), default=None)


def _plain(title: str) -> str:
    """Without what Wikipedia adds in brackets to tell two of a name apart."""
    return re.sub(r"\s*\(.*?\)\s*$", "", title).casefold()


def _pooled(given: list[tuple[str, str]], numbers: dict[Paragraph, int]) -> list[int]:
    """The positions of a record's paragraphs among those of all records; an empty one has its title."""
    paragraphs = [Paragraph(title, text or title) for title, text in given]
    return [numbers.setdefault(paragraph, len(numbers)) for paragraph in paragraphs]


def filled(question: str, answers: Sequence[str]) -> str:
    """``question`` with the hops' ``answers`` in the place of the references to them."""
    return RESULT.sub(lambda match: answers[int(match[1]) - 1], question)


def pool(
    questions: QuestionSet, store: Store, embedder: Embedder, cancel: threading.Event | None = None
) -> Iterator[tuple[int, int]]:
    """Put every paragraph into the library as a document of its own, in the collection of the set's name.

    What is there already is not read again, only embedded anew if another embedder was there before; what
    another file of that name left there is replaced or removed. Yields how many paragraphs are in, and how
    many there are.
    """
    library = Library(store)
    known = questions.name in library.generations((questions.name,))
    there = library.documents(questions.name) if known else []
    held = {document.name: document.sha256 for document in there}
    missing = [n for n, one in enumerate(questions.paragraphs) if held.get(str(n)) != _content(one).sha256]
    wanted = {str(n) for n in range(len(questions.paragraphs))}
    for document in there:
        if document.name not in wanted:
            library.remove_document(document.id)
    done = len(questions.paragraphs) - len(missing)
    for start in range(0, len(missing), _BATCH):
        if cancel is not None and cancel.is_set():
            return
        batch = [
            _document(questions.paragraphs[n], n, questions.name) for n in missing[start : start + _BATCH]
        ]
        texts = [
            passage_text(one.title, piece.section, piece.text) for one in batch for piece in one.chunks
        ]
        vectors = iter(embedder.embed_passages(texts))
        with store.connect():
            for one in batch:
                library.put_document(one, np.stack([next(vectors) for _ in one.chunks]), embedder.name)
        done += len(batch)
        yield done, len(questions.paragraphs)
    for at in embed_library(library, embedder, cancel=cancel):
        yield at.done, at.total


def _document(paragraph: Paragraph, number: int, collection: str) -> NewDocument:
    content = _content(paragraph)
    return new_document(collection, f"{collection}/{number}", str(number), content, content.parse(None))


def _content(paragraph: Paragraph) -> Content:
    text = paragraph.text
    parsed = ParsedDocument((Block("text", text),), text, title=paragraph.title)
    return Content(f"{paragraph.title}\n{text}".encode(), lambda _recognised: parsed)


def pooled(questions: QuestionSet) -> CaseSet:
    """The questions as cases over the library that `pool` makes: a paragraph's document is its position."""
    cases = (
        Case(one.id, one.text, one.answers, tuple(Place(str(number)) for number in sorted(one.gold)))
        for one in questions.questions
    )
    return CaseSet(questions.name, tuple(cases), (questions.name,))
