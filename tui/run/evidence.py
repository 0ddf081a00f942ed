"""The evidence, step by step: the passages found, their grades, and which were kept."""

from __future__ import annotations

from dataclasses import dataclass

from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from agent.state import Candidate, Evidence
from tui.app.lists import HangingList, hanging
from tui.run.fold import Part, RunFold, Step
from tui.run.words import GRADES, place
from tui.terminal import one_line

_MAX_PASSAGES = 12  # passages of a step
_TEXT_LENGTH = 160  # characters of a passage


@dataclass
class PassageWanted(Message):
    """Open a passage in its document; ``number`` is its citation's, 0 if it was not kept."""

    item: Candidate | Evidence
    number: int = 0
    quote: str = ""


class EvidenceList(HangingList):
    """The passages of each step, the kept ones with their number; Enter opens one."""

    HELP = """\
### The evidence

The passages of each step, best first: the number of the citation if it was kept, its first words, how
likely it is to answer, and what found it. **Enter** opens it in its document.
"""
    DEFAULT_CSS = """
    EvidenceList { background: transparent; border: none; height: 1fr; padding: 0; }
    EvidenceList:focus { border: none; border-left: outer $accent; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._passages: dict[str, tuple[Candidate, int, str]] = {}  # passage, number, quote
        self._fold: RunFold | None = None

    def show(self, fold: RunFold, changed: frozenset[Part]) -> None:
        """Draw what changed."""
        self._fold = fold
        if changed & {"evidence", "answer"}:
            self.redraw()

    def draw(self) -> None:
        fold = self._fold
        if fold is None:
            return
        numbers = {item["passage_id"]: item["number"] for item in fold.evidence}
        quotes = fold.answered.quotes if fold.answered else {}
        cursor = self.highlighted
        self._passages = {}
        options: list[Option | None] = []
        for step in fold.steps:
            if step.hits or step.kept:
                options.append(Option(_heading(step, self.width), disabled=True))
                options.extend(self._rows(step, numbers, quotes))
        self.clear_options()
        self.add_options(options or [Option("Nothing has been found yet.", disabled=True)])
        if cursor is not None and cursor < self.option_count:
            self.highlighted = cursor

    def _rows(self, step: Step, numbers: dict[int, int], quotes: dict[str, str]) -> list[Option]:
        grades = step.grades
        strategies: dict[int, list[str]] = {}
        for search in step.searches:
            for hit in search.hits:
                strategies.setdefault(hit["passage_id"], []).append(search.strategy)
        ranking = sorted(
            step.hits,
            key=lambda hit: (-grades.get(hit["passage_id"], ("", hit["score"]))[1], hit["passage_id"]),
        )
        rows: list[Option] = []
        for hit in ranking[:_MAX_PASSAGES]:
            passage_id = hit["passage_id"]
            number = numbers.get(passage_id, 0)
            key = f"{step.number}:{passage_id}"
            self._passages[key] = (hit, number, quotes.get(str(number), ""))
            found_by = " and ".join(dict.fromkeys(strategies[passage_id]))
            rows.append(Option(_row(hit, number, grades.get(passage_id), found_by, self.width), id=key))
        return rows

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Open the passage."""
        event.stop()
        if (passage := self._passages.get(event.option.id or "")) is not None:
            self.post_message(PassageWanted(*passage))


def _heading(step: Step, width: int) -> Content:
    question = one_line(step.question) or "the question"
    return Content(hanging(f"{step.number}. ", question, width)).stylize("bold")


def _row(
    hit: Candidate, number: int, grading: tuple[str, float] | None, found_by: str, width: int
) -> Content:
    mark = f"[{number}]".rjust(4) if number else "   ·"
    grade = f"{GRADES.get(grading[0], grading[0])} {grading[1]:.2f}" if grading else "not read"
    text = one_line(hit["text"], _TEXT_LENGTH)
    location = Content(hanging(f"{mark} ", place(hit), width)).stylize(
        "bold" if number else "$foreground 80%"
    )
    details = hanging("     ", f"{grade} · found by {found_by}", width)
    excerpt = Content(hanging("     ", text, width)).stylize("$foreground 80%")
    return Content("\n").join([location, excerpt, Content(details).stylize("$foreground 65%")])
