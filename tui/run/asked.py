"""A question of the run, in the conversation: a choice, or a line to type."""

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
from tui.run.questions import judged
from tui.run.words import REPLIES
from tui.terminal import one_line

_MEANS: Mapping[str, str] = {
    **REPLIES,
    "CONTINUE": "keep searching",
    "REVISE": "change the plan",
    "FINISH": "answer now",
}
_MOST = 6  # sentences that are listed


class AskedBox(Vertical):
    """One question; its options are listed, without any a line is read."""

    HELP = """\
### The run asks

**↑ ↓** and **Enter**, or a number, choose; where nothing is listed, type a line. **Esc** goes back to
the prompt; once more, and the run is cancelled, which can be resumed.
"""
    DEFAULT_CSS = """
    AskedBox { height: auto; border: round $accent; padding: 0 1; margin: 0 0 0 2; }
    AskedBox OptionList { height: auto; max-height: 8; background: transparent; padding: 0; }
    AskedBox Input { height: 1; padding: 0; }
    AskedBox OptionList, AskedBox Input { &, &:focus { border: none; } }
    """

    @dataclass
    class Replied(Message):
        """What was chosen or typed, to what kind of question."""

        about: str
        reply: str

    @dataclass
    class Posed(Message):
        """The question is on the screen, to be answered."""

        box: AskedBox

    def __init__(self, asked: ev.Asked) -> None:
        super().__init__()
        self.asked = asked

    def compose(self) -> ComposeResult:
        asked = self.asked
        yield Static(Content(f"? {one_line(asked.question)}").stylize("bold"), classes="asks")
        doubted = [claim for claim in asked.claims if claim["verdict"] != "supported"]
        for claim in doubted[:_MOST]:
            yield Static(Content(f"  ✗ {judged(claim)}"))
        if len(doubted) > _MOST:
            yield Static(Content(f"  … and {len(doubted) - _MOST} more"))
        if asked.options:
            rows = (
                Option(self._label(number, word), id=word) for number, word in enumerate(asked.options, 1)
            )
            yield OptionList(*rows, markup=False)
        else:
            yield Input(placeholder="Type your answer; Enter alone: your best guess")

    def on_mount(self) -> None:
        self.border_title = Content(one_line(self.asked.question, 60))
        # Not when it was handed over to be mounted: what takes the focus has to be composed first.
        self.call_after_refresh(self.post_message, self.Posed(self))

    def take_focus(self) -> None:
        """Focus the input or the choices, with the cursor on the suggested choice only."""
        if not self.asked.options:
            self.query_one(Input).focus(scroll_visible=False)
            return
        choices, suggested = self.query_one(OptionList), self.asked.suggested
        choices.focus(scroll_visible=False)
        # Nothing is chosen by an Enter that was meant for elsewhere.
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
        sure = f"  {share:.0%}" if share is not None else ""
        suggested = "  ← suggested" if word == self.asked.suggested else ""
        means = _MEANS.get(word)
        return Content(f"{number} {means or word}{sure}{suggested}")

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.post_message(self.Replied(self.asked.about, event.option.id or ""))

    @on(Input.Submitted)
    def _typed(self, event: Input.Submitted) -> None:
        event.stop()
        self.post_message(self.Replied(self.asked.about, " ".join(event.value.split())))
