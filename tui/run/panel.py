"""The thinking of a run: its plan, its evidence and its decisions, one tab each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from functools import partial

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList, TabbedContent, TabPane
from textual.widgets.option_list import Option

from agent import events as ev
from agent.state import Candidate
from tui.app.keys import bindings
from tui.app.lists import Drawn, RowList, hanging
from tui.decisions.strip import DecisionStrip
from tui.library.passage import open_kept
from tui.run.fold import EVERYTHING, Part, RunFold, Step, StepState
from tui.run.words import GRADES, STEP_ENDINGS, as_text, places, preview, step_question
from tui.terminal import one_line, unmarked

_MAX_PASSAGES = 12  # passages of a step
_TEXT_LENGTH = 160  # characters of a passage


class EvidenceList(RowList):
    HELP = """\
### The evidence

The passages of each step, best first: the number of the citation if it was kept, its words nearest to the
step's question, how likely it is to answer, and what found it. **Enter** opens it in its document.
"""

    def __init__(self) -> None:
        super().__init__()
        self._passages: dict[str, tuple[Candidate, int, str]] = {}  # passage, number, quote

    def show(self, fold: RunFold) -> None:
        numbers = {item["passage_id"]: item["number"] for item in fold.evidence}
        quotes = fold.answered.quotes if fold.answered else {}
        self._passages = {}
        options: list[Option] = []
        for step in fold.steps:
            if step.hits or step.kept:
                options.append(Option(Drawn(partial(_draw_heading, step)), disabled=True))
                options.extend(self._rows(step, numbers, quotes))
        self.put(options or [Option("Nothing has been found yet.", disabled=True)])

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
        for hit, where in zip(ranking[:_MAX_PASSAGES], places(ranking[:_MAX_PASSAGES]), strict=True):
            passage_id = hit["passage_id"]
            number = numbers.get(passage_id, 0)
            key = f"{step.number}:{passage_id}"
            self._passages[key] = (hit, number, quotes.get(str(number), ""))
            found_by = " and ".join(dict.fromkeys(strategies[passage_id]))
            draw = partial(_draw_row, hit, where, step.question, number, grades.get(passage_id), found_by)
            rows.append(Option(Drawn(draw), id=key))
        return rows

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        if (passage := self._passages.get(event.option.id or "")) is not None:
            open_kept(self, *passage)


def _draw_heading(step: Step, width: int) -> Content:
    question = step_question(step.question) or "the question"
    return hanging(f"{step.number}. ", question, width).stylize("bold")


def _draw_row(
    hit: Candidate,
    where: str,
    question: str,
    number: int,
    grading: tuple[str, float] | None,
    found_by: str,
    width: int,
) -> Content:
    mark = f"[{number}]".rjust(4) if number else "   ·"
    grade = f"{GRADES.get(grading[0], grading[0])} {grading[1]:.2f}" if grading else "not read"
    text = preview(hit["text"], question, _TEXT_LENGTH)
    location = hanging(f"{mark} ", where, width).stylize("bold" if number else "$foreground 80%")
    details = hanging("     ", f"{grade} · found by {found_by}", width).stylize("$foreground 65%")
    excerpt = hanging("     ", text, width).stylize("$foreground 80%")
    return Content("\n").join([location, excerpt, details])


_STATES: Mapping[StepState, tuple[str, str]] = {  # sign, colour
    "open": ("·", "$foreground 65%"),
    "under way": ("▸", "bold $accent"),
    "found": ("✓", "$success"),
    "unsure": ("~", "$foreground 65%"),
    "irrelevant": ("✗", "$error"),
    "nothing": ("✗", "$error"),
    "skipped": ("–", "$foreground 65%"),
}


class PlanTree(RowList):
    """The steps so far, then the rest of the plan.

    It is a list whose entries open and close, because Textual's tree cuts off long lines.
    """

    HELP = """\
### The plan

`✓` found, `~` passages from which the answer is written, `✗` nothing found, `▸` in progress, `·` still to
come, `–` skipped. **Enter** opens and closes a step: its searches, the grades of their passages, and what
else was tried. `→` is the finding.
"""

    def __init__(self) -> None:
        super().__init__()
        self._fold = RunFold()
        self._toggled: set[int] = set()  # steps that the user opened or closed

    def show(self, fold: RunFold) -> None:
        if self._fold.run_id != fold.run_id:
            self._toggled = set()
        self._fold = fold
        rows: list[Callable[[int], Content]] = [partial(self._draw_step, step) for step in fold.steps]
        for number, step in enumerate(fold.plan[len(rows) :], start=len(rows) + 1):
            rows.append(partial(_draw_label, "open", number, step["question"]))
        rows = rows or [lambda _width: Content.styled("No plan yet.", "$foreground 65%")]
        if len(rows) != self.option_count:
            self.put(Option(Drawn(row), id=str(number)) for number, row in enumerate(rows, start=1))
            return
        for index, row in enumerate(rows):
            self.replace_option_prompt_at_index(index, Drawn(row))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self._toggled ^= {int(event.option.id or 0)}
        self.show(self._fold)

    def _draw_step(self, step: Step, width: int) -> Content:
        state = self._fold.state_of(step)
        label = _draw_label(state, step.number, step.question or self._fold.question, width)
        is_open = (state == "under way") != (step.number in self._toggled)
        kept = {item["passage_id"] for item in self._fold.evidence if item["number"] in step.kept}
        lines = [hanging("   ", line, width) for line in (_trail(step, kept) if is_open else ())]
        if step.note is not None and step.note["sentence"]:
            lines.append(hanging("   → ", unmarked(one_line(step.note["sentence"])), width))
        return Content("\n").join([label, *(line.stylize("$foreground 80%") for line in lines)])


def _trail(step: Step, kept: Set[int]) -> list[str]:
    """What was tried in a step, in lines.

    Once it has ended, searches in other words that added nothing to what it kept stand in its first line.
    """
    added_nothing: list[ev.Searched] = []
    found: set[int] = set()
    for search in step.searches if step.note is not None else ():
        new = {hit["passage_id"] for hit in search.hits} & kept - found
        found |= new
        if not new and search.rung in {"", "reword"} and search != step.searches[0]:
            added_nothing.append(search)
    lines = [as_text(event) for event in step.trail if event not in added_nothing]
    also = " · ".join(dict.fromkeys(one_line(search.query) for search in added_nothing))
    return [f"{lines[0]}; also: {also}", *lines[1:]] if also else lines


def _draw_label(state: StepState, number: int, question: str, width: int) -> Content:
    sign, colour = _STATES[state]
    suffix = f" ({STEP_ENDINGS[state]})" if state in STEP_ENDINGS else ""
    text = hanging(f"{sign} {number}. ", f"{step_question(question)}{suffix}", width)
    return text.stylize(colour, 0, 1 if state == "found" else None)


_TABS = ("plan", "evidence", "decisions")


class RunPanel(Vertical):
    """The panel beside a conversation or a replay, drawn from the fold alone."""

    BINDINGS = bindings("thinking")
    HELP = """\
### The thinking

**→** and **←** go through the plan, the evidence and the decisions.
"""
    DEFAULT_CSS = """
    RunPanel { width: 1fr; height: 1fr; }
    RunPanel TabPane { padding: 0; }
    RunPanel TabbedContent { height: 1fr; }
    PlanTree, EvidenceList { background: transparent; border: none; padding: 0; height: 1fr; }
    PlanTree:focus, EvidenceList:focus { border: none; border-left: outer $accent; }
    """

    def compose(self) -> ComposeResult:
        with TabbedContent():
            with TabPane("Plan", id="plan"):
                yield PlanTree()
            with TabPane("Evidence", id="evidence"):
                yield EvidenceList()
            with TabPane("Decisions", id="decisions"):
                yield DecisionStrip()

    def focus_first(self) -> None:
        if not self.query(DecisionStrip):  # the tabs are still being composed
            self.call_after_refresh(self.focus_first)
        elif (pane := self.query_one(TabbedContent).active_pane) is not None:
            pane.query("*").first().focus()

    def action_tab(self, by: int) -> None:
        tabs = self.query_one(TabbedContent)
        index = _TABS.index(tabs.active) if tabs.active in _TABS else 0
        tabs.active = _TABS[(index + by) % len(_TABS)]
        self.call_after_refresh(self.focus_first)

    def show(self, fold: RunFold, changed: frozenset[Part] = EVERYTHING) -> None:
        if not self.query(DecisionStrip):  # the tabs are still being composed
            self.call_after_refresh(self.show, fold)
            return
        if changed & {"plan", "question"}:
            self.query_one(PlanTree).show(fold)
        if changed & {"evidence", "answer", "question"}:
            self.query_one(EvidenceList).show(fold)
        if changed & {"decisions", "reply", "question"}:
            self.query_one(DecisionStrip).show_run(fold)
