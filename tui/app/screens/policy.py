"""Policy: who takes the decisions, what was gathered to learn from, and what was learned from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from tui.app.actions import bindings
from tui.app.screens.ask import AskScreen
from tui.app.screens.base import DeepScreen
from tui.app.widgets import policy_sections as sections
from tui.app.widgets.policy_agreement import AgreementPlot
from tui.app.widgets.policy_data import (
    LLM,
    NOBODY,
    RULES,
    Deciding,
    DecidingChanged,
    PolicyRead,
    change_setting,
    read_policy,
)
from tui.app.work import Failed

if TYPE_CHECKING:
    from policy.gathered import Gathered


class PolicyScreen(DeepScreen):
    """Everything about deciding that is not of one run."""

    MODE: ClassVar[str] = "policy"
    PLACES: ClassVar[tuple[str, ...]] = ("policy",)
    BINDINGS: ClassVar[list[BindingType]] = bindings("policy")
    CSS_PATH = "policy.tcss"
    HELP = """
### Policy

After each step a run decides whether to go on, to revise its plan or to finish. This screen tells who takes
these decisions, what the store holds of earlier ones, and how much of that a policy could be learned from.

- **d** has the rules decide, or the language model. It counts for runs to come.
- **s** chooses whose *second opinion* is recorded beside each decision, without being acted on: it shows
  how often two sources agree, and costs a model call a decision where it is the language model's.
- **u** counts again.

Labels are given on the screen *Decisions*, ratings on the screen *Runs*.
"""

    def __init__(self) -> None:
        super().__init__()
        self._gathered: Gathered | None = None
        self._deciding: Deciding | None = None

    def body(self) -> ComposeResult:
        """Two columns where there is room for them."""
        yield Static(id="told", classes="empty")
        with VerticalScroll(id="all"):
            with Vertical(id="left"):
                yield Static(id="deciding", classes="section")
                yield Static(id="data", classes="section")
            with Vertical(id="right"):
                yield Static(id="policies", classes="section")
                yield Static(id="training", classes="section")
                yield AgreementPlot(id="agreement")

    def on_mount(self) -> None:
        """Say what is going on before it is read."""
        self.query_one("#told", Static).update("Counting what has been gathered …")

    @on(events.ScreenResume)
    def _resumed(self) -> None:
        self.action_reload()

    # --- what a person does ----------------------------------------------------------------------

    def action_reload(self) -> None:
        """Count again."""
        read_policy(self, self.deepthink.engine)

    def action_decider(self) -> None:
        """Have the other source decide."""
        if self._deciding is not None:
            self._set("decider", LLM if self._deciding.decider == RULES else RULES)

    def action_shadow(self) -> None:
        """Have the next one give a second opinion; nobody, where the next one decides anyway."""
        who = self._deciding
        if who is not None:
            self._set("shadow", NOBODY if who.shadow else LLM if who.decider == RULES else RULES)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Nothing can be changed before it is known."""
        return None if action in {"decider", "shadow"} and self._deciding is None else True

    def _set(self, key: str, value: str) -> None:
        assert self._deciding is not None
        if key in self._deciding.fixed:
            variable = self._deciding.fixed[key]
            self.notify(f"{variable} in the environment says so; unset it first.", severity="warning")
        else:
            change_setting(self, self.deepthink.engine, key, value)

    # --- what has been read ----------------------------------------------------------------------

    @on(PolicyRead)
    def _read(self, message: PolicyRead) -> None:
        self._gathered, self._deciding = message.gathered, message.deciding
        self.query_one("#told").display = False
        everything = self.query_one("#all")
        first, everything.display = not everything.display, True
        self._draw()
        if first:
            everything.focus()

    @on(DecidingChanged)
    def _changed(self, message: DecidingChanged) -> None:
        self._deciding = message.deciding
        self._draw()
        self.notify("It counts for runs to come.")
        for screen in self.app.get_screen_stack("ask")[:1]:
            if isinstance(screen, AskScreen):
                screen.look_again()  # it tells who decides

    @on(Failed)
    def _failed(self, message: Failed) -> None:
        if self._gathered is None:  # what goes wrong later is told by the app, and what is shown stays
            error = message.error
            again = f"{self.deepthink.key_of('policy.reload') or 'u'} reads again."
            text = "\n".join(filter(None, (error.message, error.way_out, f"\n{again}")))
            told = Content.assemble((f"✗ {error.title}", "bold $error"), "\n\n", text)
            self.query_one("#told", Static).update(told)

    def _draw(self) -> None:
        found, who = self._gathered, self._deciding
        if found is None or who is None:
            return
        self.query_one("#deciding", Static).update(sections.deciding(who))
        ask = self.deepthink.key_of("app.ask") or "f2"
        self.query_one("#data", Static).update(sections.data(found, ask))
        self.query_one("#policies", Static).update(sections.policies(found, who))
        self.query_one("#training", Static).update(sections.training(found))
        self.query_one(AgreementPlot).show(found.agreement)
        self.refresh_bindings()
