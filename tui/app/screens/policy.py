"""Policy: who takes the decisions, what was learned and is learned, and what there is to learn from."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static, TabbedContent

from tui.app.actions import bindings
from tui.app.screens.base import DeepScreen
from tui.app.widgets import policy_data as data
from tui.app.widgets import policy_sections as sections
from tui.app.widgets.pane import Pane
from tui.app.widgets.policy_agreement import AgreementPlot
from tui.app.widgets.policy_confirm import ask_to_force, ask_to_stop
from tui.app.widgets.policy_list import PolicyBook
from tui.app.widgets.policy_rows import Policies
from tui.app.widgets.training_choice import TrainingChoice
from tui.app.widgets.training_panel import TrainingPanel
from tui.app.widgets.training_words import Keys
from tui.app.work import Failed

if TYPE_CHECKING:
    from policy.gathered import Gathered
    from tui.app.widgets.policy_data import Deciding
    from tui.app.widgets.policy_rows import PolicyRow

_TITLES = {"policies": "1 Policies", "training": "2 Training", "gathered": "3 Gathered"}


class PolicyScreen(DeepScreen):
    """Everything about deciding that is not of one run: three tabs under who decides now."""

    MODE: ClassVar[str] = "policy"
    PLACES: ClassVar[tuple[str, ...]] = ("policy",)
    BINDINGS: ClassVar[list[BindingType]] = bindings("policy")
    CSS_PATH = "policy.tcss"
    AUTO_FOCUS: ClassVar[str | None] = ""  # what would have the focus may not be shown
    HELP = """
### Policy

After each step a run decides whether to go on, to revise its plan or to finish. The first lines tell who
takes these decisions. **1**, **2** and **3** go to the policies, the training, and what was gathered.

- **d** has the rules decide, the language model, or the learned policy. It counts for runs to come.
- **s** chooses whose *second opinion* is recorded beside each decision, without being acted on: it shows
  how often two sources agree, and costs a model call a decision where it is the language model's.
- **Enter** or **p** makes the policy under the cursor the active one, **b** goes back to the one before. A
  policy that the gate did not pass can be used all the same; that is recorded.
- **t** goes to the training and, pressed there, begins it. **Escape** stops it after the step under way. It
  goes on while you are on other screens. Stopped, or cut off by leaving the app, it goes on from where it
  was as soon as the same training is begun again.
- **u** reads everything again.

Labels are given on the screen *Decisions*, ratings on the screen *Runs*.
"""

    def __init__(self) -> None:
        super().__init__()
        self._gathered: Gathered | None = None
        self._deciding: Deciding | None = None
        self._policies = Policies()

    def body(self) -> ComposeResult:
        """Who decides, and the tabs."""
        yield Static(id="told", classes="empty")
        with Vertical(id="all"):
            yield Static(id="deciding")
            with TabbedContent(id="tabs"):
                with Pane(_TITLES["policies"], id="policies"):
                    yield PolicyBook()
                with Pane(_TITLES["training"], id="training"):
                    yield TrainingChoice()
                    yield TrainingPanel(self._keys)
                with Pane(_TITLES["gathered"], id="gathered"), VerticalScroll(id="counts"):
                    with Vertical(id="left"):
                        yield Static(id="data")
                    with Vertical(id="right"):
                        yield AgreementPlot(id="agreement")

    def on_mount(self) -> None:
        """Say what is going on before it is read."""
        self.query_one("#told", Static).update("Counting what has been gathered …")

    @on(events.ScreenResume)
    def _resumed(self) -> None:
        self.action_reload()

    # --- what a person does ----------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Nothing can be changed before it is known; only what is there can be used or stopped."""
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
        """Read everything again."""
        data.read_policy(self, self.deepthink.engine)

    def action_tab(self, name: str) -> None:
        """Go to a tab."""
        self.query_one(TabbedContent).active = name
        self.call_after_refresh(self._take_focus)

    def action_decider(self) -> None:
        """Have the next source decide."""
        if self._deciding is not None:
            self._set("decider", data.after(self._deciding.decider, self._sources))

    def action_shadow(self) -> None:
        """Have the next one give a second opinion; nobody, after the last that does not decide anyway."""
        if self._deciding is not None:
            others = [name for name in self._sources if name != self._deciding.decider]
            self._set("shadow", data.after(self._deciding.shadow, [data.NOBODY, *others]))

    def action_use(self) -> None:
        """Make the policy under the cursor the active one; asked first if the gate did not pass it."""
        row = self._usable
        if row is None:
            return
        if row.boxed or row.said == "passed":
            data.use_policy(self, row, force=False)
        else:
            ask_to_force(self.app, row, partial(data.use_policy, self, row, force=True))

    def action_rollback(self) -> None:
        """Go back to the policy that was active before."""
        data.roll_back(self)

    def action_train(self) -> None:
        """Go to the training; there, put away what is over; there, begin what is chosen."""
        if self._tab != "training":
            self.action_tab("training")
        elif self._panel.job is not None:
            self._panel.put_away()
            self.remove_class("-training")
            self._label()
            self._take_focus()
        else:
            self._begin()

    @on(TrainingChoice.Wanted)
    def _begin(self) -> None:
        self._panel.begin(self.query_one(TrainingChoice).wish)
        self.add_class("-training")
        self._take_focus()

    def action_stop(self) -> None:
        """Stop the training, once that is confirmed."""
        ask_to_stop(self.app, self._panel.stop)

    # --- what has been read and done -------------------------------------------------------------

    @on(data.PolicyRead)
    def _read(self, message: data.PolicyRead) -> None:
        self._gathered, self._deciding = message.gathered, message.deciding
        self._policies = message.policies
        self.query_one("#told").display = False
        everything = self.query_one("#all")
        first, everything.display = not everything.display, True
        until = sections.training(message.gathered)
        self.query_one(TrainingChoice).show(
            message.sources, message.gathered.usable, until, self._keys().train
        )
        self._draw()
        if first:
            self.call_after_refresh(self._take_focus)

    @on(data.DecidingChanged)
    def _changed(self, message: data.DecidingChanged) -> None:
        self._deciding = message.deciding
        self._draw()
        self.notify("It counts for runs to come.")
        self.tell_ask()

    @on(data.PolicyChanged)
    def _promoted(self, message: data.PolicyChanged) -> None:
        forced = ", although the gate did not pass it" if message.forced else ""
        self.notify(f"{message.name} is active{forced}. It counts for runs to come.", markup=False)
        self.action_reload()
        self.tell_ask()

    @on(TrainingPanel.Changed)
    def _trained(self, message: TrainingPanel.Changed) -> None:
        self._label()
        self.refresh_bindings()
        if not message.ended:
            return
        done, verdict = self._panel.fold.finished, self._panel.fold.verdict
        if done is not None and verdict is not None:
            gate = "passed" if verdict.passed else "did not pass"
            active = " and is active" if done.active else ""
            self.app.notify(
                f"The gate {gate} {done.name}; it is kept{active}.", title="Trained", markup=False
            )
            self.tell_ask()
        self.action_reload()

    @on(PolicyBook.Moved)
    @on(TabbedContent.TabActivated)
    def _elsewhere(self) -> None:
        self.refresh_bindings()

    @on(Failed)
    def _failed(self, message: Failed) -> None:
        if self._gathered is None:  # what goes wrong later is told by the app, and what is shown stays
            error = message.error
            again = f"{self.deepthink.key_of('policy.reload') or 'u'} reads again."
            text = "\n".join(filter(None, (error.message, error.way_out, f"\n{again}")))
            told = Content.assemble((f"✗ {error.title}", "bold $error"), "\n\n", text)
            self.query_one("#told", Static).update(told)

    def on_resize(self) -> None:
        """The first lines say more where there is room."""
        self._draw()

    # --- drawing ---------------------------------------------------------------------------------

    @property
    def _sources(self) -> list[str]:
        """Who can decide; the learned policy only where there is one."""
        return [name for name in data.SOURCES if name != data.LEARNED or self._policies.active]

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
        return row if row is not None and not row.active and row.said != "unusable" else None

    def _keys(self) -> Keys:
        decides = self._deciding is not None and self._deciding.decider == data.LEARNED
        return Keys.of(self.deepthink, decides=decides)

    def _draw(self) -> None:
        found, who = self._gathered, self._deciding
        if found is None or who is None:
            return
        width = self.size.width - 2
        self.query_one("#deciding", Static).update(sections.deciding(who, self._policies, width))
        by = sections.decided_by(who, self._policies)
        self.query_one(PolicyBook).show(self._policies, by, self._keys().train)
        ask = self.deepthink.key_of("app.ask") or "f2"
        self.query_one("#data", Static).update(sections.data(found, ask))
        self.query_one(AgreementPlot).show(found.agreement)
        self.refresh_bindings()

    def _label(self) -> None:
        """The tab of the training tells how it goes, wherever one looks."""
        label = Content(f"{_TITLES['training']} {self._panel.sign}".rstrip())
        self.query_one(TabbedContent).get_tab("training").label = label

    def _take_focus(self) -> None:
        """The keys go to what the tab shows."""
        if self._tab == "policies":
            self.query_one(PolicyBook).take_focus()
        elif self._tab == "gathered":
            self.query_one("#counts").focus()
        elif self._panel.job is not None:
            self._panel.focus()
        else:
            self.query_one(TrainingChoice).take_focus()

    def _set(self, key: str, value: str) -> None:
        assert self._deciding is not None
        if key in self._deciding.fixed:
            variable = self._deciding.fixed[key]
            self.notify(f"{variable} in the environment says so; unset it first.", severity="warning")
        else:
            data.change_setting(self, self.deepthink.engine, key, value)
