"""Items to read: a file, a page of the web, or a file inside one of these."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, ClassVar, Final, Self
from urllib.parse import unquote, urlsplit

from agent.documents.document import Enclosed, ParsedDocument, UnreadableDocument
from agent.documents.indexing import Origin, page_name
from agent.documents.media_types import MESSAGES
from agent.documents.reading import read, read_bytes, refuse_large

if TYPE_CHECKING:
    from agent.documents.formats.pdf_lines import ScannedPage

_DATE_RESOLUTION: Final = 2.0  # seconds: the resolution of FAT's file dates, the coarsest of all
MOST_DEPTH = 4
"""How deep files may be nested: a picture in a mail in a mailbox in an archive."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """A page of the web as fetched.

    Attributes:
        url: Its address, after redirects.
        media_type: As declared by the site, in lower case, without parameters; "" if not declared.
        charset: The encoding, as declared by the site; "" if not declared.
        data: The content, decompressed.
    """

    url: str
    media_type: str
    charset: str
    data: bytes

    def parsed(self, recognised: Mapping[int, ScannedPage] | None = None) -> ParsedDocument:
        """Its content; ``recognised`` as in `agent.documents.reading.read`."""
        parts = urlsplit(self.url)
        return read_bytes(
            unquote(parts.path).rstrip("/").rpartition("/")[2] or parts.netloc,
            self.data,
            served_as=self.media_type,
            charset=self.charset,
            recognised=recognised,
        )


@dataclass(frozen=True, slots=True)
class File:
    """A file to read, or a folder that cannot be listed.

    Attributes:
        path: Absolute; links in its folder are resolved, but it may be a link itself.
        real: The path with all links resolved.
        name: Its name for the user: the path inside the searched folder.
        outright: Whether the user named it directly.
        unlisted: For a folder: why it cannot be listed.
        depth: The number of files around it.
    """

    path: Path
    real: Path
    name: str
    outright: bool = False
    unlisted: OSError | None = None
    depth: ClassVar[int] = 0

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

    def origin(self) -> Origin:
        """Its identity; the file is not parsed yet."""
        if self.source != str(self.path):  # the store cannot hold the name
            raise UnreadableDocument(f"The name of {self.source} is not valid UTF-8.", "Rename the file.")
        try:
            if self.unlisted is not None:
                raise self.unlisted
            stat = self.path.stat()
            refuse_large(self.name, stat.st_size)
            digest = _sha256(self.path)
            return Origin(self.source, self.name, digest, stat.st_size, modified=stat.st_mtime_ns)
        except OSError as error:
            raise UnreadableDocument(f"{self.name}: {error.strerror}.", "Check its permissions.") from error

    def is_untouched(self, size: int, modified: int, last_read: datetime | None = None) -> bool:
        """Whether it still has this size and date.

        Args:
            size: In bytes.
            modified: Date of the last change, in nanoseconds since 1970.
            last_read: When it was last read (UTC). File systems round dates, so a file that was read right
                after a change may have changed again with the same date; it counts as touched.
        """
        size_and_date = self.size_and_date()
        settled = (
            last_read is None
            or last_read.replace(tzinfo=UTC).timestamp() - modified / 1e9 >= _DATE_RESOLUTION
        )
        return settled and size_and_date == (size, modified)

    def size_and_date(self) -> tuple[int, int] | None:
        """Its size in bytes and the date of its last change (ns since 1970); None if they are unknown."""
        try:
            stat = self.path.stat()
        except OSError:
            return None
        return stat.st_size, stat.st_mtime_ns

    def data(self) -> bytes:
        """Its content, as bytes."""
        return self.path.read_bytes()

    def parsed(self, recognised: Mapping[int, ScannedPage] | None) -> ParsedDocument:
        """Its content; ``recognised`` as in `agent.documents.reading.read`."""
        return read(self.path, recognised=recognised)


class Page:
    """A web page or a file on the web, read like a local file."""

    depth = 0
    outright = True

    def __init__(self, url: str, fetch: Callable[[str], Fetched]) -> None:
        self.source = _utf8(url)
        self.name = page_name(self.source)
        self._fetch = fetch
        self._fetched: Fetched | None = None

    def origin(self) -> Origin:
        """Fetch the page; returns its identity."""
        self._fetched = self._fetch(self.source)
        return Origin.of_page(self.source, self._fetched.data)

    def data(self) -> bytes:
        """Its content, as bytes."""
        return self._page().data

    def parsed(self, recognised: Mapping[int, ScannedPage] | None) -> ParsedDocument:
        """Its content; ``recognised`` as in `agent.documents.reading.read`."""
        return self._page().parsed(recognised)

    def _page(self) -> Fetched:
        assert self._fetched is not None, "`origin` is called first"
        return self._fetched


class Member:
    """A file inside another file, whose name is used like a folder's.

    ``read`` is the parsed content of ``outer``, the file around it, and ``origin`` its identity.
    """

    outright = False

    def __init__(self, enclosed: Enclosed, outer: Item, read: ParsedDocument, origin: Origin) -> None:
        self.source: str = f"{outer.source}/{_utf8(enclosed.name)}"
        self.name: str = f"{outer.name}/{_utf8(enclosed.name)}"
        self.depth: int = outer.depth + 1
        self.data = enclosed.content
        is_mail = read.media_type in MESSAGES
        self._date = read.date if is_mail else origin.date
        self._sender = read.author if is_mail else origin.sender
        self._modified = origin.modified

    def origin(self) -> Origin:
        """Its identity."""
        if self.depth > MOST_DEPTH:
            raise UnreadableDocument(
                f"{self.name} is nested too deep in other files.", "Unpack it and add it by itself."
            )
        content = self.data()
        refuse_large(self.name, len(content))
        digest = hashlib.sha256(content).hexdigest()
        return Origin(
            self.source, self.name, digest, len(content), self._date, self._sender, self._modified
        )

    def parsed(self, recognised: Mapping[int, ScannedPage] | None) -> ParsedDocument:
        """Its content; ``recognised`` as in `agent.documents.reading.read`."""
        return read_bytes(PurePosixPath(self.source).name, self.data(), recognised=recognised)


Item = File | Page | Member


def _utf8(text: str) -> str:
    """``text`` as valid UTF-8: Python decodes invalid bytes of file names as surrogates."""
    return text.encode("utf-8", "backslashreplace").decode()


def _sha256(path: Path) -> str:
    with path.open("rb", buffering=0) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
