"""Indexing: a parsed document becomes chunks with vectors and keyword terms, stored together.

The document may be a file or a page of the web. It is stored in one transaction, so a crash leaves the
library as it was before. `embed_library` makes vectors for stored passages when the embedder has changed; a
search in the meantime uses the vectors that exist and finds the other passages by keywords.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import filelock

from agent.documents.chunking import chunk, coverage
from agent.documents.document import NoText, ParsedDocument
from agent.documents.reading import MESSAGES
from agent.documents.sources import Content
from agent.text.language import language
from agent.text.sentences import sentences
from agent.text.terms import terms
from models.catalogue import CATALOGUE
from models.protocols import Embedder, GenerationCancelled
from traces.library import Library
from traces.records import Chunk, NewDocument, Passage

# Incremented when reading or chunking changes, so that files are read again. Stored as a negative number
# with a document whose scanned pages were not read.
READER_VERSION = 10
_LANGUAGE_SAMPLES = 5  # passages that decide on a document's language, approximately

_STORED_AT_ONCE: Final = 16  # passages that an interrupted re-embedding loses at most


def is_read_as_now(reader: int, *, with_scans: bool) -> bool:
    """Whether a stored reader's version is the current one, ``with_scans`` or not."""
    return reader == READER_VERSION or (reader == -READER_VERSION and not with_scans)


def new_document(
    collection: str, source: str, name: str, content: Content, parsed: ParsedDocument
) -> NewDocument:
    """The document to store, cut into chunks.

    ``source`` is its absolute path or URL, ``name`` its name for the user.
    Raises `NoText` if there is nothing to store.
    """
    chunks = chunk(parsed)
    if not chunks:
        raise NoText(f"{name} contains no text.", "Check that it is the file you meant.")
    people = (parsed.author, content.sender)
    return NewDocument(
        collection=collection,
        source=source,
        name=name,
        title=parsed.title,
        media_type=parsed.media_type,
        sha256=content.sha256,
        bytes=len(content.data),
        pages=parsed.pages,
        date=parsed.date or content.date,
        coverage=coverage(parsed, chunks),
        notices=parsed.notices,
        reader=-READER_VERSION if parsed.scans else READER_VERSION,
        author=parsed.author,
        sender=parsed.author if parsed.media_type in MESSAGES else content.sender,
        modified=content.modified,
        chunks=tuple(
            replace(piece, terms=tuple(keyword_terms(parsed.title, people, piece.section, piece.text)))
            for piece in chunks
        ),
    )


def unknown_language(embedder: str, passages: Sequence[Chunk | Passage]) -> str:
    """The language of most of the text of a few passages, in English, if the embedder does not support it.

    "" if it does, or if the language is uncertain.
    """
    supported = next((entry.languages for entry in CATALOGUE if entry.name == embedder), ())
    if not supported or not passages:
        return ""
    from babel import Locale

    step = max(1, len(passages) // _LANGUAGE_SAMPLES)
    languages: Counter[str] = Counter()
    for passage in passages[::step]:
        for sentence in sentences(passage.text):  # alone: names in one hide the language of the others
            languages[language(sentence)] += len(sentence)
    (code, votes), *_ = languages.most_common(1)
    is_known = not code or code in supported or 2 * votes <= languages.total()
    return "" if is_known else str(Locale("en").languages.get(code, code))


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
