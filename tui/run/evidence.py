"""The evidence, step by step: what was recalled, how it was graded, what was kept."""

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

_MOST = 12  # passages of a step
_WORDS = 160  # characters of a passage


@dataclass(frozen=True, slots=True)
class Passage:
    """What it takes to open a passage; ``number`` is 0 for one that was not kept."""

    passage_id: int
    number: int
    collection: str
    title: str
    section: str
    text: str
    quote: str


def passage_of(item: Candidate | Evidence, number: int = 0, quote: str = "") -> Passage:
    """What it takes to open a passage that was found or is cited."""
    title = item["title"] or item["document"]
    return Passage(
        item["passage_id"], number, item["collection"], title, item["section"], item["text"], quote
    )


class EvidenceList(HangingList):
    """Kept passages by their number, the others by their place; Enter opens one."""

    HELP = """\
### The evidence

The passages of each step, best first: the number it is cited by if it was kept, its first words, how
likely it is to answer, and what found it. **Enter** opens it in its document.
"""
    DEFAULT_CSS = """
    EvidenceList { background: transparent; border: none; height: 1fr; padding: 0; }
    EvidenceList:focus { border: none; border-left: outer $accent; }
    """

    @dataclass
    class Opened(Message):
        """A passage is to be opened."""

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
        kept = {item["passage_id"]: item for item in fold.outcome.evidence}
        quotes = fold.outcome.answered.quotes if fold.outcome.answered else {}
        at = self.highlighted
        self._passages = {}
        options: list[Option | None] = []
        for step in fold.outcome.steps:
            if step.hits or step.kept:
                options.append(Option(_heading(step, self.width), disabled=True))
                options.extend(self._rows(step, kept, quotes))
        self.clear_options()
        self.add_options(options or [Option("Nothing has been found yet.", disabled=True)])
        if at is not None and at < self.option_count:
            self.highlighted = at

    def _rows(self, step: Step, kept: dict[int, Evidence], quotes: dict[str, str]) -> list[Option]:
        graded: dict[int, tuple[str, float]] = {}
        for event in step.gradings:
            graded.update(
                zip(event.passages, zip(event.grades, event.probabilities, strict=True), strict=True)
            )
        found_by: dict[int, list[str]] = {}
        for search in step.searches:
            for hit in search.hits:
                if search.strategy not in (strategies := found_by.setdefault(hit["passage_id"], [])):
                    strategies.append(search.strategy)
        order = sorted(
            step.hits,
            key=lambda hit: (-graded.get(hit["passage_id"], ("", hit["score"]))[1], hit["passage_id"]),
        )
        rows: list[Option] = []
        for hit in order[:_MOST]:
            passage = hit["passage_id"]
            number = kept[passage]["number"] if passage in kept else 0
            key = f"{step.number}:{passage}"
            self._passages[key] = passage_of(hit, number, quotes.get(str(number), ""))
            row = _row(hit, number, graded.get(passage), found_by.get(passage, []), self.width)
            rows.append(Option(row, id=key))
        return rows

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Open it."""
        event.stop()
        passage = self._passages.get(event.option.id or "")
        if passage is not None:
            self.post_message(self.Opened(passage))


def _heading(step: Step, width: int) -> Content:
    question = one_line(step.question) or "the question"
    return Content(hanging(f"{step.number}. ", question, width)).stylize("bold")


def _row(
    hit: Candidate, number: int, graded: tuple[str, float] | None, strategies: list[str], width: int
) -> Content:
    mark = f"[{number}]".rjust(4) if number else "   ·"
    grade = f"{GRADES.get(graded[0], graded[0])} {graded[1]:.2f}" if graded else "not read"
    words = one_line(hit["text"], _WORDS)
    where = Content(hanging(f"{mark} ", place(hit), width)).stylize("bold" if number else "$foreground 80%")
    how = hanging("     ", f"{grade} · found by {' and '.join(strategies)}", width)
    said = Content(hanging("     ", words, width)).stylize("$foreground 80%")
    return Content("\n").join([where, said, Content(how).stylize("$foreground 65%")])
