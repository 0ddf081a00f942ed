"""Mail: the text apart from what it quotes, in HTML and in plain text; messages attached to messages."""

from __future__ import annotations

from email.message import EmailMessage

import pytest

from agent.documents.document import ParsedDocument
from tests.agent.documents.formats.parsed import parse, shape

HTML = """<p>The crane is <b>repaired</b>.</p><img src="cid:logo">
<div class="gmail_quote">On Monday Ben wrote: <p>Is the crane repaired?</p></div>"""
PLAIN = """The crane is repaired.

________________________________
From: Ben
Sent: Monday
To: Ada

Is the crane repaired?
"""


def _read(message: EmailMessage) -> ParsedDocument:
    return parse("a.eml", message.as_bytes())


@pytest.mark.parametrize(("text", "kind"), [(HTML, "html"), (PLAIN, "plain")])
def test_what_a_mail_quotes_is_below_a_heading_of_its_own(text: str, kind: str) -> None:
    message = EmailMessage()
    message["From"], message["Subject"] = "Ada <ada@ulm.example>", "Crane"
    message.set_content(text, subtype=kind)
    blocks = shape(_read(message))
    assert blocks[0] == ("text", 0, "From: Ada <ada@ulm.example>\nSubject: Crane")
    assert blocks[1] == ("text", 0, "The crane is repaired.")
    assert blocks[2] == ("heading", 1, "Quoted history")
    assert blocks[-1] == ("text", 0, "Is the crane repaired?")


def test_an_attached_message_is_a_file_and_a_picture_in_the_text_is_not() -> None:
    message, inner = EmailMessage(), EmailMessage()
    inner["Subject"] = "Bill"
    inner.set_content("90 euros.")
    message.set_content(HTML, subtype="html")
    message.add_attachment(b"\x89PNG", maintype="image", subtype="png", cid="<logo>", filename="logo.png")
    message.add_attachment(inner)
    (enclosed,) = _read(message).enclosed
    assert enclosed.name == "Bill.eml"
    assert b"90 euros." in enclosed.content()
