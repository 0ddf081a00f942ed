"""Two stored runs side by side: what is the same, what differs, what only one of them has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import starmap, zip_longest
from typing import NamedTuple

from textual import on
from textual.app import ComposeResult
from textual.containers import Container, Horizontal, VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from agent.state import Evidence
from traces.runs import Run
from tui.app.base import DeepScreen
from tui.app.failure import failure_text
from tui.app.keys import bindings
from tui.app.work import Failed, in_background
from tui.run.fold import RunFold
from tui.run.words import decision, local_time, place, reason, status, step_question
from tui.runs.list import StoredRun, read_run
from tui.terminal import duration, one_line

SAME = "="
_QUESTION_LENGTH = 240  # cells: the answers stay in view


class Row(NamedTuple):
    """One property of both runs and how they compare; ``second`` is "" if it is the same."""

    sign: str
    first: str
    second: str = ""


class Section(NamedTuple):
    """Rows of one kind; ``words`` summarises them, or says why there are none."""

    title: str
    rows: Sequence[Row]
    words: str = ""


def compare(a: StoredRun, b: StoredRun) -> list[Section]:
    """Compare question, answer, end, settings, plan, decisions, evidence and cost, in this order."""
    plan = list(starmap(_row, zip_longest(_plan(a.fold), _plan(b.fold), fillvalue="")))
    decisions = list(_decisions(a.fold, b.fold))
    sign, *questions = _row(one_line(a.run.question), one_line(b.run.question))
    return [
        Section("Question", [Row(sign, *(one_line(question, _QUESTION_LENGTH) for question in questions))]),
        Section("Answer", [_row(*(compared.fold.answer or "(no answer)" for compared in (a, b)))]),
        Section("End", [_row(_end(a), _end(b))]),
        _settings(a.run, b.run),
        Section("Plan", plan, "" if plan else "Neither has a plan."),
        Section("Decisions", decisions, "" if decisions else "Neither took a decision."),
        _evidence(a.fold, b.fold),
        _cost(a.run, b.run),
    ]


def _row(first: str, second: str) -> Row:
    if not second:
        return Row("A only", first, "–")
    if not first:
        return Row("B only", "–", second)
    return Row(SAME, first) if first.split() == second.split() else Row("≠", first, second)


def _settings(a: Run, b: Run) -> Section:
    first, second = (
        {
            "profile": run.profile,
            "model": run.chat_model,
            "decided by": run.decider,
            "collections": ", ".join(sorted(run.collections)),
            "embedder": run.embedder,
            "reranker": run.reranker or "none",
        }
        for run in (a, b)
    )
    rows = [_row(*(f"{name}: {one_line(side[name])}" for side in (first, second))) for name in first]
    same = [f"{name} {one_line(value)}" for name, value in first.items() if value == second[name]]
    differing = [row for row in rows if row.sign != SAME]
    return Section("Settings", differing, f"The same: {' · '.join(same)}" if same else "")


def _end(compared: StoredRun) -> str:
    run = compared.run
    return ": ".join(filter(None, [status(run, doubtful=compared.fold.doubtful), reason(run)]))


def _plan(fold: RunFold) -> list[str]:
    return [
        f"{number}. {step_question(step['question'])}" for number, step in enumerate(fold.plan, start=1)
    ]


def _decisions(a: RunFold, b: RunFold) -> Iterator[Row]:
    """The decisions of both, aligned by research step."""
    for step in sorted({event.step for fold in (a, b) for event in fold.decisions}):
        sides = (
            [f"after step {step}: {decision(event)}" for event in fold.decisions if event.step == step]
            for fold in (a, b)
        )
        yield from starmap(_row, zip_longest(*sides, fillvalue=""))


def _evidence(a: RunFold, b: RunFold) -> Section:
    """The passages that both kept first, then those that only one did."""
    first, second = ({_key(item): item for item in fold.evidence} for fold in (a, b))
    shared = [Row(SAME, _citation(item, second[key])) for key, item in first.items() if key in second]
    only_a = [_row(_citation(item), "") for key, item in first.items() if key not in second]
    only_b = [_row("", _citation(item)) for key, item in second.items() if key not in first]
    words = f"{len(shared)} in both, {len(only_a)} only in A, {len(only_b)} only in B"
    rows = [*shared, *only_a, *only_b]
    return Section("Evidence", rows, words if rows else "Neither kept any passage.")


def _key(item: Evidence) -> tuple[str, str, str]:
    """The identity of a passage, even if its document was read again in between."""
    return item["collection"], item["document"], " ".join(item["text"].split())


def _citation(item: Evidence, other: Evidence | None = None) -> str:
    """Number and place; also the other run's number if it differs."""
    number = f"[{item['number']}]"
    if other is not None and other["number"] != item["number"]:
        number += f" (in B [{other['number']}])"
    return f"{number} {place(item)}"


def _cost(a: Run, b: Run) -> Section:
    """What each took."""
    amounts: dict[str, tuple[float | None, float | None]] = {
        "time": (a.seconds, b.seconds),
        "model calls": (a.model_calls, b.model_calls),
        "tokens read": (a.evaluated, b.evaluated),
        "tokens reused": (a.reused, b.reused),
        "tokens written": (a.generated, b.generated),
    }
    rows = [_row(_amount(name, first), _amount(name, second)) for name, (first, second) in amounts.items()]
    return Section("Cost", rows)


def _amount(name: str, amount: float | None) -> str:
    if amount is None:
        return f"{name}: not known"
    return f"{name}: {duration(amount)}" if name == "time" else f"{name}: {amount:,.0f}"


class CompareScreen(DeepScreen):
    MODE = "runs"
    PLACES = ("compare",)
    CSS_PATH = "compare.tcss"
    AUTO_FOCUS = "#compare"
    BINDINGS = bindings("compare")
    HELP = """\
### Two runs

`=` is the same in both, `≠` differs, `A only` and `B only` say which has it.
"""

    def __init__(self, first: str, second: str) -> None:
        super().__init__()
        self._ids = (first, second)

    def body(self) -> ComposeResult:
        with Horizontal(id="compare-head", classes="row"):
            yield Static("", classes="sign")
            with Container(classes="sides"):
                yield Static(id="compare-first", classes="side first", markup=False)
                yield Static(id="compare-second", classes="side second", markup=False)
        with VerticalScroll(id="compare"):
            yield Static("Reading both runs …", id="compare-state", classes="empty", markup=False)

    def on_mount(self) -> None:
        store, ids = self.deepthink.engine.store, self._ids

        def read() -> tuple[StoredRun, StoredRun]:
            return read_run(store, ids[0]), read_run(store, ids[1])

        in_background(self, read, self._show, group="compare")

    @on(Failed)
    def _show_failure(self, message: Failed) -> None:
        self.query_one("#compare-state", Static).update(failure_text(self, message.error))

    async def _show(self, pair: tuple[StoredRun, StoredRun]) -> None:
        for name, compared, side in zip(("A", "B"), pair, ("first", "second"), strict=True):
            about = f"{local_time(compared.run.started)} · run {compared.run.id}"
            head = Content.assemble((name, "bold"), "  ", (about, "$foreground 65%"))
            self.query_one(f"#compare-{side}", Static).update(head)
        page = self.query_one("#compare")
        await page.remove_children()
        await page.mount_all(list(self._sections(pair)))

    @staticmethod
    def _sections(pair: tuple[StoredRun, StoredRun]) -> Iterator[Widget]:
        for section in compare(*pair):
            yield Static(section.title, classes="section")
            if section.words:
                yield Static(section.words, classes="words", markup=False)
            for row in section.rows:
                yield _build_row(row)


def _build_row(row: Row) -> Widget:
    sides = [Static(row.first, classes="side", markup=False)]
    if row.sign != SAME:
        sides = [
            Static(Content.assemble(("A ", "$foreground 65%"), row.first), classes="side first"),
            Static(Content.assemble(("B ", "$foreground 65%"), row.second), classes="side second"),
        ]
    return Horizontal(
        Static(row.sign, classes="sign", markup=False),
        Container(*sides, classes="sides"),
        classes="row" if row.sign == SAME else "row differs",
    )
