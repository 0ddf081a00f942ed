"""The library that a set of questions is asked over: recognised by its file, and filled.

A published multi-hop set is asked over its own paragraphs, pooled; FinanceBench over the filings beside its
file; a set of own documents over the folder ``docs`` beside its file; the sample questions over the sample
library; any other file over the person's own library.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np

from agent.documents import sample_library
from agent.documents.document import Block, ParsedDocument
from agent.documents.embedding import embed_library
from agent.documents.indexing import Indexing, Origin
from agent.documents.ingest import FileDone, FileFailed, ingest
from models.protocols import Embedder, Vectors
from policy.collecting.questions import BadQuestions, Paragraph, QuestionSet, read_questions
from policy.evaluation.cases import SAMPLE, CaseSet, filings, own_documents, plain, pooled, sample
from traces.library import Library
from traces.store import Store
from traces.typed_path import expanded_path

_BATCH = 256


class RememberingEmbedder:
    """An `Embedder` that embeds no text twice: a tree asks for the same sentences again and again.

    Args:
        embedder: Makes the vectors.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[str, Vectors] = {}

    @property
    def name(self) -> str:
        """The embedder's own."""
        return self._embedder.name

    @property
    def dimensions(self) -> int:
        """The embedder's own."""
        return self._embedder.dimensions

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """As the embedder does."""
        new = list(dict.fromkeys(text for text in texts if text not in self._known))
        if new:
            self._known.update(zip(new, self._embedder.embed_passages(new), strict=True))
        if not texts:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        return np.stack([self._known[text] for text in texts])

    def embed_query(self, text: str) -> Vectors:
        """As the embedder does; a query is kept apart from a passage of the same words."""
        key = f"\0{text}"
        if key not in self._known:
            self._known[key] = self._embedder.embed_query(text)
        return self._known[key]

    def forget(self) -> None:
        """Free the memory."""
        self._known.clear()


def pool(
    questions: QuestionSet,
    store: Store,
    embedder: RememberingEmbedder,
    cancel: threading.Event | None = None,
) -> Iterator[tuple[int, int]]:
    """Put every paragraph into the library as a document of its own, in the collection of the set's name.

    What is there already is not read again, only embedded anew if another embedder was there before; what
    another file of that name left there is replaced or removed. Yields how many paragraphs are in, and how
    many there are.
    """
    library = Library(store)
    there = library.documents(questions.name) if _there(library, questions.name) else []
    held = {document.name: document.sha256 for document in there}
    missing = [n for n, one in enumerate(questions.paragraphs) if held.get(str(n)) != _digest(one)]
    wanted = {str(n) for n in range(len(questions.paragraphs))}
    for document in there:
        if document.name not in wanted:
            library.remove_document(document.id)
    done = len(questions.paragraphs) - len(missing)
    for start in range(0, len(missing), _BATCH):
        if cancel is not None and cancel.is_set():
            return
        batch = [
            (n, _indexing(questions.paragraphs[n], n, questions.name, embedder))
            for n in missing[start : start + _BATCH]
        ]
        embedder.embed_passages([text for _, one in batch for text in one.texts])
        with store.connect():
            for _, one in batch:
                for _ in one.embed():
                    pass
                one.store(library, questions.name)
        done += len(batch)
        yield done, len(questions.paragraphs)
    for at in embed_library(library, embedder, cancel=cancel):
        yield at.done, at.total


def _there(library: Library, collection: str) -> bool:
    return collection in library.generations((collection,))


def _indexing(paragraph: Paragraph, number: int, name: str, embedder: Embedder) -> Indexing:
    text = _text(paragraph)
    parsed = ParsedDocument((Block("text", text),), text, title=paragraph.title)
    origin = Origin(f"{name}/{number}", str(number), _digest(paragraph), len(text))
    return Indexing(origin, parsed, embedder)


def _text(paragraph: Paragraph) -> str:
    return paragraph.text or paragraph.title


def _digest(paragraph: Paragraph) -> str:
    return hashlib.sha256(f"{paragraph.title}\n{_text(paragraph)}".encode()).hexdigest()


Kind: TypeAlias = Literal["pooled", "filings", "documents", "sample", "own"]
_QUESTIONS = "questions.jsonl"
_DOCUMENTS = "docs"


@dataclass(frozen=True, slots=True)
class Asked:
    """A set of questions and what it is asked over.

    Attributes:
        cases: The questions.
        kind: Whose library: ``own`` is the person's, and the others are made by `fill`.
        published: The set with its paragraphs, of a pooled one.
        files: The filings that any of the file's questions is about, however few of them are asked; or the
            folder of documents.
    """

    cases: CaseSet
    kind: Kind
    published: QuestionSet | None = None
    files: tuple[Path, ...] = ()


def sets_in(name: str) -> list[str]:
    """The sets that ``name`` names: itself, or those in a folder of sets of own documents.

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


def recognised(name: str) -> Asked:
    """The set that ``name`` names: ``sample``, or a file of JSON lines, told by its first one's fields.

    Raises:
        BadQuestions: it cannot be read, or is no file of questions.
    """
    if name == SAMPLE:
        return Asked(sample(), "sample")
    path = expanded_path(name)
    fields = _fields(path)
    if fields & {"question_decomposition", "supporting_facts"}:
        published = read_questions(path)
        return Asked(pooled(published), "pooled", published)
    if {"doc", "evidence_pages"} <= fields or {"doc_name", "evidence"} <= fields:
        cases = replace(filings(path), collections=(path.stem,))
        return Asked(cases, "filings", files=_filings(cases, path.parent))
    if {"all", "none", "abstain"} <= fields:
        return Asked(own_documents(path), "documents", files=(path.absolute().parent / _DOCUMENTS,))
    return Asked(plain(path), "own")


def fill(
    asked: Asked, store: Store, embedder: Embedder, cancel: threading.Event | None = None
) -> Iterator[tuple[int, int]]:
    """Put what ``asked`` is about into ``store``; what is there already is not read again, only
    embedded anew if another embedder was there before.

    Yields how many paragraphs or files are in, and how many there are.

    Raises:
        DeepthinkError: a file cannot be read.
    """
    if asked.published is not None:
        yield from pool(asked.published, store, RememberingEmbedder(embedder), cancel)
    elif asked.kind == "sample":
        for name, description in sample_library.COLLECTIONS.items():
            yield from _read(sample_library.documents(name), name, description, store, embedder, cancel)
    elif asked.files:
        yield from _read(list(asked.files), asked.cases.name, "", store, embedder, cancel)
    for at in embed_library(Library(store), embedder, cancel=cancel):
        yield at.done, at.total


def _filings(cases: CaseSet, folder: Path) -> tuple[Path, ...]:
    """They lie beside the questions, or in the folder ``pdfs`` where they are published."""
    places = (folder, folder / "pdfs", folder.parent / "pdfs")
    names = dict.fromkeys(place.document for case in cases.cases for place in case.gold)
    found = {name: next((p / name for p in places if (p / name).exists()), folder / name) for name in names}
    return tuple(found.values())


def _read(
    files: list[Path],
    collection: str,
    description: str,
    store: Store,
    embedder: Embedder,
    cancel: threading.Event | None,
) -> Iterator[tuple[int, int]]:
    done = 0
    for event in ingest(
        files,
        collection=collection,
        description=description,
        store=store,
        embedder=embedder,
        cancel=cancel,
    ):
        if isinstance(event, FileFailed):
            raise event.error
        if isinstance(event, FileDone):
            done += 1
            yield done, len(files)


def _fields(path: Path) -> set[str]:
    try:
        with path.open(encoding="utf-8") as lines:
            first = next((line for line in lines if line.strip()), "")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise BadQuestions(
            f"{path} cannot be read: {why}.", f"Name a file of JSON lines, or “{SAMPLE}”."
        ) from error
    try:
        told = json.loads(first or "{}")
    except ValueError as error:
        raise BadQuestions(
            f"Line 1 of {path.name} is not JSON: {error}.", "Name a file of JSON lines."
        ) from error
    return set(told) if isinstance(told, dict) else set()
