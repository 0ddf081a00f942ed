"""A question set's paragraphs as a library: the pooled setting, retrieved from by the real funnel."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Sequence

import numpy as np

from agent.documents.document import Block, ParsedDocument
from agent.documents.embedding import embed_library
from agent.documents.indexing import Indexing, Origin
from models.protocols import Embedder, Vectors
from policy.questions import Paragraph, QuestionSet
from traces.library import Library
from traces.store import Store

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
