"""A question of the run to the user, in the conversation: a choice, or a line to type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from agent import events as ev
from tui.run.questions import judged_sentence
from tui.run.words import REPLIES
from tui.terminal import one_line

_MEANINGS: Mapping[str, str] = {
    **REPLIES,
    "CONTINUE": "keep searching",
    "REVISE": "change the plan",
    "FINISH": "answer now",
}
_MAX_CLAIMS = 6


class AskedBox(Vertical):
    """One question: a list of its options, or an input line if it has none."""

    HELP = """\
### The run asks

**↑ ↓** and **Enter**, or a number, choose; where nothing is listed, type a line. **Esc** goes back to
the prompt; pressed again, it cancels the run, which can be resumed.
"""
    DEFAULT_CSS = """
    AskedBox { height: auto; border: round $accent; padding: 0 1; margin: 0 0 0 2; }
    AskedBox OptionList { height: auto; max-height: 8; background: transparent; padding: 0; }
    AskedBox Input { height: 1; padding: 0; }
    AskedBox OptionList, AskedBox Input { &, &:focus { border: none; } }
    """

    @dataclass
    class Replied(Message):
        """What the user chose or typed, and the kind of question."""

        about: str
        reply: str

    @dataclass
    class Posed(Message):
        """The question is on the screen and can be answered."""

        box: AskedBox

    def __init__(self, event: ev.Asked) -> None:
        super().__init__()
        self.asked = event

    def compose(self) -> ComposeResult:
        event = self.asked
        yield Static(Content(f"? {one_line(event.question)}").stylize("bold"), classes="asks")
        doubtful_claims = [claim for claim in event.claims if claim["verdict"] != "supported"]
        for claim in doubtful_claims[:_MAX_CLAIMS]:
            yield Static(Content(f"  ✗ {judged_sentence(claim)}"))
        if len(doubtful_claims) > _MAX_CLAIMS:
            yield Static(Content(f"  … and {len(doubtful_claims) - _MAX_CLAIMS} more"))
        if event.options:
            rows = (
                Option(self._label(number, word), id=word) for number, word in enumerate(event.options, 1)
            )
            yield OptionList(*rows, markup=False)
        else:
            yield Input(placeholder="Type your answer; Enter alone: your best guess")

    def on_mount(self) -> None:
        self.border_title = Content(one_line(self.asked.question, 60))
        # Only now: the widget that takes the focus has to be composed first.
        self.call_after_refresh(self.post_message, self.Posed(self))

    def take_focus(self) -> None:
        """Focus the input or the choices; the cursor starts on the suggested choice, else on none."""
        if not self.asked.options:
            self.query_one(Input).focus(scroll_visible=False)
            return
        choices, suggested = self.query_one(OptionList), self.asked.suggested
        choices.focus(scroll_visible=False)
        # Without a suggestion, an Enter that was meant for another widget chooses nothing.
        choices.highlighted = (
            self.asked.options.index(suggested) if suggested in self.asked.options else None
        )

    def on_key(self, event: events.Key) -> None:
        key = event.character or ""
        if self.asked.options and key.isdecimal() and 1 <= int(key) <= len(self.asked.options):
            event.stop()
            self.post_message(self.Replied(self.asked.about, self.asked.options[int(key) - 1]))

    def _label(self, number: int, word: str) -> Content:
        share = self.asked.probabilities.get(word)
        confidence = f"  {share:.0%}" if share is not None else ""
        suggested = "  ← suggested" if word == self.asked.suggested else ""
        meaning = _MEANINGS.get(word)
        return Content(f"{number} {meaning or word}{confidence}{suggested}")

    @on(OptionList.OptionSelected)
    def _reply_with_option(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.post_message(self.Replied(self.asked.about, event.option.id or ""))

    @on(Input.Submitted)
    def _reply_with_text(self, event: Input.Submitted) -> None:
        event.stop()
        self.post_message(self.Replied(self.asked.about, " ".join(event.value.split())))
