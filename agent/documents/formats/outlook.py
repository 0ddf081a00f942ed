"""Messages that Outlook saved (MSG), by olefile: properties by their numbers in [MS-OXPROPS]."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from agent.documents.document import Enclosed, ParsedDocument, named_apart
from agent.documents.encoding import decode
from agent.documents.formats.mail import Mail, mail_document
from agent.documents.prose import normal

if TYPE_CHECKING:
    from olefile import OleFileIO

_SUBJECT, _SENDER, _ADDRESS, _SMTP_ADDRESS = 0x0037, 0x0C1A, 0x0C1F, 0x5D01
_TO, _COPIED, _BODY, _HTML = 0x0E04, 0x0E03, 0x1000, 0x1013
_SENT, _DELIVERED = 0x0039, 0x0E06
_LONG_NAME, _NAME, _CONTENT = 0x3707, 0x3704, 0x3701
_UTF_16, _EIGHT_BIT, _BINARY, _OBJECT = "001F", "001E", "0102", "000D"
_EPOCH = datetime(1601, 1, 1, tzinfo=UTC)


def read_outlook(path: Path, data: bytes) -> ParsedDocument:
    """Read ``data`` as a message of Outlook."""
    from olefile import OleFileIO

    with OleFileIO(BytesIO(data)) as file:
        return mail_document(path, _mail(file, ()))


def _mail(file: OleFileIO, inside: tuple[str, ...]) -> Mail:
    """The message in the file, or one that is attached to it."""
    sender, address = _text(file, inside, _SENDER), _text(file, inside, _SMTP_ADDRESS, _ADDRESS)
    known = "@" in address and address != sender
    return Mail(
        sender=f"{sender} <{address}>".strip() if known else sender,
        to=_text(file, inside, _TO),
        copied=_text(file, inside, _COPIED),
        sent=_time(file, inside),
        subject=_text(file, inside, _SUBJECT),
        html=decode(_stream(file, inside, _HTML, _BINARY)) or _raw_text(file, inside, _HTML),
        plain=_raw_text(file, inside, _BODY),
        attachments=tuple(named_apart((one.name, one.content) for one in _attachments(file, inside))),
    )


def _attachments(file: OleFileIO, inside: tuple[str, ...]) -> Iterator[Enclosed]:
    """The attached files; of an attached message its words as text, and what is attached to it."""
    depth = len(inside)
    folders = {
        entry[depth]
        for entry in file.listdir(storages=True)
        if tuple(entry[:depth]) == inside and len(entry) > depth and entry[depth].startswith("__attach")
    }
    for number, folder in enumerate(sorted(folders), start=1):
        part = (*inside, folder)
        name = _text(file, part, _LONG_NAME, _NAME)
        embedded = (*part, f"__substg1.0_{_CONTENT:04X}{_OBJECT}")
        if file.exists([*embedded, "__properties_version1.0"]):
            mail = _mail(file, embedded)
            words = mail_document(Path("mail"), mail).visible_text.encode()
            yield Enclosed(f"{mail.subject or f'message {number}'}.txt", partial(bytes, words))
            yield from mail.attachments
        elif content := _stream(file, part, _CONTENT, _BINARY):
            yield Enclosed(name or f"attachment {number}", partial(bytes, content))


def _text(file: OleFileIO, inside: tuple[str, ...], *properties: int) -> str:
    return next(filter(None, (normal(_raw_text(file, inside, one)) for one in properties)), "")


def _raw_text(file: OleFileIO, inside: tuple[str, ...], number: int) -> str:
    wide = _stream(file, inside, number, _UTF_16).decode("utf-16-le", "replace")
    return (wide or decode(_stream(file, inside, number, _EIGHT_BIT))).replace("\x00", "")


def _stream(file: OleFileIO, inside: tuple[str, ...], number: int, kind: str) -> bytes:
    name = [*inside, f"__substg1.0_{number:04X}{kind}"]
    content: bytes = file.openstream(name).read() if file.exists(name) else b""
    return content


def _time(file: OleFileIO, inside: tuple[str, ...]) -> datetime | None:
    """When the message was sent, else when it came: in 100 ns since 1601, in the table of short values."""
    table = file.openstream([*inside, "__properties_version1.0"]).read()
    times: dict[int, int] = {}
    for at in range(24 if inside else 32, len(table) - 15, 16):
        kind, number, _, value = struct.unpack_from("<HHIQ", table, at)
        if kind == 0x0040:
            times[number] = value
    ticks = times.get(_SENT) or times.get(_DELIVERED)
    return _EPOCH + timedelta(microseconds=ticks // 10) if ticks else None
