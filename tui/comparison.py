"""Two stored runs held against each other: what is the same, what differs, what only one of them has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal

from agent import events as ev
from agent.state import Evidence
from traces.runs import Run
from tui.blocks import place
from tui.outcome import Outcome
from tui.run_status import local, status
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
    """Question, settings, end, plan, decisions, evidence, answers, cost; in this order."""
    return [
        Section("Question", (_row(one_line(a.run.question), one_line(b.run.question)),)),
        _settings(a.run, b.run),
        Section("End", (_row(_end(a), _end(b)),)),
        _aligned("Plan", _plan(a.outcome), _plan(b.outcome), "Neither has a plan."),
        _aligned("Decisions", *_decisions(a.outcome, b.outcome), "Neither took a decision."),
        _evidence(a.outcome, b.outcome),
        Section("Answer", (_row(_answer(a.run), _answer(b.run)),)),
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
    return [f"{number}. {one_line(step['question'])}" for number, step in enumerate(outcome.plan, start=1)]


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
