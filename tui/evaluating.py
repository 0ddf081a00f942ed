"""Evaluating whole systems with something to look at; the tables at the end."""

from __future__ import annotations

import shlex
import threading
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from models.protocols import Embedder, Reader
from policy.systems.answered import Parts
from policy.systems.cache import CachedChat
from policy.systems.evaluating import Evaluation, Progress, checked, evaluate
from policy.systems.libraries import Asked, fill, recognised, sets_in
from policy.systems.reading import first
from policy.systems.summary import LEAN
from traces.store import Store
from tui import embedding, failures
from tui.assemble import open_chat, open_embedder, open_learned, open_reader, open_store
from tui.bars import watched
from tui.evaluation_view import show_tables, tables_file, work_folder
from tui.interrupts import ctrl_c
from tui.settings import Settings, load
from tui.terminal import clean


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
    asked = [_limited(recognised(name), wanted) for name in sets]
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
            failures.warn("Stopped; finished questions are kept, and the same command goes on.")
            return failures.EXIT_CODES["cancelled"]
    for why in failed:
        failures.warn(clean(why))
    show_tables(place, wanted.command, out)
    return failures.EXIT_CODES["input"] if failed else failures.DONE


def _limited(asked: Asked, wanted: Wanted) -> Asked:
    most = len(asked.cases.cases) if wanted.limit is None else wanted.limit
    return replace(asked, cases=first(asked.cases, most, wanted.seed))


def _library(asked: Asked, opened: _Opened) -> Store:
    if asked.kind == "own":
        store = open_store()
        embedding.embed(store, opened.embedder, opened.cancel)
        return store
    store = Store(opened.place / "library.duckdb")
    name = asked.cases.name
    filled = fill(asked, store, opened.embedder, opened.cancel)
    watched((Progress(name, "reading", done, total) for done, total in filled), _described)
    return store


def _evaluated(
    asked: Asked, store: Store, settings: Settings, few: Mapping[str, int], opened: _Opened
) -> tuple[str, ...]:
    """Questions that failed."""
    with closing(CachedChat(open_chat(settings), opened.place / "replies.jsonl")) as chat:
        parts = Parts(
            chat=chat,
            embedder=opened.embedder,
            reader=opened.reader,
            store=store,
            collections=asked.cases.collections,
            budget=settings.run_budget(),
            learned=open_learned() if LEAN in opened.systems else None,
        )
        evaluation = Evaluation(asked.cases, opened.systems, opened.place, few)
        last = watched(evaluate(evaluation, parts, opened.cancel), _described)
    return last.failed if last else ()


def _described(progress: Progress) -> str:
    return f"{clean(progress.questions)}: {progress.doing or 'answers'}"


def show_report(work: Path | None, out: Path | None) -> int:
    """Print the tables of what was evaluated; the exit code.

    Raises:
        WrongUsage: the tables cannot go to ``out``.
        NothingEvaluated: there is no row.
    """
    show_tables(work_folder(work), "deepthink evaluate report", tables_file(out))
    return failures.DONE
