"""The summary as Markdown to read, and as JSON to compute with."""

from __future__ import annotations

import json
import math
import os
import platform
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

from policy.evaluation import metrics
from policy.evaluation.metrics import NEAR, STAGES
from policy.evaluation.summary import GUESS, ORACLE, SEARCH, Against, Scope, Standing, Summary
from policy.judging.bootstrap import Interval

_TITLE: Final = "Whole systems on the same questions"
_CERTAIN: Final = 0.001
_PACKAGES: Final = (
    *("numpy", "torch", "transformers", "trl", "peft", "sentence-transformers"),
    *("onnxruntime", "llama-cpp-python"),
)


@dataclass(frozen=True, slots=True)
class Circumstances:
    """How results came about.

    Attributes:
        command: That made them.
        date: ISO day.
        machine: Cores, architecture, system, Python.
        versions: By package.
        notes: What else a reader has to know: data, seeds, what was chosen where.
    """

    command: str
    date: str
    machine: str
    versions: Mapping[str, str]
    notes: Sequence[str] = ()


def circumstances(command: str, notes: Sequence[str] = ()) -> Circumstances:
    """Here and now."""
    versions: dict[str, str] = {}
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue  # an optional one; what was not installed was not used
    machine = (
        f"{os.cpu_count()} cores ({platform.machine()}, {platform.system()}), "
        f"Python {sys.version.split()[0]}"
    )
    return Circumstances(command, f"{datetime.now(UTC):%Y-%m-%d}", machine, versions, notes)


@dataclass(frozen=True, slots=True)
class Table:
    """A table of words.

    Attributes:
        title: Above it.
        head: Names of the columns.
        rows: A cell for each column.
        words: How many columns from the left hold words; the rest hold numbers.
    """

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: int = 1


def markdown(summary: Summary, came: Circumstances) -> str:
    """The tables, the same lines for the same summary and circumstances."""
    lines = [f"# {_TITLE}", ""]
    for scope in summary.scopes:
        lines += [f"## {_named(scope)}", ""]
        for table in (*_tables(scope), *_pairs(scope)):
            lines += markdown_table(table)
    lines += ["## How to read this", "", *(f"- {line}" for line in _reading(summary, came)), ""]
    lines += ["## How it came about", "", *(f"- {name}: {told}" for name, told in _facts(came)), ""]
    return "\n".join(lines)


def as_json(summary: Summary, came: Circumstances) -> str:
    """Everything there is, with six digits; what is no finite number is null."""
    whole = _plain({"circumstances": asdict(came), **asdict(summary)})
    return json.dumps(whole, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, float):
        return round(value, 6) if math.isfinite(value) else None
    return value


def _named(scope: Scope) -> str:
    return f"{scope.name}, {scope.model}"


def _reading(summary: Summary, came: Circumstances) -> list[str]:
    return [
        "F1, EM, recall and precision are in hundredths; so are shares of questions. EM and F1 are of the "
        "short answer, by the data sets' own normalisation; stated is whether the whole answer states a "
        "gold one.",
        f"Brackets are 95 % percentile intervals of a bootstrap over questions ({summary.resamples} "
        f"resamples, seed {summary.seed}).",
        "Each system by itself is measured on the questions that it has answered; differences are paired, "
        "on those that both have. Only it / only baseline: the questions of which one alone has an "
        "EM of 1, with p of McNemar's exact test. Seconds and tokens are compared as sums, ours to theirs.",
        "A finished question is not asked again, so rows may be of several machines, each as fast as it "
        "is: tokens do not depend on that, seconds do.",
        "Held and cited recall and precision are of passages against gold passages: those that the answer "
        "was written from, and those that it cites. Reached, recalled and noted are the shares of the gold "
        "passages among the first hundred of a search, among what searches brought, and cited by findings.",
        "Flagged is the share of answers with a sentence that its sources do not fully support, of those "
        "that claim anything. An abstention has an F1 of 0: where both answer is the difference on the "
        "questions that neither abstained on.",
        f"{SEARCH} may write that nothing was found, as every system that answers from one prompt; "
        f"{GUESS} is the same without that leave. lean writes it only where no step found anything.",
        f"{ORACLE} finishes as soon as all gold evidence is held, and at the first stop where it never is. "
        "So it bounds what stopping can do for the evidence, not F1: another stop may be answered better, "
        "by chance or because less is read. Where another stop would have been right, an answer counts as "
        "stopped early or late. Of a question whose evidence is not known it finishes at the first stop "
        "with a right answer.",
        f"A wrong answer has an F1 below {100 * NEAR:.0f}, and does not state a gold one, or states it "
        "and has nothing of it in its short form. It is counted at the first stage that lost it: at "
        "another stop of the same research if that would have been right, else where the gold evidence "
        "was first incomplete, else at reading.",
        *came.notes,
    ]


def _facts(came: Circumstances) -> list[tuple[str, str]]:
    versions = ", ".join(f"{package} {number}" for package, number in came.versions.items())
    return [
        ("Command", came.command),
        ("Date", came.date),
        ("Machine", came.machine),
        *([("Versions", versions)] if versions else []),
    ]


def markdown_table(table: Table) -> list[str]:
    """Its lines in Markdown."""

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"

    rule = ["---" if i < table.words else "--:" for i in range(len(table.head))]
    return [f"### {table.title}", "", line(table.head), line(rule), *map(line, table.rows), ""]


def _share(name: str, *, wide: bool = False) -> Callable[[Standing], str]:
    def told(standing: Standing) -> str:
        found = standing.measures.get(name)
        if found is None or math.isnan(found.estimate):
            return ""
        brackets = f" [{100 * found.low:.1f}, {100 * found.high:.1f}]" if wide else ""
        return f"{100 * found.estimate:.1f}{brackets}"

    return told


def _amount(name: str, digits: int, *, wide: bool = False) -> Callable[[Standing], str]:
    def told(standing: Standing) -> str:
        found = standing.measures.get(name)
        if found is None or math.isnan(found.estimate):
            return ""
        brackets = f" [{found.low:,.{digits}f}, {found.high:,.{digits}f}]" if wide else ""
        return f"{found.estimate:,.{digits}f}{brackets}"

    return told


_Columns = Mapping[str, Callable[[Standing], str]]

_ANSWERS: Final[_Columns] = {
    "questions": lambda standing: str(standing.questions),
    "F1": _share("f1", wide=True),
    "EM": _share("em", wide=True),
    "stated": _share("holds"),
    "flagged": _share("flagged"),
    "abstained": _share("abstained"),
    "rightly": _share("abstained_rightly"),
    "wrongly": _share("abstained_wrongly"),
}
_DOCUMENTS: Final[_Columns] = {
    "questions": lambda standing: str(standing.questions),
    "right": _share("right", wide=True),
    "wrong": _share("wrong"),
    "wrong, shown as supported": _share("wrong_supported", wide=True),
    "refused, though answerable": _share("refused_wrongly"),
    "unanswerable refused": _share("refused_rightly", wide=True),
    "gold file found": _share("recalled"),
    "kept": _share("recall"),
    "cited": _share("citation_recall"),
    "first words, s": _amount("first_words", 1),
    "end, s": _amount("seconds", 1),
}
_EVIDENCE: Final[_Columns] = {
    "reached": _share("reached"),
    "recalled": _share("recalled"),
    "held recall": _share("recall", wide=True),
    "held precision": _share("precision"),
    "noted": _share("noted"),
    "cited recall": _share("citation_recall"),
    "cited precision": _share("citation_precision"),
}
_COST: Final[_Columns] = {
    "steps": _amount("steps", 2),
    "model calls": _amount("calls", 1),
    "tokens evaluated": _amount("evaluated", 0, wide=True),
    "reused": _amount("reused", 0),
    "generated": _amount("generated", 0),
    "seconds": _amount("seconds", 1, wide=True),
}
_KNOWN: Final = {
    *(*metrics.QUALITY, *metrics.EVIDENCE, *metrics.CONDUCT),
    *(*metrics.COST, *metrics.TRACED, *metrics.JUDGED),
}
_OF_KIND: Final = "right_"  # begins the name of a measure: of the questions of one kind


def _tables(scope: Scope) -> list[Table]:
    names = {name for one in scope.systems for name in one.measures}
    kinds = sorted(name for name in names if name.startswith(_OF_KIND))
    others = sorted(names - _KNOWN - set(kinds))
    further = {name: _amount(name, 3, wide=True) for name in others}
    of_kind = {name.removeprefix(_OF_KIND): _share(name) for name in kinds}
    judged = {"Own documents": _DOCUMENTS, "Right, by kind of question": of_kind}
    answers = judged if kinds else {"Answers": _ANSWERS}
    made = {**answers, "Evidence": _EVIDENCE, "Cost": _COST, "Further measures": further}
    tables = [_by_system(title, columns, scope.systems) for title, columns in made.items()]
    return [*(table for table in tables if len(table.head) > 1), _anatomy(scope.systems)]


def _by_system(title: str, columns: _Columns, systems: Sequence[Standing]) -> Table:
    """A row a system, without the columns that are empty in every row."""
    cells = {name: [column(one) for one in systems] for name, column in columns.items()}
    kept = {name: column for name, column in cells.items() if any(column)}
    rows = [[one.system, *(column[i] for column in kept.values())] for i, one in enumerate(systems)]
    return Table(title, ["system", *kept], rows)


def _anatomy(systems: Sequence[Standing]) -> Table:
    def lost(one: Standing, stage: str) -> str:
        # Without a measure of what its searches reached, nothing can be lost at planning them.
        return "" if stage == "plan" and "reached" not in one.measures else str(one.lost[stage])

    rows = [
        [one.system, str(one.questions), str(sum(one.lost.values())), *(lost(one, s) for s in STAGES)]
        for one in systems
    ]
    return Table("Where wrong answers were lost", ["system", "questions", "wrong", *STAGES], rows)


def _pairs(scope: Scope) -> list[Table]:
    """One table for each baseline that something stands against."""
    names = dict.fromkeys(pair.baseline for pair in scope.against)
    head = ["system", "questions", "F1", "F1 where both answer", "EM", "only it / only baseline", "p"]
    return [
        Table(
            f"Compared with {name}",
            [*head, "steps", "seconds", "tokens evaluated"],
            [_pair(pair) for pair in scope.against if pair.baseline == name],
        )
        for name in names
    ]


def _pair(pair: Against) -> list[str]:
    steps = pair.differences["steps"]
    return [
        pair.system,
        str(pair.questions),
        points(pair.differences["f1"]),
        f"{points(pair.answered)} ({pair.answered.questions})",
        points(pair.differences["em"]),
        f"{pair.exact.ours} / {pair.exact.theirs}",
        f"{pair.exact.p:.3f}" if pair.exact.p >= _CERTAIN else f"< {_CERTAIN}",
        "–"
        if math.isnan(steps.estimate)
        else f"{steps.estimate:+.2f} [{steps.low:+.2f}, {steps.high:+.2f}]",
        _times(pair.ratios["seconds"]),
        _times(pair.ratios["evaluated"]),
    ]


def points(found: Interval) -> str:
    """A difference of shares in hundredths: ``+12.3 [+4.0, +20.1]``."""
    if math.isnan(found.estimate):
        return "–"
    return f"{100 * found.estimate:+.1f} [{100 * found.low:+.1f}, {100 * found.high:+.1f}]"


def _times(found: Interval) -> str:
    if math.isnan(found.estimate):
        return "–"
    return f"{found.estimate:.2f} × [{found.low:.2f}, {found.high:.2f}]"
