"""Indexing: a parsed document becomes chunks with vectors and keyword terms, stored together.

The document may be a file or a page of the web. It is stored in one transaction, so a crash leaves the
library as it was before. `embed_library` makes vectors for stored passages when the embedder has changed; a
search in the meantime uses the vectors that exist and finds the other passages by keywords.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

import filelock
import numpy as np

from agent.documents.chunking import chunk, coverage
from agent.documents.document import NoText, ParsedDocument
from agent.documents.reading import MESSAGES
from agent.text.language import language
from agent.text.terms import terms
from models.protocols import Embedder, GenerationCancelled, Vectors
from models.token_estimate import estimate
from traces.library import Library
from traces.records import Chunk, Document, NewDocument

# Incremented when reading or chunking changes, so that files are read again. Stored as a negative number
# with a document whose scanned pages were not read.
READER_VERSION = 4
_BATCH = 32  # passages embedded at once
_LANGUAGE_SAMPLES = 5  # passages that decide on a document's language, approximately

_STORED_AT_ONCE: Final = 16  # passages that an interrupted re-embedding loses at most


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a document was read from."""

    source: str  # absolute path or URL
    name: str  # its name for the user
    sha256: str  # hash of the content, which identifies it
    size: int  # bytes of the content
    date: str = ""
    """An ISO date for a document without one: when a page was fetched, or when the mail that a file is
    attached to was sent; else ""."""
    sender: str = ""  # who sent that mail
    modified: int = 0  # when the file was last changed, in nanoseconds since 1970; 0 if it is not a file

    @classmethod
    def of_page(cls, url: str, content: bytes) -> Origin:
        """A page fetched just now; ``content`` identifies its version."""
        digest = hashlib.sha256(content).hexdigest()
        return cls(url, page_name(url), digest, len(content), datetime.now(UTC).date().isoformat())

    def is_stored_as(self, document: Document, *, with_scans: bool = False) -> bool:
        """Whether ``document`` has this content and was read as it would be now, ``with_scans`` or not."""
        return document.sha256 == self.sha256 and is_read_as_now(document.reader, with_scans=with_scans)


def is_read_as_now(reader: int, *, with_scans: bool) -> bool:
    """Whether a stored reader's version is the current one, ``with_scans`` or not."""
    return reader == READER_VERSION or (reader == -READER_VERSION and not with_scans)


def page_name(url: str) -> str:
    """The name of a page for the user: its URL without the scheme."""
    return url.partition("://")[2].rstrip("/")


class Indexing:
    """The indexing of one document. Raises `NoText` if it has no passage."""

    def __init__(self, origin: Origin, parsed: ParsedDocument, embedder: Embedder) -> None:
        self.chunks: list[Chunk] = list(chunk(parsed))
        if not self.chunks:
            raise NoText(f"{origin.name} contains no text.", "Check that it is the file you meant.")
        self.coverage = coverage(parsed, self.chunks)
        self._origin = origin
        self._parsed = parsed
        self._embedder = embedder
        self._vectors: Vectors = np.zeros((0, 0), dtype=np.float32)

    @property
    def language(self) -> str:
        """ISO 639-1 code of the language of most of a few sampled passages; "" if uncertain."""
        step = max(1, len(self.chunks) // _LANGUAGE_SAMPLES)
        languages = Counter(language(piece.text) for piece in self.chunks[::step])
        (code, votes), *_ = languages.most_common(1)
        return code if 2 * votes > languages.total() else ""

    @property
    def texts(self) -> list[str]:
        """The texts to embed, one for each chunk."""
        title = self._parsed.title
        return [passage_text(title, piece.section, piece.text) for piece in self.chunks]

    def embed(self, cancel: threading.Event | None = None) -> Iterator[tuple[int, int]]:
        """Make the vectors; yields the numbers of finished and of all chunks after each batch.

        Raises `GenerationCancelled` if ``cancel`` was set.
        """
        texts = self.texts
        # A batch takes as long as its longest text, so texts of similar length share one.
        order = sorted(range(len(texts)), key=lambda index: -estimate(texts[index]))
        for start in range(0, len(order), _BATCH):
            stop_if(cancel)
            batch = order[start : start + _BATCH]
            vectors = self._embedder.embed_passages([texts[index] for index in batch])
            if not start:
                self._vectors = np.empty((len(texts), vectors.shape[1]), dtype=np.float32)
            self._vectors[batch] = vectors
            yield start + len(batch), len(texts)

    def store(self, library: Library, collection: str, *, must_follow: bool = False) -> int:
        """Store the document with its vectors, replacing its old version; returns its id.

        ``must_follow`` is as for `Library.put_document`. Raises `StoreError` if the store cannot be written
        and `UnknownCollection` if the collection must follow a folder and does not.
        """
        return library.put_document(
            self._document(collection), self._vectors, self._embedder.name, must_follow=must_follow
        )

    def _document(self, collection: str) -> NewDocument:
        origin, parsed = self._origin, self._parsed
        people = (parsed.author, origin.sender)
        return NewDocument(
            collection=collection,
            source=origin.source,
            name=origin.name,
            title=parsed.title,
            media_type=parsed.media_type,
            sha256=origin.sha256,
            bytes=origin.size,
            pages=parsed.pages,
            date=parsed.date or origin.date,
            coverage=self.coverage,
            notices=parsed.notices,
            reader=-READER_VERSION if parsed.scans else READER_VERSION,
            author=parsed.author,
            sender=parsed.author if parsed.media_type in MESSAGES else origin.sender,
            modified=origin.modified,
            chunks=tuple(
                replace(piece, terms=tuple(keyword_terms(parsed.title, people, piece.section, piece.text)))
                for piece in self.chunks
            ),
        )


def stop_if(cancel: threading.Event | None) -> None:
    """Raise GenerationCancelled if ``cancel`` is set."""
    if cancel is not None and cancel.is_set():
        raise GenerationCancelled(
            "Reading was stopped.", "Run the same command again; files that were already read are kept."
        )


def keyword_terms(title: str, people: Sequence[str], section: Sequence[str], text: str) -> list[str]:
    """The keyword terms of a chunk, including who wrote or sent its document."""
    return terms(" ".join([*people, passage_text(title, section, text)]))


def passage_text(title: str, section: Sequence[str], text: str) -> str:
    """The text to embed for a chunk; title and section give context to a short passage."""
    return ". ".join(part for part in (title, *section, text) if part)


@dataclass(frozen=True, slots=True)
class Embedded:
    """Progress of re-embedding."""

    done: int  # passages with a vector
    total: int  # all passages
    seconds_left: float  # estimated time left


def embed_library(
    library: Library, embedder: Embedder, *, cancel: threading.Event | None = None
) -> Iterator[Embedded]:
    """Embed the passages without a vector; yields the progress after each batch.

    Does nothing if another process or thread is already re-embedding. Ends early if the library's embedder
    changes again.

    The first batch drops the vectors of other models. ``cancel`` stops between two batches. Raises
    `GenerationCancelled` if ``cancel`` was set, `ModelError` if the embedder is missing or fails, and
    `StoreError` if the store cannot be read or written.
    """
    try:
        lock = filelock.FileLock(library.path.with_suffix(".embedding.lock")).acquire(timeout=0)
    except filelock.Timeout:
        return
    with lock:
        began, embedded_count = time.monotonic(), 0
        while passages := library.unembedded(embedder.name, _STORED_AT_ONCE):
            stop_if(cancel)
            texts = [passage_text(passage.title, passage.headings, passage.text) for passage in passages]
            vectors = embedder.embed_passages(texts)
            if not library.put_vectors(
                [passage.id for passage in passages], vectors, embedder.name, first=not embedded_count
            ):
                return
            embedded_count += len(passages)
            done, total = library.embedded(embedder.name)
            yield Embedded(done, total, (time.monotonic() - began) / embedded_count * (total - done))
