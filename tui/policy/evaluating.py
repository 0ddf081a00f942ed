"""``deepthink evaluate``: whole systems on questions, their tables, and all answers to one question."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.text import Text
from typer.core import TyperGroup

from models.protocols import Embedder
from policy.evaluation import evaluating
from policy.evaluation.evaluating import Row, Rows, checked
from policy.evaluation.report import markdown, sections
from policy.evaluation.systems import LEAN, Parts
from policy.questions import CaseSet, Progress, fill, read_set, sets_in
from traces import paths
from traces.errors import DeepthinkError
from traces.paths import expanded_path
from traces.store import Store
from tui import completion, failures
from tui.assemble import open_chat, open_embedder, open_learned, open_planner, open_reader, open_store
from tui.bars import show_progress
from tui.failures import WrongUsage
from tui.interrupts import ctrl_c
from tui.library.actions import embed
from tui.options import AsJson
from tui.settings.settings import load
from tui.terminal import clean, console, duration, print_json, shell_word, table

_ROWS: Final = "rows.jsonl"


class NothingEvaluated(DeepthinkError, title="Nothing was evaluated", kind="usage"):
    """Raised if there is no row to show."""


class _RunByDefault(TyperGroup):
    """Runs an evaluation if the first argument is a set of questions, not a command."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        if args and args[0] not in {*self.commands, "-h", "--help"}:
            args = ["run", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(cls=_RunByDefault, invoke_without_command=True)
_Work = Annotated[
    Path | None,
    typer.Option(
        "--work", metavar="DIR", help="Keeps rows, answers and libraries; the same folder continues them."
    ),
]
_Out = Annotated[Path | None, typer.Option("--out", metavar="FILE.md", help="The tables, as Markdown.")]


@app.callback()
def evaluate(context: typer.Context) -> None:
    """Compare systems on questions with known answers.

    Begin with `deepthink evaluate sample`. A finished question is kept: the same command continues.
    """
    if not context.invoked_subcommand:
        typer.echo(context.get_help())


@app.command("run")
def run(
    sets: Annotated[
        list[str],
        typer.Argument(
            metavar="SET",
            help="JSON lines of question, answer and evidence about your own library; a folder with "
            "documents in docs and questions.jsonl, or of such folders; or sample, the sample library's "
            "questions.",
        ),
    ],
    systems: Annotated[
        str,
        typer.Option(
            "--systems", metavar="A,B", help="Of shallow, search-and-guess, seed, lean; all if left out."
        ),
    ] = "",
    models: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            "-m",
            metavar="NAME",
            help="As in ask; from the settings if left out; may be repeated.",
            autocompletion=completion.chat_models,
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option("--limit", min=1, metavar="N", help="The first N of each set by a fixed shuffle."),
    ] = None,
    work: _Work = None,
    out: _Out = None,
) -> int:
    """Ask every system every question, and print the tables.

    A finished question is a row on disk: stopped or killed, the same command continues.
    """
    out_file = _tables_file(out)
    names = checked([" ".join(name.split()) for name in systems.split(",") if name.strip()])
    case_sets = [read_set(name).first(limit) for source in sets for name in sets_in(source)]
    all_settings = [load({"model": name}) for name in models or ()] or [load()]
    folder = _work_folder(work)
    rows = Rows(folder / _ROWS)
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
                        budget=settings.budget,
                        learned=open_learned() if LEAN in names else None,
                        planner=open_planner(settings) if LEAN in names else None,
                        cancel=cancel,
                    )
                    last = _show_progress(case_set, evaluating.evaluate(case_set, names, parts, rows))
                failed += last.failed if last else ()
        if cancel.is_set():
            failures.warn("Stopped. Finished questions are kept; the same command continues.")
            return failures.EXIT_CODES["cancelled"]
    for reason in failed:
        failures.warn(clean(reason))
    words = ["deepthink", "evaluate", *(Path(name).name for name in sets)]
    words += ["--systems", systems] if systems else []
    words += [word for name in models or () for word in ("--model", name)]
    words += ["--limit", str(limit)] if limit else []
    _show_tables(folder, " ".join(map(shell_word, words)), out_file)
    return failures.EXIT_CODES["input"] if failed else failures.DONE


@app.command("report")
def report(work: _Work = None, out: _Out = None, as_json: AsJson = False) -> int:
    """Print the tables again, without asking questions.

    With --json, what they are made of: the result of every system for every question.
    """
    if as_json and out is not None:
        raise WrongUsage("--out writes the tables, and --json prints none.", "Leave one of them out.")
    folder = _work_folder(work)
    if as_json:
        print_json(_finished_rows(folder))
    else:
        _show_tables(folder, "deepthink evaluate report", _tables_file(out))
    return failures.DONE


@app.command("show")
def show_evaluation(
    question: Annotated[str, typer.Argument(metavar="ID", help="Id of the question, or its beginning.")],
    work: _Work = None,
    as_json: AsJson = False,
) -> int:
    """Show one question: every answer, and what it took."""
    rows = Rows(_work_folder(work) / _ROWS).all()
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
    answers = [
        (
            row.system,
            row.model,
            row.answer,
            _outcome(row.measures),
            f"{row.measures.get('steps', 0):.0f}",
            duration(row.measures.get("seconds", 0.0)),
            row.stopped,
            row.lost,
        )
        for row in matches
    ]
    headers = ("system", "model", "answer", "outcome", "steps", "seconds", "stopped", "lost at")
    terminal.print("", table(headers, answers), sep="\n")
    return failures.DONE


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


def _work_folder(folder: Path | None) -> Path:
    return expanded_path(folder) if folder else paths.data_dir() / "evaluation"


def _tables_file(file: Path | None) -> Path | None:
    """The Markdown file to write; None for none. Raises `WrongUsage` if it is a folder."""
    if file is None:
        return None
    out = expanded_path(file)
    if out.is_dir():
        raise WrongUsage(f"--out {file} is a folder.", "Name a file in it, as in tables.md.")
    return out


def _finished_rows(folder: Path) -> list[Row]:
    """A work folder's finished questions. Raises `NothingEvaluated`, `BadLines`."""
    rows = Rows(folder / _ROWS).all()
    if not rows:
        raise NothingEvaluated("There is no finished question yet.", "Begin: deepthink evaluate sample")
    return rows


def _show_tables(folder: Path, command: str, out: Path | None) -> None:
    """Print a work folder's tables, and write them to ``out``. Raises `NothingEvaluated`, `BadLines`."""
    rows = _finished_rows(folder)
    terminal = console()
    for heading, tables in sections(rows):
        terminal.print(Text(f"\n{clean(heading)}", style="bold"))
        for part in tables:
            terminal.print(Text(f"\n{part.title}", style="dim"))
            grid = table(part.head, part.rows, whole=part.head[:1])
            for column in grid.columns[1:]:  # these headings fold, unlike those of `table(right=…)`
                column.justify = "right"
            terminal.print(grid)
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(markdown(rows, command), encoding="utf-8")
        terminal.print(Text(f"Written: {out}"), soft_wrap=True)


def _outcome(measures: Mapping[str, float]) -> str:
    if measures.get("abstained"):
        return "not found, rightly" if "refused_rightly" in measures else "not found"
    return "right" if measures.get("right") else "wrong"
