"""One decision in full: the state as the decider saw it, the reasons, the second opinion, the label."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from textual import events
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from agent import events as ev
from agent.decisions.decider import STATE_VERSION
from agent.state import ACTIONS
from tui.app.widgets.decision_lines import ORIGINS, Row, action, bar, judgement, percent, source, took
from tui.terminal import clean, one_line

_NAMES = 14  # cells for what a line is about
_GRADES: Mapping[str, str] = {
    "correct": "enough",
    "ambiguous": "not quite enough",
    "incorrect": "not enough",
}
_QUIET = "$foreground 65%"

Fact = tuple[str, Content | str]
"""What a line is about, and what it says."""


class DecisionDetail(VerticalScroll):
    """What stands behind the decision under the cursor."""

    DEFAULT_CSS = """
    DecisionDetail { height: 1fr; padding: 0 1; }
    DecisionDetail:focus { background: $surface; }
    """
    HELP = """
### One decision

The decision with its reason in full, and what the decider saw: the very figures and words that are
stored, and that a policy learns from. Beneath: what a second source (the *shadow*) would have done in its
place, and what you said of it.

**↑ ↓** scroll.
"""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._row: Row | None = None

    def compose(self) -> ComposeResult:
        """One text."""
        yield Static(id="told")

    def show(self, told: Row | None) -> None:
        """Show another decision, from its beginning; nothing if there is none."""
        if told == self._row:
            return
        same = told is not None and self._row is not None and told.decided is self._row.decided
        self._row = told
        self._draw()
        if not same:
            self.scroll_home(animate=False)

    def on_resize(self, _event: events.Resize) -> None:
        """Lines are as long as there is room."""
        self._draw()

    def _draw(self) -> None:
        width = max(24, self.scrollable_content_region.width)
        lines = detail(self._row, width) if self._row is not None else []
        self.query_one("#told", Static).update(Content("\n").join(lines))


def detail(told: Row, width: int) -> list[Content]:
    """Everything that is known of a decision, in lines of at most ``width`` cells."""
    decided = told.decided
    if isinstance(decided, ev.Asked):
        return _asked(decided, width)
    lines = _section("Decision", _decision(decided), width)
    lines += _section("What the decider saw", list(_state(decided)), width)
    if decided.shadow:
        lines += _section("Second opinion, not acted on", _opinion(decided.shadow, decided, width), width)
    if told.label:
        facts: list[Fact] = [
            ("you say", Content.styled(judgement(told.label, decided.action), "bold $accent")),
            ("given", ORIGINS.get(told.label.origin, told.label.origin)),
        ]
        if told.label.note:
            facts.append(("because", one_line(told.label.note)))
        lines += _section("Your label", facts, width)
    return lines[:-1]


def _asked(asked: ev.Asked, width: int) -> list[Content]:
    facts: list[Fact] = [
        ("it asks", one_line(asked.question)),
        ("suggested", action(asked.suggested)),
        ("how sure", _bars(asked.probabilities, asked.options, width)),
        ("your turn", "1 CONTINUE, 2 REVISE, 3 FINISH, with the cursor on its row"),
    ]
    return _section("The run waits for you", facts, width)[:-1]


def _decision(decided: ev.Decided) -> list[Fact]:
    by = " in ".join(filter(None, (f"by {source(decided.source)}", took(decided.latency_ms))))
    facts: list[Fact] = [("action", Content.assemble(action(decided.action), f"  {by}"))]
    if decided.justification:
        facts.append(("because", one_line(decided.justification)))
    missing = [name for name in ACTIONS if decided.valid and name not in decided.valid]
    if missing:
        facts.append(("not possible", ", ".join(missing)))
    if decided.behaviour_probability < 1:
        facts.append(("by chance", f"taken here with probability {decided.behaviour_probability:.2f}"))
    return facts


def _state(decided: ev.Decided) -> Iterator[Fact]:
    """The fields of `agent.decisions.decider.PolicyState`, as far as the state has them."""
    state = decided.state
    if not state:
        yield "", "Its state is not stored."
        return
    if decided.state_version != STATE_VERSION:
        yield (
            "encoding",
            f"version {decided.state_version}; today’s is {STATE_VERSION}, so it is not learnt from",
        )
    if "question" in state:
        yield "question", one_line(str(state["question"]))
    yield "steps", _joined(state, ("step", "{} done"), ("steps_left", "{} left"))
    yield "left", _joined(state, ("revisions_left", "{} revision{s}"), ("tokens_left", "{:.0%} of tokens"))
    yield "plan", _joined(state, ("plan_done", "{} step{s} worked off"))
    yield from _listed("still open", state.get("open_questions"))
    if state.get("query"):
        yield "last search", f"“{one_line(str(state['query']))}”"
    grade = str(state.get("grade", ""))
    if grade:
        yield "its passages", f"{grade}: {_GRADES.get(grade, grade)}"
    yield "top score", _joined(state, ("top_score", "{:.3f}"), ("corrections", "{} correction{s}"))
    yield "passages", _joined(state, ("fresh", "{} new"), ("again", "{} known before"))
    yield "barren", _joined(state, ("barren", "{} step{s} in a row without a new passage"))
    if state.get("last_action"):
        yield "before it", action(str(state["last_action"]))
    yield from _listed("findings", [_finding(found) for found in state.get("findings", ())])
    yield from _listed("missing", state.get("missing"))
    evidence = state.get("evidence", ())
    yield "evidence", f"{len(evidence)} passage{'s' * (len(evidence) != 1)} held"
    for item in evidence:
        title, excerpt = one_line(str(item.get("title", ""))), one_line(str(item.get("excerpt", "")), 160)
        yield "", Content.assemble((title, "bold"), f": {excerpt}" if excerpt else "")


def _joined(state: Mapping[str, Any], *parts: tuple[str, str]) -> str:
    told = [form.format(state[name], s="s" * (state[name] != 1)) for name, form in parts if name in state]
    return ", ".join(told)


def _finding(found: Mapping[str, Any]) -> str:
    question = one_line(str(found.get("question", "")))
    if not found.get("found"):
        return f"✗ {question}: nothing found"
    answer = one_line(str(found.get("answer", "")))
    return f"✓ {question}: {answer}" if answer else f"✓ {question}"


def _listed(name: str, values: Sequence[str] | None) -> Iterator[Fact]:
    for place, value in enumerate(values or ()):
        yield ("" if place else name), one_line(str(value))


def _opinion(shadow: Mapping[str, Any], decided: ev.Decided, width: int) -> list[Fact]:
    would, by = str(shadow.get("action", "")), source(str(shadow.get("source", "")))
    same = would == decided.action
    spent = took(float(shadow.get("latency_ms", 0.0)))
    facts: list[Fact] = [
        (by, Content.assemble("= agrees: " if same else "≠ would rather: ", action(would))),
        ("how sure", _bars(shadow.get("probabilities", {}), decided.valid or ACTIONS, width)),
    ]
    if shadow.get("justification"):
        facts.append(("because", one_line(str(shadow["justification"]))))
    if spent:
        facts.append(("took", spent))
    return facts


def _bars(probabilities: Mapping[str, float], valid: Sequence[str], width: int) -> Content:
    lines = []
    for name in ACTIONS:
        if name not in valid:
            lines.append(Content.styled(f"{name:<9}– not possible", _QUIET))
            continue
        share = float(probabilities.get(name, 0.0))
        cells = max(4, min(24, width - _NAMES - 9 - 6))
        best = share >= max(probabilities.values(), default=1.0)
        filled = bar(share, cells, strong=best)
        lines.append(Content.assemble(f"{name:<9}", filled, f" {percent(share)}"))
    return Content("\n").join(lines)


def _section(title: str, facts: Sequence[Fact], width: int) -> list[Content]:
    """A heading, a line for each fact, folded beneath its own beginning, and an empty line."""
    lines = [Content.styled(title, "bold $primary")]
    room = width - _NAMES
    for name, value in facts:
        if not value:
            continue
        content = value if isinstance(value, Content) else Content(clean(value))
        for place, line in enumerate(content.wrap(room)):
            about = "" if place else name
            lines.append(Content.assemble((f"{about:<{_NAMES}}", _QUIET), line))
    return [*lines, Content("")]
