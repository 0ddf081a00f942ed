"""Questions whose answers are known, read from files, and the library that each set is asked over.

There are three kinds of set: the sample library's own questions, a folder of documents with questions about
them, and JSON lines about the person's own library.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from agent.documents import sample_library
from agent.documents.embedding import embed_library
from agent.documents.ingest import FileDone, FileFailed, FileFound, ingest
from models.protocols import Embedder
from traces.errors import DeepthinkError
from traces.library import Library
from traces.store import Store
from traces.typed_path import expanded_path

SAMPLE: Final = "sample"
"""Name of the sample library's questions."""
_QUESTIONS: Final = "questions.jsonl"
_DOCUMENTS: Final = "docs"


class BadQuestions(DeepthinkError):
    """Raised when a file of questions cannot be read as one."""

    title = "Not a file of questions"
    kind = "usage"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a passage is; ``page``, from 1, is None where the whole document is meant."""

    document: str
    page: int | None = None

    def covers(self, other: Place) -> bool:
        """Whether a passage at ``other`` is evidence from here."""
        return self.document == other.document and self.page in {None, other.page}


@dataclass(frozen=True, slots=True)
class Case:
    """A question whose answer is known.

    Attributes:
        id: Within its set.
        answers: The answer and its aliases; empty where the documents do not answer. An answer in several
            parts, all of which must be given, separates them by ``;``.
        gold: Where the evidence is, each place once.
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
    def digest(self) -> str:
        """12 hex digits that change when anything about the case does."""
        return hashlib.sha256(json.dumps(asdict(self)).encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class CaseSet:
    """A set of questions over one library.

    Attributes:
        cases: In the order in which they are asked.
        collections: Where to search; all if empty.
        files: What `fill` reads into the library, by collection; empty for the person's own library.
    """

    name: str
    cases: tuple[Case, ...]
    collections: tuple[str, ...] = ()
    files: tuple[tuple[str, tuple[Path, ...]], ...] = ()

    def first(self, limit: int | None, seed: int) -> CaseSet:
        """The first ``limit`` cases, or all for None, in an order that depends on ``seed`` and ids.

        So the first 40 are among the first 100, and a case added to a file does not reorder the others.
        """

        def order(case: Case) -> bytes:
            return hashlib.sha256(f"{seed} {case.id}".encode()).digest()

        return replace(self, cases=tuple(sorted(self.cases, key=order)[:limit]))


def sets_in(name: str) -> list[str]:
    """The sets that ``name`` stands for: itself, or those in a folder of sets of own documents.

    Raises:
        BadQuestions: it is a folder without a set.
    """
    path = expanded_path(name)
    if name == SAMPLE or not path.is_dir():
        return [name]
    sets = [path / _QUESTIONS] if (path / _QUESTIONS).is_file() else sorted(path.glob(f"*/{_QUESTIONS}"))
    if not sets:
        raise BadQuestions(
            f"The folder {path} holds no set of questions.",
            f"A set is a folder with {_QUESTIONS} and the documents in {_DOCUMENTS}.",
        )
    return [str(one) for one in sets]


def read_set(name: str) -> CaseSet:
    """The set called ``name``: ``sample``, or a file of JSON lines; the fields of a line tell its kind.

    Plain lines have ``question``, and may have ``id``, ``answer`` and ``evidence``. ``answer`` is a string,
    a number, or a list of them; without one, or with an empty one, the documents do not answer.
    ``evidence`` is a list of ``"document"`` or ``"document#page"``, or of objects with ``document`` and
    maybe ``page``, from 1. A document has the library's name for it: a file its name, one that came with a
    folder its path in there.

    Lines about own documents have ``id``, ``kind``, ``question``, ``all`` and ``none`` (regular
    expressions that a right answer must and must not match), ``abstain`` (whether the documents do not
    answer), ``gold`` (a right answer) and ``source`` (the files that hold it, by their paths in ``docs``).
    The documents are in the folder ``docs`` beside the file; the set and its collection have the name of
    the file's folder.

    Raises:
        BadQuestions: it cannot be read, or a line is no such question.
    """
    if name == SAMPLE:
        return _sample()
    path = expanded_path(name).absolute()
    cases: dict[str, Case] = {}
    patterns = False
    for number, record in records(path):
        patterns = patterns or {"all", "none", "abstain"} <= record.keys()
        try:
            case = _judged_by_patterns(record) if patterns else _plain(record)
        except (KeyError, TypeError, ValueError) as error:
            raise BadQuestions(
                f"Line {number} of {path.name} is not a question: {type(error).__name__} {error}.",
                "Each line is a JSON object with a “question”, and may have “answer” and “evidence”: "
                "documents as “report.pdf”, or with a page, from 1, as “report.pdf#12”.",
            ) from error
        if case.id in cases:
            raise BadQuestions(
                f"{path.name} has the question {case.id} twice: {case.question}", "Remove one of them."
            )
        cases[case.id] = case
    if not cases:
        raise BadQuestions(f"{path.name} holds no question.", "Name a file of JSON lines.")
    if not patterns:
        return CaseSet(path.stem, tuple(cases.values()))
    name = path.parent.name
    return CaseSet(name, tuple(cases.values()), (name,), ((name, (path.parent / _DOCUMENTS,)),))


def fill(
    asked: CaseSet, store: Store, embedder: Embedder, cancel: threading.Event | None = None
) -> Iterator[tuple[int, int]]:
    """Put the documents of ``asked`` into ``store``; yields how many files are in, and how many there are.

    Files that are there already are only embedded again, if another embedder was used before.

    Raises:
        DeepthinkError: a file cannot be read.
    """
    for collection, files in asked.files:
        total = done = 0
        for event in ingest(
            list(files),
            collection=collection,
            description=sample_library.COLLECTIONS.get(collection, "") if asked.name == SAMPLE else "",
            store=store,
            embedder=embedder,
            cancel=cancel,
        ):
            if isinstance(event, FileFailed):
                raise event.error
            if isinstance(event, FileFound):
                total = event.total
            elif isinstance(event, FileDone):
                done += 1
                yield done, total
    for at in embed_library(Library(store), embedder, cancel=cancel):
        yield at.done, at.total


def records(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The JSON objects of a file of JSON lines, with their line numbers from 1. Raises `BadQuestions`."""
    way_out = f"Name a file of JSON lines, or “{SAMPLE}”."
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise BadQuestions(f"{path} cannot be read: {why}.", way_out) from error
    for number, line in enumerate(text.split("\n"), start=1):  # JSON may hold other line breaks
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except ValueError as error:
            raise BadQuestions(f"Line {number} of {path.name} is not JSON: {error}.", way_out) from error
        if not isinstance(record, dict):
            raise BadQuestions(f"Line {number} of {path.name} is no JSON object.", way_out)
        yield number, record


def _sample() -> CaseSet:
    cases = tuple(
        Case(
            asked.id,
            asked.question,
            tuple(dict.fromkeys(answer for answer in (asked.answer, *asked.aliases) if answer)),
            tuple(dict.fromkeys(Place(Path(passage.document).name) for passage in asked.evidence)),
            asked.must_not_contain,
        )
        for asked in sample_library.questions()
    )
    collections = tuple(sample_library.COLLECTIONS)
    files = tuple((name, tuple(sample_library.documents(name))) for name in collections)
    return CaseSet(SAMPLE, cases, collections, files)


def _plain(record: dict[str, Any]) -> Case:
    question = " ".join(str(record["question"]).split())
    if not question:
        raise ValueError("the question is empty")
    evidence = record.get("evidence", [])
    if not isinstance(evidence, list):
        raise TypeError(f"{evidence!r} is no list")
    # Without an id a question has the same name wherever it is, in this file or in another.
    id_ = record.get("id", hashlib.sha256(question.encode()).hexdigest()[:8])
    return Case(
        str(id_), question, _answers(record.get("answer")), tuple(dict.fromkeys(map(_place, evidence)))
    )


def _judged_by_patterns(record: dict[str, Any]) -> Case:
    required, forbidden = tuple(record["all"]), tuple(record["none"])
    for pattern in (*required, *forbidden):
        try:
            re.compile(pattern)
        except re.error as error:
            raise ValueError(f"{pattern!r} is no regular expression: {error}") from error
    return Case(
        str(record["id"]),
        " ".join(str(record["question"]).split()),
        () if record["abstain"] else (str(record["gold"]),),
        tuple(dict.fromkeys(_at(name, None) for name in record["source"])),
        kind=str(record["kind"]),
        required=required,
        forbidden=forbidden,
    )


def _answers(given: Any) -> tuple[str, ...]:
    if given is None:
        return ()
    listed = given if isinstance(given, list) else [given]
    for one in listed:
        if isinstance(one, bool) or not isinstance(one, str | int | float):
            raise TypeError(f"{one!r} is no answer: a text, a number, or a list of them is")
    return tuple(str(one) for one in listed if str(one).strip())


def _place(given: Any) -> Place:
    if isinstance(given, dict):
        return _at(given["document"], given.get("page"))
    if not isinstance(given, str):
        raise TypeError(f"{given!r} is neither a name nor an object")
    document, hash_, page = given.rpartition("#")
    return _at(document, int(page)) if hash_ and page.isdecimal() else _at(given, None)


def _at(document: Any, page: Any) -> Place:
    if not isinstance(document, str) or not document.strip():
        raise ValueError(f"{document!r} is no name of a document")
    if page is not None and (isinstance(page, bool) or not isinstance(page, int) or page < 1):
        raise ValueError(f"{page!r} is no page")
    return Place(document.strip(), page)
