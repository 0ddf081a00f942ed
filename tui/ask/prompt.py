"""The prompt: several lines, earlier questions, completion of collections and files."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList, TextArea
from textual.widgets.option_list import Option

from tui.app.keys import bindings

PLACEHOLDER = "Ask a question about your documents…   #collection looks only there, @file reads it first"
_MOST = 6  # completions shown
_MOMENT = 1.0  # seconds after a key in which somebody is taken to be typing


class Prompt(TextArea):
    """The text of the question; Enter asks it."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("prompt")
    HELP = """\
### The prompt

**Enter** asks; **Ctrl-J** or **Shift-Enter** begins a new line; **↑** and **↓** bring back earlier
questions.

`#name` looks only in that collection. `@path` reads a file or a folder into the library first, then looks
there too. `from:petra`, `after:2024-03`, `before:2025`, `type:mail` and `folder:letters` look only in
documents of that sender or author, time, type or folder. While you type a `#name` or `@path`, **Tab** takes
the completion under the cursor of the list.
"""

    @dataclass
    class Sent(Message):
        """The text is to be asked."""

        text: str

    @dataclass
    class Completing(Message):
        """The word under the cursor may be completed: ``words`` are what it may become."""

        words: Sequence[str]

    def __init__(self) -> None:
        super().__init__(
            "",
            soft_wrap=True,
            show_line_numbers=False,
            tab_behavior="focus",
            placeholder=PLACEHOLDER,
            highlight_cursor_line=False,
        )
        self.collections: Sequence[str] = ()
        self.earlier: list[str] = []  # oldest first
        self._at = 0  # in the history, counted from its end; 0 is what is being typed
        self._typed = ""
        self._choices: list[str] = []
        self._choice = 0
        self._changed = 0.0

    # Actions reach the prompt past the keys that were typed before them and wait in its queue: text that
    # is typed fast, or dropped, would be asked without its end. So each takes its turn behind them.

    def action_send(self) -> None:
        self.call_later(self._send)

    def action_newline(self) -> None:
        self.call_later(self.insert, "\n")

    def action_earlier(self) -> None:
        self.call_later(self._earlier)

    def action_later(self) -> None:
        self.call_later(self._later)

    def action_complete(self) -> None:
        """Take the completion; without one go to the next widget."""
        self.call_later(self._complete)

    @property
    def is_being_written(self) -> bool:
        """Whether the user is typing in it, or it holds text that is not asked yet."""
        return self.has_focus and (bool(self.text.strip()) or time.monotonic() - self._changed < _MOMENT)

    def clear_away(self) -> None:
        """Clear the text; ↑ brings it back."""
        if self.text.strip():
            self.remember(self.text)

    # --- asking ----------------------------------------------------------------------------------

    def _send(self) -> None:
        text = self.text.strip()
        if text:
            self.remember(text)  # at once: what is typed from here on belongs to the next question
            self.post_message(self.Sent(text))

    def take_back(self, text: str) -> None:
        """Put back a question that was not asked, unless the next one is being typed."""
        if not self.text.strip():
            self.put(text)

    def put(self, text: str) -> None:
        """Set the text, with the cursor at its end."""
        self.text = text
        self.move_cursor(self.document.end)

    def remember(self, text: str) -> None:
        """Add a question to the history and begin anew."""
        if not self.earlier or self.earlier[-1] != text:
            self.earlier.append(text)
        self._at, self._typed, self._changed = 0, "", 0.0
        self.text = ""

    def _earlier(self) -> None:
        if self._choices:
            self._choose(-1)
        elif self.cursor_at_first_line and self._at < len(self.earlier):
            self._recall(self._at + 1)
        else:
            self.action_cursor_up()

    def _later(self) -> None:
        if self._choices:
            self._choose(1)
        elif self.cursor_at_last_line and self._at > 0:
            self._recall(self._at - 1)
        else:
            self.action_cursor_down()

    def _recall(self, at: int) -> None:
        if self._at == 0:
            self._typed = self.text
        self._at = at
        self.put(self.earlier[-at] if at else self._typed)

    # --- completing ------------------------------------------------------------------------------

    def _complete(self) -> None:
        if not self._choices:
            self.screen.focus_next()
            return
        chosen = self._choices[self._choice]
        word = self._word()
        row, column = self.cursor_location
        ended = chosen if chosen.endswith(os.sep) else f"{chosen} "
        self.replace(ended, (row, column - len(word)), (row, column))

    def select_completion(self, index: int) -> None:
        """Take a completion that was clicked."""
        self._choice = index
        self._complete()
        self.focus()

    @property
    def choice(self) -> int:
        """Which completion would be taken."""
        return self._choice

    def _choose(self, by: int) -> None:
        self._choice = (self._choice + by) % len(self._choices)
        self.post_message(self.Completing(self._choices))

    @on(TextArea.SelectionChanged)
    @on(TextArea.Changed)
    def _look_for_completions(self) -> None:
        if self.text:
            self._changed = time.monotonic()
        choices = _completions(self._word(), self.collections)
        if choices != self._choices:
            self._choices, self._choice = choices, 0
            self.post_message(self.Completing(choices))

    def _word(self) -> str:
        """The word before the cursor, if it begins with a sign that can be completed."""
        row, column = self.cursor_location
        before = self.document.get_line(row)[:column]
        word = before.rsplit(" ", 1)[-1]
        return word if word[:1] in {"#", "@"} else ""


def _completions(word: str, collections: Sequence[str]) -> list[str]:
    if word.startswith("#"):
        names = [f"#{name}" for name in collections if name.casefold().startswith(word[1:].casefold())]
        return [] if names == [word] else names[:_MOST]
    if word.startswith("@"):
        from tui.library.intake import completions

        paths = [f"@{path}" for path in completions(word[1:])]
        return [] if paths == [word] else paths[:_MOST]
    return []


class PromptBox(Vertical):
    """The prompt and, above it, what its last word may become."""

    DEFAULT_CSS = """
    PromptBox { height: auto; }
    PromptBox OptionList {
        height: auto; max-height: 6; border: none; padding: 0 1; background: $panel; display: none;
    }
    PromptBox OptionList.-open { display: block; }
    PromptBox Prompt {
        height: auto; min-height: 3; max-height: 8; min-width: 8; border: round $primary 60%; padding: 0 1;
        background: $background;
    }
    PromptBox Prompt:focus { border: round $primary; }
    """

    def compose(self) -> ComposeResult:
        choices = OptionList(markup=False)
        choices.can_focus = False
        yield choices
        yield Prompt()

    @on(Prompt.Completing)
    def _show_completions(self, event: Prompt.Completing) -> None:
        event.stop()
        choices, prompt = self.query_one(OptionList), self.query_one(Prompt)
        choices.clear_options()
        choices.add_options([Option(Content(word)) for word in event.words])
        choices.set_class(bool(event.words), "-open")
        if event.words:
            choices.highlighted = prompt.choice

    @on(OptionList.OptionSelected)
    def _clicked(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.query_one(Prompt).select_completion(event.option_index)
