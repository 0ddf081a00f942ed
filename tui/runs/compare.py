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
from textual.widget import Widget
from textual.widgets import Static

from agent.state import Evidence
from traces.runs import Run, Runs
from tui.app.base import DeepScreen
from tui.app.keys import bindings
from tui.app.work import Failed, in_background
from tui.run.fold import RunFold, fold_of
from tui.run.words import decision, local, place, reason, status, step_question
from tui.terminal import duration, one_line

Sign = Literal["same", "differs", "only A", "only B"]


@dataclass(frozen=True, slots=True)
class Row:
    """One property of both runs; ``ratio`` is B's amount over A's, if both have one."""

    first: str
    second: str
    sign: Sign
    ratio: float | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """Rows of one kind; ``words`` summarises them, or says why there are none."""

    title: str
    rows: tuple[Row, ...]
    words: str = ""


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """A run and its fold."""

    run: Run
    fold: RunFold


def compare(a: ComparedRun, b: ComparedRun) -> list[Section]:
    """Compare question, answer, end, settings, plan, decisions, evidence and cost, in this order."""
    return [
        Section("Question", (_row(one_line(a.run.question), one_line(b.run.question)),)),
        Section("Answer", (_row(*(compared.fold.answer or "(no answer)" for compared in (a, b))),)),
        Section("End", (_row(_end(a), _end(b)),)),
        _settings(a.run, b.run),
        _align("Plan", _plan(a.fold), _plan(b.fold), "Neither has a plan."),
        _align("Decisions", *_decisions(a.fold, b.fold), "Neither took a decision."),
        _evidence(a.fold, b.fold),
        _cost(a, b),
    ]


def start_and_id(run: Run) -> str:
    """A run's start time and id."""
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
            ("collections", ", ".join(sorted(run.collections))),
            ("embedder", run.embedder),
            ("reranker", run.reranker or "none"),
        ]

    pairs = list(zip(settings(a), settings(b), strict=True))
    differing = tuple(
        Row(f"{name}: {one_line(first)}", f"{name}: {one_line(second)}", "differs")
        for (name, first), (_, second) in pairs
        if first != second
    )
    same = [f"{name} {one_line(first)}" for (name, first), (_, second) in pairs if first == second]
    return Section("Settings", differing, f"The same: {' · '.join(same)}" if same else "")


def _end(compared: ComparedRun) -> str:
    run = compared.run
    return f"{status(run)}: {reason(run)}" if reason(run) else status(run)


def _align(title: str, left_texts: Sequence[str], right_texts: Sequence[str], empty_text: str) -> Section:
    rows = tuple(_row(left, right) for left, right in zip_longest(left_texts, right_texts, fillvalue=""))
    return Section(title, rows, "" if rows else empty_text)


def _plan(fold: RunFold) -> list[str]:
    return [
        f"{number}. {step_question(step['question'])}" for number, step in enumerate(fold.plan, start=1)
    ]


def _decisions(a: RunFold, b: RunFold) -> tuple[list[str], list[str]]:
    """The decisions of both, aligned by research step; "" where one run took none."""
    sides: tuple[list[str], list[str]] = ([], [])
    for step in sorted({event.step for fold in (a, b) for event in fold.decisions}):
        rows = [
            [f"after step {step}: {decision(event)}" for event in fold.decisions if event.step == step]
            for fold in (a, b)
        ]
        for left, right in zip_longest(*rows, fillvalue=""):
            sides[0].append(left)
            sides[1].append(right)
    return sides


def _evidence(a: RunFold, b: RunFold) -> Section:
    """The passages that both kept first, then those that only one did."""
    first, second = ({_key(item): item for item in fold.evidence} for fold in (a, b))
    shared = [
        Row(_citation(item, second[key]), _citation(second[key]), "same")
        for key, item in first.items()
        if key in second
    ]
    only_a = [Row(_citation(item), "–", "only A") for key, item in first.items() if key not in second]
    only_b = [Row("–", _citation(item), "only B") for key, item in second.items() if key not in first]
    words = f"{len(shared)} in both, {len(only_a)} only in A, {len(only_b)} only in B"
    return Section(
        "Evidence", (*shared, *only_a, *only_b), words if first or second else "Neither kept any passage."
    )


def _key(item: Evidence) -> tuple[str, str, str]:
    """The identity of a passage, even if its document was read again in between."""
    return item["collection"], item["document"], " ".join(item["text"].split())


def _citation(item: Evidence, other: Evidence | None = None) -> str:
    """Number and place; also the other run's number if it differs."""
    number = f"[{item['number']}]"
    if other is not None and other["number"] != item["number"]:
        number += f" (in B [{other['number']}])"
    return f"{number} {place(item)}"


def _cost(a: ComparedRun, b: ComparedRun) -> Section:
    def amounts(compared: ComparedRun) -> list[tuple[str, float | None]]:
        run, finished = compared.run, compared.fold.finished
        return [
            ("time", finished.seconds if finished else None),
            ("model calls", run.model_calls),
            ("tokens read", run.evaluated),
            ("tokens reused", run.reused),
            ("tokens written", run.generated),
        ]

    rows = []
    for (name, first), (_, second) in zip(amounts(a), amounts(b), strict=True):
        ratio = second / first if first and second else None
        sign: Sign = "same" if first == second else "differs"
        rows.append(Row(_amount(name, first), _amount(name, second), sign, ratio))
    return Section("Cost", tuple(rows))


def _amount(name: str, amount: float | None) -> str:
    if amount is None:
        return f"{name}: not known"
    return f"{name}: {duration(amount)}" if name == "time" else f"{name}: {amount:,.0f}"


_SIGNS = {"same": "=", "differs": "≠", "only A": "A only", "only B": "B only"}


class CompareScreen(DeepScreen):
    """Shows two runs side by side, and replays or swaps them."""

    MODE: ClassVar[str] = "runs"
    PLACES: ClassVar[Sequence[str]] = ("compare",)
    CSS_PATH = "compare.tcss"
    BINDINGS: ClassVar[list[BindingType]] = bindings("compare")
    HELP = """\
### Two runs

`=` is the same in both, `≠` differs, `A only` and `B only` say which has it. A number with `×` is B's
amount divided by A's. `1` and `2` replay either, `s` swaps them.
"""

    def __init__(self, first: str, second: str) -> None:
        super().__init__()
        self._ids = (first, second)
        self._pair: tuple[ComparedRun, ComparedRun] | None = None

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

        def read() -> tuple[ComparedRun, ComparedRun]:
            first, second = (Runs(store).find(run_id) for run_id in ids)
            return ComparedRun(first, fold_of(store, first)), ComparedRun(second, fold_of(store, second))

        in_background(self, read, self._show, group="compare")

    @on(Failed)
    def _show_failure(self, message: Failed) -> None:
        if self._pair is None:
            text = f"✗ They cannot be compared.\n\n{message.error.message}\n{message.error.way_out}"
            self.query_one("#compare-state", Static).update(text)

    async def _show(self, pair: tuple[ComparedRun, ComparedRun]) -> None:
        self._pair = pair
        for name, compared, side in zip(("A", "B"), pair, ("first", "second"), strict=True):
            head = Content.assemble((name, "bold"), "  ", (start_and_id(compared.run), "$foreground 65%"))
            self.query_one(f"#compare-{side}", Static).update(head)
        page = self.query_one("#compare")
        await page.remove_children()
        await page.mount_all(list(self._sections(pair)))
        page.scroll_home(animate=False)
        self.refresh_bindings()

    @staticmethod
    def _sections(pair: tuple[ComparedRun, ComparedRun]) -> Iterator[Widget]:
        for section in compare(*pair):
            yield Static(section.title, classes="section")
            if section.words:
                yield Static(section.words, classes="words", markup=False)
            for row in section.rows:
                yield _build_row(row)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return True if action == "close" else self._pair is not None

    def action_replay(self, index: int) -> None:
        from tui.runs.replay import ReplayScreen

        if self._pair is not None:
            self.app.push_screen(ReplayScreen(self._pair[index].run.id))

    async def action_swap(self) -> None:
        if self._pair is not None:
            await self._show((self._pair[1], self._pair[0]))

    def action_close(self) -> None:
        self.dismiss()


def _build_row(row: Row) -> Widget:
    """The widget of a row; equal texts are shown once."""
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
