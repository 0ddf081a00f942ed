"""Questions whose answer and evidence are known: HotpotQA, 2WikiMultihopQA, MuSiQue, and plain JSONL.

Each published format becomes the same thing: a question, its answers, the paragraphs that support it, and
the smaller questions that a good plan would ask, where the format tells them.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from traces.errors import DeepthinkError


class BadQuestions(DeepthinkError):
    """Raised when a file of questions cannot be read as one."""

    title = "Not a file of questions"
    kind = "usage"


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A passage that a record brings."""

    title: str
    text: str

    @property
    def passage(self) -> str:
        """As it is embedded and reranked."""
        return f"{self.title}. {self.text}"


@dataclass(frozen=True, slots=True)
class Hop:
    """A smaller question on the way; ``#n`` in it stands for the answer of the n-th.

    Attributes:
        question: As it would be searched for.
        answer: What is to be found; empty where the file does not tell.
        support: The paragraph that answers it, as a position in `QuestionSet.paragraphs`; None where the
            file does not tell.
    """

    question: str
    answer: str
    support: int | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """A question whose answer is known.

    Attributes:
        id: Within its data set.
        text: The question.
        answers: The answer and its aliases.
        gold: The paragraphs that support the answer, as positions in `QuestionSet.paragraphs`. Empty
            where the file has none.
        hops: The smaller questions, in order; empty where the file does not tell.
        pairs: The smaller questions in the words of people, each with its paragraph: 2Wiki's train file has
            them, its other files do not, so nobody plans with them.
        own: The paragraphs that come with the question, as positions in `QuestionSet.paragraphs`.
    """

    id: str
    text: str
    answers: tuple[str, ...]
    gold: frozenset[int] = frozenset()
    hops: tuple[Hop, ...] = ()
    pairs: tuple[Hop, ...] = ()
    own: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """One file.

    Attributes:
        name: The file's name without its ending.
        paragraphs: Those of all records, each once, pooled: the honest setting to retrieve from.
        questions: In the order of the file.
    """

    name: str
    paragraphs: tuple[Paragraph, ...]
    questions: tuple[Question, ...]


def read_questions(path: Path) -> QuestionSet:
    """Read a file of JSON lines in any of the formats; which one is told by the fields of its first line.

    Plain lines have ``question``, and may have ``answer`` (a string, a number, or a list of them), ``id``,
    and ``hops`` (a list of questions). One without an id is called by its words.

    Raises:
        BadQuestions: it cannot be read, or a line is not of the format.
    """
    numbers: dict[Paragraph, int] = {}
    questions: list[Question] = []
    for line, record in _records(path):
        try:
            questions.append(_question(record, numbers))
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise BadQuestions(
                f"Line {line} of {path.name} is not a question: {type(error).__name__} {error}.",
                "Each line is a JSON object of HotpotQA, 2WikiMultihopQA, MuSiQue, or has a “question”.",
            ) from error
    if not questions:
        raise BadQuestions(f"{path.name} holds no question.", "Name a file of JSON lines.")
    seen: set[str] = set()
    for question in questions:
        if question.id in seen:
            raise BadQuestions(
                f"{path.name} has the question {question.id} twice: {question.text}", "Remove one of them."
            )
        seen.add(question.id)
    return QuestionSet(path.stem, tuple(numbers), tuple(questions))


def _records(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise BadQuestions(f"{path} cannot be read: {why}.", "Name a file of JSON lines.") from error
    for number, line in enumerate(text.split("\n"), start=1):  # JSON may hold other line breaks
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except ValueError as error:
            raise BadQuestions(
                f"Line {number} of {path.name} is not JSON: {error}.", "Name a file of JSON lines."
            ) from error
        if not isinstance(record, dict):
            raise BadQuestions(
                f"Line {number} of {path.name} is no JSON object.", "Name a file of JSON lines."
            )
        yield number, record


def _question(record: dict[str, Any], numbers: dict[Paragraph, int]) -> Question:
    if "question_decomposition" in record:
        return _musique(record, numbers)
    if "supporting_facts" in record:
        return _hotpot(record, numbers)
    text = " ".join(str(record["question"]).split())
    if not text:
        raise ValueError("the question is empty")
    hops = tuple(Hop(str(one), "") for one in record.get("hops", ()))
    key = record.get("id", record.get("financebench_id", _digest(text)))
    return Question(str(key), text, _answers(record.get("answer")), hops=hops)


def _answers(told: Any) -> tuple[str, ...]:
    if told is None:
        return ()
    listed = told if isinstance(told, list) else [told]
    for one in listed:
        if isinstance(one, bool) or not isinstance(one, str | int | float):
            raise TypeError(f"{one!r} is no answer: a text, a number, or a list of them is")
    return tuple(str(one) for one in listed)


def _digest(text: str) -> str:
    """Of a question that has no id: the same wherever it stands, in this file or in another."""
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _musique(record: dict[str, Any], numbers: dict[Paragraph, int]) -> Question:
    here = [
        _pooled(Paragraph(p["title"], p["paragraph_text"].strip()), numbers) for p in record["paragraphs"]
    ]
    gold = frozenset(
        here[i] for i, paragraph in enumerate(record["paragraphs"]) if paragraph["is_supporting"]
    )
    hops = tuple(
        Hop(_relation(step["question"]), step["answer"], None if support is None else here[support])
        for step in record["question_decomposition"]
        for support in [step["paragraph_support_idx"]]
    )
    answers = tuple(dict.fromkeys((record["answer"], *record.get("answer_aliases", ()))))
    return Question(str(record["id"]), record["question"], answers, gold, hops, own=_once(here))


def _relation(question: str) -> str:
    """MuSiQue writes some steps as "Entity >> relation": a question of it."""
    subject, found, relation = question.partition(" >> ")
    return f"What is the {relation.strip()} of {subject.strip()}?" if found else question


def _hotpot(record: dict[str, Any], numbers: dict[Paragraph, int]) -> Question:
    """HotpotQA, and 2WikiMultihopQA, which shares its shape."""
    given = [(title, " ".join(s.strip() for s in sentences)) for title, sentences in record["context"]]
    here = [_pooled(Paragraph(title, text), numbers) for title, text in given]
    titles = {title for title, _ in record["supporting_facts"]}
    gold = {here[i]: title for i, (title, _) in enumerate(given) if title in titles}
    hops = tuple(_hops(record.get("evidences") or []))
    pairs = tuple(_pairs(record, gold))
    key = record.get("_id") or record["id"]
    return Question(
        str(key), record["question"], (record["answer"],), frozenset(gold), hops, pairs, _once(here)
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
    """The paragraph whose title stands in ``question``; of several that of the longest title.

    A question names what it asks about, and of "Devotion" and "Devotion II" the longer is meant.

    Args:
        question: A smaller question.
        titles: Of the paragraphs that may be meant, by their positions.
    """
    asked = question.casefold()
    standing = [paragraph for paragraph, title in titles.items() if _plain(title) in asked]
    return max(standing, key=lambda paragraph: len(_plain(titles[paragraph])), default=None)


def _plain(title: str) -> str:
    """Without what Wikipedia adds in brackets to tell two of a name apart."""
    return re.sub(r"\s*\(.*?\)\s*$", "", title).casefold()


def _once(numbers: list[int]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(numbers))


def _pooled(paragraph: Paragraph, numbers: dict[Paragraph, int]) -> int:
    return numbers.setdefault(paragraph, len(numbers))


_REFERENCE = re.compile(r"#(\d+)")


def references(question: str) -> list[int]:
    """Numbers of the hops that ``question`` refers to, from 1."""
    return [int(number) for number in _REFERENCE.findall(question)]


def filled(question: str, answers: Sequence[str]) -> str:
    """``question`` with the hops' ``answers`` in the place of the references to them."""
    return _REFERENCE.sub(lambda match: answers[int(match[1]) - 1], question)
