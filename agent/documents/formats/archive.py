"""ZIP archives: a list of the files, and each file as a document of its own."""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path, PurePosixPath

from agent.documents.document import Block, ParsedDocument, UnreadableDocument, with_unique_names

_MOST_FILES = 10_000
_MOST_BYTES = 1 << 31
_MOST_UNPACKED = 200  # times its packed size that a file larger than `_SMALL_FILE` may have
_SMALL_FILE = 1 << 24
_ENCRYPTED_FLAG = 0x1
_NAMES_PER_PARAGRAPH = 50


def read_archive(path: Path, data: bytes) -> ParsedDocument:
    """Read ``data`` as a ZIP archive; each file is unpacked only when its content is read.

    Raises:
        UnreadableDocument: It has too many files, or is too large when unpacked.
    """
    with zipfile.ZipFile(BytesIO(data)) as archive:
        members = [
            member
            for member in archive.infolist()
            if not member.is_dir() and not any(map(_is_unwanted, PurePosixPath(member.filename).parts))
        ]
    if len(members) > _MOST_FILES or sum(member.file_size for member in members) > _MOST_BYTES:
        raise UnreadableDocument(
            f"{path.name} contains over {_MOST_FILES:,} files or {_MOST_BYTES >> 30} GB and is not opened.",
            "Unpack it and add the folder.",
        )
    readable = [member for member in members if not _is_refused(member)]
    names = [posixpath.normpath(f"/{member.filename}").lstrip("/") for member in members]
    refused = len(members) - len(readable)

    def content_of(member: zipfile.ZipInfo) -> Callable[[], bytes]:
        def content() -> bytes:
            with zipfile.ZipFile(BytesIO(data)) as archive:
                return archive.read(member)

        return content

    return ParsedDocument(
        blocks=tuple(
            Block("text", "\n".join(names[start : start + _NAMES_PER_PARAGRAPH]))
            for start in range(0, len(names), _NAMES_PER_PARAGRAPH)
        ),
        visible_text="\n".join(names),
        notices=(
            (f"{refused} of its {len(members)} files need a password or unpack to too much.",)
            if refused
            else ()
        ),
        enclosed=tuple(with_unique_names((member.filename, content_of(member)) for member in readable)),
    )


def _is_unwanted(name: str) -> bool:
    """Whether a file or folder is hidden, or belongs to the program that made the archive."""
    return name.startswith((".", "~$", "__MACOSX"))


def _is_refused(member: zipfile.ZipInfo) -> bool:
    bomb = member.file_size > max(_SMALL_FILE, _MOST_UNPACKED * member.compress_size)
    return bomb or bool(member.flag_bits & _ENCRYPTED_FLAG)
