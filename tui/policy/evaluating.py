"""Evaluating whole systems: running an evaluation, its tables, and all answers to one question."""

from __future__ import annotations

import shlex
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from rich.text import Text

from models.protocols import Embedder
from policy.evaluation.evaluating import checked, evaluate
from policy.evaluation.report import markdown, sections
from policy.evaluation.rows import Rows
from policy.evaluation.systems import LEAN, Parts
from policy.questions import CaseSet, Progress, fill, read_set, sets_in
from traces import paths
from traces.errors import DeepthinkError
from traces.paths import expanded_path
from traces.store import Store
from tui import failures
from tui.assemble import open_chat, open_embedder, open_learned, open_planner, open_reader, open_store
from tui.bars import show_progress
from tui.failures import WrongUsage
from tui.interrupts import ctrl_c
from tui.library.actions import embed
from tui.settings.settings import load
from tui.terminal import cells, clean, columns, console, duration, print_json


class NothingEvaluated(DeepthinkError):
    """Raised if there is no row to show."""

    title = "Nothing was evaluated"
    kind: ClassVar[Literal["usage"]] = "usage"


@dataclass(frozen=True, slots=True)
class EvaluationRequest:
    """An evaluation as requested on the command line.

    Attributes:
        sets: Files of questions, or ``sample``.
        systems: Their names; all if empty.
        models: Language models; the settings' if empty.
        limit: Questions of each set; None for all.
        seed: Random seed of the order of questions.
        work: Folder for rows and libraries; None for the default.
        out: Markdown file; None for none.
    """

    sets: Sequence[str]
    systems: Sequence[str] = ()
    models: Sequence[str] = ()
    limit: int | None = None
    seed: int = 0
    work: Path | None = None
    out: Path | None = None

    @property
    def command(self) -> str:
        """The command that requests it; files by name, without their folders."""
        words = ["deepthink", "evaluate", *(Path(name).name for name in self.sets)]
        words += ["--systems", ",".join(self.systems)] if self.systems else []
        words += [word for name in self.models for word in ("--model", name)]
        words += ["--limit", str(self.limit)] if self.limit else []
        words += ["--seed", str(self.seed)] if self.seed else []
        return shlex.join(words)


def run_evaluation(request: EvaluationRequest) -> int:
    """Run an evaluation and print its tables; returns the exit code.

    Raises:
        WrongUsage, UnknownSystem, BadQuestions, ModelMissing: before any question is asked.
        DeepthinkError: a library cannot be created, or a file of the work folder is damaged.
    """
    out = tables_file(request.out)
    systems = checked(request.systems)
    names = [name for source in request.sets for name in sets_in(source)]
    case_sets = [read_set(name).first(request.limit, request.seed) for name in names]
    all_settings = [load({"model": name}) for name in request.models] or [load()]
    folder = work_folder(request.work)
    rows = Rows(folder / "rows.jsonl")
    embedder, reader = open_embedder(all_settings[0]), open_reader(all_settings[0])
    failed: list[str] = []
    with ctrl_c() as cancel:
        for case_set in case_sets:
            store = _open_library(case_set, folder, embedder, cancel)
            for settings in all_settings:
                with closing(open_chat(settings)) as chat:
                    parts = Parts(
                        chat=chat,
                        embedder=embedder,
                        reader=reader,
                        store=store,
                        collections=case_set.collections,
                        budget=settings.run_budget(),
                        learned=open_learned() if LEAN in systems else None,
                        planner=open_planner(settings) if LEAN in systems else None,
                    )
                    last = _show_progress(case_set, evaluate(case_set, systems, parts, rows, cancel))
                failed += last.failed if last else ()
        if cancel.is_set():
            failures.warn("Stopped. Finished questions are kept; the same command continues.")
            return failures.EXIT_CODES["cancelled"]
    for reason in failed:
        failures.warn(clean(reason))
    show_tables(folder, request.command, out)
    return failures.EXIT_CODES["input"] if failed else failures.DONE


def _open_library(case_set: CaseSet, folder: Path, embedder: Embedder, cancel: threading.Event) -> Store:
    if not case_set.files:
        store = open_store()
        embed(store, embedder, cancel)
        return store
    store = Store(folder / "library.duckdb")
    _show_progress(case_set, fill(case_set, store, embedder, cancel))
    return store


def _show_progress(case_set: CaseSet, events: Iterator[Progress]) -> Progress | None:
    return show_progress(events, lambda progress: f"{clean(case_set.name)}: {progress.doing}")


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
    terminal = console()
    for heading, tables in sections(rows):
        terminal.print(Text(f"\n{clean(heading)}", style="bold"))
        for table in tables:
            terminal.print(Text(f"\n{table.title}", style="dim"))
            first, *numbers = table.head
            grid = columns(first, *numbers, whole=(first,))
            for column in grid.columns[1:]:  # these headings fold, unlike those of `columns(right=…)`
                column.justify = "right"
            for row in table.rows:
                grid.add_row(*cells(*row))
            terminal.print(grid)
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(markdown(rows, command), encoding="utf-8")
        terminal.print(Text(f"Written: {out}"), soft_wrap=True)


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
