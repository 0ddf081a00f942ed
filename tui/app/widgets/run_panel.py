"""The thinking of a run: its plan, its evidence and its decisions, one tab each."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import TabbedContent, TabPane

from tui.app.actions import bindings
from tui.app.fold import EVERYTHING, Part, RunFold
from tui.app.widgets.decision_strip import DecisionStrip
from tui.app.widgets.evidence import EvidenceList
from tui.app.widgets.plan_tree import PlanTree

_TABS = ("plan", "evidence", "decisions")


class RunPanel(Vertical):
    """What stands beside a conversation or a replay; every part is drawn from the fold alone."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("thinking")
    HELP = """\
### The thinking

**→** and **←** go through the plan, the evidence and the decisions.
"""
    DEFAULT_CSS = """
    RunPanel { width: 1fr; height: 1fr; }
    RunPanel TabPane { padding: 0; }
    RunPanel TabbedContent { height: 1fr; }
    """

    def compose(self) -> ComposeResult:
        """The three tabs."""
        with TabbedContent():
            with TabPane("Plan", id="plan"):
                yield PlanTree()
            with TabPane("Evidence", id="evidence"):
                yield EvidenceList()
            with TabPane("Decisions", id="decisions"):
                yield DecisionStrip(compact=True)

    def focus_first(self) -> None:
        """Keys go to the tab that is shown."""
        pane = self.query_one(TabbedContent).active_pane
        if pane is not None:
            pane.query("*").first().focus()

    def action_tab(self, by: int) -> None:
        """Go to the next tab, or to the one before."""
        tabs = self.query_one(TabbedContent)
        at = _TABS.index(tabs.active) if tabs.active in _TABS else 0
        tabs.active = _TABS[(at + by) % len(_TABS)]
        self.call_after_refresh(self.focus_first)

    def show(self, fold: RunFold, changed: frozenset[Part] = EVERYTHING) -> None:
        """Draw what changed."""
        if not self.query(DecisionStrip):  # the tabs are still being composed
            self.call_after_refresh(self.show, fold)
            return
        self.query_one(PlanTree).show(fold, changed)
        self.query_one(EvidenceList).show(fold, changed)
        self.query_one(DecisionStrip).show(fold, changed)
