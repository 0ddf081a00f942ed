"""Questions with known answers, read from files, and the library that each set is asked about.

There are three kinds of set: the sample library's own questions, a folder of documents with questions about
them, and JSON lines about the user's own library.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    TypeAdapter,
    ValidationError,
)

from agent.documents import sample_library
from agent.documents.indexing import embed_library
from agent.documents.ingest import FileDone, FileFailed, FileFound, ingest
from models.protocols import Embedder
from traces.errors import DeepthinkError, first_problem
from traces.library import Library
from traces.paths import expanded_path
from traces.plain_text import squeezed
from traces.store import Store

SAMPLE: Final = "sample"
"""Name of the sample library's questions."""
_QUESTIONS: Final = "questions.jsonl"
_DOCUMENTS: Final = "docs"


class BadQuestions(DeepthinkError, title="Not a file of questions", kind="input"):
    """Raised when a file is not a valid set of questions."""


_Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a passage is; ``page`` counts from 1, None means the whole document."""

    document: _Text
    page: Annotated[int, Field(ge=1, strict=True)] | None = None

    def covers(self, other: Place) -> bool:
        """Whether a passage at ``other`` is evidence from this place."""
        return self.document == other.document and self.page in {None, other.page}


@dataclass(frozen=True, slots=True)
class Case:
    """A question with a known answer."""

    id: str  # unique within its set
    question: str
    answers: tuple[str, ...]
    """The answer and its aliases; empty if the documents do not answer the question. The parts of an
    answer, all of which must be given, are separated by ``;``."""
    gold: tuple[Place, ...] = ()  # where the evidence is, without duplicates
    wrong: tuple[str, ...] = ()  # statements no correct answer makes, such as a superseded figure
    kind: str = ""  # the kind of question in a set judged by patterns; "" elsewhere
    required: tuple[str, ...] = ()
    """Case-insensitive regular expressions; a correct answer matches all of them."""
    forbidden: tuple[str, ...] = ()
    """Case-insensitive regular expressions; a correct answer matches none of them."""

    @property
    def digest(self) -> str:
        """12 hex digits that change whenever any field of the case changes."""
        return hashlib.sha256(json.dumps(asdict(self)).encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class CaseSet:
    """A set of questions over one library."""

    name: str
    cases: tuple[Case, ...]  # in the order in which they are asked
    collections: tuple[str, ...] = ()  # where to search; all if empty
    files: tuple[tuple[str, tuple[Path, ...]], ...] = ()
    """What `fill` reads into the library, by collection; empty for the user's own library."""

    def first(self, limit: int | None) -> CaseSet:
        """The first ``limit`` cases, or all if None, shuffled in an order that depends only on their ids.

        So the first 40 are among the first 100, and adding a case to a file does not reorder the others.
        """

        def order(case: Case) -> bytes:
            return hashlib.sha256(f"0 {case.id}".encode()).digest()

        return replace(self, cases=tuple(sorted(self.cases, key=order)[:limit]))


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of work on a set of questions."""

    doing: str  # what is being done, in a word
    done: int  # of ``total``, including what was finished earlier
    total: int
    seconds_left: float | None = None
    failed: tuple[str, ...] = ()  # questions that could not be worked on, each with the reason


def sets_in(name: str) -> list[str]:
    """The sets that ``name`` stands for: itself, or the sets in a folder.

    Raises `BadQuestions` if the folder contains no set.
    """
    path = expanded_path(name)
    if name == SAMPLE or not path.is_dir():
        return [name]
    sets = [path / _QUESTIONS] if (path / _QUESTIONS).is_file() else sorted(path.glob(f"*/{_QUESTIONS}"))
    if not sets:
        raise BadQuestions(
            f"The folder {path} contains no set of questions.",
            f"A set is a folder with {_QUESTIONS} and the documents in {_DOCUMENTS}.",
        )
    return [str(file) for file in sets]


def read_set(name: str) -> CaseSet:
    """The set called ``name``: ``sample``, or a file of JSON lines whose fields determine its kind.

    Plain lines have ``question`` and optionally ``id``, ``answer``, ``wrong`` and ``evidence``. ``answer``
    is a string, a number, or a list of them; missing or empty, the documents do not answer the question.
    ``wrong`` is a list of statements that no correct answer makes.
    ``evidence`` is a list of ``"document"`` or ``"document#page"``, or of objects with ``document`` and
    optionally ``page``, from 1. Documents are named as in the library: a file by its name, a file added
    with a folder by its path in that folder.

    Lines about a set's own documents have ``id``, ``kind``, ``question``, ``all`` and ``none`` (regular
    expressions that a correct answer must and must not match), ``abstain`` (whether the documents do not
    answer), ``gold`` (a correct answer) and ``source`` (the files that contain it, by path in ``docs``).
    The documents are in the folder ``docs`` beside the file; the set and its collection have the name of
    the file's folder. Raises `BadQuestions` if the file cannot be read, or a line is not a valid question.
    """
    path = (sample_library.root() / _QUESTIONS if name == SAMPLE else expanded_path(name)).absolute()
    cases: dict[str, Case] = {}
    patterns = False
    for number, record in records(path):
        patterns = patterns or {"all", "none", "abstain"} <= record.keys()
        try:
            case = (_PatternedLine if patterns else _PlainLine).model_validate(record).case()
        except ValidationError as error:
            raise BadQuestions(
                f"Line {number} of {path.name} is not a question: {first_problem(error)}.",
                "Each line is a JSON object with a “question”, and may have “answer” and “evidence”: "
                "documents as “report.pdf”, or with a page, from 1, as “report.pdf#12”.",
            ) from error
        if case.id in cases:
            raise BadQuestions(
                f"{path.name} has the question {case.id} twice: {case.question}", "Remove one of them."
            )
        cases[case.id] = case
    if not cases:
        raise BadQuestions(f"{path.name} contains no questions.", "Name a file of JSON lines.")
    if name == SAMPLE:
        files = {name: tuple(sample_library.documents(name)) for name in sample_library.COLLECTIONS}
        return CaseSet(SAMPLE, tuple(cases.values()), tuple(files), tuple(files.items()))
    if not patterns:
        return CaseSet(path.stem, tuple(cases.values()))
    name = path.parent.name
    return CaseSet(name, tuple(cases.values()), (name,), ((name, (path.parent / _DOCUMENTS,)),))


def fill(
    case_set: CaseSet, store: Store, embedder: Embedder, cancel: threading.Event | None = None
) -> Iterator[Progress]:
    """Read the documents of ``case_set`` into ``store``.

    Files already in the store are only embedded again, if another embedder was used before. Raises
    `DeepthinkError` if a file cannot be read.
    """
    for collection, files in case_set.files:
        total = done = 0
        for event in ingest(
            list(files),
            collection=collection,
            description=sample_library.COLLECTIONS.get(collection, "") if case_set.name == SAMPLE else "",
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
                yield Progress("reading", done, total)
    for progress in embed_library(Library(store), embedder, cancel=cancel):
        yield Progress("reading", progress.done, progress.total)


def records(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The JSON objects of a file of JSON lines, with their line numbers from 1. Raises `BadQuestions`."""
    advice = f"Name a file of JSON lines, or “{SAMPLE}”."
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise BadQuestions(f"{path} cannot be read: {reason}.", advice) from error
    for number, line in enumerate(text.split("\n"), start=1):  # JSON may hold other line breaks
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except ValueError as error:
            raise BadQuestions(f"Line {number} of {path.name} is not JSON: {error}.", advice) from error
        if not isinstance(record, dict):
            raise BadQuestions(f"Line {number} of {path.name} is not a JSON object.", advice)
        yield number, record


_PLACE = TypeAdapter(Place)


def _place(value: Any) -> Place:
    """The place of ``"document"`` or ``"document#page"``, or of an object with these fields."""
    if isinstance(value, str):
        document, separator, page = value.rpartition("#")
        has_page = separator and page.isdecimal()
        value = {"document": document, "page": int(page)} if has_page else {"document": value}
    return _PLACE.validate_python(value)


class _PlainLine(BaseModel):
    model_config = ConfigDict(strict=True)

    question: Annotated[str, AfterValidator(squeezed), Field(min_length=1)]
    id: str | int = ""
    answer: list[str | int | float] | str | int | float | None = None
    wrong: list[str] = []
    evidence: list[Annotated[Place, BeforeValidator(_place)]] = []

    def case(self) -> Case:
        answers = self.answer if isinstance(self.answer, list) else [self.answer]
        # Without an id, the same question gets the same id in every file.
        return Case(
            str(self.id) or hashlib.sha256(self.question.encode()).hexdigest()[:8],
            self.question,
            tuple(str(answer) for answer in answers if answer is not None and str(answer).strip()),
            tuple(dict.fromkeys(self.evidence)),
            tuple(self.wrong),
        )


class _PatternedLine(BaseModel):
    id: str | int
    kind: str
    question: str
    required: list[re.Pattern[str]] = Field(alias="all")
    forbidden: list[re.Pattern[str]] = Field(alias="none")
    abstain: bool
    gold: str
    source: list[_Text]

    def case(self) -> Case:
        return Case(
            str(self.id),
            squeezed(self.question),
            () if self.abstain else (self.gold,),
            tuple(dict.fromkeys(map(Place, self.source))),
            kind=self.kind,
            required=tuple(pattern.pattern for pattern in self.required),
            forbidden=tuple(pattern.pattern for pattern in self.forbidden),
        )
