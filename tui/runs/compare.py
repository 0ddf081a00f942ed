"""Two stored runs side by side: what is the same, what differs, what only one of them has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import ClassVar, Literal

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Horizontal, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from agent import events as ev
from agent.state import Evidence
from traces.runs import Run, Runs
from traces.store import Store
from tui.app.base import DeepScreen
from tui.app.keys import bindings
from tui.app.work import Failed, in_background
from tui.run.fold import Outcome, outcome_of, stored_or_implied
from tui.run.words import local, place, status, step_question
from tui.terminal import clean, duration, one_line

Sign = Literal["same", "differs", "only A", "only B"]


@dataclass(frozen=True, slots=True)
class Row:
    """The same thing of both runs; ``ratio`` is B's amount over A's, for amounts that both have."""

    first: str
    second: str
    sign: Sign
    ratio: float | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """Rows of a kind; ``words`` says what there is where rows are left out or none is."""

    title: str
    rows: tuple[Row, ...]
    words: str = ""


@dataclass(frozen=True, slots=True)
class Compared:
    """A run, and what it came to."""

    run: Run
    outcome: Outcome


def compare(a: Compared, b: Compared) -> list[Section]:
    """Question, answers, end, settings, plan, decisions, evidence, cost; in this order."""
    return [
        Section("Question", (_row(one_line(a.run.question), one_line(b.run.question)),)),
        Section("Answer", (_row(_answer(a.run), _answer(b.run)),)),
        Section("End", (_row(_end(a), _end(b)),)),
        _settings(a.run, b.run),
        _aligned("Plan", _plan(a.outcome), _plan(b.outcome), "Neither has a plan."),
        _aligned("Decisions", *_decisions(a.outcome, b.outcome), "Neither took a decision."),
        _evidence(a.outcome, b.outcome),
        _cost(a, b),
    ]


def when(run: Run) -> str:
    """When a run began, and which it is."""
    return f"{local(run.started):%Y-%m-%d %H:%M} · run {run.id}"


def _row(first: str, second: str) -> Row:
    if not second:
        return Row(first, "–", "only A")
    if not first:
        return Row("–", second, "only B")
    return Row(first, second, "same" if first.split() == second.split() else "differs")


def _settings(a: Run, b: Run) -> Section:
    def settings(run: Run) -> list[tuple[str, str]]:
        return [
            ("profile", run.profile),
            ("model", run.chat_model),
            ("decided by", run.decider),
            ("collections", ", ".join(run.collections)),
            ("embedder", run.embedder),
            ("reranker", run.reranker or "none"),
        ]

    pairs = list(zip(settings(a), settings(b), strict=True))
    differing = tuple(
        Row(f"{name}: {one_line(one)}", f"{name}: {one_line(other)}", "differs")
        for (name, one), (_, other) in pairs
        if one != other
    )
    same = [f"{name} {one_line(one)}" for (name, one), (_, other) in pairs if one == other]
    return Section("Settings", differing, f"The same: {' · '.join(same)}" if same else "")


def _end(compared: Compared) -> str:
    run = compared.run
    because = one_line(run.stopped_because)
    return status(run) + (f": {because}" if because and because != run.status else "")


def _aligned(title: str, first: Sequence[str], second: Sequence[str], nothing: str) -> Section:
    rows = tuple(_row(one, other) for one, other in zip_longest(first, second, fillvalue=""))
    return Section(title, rows, "" if rows else nothing)


def _plan(outcome: Outcome) -> list[str]:
    return [
        f"{number}. {step_question(step['question'])}" for number, step in enumerate(outcome.plan, start=1)
    ]


def _decisions(a: Outcome, b: Outcome) -> tuple[list[str], list[str]]:
    """The decisions of both, those after the same research step side by side; "" where one took none."""
    sides: tuple[list[str], list[str]] = ([], [])
    for step in sorted({decided.step for outcome in (a, b) for decided in outcome.decisions}):
        taken = [[_decision(d) for d in outcome.decisions if d.step == step] for outcome in (a, b)]
        for one, other in zip_longest(*taken, fillvalue=""):
            sides[0].append(one)
            sides[1].append(other)
    return sides


def _decision(decided: ev.Decided) -> str:
    probability = decided.probabilities.get(decided.action, 1.0)
    sure = f", {probability:.0%}" if probability < 1 else ""
    return f"after step {decided.step}: {decided.action} ({decided.source}{sure})"


def _evidence(a: Outcome, b: Outcome) -> Section:
    """What both kept first, then what only one did."""
    first, second = ({_key(item): item for item in outcome.evidence} for outcome in (a, b))
    both = [
        Row(_cited(item, second[key]), _cited(second[key]), "same")
        for key, item in first.items()
        if key in second
    ]
    only_a = [Row(_cited(item), "–", "only A") for key, item in first.items() if key not in second]
    only_b = [Row("–", _cited(item), "only B") for key, item in second.items() if key not in first]
    words = f"{len(both)} in both, {len(only_a)} only in A, {len(only_b)} only in B"
    return Section(
        "Evidence", (*both, *only_a, *only_b), words if first or second else "Neither kept any passage."
    )


def _key(item: Evidence) -> tuple[str, str, str]:
    """What makes two passages the same, even if the document was read again in between."""
    return item["collection"], item["document"], " ".join(item["text"].split())


def _cited(item: Evidence, other: Evidence | None = None) -> str:
    """Number and place, with the number that the other run gave it if that is another one."""
    number = f"[{item['number']}]"
    if other is not None and other["number"] != item["number"]:
        number += f" (in B [{other['number']}])"
    return f"{number} {place(item)}"


def _answer(run: Run) -> str:
    return clean(run.answer).strip() or "(no answer)"


def _cost(a: Compared, b: Compared) -> Section:
    def amounts(compared: Compared) -> list[tuple[str, float | None]]:
        run, finished = compared.run, compared.outcome.finished
        return [
            ("time", finished.seconds if finished else None),
            ("model calls", run.model_calls),
            ("tokens read", run.evaluated),
            ("tokens reused", run.reused),
            ("tokens written", run.generated),
        ]

    rows = []
    for (name, one), (_, other) in zip(amounts(a), amounts(b), strict=True):
        ratio = other / one if one and other else None
        sign: Sign = "same" if one == other else "differs"
        rows.append(Row(_amount(name, one), _amount(name, other), sign, ratio))
    return Section("Cost", tuple(rows))


def _amount(name: str, amount: float | None) -> str:
    if amount is None:
        return f"{name}: not known"
    return f"{name}: {duration(amount)}" if name == "time" else f"{name}: {amount:,.0f}"


_SIGNS = {"same": "=", "differs": "≠", "only A": "A only", "only B": "B only"}


class CompareScreen(DeepScreen):
    """What is the same in two runs, what differs, what only one has."""

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
        with Horizontal(id="compare-head", classes="row"):
            yield Static("", classes="sign")
            with Container(classes="sides"):
                yield Static(id="compare-first", classes="side first", markup=False)
                yield Static(id="compare-second", classes="side second", markup=False)
        with VerticalScroll(id="compare"):
            yield Static("Reading both runs …", id="compare-state", classes="empty", markup=False)

    def on_mount(self) -> None:
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
            text = f"✗ They cannot be compared.\n\n{message.error.message}\n{message.error.way_out}"
            self.query_one("#compare-state", Static).update(text)

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
        return True if action == "close" else self._both is not None

    def action_replay(self, which: int) -> None:
        from tui.runs.replay import ReplayScreen

        if self._both is not None:
            self.app.push_screen(ReplayScreen(self._both[which].run.id))

    async def action_swap(self) -> None:
        if self._both is not None:
            self._both = (self._both[1], self._both[0])
            await self._show()

    def action_close(self) -> None:
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
        return Compared(run, outcome_of(run, stored_or_implied(runs, run)))

    return CompareScreen.Ready((one(ids[0]), one(ids[1])))
