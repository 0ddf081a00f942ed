"""The learned policies in a list, the one under the cursor in full, and who decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from textual import on
from textual.app import ComposeResult
from textual.containers import Container
from textual.content import Content
from textual.widgets import OptionList, Static

from agent.decisions.sources import LEARNED
from policy.serving.card import UTILITY, difference, sections
from tui.app.base import Pane
from tui.app.lists import QUIET, Drawn, DrawnText, Line, ScreenRows, Sheet, facts, titled
from tui.policy import actions
from tui.policy.actions import Overview
from tui.terminal import clean, moment, one_line, padded

if TYPE_CHECKING:
    from policy.serving.registry import GateVerdict, Listed


_GATE_SIGNS: Final[Mapping[GateVerdict, tuple[str, str]]] = {
    "passed": ("✓ passed", "$success"),
    "not surely better": ("– not surely better", QUIET),
    "not passed": ("✗ not passed", "$error"),
    "not asked": ("– not asked", QUIET),
    "unusable": ("✗ unusable", "$error"),
}
"""Sign, word and style of each verdict of the gate."""

_GAIN = f"{{}} over the default schedule, in {UTILITY}"
_METHOD, _GAINS, _GATE, _ACTIVE = 8, 8, 21, 8
_HEAD = f"  {'policy':<24}{'method':<{_METHOD}}{'gain':>{_GAINS}}  {'gate':<{_GATE}}"
_NOTHING = Content("There is no policy: the rules decide. A training makes one.")


class PolicyRows(ScreenRows):
    DEFAULT_CSS = "PolicyRows { height: auto; max-height: 7; }"
    HELP = """\
### Policies

Each was trained on this machine, or is built in. The number is its gain over the default schedule on
held-out questions; the gate, a test on these, says whether that is enough. *Not surely better*: it was
not shown to be better than the rules, so the rules decide unless you choose it. At most one is active.
"""


def _line(row: Listed, width: int) -> Content:
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
    def __init__(self) -> None:
        super().__init__(id="card")
        self._row: Listed | None = None
        self._changes: Sequence[tuple[str, str]] = ()
        self._instead = Content("Reading the policies …")

    def show(self, row: Listed | None, changes: Sequence[tuple[str, str]], instead: Content) -> None:
        """Show a policy, of the active one also the ``changes`` that led to it; else ``instead``."""
        self._row, self._changes, self._instead = row, changes, instead
        self.redraw()

    def lines(self, width: int) -> list[Content]:
        if (row := self._row) is None:
            return [self._instead]
        width -= 1
        sign, style = _GATE_SIGNS[row.verdict]
        gain = [("gain", _GAIN.format(difference(row.gain)))] if row.gain else []
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


_HOW: Mapping[str, str] = {
    "rules": "the plan is followed and revised once",
    "llm": "the language model is asked at each step",
}


def _decider_lines(state: Overview, width: int) -> Content:
    how = _HOW.get(state.decider, "")
    if state.decider == LEARNED:
        how = f"the policy {state.active.name}" if state.active else "there is none: the rules do"
    origin = f"default of the profile {state.profile}" if state.profile else "as set"
    line = Content.assemble(("decides  ", QUIET), f"{state.decider}, {origin}")
    full_line = Content.assemble(line, (f" · {how}", QUIET))
    lines = [full_line if how and full_line.cell_length <= width else line]
    if state.warning:
        lines.append(Content.styled(f"! {one_line(state.warning)}", "$warning"))
    return Content("\n").join(lines)


class PoliciesPane(Pane):
    def __init__(self) -> None:
        super().__init__("Policies", id="policies")
        self._state: Overview | None = None

    def compose(self) -> ComposeResult:
        yield DrawnText(id="deciding")
        with Container(id="listed"):
            yield Static(_HEAD, id="head")
            yield PolicyRows(id="policy-rows")
        yield PolicyCard()

    def show(self, state: Overview) -> None:
        self._state = state
        self.query_one(DrawnText).update(Drawn(partial(_decider_lines, state)))
        lines = [Line(row.name, partial(_line, row)) for row in state.rows]
        self.query_one(PolicyRows).show(lines, state.active.name if state.active else "")
        self._draw_card()

    def show_instead(self, text: Content) -> None:
        self.query_one(PolicyCard).show(None, (), text)

    @property
    def row(self) -> Listed | None:
        name = self.query_one(PolicyRows).chosen
        return next((row for row in self._state.rows if row.name == name), None) if self._state else None

    @on(OptionList.OptionHighlighted)
    def _show_highlighted(self) -> None:
        self.query_one(PolicyCard).scroll_home(animate=False)
        self._draw_card()
        self.screen.refresh_bindings()

    def _draw_card(self) -> None:
        if self._state is not None:
            self.query_one(PolicyCard).show(self.row, self._state.changes, _NOTHING)
