"""Policy: who decides, the learned policies, and training a new one."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList, Static, TabbedContent, TabPane

from policy.serving.card import difference
from tui.app.base import DeepScreen
from tui.app.confirm import ConfirmScreen
from tui.app.keys import bindings
from tui.app.lists import Line, ScreenRows, facts, titled
from tui.app.work import Failed
from tui.decisions.strip import bar, percent
from tui.policy import actions
from tui.policy.actions import LEARNED, LLM, RULES, Deciding, Policies, PolicyRow
from tui.policy.training_choice import TrainingChoice
from tui.policy.training_panel import TrainingPanel
from tui.terminal import clean, counted, one_line, padded

if TYPE_CHECKING:
    from policy.decisions.gathered import Gathered


GATE: Final = {
    "passed": ("✓ passed", "$success"),
    "not passed": ("✗ not passed", "$error"),
    "not asked": ("– not asked", "$foreground 65%"),
    "unusable": ("✗ unusable", "$error"),
}
"""Sign, word and style of each verdict of the gate."""

_QUIET = "$foreground 65%"
_METHOD, _GAINS, _GATE, _ACTIVE = 8, 8, 14, 8
_NOTHING = """\
There is no policy yet: this version came without one, and none was trained here.

{train} goes to the training. Until there is a policy, {by}."""


class PolicyRows(ScreenRows):
    """The policies."""

    DEFAULT_CSS = "PolicyRows { height: auto; max-height: 7; }"
    HELP = """\
### Policies

Each was trained on this machine or shipped with this version (the *box*). The number is its gain over the
default schedule on held-out questions; the gate says whether that is enough. One of them is active.
"""


class PolicyBook(Container):
    """The list of policies, and the card of the one under the cursor."""

    DEFAULT_CSS = """
    PolicyBook { layout: vertical; height: 1fr; }
    PolicyBook #head { height: 1; padding: 0 1; color: $foreground 65%; }
    PolicyBook #listed { height: auto; max-height: 8; }
    PolicyBook #card { height: 1fr; padding: 0 1; border-top: solid $panel; scrollbar-gutter: stable; }
    PolicyBook #card:focus { border-top: solid $primary; }
    PolicyBook #none { padding: 1 2; color: $foreground 65%; }
    PolicyBook.-none #listed, PolicyBook.-none #card { display: none; }
    PolicyBook #none { display: none; }
    PolicyBook.-none #none { display: block; }
    """

    class Moved(Message):
        """Another policy is under the cursor."""

    def __init__(self) -> None:
        super().__init__()
        self._policies = Policies()

    def compose(self) -> ComposeResult:
        with Container(id="listed"):
            yield Static(_table_head(), id="head")
            yield PolicyRows(id="policy-rows")
        with VerticalScroll(id="card"):
            yield Static(markup=False)
        yield Static(id="none", markup=False)

    @property
    def row(self) -> PolicyRow | None:
        """The policy under the cursor."""
        name = self.query_one(PolicyRows).chosen
        return next((row for row in self._policies.rows if row.name == name), None)

    def show(self, policies: Policies, clause: str, train: str) -> None:
        """Draw the policies.

        Args:
            policies: All policies.
            clause: Who decides while there is none.
            train: The key that starts a training.
        """
        self._policies = policies
        self.set_class(not policies.rows, "-none")
        self.query_one("#none", Static).update(_NOTHING.format(train=train, by=clause))
        active = policies.active
        lines = [Line(row.name, partial(_line, row)) for row in policies.rows]
        self.query_one(PolicyRows).show(lines, active.name if active else "")
        self._draw_card()

    def take_focus(self) -> None:
        """Focus the list, if there are policies."""
        if self._policies.rows:
            self.query_one(PolicyRows).focus()

    def on_resize(self) -> None:
        self.call_after_refresh(self._draw_card)

    @on(OptionList.OptionHighlighted)
    def _show_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        self.query_one("#card").scroll_home(animate=False)
        self._draw_card()
        self.post_message(self.Moved())

    def _draw_card(self) -> None:
        row = self.row
        card = self.query_one("#card Static", Static)
        width = max(self.query_one("#card").scrollable_content_region.width - 1, 40)
        card.update(Content("\n").join(_card(row, self._policies, width)) if row else "")


def _table_head() -> Content:
    return Content(f"  {{:<24}}{'method':<{_METHOD}}{'gain':>{_GAINS}}  {'gate':<{_GATE}}".format("policy"))


def _line(row: PolicyRow, width: int) -> Content:
    """Name, method, gain, verdict of the gate, and whether it is active."""
    room = min(width - _METHOD - _GAINS - 2 - _GATE - _ACTIVE, 24)
    gain = f"{row.gain[0]:+.3f}" if row.gain else "–"
    sign, style = GATE[row.verdict]
    return Content.assemble(
        (padded(one_line(row.name, room - 1), room), "bold" if row.active else ""),
        (row.method.ljust(_METHOD), _QUIET),
        f"{gain:>{_GAINS}}  ",
        (sign.ljust(_GATE), style),
        ("● active" if row.active else "", "bold $primary"),
    )


def _card(row: PolicyRow, policies: Policies, width: int) -> list[Content]:
    sign, style = GATE[row.verdict]
    gain = [("gain", f"{difference(row.gain)} over the default schedule")] if row.gain else []
    gate = sign if row.verdict == "unusable" else f"{sign[0]} gate {sign[2:]}"
    lines = [
        Content.assemble(
            (clean(row.name), "bold $primary"),
            ("  ● active" if row.active else "", "bold"),
            ("  built in" if row.boxed else "", _QUIET),
        ),
        *facts([(gate, row.reason), *gain], width, len(gate) + 2),
    ]
    lines[1] = lines[1].stylize(style, 0, len(gate))
    lines.append(Content(""))
    for title, rows in row.sections:
        lines += titled(title, facts(rows, width))
    if row.active and policies.changes:
        lines += titled("How the active policy came to be", facts(policies.changes, width))
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
    RULES: "the plan is followed and revised once",
    LLM: "the language model is asked at each step",
}


def decider_lines(deciding: Deciding, policies: Policies, width: int) -> Content:
    """Who decides, whose second opinion is recorded, and the warning if there is one, a line each."""
    origin = f"default of the profile {deciding.profile}" if deciding.profile else "as set"
    if deciding.shadow == deciding.decider:
        second_opinion, reason = f"{deciding.shadow}, which already decides", "nothing to compare"
    elif deciding.shadow:
        second_opinion, reason = f"{deciding.shadow}, recorded and not acted on", ""
    else:
        second_opinion, reason = "off", "with one, you can see where they agree"
    lines = [
        _decider_line(
            "decides", f"{deciding.decider}, {origin}", _explanation(deciding.decider, policies), width
        ),
        _decider_line("second opinion", second_opinion, reason, width),
    ]
    if policies.warning:
        lines.append(Content.styled(f"! {one_line(policies.warning)}", "$warning"))
    return Content("\n").join(lines)


def decider_clause(deciding: Deciding, policies: Policies) -> str:
    """Who decides, in a clause."""
    if deciding.decider == LLM:
        return "the language model decides"
    return "the policy decides" if deciding.decider == LEARNED and policies.active else "the rules decide"


def _explanation(decider: str, policies: Policies) -> str:
    if decider != LEARNED:
        return _HOW.get(decider, "")
    return f"the policy {policies.active.name}" if policies.active else "no policy is there: the rules do"


def _decider_line(name: str, value: str, reason: str, width: int) -> Content:
    line = Content.assemble((f"{name:<16}", _QUIET), value)
    full_line = Content.assemble(line, (f" · {reason}", _QUIET)) if reason else line
    return full_line if full_line.cell_length <= width else line


def data_summary(learnable: Gathered) -> Content:
    """How many decisions there are to learn from, and how many are missing."""
    share = min(1.0, learnable.usable / learnable.needed)
    figures = f" {percent(share)}  {learnable.usable:,} of {learnable.needed:,} decisions"
    lines = [
        Content.styled("What your own runs have gathered for it", "bold $primary"),
        Content.assemble(bar(share, 24), figures),
    ]
    if learnable.missing:
        lines.append(Content(f"Not enough decisions yet: {learnable.missing:,} more are needed."))
        if learnable.usable and learnable.runs:
            runs = counted(-(-learnable.missing * learnable.runs // learnable.decisions), "run")
            lines.append(Content.styled(f"That is about {runs} like those so far.", _QUIET))
    else:
        lines.append(Content("Enough for a training."))
    older = learnable.decisions - learnable.usable
    if older:
        lines.append(
            Content.styled(
                f"{counted(older, 'decision')} of an older encoding cannot be learnt from.", _QUIET
            )
        )
    if not sum(learnable.labels.values()):
        lines.append(Content.styled("You haven't labelled a decision yet.", _QUIET))
    return Content("\n").join(lines)


_TITLES = {"policies": "1 Policies", "training": "2 Training"}


class PolicyScreen(DeepScreen):
    """Who decides, and two tabs: policies and training."""

    MODE: ClassVar[str] = "policy"
    PLACES: ClassVar[tuple[str, ...]] = ("policy",)
    BINDINGS: ClassVar[list[BindingType]] = bindings("policy")
    CSS_PATH = "policy.tcss"
    AUTO_FOCUS: ClassVar[str | None] = ""  # the widget that would get it may be hidden
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
        self._deciding: Deciding | None = None
        self._policies = Policies()

    def body(self) -> ComposeResult:
        yield Static(id="message", classes="empty")
        with Vertical(id="all"):
            yield Static(id="deciding")
            with TabbedContent(id="tabs"):
                with Pane(_TITLES["policies"], id="policies"):
                    yield PolicyBook()
                with Pane(_TITLES["training"], id="training"):
                    yield TrainingChoice()
                    yield TrainingPanel()

    def on_mount(self) -> None:
        self.query_one("#message", Static).update("Counting what has been gathered …")

    @on(events.ScreenResume)
    def _reload(self) -> None:
        self.action_reload()

    # --- actions of the user ---------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Whether an action is possible now; before everything is loaded, only reloading is."""
        if self._deciding is None:
            return action == "reload" or not hasattr(self, f"action_{action}")
        if action == "use":
            return self._tab == "policies" and self._usable is not None
        if action == "rollback":
            return bool(self._policies.changes)
        if action == "train":
            return not self._panel.running or self._tab != "training"
        if action == "stop":
            return self._panel.running and not self._panel.stopping
        return True

    def action_reload(self) -> None:
        actions.read_policy(self, self.deepthink.engine)

    def action_tab(self, name: str) -> None:
        self.query_one(TabbedContent).active = name
        self.call_after_refresh(self._take_focus)

    def action_use(self) -> None:
        """Make the policy under the cursor active; ask first if the gate did not pass it."""
        row = self._usable
        if row is None:
            return
        if row.boxed or row.verdict == "passed":
            actions.use_policy(self, row, force=False)
        else:
            gate = "was not asked about" if row.verdict == "not asked" else "did not pass"
            consequence = "It is recorded as forced. The previous policy stays, and you can go back to it."
            force = partial(actions.use_policy, self, row, force=True)
            question = f"Use {row.name}, which the gate {gate}?"
            ConfirmScreen.ask(self, question, f"{row.reason}\n\n{consequence}", "Use", force)

    def action_rollback(self) -> None:
        actions.roll_back(self)

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
        self._panel.begin(self.query_one(TrainingChoice).spec)
        self.add_class("-training")
        self._take_focus()

    def action_stop(self) -> None:
        detail = "It ends after this step. What it saved is kept: the same training continues from there."
        ConfirmScreen.ask(self, "Stop the training?", detail, "Stop", self._panel.stop)

    # --- messages of the workers -----------------------------------------------------------------

    @on(actions.PolicyRead)
    def _show_policies(self, message: actions.PolicyRead) -> None:
        self._deciding = message.deciding
        self._policies = message.policies
        self.query_one("#message").display = False
        container = self.query_one("#all")
        is_first, container.display = not container.display, True
        choice = self.query_one(TrainingChoice)
        choice.show(
            message.sources, message.gathered.usable, data_summary(message.gathered), self._train_key
        )
        self._draw()
        if is_first:
            self.call_after_refresh(self._take_focus)

    @on(actions.PolicyChanged)
    def _report_change(self, message: actions.PolicyChanged) -> None:
        forced = ", although the gate did not pass it" if message.forced else ""
        self.notify(
            f"{message.name} is active{forced}. It decides from the next question on.", markup=False
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

    @on(PolicyBook.Moved)
    @on(TabbedContent.TabActivated)
    def _update_keys(self) -> None:
        self.refresh_bindings()

    @on(Failed)
    def _show_failure(self, message: Failed) -> None:
        if self._deciding is None:  # the app shows later failures, and the screen stays as it is
            error = message.error
            hint = f"{self.deepthink.key_of('policy.reload') or 'u'} reads again."
            text = "\n".join(filter(None, (error.message, error.way_out, f"\n{hint}")))
            content = Content.assemble((f"✗ {error.title}", "bold $error"), "\n\n", text)
            self.query_one("#message", Static).update(content)

    def on_resize(self) -> None:
        self._draw()

    # --- drawing ---------------------------------------------------------------------------------

    @property
    def _tab(self) -> str:
        return self.query_one(TabbedContent).active

    @property
    def _panel(self) -> TrainingPanel:
        return self.query_one(TrainingPanel)

    @property
    def _usable(self) -> PolicyRow | None:
        """The policy under the cursor, if it could become active."""
        row = self.query_one(PolicyBook).row
        return row if row is not None and not row.active and row.verdict != "unusable" else None

    @property
    def _train_key(self) -> str:
        return self.deepthink.key_for("policy.train")

    def _draw(self) -> None:
        deciding = self._deciding
        if deciding is None:
            return
        width = self.size.width - 2
        self.query_one("#deciding", Static).update(decider_lines(deciding, self._policies, width))
        self._panel.learned_decides = deciding.decider == LEARNED
        clause = decider_clause(deciding, self._policies)
        self.query_one(PolicyBook).show(self._policies, clause, self._train_key)
        self.refresh_bindings()

    def _label(self) -> None:
        """Show the progress of the training in the label of its tab."""
        label = Content(f"{_TITLES['training']} {self._panel.sign}".rstrip())
        self.query_one(TabbedContent).get_tab("training").label = label

    def _take_focus(self) -> None:
        """Focus the main widget of the tab."""
        if self._tab == "policies":
            self.query_one(PolicyBook).take_focus()
        elif self._panel.job is not None:
            self._panel.focus()
        else:
            self.query_one(TrainingChoice).take_focus()
