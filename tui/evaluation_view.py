"""An evaluation to look at: its tables, and one question with what every system made of it."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Final, Literal

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from policy.evaluation.bootstrap import Interval
from policy.evaluation.report import circumstances
from policy.systems import ragas_scores
from policy.systems.anatomy import STAGES
from policy.systems.bars import bars
from policy.systems.kept import Prefix, Trajectories, Trajectory
from policy.systems.ragas_scores import Scores
from policy.systems.ragas_summary import HEAD, JudgedSet, caution, heading, summarise_judged
from policy.systems.ragas_summary import cells as judged_cells
from policy.systems.report import as_json, markdown, page
from policy.systems.rows import Rows
from policy.systems.summary import Scope, Standing, Summary, summarise
from traces import paths
from traces.errors import DeepthinkError
from traces.typed_path import expanded_path
from tui import failures
from tui.failures import WrongUsage
from tui.terminal import cells, clean, columns, console, counted, duration, print_json

_BESIDE: Final = (".json", ".html")
_MARKS: Final = {None: "? ", True: "✓ ", False: "✗ "}
_ACTIONS: Final = {"C": "CONTINUE", "R": "REVISE"}
_NOTES: Final = (
    "lean's stopping rules and oracle are replayed from one full-length trajectory of each question: every "
    "prefix has an answer of its own, and costs the research up to it and that answer. The longest prefix "
    "is answered first, so that another may reuse tokens of the notebook which a run that stops there "
    "would evaluate; in the same way a system of one prompt may reuse tokens of the prompt before it.",
    "The learned policy's own time is left out of its seconds (milliseconds a decision); the judge's calls "
    "and seconds are in its row, its tokens are not known. The judge is shown the state that the learned "
    "policy sees, which is shorter than the notebook that it reads in a run.",
    "The short answer is taken out of every system's answer in the same way, by what the answer states "
    "itself or else by the model, and is charged to none.",
)


class NothingEvaluated(DeepthinkError):
    """Raised when there is no row to show."""

    title = "Nothing was evaluated"
    kind: ClassVar[Literal["usage"]] = "usage"


def work_folder(named: Path | None) -> Path:
    """Where rows, trajectories and libraries are."""
    return expanded_path(named) if named else paths.data_dir() / "evaluation"


def tables_file(named: Path | None) -> Path | None:
    """Where the Markdown goes; None for nowhere.

    Raises:
        WrongUsage: it is a folder, or one of the files that are written beside it.
    """
    if named is None:
        return None
    out = expanded_path(named)
    if out.is_dir():
        raise WrongUsage(f"--out {named} is a folder.", "Name a file in it, as in tables.md.")
    if out.suffix.lower() in _BESIDE:
        markdown_file = shlex.quote(str(named.with_suffix(".md")))
        raise WrongUsage(
            f"--out names the Markdown file, and {named} is no such name.",
            f"--out {markdown_file} also writes {' and '.join(_BESIDE)} beside it.",
        )
    return out


def show_tables(place: Path, command: str, out: Path | None) -> None:
    """Print a work folder's tables; with ``out`` write Markdown there, JSON and an HTML page beside it.

    ``out`` is of `tables_file`.

    Raises:
        NothingEvaluated: there is no row.
        BadRows, BadScores: a file of the folder is damaged.
    """
    rows = Rows(place / "rows.jsonl").all()
    if not rows:
        raise NothingEvaluated("There is no finished question yet.", "Begin: deepthink evaluate sample")
    summary = summarise(rows)
    shown = console()
    for scope in summary.scopes:
        shown.print(Text(f"\n{clean(scope.name)}, {clean(scope.model)}", style="bold"))
        shown.print(_standings(scope))
        shown.print(_losses(scope))
    judged = summarise_judged(Scores(place / ragas_scores.FILE).all())
    show_judged(judged)
    _show_bars(summary)
    if out is not None:
        came = circumstances(command, _NOTES)
        written = {
            out: markdown(summary, came, judged),
            out.with_suffix(".json"): as_json(summary, came, judged),
            out.with_suffix(".html"): page(summary, came, judged),
        }
        out.parent.mkdir(parents=True, exist_ok=True)
        for file, text in written.items():
            file.write_text(text, encoding="utf-8")
        shown.print(Text(f"Written: {', '.join(str(file) for file in written)}"), soft_wrap=True)


def show_judged(judged: Sequence[JudgedSet]) -> None:
    """Print what judges made of answers, and how far that goes; nothing where there is none."""
    shown = console()
    for one in judged:
        shown.print(Text(f"\n{clean(heading(one.judge))}", style="bold"))
        shown.print(Text(f"{clean(one.name)}, {clean(one.model)}"))
        table = columns(*HEAD, right=HEAD[1:], whole=("system",))
        for system in one.systems:
            table.add_row(*cells(*(cell or "–" for cell in judged_cells(system))))
        shown.print(table)
    if judged:
        shown.print(Text(caution(judged), style="dim"))


def _standings(scope: Scope) -> Table:
    if any("wrong" in one.measures for one in scope.systems):
        return _judged_standings(scope)
    numbers = ("n", "F1", "EM", "held", "cited", "flagged", "steps", "calls", "tokens", "seconds")
    table = columns("system", *numbers, right=numbers, whole=("system",))
    for one in scope.systems:
        table.add_row(
            *cells(
                one.system,
                one.questions,
                _with_interval(one.measures.get("f1")),
                _hundredths(one, "em"),
                _hundredths(one, "recall"),
                _hundredths(one, "citation_precision"),
                _hundredths(one, "flagged"),
                _number(one, "steps", 1),
                _number(one, "calls", 1),
                _number(one, "evaluated", 0),
                _number(one, "seconds", 1),
            )
        )
    return table


def _judged_standings(scope: Scope) -> Table:
    """Of answers that are judged by patterns, each share in hundredths."""
    shares = {
        "wrong": "wrong",
        "✓ but wrong": "wrong_supported",
        "refused ✗": "refused_wrongly",
        "refused ✓": "refused_rightly",
        "found": "recalled",
        "kept": "recall",
        "cited": "citation_recall",
    }
    numbers = ("n", "right", *shares, "first words", "seconds")
    table = columns("system", *numbers, right=numbers, whole=("system",))
    for one in scope.systems:
        table.add_row(
            *cells(
                one.system,
                one.questions,
                _with_interval(one.measures.get("right")),
                *(_hundredths(one, name) for name in shares.values()),
                _number(one, "first_words", 1),
                _number(one, "seconds", 1),
            )
        )
    return table


def _losses(scope: Scope) -> Table:
    table = columns("wrong at", *STAGES, right=STAGES, whole=("wrong at",))
    for one in scope.systems:
        table.add_row(*cells(one.system, *(one.lost[stage] or "·" for stage in STAGES)))
    return table


def _show_bars(summary: Summary) -> None:
    """Print those that were measured; most evaluations are of a few systems, on one set."""
    shown = console()
    for model in summary.models:
        found = bars(summary, model)
        measured = [bar for bar in found if bar.measured]
        if not measured:
            continue
        shown.print(Text(f"\nbars, {clean(model)}", style="bold"))
        for bar in measured:
            shown.print(Text(clean(f"{_MARKS[bar.met]}{bar.verdict}: {bar.what}")))
            shown.print(Padding(Text(clean(bar.result)), (0, 0, 0, 4), expand=False))
        if left := len(found) - len(measured):
            shown.print(
                Text(f"{counted(left, 'bar')} not measured: too few questions or systems", style="dim")
            )


def _with_interval(found: Interval | None) -> str:
    if found is None or math.isnan(found.estimate):
        return "–"
    return f"{100 * found.estimate:.0f} [{100 * found.low:.0f}, {100 * found.high:.0f}]"


def _hundredths(standing: Standing, name: str) -> str:
    found = standing.measures.get(name)
    return "–" if found is None or math.isnan(found.estimate) else f"{100 * found.estimate:.0f}"


def _number(standing: Standing, name: str, digits: int) -> str:
    found = standing.measures.get(name)
    return "–" if found is None or math.isnan(found.estimate) else f"{found.estimate:,.{digits}f}"


def show_question(question: str, work: Path | None, *, as_json: bool = False) -> int:
    """Show what every system answered to one question, and the trajectories it was replayed from.

    Raises:
        NothingEvaluated: no finished question's id begins so, or several do.
    """
    place = work_folder(work)
    rows = Rows(place / "rows.jsonl").all()
    ids = sorted({row.question for row in rows if row.question.startswith(question)})
    if question in ids:
        ids = [question]
    if len(ids) != 1:
        many = f"{len(ids)} finished questions begin with {question}." if ids else ""
        raise NothingEvaluated(
            many or f"No finished question is called {question}.",
            f"For example: {', '.join(ids[:3])}" if ids else "See what there is: deepthink evaluate report",
        )
    shown = console()
    mine = [row for row in rows if row.question == ids[0]]
    trajectories = [
        one for one in Trajectories(place / "trajectories.jsonl").all() if one.question == ids[0]
    ]
    if as_json:
        print_json({"question": ids[0], "rows": mine, "trajectories": trajectories})
        return failures.DONE
    shown.print(Text(clean(f"{mine[0].questions} · {ids[0]}"), style="bold"))
    for text in dict.fromkeys(one.text for one in trajectories):
        shown.print(Text(clean(text)))
    table = columns("system", "model", "short answer", "F1", "steps", "seconds", "stopped", "lost at")
    for row in mine:
        told = row.measures
        table.add_row(
            *cells(
                row.system,
                row.model,
                row.short or "(none)",
                f"{100 * told.get('f1', math.nan):.0f}",
                f"{told.get('steps', 0):.0f}",
                duration(told.get("seconds", 0.0)),
                row.stopped,
                row.lost or "right",
            )
        )
    shown.print()
    shown.print(table)
    for trajectory in trajectories:
        _show_trajectory(trajectory)
    return failures.DONE


def _show_trajectory(trajectory: Trajectory) -> None:
    shown = console()
    shown.print(Text(f"\nThe loop with {clean(trajectory.model)}", style="bold"))
    for path, prefix in trajectory.prefixes.items():
        shown.print(Text(clean(f"{_way(path)}: {prefix.question or 'no new step'}"), style="bold dim"))
        for line in _step(prefix):
            shown.print(Text(f"  {clean(line)}"))


def _way(path: str) -> str:
    taken = " → ".join(_ACTIONS[letter] for letter in path)
    return f"step {1 + len(path)}" + (f", after {taken}" if taken else "")


def _step(prefix: Prefix) -> list[str]:
    places = ", ".join(
        place.document + (f" p. {place.page}" if place.page is not None else "") for place in prefix.places
    )
    told = [f"searched for: {prefix.query}"] if prefix.query else []
    told += [f"found: {prefix.finding}" + (f" ({places})" if places else "")] if prefix.finding else []
    told += [f"answer here: {' '.join(prefix.answer.split())}"]
    told += [f"stopped: {prefix.stopped}"] if prefix.stopped else []
    return told
