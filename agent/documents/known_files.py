"""Which documents of the library have files that are gone, renamed, or inside other files."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Sequence
from pathlib import Path, PurePosixPath

from agent.documents.found_files import FoundFile, Root, is_empty, is_gone, is_renamed
from traces.records import Document


def stored_as(file: FoundFile, known: dict[str, Document]) -> Path:
    """The path to use as a file's source: where it was found, so that a removed link is noticed.

    A file that is already in the library keeps its source, which may also be the target of a link.
    """
    at = (path for path in (file.real, file.path) if str(path) in known)
    return next(at, file.real if file.outright else file.path)


def gone(roots: Sequence[Root], here: Container[str], known: dict[str, Document]) -> list[Document]:
    """Documents from one of the folders whose files are gone, excluded now, or duplicated by a link.

    An empty folder may belong to a drive that is not mounted, so nothing in it counts as gone.
    """
    full = [root.real for root in roots if not is_empty(root.real)]
    return [
        document
        for source, document in known.items()
        if source not in here
        and any(Path(source).is_relative_to(folder) for folder in full)
        and not _lies_in(source, here)
        and not _lies_in(source, known)  # it is removed together with the file around it
        # A file that still exists may have been named by itself, and be of a type that folders leave out.
        and (
            is_gone(Path(source))
            or _is_link_to(source, known)
            or any(root.excludes(source) for root in roots)
        )
    ]


def renamed(documents: Sequence[Document], here: Container[str], *, but: Container[int]) -> list[Document]:
    """Documents, except ``but``, whose file was just read under another name."""
    read: dict[str, list[Path]] = {}
    for document in documents:
        if document.source in here:
            read.setdefault(document.sha256, []).append(Path(document.source))
    return [
        document
        for document in documents
        if document.source not in here
        and document.id not in but
        and any(is_renamed(Path(document.source), new) for new in read.get(document.sha256, ()))
    ]


def earlier(document_of: Sequence[Document], file: Path, leaving: Container[int]) -> Document | None:
    """The document of a new file from before it was moved; None if there is none.

    Args:
        document_of: Documents with the same content whose files are no longer in their place.
        file: The new file.
        leaving: Ids of documents whose files are gone.
    """
    moved = [
        document
        for document in document_of
        if document.id in leaving or is_renamed(Path(document.source), file)
    ]
    named_alike = (one for one in moved if PurePosixPath(one.source).name == file.name)
    return next(named_alike, moved[0] if moved else None)


def inside(files: Iterable[str], documents: Iterable[Document]) -> list[Document]:
    """The documents inside the files, such as attachments of a mail or files in an archive."""
    sources = set(files)
    return [document for document in documents if _lies_in(document.source, sources)]


def no_longer_inside(file: str, members: Iterable[str], documents: Iterable[Document]) -> list[Document]:
    """Documents inside ``file`` that are neither among its ``members`` nor inside one of them."""
    there = set(members)
    return [
        document
        for document in inside([file], documents)
        if document.source not in there and not _lies_in(document.source, there)
    ]


def _lies_in(source: str, files: Container[str]) -> bool:
    return any(str(parent) in files for parent in PurePosixPath(source).parents)


def _is_link_to(source: str, known: Container[str]) -> bool:
    real = os.path.realpath(source)
    return real != source and real in known
