"""The files that paths lead to, and whether a known file still exists.

A path may lead to a place without permission, or to a drive that is not mounted. A file that cannot be
examined counts as found, so that reading it reports the reason, and never as gone.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pathspec import GitIgnoreSpec

from traces.errors import DeepthinkError

_TEMPORARY: Final = (".tmp", ".temp", ".part", ".partial", ".crdownload", ".download", ".swp", "~")
_SETTLED: Final = 1.0  # seconds without a change after which nobody is writing a file any more
_MISSING = {errno.ENOENT, errno.ENOTDIR}
_NOTHING = {*_MISSING, errno.ELOOP}  # a link in a circle leads to no file


class BadPattern(DeepthinkError):
    """Raised when what is to be left out of a folder is no pattern of a .gitignore file."""

    title = "Not a pattern"
    kind = "usage"


class Root:
    """A folder whose files are read.

    Args:
        path: Where it is.
        exclude: What is left out of it: patterns as in a .gitignore file.

    Raises:
        BadPattern: one of them is none.

    Attributes:
        path: As it was given.
        real: The same, links resolved.
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
        """Whether a path inside it, written with ``/`` and for a folder ending with it, is left out."""
        return bool(self.exclude) and self._spec.match_file(inside)

    def excludes(self, source: str) -> bool:
        """Whether a stored file lies in it, and is left out now."""
        path = Path(source)
        if not self.exclude or not path.is_relative_to(self.real):
            return False
        return self._spec.match_file(path.relative_to(self.real).as_posix())


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file, or a folder that cannot be listed.

    Attributes:
        path: Where it was found: absolute, its folder resolved, itself maybe a link.
        real: The file itself, all links resolved.
        name: What a person knows it by: its path inside the folder that was searched.
        outright: It was named by itself.
        unlisted: Why its files are not known, if it is a folder.
    """

    path: Path
    real: Path
    name: str
    outright: bool = False
    unlisted: OSError | None = None


def files_in(root: Root, suffixes: Container[str], unread: Counter[str]) -> Iterator[FoundFile]:
    """The files of a folder and its subfolders by name; without links to folders, and what is left out.

    Those whose names end otherwise are counted in ``unread`` by their endings.
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
            yield _found(file, file.relative_to(folder).as_posix())
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
    """Whether the file certainly does not exist, also not behind a dead link or on an unmounted drive."""
    try:
        path.lstat()
    except OSError as error:
        if error.errno not in _MISSING or path == path.parent:
            return False
        return is_gone(path.parent) or _leads_somewhere(path.parent)
    return False


def is_empty(folder: Path) -> bool:
    """Whether a folder can be listed and is empty, as the folder of an unmounted drive is."""
    try:
        with os.scandir(folder) as entries:
            return next(entries, None) is None
    except OSError:
        return False


def is_renamed(old: Path, new: Path) -> bool:
    """Whether ``old`` is a link to ``new``, or is gone from a folder that is still there and holds ``new``.

    A copy of what lies on a drive that is not mounted now is no new name of it: what is left of the old
    path then is the drive's own folder, or one that holds drives, such as the root.
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
    """Whether a file or folder is always left out: hidden, temporary, or another program's mark."""
    return name.startswith((".", "~$")) or name.casefold().endswith(_TEMPORARY)


def is_settled(path: Path) -> bool:
    """Whether nobody is writing the file any more; a file that is gone is."""
    try:
        return abs(time.time() - path.stat().st_mtime) >= _SETTLED
    except OSError:
        return True


def _may_be_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except OSError as error:
        return error.errno not in _NOTHING
