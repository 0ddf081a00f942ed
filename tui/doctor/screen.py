"""Doctor: what works on this machine, what does not, and the way out, shown check by check."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from textwrap import wrap
from typing import TYPE_CHECKING, Final

from textual import on
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static
from textual.worker import get_current_worker

from traces.errors import DeepthinkError
from tui.app.base import DeepScreen
from tui.app.failure import in_words_of_the_app, way_out
from tui.app.keys import bindings
from tui.app.lists import Sheet
from tui.app.reach import deepthink
from tui.app.work import Failed, in_background
from tui.terminal import clean

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


class Findings(Sheet):
    """Findings one after the other: state, name and detail, and below them the way out."""

    DEFAULT_CSS = "Findings { height: 1fr; padding: 0 1; }"

    def __init__(self, findings: Sequence[Finding]) -> None:
        super().__init__()
        self._findings = findings

    def lines(self, width: int) -> Iterator[Content]:
        room = width - _STATE - _NAME
        indent = " " * (_STATE + _NAME)
        for finding in self._findings:
            sign, style = _SIGNS[finding.state]
            first, *rest = wrap(clean(finding.detail), room) or [""]
            yield Content.assemble((sign.ljust(_STATE), style), (finding.name.ljust(_NAME), "bold"), first)
            yield from (Content(indent + line) for line in rest)
            advice = f"→ {clean(self._way_out(finding))}" if finding.way_out else ""
            for line in advice.splitlines():
                for piece in wrap(line, room, subsequent_indent="  ", replace_whitespace=False):
                    yield Content.styled(indent + piece, "$foreground 70%")

    def _way_out(self, finding: Finding) -> str:
        if finding.error is not None:
            return way_out(self, finding.error)
        return in_words_of_the_app(finding.way_out, deepthink(self).keys)


class DoctorScreen(DeepScreen):
    """The findings of `tui.doctor.findings.findings` under a summary."""

    MODE = "doctor"
    PLACES = ("doctor",)
    BINDINGS = bindings("doctor")
    CSS_PATH = "doctor.tcss"
    AUTO_FOCUS = "Findings"
    HELP = """\
### Doctor

What deepthink needs on this machine: ✓ works, **!** could be better, ✗ keeps it from working, **?** is
unknown. The way out is below each fault. Nothing is changed, and no model is loaded.
"""

    def __init__(self) -> None:
        super().__init__()
        self._findings: list[Finding] = []
        self._examining = False

    def body(self) -> ComposeResult:
        yield Static(id="sum")
        yield Findings(self._findings)

    def entered(self) -> None:
        if not self._examining:
            self.action_again()

    # --- doing -----------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action != "again" or not self._examining

    def action_again(self) -> None:
        self._findings.clear()
        self._examining = True
        self._redraw()
        engine = self.deepthink.engine
        terminal = f"{self.app.size.width} columns, colours: {self.app.console.color_system or 'none'}"

        def examine() -> None:
            from tui.doctor.findings import findings

            with suppress(DeepthinkError):  # it is one of the findings
                engine.settings()
            worker = get_current_worker()
            for finding in findings(terminal):
                if worker.is_cancelled:
                    break
                self.call_later(self._add_finding, finding)

        in_background(self, examine, lambda _none: self._finish(), group="examine")

    def _add_finding(self, finding: Finding) -> None:
        self._findings.append(finding)
        self._redraw()

    @on(Failed)
    def _finish(self) -> None:
        """Keep the findings, even after a failure, which the app shows."""
        self._examining = False
        self._redraw()

    # --- drawing ---------------------------------------------------------------------------------

    def _redraw(self) -> None:
        self.query_one(Findings).redraw()
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
