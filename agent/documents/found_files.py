"""Finding files, and which documents of the library have files that are gone, renamed or inside others.

A path may have no permission, or be on a drive that is not mounted. A file that cannot be examined counts
as found, so that reading it reports the reason, and never as gone.
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

_TEMPORARY: Final = (".tmp", ".temp", ".part", ".partial", ".crdownload", ".download", ".swp", "~")
_SETTLED: Final = 1.0  # seconds without a change after which a file counts as complete
_MISSING = {errno.ENOENT, errno.ENOTDIR}
_NOTHING = {*_MISSING, errno.ELOOP}  # a link in a circle leads to no file
_LEADS_OUT: Final = "links out of the folder"


class BadPattern(DeepthinkError):
    """Raised when an exclusion is not a valid pattern of a .gitignore file."""

    title = "Not a pattern"
    kind = "usage"


class Root:
    """A folder to read, without what the patterns in ``exclude`` name, as in a .gitignore file.

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

    def leaves_out(self, inside: str) -> bool:
        """Whether it excludes a path inside it, written with ``/``, for a folder also at the end."""
        return bool(self.exclude) and self._spec.match_file(inside)

    def excludes(self, source: str) -> bool:
        """Whether a stored file is in it and excluded now."""
        path = Path(source)
        if not self.exclude or not path.is_relative_to(self.real):
            return False
        return self._spec.match_file(path.relative_to(self.real).as_posix())


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file, or a folder that cannot be listed.

    Attributes:
        path: Absolute path where it was found; links are resolved in its folder, but it may be a link.
        real: The path with all links resolved.
        name: Its name for the user: the path inside the searched folder.
        outright: Whether the user named it by itself.
        unlisted: For a folder, why it cannot be listed.
    """

    path: Path
    real: Path
    name: str
    outright: bool = False
    unlisted: OSError | None = None


def files_in(root: Root, suffixes: Container[str], unread: Counter[str]) -> Iterator[FoundFile]:
    """The files in a folder and its subfolders, sorted by name.

    Links to folders are not followed, and links to files only within the folder: one that someone else made
    may lead to a private file. Those links are counted in ``unread``, as are other extensions.
    """
    folder = root.path
    failed: list[OSError] = []
    files: list[Path] = []
    for parent, inner, names in os.walk(folder, onerror=failed.append):
        place = Path(parent).relative_to(folder).as_posix()
        lead = "" if place == "." else f"{place}/"
        inner[:] = [n for n in inner if not is_left_out(n) and not root.leaves_out(f"{lead}{n}/")]
        files += [
            Path(parent, n) for n in names if not is_left_out(n) and not root.leaves_out(f"{lead}{n}")
        ]
    for file in sorted(files):
        if not _may_be_file(file):
            continue
        if file.suffix.casefold() in suffixes:
            found = _found(file, file.relative_to(folder).as_posix())
            if found.real.is_relative_to(root.real):
                yield found
            else:
                unread[_LEADS_OUT] += 1
        else:
            unread[file.suffix.casefold()] += 1
    for error in failed:
        inside = Path(error.filename).relative_to(folder)
        path = Path(os.path.realpath(error.filename))
        yield FoundFile(path, path, inside.as_posix() if inside.parts else path.name, unlisted=error)


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
        if error.errno in _NOTHING:
            return None
        raise
    return _found(path, path.name, outright=True)


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
        if error.errno not in _MISSING or path == path.parent:
            return False
        return is_gone(path.parent) or _leads_somewhere(path.parent)
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

    A copy of a file on an unmounted drive does not count as its new name: what is left of the old path then
    is the folder of the drive, or one that contains drives, such as the root.
    """
    if not old.is_absolute():
        return False
    if not is_gone(old):
        return os.path.realpath(old) == str(new)
    left = next((folder for folder in old.parents[:-1] if not is_gone(folder)), None)
    if left is None or not new.is_relative_to(left):
        return False
    try:
        return left.stat().st_dev == new.parent.stat().st_dev
    except OSError:
        return False


def _found(path: Path, name: str, *, outright: bool = False) -> FoundFile:
    real = Path(os.path.realpath(path))
    return FoundFile(Path(os.path.realpath(path.parent), path.name), real, name, outright)


def _leads_somewhere(path: Path) -> bool:
    try:
        path.stat()
    except OSError:
        return False
    return True


def is_left_out(name: str) -> bool:
    """Whether a file or folder is always excluded: hidden, temporary, or a lock file of another program."""
    return name.startswith((".", "~$")) or name.casefold().endswith(_TEMPORARY)


def is_settled(path: Path) -> bool:
    """Whether the file is no longer being written, or is gone."""
    try:
        return abs(time.time() - path.stat().st_mtime) >= _SETTLED
    except OSError:
        return True


def _may_be_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except OSError as error:
        return error.errno not in _NOTHING


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
