"""The decisions of one run, what the decider saw at each, and their labels."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from textual import on
from textual.app import ComposeResult
from textual.containers import Container
from textual.content import Content
from textual.widgets import OptionList, Static

from agent import events as ev
from agent.decisions.decider import OLDEST_VERSION
from agent.state import PLAN_ACTIONS
from traces.runs import Run, Runs
from tui.app.base import Pane
from tui.app.failure import failure_text
from tui.app.keys import bindings
from tui.app.lists import QUIET, Sheet, facts, gauge, titled
from tui.app.reach import deepthink
from tui.app.work import Failed, in_background
from tui.decisions import strip
from tui.decisions.strip import DecisionStrip, Row
from tui.run.fold import RunFold, fold_of
from tui.run.words import ENOUGH, GRADES, STEP_ENDINGS, UNSURE, local_time, status, step_question
from tui.terminal import clean, counted, one_line

_MAX_RUNS = 2000


_NAME_WIDTH = 14  # cells

Fact = tuple[str, Content | str]
"""A name and its value."""


class DecisionDetail(Sheet):
    DEFAULT_CSS = """
    DecisionDetail { height: 1fr; padding: 0 1; }
    DecisionDetail:focus { background: $surface; }
    """
    NARROWEST = 24
    HELP = """
### One decision

The decision with its full reason, and what the decider saw: exactly the figures and words that are
stored, and that a policy learns from. Below: what a second source (the *shadow*) would have done in its
place, and your label.
"""

    def __init__(self) -> None:
        super().__init__()
        self._row: Row | None = None

    def show(self, row: Row | None) -> None:
        """Show a decision, scrolled to the top if it is another one; None shows nothing."""
        if row == self._row:
            return
        same = row is not None and self._row is not None and row.decided is self._row.decided
        self._row = row
        self.redraw()
        if not same:
            self.scroll_home(animate=False)

    def lines(self, width: int) -> list[Content]:
        return detail(self._row, width) if self._row is not None else []


def detail(row: Row, width: int) -> list[Content]:
    event, label = row.decided, row.label
    if isinstance(event, ev.Asked):  # the row says it all
        return []
    lines = _section("Decision", _decision(event, width), width)
    lines += _section("What the decider saw", _state(event), width)
    if event.shadow:
        lines += _section("Second opinion, not acted on", _opinion(event.shadow, event, width), width)
    if label:
        rows: list[Fact] = [
            ("you say", Content.styled(strip.judgement(label, event.action), "bold $accent")),
            ("given", strip.ORIGINS.get(label.origin, label.origin)),
            ("because", one_line(label.note)),
        ]
        lines += _section("Your label", rows, width)
    return lines[:-1]


def _decision(event: ev.Decided, width: int) -> Iterator[Fact]:
    yield "action", Content.assemble(strip.action(event.action), f"  {strip.taken_by(event)}")
    yield "because", one_line(event.justification)
    yield "how sure", _bars(event.probabilities, event.valid or PLAN_ACTIONS, width)
    if event.behaviour_probability < 1:
        yield "by chance", f"taken here with probability {event.behaviour_probability:.2f}"


_FIGURES: Final = (
    ("question", "{question}"),
    ("steps", "{step} done, at most {steps_left} more"),
    ("left", "revisions {revisions_left}, tokens {tokens_left:.0%}"),
    ("plan", "{plan_done} of its steps done"),
    ("last search", "“{query}”"),
    ("its passages", "{grade}"),
    ("", "{fresh} new, {again} seen before, top score {top_score:.3f}"),
    ("", "corrections {corrections}, steps in a row without a new one {barren}"),
    ("before it", "{last_action}"),
)
"""Facts about a state: their name and words. One without any of its fields is left out."""
_NOT_FOUND: Final = {False: UNSURE, True: STEP_ENDINGS["skipped"]}  # by whether the user skipped it
_FIELD: Final = re.compile(r"\{(\w+)")


def _state(event: ev.Decided) -> Iterator[Fact]:
    """The stored fields of `agent.decisions.decider.PolicyState`, as far as the encoding has them."""
    state: dict[str, Any] = {
        name: one_line(value) if isinstance(value, str) else value for name, value in event.state.items()
    }
    if not state:
        yield "", "Its state is not stored."
        return
    if event.state_version < OLDEST_VERSION:
        yield "encoding", f"version {event.state_version}, too old to learn from"
    if grade := state.get("grade"):
        state["grade"] = f"{GRADES.get(grade, grade)}: {ENOUGH.get(grade, grade)}"
    for name, form in _FIGURES:
        if all(state.get(field, "") != "" for field in _FIELD.findall(form)):
            yield name, form.format_map(state)
    findings = [
        f"✓ {finding.get('question', '')}: {finding.get('answer', '')}".removesuffix(": ")
        if finding.get("found")
        else f"~ {finding.get('question', '')}: {_NOT_FOUND[bool(finding.get('skipped'))]}"
        for finding in state.get("findings", ())
    ]
    evidence = [
        one_line(f"{item.get('title', '')}: {item.get('excerpt', '')}", 200)
        for item in state.get("evidence", ())
    ]
    for name, values in (
        ("still open", state.get("open_questions", ())),
        ("findings", findings),
        ("missing", state.get("missing", ())),
        ("evidence", evidence or ["no passage kept"]),
    ):
        for place, value in enumerate(values):
            yield ("" if place else name), step_question(str(value))


def _opinion(shadow: Mapping[str, Any], event: ev.Decided, width: int) -> Iterator[Fact]:
    other_action = str(shadow.get("action", ""))
    sign = "= agrees: " if other_action == event.action else "≠ would rather: "
    yield strip.source(str(shadow.get("source", ""))), Content.assemble(sign, strip.action(other_action))
    yield "how sure", _bars(shadow.get("probabilities", {}), event.valid or PLAN_ACTIONS, width)
    yield "because", one_line(str(shadow.get("justification", "")))
    yield "took", strip.took(float(shadow.get("latency_ms", 0.0)))


def _bars(probabilities: Mapping[str, float], valid: Sequence[str], width: int) -> Content:
    cells = max(4, min(24, width - _NAME_WIDTH - 9 - 6))
    highest = max(probabilities.values(), default=1.0)
    lines = []
    for name in strip.listed(valid):
        if name not in valid:
            lines.append(Content.styled(f"{name:<9}{strip.NOT_POSSIBLE} not possible", QUIET))
            continue
        share = float(probabilities.get(name, 0.0))
        filled = gauge(share, cells, "$primary" if share >= highest else "$primary 55%")
        lines.append(Content.assemble(f"{name:<9}", filled, f" {strip.percent(share)}"))
    return Content("\n").join(lines)


def _section(title: str, rows: Iterable[Fact], width: int) -> list[Content]:
    """The facts that are not empty under a title, wrapped, and an empty line."""
    shown = [
        (name, Content(clean(value)) if isinstance(value, str) else value) for name, value in rows if value
    ]
    return titled(title, facts(shown, width, _NAME_WIDTH))


_EMPTY = """\
After each step of its plan, a run decides whether to keep searching, to change the plan, or to answer. \
Each decision is kept with everything it was taken from, and shown here.

Press {ask} and ask something that takes more than one step.
"""


_READING = Content.styled("Reading the stored runs …", "bold $primary")


class DecisionsPane(Pane):
    """Shows the newest run that decided something, as far as it is stored; keys switch to the others."""

    BINDINGS = bindings("decisions")
    HELP = """
### The decisions of one run

Beside them is what the decider saw, why it decided so, and what another source would have done. A policy
learns from what you say of them, together with the outcomes.
"""

    def __init__(self) -> None:
        super().__init__("Decisions", id="decisions")
        self._run_ids: Sequence[str] = ()  # newest first
        self._requested_id = ""  # id of the run that is shown or being read
        self._shown: tuple[RunFold, Run] | None = None

    def compose(self) -> ComposeResult:
        yield Static(id="run")
        message = Static(id="message", classes="empty")
        message.can_focus = True  # the keys of the pane need a focus in it
        yield message
        with Container(id="both"):
            yield DecisionStrip()
            yield DecisionDetail()

    def on_mount(self) -> None:
        self._show_message(_READING)
        self.read_again()

    def read_again(self) -> None:
        """List the runs, and read the one on the screen again: it may go on."""
        store = deepthink(self).engine.store

        def work() -> list[str]:
            return [run.id for run in Runs(store).search(limit=_MAX_RUNS) if run.decisions]

        in_background(self, work, self._show_listed_runs, group="runs", exclusive=True)

    def _show_listed_runs(self, run_ids: Sequence[str]) -> None:
        """Stay at the run that the user has gone to, else show the newest."""
        has_gone = self._requested_id in run_ids and self._requested_id not in self._run_ids[:1]
        self._run_ids = run_ids
        if run_ids:
            self._read_run(self._requested_id if has_gone else run_ids[0])
        else:
            text = _EMPTY.format(ask=deepthink(self).key_for("app.ask"))
            self._show_message(Content.assemble(("No decisions yet", "bold $primary"), "\n\n", text))

    def _read_run(self, run_id: str) -> None:
        self._requested_id = run_id
        store = deepthink(self).engine.store

        def work() -> tuple[RunFold, Run]:
            run = Runs(store).find(run_id)
            return fold_of(store, run), run

        in_background(self, work, self._show_run, group="run", exclusive=True)

    @on(Failed)
    def _show_failure(self, message: Failed) -> None:
        if self._shown is None:  # the app shows later failures, and the run stays on the screen
            self._show_message(failure_text(self, message.error, "learn.reload"))

    def _show_run(self, read: tuple[RunFold, Run]) -> None:
        strip, (fold, run) = self.query_one(DecisionStrip), read
        if run.id != self._requested_id:
            return
        is_other = self._shown is None or self._shown[0].run_id != fold.run_id
        self._shown = read
        self._show_only("#both")
        strip.show_run(fold)
        if not is_other:
            strip.read_labels()
        self._show_detail()
        self._show_heading(fold, run)

    def _show_message(self, text: Content) -> None:
        self._shown = None
        self.query_one("#message", Static).update(text)
        self.query_one("#run", Static).update("")
        self._show_only("#message")

    def _show_only(self, name: str) -> None:
        """Show the message or the decisions; what gets hidden gives the focus on."""
        had_focus = self.screen.focused is None or self.has_focus_within
        changes = not self.query_one(name).display
        for part in ("#message", "#both"):
            self.query_one(part).display = part == name
        if changes and had_focus and self.display:
            self.take_focus()
        self.screen.refresh_bindings()

    def take_focus(self) -> None:
        message = self.query_one("#message")
        (message if message.display else self.query_one(DecisionStrip)).focus()

    def _show_heading(self, fold: RunFold, run: Run) -> None:
        about = [
            local_time(run.started),
            status(run, doubtful=fold.doubtful),
            counted(len(fold.decisions), "decision"),
        ]
        if len(self._run_ids) > 1:
            about.append(f"run {self._run_ids.index(run.id) + 1} of {len(self._run_ids)}")
        text = Content.assemble((one_line(fold.question), "bold"), "\n", (" · ".join(about), QUIET))
        self.query_one("#run", Static).update(text)

    # --- actions ---------------------------------------------------------------------------------

    def action_run(self, newer: int) -> None:
        """Go to the older (-1) or newer (1) run."""
        target = self._run_ids.index(self._requested_id) - newer if self._run_ids else -1
        if 0 <= target < len(self._run_ids):
            self._read_run(self._run_ids[target])
        elif target < 0:
            self.notify("This is the newest run.")
        else:
            self.notify("There is no older run with decisions.")

    def reload(self) -> None:
        self._requested_id = ""
        self._show_message(_READING)
        self.read_again()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Switching needs a run on the screen."""
        return True if action != "run" or self._shown is not None else None

    @on(OptionList.OptionHighlighted)
    def _show_detail(self) -> None:
        self.query_one(DecisionDetail).show(self.query_one(DecisionStrip).current)
