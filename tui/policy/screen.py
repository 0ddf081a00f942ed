"""Policy: who decides, the learned policies, and training a new one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Container, Vertical
from textual.content import Content
from textual.widgets import OptionList, Static, TabbedContent, TabPane

from agent.decisions.sources import LEARNED
from policy.serving.card import difference, sections
from tui.app.base import DeepScreen
from tui.app.confirm import ConfirmScreen
from tui.app.failure import failure_text
from tui.app.keys import bindings
from tui.app.lists import QUIET, Line, ScreenRows, Sheet, facts, titled
from tui.app.work import Failed, in_background
from tui.policy import actions
from tui.policy.actions import PolicyState
from tui.policy.training_panel import TrainingChoice, TrainingPanel
from tui.terminal import clean, moment, one_line, padded

if TYPE_CHECKING:
    from policy.serving.registry import Activation, GateVerdict, Listed, Registry


_GATE_SIGNS: Final[Mapping[GateVerdict, tuple[str, str]]] = {
    "passed": ("✓ passed", "$success"),
    "not surely better": ("– not surely better", QUIET),
    "not passed": ("✗ not passed", "$error"),
    "not asked": ("– not asked", QUIET),
    "unusable": ("✗ unusable", "$error"),
}
"""Sign, word and style of each verdict of the gate."""

_METHOD, _GAINS, _GATE, _ACTIVE = 8, 8, 21, 8
_HEAD = f"  {'policy':<24}{'method':<{_METHOD}}{'gain':>{_GAINS}}  {'gate':<{_GATE}}"
_NOTHING = "There is no policy: the rules decide. A training makes one."


class PolicyRows(ScreenRows):
    DEFAULT_CSS = "PolicyRows { height: auto; max-height: 7; }"
    HELP = """\
### Policies

Each was trained on this machine or shipped with this version (the *box*). The number is its gain over the
default schedule on held-out questions; the gate says whether that is enough. *Not surely better*: it was
not shown to be better than the rules, so the rules decide unless you choose it. At most one is active.
"""


def _line(row: Listed, width: int) -> Content:
    """Name, method, gain, verdict of the gate, and whether it is active."""
    room = min(width - _METHOD - _GAINS - 2 - _GATE - _ACTIVE, 24)
    gain = f"{row.gain[0]:+.3f}" if row.gain else "–"
    sign, style = _GATE_SIGNS[row.verdict]
    return Content.assemble(
        (padded(one_line(row.name, room - 1), room), "bold" if row.active else ""),
        ((row.manifest.method if row.manifest else "").ljust(_METHOD), QUIET),
        f"{gain:>{_GAINS}}  ",
        (sign.ljust(_GATE), style),
        ("● active" if row.active else "", "bold $primary"),
    )


class PolicyCard(Sheet):
    """The policy under the cursor: what it learned from, its measures, the gate's verdict."""

    def __init__(self) -> None:
        super().__init__(id="card")
        self._row: Listed | None = None
        self._changes: Sequence[tuple[str, str]] = ()

    def show(self, row: Listed | None, changes: Sequence[tuple[str, str]]) -> None:
        """Show a policy; of the active one also the ``changes`` by which it came to be."""
        self._row, self._changes = row, changes
        self.redraw()

    def lines(self, width: int) -> list[Content]:
        if (row := self._row) is None:
            return [Content(_NOTHING)]
        width -= 1
        sign, style = _GATE_SIGNS[row.verdict]
        gain = [("gain", f"{difference(row.gain)} over the default schedule")] if row.gain else []
        gate = sign if row.verdict in {"unusable", "not surely better"} else f"{sign[0]} gate {sign[2:]}"
        lines = [
            Content.assemble(
                (clean(row.name), "bold $primary"),
                ("  ● active" if row.active else "", "bold"),
                ("  built in" if row.boxed else "", QUIET),
            ),
            *facts([(gate, row.reason), *gain], width, len(gate) + 2),
        ]
        lines[1] = lines[1].stylize(style, 0, len(gate))
        lines.append(Content(""))
        made = moment(row.manifest.created) if row.manifest else ""
        for title, rows in sections(row.manifest, made) if row.manifest else ():
            lines += titled(title, facts(rows, width))
        if row.active and self._changes:
            lines += titled(actions.CHANGES, facts(self._changes, width))
        return lines


class Pane(TabPane):
    """A `TabPane` that stays in the background after another tab was chosen.

    Textual shows the pane in which a widget gets the focus. A focus that arrives late, after the user has
    pressed another tab's key, would bring the earlier tab back.
    """

    def on_tab_pane_focused(self, event: TabPane.Focused) -> None:
        """Stop the event: a focus must not change the tab."""
        event.stop()


_HOW: Mapping[str, str] = {
    "rules": "the plan is followed and revised once",
    "llm": "the language model is asked at each step",
}


def _decider_lines(state: PolicyState, width: int) -> Content:
    """Who decides, whose second opinion is recorded, and the warning if there is one, a line each."""
    decider, shadow = state.decider, state.shadow
    how = _HOW.get(decider, "")
    if decider == LEARNED:
        how = f"the policy {state.active.name}" if state.active else "there is none: the rules do"
    origin = f"default of the profile {state.profile}" if state.profile else "as set"
    second = ("off", "with one, you can see where they agree")
    if shadow:
        second = (f"{shadow}, recorded and not acted on", "")
    if shadow == decider:
        second = (f"{shadow}, which already decides", "nothing to compare")
    lines = []
    for name, value, reason in (("decides", f"{decider}, {origin}", how), ("second opinion", *second)):
        line = Content.assemble((f"{name:<16}", QUIET), value)
        full_line = Content.assemble(line, (f" · {reason}", QUIET)) if reason else line
        lines.append(full_line if full_line.cell_length <= width else line)
    if state.warning:
        lines.append(Content.styled(f"! {one_line(state.warning)}", "$warning"))
    return Content("\n").join(lines)


_TITLES = {"policies": "1 Policies", "training": "2 Training"}


class PolicyScreen(DeepScreen):
    """Who decides, and two tabs: policies and training."""

    MODE = "policy"
    PLACES = ("policy",)
    BINDINGS = bindings("policy")
    CSS_PATH = "policy.tcss"
    AUTO_FOCUS = ""  # the widget that would get it may be hidden
    HELP = """
### Policy

After each step a run decides whether to continue, to revise its plan or to finish. The first lines show who
takes these decisions. **1** and **2** go to the policies and the training.

The settings *decider* and *shadow* (F8) choose the rules, the language model or the learned policy, and
whose *second opinion* is recorded beside each decision without being acted on.

- **Enter** or **p** makes the policy under the cursor active, **b** goes back to the previous one. A policy
  that the gate did not pass can still be used; that is recorded.
- **t** goes to the training and, pressed there, starts it. **Escape** stops it after the current step. It
  continues while you are on other screens. A training that was stopped, also by leaving the app, is resumed
  when you start the same one again.
- **u** reads everything again.

Labels are given on the screen *Decisions*, ratings on the screen *Runs*. `deepthink traces stats` counts
both, and how often two sources agree.
"""

    def __init__(self) -> None:
        super().__init__()
        self._policy_state: PolicyState | None = None

    def body(self) -> ComposeResult:
        yield Static(id="message", classes="empty")
        with Vertical(id="all"):
            yield Static(id="deciding")
            with TabbedContent(id="tabs"):
                with Pane(_TITLES["policies"], id="policies"):
                    with Container(id="listed"):
                        yield Static(_HEAD, id="head")
                        yield PolicyRows(id="policy-rows")
                    yield PolicyCard()
                with Pane(_TITLES["training"], id="training"):
                    yield TrainingChoice()
                    yield TrainingPanel()

    def on_mount(self) -> None:
        self.query_one("#message", Static).update("Counting what has been gathered …")

    # --- actions of the user ---------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Whether an action is possible now; before everything is loaded, only reloading is."""
        if self._policy_state is None:
            return action == "reload" or not hasattr(self, f"action_{action}")
        if action == "use":
            return self._tab == "policies" and self._usable is not None
        if action == "rollback":
            return bool(self._policy_state.changes)
        if action == "train":
            return not self._panel.running or self._tab != "training"
        if action == "stop":
            return self._panel.running and not self._panel.stopping
        return True

    @on(events.ScreenResume)
    def action_reload(self) -> None:
        read = partial(actions.read_state, self.deepthink.engine)
        in_background(self, read, self._show_state, group="policy", exclusive=True)

    def action_tab(self, name: str) -> None:
        self.query_one(TabbedContent).active = name
        self.call_after_refresh(self._take_focus)

    def action_use(self) -> None:
        """Make the policy under the cursor active; ask first if the gate did not pass it."""
        row = self._usable
        if row is None:
            return
        if row.boxed or row.verdict == "passed":
            self._use(row.name)
        else:
            gate = "was not asked about" if row.verdict == "not asked" else "did not pass"
            consequence = "It is recorded as forced. The previous policy stays, and you can go back to it."
            question = f"Use {row.name}, which the gate {gate}?"
            use = partial(self._use, row.name, force=True)
            ConfirmScreen.ask(self, question, f"{row.reason}\n\n{consequence}", "Use", use)

    def _use(self, name: str, *, force: bool = False) -> None:
        self._change(lambda registry: registry.use(name, force=force))

    def action_rollback(self) -> None:
        self._change(lambda registry: registry.rollback())

    def _change(self, change: Callable[[Registry], Activation]) -> None:
        def work() -> Activation:
            from policy.serving.registry import Registry

            return change(Registry())

        in_background(self, work, self._report_change, group="promote")

    def action_train(self) -> None:
        """Go to the training; on its tab, clear a finished training or start the chosen one."""
        if self._tab != "training":
            self.action_tab("training")
        elif self._panel.job is not None:
            self._panel.put_away()
            self.remove_class("-training")
            self._label()
            self._take_focus()
        else:
            self._begin()

    @on(TrainingChoice.Submitted)
    def _begin(self) -> None:
        self._panel.begin(self.query_one(TrainingChoice).request)
        self.add_class("-training")
        self._take_focus()

    def action_stop(self) -> None:
        detail = "It ends after this step. What it saved is kept: the same training continues from there."
        ConfirmScreen.ask(self, "Stop the training?", detail, "Stop", self._panel.stop)

    # --- results of the workers ------------------------------------------------------------------

    def _show_state(self, state: PolicyState) -> None:
        self._policy_state = state
        self.query_one("#message").display = False
        container = self.query_one("#all")
        is_first, container.display = not container.display, True
        self.query_one(TrainingChoice).show(state.stores, state.counts)
        self._draw()
        if is_first:
            self.call_after_refresh(self._take_focus)

    def _report_change(self, activation: Activation) -> None:
        forced = actions.FORCED if activation.forced else ""
        self.notify(
            f"{activation.name} is active{forced}. It decides from the next question on.", markup=False
        )
        self.action_reload()
        self.tell_ask()

    @on(TrainingPanel.Changed)
    def _report_training(self, message: TrainingPanel.Changed) -> None:
        self._label()
        self.refresh_bindings()
        if not message.ended:
            return
        finished, verdict = self._panel.fold.finished, self._panel.fold.verdict
        if finished is not None and verdict is not None:
            gate = "passed" if verdict.passed else "did not pass"
            active = " and is active" if finished.active else ""
            self.app.notify(
                f"The gate {gate} {finished.name}; it is kept{active}.", title="Trained", markup=False
            )
            self.tell_ask()
        self.action_reload()

    @on(OptionList.OptionHighlighted, "#policy-rows")
    def _show_highlighted(self) -> None:
        self.query_one(PolicyCard).scroll_home(animate=False)
        self._draw_card()
        self.refresh_bindings()

    @on(Failed)
    def _show_failure(self, message: Failed) -> None:
        if self._policy_state is None:  # the app shows later failures, and the screen stays as it is
            hint = f"{self.deepthink.key_for('policy.reload')} reads again."
            text = failure_text(message.error, self.deepthink.keys, hint)
            self.query_one("#message", Static).update(text)

    # --- drawing ---------------------------------------------------------------------------------

    @property
    def _tab(self) -> str:
        return self.query_one(TabbedContent).active

    @property
    def _panel(self) -> TrainingPanel:
        return self.query_one(TrainingPanel)

    @property
    def row(self) -> Listed | None:
        name = self.query_one(PolicyRows).chosen
        rows = self._policy_state.rows if self._policy_state else ()
        return next((row for row in rows if row.name == name), None)

    @property
    def _usable(self) -> Listed | None:
        """The policy under the cursor, if it could become active."""
        row = self.row
        return row if row is not None and not row.active and row.verdict != "unusable" else None

    @on(events.Resize)
    @on(TabbedContent.TabActivated)
    def _draw(self) -> None:
        state = self._policy_state
        if state is None:
            return
        width = self.size.width - 2
        self.query_one("#deciding", Static).update(_decider_lines(state, width))
        self._panel.learned_decides = state.decider == LEARNED
        active = state.active
        lines = [Line(row.name, partial(_line, row)) for row in state.rows]
        self.query_one(PolicyRows).show(lines, active.name if active else "")
        self._draw_card()
        self.refresh_bindings()

    def _draw_card(self) -> None:
        changes = self._policy_state.changes if self._policy_state else ()
        self.query_one(PolicyCard).show(self.row, changes)

    def _label(self) -> None:
        """Show the progress of the training in the label of its tab."""
        label = Content(f"{_TITLES['training']} {self._panel.sign}".rstrip())
        self.query_one(TabbedContent).get_tab("training").label = label

    def _take_focus(self) -> None:
        """Focus the main widget of the tab."""
        if self._tab == "policies":
            self.query_one(PolicyRows).focus()
        elif self._panel.job is not None:
            self._panel.focus()
        else:
            self.query_one(TrainingChoice).take_focus()
