"""The answer: Markdown that grows at its end, with citations that can be walked through and opened."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar

from markdown_it import MarkdownIt
from textual import events
from textual.binding import BindingType
from textual.content import Content
from textual.message import Message
from textual.style import Style
from textual.widgets import Markdown, Static
from textual.widgets.markdown import MarkdownStream

from agent.state import Claim
from tui.app.actions import bindings
from tui.terminal import clean

_CITATION = re.compile(r"\[(\d+)\]")
_BEGINNING = 40  # characters by which a sentence is found in the answer


def _parser() -> MarkdownIt:
    parser = MarkdownIt("gfm-like", {"html": False, "linkify": False})
    return parser.disable(["link", "image", "reference", "autolink"])


class Answer(Markdown, can_focus=True):
    """An answer as it is written, and as it is read.

    Appending parses the last block only. Square brackets are text, never links: what stands in them is a
    citation, or came from a document.

    Attributes:
        has_citations: Whether there are any, or will be once all of it is drawn.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("answer")
    HELP = """\
### The answer

Each `[n]` is a citation. **→** and **←** go from one to the next, **Enter** opens the passage it
stands for in its document, with the supporting sentence marked. A mouse click on it does the same.
**g**, **p** and **w** rate the answer as good, partly good or wrong; the same again takes it back.
**c** copies it with its sources, **x** exports the run.
"""
    DEFAULT_CSS = """
    Answer { height: auto; padding: 0 0 0 2; background: transparent; }
    Answer:focus { border-left: outer $accent; padding: 0 0 0 1; }
    Answer > MarkdownBlock:last-child { margin-bottom: 0; }
    """

    class Opened(Message):
        """A citation is to be opened: ``number`` as it stands in the brackets."""

        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number

    def __init__(self) -> None:
        super().__init__(parser_factory=_parser, open_links=False)
        self._stream: MarkdownStream | None = None
        self._text = ""
        self._plain: dict[Static, Content] = {}  # blocks as they are without the mark of the cursor
        self._citations: list[tuple[Static, int, int, int]] = []  # block, start, end, number
        self._at = -1
        self._doubted: Sequence[str] = ()
        self.has_citations = False

    def write(self, text: str) -> None:
        """Show the answer so far; what is shown already is not looked at again."""
        if not text.startswith(self._text):
            self._text, self.has_citations = "", False
            self.call_later(self._begin_anew)
        fresh, self._text = text[len(self._text) :], text
        if fresh:
            self.call_later(self._append, clean(fresh))

    def finish(self, text: str, claims: Sequence[Claim] = ()) -> None:
        """Show the whole answer, with citations that can be opened; what is not supported stands out."""
        self.has_citations = bool(_CITATION.search(text))
        self._doubted = [claim["text"] for claim in claims if claim["verdict"] != "supported"]
        self.call_later(self._finish, text)

    @property
    def citations(self) -> list[int]:
        """The numbers, in the order in which they stand in the text."""
        return [number for *_, number in self._citations]

    async def _begin_anew(self) -> None:
        await self._stop()
        self._citations, self._plain, self._at = [], {}, -1
        await self.update("")

    async def _append(self, source: str) -> None:
        if self._stream is None:
            self._stream = Markdown.get_stream(self)
        await self._stream.write(source)

    async def _stop(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            await stream.stop()

    async def _finish(self, text: str) -> None:
        await self._stop()
        source = clean(text)
        if self.source != source:
            self._text = text
            await self.update(source)
        self._mark_citations()

    def _mark_citations(self) -> None:
        self._citations, self._plain, self._at = [], {}, -1
        for block in self.query(Static):
            content = block.content
            if not isinstance(content, Content):
                continue
            marks = list(_CITATION.finditer(content.plain))
            before = content
            for sentence in self._doubted:
                at = content.plain.find(sentence[:_BEGINNING])
                if at >= 0:
                    content = content.stylize("$warning", at, at + len(sentence))
            if content is not before and not marks:
                block.update(content)
            for mark in marks:
                number = int(mark[1])
                self._citations.append((block, *mark.span(), number))
                opening = Style.from_meta({"citation": number})
                content = content.stylize(opening, *mark.span()).stylize("bold $primary", *mark.span())
            if marks:
                self._plain[block] = content
                block.update(content)

    def action_citation(self, by: int) -> None:
        """Go to the next or the previous citation."""
        if not self._citations:
            return
        self._unmark()
        at = self._at + by if self._at >= 0 else (0 if by > 0 else -1)
        self._at = at % len(self._citations)
        block, start, end, _ = self._citations[self._at]
        block.update(self._plain[block].stylize("reverse bold", start, end))
        self.screen.scroll_to_widget(block)

    def action_open(self) -> None:
        """Open the citation one has gone to, the first if none."""
        if not self._citations:
            return
        self.post_message(self.Opened(self._citations[max(self._at, 0)][3]))

    def on_click(self, event: events.Click) -> None:
        """Open the citation that was clicked; the block around it has no action for it."""
        number = event.style.meta.get("citation")
        if number is not None:
            self.post_message(self.Opened(number))

    def on_blur(self) -> None:
        """Nobody is at a citation any more."""
        self._unmark()

    def _unmark(self) -> None:
        if self._at >= 0:
            block = self._citations[self._at][0]
            block.update(self._plain[block])
