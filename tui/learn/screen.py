"""The screen Learn: what it is for, and its views: the decisions of runs, the policies, the training."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from textual import events, on
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static, TabbedContent

from agent.decisions.sources import LEARNED
from tui.app.base import DeepScreen, Pane
from tui.app.confirm import ConfirmScreen
from tui.app.failure import failure_text
from tui.app.keys import bindings
from tui.app.lists import QUIET, gauge
from tui.app.work import Failed, in_background
from tui.decisions.pane import DecisionsPane
from tui.decisions.strip import DecisionStrip
from tui.policy import actions
from tui.policy.actions import Overview
from tui.policy.policies import PoliciesPane, PolicyRows
from tui.policy.training_panel import NOTHING_KEPT, TrainingChoice, TrainingPanel

if TYPE_CHECKING:
    from policy.serving.registry import Activation, Listed, Registry
    from traces.decisions import Counts

_PURPOSE: Final = "Correct what your runs decided, and train a policy from it to decide for you."
_VIEWS: Final = ("decisions", "policies", "training")


def _gathered(counts: Counts, plans: int) -> Content:
    """How many decisions there are to learn from, for what they are enough, and what the user corrected."""
    from policy.decisions import usable
    from policy.training.material import NEEDED

    there = usable(counts)
    goal = next((needed for needed in NEEDED.values() if there < needed), there)
    said = f" {actions.enough(counts)}{actions.corrected(counts, plans)}"
    return Content.assemble(gauge(there / goal, 10), said)


class LearnScreen(DeepScreen):
    MODE = "learn"
    PLACES = ("learn", "decisions")  # those of the view that is shown
    BINDINGS = bindings("learn", "policy")
    CSS_PATH = "learn.tcss"
    AUTO_FOCUS = ""  # the widget that would get it may be hidden
    HELP = """
### Learn

After each step a run decides whether to continue, to revise its plan or to finish. Here you say what it
should have decided, and train a policy from that, which then decides in its place. The first lines say how
many decisions there are to learn from. A policy that the gate did not pass can still be used; that is
recorded.

The settings *Who decides* and *Second opinion* (F8) choose the rules, the language model or the policy, and
whose opinion is recorded beside each decision without being acted on. `deepthink traces stats` counts how
often two sources agree, your labels, and the ratings given on the screen *Runs*.
"""

    def __init__(self) -> None:
        super().__init__()
        self._policy_state: Overview | None = None
        self._decisions = DecisionsPane()

    def body(self) -> ComposeResult:
        yield Static(id="purpose")
        with TabbedContent():
            yield self._decisions
            yield PoliciesPane()
            with Pane("Training", id="training"):
                yield TrainingChoice()
                yield TrainingPanel()

    def on_mount(self) -> None:
        self._tell_purpose(Content.styled("Counting the decisions …", QUIET))
        self.follow_store(self._decisions.read_again)

    def focus_input(self) -> None:
        self._show_view("decisions")

    def show_place(self, place: str) -> None:
        if place == "policy" and self._view == "decisions":
            self._show_view("policies")
        elif place == "decisions":
            self._show_view("decisions")

    # --- actions of the user ---------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Whether an action is possible now; those on policies need them to be shown and read."""
        if not hasattr(self, f"action_{action}"):
            return self._decisions.check_action(action, parameters)
        if action not in {"use", "rollback", "train", "stop"}:
            return True
        if self._policy_state is None or self._view == "decisions":
            return False
        running = self._panel.running
        return {
            "use": self._view == "policies" and self._usable is not None,
            "rollback": bool(self._policy_state.changes),
            "train": self._view == "policies" or not running,
            "stop": running and not self._panel.stopping,
        }[action]

    @on(DecisionStrip.Labelled)
    def _count_again(self) -> None:
        self._read_policies()

    @on(events.ScreenResume)
    def _read_again(self) -> None:
        self._decisions.read_again()
        self._read_policies()

    def action_reload(self) -> None:
        if self._view == "decisions":
            self._decisions.reload()
        self._read_policies()

    def _read_policies(self) -> None:
        read = partial(actions.read_state, self.deepthink.engine)
        in_background(self, read, self._show_state, group="policy", exclusive=True)

    def action_tab(self, by: int) -> None:
        self._show_view(_VIEWS[(_VIEWS.index(self._view) + by) % len(_VIEWS)])

    def _show_view(self, name: str) -> None:
        self.query_one(TabbedContent).active = name

    @on(TabbedContent.TabActivated)
    def _enter_view(self) -> None:
        self.PLACES = ("learn", "decisions" if self._view == "decisions" else "policy")
        if self._policy_state is not None and self._view != "decisions":
            self._read_policies()  # the user may have labelled decisions
        self.refresh_bindings()
        self.call_after_refresh(self._take_focus)

    def _take_focus(self) -> None:
        if self._view == "decisions":
            self._decisions.take_focus()
        elif self._view == "policies":
            self.query_one(PolicyRows).focus()
        elif self._panel.job is not None:
            self._panel.focus()
        else:
            self.query_one(TrainingChoice).take_focus()

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
        """Go to the training; on its view, clear a finished training or start the chosen one."""
        if self._view != "training":
            self._show_view("training")
        elif self._panel.job is not None:
            self._panel.put_away()
            self.remove_class("-training")
            self._take_focus()
        else:
            self._begin()

    @on(TrainingChoice.Submitted)
    def _begin(self) -> None:
        self._panel.begin(self.query_one(TrainingChoice).request)
        self.add_class("-training")
        self._take_focus()

    def action_stop(self) -> None:
        kept = "What it saved is kept: the same training continues from there."
        detail = f"It ends after this step. {kept if self._panel.resumes else NOTHING_KEPT}"
        ConfirmScreen.ask(self, "Stop the training?", detail, "Stop", self._panel.stop)

    # --- results of the workers ------------------------------------------------------------------

    def _tell_purpose(self, gathered: Content) -> None:
        keys = " ".join(self.deepthink.key_for(f"learn.{name}") for name in ("previous", "next"))
        text = Content.assemble(_PURPOSE, "\n", gathered, (f"  {keys} other views", QUIET))
        self.query_one("#purpose", Static).update(text)

    def _show_state(self, state: Overview) -> None:
        self._policy_state = state
        self._tell_purpose(_gathered(state.counts, state.plans))
        self.query_one(PoliciesPane).show(state)
        self.query_one(TrainingChoice).show(state)
        self._panel.learned_decides = state.decider == LEARNED
        self.refresh_bindings()

    def _report_change(self, activation: Activation) -> None:
        forced = actions.FORCED if activation.forced else ""
        self.notify(f"{activation.name} is active{forced}, from the next question on.", markup=False)
        self._read_policies()
        self.tell_ask()

    @on(TrainingPanel.Changed)
    def _report_training(self, message: TrainingPanel.Changed) -> None:
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
        self._read_policies()

    @on(Failed)
    def _show_failure(self, message: Failed) -> None:
        if self._policy_state is None:  # the app shows later failures, and the screen stays as it is
            message.is_shown = True
            self._tell_purpose(Content.styled(f"✗ {message.error.title}", "$error"))
            text = failure_text(self, message.error, "learn.reload")
            self.query_one(PoliciesPane).show_instead(text)

    # --- what is shown ---------------------------------------------------------------------------

    @property
    def _view(self) -> str:
        return self.query_one(TabbedContent).active

    @property
    def _panel(self) -> TrainingPanel:
        return self.query_one(TrainingPanel)

    @property
    def _usable(self) -> Listed | None:
        """The policy under the cursor, if it could become active."""
        row = self.query_one(PoliciesPane).row
        return row if row is not None and not row.active and row.verdict != "unusable" else None
