"""Doctor: what works on this machine, what does not, and the way out; each row as it is found."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from textwrap import wrap
from typing import TYPE_CHECKING, ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList, Static
from textual.worker import get_current_worker

from tui.app.base import DeepScreen
from tui.app.keys import bindings
from tui.app.lists import Line, ScreenRows
from tui.app.work import Failed, in_background
from tui.terminal import clean, one_line

if TYPE_CHECKING:
    from tui.doctor.findings import Finding, State

_SIGNS: Final[Mapping[State, tuple[str, str]]] = {
    "ok": ("✓ ok", "$success"),
    "warn": ("! warn", "$warning"),
    "fail": ("✗ fail", "bold $error"),
    "unknown": ("? unknown", "$foreground 65%"),
}
_STATE: Final = 11  # columns
_NAME: Final = 16


@dataclass
class Found(Message):
    """One more row."""

    finding: Finding


class Examined(Message):
    """Everything has been looked at."""


class DoctorScreen(DeepScreen):
    """The rows of `tui.doctor.findings.findings`, and the sum of them in the first line."""

    MODE: ClassVar[str] = "doctor"
    PLACES: ClassVar[Sequence[str]] = ("doctor",)
    BINDINGS: ClassVar[list[BindingType]] = bindings("doctor")
    CSS_PATH = "doctor.tcss"
    HELP = """\
### Doctor

What deepthink needs on this machine: ✓ is well, **!** could be better, ✗ keeps it from working, **?** is
not known. What to do is under each fault. Nothing is changed, and no model is loaded.
"""

    def __init__(self) -> None:
        super().__init__()
        self._found: list[Finding] = []
        self._full: set[str] = set()
        self._examining = False

    def body(self) -> ComposeResult:
        yield Static(id="sum", markup=False)
        yield ScreenRows(id="rows")

    def on_mount(self) -> None:
        self.query_one("#rows").focus()
        self.action_again()

    # --- doing -----------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Not again while it examines; nothing is copied or opened before something is there."""
        if action == "again":
            return not self._examining
        return bool(self._found) if action in {"copy", "full"} else True

    def action_again(self) -> None:
        self._found, self._examining = [], True
        self._full.clear()
        self._redraw()
        text = f"{self.app.size.width} columns, {self.app.console.color_system or 'no colours'}"

        def examine() -> Message:
            from tui.doctor.findings import Finding, findings

            worker = get_current_worker()
            for finding in findings(terminal=Finding("terminal", "ok", text)):
                if worker.is_cancelled:
                    break
                self.post_message(Found(finding))
            return Examined()

        in_background(self, examine, group="examine")

    def action_copy(self) -> None:
        from tui.doctor.findings import report

        self.app.copy_to_clipboard(report(self._found))
        self.notify("Copied; look through it before you publish it: it names folders.")

    def action_full(self) -> None:
        self._full ^= {self.query_one(ScreenRows).chosen}
        self._redraw()

    # --- messages of the worker -------------------------------------------------------------------

    @on(Found)
    def _take(self, message: Found) -> None:
        self._found.append(message.finding)
        self._redraw()

    @on(Examined)
    def _done(self) -> None:
        self._examining = False
        self._redraw()

    @on(Failed)
    def _failed(self) -> None:
        """The app shows the failure; keep what was found."""
        self._examining = False
        self._redraw()

    @on(OptionList.OptionSelected)
    def _clicked(self) -> None:
        self.action_full()

    # --- drawing ---------------------------------------------------------------------------------

    def _redraw(self) -> None:
        lines = [Line(finding.name, partial(_row, finding, self._full)) for finding in self._found]
        self.query_one(ScreenRows).show(lines)
        self.query_one("#sum", Static).update(self._sum())
        self.refresh_bindings()

    def _sum(self) -> Content:
        if self._examining:
            return Content(f"… checking: {len(self._found)} done").stylize("$primary")
        bad = sum(finding.state == "fail" for finding in self._found)
        worth = sum(finding.state == "warn" for finding in self._found)
        if bad:
            plural = "thing keeps" if bad == 1 else "things keep"
            return Content(f"✗ {bad} {plural} deepthink from working").stylize("bold $error")
        if worth:
            return Content(f"! It works; {worth} could be better").stylize("$warning")
        return Content("✓ All good").stylize("$success")


def _row(finding: Finding, shown_in_full: Container[str], width: int) -> Content:
    """State, name and what was seen on a line; the way out under it unless all is well."""
    full = finding.name in shown_in_full
    sign, style = _SIGNS[finding.state]
    room = width - _STATE - _NAME
    detail = clean(finding.detail)
    seen = wrap(detail, room) if full else [one_line(detail, room)]
    parts: list[Content | tuple[str, str]] = [
        (sign.ljust(_STATE), style),
        (finding.name.ljust(_NAME), "bold"),
        (seen[0] if seen else "", ""),
    ]
    indent = " " * (_STATE + _NAME)
    parts += [(f"\n{indent}{line}", "") for line in seen[1:]]
    if finding.way_out and (full or finding.state != "ok"):
        for line in f"→ {clean(finding.way_out)}".splitlines():
            out = wrap(line, room, subsequent_indent="  ", replace_whitespace=False) or [""]
            parts += [(f"\n{indent}{piece}", "$foreground 70%") for piece in out]
    return Content.assemble(*parts)
