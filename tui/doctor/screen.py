"""Doctor: what works on this machine, what does not, and the way out, shown check by check."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from functools import partial
from importlib.metadata import version
from textwrap import wrap
from typing import TYPE_CHECKING, ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
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


class DoctorScreen(DeepScreen):
    """The rows of `tui.doctor.findings.findings`, and a summary in the first line."""

    MODE: ClassVar[str] = "doctor"
    PLACES: ClassVar[Sequence[str]] = ("doctor",)
    BINDINGS: ClassVar[list[BindingType]] = bindings("doctor")
    CSS_PATH = "doctor.tcss"
    HELP = """\
### Doctor

What deepthink needs on this machine: ✓ works, **!** could be better, ✗ keeps it from working, **?** is
unknown. The way out is below each fault. Nothing is changed, and no model is loaded.
"""

    def __init__(self) -> None:
        super().__init__()
        self._findings: list[Finding] = []
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
        """Check again only when idle; copy and open only what was found."""
        if action == "again":
            return not self._examining
        return bool(self._findings) if action in {"copy", "full"} else True

    def action_again(self) -> None:
        self._findings, self._examining = [], True
        self._full.clear()
        self._redraw()
        terminal = f"{self.app.size.width} columns, {self.app.console.color_system or 'no colours'}"

        def examine() -> None:
            from tui.doctor.findings import findings

            worker = get_current_worker()
            for finding in findings(terminal):
                if worker.is_cancelled:
                    break
                self.call_later(self._add_finding, finding)

        in_background(self, examine, lambda _none: self._finish(), group="examine")

    def action_copy(self) -> None:
        """Copy the findings as text, for an issue or a mail."""
        lines = [f"deepthink {version('deepthink-tui')}"]
        for finding in self._findings:
            lines.append(f"{finding.state:<8}{finding.name}: {finding.detail}")
            if finding.way_out:
                lines.append(f"{'':<8}→ {finding.way_out}")
        self.app.copy_to_clipboard("\n".join(lines) + "\n")
        self.notify("Copied; look through it before you publish it: it names folders.")

    def action_full(self) -> None:
        self._full ^= {self.query_one(ScreenRows).chosen}
        self._redraw()

    def _add_finding(self, finding: Finding) -> None:
        self._findings.append(finding)
        self._redraw()

    @on(Failed)
    def _finish(self) -> None:
        """Keep the findings, even after a failure, which the app shows."""
        self._examining = False
        self._redraw()

    @on(OptionList.OptionSelected)
    def _toggle_clicked(self) -> None:
        self.action_full()

    # --- drawing ---------------------------------------------------------------------------------

    def _redraw(self) -> None:
        lines = [Line(finding.name, partial(_row, finding, self._full)) for finding in self._findings]
        self.query_one(ScreenRows).show(lines)
        self.query_one("#sum", Static).update(self._summary())
        self.refresh_bindings()

    def _summary(self) -> Content:
        if self._examining:
            return Content(f"… checking: {len(self._findings)} done").stylize("$primary")
        failures = sum(finding.state == "fail" for finding in self._findings)
        warnings = sum(finding.state == "warn" for finding in self._findings)
        if failures:
            plural = "thing keeps" if failures == 1 else "things keep"
            return Content(f"✗ {failures} {plural} deepthink from working").stylize("bold $error")
        if warnings:
            return Content(f"! It works; {warnings} could be better").stylize("$warning")
        return Content("✓ All good").stylize("$success")


def _row(finding: Finding, full_rows: Container[str], width: int) -> Content:
    """State, name and detail in one line; below it the way out, unless the state is ok."""
    full = finding.name in full_rows
    sign, style = _SIGNS[finding.state]
    room = width - _STATE - _NAME
    detail = clean(finding.detail)
    detail_lines = wrap(detail, room) if full else [one_line(detail, room)]
    parts: list[Content | tuple[str, str]] = [
        (sign.ljust(_STATE), style),
        (finding.name.ljust(_NAME), "bold"),
        (detail_lines[0] if detail_lines else "", ""),
    ]
    indent = " " * (_STATE + _NAME)
    parts += [(f"\n{indent}{line}", "") for line in detail_lines[1:]]
    if finding.way_out and (full or finding.state != "ok"):
        for line in f"→ {clean(finding.way_out)}".splitlines():
            way_out_lines = wrap(line, room, subsequent_indent="  ", replace_whitespace=False) or [""]
            parts += [(f"\n{indent}{piece}", "$foreground 70%") for piece in way_out_lines]
    return Content.assemble(*parts)
