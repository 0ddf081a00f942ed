"""One question put to several systems, over the person's own library, on one model."""

from __future__ import annotations

import json
import queue
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from typing import Any, Final, TypeVar

from agent import events as ev
from agent.request import checked_question, searchable
from agent.retrieval.recall import Recall
from agent.state import Evidence
from models.protocols import Chat, ChatOptions, Message
from policy.systems.answered import Parts, System
from policy.systems.cases import Case
from policy.systems.looped import Looped
from policy.systems.plain import ClosedBook, Crag, SearchAndAnswer, SearchAndGuess, Shallow
from traces.library import Library
from traces.records import Scope
from tui import embedding, failures
from tui.asking import Form
from tui.assemble import open_chat, open_embedder, open_learned, open_reader, open_store
from tui.column import Column
from tui.interrupts import ctrl_c
from tui.settings import Settings
from tui.side_by_side import Screen, SilentAnswers, screen
from tui.terminal import clean

T = TypeVar("T")


def _unshortened(_chat: Chat, _question: str, _text: str) -> str:
    return ""  # a person reads the whole answer


_SYSTEMS: Final[dict[str, Callable[[Settings], System]]] = {
    "closed-book": lambda _settings: ClosedBook(_unshortened),
    "shallow": lambda _settings: Shallow(_unshortened),
    "search-and-answer": lambda _settings: SearchAndAnswer(_unshortened),
    "search-and-guess": lambda _settings: SearchAndGuess(_unshortened),
    "crag": lambda _settings: Crag(_unshortened),
    "seed": lambda _settings: Looped("seed", "seed", shorten=_unshortened),
    "lean": lambda settings: Looped("lean", "lean", settings.decider, open_learned(), _unshortened),
}


def compare(
    question: str, names: str, settings: Settings, form: Form, collections: tuple[str, ...] = ()
) -> int:
    """Show what each system answers, and what it took; the exit code.

    A system that fails does not keep the others from answering. The code is the first failure's, else
    `failures.NOT_FOUND` if none found an answer; after Ctrl-C it is that of what was cancelled.

    Args:
        question: In the person's words.
        names: Of the systems, with commas between; they answer in this order.
        settings: Which models to use, and what each answer may cost.
        form: ``auto`` moves on a terminal, ``plain`` never does, ``json`` is one object at the end.
        collections: Where to look; all if empty.

    Raises:
        WrongUsage: there is no such system.
        DeepthinkError: whatever keeps all of them from answering: there is nothing to ask or to search, or
            a model cannot be opened.
    """
    systems = _named(names, settings)
    columns = [Column(system.name) for system in systems]
    store, embedder = open_store(), open_embedder(settings)
    embedding.before(store, embedder)
    with closing(open_chat(settings)) as chat, ctrl_c() as cancel:
        library = Library(store)
        where = tuple(found.name for found in searchable(library, collections, web=False))
        parts = Parts(
            chat=chat,
            embedder=embedder,
            reader=open_reader(settings),
            store=store,
            collections=where,
            budget=settings.run_budget(),
            cancel=cancel,
        )
        shown = SilentAnswers() if form == "json" else screen(columns, plain=form == "plain")
        with shown:
            columns[0].begin("loading the models")
            asked = _inside(lambda _tell: _loaded(question, parts), cancel, lambda _event: None).result()
            shown.open(asked, f"{chat.name} · in {', '.join(where)}")
            case = Case("", asked, ())
            for system, column in zip(systems, columns, strict=True):
                if not cancel.is_set():
                    _answer(system, column, case, parts, cancel, shown)
            shown.close()
    if form == "json":
        told = {
            "question": asked,
            "model": chat.name,
            "embedder": parts.embedder.name,
            "reranker": parts.reader.name,
            "collections": list(where),
            "systems": [_told(column) for column in columns],
        }
        sys.stdout.write(json.dumps(told, ensure_ascii=False, indent=2) + "\n")
        sys.stdout.flush()
    embedding.after(store, embedder)
    return _exit_code(columns)


def _named(names: str, settings: Settings) -> list[System]:
    wanted = dict.fromkeys(name.strip() for name in names.split(",") if name.strip())
    there_are = f"There are: {', '.join(_SYSTEMS)}."
    for name in wanted:
        if name not in _SYSTEMS:
            raise failures.WrongUsage(f"There is no system “{clean(name)}”.", there_are)
    if not wanted:
        raise failures.WrongUsage("--systems names no system.", there_are)
    return [_SYSTEMS[name](settings) for name in wanted]


def _loaded(question: str, parts: Parts) -> str:
    """The question in one line; what is loaded once is loaded here, so that no system is charged for it.

    Raises:
        UnusableQuestion: there is no question, or it is too long.
        ModelError: a model cannot be opened.
        GenerationCancelled: a person stopped it.
    """
    import langgraph.checkpoint.sqlite
    import langgraph.graph  # noqa: F401 - what a run needs; it takes seconds to import

    asked = checked_question(question, parts.chat)
    scopes = [Scope(collections=parts.collections)]
    Recall(Library(parts.store), parts.embedder).search(asked, "hybrid", scopes, 1)
    parts.reader.read(asked, [asked])
    parts.chat.generate([Message("user", "Hello")], ChatOptions(max_tokens=1, cancel=parts.cancel))
    return asked


def _inside(
    work: Callable[[Callable[[ev.Event], None]], T],
    cancel: threading.Event,
    take: Callable[[ev.Event], None],
) -> Future[T]:
    """Do ``work`` in a thread of its own to its end, and ``take`` what it tells in this one.

    Python hears Ctrl-C in the main thread alone, and not while a model computes there.
    """
    told: queue.SimpleQueue[ev.Event | None] = queue.SimpleQueue()
    with ThreadPoolExecutor(1, "deepthink-compare") as thread:
        done = thread.submit(work, told.put)
        done.add_done_callback(lambda _done: told.put(None))
        try:
            for event in iter(told.get, None):
                take(event)
        except BaseException:
            cancel.set()  # the thread is waited for
            raise
    return done


def _answer(
    system: System, column: Column, case: Case, parts: Parts, cancel: threading.Event, shown: Screen
) -> None:
    """Have it answer; its column and the screen follow."""

    def take(event: ev.Event) -> None:
        column.take(event)
        if isinstance(event, ev.Warned):
            failures.warn(f"{column.system}: {clean(event.message)}")
        shown.take(column, event)

    column.begin("beginning")
    shown.begin(column)
    done = _inside(lambda tell: system.answer(case, replace(parts, on_event=tell)), cancel, take)
    error = done.exception()
    if error is None:
        column.end(done.result())
    else:
        column.fail(failures.explained(error))
    shown.end(column)


def _exit_code(columns: Sequence[Column]) -> int:
    """The code, having told why systems failed, each reason once."""
    if any(column.status in {"cancelled", "not asked"} for column in columns):
        return failures.EXIT_CODES["cancelled"]
    failed: dict[str, list[str]] = {}
    errors = {column.system: column.error for column in columns if column.error is not None}
    for system, error in errors.items():
        failed.setdefault(f"{error.title}: {error.message}", []).append(system)
    for alike in failed.values():
        failures.report(errors[alike[0]], ", ".join(alike))
    if errors:
        return failures.EXIT_CODES[next(iter(errors.values())).kind]
    found = any(column.status == "answered" for column in columns)
    return failures.DONE if found else failures.NOT_FOUND


def _told(column: Column) -> dict[str, Any]:
    """A system's answer for a script; the keys are those of `ask`, where it has them."""
    told, error = column.answered, column.error
    cost = told.cost if told else None
    checked = column.checked if told else None
    return {
        "system": column.system,
        "status": column.status.replace(" ", "_"),
        "run_id": column.run_id,
        "answer": told.text if told else "",
        "sentences": [
            {**claim, "flagged": claim["verdict"] != "supported"}
            for claim in (checked.sentences if checked else [])
        ],
        "flagged": told.flagged if told else 0,
        "sources": [_source(item, checked.quotes if checked else {}) for item in column.sources],
        "stopped_because": told.stopped if told else "",
        "steps": cost.steps if cost else 0,
        "usage": {
            "model_calls": cost.calls if cost else 0,
            "evaluated": cost.evaluated if cost else 0,
            "reused": cost.reused if cost else 0,
            "generated": cost.generated if cost else 0,
        },
        "seconds": round(cost.seconds, 3) if cost else None,
        "error": {"title": error.title, "message": error.message, "way_out": error.way_out}
        if error
        else None,
    }


def _source(item: Evidence, quotes: Mapping[str, str]) -> dict[str, Any]:
    wanted = ("number", "title", "collection", "document", "section", "page", "date", "kind")
    kept = {name: value for name, value in item.items() if name in wanted}
    return {**kept, "quote": quotes.get(str(item["number"]), "")}
