"""The Decisions screen: the decisions of one run, what the decider saw at each, and their labels."""

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
from tui.run.words import ENDINGS, ENOUGH, GRADES, local, status, step_question
from tui.terminal import clean, one_line

_MAX_RUNS = 2000


@dataclass
class RunsListed(Message):
    """Runs that took decisions, newest first."""

    runs: Sequence[RunSummary]


@dataclass
class RunRead(Message):
    """A stored run with its fold."""

    run: Run
    fold: RunFold


def list_runs(node: DOMNode, store: Store) -> None:
    """List the runs with decisions in a worker, which posts `RunsListed` or `Failed` to ``node``."""

    def work() -> Message:
        from traces.runs import Runs

        return RunsListed([run for run in Runs(store).search(limit=_MAX_RUNS) if run.decisions])

    in_background(node, work, group="runs", exclusive=True)


def read_run(node: DOMNode, store: Store, run_id: str) -> None:
    """Read a run in a worker, which posts `RunRead` or `Failed` to ``node``."""

    def work() -> Message:
        from traces.runs import Runs
        from tui.run.fold import fold_of

        run = Runs(store).find(run_id)
        return RunRead(run, fold_of(store, run))

    in_background(node, work, group="run", exclusive=True)


def heading(fold: RunFold, run: Run | None, *, live: bool, teaching: bool, place: str) -> Content:
    """The question of a run, and its state below.

    Args:
        fold: The run.
        run: The stored run, if it was read from the store.
        live: Whether it is in progress in this app.
        teaching: Whether it asks the user at each decision.
        place: Its position among the runs, in words.
    """
    if run is not None:
        facts = [f"{local(run.started):%Y-%m-%d %H:%M}", status(run)]
    else:
        facts = ["● live" if live else ENDINGS.get(fold.status, fold.status)]
    count = len(fold.decisions)
    facts.append(f"{count} decision{'s' * (count != 1)}")
    facts += ["teach mode"] * teaching + ["paused"] * fold.paused + [place] * bool(place)
    question = one_line(fold.question) or "…"
    text = Content.assemble((question, "bold"), "\n", (" · ".join(facts), "$foreground 65%"))
    if fold.unanswered is not None and fold.unanswered.about == "decide":
        wait = "? It waits for you: 1, 2 or 3 on the last row takes the decision."
        text = Content.assemble(text, "\n", (wait, "bold $accent"))
    return text


_NAME_WIDTH = 14  # cells
_QUIET = "$foreground 65%"

Fact = tuple[str, Content | str]
"""A name and its value."""


class DecisionDetail(VerticalScroll):
    """The details of the decision under the cursor."""

    DEFAULT_CSS = """
    DecisionDetail { height: 1fr; padding: 0 1; scrollbar-gutter: stable; }
    DecisionDetail:focus { background: $surface; }
    """
    HELP = """
### One decision

The decision with its full reason, and what the decider saw: exactly the figures and words that are
stored, and that a policy learns from. Below: what a second source (the *shadow*) would have done in its
place, and your label.

**↑ ↓** scroll.
"""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._row: Row | None = None

    def compose(self) -> ComposeResult:
        yield Static(id="message")

    def show(self, row: Row | None) -> None:
        """Show a decision, scrolled to the top if it is another one; None shows nothing."""
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
        if not self.size:  # not laid out yet; `on_resize` draws it later
            return
        width = max(24, self.scrollable_content_region.width)
        lines = detail(self._row, width) if self._row is not None else []
        self.query_one("#message", Static).update(Content("\n").join(lines))


def detail(row: Row, width: int) -> list[Content]:
    """The details of a decision, in lines of at most ``width`` cells."""
    event = row.decided
    if isinstance(event, ev.Asked):
        return _question_lines(event, width)
    lines = _section("Decision", _decision(event), width)
    lines += _section("What the decider saw", list(_state(event)), width)
    if event.shadow:
        lines += _section("Second opinion, not acted on", _opinion(event.shadow, event, width), width)
    if row.label:
        facts: list[Fact] = [
            ("you say", Content.styled(judgement(row.label, event.action), "bold $accent")),
            ("given", ORIGINS.get(row.label.origin, row.label.origin)),
        ]
        if row.label.note:
            facts.append(("because", one_line(row.label.note)))
        lines += _section("Your label", facts, width)
    return lines[:-1]


def _question_lines(event: ev.Asked, width: int) -> list[Content]:
    facts: list[Fact] = [
        ("it asks", one_line(event.question)),
        ("suggested", action(event.suggested)),
        ("how sure", _bars(event.probabilities, event.options, width)),
        ("your turn", "1 CONTINUE, 2 REVISE, 3 FINISH, with the cursor on its row"),
    ]
    return _section("The run waits for you", facts, width)[:-1]


def _decision(event: ev.Decided) -> list[Fact]:
    by = " in ".join(filter(None, (f"by {source(event.source)}", took(event.latency_ms))))
    facts: list[Fact] = [("action", Content.assemble(action(event.action), f"  {by}"))]
    if event.justification:
        facts.append(("because", one_line(event.justification)))
    impossible = [name for name in ACTIONS if event.valid and name not in event.valid]
    if impossible:
        facts.append(("not possible", ", ".join(impossible)))
    if event.behaviour_probability < 1:
        facts.append(("by chance", f"taken here with probability {event.behaviour_probability:.2f}"))
    return facts


def _state(event: ev.Decided) -> Iterator[Fact]:
    """The stored fields of `agent.decisions.decider.PolicyState`."""
    state = event.state
    if not state:
        yield "", "Its state is not stored."
        return
    if event.state_version != STATE_VERSION:
        yield (
            "encoding",
            f"version {event.state_version}; today’s is {STATE_VERSION}, so it is not learnt from",
        )
    if "question" in state:
        yield "question", one_line(str(state["question"]))
    yield "steps", _join_parts(state, ("step", "{} done"), ("steps_left", "{} left"))
    yield (
        "left",
        _join_parts(state, ("revisions_left", "{} revision{s}"), ("tokens_left", "{:.0%} of tokens")),
    )
    yield "plan", _join_parts(state, ("plan_done", "{} step{s} done"))
    yield from _list_facts("still open", state.get("open_questions"))
    if state.get("query"):
        yield "last search", f"“{one_line(str(state['query']))}”"
    grade = str(state.get("grade", ""))
    if grade:
        yield "its passages", f"{GRADES.get(grade, grade)}: {ENOUGH.get(grade, grade)}"
    yield "top score", _join_parts(state, ("top_score", "{:.3f}"), ("corrections", "{} correction{s}"))
    yield "passages", _join_parts(state, ("fresh", "{} new"), ("again", "{} seen before"))
    yield "", _join_parts(state, ("barren", "{} step{s} in a row without a new passage"))
    if state.get("last_action"):
        yield "before it", action(str(state["last_action"]))
    yield from _list_facts("findings", [_finding(finding) for finding in state.get("findings", ())])
    yield from _list_facts("missing", state.get("missing"))
    evidence = state.get("evidence", ())
    yield "evidence", f"{len(evidence)} passage{'s' * (len(evidence) != 1)} kept"
    for item in evidence:
        title, excerpt = one_line(str(item.get("title", ""))), one_line(str(item.get("excerpt", "")), 160)
        yield "", Content.assemble((title, "bold"), f": {excerpt}" if excerpt else "")


def _join_parts(state: Mapping[str, Any], *parts: tuple[str, str]) -> str:
    texts = [form.format(state[name], s="s" * (state[name] != 1)) for name, form in parts if name in state]
    return ", ".join(texts)


def _finding(finding: Mapping[str, Any]) -> str:
    question = one_line(str(finding.get("question", "")))
    if not finding.get("found"):
        return f"✗ {question}: no sure answer"
    answer = one_line(str(finding.get("answer", "")))
    return f"✓ {question}: {answer}" if answer else f"✓ {question}"


def _list_facts(name: str, values: Sequence[str] | None) -> Iterator[Fact]:
    for place, value in enumerate(values or ()):
        yield ("" if place else name), step_question(str(value))


def _opinion(shadow: Mapping[str, Any], event: ev.Decided, width: int) -> list[Fact]:
    other_action, by = str(shadow.get("action", "")), source(str(shadow.get("source", "")))
    same = other_action == event.action
    latency = took(float(shadow.get("latency_ms", 0.0)))
    facts: list[Fact] = [
        (by, Content.assemble("= agrees: " if same else "≠ would rather: ", action(other_action))),
        ("how sure", _bars(shadow.get("probabilities", {}), event.valid or ACTIONS, width)),
    ]
    if shadow.get("justification"):
        facts.append(("because", one_line(str(shadow["justification"]))))
    if latency:
        facts.append(("took", latency))
    return facts


def _bars(probabilities: Mapping[str, float], valid: Sequence[str], width: int) -> Content:
    lines = []
    for name in ACTIONS:
        if name not in valid:
            lines.append(Content.styled(f"{name:<9}– not possible", _QUIET))
            continue
        share = float(probabilities.get(name, 0.0))
        cells = max(4, min(24, width - _NAME_WIDTH - 9 - 6))
        best = share >= max(probabilities.values(), default=1.0)
        filled = bar(share, cells, strong=best)
        lines.append(Content.assemble(f"{name:<9}", filled, f" {percent(share)}"))
    return Content("\n").join(lines)


def _section(title: str, facts: Sequence[Fact], width: int) -> list[Content]:
    """A heading, the facts, wrapped with a hanging indent, and an empty line."""
    lines = [Content.styled(title, "bold $primary")]
    room = width - _NAME_WIDTH
    for name, value in facts:
        if not value:
            continue
        content = value if isinstance(value, Content) else Content(clean(value))
        for place, line in enumerate(content.wrap(room)):
            about = "" if place else name
            lines.append(Content.assemble((f"{about:<{_NAME_WIDTH}}", _QUIET), line))
    return [*lines, Content("")]


_POLL_SECONDS = 0.4  # how often a live run is checked; it is drawn only if it has changed

_EMPTY = """\
Whenever a run has finished a step of its plan it decides:

→ CONTINUE   take the next step
↻ REVISE     plan what is left anew
■ FINISH     answer from what was found

Each decision is kept with everything it was taken from, and shown here.
Press {ask} and ask something that takes more than one step.
"""


class DecisionsScreen(DeepScreen):
    """Shows the current or last run, else the newest stored one; keys switch to the others."""

    MODE: ClassVar[str] = "decisions"
    PLACES: ClassVar[tuple[str, ...]] = ("decisions",)
    BINDINGS: ClassVar[list[BindingType]] = bindings("decisions")
    CSS_PATH = "decisions.tcss"
    AUTO_FOCUS: ClassVar[str | None] = ""  # the widget that would have the focus may be hidden
    HELP = """
### Decisions

The decisions of one run, and beside them what the decider saw, why it decided so, and what another source
would have done.

- **[** and **]** go to the older or newer run.
- **1 2 3** say what the decision under the cursor should have been: CONTINUE, REVISE, FINISH.
  **Backspace** removes the label. A policy learns from these labels, together with the outcomes.
- **t** turns *teach mode* on or off: a live run then waits at each decision until you take it, here with
  **1 2 3** on the last row, or on the Ask screen.
- **u** reads the stored runs again. **Tab** goes between the decisions and their details.
"""

    def __init__(self) -> None:
        super().__init__()
        self._stored_runs: list[RunSummary] | None = None
        self._shown_id = ""  # id of the run on the screen
        self._requested_id = ""  # id of the run being read
        self._followed_id = ""  # id of the live run that was shown automatically
        self._fold: RunFold | None = None
        self._run: Run | None = None
        self._drawn_state: tuple[object, ...] = ()
        self._timer: Timer | None = None

    def body(self) -> ComposeResult:
        yield Static(id="run")
        yield Static(id="message", classes="empty")
        with Container(id="both"):
            yield DecisionStrip(id="strip")
            yield DecisionDetail(id="detail")

    def on_mount(self) -> None:
        """Read the stored runs; while this screen is shown, poll the live run."""
        self._show_message("Reading the stored runs …")
        self._timer = self.set_interval(_POLL_SECONDS, self._follow_ask_run, pause=True)
        list_runs(self, self.deepthink.engine.store)

    @on(events.ScreenResume)
    def _resume_polling(self) -> None:
        if self._timer is not None:
            self._timer.resume()
        if self._stored_runs is not None:  # runs may have been added or deleted
            list_runs(self, self.deepthink.engine.store)
        self._follow_ask_run()

    @on(events.ScreenSuspend)
    def _suspend_polling(self) -> None:
        if self._timer is not None:
            self._timer.pause()

    def show_run(self, run_id: str) -> None:
        """Show the run with this id, live or stored."""
        live = self._ask_fold()
        if live is not None and live.run_id == run_id:
            self._show_fold(live, None)
        else:
            self._requested_id = run_id
            read_run(self, self.deepthink.engine.store, run_id)

    # --- the run of the Ask screen ---------------------------------------------------------------

    def _ask_screen(self) -> Steers | None:
        """The Ask screen, if it exists."""
        try:
            (screen, *_) = self.app.get_screen_stack("ask")
        except (KeyError, ValueError):
            return None
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
        if fold is None:
            return
        if fold.run_id != self._followed_id:
            self._followed_id = fold.run_id
            self.show_run(fold.run_id)
        elif fold.run_id == self._shown_id and self._state_of(fold) != self._drawn_state:
            previous_count = len(self._fold.decisions) if self._fold is fold else 0
            self._show_fold(fold, None)
            if fold.over or previous_count != len(fold.decisions):
                self.query_one(DecisionStrip).read_labels()

    def _state_of(self, fold: RunFold) -> tuple[object, ...]:
        ask_screen = self._ask_screen()
        teaching = ask_screen is not None and ask_screen.teaching
        return (id(fold), len(fold.decisions), fold.unanswered, fold.over, fold.paused, teaching)

    # --- stored runs -----------------------------------------------------------------------------

    @on(RunsListed)
    def _show_listed_runs(self, message: RunsListed) -> None:
        self._stored_runs = list(message.runs)
        self._show_heading()
        if self._shown_id:
            return
        if self._stored_runs:
            self.show_run(self._stored_runs[0].id)
        elif self._ask_fold() is None:
            self._show_message(
                "No decisions yet", _EMPTY.format(ask=self.deepthink.key_of("app.ask") or "f2")
            )

    @on(RunRead)
    def _show_read_run(self, message: RunRead) -> None:
        if message.run.id == self._requested_id:
            self._show_fold(message.fold, message.run)

    @on(Failed)
    def _show_failure(self, message: Failed) -> None:
        if not self._shown_id:  # the app shows later failures, and the run stays on the screen
            error = message.error
            self._stored_runs = None
            hint = f"{self.deepthink.key_of('decisions.reload') or 'u'} reads again."
            self._show_message(
                f"✗ {error.title}", "\n".join(filter(None, (error.message, error.way_out, f"\n{hint}")))
            )

    def _show_fold(self, fold: RunFold, run: Run | None) -> None:
        self._fold, self._run = fold, run
        self._shown_id = self._requested_id = fold.run_id
        self._drawn_state = self._state_of(fold)
        self.query_one("#message").display = False
        self.query_one("#both").display = True
        strip = self.query_one(DecisionStrip)
        strip.show(fold, EVERYTHING)
        self._show_heading()
        if self.focused is None:
            strip.focus()
        self.refresh_bindings()

    def _show_message(self, title: str, text: str = "") -> None:
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
            ask_screen = self._ask_screen()
            live = ask_screen is not None and fold is ask_screen.fold and not fold.over
            teaching = live and ask_screen is not None and ask_screen.teaching
            text = heading(fold, self._run, live=live, teaching=teaching, place=self._place())
            self.query_one("#run", Static).update(text)

    def _place(self) -> str:
        order = self._order()
        if len(order) < 2 or self._shown_id not in order:
            return ""
        return f"run {order.index(self._shown_id) + 1} of {len(order)}"

    def _order(self) -> list[str]:
        """Ids of the runs to switch between, newest first."""
        ids = [run.id for run in self._stored_runs or ()]
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

    def action_reload(self) -> None:
        self._stored_runs = None
        self._shown_id = self._requested_id = self._followed_id = ""
        self._fold = self._run = None
        self._show_message("Reading the stored runs …")
        list_runs(self, self.deepthink.engine.store)
        self._follow_ask_run()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Switching needs a run on the screen, teaching needs the Ask screen."""
        if action == "run":
            return True if self._shown_id else None
        if action == "teach":
            return True if self._ask_screen() is not None else None
        return True

    @on(DecisionStrip.Moved)
    def _show_detail(self, message: DecisionStrip.Moved) -> None:
        self.query_one(DecisionDetail).show(message.row)

    @on(DecisionStrip.Answered)
    def _reply_to_run(self, message: DecisionStrip.Answered) -> None:
        ask_screen = self._ask_screen()
        if ask_screen is not None and ask_screen.live is not None and self._fold is self._ask_fold():
            ask_screen.live.steering.reply(message.action)
