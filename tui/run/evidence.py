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


@dataclass(frozen=True, slots=True)
class Passage:
    """What is needed to open a passage; ``number`` is 0 if it was not kept."""

    passage_id: int
    number: int
    collection: str
    title: str
    section: str
    text: str
    quote: str


def passage_of(item: Candidate | Evidence, number: int = 0, quote: str = "") -> Passage:
    """What is needed to open a passage that was found or is cited."""
    title = item["title"] or item["document"]
    return Passage(
        item["passage_id"], number, item["collection"], title, item["section"], item["text"], quote
    )


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

    @dataclass
    class Opened(Message):
        """The user opens a passage."""

        passage: Passage

    def __init__(self) -> None:
        super().__init__()
        self._passages: dict[str, Passage] = {}
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
        evidence = {item["passage_id"]: item for item in fold.outcome.evidence}
        quotes = fold.outcome.answered.quotes if fold.outcome.answered else {}
        cursor = self.highlighted
        self._passages = {}
        options: list[Option | None] = []
        for step in fold.outcome.steps:
            if step.hits or step.kept:
                options.append(Option(_heading(step, self.width), disabled=True))
                options.extend(self._rows(step, evidence, quotes))
        self.clear_options()
        self.add_options(options or [Option("Nothing has been found yet.", disabled=True)])
        if cursor is not None and cursor < self.option_count:
            self.highlighted = cursor

    def _rows(self, step: Step, evidence: dict[int, Evidence], quotes: dict[str, str]) -> list[Option]:
        grades: dict[int, tuple[str, float]] = {}
        for event in step.gradings:
            grades.update(
                zip(event.passages, zip(event.grades, event.probabilities, strict=True), strict=True)
            )
        found_by: dict[int, list[str]] = {}
        for search in step.searches:
            for hit in search.hits:
                if search.strategy not in (strategies := found_by.setdefault(hit["passage_id"], [])):
                    strategies.append(search.strategy)
        ranking = sorted(
            step.hits,
            key=lambda hit: (-grades.get(hit["passage_id"], ("", hit["score"]))[1], hit["passage_id"]),
        )
        rows: list[Option] = []
        for hit in ranking[:_MAX_PASSAGES]:
            passage_id = hit["passage_id"]
            number = evidence[passage_id]["number"] if passage_id in evidence else 0
            key = f"{step.number}:{passage_id}"
            self._passages[key] = passage_of(hit, number, quotes.get(str(number), ""))
            row = _row(hit, number, grades.get(passage_id), found_by.get(passage_id, []), self.width)
            rows.append(Option(row, id=key))
        return rows

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Open the passage."""
        event.stop()
        passage = self._passages.get(event.option.id or "")
        if passage is not None:
            self.post_message(self.Opened(passage))


def _heading(step: Step, width: int) -> Content:
    question = one_line(step.question) or "the question"
    return Content(hanging(f"{step.number}. ", question, width)).stylize("bold")


def _row(
    hit: Candidate, number: int, grading: tuple[str, float] | None, strategies: list[str], width: int
) -> Content:
    mark = f"[{number}]".rjust(4) if number else "   ·"
    grade = f"{GRADES.get(grading[0], grading[0])} {grading[1]:.2f}" if grading else "not read"
    text = one_line(hit["text"], _TEXT_LENGTH)
    location = Content(hanging(f"{mark} ", place(hit), width)).stylize(
        "bold" if number else "$foreground 80%"
    )
    details = hanging("     ", f"{grade} · found by {' and '.join(strategies)}", width)
    excerpt = Content(hanging("     ", text, width)).stylize("$foreground 80%")
    return Content("\n").join([location, excerpt, Content(details).stylize("$foreground 65%")])
