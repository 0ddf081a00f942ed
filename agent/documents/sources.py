"""What is read: files, pages of the web, and files inside these; and documents whose files are gone.

A path may lack permission or be on a drive that is not mounted. A file that cannot be examined counts as
found, so that reading it reports the reason, and never as gone.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import time
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache, cached_property, partial
from pathlib import Path, PurePath, PurePosixPath
from typing import TYPE_CHECKING, ClassVar, Final, Self
from urllib.parse import unquote, urlsplit

from pathspec import GitIgnoreSpec

from agent.documents.document import Enclosed, ParsedDocument, UnreadableDocument
from agent.documents.reading import MESSAGES, SAMPLE, SUFFIXES, cannot_open, is_text, read_bytes, read_file
from traces.errors import DeepthinkError
from traces.records import Document

if TYPE_CHECKING:
    from agent.documents.formats.pdf_lines import ScannedPage

_TEMPORARY_SUFFIXES: Final = (".tmp", ".temp", ".part", ".partial", ".crdownload", ".download", ".swp", "~")
_SETTLED_SECONDS: Final = 1.0  # seconds without a change after which a file counts as complete
_MISSING_ERRORS = {errno.ENOENT, errno.ENOTDIR}
NO_FILE_ERRORS = {*_MISSING_ERRORS, errno.ELOOP}  # a circular link leads to no file
_LEADS_OUT: Final = "a link out of the folder"
_LEADS_NOWHERE: Final = "a link that leads nowhere"

_DATE_RESOLUTION: Final = 2.0  # seconds: the resolution of FAT's file dates, the coarsest of all
MOST_DEPTH = 4
"""How deep files may be nested: a picture in a mail in a mailbox in an archive."""


@dataclass(frozen=True)
class Content:
    """The content of a file or a web page, and what is known about it without parsing it."""

    data: bytes
    parse: Callable[[Mapping[int, ScannedPage] | None], ParsedDocument]
    """Parses it; the argument is ``recognised`` of `agent.documents.reading.read`."""
    date: str = ""
    """An ISO date for a document without one: when a page was fetched, or when the mail that a file is
    attached to was sent; else ""."""
    sender: str = ""  # who sent that mail
    modified: int = 0  # when the file was last changed, in nanoseconds since 1970; 0 if it is not a file

    @cached_property
    def sha256(self) -> str:
        """The hash that identifies its version."""
        return hashlib.sha256(self.data).hexdigest()


@dataclass(frozen=True, slots=True)
class Fetched:
    """A page of the web as fetched."""

    url: str  # its address, after redirects
    media_type: str  # as declared by the site, in lower case, without parameters; "" if not declared
    charset: str  # the encoding, as declared by the site; "" if not declared
    data: bytes  # the content, decompressed

    def parse(self, recognised: Mapping[int, ScannedPage] | None = None) -> ParsedDocument:
        """Parse it; ``recognised`` is as for `agent.documents.reading.read`."""
        parts = urlsplit(self.url)
        name = unquote(parts.path).rstrip("/").rpartition("/")[2] or parts.netloc
        return read_bytes(name, self.data, recognised, served_as=self.media_type, charset=self.charset)

    def content(self) -> Content:
        """The content of a page fetched just now."""
        return Content(self.data, self.parse, date=datetime.now(UTC).date().isoformat())


@dataclass(frozen=True, slots=True)
class File:
    """A file to read, or a folder that cannot be listed."""

    path: Path  # absolute; links in its folder are resolved, but it may be a link itself
    real: Path  # the path with all links resolved
    name: str  # its name for the user: the path inside the searched folder
    outright: bool = False  # whether the user named it directly
    unlisted: OSError | None = None  # for a folder: why it cannot be listed
    depth: ClassVar[int] = 0  # the number of files around it

    @classmethod
    def at(cls, path: Path, name: str, *, outright: bool = False, unlisted: OSError | None = None) -> Self:
        """The file at ``path``, which may be relative and have links in it."""
        real_path = Path(os.path.realpath(path))
        path = real_path if unlisted else Path(os.path.realpath(path.parent), path.name)
        return cls(path, real_path, _utf8(name), outright, unlisted)

    @property
    def source(self) -> str:
        """Its path, as the library stores it."""
        return _utf8(str(self.path))

    def content(self) -> Content:
        """Read it. Raises `UnreadableDocument`."""
        if self.source != str(self.path):  # the store cannot hold the name
            raise UnreadableDocument(f"The name of {self.source} is not valid UTF-8.", "Rename the file.")
        if self.unlisted is not None:
            raise cannot_open(self.name, self.unlisted)
        data, modified = read_file(self.path, self.name)
        return Content(data, partial(read_bytes, self.path.name, data), modified=modified)

    def is_untouched(self, size: int, modified: int, last_read: datetime) -> bool:
        """Whether it still has this size, in bytes, and date of the last change, in ns since 1970.

        File systems round dates, so a file that was ``last_read`` (UTC) right after a change may have
        changed again with the same date; it counts as touched.
        """
        settled = last_read.replace(tzinfo=UTC).timestamp() - modified / 1e9 >= _DATE_RESOLUTION
        return settled and self.size_and_date() == (size, modified)

    def size_and_date(self, *, with_permissions: bool = False) -> tuple[int, int] | None:
        """Its size in bytes and the date of its last change (ns since 1970); None if they are unknown.

        ``with_permissions``: a change of its permissions counts as well.
        """
        try:
            stat = self.path.stat()
        except OSError:
            return None
        return stat.st_size, max(stat.st_mtime_ns, stat.st_ctime_ns * with_permissions)


class WebPage:
    """A web page or a file on the web, which ``fetch`` fetches, at most once."""

    depth = 0
    outright = True

    def __init__(self, url: str, fetch: Callable[[str], Content]) -> None:
        self.source = _utf8(url)
        self.name = page_name(self.source)
        self.content = cache(partial(fetch, self.source))


def page_name(url: str) -> str:
    """The name of a page for the user: its URL without the scheme."""
    return url.partition("://")[2].rstrip("/")


class Member:
    """A file inside another file, whose name is used like a folder's.

    ``outer`` is the file around it, with its content and what that says.
    """

    outright = False

    def __init__(
        self, enclosed: Enclosed, outer: Item, outer_content: Content, parsed: ParsedDocument
    ) -> None:
        self.source: str = f"{outer.source}/{_utf8(enclosed.name)}"
        self.name: str = f"{outer.name}/{_utf8(enclosed.name)}"
        self.depth: int = outer.depth + 1
        self._enclosed = enclosed
        is_mail = parsed.media_type in MESSAGES
        self._date = parsed.date if is_mail else outer_content.date
        self._sender = parsed.author if is_mail else outer_content.sender
        self._modified = outer_content.modified

    def content(self) -> Content:
        """Unpack it. Raises `UnreadableDocument`."""
        if self.depth > MOST_DEPTH:
            raise UnreadableDocument(
                f"{self.name} is nested too deep in other files.", "Unpack it and add it by itself."
            )
        data = self._enclosed.content()
        parse = partial(read_bytes, PurePosixPath(self.source).name, data)
        return Content(data, parse, self._date, self._sender, self._modified)


Item = File | WebPage | Member


def _utf8(text: str) -> str:
    """``text`` as valid UTF-8: Python decodes invalid bytes of file names as surrogates."""
    return text.encode("utf-8", "backslashreplace").decode()


class BadPattern(DeepthinkError, title="Not a pattern", kind="usage"):
    """Raised when an exclusion is not a valid pattern of a .gitignore file."""


class Root:
    """A folder to read, without the files that match ``exclude``: patterns as in a .gitignore file.

    ``path`` is as given, ``real`` with links resolved. Raises `BadPattern` if a pattern is invalid.
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
        return path.is_relative_to(self.real) and self.leaves_out(path.relative_to(self.real).as_posix())


def why_skipped(
    path: PurePath, suffixes: Container[str] = SUFFIXES, content: Callable[[], bytes] | None = None
) -> str:
    """Why a file that the user did not name directly is not read; "" if it is.

    ``suffixes`` are the extensions to read. A file without one, or with a number for one, as in "MPL-2.0",
    is read if it is plain text, judged by its ``content``; None takes it from the disk.
    """
    suffix = path.suffix.casefold()
    if suffix and not suffix[1:].isdecimal():
        if suffix in suffixes:
            return ""
        return "text recognition is off" if suffix in SUFFIXES else f"{suffix} is not supported"
    try:
        data = content() if content else _head(Path(path))
    except (OSError, UnreadableDocument):
        return ""  # reading it reports the reason
    return "" if is_text(path.name, data) else "no extension, and not plain text"


def _head(path: Path) -> bytes:
    """The first bytes of a file; those of a pipe or a device are not waited for."""
    if not path.is_file():
        return b""
    with path.open("rb") as file:
        return file.read(SAMPLE)


def files_in(root: Root, suffixes: Container[str], skipped: dict[str, list[str]]) -> Iterator[File]:
    """The files in a folder and its subfolders, sorted by name.

    Links to folders are not followed, and links to files only if they stay within the folder: a link that
    someone else made may lead to a private file. The names of the files that are not read are added to
    ``skipped``, by reason.
    """
    folder = root.path
    errors: list[OSError] = []
    paths: list[Path] = []
    for parent, folders, names in os.walk(folder, onerror=errors.append):
        inner = PurePosixPath(Path(parent).relative_to(folder))
        folders[:] = [n for n in folders if not is_left_out(n) and not root.leaves_out(f"{inner / n}/")]
        paths += [
            Path(parent, n) for n in names if not is_left_out(n) and not root.leaves_out(f"{inner / n}")
        ]
    for path in sorted(paths):
        name = _utf8(path.relative_to(folder).as_posix())
        try:
            if not stat.S_ISREG(path.stat().st_mode):
                continue
        except OSError as error:
            if error.errno in NO_FILE_ERRORS:
                if path.is_symlink():
                    skipped.setdefault(_LEADS_NOWHERE, []).append(name)
                continue
        reason = why_skipped(path, suffixes)
        if not reason:
            file = File.at(path, name)
            if file.real.is_relative_to(root.real):
                yield file
                continue
            reason = _LEADS_OUT
        skipped.setdefault(reason, []).append(name)
    for failure in errors:
        path = Path(failure.filename)
        name = root.real.name if path == folder else path.relative_to(folder).as_posix()
        yield File.at(path, name, unlisted=failure)


def located(files: Iterable[File], documents: Mapping[str, Document]) -> list[File]:
    """Each file once, at the path that is its source; not a link if the file itself was found too.

    The source is where the file was found, so that a removed link is noticed. A file that is already in the
    library keeps its source, which may also be the target of a link. It also keeps its name, which is that
    in its folder, even if the user now names it directly.
    """
    by_path: dict[Path, File] = {}
    for file in files:
        if file.real not in by_path or (file.path == file.real != by_path[file.real].path):
            by_path[file.real] = file
    sources: list[File] = []
    for file in by_path.values():
        stored_path = next((path for path in (file.real, file.path) if str(path) in documents), None)
        path = stored_path or (file.real if file.outright else file.path)
        name = documents[str(path)].name if stored_path and file.outright else file.name
        sources.append(replace(file, path=path, name=name))
    return sources


def is_folder(path: Path) -> bool:
    """Whether ``path`` is a folder that can be examined."""
    try:
        return path.is_dir()
    except OSError:
        return False


def _is_gone(path: Path) -> bool:
    """Whether the file certainly does not exist, not even behind a dead link or on an unmounted drive."""
    try:
        path.lstat()
    except OSError as error:
        if error.errno not in _MISSING_ERRORS or path == path.parent:
            return False
        return _is_gone(path.parent) or os.access(path.parent, os.F_OK)
    return False


def _is_empty(folder: Path) -> bool:
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
    if not _is_gone(old):
        return os.path.realpath(old) == str(new)
    existing_parent = next((folder for folder in old.parents[:-1] if not _is_gone(folder)), None)
    if existing_parent is None or not new.is_relative_to(existing_parent):
        return False
    try:
        return existing_parent.stat().st_dev == new.parent.stat().st_dev
    except OSError:
        return False


def is_left_out(name: str) -> bool:
    """Whether a file or folder is always excluded: hidden, temporary, or a lock file of another program."""
    return name.startswith((".", "~$")) or name.casefold().endswith(_TEMPORARY_SUFFIXES)


def is_settled(path: Path) -> bool:
    """Whether the file is no longer being written, or is gone."""
    try:
        return abs(time.time() - path.stat().st_mtime) >= _SETTLED_SECONDS
    except OSError:
        return True


def gone_documents(
    roots: Sequence[Root], existing: Container[str], documents: dict[str, Document]
) -> list[Document]:
    """Documents from one of the folders whose files are gone, excluded now, or duplicated by a link.

    An empty folder may be that of an unmounted drive, so nothing in it counts as gone.
    """
    filled_folders = [root.real for root in roots if not _is_empty(root.real)]
    return [
        document
        for source, document in documents.items()
        if source not in existing
        and any(Path(source).is_relative_to(folder) for folder in filled_folders)
        and not lies_in(source, existing)
        and not lies_in(source, documents)  # it is removed together with the file around it
        # A file that still exists may have been named directly, and have a type that is skipped in folders.
        and (
            _is_gone(Path(source))
            or (os.path.realpath(source) != source and os.path.realpath(source) in documents)
            or any(root.excludes(source) for root in roots)
        )
    ]


def documents_inside(files: Container[str], documents: Iterable[Document]) -> list[Document]:
    """The documents inside ``files``, such as attachments of a mail or files in an archive."""
    return [document for document in documents if lies_in(document.source, files)]


def lies_in(source: str, files: Container[str]) -> bool:
    """Whether one of ``files`` contains the one with this source."""
    return any(str(parent) in files for parent in PurePosixPath(source).parents)
