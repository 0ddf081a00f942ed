"""Mail: who wrote to whom, when and about what, then what; attachments are documents of their own."""

from __future__ import annotations

import email
import email.policy
import email.utils
import mimetypes
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from email.message import EmailMessage, Message
from functools import partial
from pathlib import Path

from agent.documents.cover import stated_title
from agent.documents.document import Block, Enclosed, ParsedDocument, named_apart
from agent.documents.encoding import decode
from agent.documents.formats.html import read_html
from agent.documents.formats.text import read_text
from agent.documents.media_types import MAIL
from agent.documents.prose import is_blank, normal

QUOTED = "Quoted history"
"""The heading above what a mail repeats of those before it."""

_QUOTES_IN_HTML = (
    '//blockquote[@type="cite"] | //*[contains(@class, "gmail_quote") or contains(@class, "yahoo_quoted")]'
    ' | //*[@id="divRplyFwdMsg" or @id="appendonsend"]/self::* '
    ' | //*[@id="divRplyFwdMsg" or @id="appendonsend"]/following-sibling::*'
)
_LINE_ABOVE_MAIL = re.compile(r"\s*(?:[-_]{5,}|-{2,}.{3,60}-{2,})\s*")
_FIELD = re.compile(r"\s*[*]?[^\W\d_][^:\n]{0,20}:[*]?\s+\S")
_FEWEST_FIELDS = 3  # that make the head of a mail that is quoted


@dataclass(frozen=True, slots=True)
class Mail:
    """A message, whatever program wrote it; ``html`` or ``plain`` may be empty."""

    sender: str
    to: str
    copied: str
    sent: datetime | None
    subject: str
    html: str
    plain: str
    attachments: tuple[Enclosed, ...] = ()


def read_mail(path: Path, data: bytes) -> ParsedDocument:
    """Read ``data`` as one message as it is sent (RFC 5322)."""
    return mail_document(path, _mail(email.message_from_bytes(data, policy=email.policy.default)))


def mail_document(path: Path, mail: Mail) -> ParsedDocument:
    """A message as a document: its head, its words, and under a heading what it quotes."""
    fields = {
        "From": mail.sender,
        "To": mail.to,
        "Cc": mail.copied,
        "Date": mail.sent.strftime("%Y-%m-%d %H:%M") if mail.sent else "",
        "Subject": mail.subject,
        "Attachments": ", ".join(one.name for one in mail.attachments),
    }
    head = "\n".join(f"{name}: {value}" for name, value in fields.items() if value)
    own, quoted = _parts_of_html(mail.html) if mail.html.strip() else _parts_of_text(mail.plain)
    blocks = [Block("text", head), *(own.blocks if own else ())]
    if quoted:
        blocks += [Block("heading", QUOTED, level=1), *quoted.blocks]
    return ParsedDocument(
        title=stated_title(mail.subject, [], path),
        media_type=MAIL,
        blocks=tuple(blocks),
        visible_text="\n".join([head, *(part.visible_text for part in (own, quoted) if part)]),
        date=mail.sent.date().isoformat() if mail.sent else "",
        author=mail.sender,
        enclosed=mail.attachments,
    )


def head_of(data: bytes) -> tuple[str, str, str]:
    """When a message was sent (ISO date), by whom and about what."""
    message = email.message_from_bytes(data, policy=email.policy.default)
    sent = _sent(message)
    return sent.date().isoformat() if sent else "", _field(message, "From"), _field(message, "Subject")


def _mail(message: EmailMessage) -> Mail:
    body = message.get_body(("html", "plain")) if _is_sound(message) else message
    parts = list(message.iter_attachments()) if _is_sound(message) and message.is_multipart() else []
    more = [part for part in parts if _is_more_of_body(part)]
    is_html = body is not None and body.get_content_type() == "text/html"
    words = [] if body is None else [_words(body)]
    if is_html:
        words += [
            part if part.lstrip().startswith("<") else f"<pre>{part}</pre>" for part in map(_words, more)
        ]
    else:
        words += map(_words, more)
    text = "\n".join(words)
    shown = set(re.findall(r"cid:([^\"'\s>]+)", text)) if is_html else set()
    return Mail(
        sender=_field(message, "From"),
        to=_field(message, "To"),
        copied=_field(message, "Cc"),
        sent=_sent(message),
        subject=_field(message, "Subject"),
        html=text if is_html else "",
        plain="" if is_html else text,
        attachments=tuple(
            _attachments(part for part in parts if part not in more and not _is_shown(part, shown))
        ),
    )


def _is_sound(message: Message) -> bool:
    """Whether what claims to have parts has some."""
    return message.is_multipart() or message.get_content_maintype() != "multipart"


def _is_more_of_body(part: Message) -> bool:
    """Some programs cut the text where a picture stands, and lists add a foot."""
    return part.get_content_maintype() == "text" and not part.get_filename()


def _is_shown(part: Message, shown: Iterable[str]) -> bool:
    """Whether the part is a picture that the text shows in its place, such as a logo."""
    return str(part.get("Content-ID", "")).strip("<> ") in shown and part.get_content_maintype() == "image"


def _attachments(parts: Iterable[Message]) -> Iterator[Enclosed]:
    found: list[tuple[str, bytes]] = []
    for number, part in enumerate(parts, start=1):
        if part.get_content_type() == "message/rfc822":
            inner = part.get_payload(0)
            assert isinstance(inner, Message)
            found.append((f"{_field(inner, 'Subject') or f'message {number}'}.eml", inner.as_bytes()))
        elif not part.is_multipart():
            ending = mimetypes.guess_extension(part.get_content_type()) or ""
            name = normal(part.get_filename() or "") or f"attachment {number}{ending}"
            payload = part.get_payload(decode=True)
            found.append((name, payload if isinstance(payload, bytes) else b""))
    return named_apart((name, partial(bytes, content)) for name, content in found)


def _words(part: Message) -> str:
    payload = part.get_payload(decode=True)
    data = payload if isinstance(payload, bytes) else b""
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
    except (AttributeError, IndexError, TypeError, ValueError):  # what the parser makes of an unsound head
        raw = dict(message.raw_items()) if hasattr(message, "raw_items") else {}
        return normal(str(raw.get(name, "")))


def _sent(message: Message) -> datetime | None:
    try:
        return email.utils.parsedate_to_datetime(_field(message, "Date"))
    except ValueError:
        return None


def _parts_of_html(html: str) -> tuple[ParsedDocument | None, ParsedDocument | None]:
    """What the sender wrote, and what the mail quotes."""
    from lxml import etree
    from lxml import html as lxml_html

    try:
        root = lxml_html.document_fromstring(html.encode(), parser=lxml_html.HTMLParser(encoding="utf-8"))
    except etree.LxmlError:
        return None, None
    quotes: list[bytes] = []
    for element in root.xpath(_QUOTES_IN_HTML):
        if element.getparent() is not None and root in element.iterancestors():
            quotes.append(lxml_html.tostring(element, with_tail=False))
            element.drop_tree()
    own = read_html(Path("mail.html"), lxml_html.tostring(root))
    return own, read_html(Path("mail.html"), b"<html><body>" + b"".join(quotes)) if quotes else None


def _parts_of_text(text: str) -> tuple[ParsedDocument | None, ParsedDocument | None]:
    lines = text.expandtabs(4).splitlines()
    end = next((at for at, line in enumerate(lines) if _begins_quoted_mail(lines, at)), len(lines))
    quoted = [line.startswith(">") for line in lines[:end]]
    for at in range(1, end):
        if quoted[at] and not quoted[at - 1]:
            _add_attribution(lines, quoted, at)
    own = [line for line, is_quoted in zip(lines, quoted, strict=False) if not is_quoted]
    history = [line.lstrip("> ") for line, is_quoted in zip(lines, quoted, strict=False) if is_quoted]
    return _as_text(own), _as_text([*history, "", *lines[end:]])


def _begins_quoted_mail(lines: Sequence[str], at: int) -> bool:
    """Whether a rule stands here and the head of another mail below it, in whatever language."""
    if not _LINE_ABOVE_MAIL.fullmatch(lines[at]):
        return False
    below = [line for line in lines[at + 1 : at + 8] if not is_blank(line)]
    return len(below) >= _FEWEST_FIELDS and all(map(_FIELD.match, below[:_FEWEST_FIELDS]))


def _add_attribution(lines: Sequence[str], quoted: list[bool], at: int) -> None:
    """Count the line above a quotation that says whose it is, and that a program may have broken, to it."""
    last = next((n for n in range(at - 1, max(at - 3, -1), -1) if not is_blank(lines[n])), None)
    if last is not None and lines[last].rstrip().endswith((":", "：")):
        quoted[last] = True
        if last and not is_blank(lines[last - 1]) and (last < 2 or is_blank(lines[last - 2])):
            quoted[last - 1] = True


def _as_text(lines: Sequence[str]) -> ParsedDocument | None:
    text = "\n".join(lines)
    return None if is_blank(text) else read_text(Path("mail.txt"), text.encode("utf-8", "replace"))
