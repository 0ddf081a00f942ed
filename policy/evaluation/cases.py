"""Questions to ask of every system, with answers and the places of the evidence, read from files."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from policy.collecting.questions import BadQuestions, Question, QuestionSet, read_questions


@dataclass(frozen=True, slots=True)
class Place:
    """Where a passage stands.

    Attributes:
        document: Its name in the library. In a pooled set every paragraph is a document of its own.
        page: From 1; None where the document has none, or the whole document is meant.
    """

    document: str
    page: int | None = None

    def covers(self, other: Place) -> bool:
        """Whether a passage at ``other`` is evidence from here."""
        return self.document == other.document and self.page in {None, other.page}


@dataclass(frozen=True, slots=True)
class Case:
    """A question to be asked of every system.

    Attributes:
        id: Within its set.
        question: As a person would put it.
        answers: The answer and its aliases; empty where the right answer is that there is none.
        gold: Where the evidence stands, each place once.
        wrong: What no right answer states, such as a figure that was superseded.
        kind: What kind of question it is, in a set that is judged by patterns; else "".
        required: Regular expressions, ignoring case: a right answer matches all of them.
        forbidden: Regular expressions, ignoring case: a right answer matches none of them.
    """

    id: str
    question: str
    answers: tuple[str, ...]
    gold: tuple[Place, ...] = ()
    wrong: tuple[str, ...] = ()
    kind: str = ""
    required: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()

    @property
    def by_patterns(self) -> bool:
        """Whether the whole answer is judged by patterns, and not a short form of it by words."""
        return bool(self.kind)

    @property
    def digest(self) -> str:
        """Of everything that a row about it rests on: 12 hex digits."""
        fields = asdict(self)
        if not self.by_patterns:  # rows from before there were patterns stay valid
            for name in ("kind", "required", "forbidden"):
                del fields[name]
        return hashlib.sha256(json.dumps(fields).encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class CaseSet:
    """A set of questions over one library.

    Attributes:
        name: Of the file that it is from, without its ending.
        cases: In the order in which they are asked.
        collections: Where to search; all if empty.
    """

    name: str
    cases: tuple[Case, ...]
    collections: tuple[str, ...] = ()


SAMPLE = "sample"
"""Name of the sample library's questions."""


def pooled(questions: QuestionSet) -> CaseSet:
    """HotpotQA, 2WikiMultihopQA or MuSiQue over the paragraphs of the whole file.

    The library is the one that `libraries.pool` makes: a collection of the file's name, in
    which each paragraph is a document that is called by its position.
    """
    cases = (
        _case(question, (Place(str(n)) for n in sorted(question.gold))) for question in questions.questions
    )
    return CaseSet(questions.name, tuple(cases), (questions.name,))


def plain(path: Path) -> CaseSet:
    """JSON lines with ``question``, and maybe ``id``, ``answer`` and ``evidence``, over any library.

    ``answer`` is a string or a list of them; without one, or with an empty one, the right answer is that
    there is none. ``evidence`` is a list of ``"document"`` or ``"document#page"``, or of objects with
    ``document`` and maybe ``page``, from 1. A document is called as the library calls it: a file by its
    name, one that came with a folder by its path in there.

    Raises:
        BadQuestions: it cannot be read, or a line is no such question.
    """
    return _read(path, lambda record: [_place(one) for one in _listed(record.get("evidence", []))])


def filings(path: Path) -> CaseSet:
    """FinanceBench's questions as published, or with ``doc`` (a file) and ``evidence_pages``, from 0.

    Published, each has a ``doc_name``, which is a file's without its ending, and a list of ``evidence``
    whose pages begin at 0 as well.

    Raises:
        BadQuestions: it cannot be read, or a line is no such question.
    """
    return _read(path, _filed)


def own_documents(path: Path) -> CaseSet:
    """A person's own documents: questions judged by patterns, about the files in ``docs`` beside the file.

    Each line has ``id``, ``kind``, ``question``, ``all`` and ``none`` (regular expressions that a right
    answer must and must not match), ``abstain`` (whether the documents do not say it), ``gold`` (a right
    answer) and ``source`` (the files that hold it, by their paths in ``docs``). The set is called, and
    asked over a collection, by the name of its folder.

    Raises:
        BadQuestions: it cannot be read, or a line is no such question.
    """
    asked = _read(path, lambda record: [_at(name, None) for name in record["source"]], _patterns)
    return CaseSet(path.absolute().parent.name, asked.cases, (path.absolute().parent.name,))


def sample() -> CaseSet:
    """The sample library's questions; parts of an answer that must all be given stand between ``;``."""
    from agent.documents import sample_library

    cases = tuple(
        Case(
            asked.id,
            asked.question,
            tuple(dict.fromkeys(answer for answer in (asked.answer, *asked.aliases) if answer)),
            _once(Place(Path(passage.document).name) for passage in asked.evidence),
            asked.must_not_contain,
        )
        for asked in sample_library.questions()
    )
    return CaseSet(SAMPLE, cases, tuple(sample_library.COLLECTIONS))


def first(cases: CaseSet, limit: int, seed: int) -> CaseSet:
    """The first ``limit`` cases, or all if there are fewer, in an order that only ``seed`` and ids tell.

    So the first 40 are among the first 100, and a case that a file gains leaves the others in their order.
    """

    def place(case: Case) -> bytes:
        return hashlib.sha256(f"{seed} {case.id}".encode()).digest()

    return replace(cases, cases=tuple(sorted(cases.cases, key=place)[: max(0, limit)]))


def _patterns(case: Case, record: dict[str, Any]) -> Case:
    required, forbidden = tuple(record["all"]), tuple(record["none"])
    for pattern in (*required, *forbidden):
        try:
            re.compile(pattern)
        except re.error as error:
            raise ValueError(f"{pattern!r} is no regular expression: {error}") from error
    answers = () if record["abstain"] else (str(record["gold"]),)
    return replace(case, answers=answers, kind=str(record["kind"]), required=required, forbidden=forbidden)


def _read(
    path: Path,
    evidence: Callable[[dict[str, Any]], Iterable[Place]],
    judged: Callable[[Case, dict[str, Any]], Case] | None = None,
) -> CaseSet:
    questions = read_questions(path)  # which tells what is wrong with a line as a question
    lines = enumerate(path.read_text(encoding="utf-8").split("\n"), start=1)
    records = ((number, json.loads(line)) for number, line in lines if line.strip())
    cases: list[Case] = []
    for question, (number, record) in zip(questions.questions, records, strict=True):
        try:
            case = _case(question, evidence(record))
            cases.append(judged(case, record) if judged else case)
        except (KeyError, TypeError, ValueError) as error:
            raise BadQuestions(
                f"Line {number} of {path.name} has no evidence that can be read: "
                f"{type(error).__name__} {error}.",
                "Name documents as “report.pdf”, or with a page, from 1, as “report.pdf#12”.",
            ) from error
    return CaseSet(questions.name, tuple(cases))


def _case(question: Question, gold: Iterable[Place]) -> Case:
    answers = tuple(answer for answer in question.answers if answer.strip())
    return Case(question.id, question.text, answers, _once(gold))


def _filed(record: dict[str, Any]) -> list[Place]:
    if "doc_name" in record:
        return [
            _at(f"{one['doc_name']}.pdf", one["evidence_page_num"] + 1)
            for one in _listed(record["evidence"])
        ]
    return [_at(record["doc"], page + 1) for page in _listed(record["evidence_pages"])]


def _place(told: Any) -> Place:
    if isinstance(told, dict):
        return _at(told["document"], told.get("page"))
    if not isinstance(told, str):
        raise TypeError(f"{told!r} is neither a name nor an object")
    document, hash_, page = told.rpartition("#")
    return _at(document, int(page)) if hash_ and page.isdecimal() else _at(told, None)


def _at(document: Any, page: Any) -> Place:
    if not isinstance(document, str) or not document.strip():
        raise ValueError(f"{document!r} is no name of a document")
    if page is not None and (isinstance(page, bool) or not isinstance(page, int) or page < 1):
        raise ValueError(f"{page!r} is no page")
    return Place(document.strip(), page)


def _listed(told: Any) -> list[Any]:
    if not isinstance(told, list):
        raise TypeError(f"{told!r} is no list")
    return told


def _once(places: Iterable[Place]) -> tuple[Place, ...]:
    return tuple(dict.fromkeys(places))
