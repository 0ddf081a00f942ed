"""The policies as rows, and the one under the cursor in full."""

from __future__ import annotations

from typing import ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList, Static

from policy.serving.card import difference
from tui.app.lists import KEYS_BUT_ENTER, Line, MarkedList, facts, titled
from tui.policy.policies import Policies, PolicyRow
from tui.terminal import clean, one_line, padded

GATE: Final = {
    "passed": ("✓ passed", "$success"),
    "not passed": ("✗ not passed", "$error"),
    "not asked": ("– not asked", "$foreground 65%"),
    "unusable": ("✗ unusable", "$error"),
}
"""What the gate said, in a sign and a word."""

_QUIET = "$foreground 65%"
_METHOD, _GAINS, _GATE, _ACTIVE = 8, 8, 14, 8
_NOTHING = """\
There is no policy yet: this version came without one, and none was trained here.

{train} goes to the training. Until there is a policy, {by}."""


class PolicyRows(MarkedList, inherit_bindings=False):
    """The rows; Enter is the screen's, so that it can be remapped."""

    HELP = """\
### Policies

Each was trained, here or by whoever made this version (the *box*). The figure is what it gains over the
default schedule on questions it has not seen; the gate says whether that is enough. One of them is active.
"""
    BINDINGS: ClassVar[list[BindingType]] = KEYS_BUT_ENTER


class PolicyBook(Container):
    """The list, and under it the policy that is under the cursor."""

    DEFAULT_CSS = """
    PolicyBook { layout: vertical; height: 1fr; }
    PolicyBook #head { height: 1; padding: 0 1; color: $foreground 65%; }
    PolicyBook #listed { height: auto; max-height: 8; }
    PolicyBook PolicyRows { max-height: 7; }
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
            yield Static(_heads(), id="head")
            yield PolicyRows(id="policy-rows")
        with VerticalScroll(id="card"):
            yield Static(markup=False)
        yield Static(id="none", markup=False)

    @property
    def row(self) -> PolicyRow | None:
        """The policy under the cursor."""
        chosen = self.query_one(PolicyRows).chosen
        return next((row for row in self._policies.rows if row.name == chosen), None)

    def show(self, policies: Policies, decided_by: str, train: str) -> None:
        """Draw them.

        Args:
            policies: What there is.
            decided_by: Who decides while there is none, in words.
            train: The key of a training.
        """
        self._policies = policies
        self.set_class(not policies.rows, "-none")
        self.query_one("#none", Static).update(_NOTHING.format(train=train, by=decided_by))
        active = policies.active
        lines = [Line(row.name, lambda width, row=row: _line(row, width)) for row in policies.rows]  # type: ignore[misc]
        self.query_one(PolicyRows).show(lines, active.name if active else "")
        self._draw_card()

    def take_focus(self) -> None:
        """The keys go to the list, if there is one."""
        if self._policies.rows:
            self.query_one(PolicyRows).focus()

    def on_resize(self) -> None:
        self.call_after_refresh(self._draw_card)

    @on(OptionList.OptionHighlighted)
    def _moved(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        self.query_one("#card").scroll_home(animate=False)
        self._draw_card()
        self.post_message(self.Moved())

    def _draw_card(self) -> None:
        row = self.row
        card = self.query_one("#card Static", Static)
        width = max(self.query_one("#card").scrollable_content_region.width - 1, 40)
        card.update(Content("\n").join(_card(row, self._policies, width)) if row else "")


def _heads() -> Content:
    return Content(f"  {{:<24}}{'method':<{_METHOD}}{'gain':>{_GAINS}}  {'gate':<{_GATE}}".format("policy"))


def _line(row: PolicyRow, width: int) -> Content:
    """Name, method, gain, gate, and whether it is the active one."""
    room = min(width - _METHOD - _GAINS - 2 - _GATE - _ACTIVE, 24)
    gain = f"{row.gain[0]:+.3f}" if row.gain else "–"
    sign, style = GATE[row.said]
    return Content.assemble(
        (padded(one_line(row.name, room - 1), room), "bold" if row.active else ""),
        (row.method.ljust(_METHOD), _QUIET),
        f"{gain:>{_GAINS}}  ",
        (sign.ljust(_GATE), style),
        ("● active" if row.active else "", "bold $primary"),
    )


def _card(row: PolicyRow, policies: Policies, width: int) -> list[Content]:
    sign, style = GATE[row.said]
    gain = [("gain", f"{difference(row.gain)} over the default schedule")] if row.gain else []
    gate = sign if row.said == "unusable" else f"{sign[0]} gate {sign[2:]}"
    lines = [
        Content.assemble(
            (clean(row.name), "bold $primary"),
            ("  ● active" if row.active else "", "bold"),
            ("  came with this version" if row.boxed else "", _QUIET),
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
