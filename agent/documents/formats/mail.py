"""Mail: who wrote to whom, when and about what, then the text; attachments are separate documents.

EML and MBOX are read by the standard library, messages saved by Outlook (MSG) by olefile; their properties
are numbered as in [MS-OXPROPS].
"""

from __future__ import annotations

import email
import email.policy
import email.utils
import mimetypes
import re
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from email.message import Message
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from lxml import etree
from lxml.html import HTMLParser, document_fromstring, tostring

from agent.documents.cover import stated_title
from agent.documents.document import MAIL_FIELDS, Block, ParsedDocument, Table, with_unique_names
from agent.documents.encoding import decode
from agent.documents.formats.html import read_html
from agent.documents.formats.text import read_text
from agent.documents.prose import is_blank, normal

if TYPE_CHECKING:
    from olefile import OleFileIO

_QUOTED = "Quoted history"  # the heading above the earlier mails that a mail quotes
_QUOTES_IN_HTML = (
    '//blockquote[@type="cite"] | //*[contains(@class, "gmail_quote") or contains(@class, "yahoo_quoted")]'
    ' | //*[@id="divRplyFwdMsg" or @id="appendonsend"]/self::* '
    ' | //*[@id="divRplyFwdMsg" or @id="appendonsend"]/following-sibling::*'
)
_LINE_ABOVE_MAIL = re.compile(r"\s*(?:[-_]{5,}|-{2,}.{3,60}-{2,})\s*")
_FIELD = re.compile(r"\s*[*]?[^\W\d_][^:\n]{0,20}:[*]?\s+\S")
_FEWEST_FIELDS = 3  # in the head of a quoted mail
_MESSAGE_START = re.compile(rb"(?:\A|(?<=\n))From [^\n]*\n(?=[!-9;-~]+:)")
_HEAD_END = re.compile(rb"\r?\n\r?\n")
_ESCAPED = re.compile(rb"^>(>*From )", re.MULTILINE)
_LONGEST_NAME = 100
_SUBJECT, _SENDER, _ADDRESS, _SMTP_ADDRESS = 0x0037, 0x0C1A, 0x0C1F, 0x5D01
_TO, _COPIED, _BODY, _HTML = 0x0E04, 0x0E03, 0x1000, 0x1013
_SENT, _DELIVERED = 0x0039, 0x0E06
_LONG_NAME, _NAME, _CONTENT = 0x3707, 0x3704, 0x3701
_UTF_16, _EIGHT_BIT, _BINARY, _OBJECT = "001F", "001E", "0102", "000D"
_EPOCH = datetime(1601, 1, 1, tzinfo=UTC)


def _document(
    path: Path,
    *,
    sender: str,
    to: str,
    copied: str,
    sent: datetime | None,
    subject: str,
    text: str,
    is_html: bool,
    attachments: Iterable[tuple[str, Callable[[], bytes]]],
) -> ParsedDocument:
    """A message as a document: its header, its text, and the mails it quotes below a heading."""
    enclosed = tuple(with_unique_names(attachments))
    sent_at = sent.strftime("%Y-%m-%d %H:%M") if sent else ""
    attached = ", ".join(attachment.name for attachment in enclosed)
    values = (sender, to, copied, sent_at, subject, attached)
    fields = zip(MAIL_FIELDS, values, strict=True)
    head = "\n".join(f"{name}: {value}" for name, value in fields if value)
    body, history = _parts_of_html(text) if is_html else _parts_of_text(text)
    blocks = [Block("text", head), *(body.blocks if body else ())]
    if history:
        blocks += [Block("heading", _QUOTED, level=1), *history.blocks]
    return ParsedDocument(
        tuple(blocks),
        "\n".join([head, *(part.visible_text for part in (body, history) if part)]),
        title=stated_title(subject, [], path),
        date=sent.date().isoformat() if sent else "",
        author=sender,
        enclosed=enclosed,
    )


def read_mail(path: Path, data: bytes) -> ParsedDocument:
    """Read ``data`` as one message (RFC 5322)."""
    message = email.message_from_bytes(data, policy=email.policy.default)
    # A message that is declared as multipart may have no parts.
    is_sound = message.is_multipart() or message.get_content_maintype() != "multipart"
    body = message.get_body(("html", "plain")) if is_sound else message
    parts = list(message.iter_attachments()) if message.is_multipart() else []
    # Some programs split the text at a picture, and lists add a footer.
    continued = [
        part for part in parts if part.get_content_maintype() == "text" and not part.get_filename()
    ]
    is_html = body is not None and body.get_content_type() == "text/html"
    rest: Iterable[str] = map(_body_text, continued)
    if is_html:
        rest = (part if part.lstrip().startswith("<") else f"<pre>{part}</pre>" for part in rest)
    text = "\n".join([*([] if body is None else [_body_text(body)]), *rest])
    shown_ids = set(re.findall(r"cid:([^\"'\s>]+)", text)) if is_html else set()
    attached = [
        part
        for part in parts
        if part not in continued
        # A picture shown in the text, such as a logo, is no attachment.
        and not (
            part.get_content_maintype() == "image"
            and str(part.get("Content-ID", "")).strip("<> ") in shown_ids
        )
    ]
    return _document(
        path,
        sender=_field(message, "From"),
        to=_field(message, "To"),
        copied=_field(message, "Cc"),
        sent=_sent(message),
        subject=_field(message, "Subject"),
        text=text,
        is_html=is_html and bool(text.strip()),
        attachments=_attachments(attached),
    )


def _attachments(parts: Iterable[Message]) -> Iterator[tuple[str, Callable[[], bytes]]]:
    for number, part in enumerate(parts, start=1):
        if part.get_content_type() == "message/rfc822":
            inner = part.get_payload(0)
            assert isinstance(inner, Message)
            yield f"{_field(inner, 'Subject') or f'message {number}'}.eml", inner.as_bytes
        elif not part.is_multipart():
            ending = mimetypes.guess_extension(part.get_content_type()) or ""
            name = normal(part.get_filename() or "") or f"attachment {number}{ending}"
            yield name, partial(_payload, part)


def _payload(part: Message) -> bytes:
    payload = part.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b""


def _body_text(part: Message) -> str:
    data = _payload(part)
    charset = part.get_content_charset()
    if charset and charset != "us-ascii":
        try:
            return data.decode(charset, "replace")
        except LookupError:
            pass
    return decode(data)


def _field(message: Message, name: str) -> str:
    try:
        return normal(str(message.get(name, "")))
    except (AttributeError, IndexError, TypeError, ValueError):  # the parser's errors for a malformed head
        raw = dict(message.raw_items()) if hasattr(message, "raw_items") else {}
        return normal(str(raw.get(name, "")))


def _sent(message: Message) -> datetime | None:
    try:
        return email.utils.parsedate_to_datetime(_field(message, "Date"))
    except ValueError:
        return None


def _parts_of_html(html: str) -> tuple[ParsedDocument | None, ParsedDocument | None]:
    """The sender's text, and the quoted text."""
    try:
        root = document_fromstring(html.encode(), parser=HTMLParser(encoding="utf-8"))
    except etree.LxmlError:
        return None, None
    quotes: list[bytes] = []
    for element in root.xpath(_QUOTES_IN_HTML):
        if element.getparent() is not None and root in element.iterancestors():
            quotes.append(tostring(element, with_tail=False))
            element.drop_tree()
    body = read_html(Path("mail.html"), tostring(root))
    return body, read_html(Path("mail.html"), b"<html><body>" + b"".join(quotes)) if quotes else None


def _parts_of_text(text: str) -> tuple[ParsedDocument | None, ParsedDocument | None]:
    lines = text.expandtabs(4).splitlines()
    end = next((index for index, line in enumerate(lines) if _begins_quoted_mail(lines, index)), len(lines))
    quoted = [line.startswith(">") for line in lines[:end]]
    for index in range(1, end):
        if quoted[index] and not quoted[index - 1]:
            _add_attribution(lines, quoted, index)
    body = [line for line, is_quoted in zip(lines, quoted, strict=False) if not is_quoted]
    history = [line.lstrip("> ") for line, is_quoted in zip(lines, quoted, strict=False) if is_quoted]
    return _as_text(body), _as_text([*history, "", *lines[end:]])


def _begins_quoted_mail(lines: Sequence[str], index: int) -> bool:
    """Whether this line is a rule above the header of another mail, in any language."""
    if not _LINE_ABOVE_MAIL.fullmatch(lines[index]):
        return False
    lines_below = [line for line in lines[index + 1 : index + 8] if not is_blank(line)]
    return len(lines_below) >= _FEWEST_FIELDS and all(map(_FIELD.match, lines_below[:_FEWEST_FIELDS]))


def _add_attribution(lines: Sequence[str], quoted: list[bool], index: int) -> None:
    """Add the line that names the author of a quotation, which may be broken in two, to the quotation."""
    last = next((n for n in range(index - 1, max(index - 3, -1), -1) if not is_blank(lines[n])), None)
    if last is not None and lines[last].rstrip().endswith((":", "：")):
        quoted[last] = True
        if last and not is_blank(lines[last - 1]) and (last < 2 or is_blank(lines[last - 2])):
            quoted[last - 1] = True


def _as_text(lines: Sequence[str]) -> ParsedDocument | None:
    text = "\n".join(lines)
    return None if is_blank(text) else read_text(Path("mail.txt"), text.encode("utf-8", "replace"))


def read_mailbox(_path: Path, data: bytes) -> ParsedDocument:
    """Read ``data`` as consecutive messages, each below a line that begins with ``From``."""
    starts = list(_MESSAGE_START.finditer(data))
    ends = [*(match.start() for match in starts[1:]), len(data)]
    stretches = [(match.end(), end) for match, end in zip(starts, ends, strict=True)]
    heads = [_head(data, start, end) for start, end in stretches]
    blocks = (Block("table", table=Table((("Date", "From", "Subject"),), tuple(heads))),) if heads else ()

    return ParsedDocument(
        blocks,
        "\n".join(" ".join(head) for head in heads),
        enclosed=tuple(
            with_unique_names(
                (
                    f"{f'{date} {subject}'.strip()[:_LONGEST_NAME] or 'message'}.eml",
                    partial(_ESCAPED.sub, rb"\1", data[start:end]),
                )
                for (date, _, subject), (start, end) in zip(heads, stretches, strict=True)
            )
        ),
    )


def _head(data: bytes, start: int, end: int) -> tuple[str, str, str]:
    """Date, sender and subject of a message in a mailbox."""
    head_end = _HEAD_END.search(data, start, end)
    head = data[start : head_end.end() if head_end else end]
    mail = email.message_from_bytes(head, policy=email.policy.default)
    sent = _sent(mail)
    return sent.date().isoformat() if sent else "", _field(mail, "From"), _field(mail, "Subject")


def read_outlook(path: Path, data: bytes) -> ParsedDocument:
    """Read ``data`` as an Outlook message."""
    from olefile import OleFileIO

    with OleFileIO(BytesIO(data)) as file:
        return _outlook_document(path, file, ())


def _outlook_document(path: Path, file: OleFileIO, storage: tuple[str, ...]) -> ParsedDocument:
    """The message in the file, or a message attached to it."""
    sender, address = _text(file, storage, _SENDER), _text(file, storage, _SMTP_ADDRESS, _ADDRESS)
    has_address = "@" in address and address != sender
    html = decode(_stream(file, storage, _HTML, _BINARY)) or _raw_text(file, storage, _HTML)
    return _document(
        path,
        sender=f"{sender} <{address}>".strip() if has_address else sender,
        to=_text(file, storage, _TO),
        copied=_text(file, storage, _COPIED),
        sent=_time(file, storage),
        subject=_text(file, storage, _SUBJECT),
        text=html if html.strip() else _raw_text(file, storage, _BODY),
        is_html=bool(html.strip()),
        attachments=_outlook_attachments(file, storage),
    )


def _outlook_attachments(
    file: OleFileIO, storage: tuple[str, ...]
) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """The attached files; an attached message gives its text and its own attachments."""
    depth = len(storage)
    folders = {
        entry[depth]
        for entry in file.listdir(storages=True)
        if tuple(entry[:depth]) == storage and len(entry) > depth and entry[depth].startswith("__attach")
    }
    for number, folder in enumerate(sorted(folders), start=1):
        part = (*storage, folder)
        name = _text(file, part, _LONG_NAME, _NAME)
        embedded = (*part, f"__substg1.0_{_CONTENT:04X}{_OBJECT}")
        if file.exists([*embedded, "__properties_version1.0"]):
            mail = _outlook_document(Path("mail"), file, embedded)
            subject = _text(file, embedded, _SUBJECT) or f"message {number}"
            yield f"{subject}.txt", partial(bytes, mail.visible_text.encode())
            yield from ((inner.name, inner.unpack) for inner in mail.enclosed)
        elif content := _stream(file, part, _CONTENT, _BINARY):
            yield name or f"attachment {number}", partial(bytes, content)


def _text(file: OleFileIO, storage: tuple[str, ...], *properties: int) -> str:
    return next(filter(None, (normal(_raw_text(file, storage, number)) for number in properties)), "")


def _raw_text(file: OleFileIO, storage: tuple[str, ...], number: int) -> str:
    wide = _stream(file, storage, number, _UTF_16).decode("utf-16-le", "replace")
    return (wide or decode(_stream(file, storage, number, _EIGHT_BIT))).replace("\x00", "")


def _stream(file: OleFileIO, storage: tuple[str, ...], number: int, kind: str) -> bytes:
    name = [*storage, f"__substg1.0_{number:04X}{kind}"]
    content: bytes = file.openstream(name).read() if file.exists(name) else b""
    return content


def _time(file: OleFileIO, storage: tuple[str, ...]) -> datetime | None:
    """When the message was sent, else delivered; stored in 100 ns ticks since 1601."""
    table = file.openstream([*storage, "__properties_version1.0"]).read()
    times: dict[int, int] = {}
    for offset in range(24 if storage else 32, len(table) - 15, 16):
        kind, number, _, value = struct.unpack_from("<HHIQ", table, offset)
        if kind == 0x0040:
            times[number] = value
    ticks = times.get(_SENT) or times.get(_DELIVERED)
    return _EPOCH + timedelta(microseconds=ticks // 10) if ticks else None
