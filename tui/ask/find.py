"""Finding words in the conversation: the line they are typed in, and the places they are found."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from tui.app.keys import bindings

if TYPE_CHECKING:
    from tui.ask.conversation import Conversation
    from tui.run.exchange import Exchange


class FindBar(Input):
    """The line for the words; hidden until `open`. The screen searches when they change."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("find")
    HELP = """\
### Find in the conversation

Type words of a question or an answer. **Enter** and **↑** go to the place before, **↓** to the next one,
**Escape** back to the prompt.
"""
    DEFAULT_CSS = "FindBar, FindBar:focus { display: none; height: 3; border: round $accent; }"

    class Moved(Message):
        """Go on to another place: ``by`` 1 forwards, -1 backwards; 0 after the words have changed."""

        def __init__(self, by: int) -> None:
            super().__init__()
            self.by = by

    class Closed(Message):
        """The user is done."""

    def __init__(self) -> None:
        super().__init__(placeholder="Words to find in the conversation")

    def open(self) -> None:
        """Show the line and take the keys."""
        self.display = True
        self.screen.set_focus(self)  # at once: what is typed next belongs here

    def tell(self, at: int, total: int) -> None:
        """Show which place of how many is marked; ``at`` begins with 1."""
        self.border_subtitle = (f"{at} of {total}" if total else "not found") if self.value.strip() else ""

    def watch_value(self, _value: str) -> None:
        """Search as the words are typed."""
        if self.display:
            self.post_message(self.Moved(0))

    def action_move(self, by: int) -> None:
        self.post_message(self.Moved(by))

    def action_close(self) -> None:
        self.display = False
        self.value = ""
        self.post_message(self.Closed())


class Finder:
    """The places of some words in the questions and answers that are shown; one of them is marked.

    Args:
        conversation: Where to look.
    """

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._words = ""
        self._at = -1
        self._marked: tuple[Static, Content, Content] | None = None  # text: before the mark, with it

    def find(self, words: str, by: int) -> tuple[int, int]:
        """Mark a place and scroll to it: the last one for new words, else ``by`` on, around the ends.

        Returns:
            Its number, from 1 on, and how many places there are; 0, 0 if none.
        """
        from tui.library.passage import find_words

        self.clear()
        places = [
            (block, span)
            for turn in self._conversation.turns
            for block in _texts(turn)
            for span in find_words(_content(block).plain, words)
        ]
        if not places:
            self._words, self._at = words, -1
            return 0, 0
        going_on = words == self._words and 0 <= self._at < len(places)
        self._at = (self._at + by) % len(places) if going_on else len(places) - 1
        self._words = words
        block, (start, end) = places[self._at]
        before = _content(block)
        marked = before.stylize("reverse bold", start, end)
        block.update(marked)
        self._marked = (block, before, marked)
        self._conversation.screen.scroll_to_widget(block)
        return self._at + 1, len(places)

    def clear(self) -> None:
        """Take the mark away, unless its text has been drawn anew since."""
        if self._marked is not None:
            block, before, marked = self._marked
            if block.content is marked:
                block.update(before)
        self._marked = None


def _texts(turn: Exchange) -> list[Static]:
    """The question and, once it is complete, the answer's blocks; one that is being written changes."""
    blocks = list(turn.query_one("Answer").query(Static)) if turn.answer else []
    return [turn.query_one(".question", Static), *(block for block in blocks if _content(block).plain)]


def _content(block: Static) -> Content:
    return block.content if isinstance(block.content, Content) else Content("")
