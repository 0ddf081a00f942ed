"""What can be done after an answer that is not whole: the nearest passages, and other ways to look."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from textual import on
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from tui.app.lists import Offers, hanging
from tui.run.evidence import Passage
from tui.run.fold import RunFold
from tui.run.words import place
from tui.terminal import one_line

_WORDS = 160


class WaysOn(Offers):
    """Passages and ways, one a row; **Enter** takes the one under the cursor."""

    HELP = """\
### What next

The passages that came nearest, and other ways to look. **Enter** opens a passage, or takes the way.
"""

    @dataclass
    class Taken(Message):
        """A way was taken: ``ask`` (put the question into the prompt), ``everywhere`` or ``search``."""

        way: str
        question: str

    @dataclass
    class Opened(Message):
        """A passage is to be opened."""

        passage: Passage

    def __init__(self) -> None:
        super().__init__()
        self._rows: list[tuple[str, str | Passage, tuple[str, str]]] = []  # way, what of, lead and words

    def show(self, fold: RunFold, *, narrowed: bool) -> None:
        """Offer what the end of a run leaves to do.

        Args:
            fold: The run.
            narrowed: Whether it looked in some collections only.
        """
        self._rows = []
        outcome = fold.outcome
        if outcome.status in {"not_found", "stopped"}:
            for hit in outcome.nearest():
                words = f"{place(hit)}: {one_line(hit['text'], _WORDS)}"
                opens = Passage(
                    hit["passage_id"],
                    0,
                    hit["collection"],
                    hit["title"] or hit["document"],
                    hit["section"],
                    hit["text"],
                    "",
                )
                self._rows.append(("open", opens, ("nearest  ", words)))
            self._rows.append(("ask", outcome.question, ("→ ", "Ask in other words")))
            if narrowed:
                self._rows.append(("everywhere", outcome.question, ("→ ", "Search all collections")))
            self._rows.append(("search", outcome.question, ("→ ", "Search the library with this question")))
        elif outcome.status == "answered" and outcome.answered is not None:
            self._rows += [
                ("ask", question, ("→ ", f"Ask about what is missing: “{one_line(question, _WORDS)}”"))
                for question in outcome.answered.missing
            ]
        self.redraw()
        self.set_class(not self._rows, "hidden")

    def rows(self) -> Iterable[Option]:
        return (Option(Content(hanging(*told, self.width))) for *_, told in self._rows)

    @on(OptionList.OptionSelected)
    def _take(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        way, about, _ = self._rows[event.option_index]
        self.post_message(self.Opened(about) if isinstance(about, Passage) else self.Taken(way, about))
