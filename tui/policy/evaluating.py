"""Evaluating whole systems: running it, its tables, and one question with every system's answer."""

from __future__ import annotations

import shlex
import threading
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from rich.table import Table as RichTable
from rich.text import Text

from models.protocols import Embedder, Reader
from policy.evaluation.evaluating import Evaluation, Progress, checked, evaluate
from policy.evaluation.report import Table, circumstances, markdown, tables
from policy.evaluation.rows import Rows
from policy.evaluation.summary import summarise
from policy.evaluation.systems import LEAN, Parts
from policy.questions import CaseSet, fill, read_set, sets_in
from traces import paths
from traces.errors import DeepthinkError
from traces.store import Store
from traces.typed_path import expanded_path
from tui import failures
from tui.assemble import open_chat, open_embedder, open_learned, open_planner, open_reader, open_store
from tui.bars import watched
from tui.failures import WrongUsage
from tui.interrupts import ctrl_c
from tui.library import embedding
from tui.settings.settings import Settings, load
from tui.terminal import cells, clean, columns, console, duration, print_json


class NothingEvaluated(DeepthinkError):
    """Raised when there is no row to show."""

    title = "Nothing was evaluated"
    kind: ClassVar[Literal["usage"]] = "usage"


def work_folder(named: Path | None) -> Path:
    """Where rows and libraries are."""
    return expanded_path(named) if named else paths.data_dir() / "evaluation"


def tables_file(named: Path | None) -> Path | None:
    """Where the Markdown goes; None for nowhere.

    Raises:
        WrongUsage: it is a folder.
    """
    if named is None:
        return None
    out = expanded_path(named)
    if out.is_dir():
        raise WrongUsage(f"--out {named} is a folder.", "Name a file in it, as in tables.md.")
    return out


def show_tables(place: Path, command: str, out: Path | None) -> None:
    """Print a work folder's tables; with ``out`` write them there as Markdown.

    ``out`` is of `tables_file`.

    Raises:
        NothingEvaluated: there is no row.
        BadLines: a file of the folder is damaged.
    """
    rows = Rows(place / "rows.jsonl").all()
    if not rows:
        raise NothingEvaluated("There is no finished question yet.", "Begin: deepthink evaluate sample")
    scopes = summarise(rows)
    shown = console()
    for scope in scopes:
        shown.print(Text(f"\n{clean(scope.name)}, {clean(scope.model)}", style="bold"))
        for table in tables(scope):
            shown.print(Text(f"\n{table.title}", style="dim"))
            shown.print(_drawn(table))
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(markdown(scopes, circumstances(command)), encoding="utf-8")
        shown.print(Text(f"Written: {out}"), soft_wrap=True)


def _drawn(table: Table) -> RichTable:
    first, *numbers = table.head
    drawn = columns(first, *numbers, whole=(first,))
    for column in drawn.columns[1:]:  # their headings fold, unlike those of `columns(right=…)`
        column.justify = "right"
    for row in table.rows:
        drawn.add_row(*cells(*row))
    return drawn


def show_question(question: str, work: Path | None, *, as_json: bool = False) -> int:
    """Show what every system answered to one question.

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
    if as_json:
        print_json({"question": ids[0], "rows": mine})
        return failures.DONE
    shown.print(Text(clean(f"{mine[0].questions} · {ids[0]}"), style="bold"))
    table = columns("system", "model", "answer", "outcome", "steps", "seconds", "stopped", "lost at")
    for row in mine:
        measures = row.measures
        table.add_row(
            *cells(
                row.system,
                row.model,
                row.answer,
                _outcome(measures),
                f"{measures.get('steps', 0):.0f}",
                duration(measures.get("seconds", 0.0)),
                row.stopped,
                row.lost,
            )
        )
    shown.print()
    shown.print(table)
    return failures.DONE


def _outcome(measures: Mapping[str, float]) -> str:
    if measures.get("abstained"):
        return "not found, rightly" if "refused_rightly" in measures else "not found"
    return "right" if measures.get("right") else "wrong"


@dataclass(frozen=True, slots=True)
class Wanted:
    """An evaluation as it is typed.

    Attributes:
        sets: Files of questions, or ``sample``.
        systems: Their names; all if empty.
        models: Language models; the settings' if empty.
        limit: Questions of each set; None for all.
        few: A slow system's number of questions, by its name.
        seed: Of the order of the questions.
        work: Where everything on the way is kept; None for the usual place.
        out: The Markdown; None for none.
    """

    sets: tuple[str, ...]
    systems: tuple[str, ...]
    models: tuple[str, ...]
    limit: int | None
    few: Mapping[str, int]
    seed: int
    work: Path | None
    out: Path | None

    @property
    def command(self) -> str:
        """What has to be typed for it; files by their names, wherever they lie."""
        words = ["deepthink", "evaluate", *(Path(name).name for name in self.sets)]
        words += ["--systems", ",".join(self.systems)] if self.systems else []
        words += [word for name in self.models for word in ("--model", name)]
        words += ["--limit", str(self.limit)] if self.limit else []
        words += [word for name, number in self.few.items() for word in ("--few", f"{name}={number}")]
        words += ["--seed", str(self.seed)] if self.seed else []
        return shlex.join(words)


@dataclass(frozen=True, slots=True)
class _Opened:
    """What every set and model shares."""

    systems: tuple[str, ...]
    embedder: Embedder
    reader: Reader
    place: Path
    cancel: threading.Event


def run_evaluation(wanted: Wanted) -> int:
    """Run it and print the tables; the exit code.

    Raises:
        WrongUsage, UnknownSystem, BadQuestions, ModelMissing: nothing was begun.
        DeepthinkError: a library cannot be made, or a file of the work folder is damaged.
    """
    out = tables_file(wanted.out)
    systems = checked(wanted.systems)
    checked(tuple(wanted.few))
    sets = [one for name in wanted.sets for one in sets_in(name)]
    asked = [read_set(name).first(wanted.limit, wanted.seed) for name in sets]
    settings = [load({"model": name}) for name in wanted.models] or [load()]
    place = work_folder(wanted.work)
    with ctrl_c() as cancel:
        opened = _Opened(
            systems,
            open_embedder(settings[0]),
            open_reader(settings[0]),
            place,
            cancel,
        )
        failed: list[str] = []
        for one in asked:
            store = _library(one, opened)
            for setting in settings:
                failed += _evaluated(one, store, setting, wanted.few, opened)
        if cancel.is_set():
            failures.warn("Stopped. Finished questions are kept; the same command continues.")
            return failures.EXIT_CODES["cancelled"]
    for why in failed:
        failures.warn(clean(why))
    show_tables(place, wanted.command, out)
    return failures.EXIT_CODES["input"] if failed else failures.DONE


def _library(asked: CaseSet, opened: _Opened) -> Store:
    if not asked.files:
        store = open_store()
        embedding.embed(store, opened.embedder, opened.cancel)
        return store
    store = Store(opened.place / "library.duckdb")
    filled = fill(asked, store, opened.embedder, opened.cancel)
    watched((Progress(asked.name, "reading", done, total) for done, total in filled), _described)
    return store


def _evaluated(
    asked: CaseSet, store: Store, settings: Settings, few: Mapping[str, int], opened: _Opened
) -> tuple[str, ...]:
    """Questions that failed."""
    with closing(open_chat(settings)) as chat:
        parts = Parts(
            chat=chat,
            embedder=opened.embedder,
            reader=opened.reader,
            store=store,
            collections=asked.collections,
            budget=settings.run_budget(),
            learned=open_learned() if LEAN in opened.systems else None,
            planner=open_planner(settings) if LEAN in opened.systems else None,
        )
        evaluation = Evaluation(asked, opened.systems, opened.place, few)
        last = watched(evaluate(evaluation, parts, opened.cancel), _described)
    return last.failed if last else ()


def _described(progress: Progress) -> str:
    return f"{clean(progress.questions)}: {progress.doing or 'answers'}"
