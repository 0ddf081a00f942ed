"""Evaluating whole systems: running an evaluation, its tables, and all answers to one question."""

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
from tui.bars import show_progress
from tui.failures import WrongUsage
from tui.interrupts import ctrl_c
from tui.library import embedding
from tui.settings.settings import Settings, load
from tui.terminal import cells, clean, columns, console, duration, print_json


class NothingEvaluated(DeepthinkError):
    """Raised if there is no row to show."""

    title = "Nothing was evaluated"
    kind: ClassVar[Literal["usage"]] = "usage"


def work_folder(folder: Path | None) -> Path:
    """The folder for rows and libraries, by default in the data folder."""
    return expanded_path(folder) if folder else paths.data_dir() / "evaluation"


def tables_file(file: Path | None) -> Path | None:
    """The Markdown file to write; None for none.

    Raises:
        WrongUsage: it is a folder.
    """
    if file is None:
        return None
    out = expanded_path(file)
    if out.is_dir():
        raise WrongUsage(f"--out {file} is a folder.", "Name a file in it, as in tables.md.")
    return out


def show_tables(folder: Path, command: str, out: Path | None) -> None:
    """Print a work folder's tables; with ``out``, from `tables_file`, also write them as Markdown.

    Raises:
        NothingEvaluated: the folder has no rows.
        BadLines: a file of the folder is damaged.
    """
    rows = Rows(folder / "rows.jsonl").all()
    if not rows:
        raise NothingEvaluated("There is no finished question yet.", "Begin: deepthink evaluate sample")
    scopes = summarise(rows)
    terminal = console()
    for scope in scopes:
        terminal.print(Text(f"\n{clean(scope.name)}, {clean(scope.model)}", style="bold"))
        for table in tables(scope):
            terminal.print(Text(f"\n{table.title}", style="dim"))
            terminal.print(_draw_table(table))
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(markdown(scopes, circumstances(command)), encoding="utf-8")
        terminal.print(Text(f"Written: {out}"), soft_wrap=True)


def _draw_table(table: Table) -> RichTable:
    first, *numbers = table.head
    grid = columns(first, *numbers, whole=(first,))
    for column in grid.columns[1:]:  # these headings fold, unlike those of `columns(right=…)`
        column.justify = "right"
    for row in table.rows:
        grid.add_row(*cells(*row))
    return grid


def show_question(question: str, work: Path | None, *, as_json: bool = False) -> int:
    """Show every system's answer to one question.

    Raises:
        NothingEvaluated: no finished question's id begins like this, or several do.
    """
    folder = work_folder(work)
    rows = Rows(folder / "rows.jsonl").all()
    ids = sorted({row.question for row in rows if row.question.startswith(question)})
    if question in ids:
        ids = [question]
    if len(ids) != 1:
        ambiguity = f"{len(ids)} finished questions begin with {question}." if ids else ""
        raise NothingEvaluated(
            ambiguity or f"No finished question is called {question}.",
            f"For example: {', '.join(ids[:3])}" if ids else "See what there is: deepthink evaluate report",
        )
    terminal = console()
    matches = [row for row in rows if row.question == ids[0]]
    if as_json:
        print_json({"question": ids[0], "rows": matches})
        return failures.DONE
    terminal.print(Text(clean(f"{matches[0].questions} · {ids[0]}"), style="bold"))
    table = columns("system", "model", "answer", "outcome", "steps", "seconds", "stopped", "lost at")
    for row in matches:
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
    terminal.print()
    terminal.print(table)
    return failures.DONE


def _outcome(measures: Mapping[str, float]) -> str:
    if measures.get("abstained"):
        return "not found, rightly" if "refused_rightly" in measures else "not found"
    return "right" if measures.get("right") else "wrong"


@dataclass(frozen=True, slots=True)
class Wanted:
    """An evaluation as requested on the command line.

    Attributes:
        sets: Files of questions, or ``sample``.
        systems: Their names; all if empty.
        models: Language models; the settings' if empty.
        limit: Questions of each set; None for all.
        few: The number of questions for slow systems, by name.
        seed: Random seed of the order of questions.
        work: Folder for rows, answers and libraries; None for the default.
        out: Markdown file; None for none.
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
        """The command that requests it; files by name, without their folders."""
        words = ["deepthink", "evaluate", *(Path(name).name for name in self.sets)]
        words += ["--systems", ",".join(self.systems)] if self.systems else []
        words += [word for name in self.models for word in ("--model", name)]
        words += ["--limit", str(self.limit)] if self.limit else []
        words += [word for name, number in self.few.items() for word in ("--few", f"{name}={number}")]
        words += ["--seed", str(self.seed)] if self.seed else []
        return shlex.join(words)


@dataclass(frozen=True, slots=True)
class _Resources:
    """What all sets and models share."""

    systems: tuple[str, ...]
    embedder: Embedder
    reader: Reader
    folder: Path
    cancel: threading.Event


def run_evaluation(request: Wanted) -> int:
    """Run an evaluation and print its tables; returns the exit code.

    Raises:
        WrongUsage, UnknownSystem, BadQuestions, ModelMissing: before any question is asked.
        DeepthinkError: a library cannot be created, or a file of the work folder is damaged.
    """
    out = tables_file(request.out)
    systems = checked(request.systems)
    checked(tuple(request.few))
    names = [name for source in request.sets for name in sets_in(source)]
    case_sets = [read_set(name).first(request.limit, request.seed) for name in names]
    all_settings = [load({"model": name}) for name in request.models] or [load()]
    folder = work_folder(request.work)
    with ctrl_c() as cancel:
        resources = _Resources(
            systems,
            open_embedder(all_settings[0]),
            open_reader(all_settings[0]),
            folder,
            cancel,
        )
        failed: list[str] = []
        for case_set in case_sets:
            store = _open_library(case_set, resources)
            for settings in all_settings:
                failed += _evaluate_set(case_set, store, settings, request.few, resources)
        if cancel.is_set():
            failures.warn("Stopped. Finished questions are kept; the same command continues.")
            return failures.EXIT_CODES["cancelled"]
    for reason in failed:
        failures.warn(clean(reason))
    show_tables(folder, request.command, out)
    return failures.EXIT_CODES["input"] if failed else failures.DONE


def _open_library(case_set: CaseSet, resources: _Resources) -> Store:
    if not case_set.files:
        store = open_store()
        embedding.embed(store, resources.embedder, resources.cancel)
        return store
    store = Store(resources.folder / "library.duckdb")
    counts = fill(case_set, store, resources.embedder, resources.cancel)
    show_progress(
        (Progress(case_set.name, "reading", done, total) for done, total in counts), _progress_name
    )
    return store


def _evaluate_set(
    case_set: CaseSet, store: Store, settings: Settings, few: Mapping[str, int], resources: _Resources
) -> tuple[str, ...]:
    """Ask all systems the questions of a set; returns those that failed."""
    with closing(open_chat(settings)) as chat:
        parts = Parts(
            chat=chat,
            embedder=resources.embedder,
            reader=resources.reader,
            store=store,
            collections=case_set.collections,
            budget=settings.run_budget(),
            learned=open_learned() if LEAN in resources.systems else None,
            planner=open_planner(settings) if LEAN in resources.systems else None,
        )
        evaluation = Evaluation(case_set, resources.systems, resources.folder, few)
        last = show_progress(evaluate(evaluation, parts, resources.cancel), _progress_name)
    return last.failed if last else ()


def _progress_name(progress: Progress) -> str:
    return f"{clean(progress.questions)}: {progress.doing or 'answers'}"
