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
from tui.app.lists import QUIET, Sheet, facts, titled
from tui.app.offers import ask_screen, deepthink
from tui.app.work import Failed, in_background
from tui.decisions.strip import (
    NOT_POSSIBLE,
    ORIGINS,
    DecisionStrip,
    Row,
    action,
    bar,
    judgement,
    numbered,
    percent,
    source,
    taken_by,
    took,
)
from tui.run.fold import RunFold, fold_of
from tui.run.live import Steers
from tui.run.words import ENOUGH, GRADES, STEP_ENDINGS, UNSURE, ending, local_time, status, step_question
from tui.terminal import clean, counted, one_line

_MAX_RUNS = 2000


_NAME_WIDTH = 14  # cells

Fact = tuple[str, Content | str]
"""A name and its value."""


class DecisionDetail(Sheet):
    """The details of the decision under the cursor."""

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

**↑ ↓** scroll.
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
    """The details of a decision, in lines of at most ``width`` cells."""
    event, label = row.decided, row.label
    if isinstance(event, ev.Asked):
        keys = [f"{number} {name}" for number, name in numbered(event.options)]
        rows: list[Fact] = [
            ("it asks", one_line(event.question)),
            ("suggested", action(event.suggested)),
            ("how sure", _bars(event.probabilities, event.options, width)),
            ("your turn", f"{', '.join(keys)}, with the cursor on its row"),
        ]
        return _section("The run waits for you", rows, width)[:-1]
    lines = _section("Decision", _decision(event, width), width)
    lines += _section("What the decider saw", _state(event), width)
    if event.shadow:
        lines += _section("Second opinion, not acted on", _opinion(event.shadow, event, width), width)
    if label:
        rows = [
            ("you say", Content.styled(judgement(label, event.action), "bold $accent")),
            ("given", ORIGINS.get(label.origin, label.origin)),
            ("because", one_line(label.note)),
        ]
        lines += _section("Your label", rows, width)
    return lines[:-1]


def _decision(event: ev.Decided, width: int) -> Iterator[Fact]:
    yield "action", Content.assemble(action(event.action), f"  {taken_by(event)}")
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
    yield source(str(shadow.get("source", ""))), Content.assemble(sign, action(other_action))
    yield "how sure", _bars(shadow.get("probabilities", {}), event.valid or PLAN_ACTIONS, width)
    yield "because", one_line(str(shadow.get("justification", "")))
    yield "took", took(float(shadow.get("latency_ms", 0.0)))


def _bars(probabilities: Mapping[str, float], valid: Sequence[str], width: int) -> Content:
    cells = max(4, min(24, width - _NAME_WIDTH - 9 - 6))
    highest = max(probabilities.values(), default=1.0)
    lines = []
    for _, name in numbered(valid):
        if name not in valid:
            lines.append(Content.styled(f"{name:<9}{NOT_POSSIBLE} not possible", QUIET))
            continue
        share = float(probabilities.get(name, 0.0))
        filled = bar(share, cells, strong=share >= highest)
        lines.append(Content.assemble(f"{name:<9}", filled, f" {percent(share)}"))
    return Content("\n").join(lines)


def _section(title: str, rows: Iterable[Fact], width: int) -> list[Content]:
    """The facts that are not empty under a title, wrapped, and an empty line."""
    shown = [
        (name, Content(clean(value)) if isinstance(value, str) else value) for name, value in rows if value
    ]
    return titled(title, facts(shown, width, _NAME_WIDTH))


_POLL_SECONDS = 0.4  # how often a live run is checked; it is drawn only if it has changed

_EMPTY = """\
Whenever a run has finished a step of its plan it decides:

→ CONTINUE   take the next step
↻ REVISE     plan what is left anew
■ FINISH     answer from what was found

Where a step found nothing it may also be tried further:

+ MORE       read more passages
≈ WORDS      search in other words
» ASK        ask the model

Each decision is kept with everything it was taken from, and shown here.
Press {ask} and ask something that takes more than one step.
"""


_READING = Content.styled("Reading the stored runs …", "bold $primary")


class DecisionsPane(Pane):
    """Shows the current or last run, else the newest stored one; keys switch to the others."""

    BINDINGS = bindings("decisions")
    HELP = """
### Decisions

The decisions of one run, and beside them what the decider saw, why it decided so, and what another source
would have done.

- **[** and **]** go to the older or newer run.
- **1 2 3** say what the decision under the cursor should have been: CONTINUE, REVISE, FINISH; **4 5 6**,
  where a step found nothing: MORE passages, other WORDS, or ASK the model.
  **Backspace** removes the label. A policy learns from these labels, together with the outcomes.
- **t** turns *teach mode* on or off: a live run then waits at each decision until you take it, here with
  these keys on the last row, or on the Ask screen.
- **Tab** goes between the decisions and their details.
"""

    def __init__(self) -> None:
        super().__init__("Decisions", id="decisions")
        self._stored_runs: list[str] | None = None  # their ids, newest first
        self._requested_id = ""  # id of the run being read
        self._followed_id = ""  # id of the live run that was shown automatically
        self._fold: RunFold | None = None
        self._run: Run | None = None
        self._drawn_state: tuple[object, ...] = ()

    def compose(self) -> ComposeResult:
        yield Static(id="run")
        message = Static(id="message", classes="empty")
        message.can_focus = True  # the keys of the pane need a focus in it
        yield message
        with Container(id="both"):
            yield DecisionStrip()
            yield DecisionDetail()

    def on_mount(self) -> None:
        """Read the stored runs; while the screen is shown, poll the live run."""
        self._show_message(_READING)
        self.set_interval(_POLL_SECONDS, self._follow_ask_run)
        self._list_runs()

    def read_again(self) -> None:
        if self._stored_runs is not None:  # runs may have been added or deleted
            self._list_runs()
        self._follow_ask_run()

    @property
    def _shown_id(self) -> str:
        return self._fold.run_id if self._fold is not None else ""

    def show_run(self, run_id: str) -> None:
        """Show the run with this id, live or stored."""
        live = self._ask_fold()
        if live is not None and live.run_id == run_id:
            self._show_fold(live, None)
        else:
            self._requested_id = run_id
            self._read_run(run_id)

    def _list_runs(self) -> None:
        store = deepthink(self).engine.store

        def work() -> list[str]:
            return [run.id for run in Runs(store).search(limit=_MAX_RUNS) if run.decisions]

        in_background(self, work, self._show_listed_runs, group="runs", exclusive=True)

    def _read_run(self, run_id: str) -> None:
        store = deepthink(self).engine.store

        def work() -> tuple[RunFold, Run]:
            run = Runs(store).find(run_id)
            return fold_of(store, run), run

        def show(read: tuple[RunFold, Run]) -> None:
            if run_id == self._requested_id:
                self._show_fold(*read)

        in_background(self, work, show, group="run", exclusive=True)

    # --- the run of the Ask screen ---------------------------------------------------------------

    def _ask_screen(self) -> Steers | None:
        screen = ask_screen(self)
        return screen if isinstance(screen, Steers) else None

    def _ask_fold(self) -> RunFold | None:
        """The live or last run of the Ask screen, once it has an id and something to show."""
        ask_screen = self._ask_screen()
        fold = ask_screen.fold if ask_screen is not None else None
        if fold is None or not fold.run_id or (fold.over and not fold.decisions):
            return None
        return fold

    def _follow_ask_run(self) -> None:
        fold = self._ask_fold()
        if fold is None or not self.screen.is_current:
            return
        if fold.run_id != self._followed_id:
            self._followed_id = fold.run_id
            self.show_run(fold.run_id)
        elif fold.run_id == self._shown_id and self._state_of(fold) != self._drawn_state:
            self._show_fold(fold, None)
            self.query_one(DecisionStrip).read_labels()

    def _state_of(self, fold: RunFold) -> tuple[object, ...]:
        ask_screen = self._ask_screen()
        teaching = ask_screen is not None and ask_screen.teaching
        return (id(fold), len(fold.decisions), fold.unanswered, fold.over, fold.paused, teaching)

    # --- stored runs -----------------------------------------------------------------------------

    def _show_listed_runs(self, run_ids: list[str]) -> None:
        self._stored_runs = run_ids
        self._show_heading()
        if self._shown_id:
            return
        if run_ids:
            self.show_run(run_ids[0])
        elif self._ask_fold() is None:
            text = _EMPTY.format(ask=deepthink(self).key_for("app.ask"))
            self._show_message(Content.assemble(("No decisions yet", "bold $primary"), "\n\n", text))

    @on(Failed)
    def _show_failure(self, message: Failed) -> None:
        if not self._shown_id:  # the app shows later failures, and the run stays on the screen
            self._stored_runs = None
            self._show_message(failure_text(self, message.error, "learn.reload"))

    def _show_fold(self, fold: RunFold, run: Run | None) -> None:
        self._fold, self._run = fold, run
        self._requested_id = fold.run_id
        self._drawn_state = self._state_of(fold)
        self._show_only("#both")
        strip = self.query_one(DecisionStrip)
        strip.show_run(fold)
        self._show_detail()
        self._show_heading()

    def _show_message(self, text: Content) -> None:
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

    def _show_heading(self) -> None:
        """Show the question of the run, and its state below."""
        fold, run = self._fold, self._run
        if fold is None:
            return
        ask_screen = self._ask_screen()
        decisions = counted(len(fold.decisions), "decision")
        if run is not None:
            about = [local_time(run.started), status(run, partial=fold.partial), decisions]
        elif ask_screen is not None and fold is ask_screen.fold and not fold.over:
            teaching, paused = ["teach mode"] * ask_screen.teaching, ["paused"] * fold.paused
            about = ["● live", decisions, *teaching, *paused]
        else:
            about = [ending(fold), decisions]
        order = self._order()
        if len(order) > 1 and self._shown_id in order:
            about.append(f"run {order.index(self._shown_id) + 1} of {len(order)}")
        question = one_line(fold.question) or "…"
        text = Content.assemble((question, "bold"), "\n", (" · ".join(about), QUIET))
        if fold.unanswered is not None and fold.unanswered.about == "decide":
            wait = "? It waits for you: 1, 2 or 3 on the last row takes the decision."
            text = Content.assemble(text, "\n", (wait, "bold $accent"))
        self.query_one("#run", Static).update(text)

    def _order(self) -> list[str]:
        """Ids of the runs to switch between, newest first."""
        ids = self._stored_runs or []
        fold = self._ask_fold()
        return [fold.run_id, *ids] if fold is not None and fold.run_id not in ids else ids

    # --- actions ---------------------------------------------------------------------------------

    def action_run(self, newer: int) -> None:
        """Go to the older (-1) or newer (1) run."""
        order = self._order()
        if not order:
            return
        index = order.index(self._requested_id) if self._requested_id in order else 0
        target = index - newer
        if 0 <= target < len(order):
            self.show_run(order[target])
        elif target < 0:
            self.notify("This is the newest run.")
        else:
            self.notify("There is no older run with decisions.")

    def action_teach(self) -> None:
        ask_screen = self._ask_screen()
        if ask_screen is not None:
            ask_screen.action_teach()
            self._follow_ask_run()

    def reload(self) -> None:
        """Read everything again, and show the newest run."""
        self._stored_runs = None
        self._requested_id = self._followed_id = ""
        self._fold = self._run = None
        self._show_message(_READING)
        self._list_runs()
        self._follow_ask_run()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Switching needs a run on the screen, teaching needs the Ask screen."""
        if action == "run":
            return True if self._shown_id else None
        if action == "teach":
            return True if self._ask_screen() is not None else None
        return True

    @on(OptionList.OptionHighlighted)
    def _show_detail(self) -> None:
        self.query_one(DecisionDetail).show(self.query_one(DecisionStrip).current)

    @on(DecisionStrip.Answered)
    def _reply_to_run(self, message: DecisionStrip.Answered) -> None:
        ask_screen = self._ask_screen()
        if ask_screen is not None and ask_screen.live is not None and self._fold is self._ask_fold():
            ask_screen.live.steering.reply(message.action)
