"""Finding files, and the documents whose files are gone, renamed or inside other files.

A path may lack permission or be on a drive that is not mounted. A file that cannot be examined counts as
found, so that reading it reports the reason, and never as gone.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from pathspec import GitIgnoreSpec

from traces.errors import DeepthinkError
from traces.records import Document

_TEMPORARY_SUFFIXES: Final = (".tmp", ".temp", ".part", ".partial", ".crdownload", ".download", ".swp", "~")
_SETTLED_SECONDS: Final = 1.0  # seconds without a change after which a file counts as complete
_MISSING_ERRORS = {errno.ENOENT, errno.ENOTDIR}
_NO_FILE_ERRORS = {*_MISSING_ERRORS, errno.ELOOP}  # a circular link leads to no file
_LEADS_OUT: Final = "links out of the folder"


class BadPattern(DeepthinkError):
    """Raised when an exclusion is not a valid pattern of a .gitignore file."""

    title = "Not a pattern"
    kind = "usage"


class Root:
    """A folder to read, without the files that match ``exclude``: patterns as in a .gitignore file.

    Raises:
        BadPattern: One of the patterns is invalid.

    Attributes:
        path: The path as given.
        real: The path with links resolved.
    """

    def __init__(self, path: Path, exclude: Sequence[str] = ()) -> None:
        self.path = path
        self.real = Path(os.path.realpath(path))
        self.exclude = tuple(exclude)
        try:
            self._spec = GitIgnoreSpec.from_lines(self.exclude)
        except ValueError as error:
            raise BadPattern(f"{error}.", "Write it as in a .gitignore file: drafts/ or *.bak.") from error

    def leaves_out(self, relative_path: str) -> bool:
        """Whether it excludes a path inside it, written with ``/``, for a folder also at the end."""
        return bool(self.exclude) and self._spec.match_file(relative_path)

    def excludes(self, source: str) -> bool:
        """Whether a stored file is inside it and now excluded."""
        path = Path(source)
        if not self.exclude or not path.is_relative_to(self.real):
            return False
        return self._spec.match_file(path.relative_to(self.real).as_posix())


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file, or a folder that cannot be listed.

    Attributes:
        path: Absolute path where it was found; links in its folder are resolved, but it may be a link.
        real: The path with all links resolved.
        name: Its name for the user: the path inside the searched folder.
        outright: Whether the user named it directly.
        unlisted: For a folder: why it cannot be listed.
    """

    path: Path
    real: Path
    name: str
    outright: bool = False
    unlisted: OSError | None = None


def files_in(root: Root, suffixes: Container[str], unread: Counter[str]) -> Iterator[FoundFile]:
    """The files in a folder and its subfolders, sorted by name.

    Links to folders are not followed, and links to files only if they stay within the folder: a link that
    someone else made may lead to a private file. Skipped links are counted in ``unread``, as are files with
    other extensions.
    """
    folder = root.path
    errors: list[OSError] = []
    files: list[Path] = []
    for parent, folders, names in os.walk(folder, onerror=errors.append):
        relative = Path(parent).relative_to(folder).as_posix()
        prefix = "" if relative == "." else f"{relative}/"
        folders[:] = [n for n in folders if not is_left_out(n) and not root.leaves_out(f"{prefix}{n}/")]
        files += [
            Path(parent, n) for n in names if not is_left_out(n) and not root.leaves_out(f"{prefix}{n}")
        ]
    for file in sorted(files):
        if not _may_be_file(file):
            continue
        if file.suffix.casefold() in suffixes:
            found_file = _found_file(file, file.relative_to(folder).as_posix())
            if found_file.real.is_relative_to(root.real):
                yield found_file
            else:
                unread[_LEADS_OUT] += 1
        else:
            unread[file.suffix.casefold()] += 1
    for error in errors:
        relative_path = Path(error.filename).relative_to(folder)
        path = Path(os.path.realpath(error.filename))
        yield FoundFile(
            path, path, relative_path.as_posix() if relative_path.parts else path.name, unlisted=error
        )


def file_at(path: Path) -> FoundFile | None:
    """The file that the user named; None if there is none.

    Raises:
        OSError: It cannot be examined.
    """
    try:
        path.stat()
    except ValueError:  # no path has such characters
        return None
    except OSError as error:
        if error.errno in _NO_FILE_ERRORS:
            return None
        raise
    return _found_file(path, path.name, outright=True)


def is_folder(path: Path) -> bool:
    """Whether ``path`` is a folder that can be examined."""
    try:
        return path.is_dir()
    except OSError:
        return False


def is_gone(path: Path) -> bool:
    """Whether the file certainly does not exist, not even behind a dead link or on an unmounted drive."""
    try:
        path.lstat()
    except OSError as error:
        if error.errno not in _MISSING_ERRORS or path == path.parent:
            return False
        return is_gone(path.parent) or _exists(path.parent)
    return False


def is_empty(folder: Path) -> bool:
    """Whether a folder can be listed and is empty, like the folder of an unmounted drive."""
    try:
        with os.scandir(folder) as entries:
            return next(entries, None) is None
    except OSError:
        return False


def is_renamed(old: Path, new: Path) -> bool:
    """Whether ``old`` is a link to ``new``, or is gone from a folder that still contains ``new``.

    A copy of a file on an unmounted drive does not count as its new name: then the old path exists only up
    to the folder of the drive, or a folder that contains drives, such as the root.
    """
    if not old.is_absolute():
        return False
    if not is_gone(old):
        return os.path.realpath(old) == str(new)
    existing_parent = next((folder for folder in old.parents[:-1] if not is_gone(folder)), None)
    if existing_parent is None or not new.is_relative_to(existing_parent):
        return False
    try:
        return existing_parent.stat().st_dev == new.parent.stat().st_dev
    except OSError:
        return False


def _found_file(path: Path, name: str, *, outright: bool = False) -> FoundFile:
    real = Path(os.path.realpath(path))
    return FoundFile(Path(os.path.realpath(path.parent), path.name), real, name, outright)


def _exists(path: Path) -> bool:
    try:
        path.stat()
    except OSError:
        return False
    return True


def is_left_out(name: str) -> bool:
    """Whether a file or folder is always excluded: hidden, temporary, or a lock file of another program."""
    return name.startswith((".", "~$")) or name.casefold().endswith(_TEMPORARY_SUFFIXES)


def is_settled(path: Path) -> bool:
    """Whether the file is no longer being written, or is gone."""
    try:
        return abs(time.time() - path.stat().st_mtime) >= _SETTLED_SECONDS
    except OSError:
        return True


def _may_be_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except OSError as error:
        return error.errno not in _NO_FILE_ERRORS


def stored_as(file: FoundFile, documents: dict[str, Document]) -> Path:
    """The path to use as a file's source: where the file was found, so that a removed link is noticed.

    A file that is already in the library keeps its source, which may also be the target of a link.
    """
    stored_paths = (path for path in (file.real, file.path) if str(path) in documents)
    return next(stored_paths, file.real if file.outright else file.path)


def gone_documents(
    roots: Sequence[Root], existing: Container[str], documents: dict[str, Document]
) -> list[Document]:
    """Documents from one of the folders whose files are gone, excluded now, or duplicated by a link.

    An empty folder may be that of an unmounted drive, so nothing in it counts as gone.
    """
    filled_folders = [root.real for root in roots if not is_empty(root.real)]
    return [
        document
        for source, document in documents.items()
        if source not in existing
        and any(Path(source).is_relative_to(folder) for folder in filled_folders)
        and not _lies_in(source, existing)
        and not _lies_in(source, documents)  # it is removed together with the file around it
        # A file that still exists may have been named directly, and have a type that is skipped in folders.
        and (
            is_gone(Path(source))
            or _is_link_to(source, documents)
            or any(root.excludes(source) for root in roots)
        )
    ]


def renamed_documents(
    documents: Sequence[Document], existing: Container[str], *, exclude: Container[int]
) -> list[Document]:
    """Documents, except those with ids in ``exclude``, whose file was just read under another name."""
    paths_by_hash: dict[str, list[Path]] = {}
    for document in documents:
        if document.source in existing:
            paths_by_hash.setdefault(document.sha256, []).append(Path(document.source))
    return [
        document
        for document in documents
        if document.source not in existing
        and document.id not in exclude
        and any(is_renamed(Path(document.source), new) for new in paths_by_hash.get(document.sha256, ()))
    ]


def earlier_document(
    candidates: Sequence[Document], file: Path, gone_ids: Container[int]
) -> Document | None:
    """The document of a new file from before it was moved; None if there is none.

    Args:
        candidates: Documents with the same content whose files are no longer in their place.
        file: The new file.
        gone_ids: Ids of documents whose files are gone.
    """
    matches = [
        document
        for document in candidates
        if document.id in gone_ids or is_renamed(Path(document.source), file)
    ]
    named_alike = (match for match in matches if PurePosixPath(match.source).name == file.name)
    return next(named_alike, matches[0] if matches else None)


def documents_inside(files: Iterable[str], documents: Iterable[Document]) -> list[Document]:
    """The documents inside ``files``, such as attachments of a mail or files in an archive."""
    sources = set(files)
    return [document for document in documents if _lies_in(document.source, sources)]


def no_longer_inside(file: str, members: Iterable[str], documents: Iterable[Document]) -> list[Document]:
    """Documents inside ``file`` that are neither among its ``members`` nor inside one of them."""
    member_sources = set(members)
    return [
        document
        for document in documents_inside([file], documents)
        if document.source not in member_sources and not _lies_in(document.source, member_sources)
    ]


def _lies_in(source: str, files: Container[str]) -> bool:
    return any(str(parent) in files for parent in PurePosixPath(source).parents)


def _is_link_to(source: str, sources: Container[str]) -> bool:
    real = os.path.realpath(source)
    return real != source and real in sources
