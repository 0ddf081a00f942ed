"""Two runs side by side, or one beneath the other where it is narrow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Horizontal, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from traces.runs import Runs
from traces.store import Store
from tui.app.actions import bindings
from tui.app.screens.base import DeepScreen
from tui.app.work import Failed, in_background
from tui.comparison import Compared, Row, compare, when
from tui.imported import stored_or_told
from tui.outcome import outcome_of

_SIGNS = {"same": "=", "differs": "≠", "only A": "A only", "only B": "B only"}


class CompareScreen(DeepScreen):
    """What is the same in two runs, what differs, what only one has.

    Args:
        first: Id of run A.
        second: Id of run B.
    """

    MODE: ClassVar[str] = "runs"
    PLACES: ClassVar[Sequence[str]] = ("compare",)
    CSS_PATH = "compare.tcss"
    BINDINGS: ClassVar[list[BindingType]] = bindings("compare")
    HELP = """\
### Two runs

`=` is the same in both, `≠` differs, `A only` and `B only` say which has it. A number with `×` is what B
took over what A took. `1` and `2` replay either, `s` swaps them.
"""

    @dataclass
    class Ready(Message):
        """Both were read."""

        both: tuple[Compared, Compared]

    def __init__(self, first: str, second: str) -> None:
        super().__init__()
        self._ids = (first, second)
        self._both: tuple[Compared, Compared] | None = None

    def body(self) -> ComposeResult:
        """Which two, then everything else."""
        with Horizontal(id="compare-head", classes="row"):
            yield Static("", classes="sign")
            with Container(classes="sides"):
                yield Static(id="compare-first", classes="side first", markup=False)
                yield Static(id="compare-second", classes="side second", markup=False)
        with VerticalScroll(id="compare"):
            yield Static("Reading both runs …", id="compare-state", classes="empty", markup=False)

    def on_mount(self) -> None:
        """Read both."""
        self.query_one("#compare").focus()
        store, ids = self.deepthink.engine.store, self._ids
        in_background(self, lambda: _read(store, ids), group="compare")

    @on(Ready)
    async def _ready(self, message: Ready) -> None:
        self._both = message.both
        await self._show()

    @on(Failed)
    def _failed(self, message: Failed) -> None:
        if self._both is None:
            told = f"✗ They cannot be compared.\n\n{message.error.message}\n{message.error.way_out}"
            self.query_one("#compare-state", Static).update(told)

    async def _show(self) -> None:
        assert self._both is not None
        for name, compared, side in zip(("A", "B"), self._both, ("first", "second"), strict=True):
            head = Content.assemble((name, "bold"), "  ", (when(compared.run), "$foreground 65%"))
            self.query_one(f"#compare-{side}", Static).update(head)
        page = self.query_one("#compare")
        await page.remove_children()
        await page.mount_all(list(self._sections(self._both)))
        page.scroll_home(animate=False)
        self.refresh_bindings()

    @staticmethod
    def _sections(both: tuple[Compared, Compared]) -> Iterator[Widget]:
        for section in compare(*both):
            yield Static(section.title, classes="section")
            if section.words:
                yield Static(section.words, classes="words", markup=False)
            for row in section.rows:
                yield _shown(row)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Nothing can be done with runs that were not read yet."""
        return True if action == "close" else self._both is not None

    def action_replay(self, which: int) -> None:
        """See one of them event by event."""
        from tui.app.screens.replay import ReplayScreen

        if self._both is not None:
            self.app.push_screen(ReplayScreen(self._both[which].run.id))

    async def action_swap(self) -> None:
        """A becomes B."""
        if self._both is not None:
            self._both = (self._both[1], self._both[0])
            await self._show()

    def action_close(self) -> None:
        """Back to the list."""
        self.dismiss()


def _shown(row: Row) -> Widget:
    """One row; what is the same is said once."""
    sign = _SIGNS[row.sign] if row.ratio is None or row.sign == "same" else f"×{row.ratio:.3g}"
    sides = [Static(row.first, classes="side", markup=False)]
    if row.sign != "same":
        sides = [
            Static(Content.assemble(("A ", "$foreground 65%"), row.first), classes="side first"),
            Static(Content.assemble(("B ", "$foreground 65%"), row.second), classes="side second"),
        ]
    different = "" if row.sign == "same" else "differs"
    return Horizontal(
        Static(sign, classes="sign", markup=False),
        Container(*sides, classes="sides"),
        classes=f"row {different}",
    )


def _read(store: Store, ids: tuple[str, str]) -> CompareScreen.Ready:
    runs = Runs(store)

    def one(run_id: str) -> Compared:
        run = runs.find(run_id)
        return Compared(run, outcome_of(run, stored_or_told(runs, run)))

    return CompareScreen.Ready((one(ids[0]), one(ids[1])))
