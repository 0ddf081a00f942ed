"""Decisions: those of one run, what the decider saw at each, and the labels on them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.dom import DOMNode
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Static

from agent import events as ev
from agent.decisions.decider import STATE_VERSION
from agent.state import ACTIONS
from traces.runs import Run, RunSummary
from traces.store import Store
from tui.app.base import DeepScreen
from tui.app.keys import bindings
from tui.app.work import Failed, in_background
from tui.decisions.strip import ORIGINS, DecisionStrip, Row, action, bar, judgement, percent, source, took
from tui.run.fold import EVERYTHING, RunFold
from tui.run.live import Steers
from tui.run.words import ENDINGS, ENOUGH, GRADES, local, status
from tui.terminal import clean, one_line

_MOST = 2000  # runs that are looked through


@dataclass
class RunsListed(Message):
    """Runs that took decisions, newest first."""

    runs: Sequence[RunSummary]


@dataclass
class RunRead(Message):
    """A stored run as far as it has come."""

    run: Run
    fold: RunFold


def list_runs(node: DOMNode, store: Store) -> None:
    """Look for runs that took decisions in a worker; `RunsListed` or `Failed` is posted to ``node``."""

    def work() -> Message:
        from traces.runs import Runs

        return RunsListed([run for run in Runs(store).search(limit=_MOST) if run.decisions])

    in_background(node, work, group="runs", exclusive=True)


def read_run(node: DOMNode, store: Store, run_id: str) -> None:
    """Read a run in a worker; `RunRead` or `Failed` is posted to ``node``."""

    def work() -> Message:
        from traces.runs import Runs
        from tui.run.fold import events_of, stored_or_implied

        runs = Runs(store)
        with store.connect():
            run = runs.find(run_id)
            stored = stored_or_implied(runs, run)
        fold = RunFold(run_id=run_id)
        fold.take_all(events_of(stored))
        return RunRead(run, fold)

    in_background(node, work, group="run", exclusive=True)


def heading(fold: RunFold, run: Run | None, *, live: bool, teaching: bool, place: str) -> Content:
    """The question of a run, and its state beneath.

    Args:
        fold: The run.
        run: As it is stored, if it was read from there.
        live: Whether it is under way in this app.
        teaching: Whether it asks at each decision.
        place: Which of how many it is, in words.
    """
    if run is not None:
        facts = [f"{local(run.started):%Y-%m-%d %H:%M}", status(run)]
    else:
        facts = ["● live" if live else ENDINGS.get(fold.outcome.status, fold.outcome.status)]
    taken = len(fold.outcome.decisions)
    facts.append(f"{taken} decision{'s' * (taken != 1)}")
    facts += ["teach mode"] * teaching + ["paused"] * fold.paused + [place] * bool(place)
    question = one_line(fold.outcome.question) or "…"
    text = Content.assemble((question, "bold"), "\n", (" · ".join(facts), "$foreground 65%"))
    if fold.asked is not None and fold.asked.about == "decide":
        wait = "? It waits for you: 1, 2 or 3 on the last row takes the decision."
        text = Content.assemble(text, "\n", (wait, "bold $accent"))
    return text


_NAMES = 14  # cells for what a line is about
_QUIET = "$foreground 65%"

Fact = tuple[str, Content | str]
"""What a line is about, and what it says."""


class DecisionDetail(VerticalScroll):
    """The details of the decision under the cursor."""

    DEFAULT_CSS = """
    DecisionDetail { height: 1fr; padding: 0 1; scrollbar-gutter: stable; }
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
        yield Static(id="message")

    def show(self, row: Row | None) -> None:
        """Show another decision, from its beginning; nothing if there is none."""
        if row == self._row:
            return
        same = row is not None and self._row is not None and row.decided is self._row.decided
        self._row = row
        self._draw()
        if not same:
            self.scroll_home(animate=False)

    def on_resize(self, _event: events.Resize) -> None:
        self._draw()

    def _draw(self) -> None:
        if not self.size:  # it is not laid out yet, and is drawn once it is
            return
        width = max(24, self.scrollable_content_region.width)
        lines = detail(self._row, width) if self._row is not None else []
        self.query_one("#message", Static).update(Content("\n").join(lines))


def detail(row: Row, width: int) -> list[Content]:
    """Everything that is known of a decision, in lines of at most ``width`` cells."""
    decided = row.decided
    if isinstance(decided, ev.Asked):
        return _asked(decided, width)
    lines = _section("Decision", _decision(decided), width)
    lines += _section("What the decider saw", list(_state(decided)), width)
    if decided.shadow:
        lines += _section("Second opinion, not acted on", _opinion(decided.shadow, decided, width), width)
    if row.label:
        facts: list[Fact] = [
            ("you say", Content.styled(judgement(row.label, decided.action), "bold $accent")),
            ("given", ORIGINS.get(row.label.origin, row.label.origin)),
        ]
        if row.label.note:
            facts.append(("because", one_line(row.label.note)))
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
    yield "plan", _joined(state, ("plan_done", "{} step{s} done"))
    yield from _listed("still open", state.get("open_questions"))
    if state.get("query"):
        yield "last search", f"“{one_line(str(state['query']))}”"
    grade = str(state.get("grade", ""))
    if grade:
        yield "its passages", f"{GRADES.get(grade, grade)}: {ENOUGH.get(grade, grade)}"
    yield "top score", _joined(state, ("top_score", "{:.3f}"), ("corrections", "{} correction{s}"))
    yield "passages", _joined(state, ("fresh", "{} new"), ("again", "{} seen before"))
    yield "", _joined(state, ("barren", "{} step{s} in a row without a new passage"))
    if state.get("last_action"):
        yield "before it", action(str(state["last_action"]))
    yield from _listed("findings", [_finding(finding) for finding in state.get("findings", ())])
    yield from _listed("missing", state.get("missing"))
    evidence = state.get("evidence", ())
    yield "evidence", f"{len(evidence)} passage{'s' * (len(evidence) != 1)} kept"
    for item in evidence:
        title, excerpt = one_line(str(item.get("title", ""))), one_line(str(item.get("excerpt", "")), 160)
        yield "", Content.assemble((title, "bold"), f": {excerpt}" if excerpt else "")


def _joined(state: Mapping[str, Any], *parts: tuple[str, str]) -> str:
    texts = [form.format(state[name], s="s" * (state[name] != 1)) for name, form in parts if name in state]
    return ", ".join(texts)


def _finding(finding: Mapping[str, Any]) -> str:
    question = one_line(str(finding.get("question", "")))
    if not finding.get("found"):
        return f"✗ {question}: nothing found"
    answer = one_line(str(finding.get("answer", "")))
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


_LOOK_SECONDS = 0.4  # how often a live run is looked at; nothing is drawn unless it has come further

_EMPTY = """\
Whenever a run has finished a step of its plan it decides:

→ CONTINUE   take the next step
↻ REVISE     plan what is left anew
■ FINISH     answer from what was found

Each decision is kept with everything it was taken from, and shown here.
Press {ask} and ask something that takes more than one step.
"""


class DecisionsScreen(DeepScreen):
    """The current or last run, else the newest stored one; keys go to the others."""

    MODE: ClassVar[str] = "decisions"
    PLACES: ClassVar[tuple[str, ...]] = ("decisions",)
    BINDINGS: ClassVar[list[BindingType]] = bindings("decisions")
    CSS_PATH = "decisions.tcss"
    AUTO_FOCUS: ClassVar[str | None] = ""  # what would have the focus may not be shown
    HELP = """
### Decisions

The decisions of one run, and beside them what the decider saw, why it decided so, and what another source
would have done.

- **[** and **]** go to the run before or after.
- **1 2 3** say what the decision under the cursor should have been: CONTINUE, REVISE, FINISH.
  **Backspace** takes it back. These labels are what a policy learns from, together with the outcomes.
- **t** turns *teach mode* on or off: a live run then waits at each decision until you take it, here with
  **1 2 3** on the last row, or on the Ask screen.
- **u** reads the stored runs again. **Tab** goes between the decisions and their details.
"""

    def __init__(self) -> None:
        super().__init__()
        self._stored: list[RunSummary] | None = None
        self._shown = ""  # id of the run that is shown
        self._wanted = ""  # of the one that is being read
        self._asked_for = ""  # of the live run that was jumped to
        self._fold: RunFold | None = None
        self._run: Run | None = None
        self._drawn: tuple[object, ...] = ()
        self._timer: Timer | None = None

    def body(self) -> ComposeResult:
        yield Static(id="run")
        yield Static(id="message", classes="empty")
        with Container(id="both"):
            yield DecisionStrip(id="strip")
            yield DecisionDetail(id="detail")

    def on_mount(self) -> None:
        """Read what is stored; a live run is looked at now and then while this screen is."""
        self._tell("Reading the stored runs …")
        self._timer = self.set_interval(_LOOK_SECONDS, self._look, pause=True)
        list_runs(self, self.deepthink.engine.store)

    @on(events.ScreenResume)
    def _resumed(self) -> None:
        if self._timer is not None:
            self._timer.resume()
        if self._stored is not None:  # some have come, and some may be gone
            list_runs(self, self.deepthink.engine.store)
        self._look()

    @on(events.ScreenSuspend)
    def _suspended(self) -> None:
        if self._timer is not None:
            self._timer.pause()

    def show_run(self, run_id: str) -> None:
        """Show a run of that id, live or stored."""
        live = self._ask_fold()
        if live is not None and live.run_id == run_id:
            self._take(live, None)
        else:
            self._wanted = run_id
            read_run(self, self.deepthink.engine.store, run_id)

    # --- the run of the main screen ------------------------------------------------------------

    def _asking(self) -> Steers | None:
        """The Ask screen, if it was opened."""
        try:
            (first, *_) = self.app.get_screen_stack("ask")
        except (KeyError, ValueError):
            return None
        return first if isinstance(first, Steers) else None

    def _ask_fold(self) -> RunFold | None:
        """The live or last run there, once it is known by its id and has something to show."""
        asking = self._asking()
        fold = asking.fold if asking is not None else None
        if fold is None or not fold.run_id or (fold.over and not fold.outcome.decisions):
            return None
        return fold

    def _look(self) -> None:
        fold = self._ask_fold()
        if fold is None:
            return
        if fold.run_id != self._asked_for:
            self._asked_for = fold.run_id
            self.show_run(fold.run_id)
        elif fold.run_id == self._shown and self._state_of(fold) != self._drawn:
            before = len(self._fold.outcome.decisions) if self._fold is fold else 0
            self._take(fold, None)
            if fold.over or before != len(fold.outcome.decisions):
                self.query_one(DecisionStrip).read_labels()

    def _state_of(self, fold: RunFold) -> tuple[object, ...]:
        asking = self._asking()
        teaching = asking is not None and asking.teaching
        return (id(fold), len(fold.outcome.decisions), fold.asked, fold.over, fold.paused, teaching)

    # --- what is stored --------------------------------------------------------------------------

    @on(RunsListed)
    def _listed(self, message: RunsListed) -> None:
        self._stored = list(message.runs)
        self._show_heading()
        if self._shown:
            return
        if self._stored:
            self.show_run(self._stored[0].id)
        elif self._ask_fold() is None:
            self._tell("No decisions yet", _EMPTY.format(ask=self.deepthink.key_of("app.ask") or "f2"))

    @on(RunRead)
    def _read(self, message: RunRead) -> None:
        if message.run.id == self._wanted:
            self._take(message.fold, message.run)

    @on(Failed)
    def _failed(self, message: Failed) -> None:
        if not self._shown:  # later failures are shown by the app, and what is shown stays
            error = message.error
            self._stored = None
            again = f"{self.deepthink.key_of('decisions.reload') or 'u'} reads again."
            self._tell(
                f"✗ {error.title}", "\n".join(filter(None, (error.message, error.way_out, f"\n{again}")))
            )

    def _take(self, fold: RunFold, run: Run | None) -> None:
        self._fold, self._run = fold, run
        self._shown = self._wanted = fold.run_id
        self._drawn = self._state_of(fold)
        self.query_one("#message").display = False
        self.query_one("#both").display = True
        strip = self.query_one(DecisionStrip)
        strip.show(fold, EVERYTHING)
        self._show_heading()
        if self.focused is None:
            strip.focus()
        self.refresh_bindings()

    def _tell(self, title: str, text: str = "") -> None:
        style = "bold $error" if title.startswith("✗") else "bold $primary"
        message = self.query_one("#message", Static)
        message.update(Content.assemble((title, style), "\n\n", text))
        message.display = True
        self.query_one("#both").display = False
        self.query_one("#run", Static).update("")
        self.refresh_bindings()

    def _show_heading(self) -> None:
        fold = self._fold
        if fold is not None:
            asking = self._asking()
            live = asking is not None and fold is asking.fold and not fold.over
            teaching = live and asking is not None and asking.teaching
            text = heading(fold, self._run, live=live, teaching=teaching, place=self._place())
            self.query_one("#run", Static).update(text)

    def _place(self) -> str:
        order = self._order()
        if len(order) < 2 or self._shown not in order:
            return ""
        return f"run {order.index(self._shown) + 1} of {len(order)}"

    def _order(self) -> list[str]:
        """Ids of the runs that can be gone to, newest first."""
        known = [run.id for run in self._stored or ()]
        fold = self._ask_fold()
        return [fold.run_id, *known] if fold is not None and fold.run_id not in known else known

    # --- what a person does ----------------------------------------------------------------------

    def action_run(self, newer: int) -> None:
        """Go to the run before (-1) or after (1)."""
        order = self._order()
        if not order:
            return
        at = order.index(self._wanted) if self._wanted in order else 0
        to = at - newer
        if 0 <= to < len(order):
            self.show_run(order[to])
        elif to < 0:
            self.notify("This is the newest run.")
        else:
            self.notify("There is no older run with decisions.")

    def action_teach(self) -> None:
        asking = self._asking()
        if asking is not None:
            asking.action_teach()
            self._look()

    def action_reload(self) -> None:
        self._stored = None
        self._shown = self._wanted = self._asked_for = ""
        self._fold = self._run = None
        self._tell("Reading the stored runs …")
        list_runs(self, self.deepthink.engine.store)
        self._look()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Runs can be changed once there are some; teaching needs the main screen."""
        if action == "run":
            return True if self._shown else None
        if action == "teach":
            return True if self._asking() is not None else None
        return True

    @on(DecisionStrip.Moved)
    def _moved(self, message: DecisionStrip.Moved) -> None:
        self.query_one(DecisionDetail).show(message.row)

    @on(DecisionStrip.Answered)
    def _answered(self, message: DecisionStrip.Answered) -> None:
        asking = self._asking()
        if asking is not None and asking.live is not None and self._fold is self._ask_fold():
            asking.live.steering.reply(message.action)
