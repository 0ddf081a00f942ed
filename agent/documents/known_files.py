"""What the library holds of files: which of them are gone, renamed, or inside one that is."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Sequence
from pathlib import Path, PurePosixPath

from agent.documents.found_files import FoundFile, Root, is_empty, is_gone, is_renamed
from traces.records import Document


def stored_as(file: FoundFile, known: dict[str, Document]) -> Path:
    """The path that is a file's source: where it was found, so that a link that is gone is missed.

    A file that is in the library already keeps its source. Libraries of older versions hold what a link
    leads to, and so does one to which the file itself was added.
    """
    at = (path for path in (file.real, file.path) if str(path) in known)
    return next(at, file.real if file.outright else file.path)


def gone(roots: Sequence[Root], here: Container[str], known: dict[str, Document]) -> list[Document]:
    """Stored documents that came from one of the folders and are no longer in it, or doubled by a link.

    Gone are also those that are left out of it now. A folder that is empty altogether may be that of a
    drive which is not mounted: it takes nothing along.
    """
    full = [root.real for root in roots if not is_empty(root.real)]
    return [
        document
        for source, document in known.items()
        if source not in here
        and any(Path(source).is_relative_to(folder) for folder in full)
        and not _lies_in(source, here)
        and not _lies_in(source, known)  # it goes with the file that it lies in
        # One that is still there may have been named outright and be of a kind that folders leave out.
        and (
            is_gone(Path(source))
            or _is_link_to(source, known)
            or any(root.excludes(source) for root in roots)
        )
    ]


def renamed(documents: Sequence[Document], here: Container[str], *, but: Container[int]) -> list[Document]:
    """Documents, except ``but``, whose file is here under another name and was just read."""
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
    """Of documents with the content of a new file, the one whose file it was under another name.

    Args:
        document_of: They have the same content, and their files do not lie where they were.
        file: The new one.
        leaving: Ids of documents that are known to be gone.
    """
    moved = [
        document
        for document in document_of
        if document.id in leaving or is_renamed(Path(document.source), file)
    ]
    named_alike = (one for one in moved if PurePosixPath(one.source).name == file.name)
    return next(named_alike, moved[0] if moved else None)


def inside(files: Iterable[str], documents: Iterable[Document]) -> list[Document]:
    """The documents inside one of the files: attachments of a mail, files of an archive."""
    sources = set(files)
    return [document for document in documents if _lies_in(document.source, sources)]


def no_longer_inside(file: str, members: Iterable[str], documents: Iterable[Document]) -> list[Document]:
    """Documents inside ``file`` that are not among its ``members``, nor inside one of them."""
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
