"""Mailboxes (MBOX): a list of the messages, and each of them a document of its own."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from agent.documents.cover import stated_title
from agent.documents.document import Block, ParsedDocument, Table, named_apart
from agent.documents.formats.mail import head_of
from agent.documents.media_types import MAILBOX

_BEGIN = re.compile(rb"(?:\A|(?<=\n))From [^\n]*\n(?=[!-9;-~]+:)")
_HEAD_END = re.compile(rb"\r?\n\r?\n")
_ESCAPED = re.compile(rb"^>(>*From )", re.MULTILINE)
_LONGEST_NAME = 100


def read_mailbox(path: Path, data: bytes) -> ParsedDocument:
    """Read ``data`` as messages one after another, each below a line that begins with ``From``."""
    found = list(_BEGIN.finditer(data))
    ends = [*(match.start() for match in found[1:]), len(data)]
    stretches = [(match.end(), end) for match, end in zip(found, ends, strict=True)]
    heads = []
    for start, end in stretches:
        over = _HEAD_END.search(data, start, end)
        heads.append(head_of(data[start : over.end() if over else end]))
    blocks = (Block("table", table=Table((("Date", "From", "Subject"),), tuple(heads))),) if heads else ()

    def message(start: int, end: int) -> Callable[[], bytes]:
        return lambda: _ESCAPED.sub(rb"\1", data[start:end])

    return ParsedDocument(
        title=stated_title("", [], path),
        media_type=MAILBOX,
        blocks=blocks,
        visible_text="\n".join(" ".join(head) for head in heads),
        enclosed=tuple(
            named_apart(
                (f"{f'{date} {subject}'.strip()[:_LONGEST_NAME] or 'message'}.eml", message(*stretch))
                for (date, _, subject), stretch in zip(heads, stretches, strict=True)
            )
        ),
    )
