"""One question put to several systems, over the library, on one model; they answer in turn."""

from __future__ import annotations

import queue
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, Literal, Self, TypeVar

from rich.table import Table
from rich.text import Text

from agent import events as ev
from agent.request import checked_question, searchable
from agent.retrieval.recall import Recall
from agent.state import Evidence
from models.protocols import ChatOptions, Message
from policy.evaluation.systems import LEAN, SYSTEMS, Answered, Cost, Looped, Parts, System
from traces.errors import DeepthinkError
from traces.library import Library
from traces.records import SECTION_SEPARATOR, Scope
from tui import failures
from tui.ask.terminal import Form
from tui.assemble import open_chat, open_embedder, open_learned, open_planner, open_reader, open_store
from tui.interrupts import ctrl_c
from tui.library import embedding
from tui.run.render import as_grid, as_line
from tui.run.words import Block, doing, going_on, located
from tui.settings.settings import Settings
from tui.terminal import cells, clean, columns, console, counted, duration, is_live, one_line, print_json

Status = Literal["not asked", "working", "answered", "not_found", "failed", "cancelled"]


@dataclass(slots=True)
class Column:
    """One system's answer as it comes: a fold over its events.

    Attributes:
        doing: Its current activity, in a few words.
        run_id: Of the stored run, if the system makes one.
        checked: The answer with its sources, if it has any.
        answered: The result.
        error: Why there is no answer.
    """

    system: str
    status: Status = "not asked"
    doing: str = ""
    run_id: str = ""
    checked: ev.Answered | None = None
    answered: Answered | None = None
    error: DeepthinkError | None = None
    _began: float = 0.0

    def begin(self, activity: str) -> None:
        """The system has started."""
        self.status, self.doing, self._began = "working", activity, time.monotonic()

    def take(self, event: ev.Event) -> None:
        """Add an event; ignore events that are not shown."""
        if isinstance(event, ev.RunStarted):
            self.run_id = event.run_id
        elif isinstance(event, ev.NodeStarted):
            self.doing = doing(event)
        elif isinstance(event, ev.Answered):
            self.checked = event

    def end(self, answered: Answered) -> None:
        """The system has answered."""
        self.status, self.answered = "not_found" if answered.abstained else "answered", answered

    def fail(self, error: DeepthinkError) -> None:
        """The system has failed."""
        self.status, self.error = "cancelled" if error.kind == "cancelled" else "failed", error

    @property
    def sources(self) -> list[Evidence]:
        """The passages that the answer cites, with the numbers of its marks."""
        return self.checked.sources if self.checked is not None and self.status == "answered" else []

    @property
    def going_on(self) -> str:
        """The current activity and its duration."""
        return f"{self.doing} · {duration(time.monotonic() - self._began)}"

    def blocks(self) -> list[Block]:
        """The result as blocks of text."""
        answered = self.answered
        if answered is None:
            reason = self.error.title if self.error is not None and self.status == "failed" else ""
            again = (going_on(self.run_id, self.status),) if self.error is not None and self.run_id else ()
            return [Block(self.status, reason, again, "warning")]
        blocks = [Block("answer", clean(answered.text).strip() or "(nothing)", tone="answer")]
        if answered.abstained:
            blocks.append(Block("abstained", "it says that it does not know", tone="warning"))
        elif not answered.held:
            blocks.append(Block("unchecked", "from memory, without sources", tone="warning"))
        elif answered.flagged:
            verb = "is" if answered.flagged == 1 else "are"
            flagged = f"{answered.flagged} of {counted(answered.sentences, 'sentence')} {verb}"
            text = f"{flagged} not fully supported by the sources"
            blocks.append(Block("flagged", text, tone="warning"))
        blocks += [Block(f"[{item['number']}]", _where(item), tone="sources") for item in self.sources]
        run = (f"run {self.run_id}",) if self.run_id else ()
        return [*blocks, Block("done", _cost(answered.cost), run, "closing")]


def _where(item: Evidence) -> str:
    """Title and page of a passage; its heading where there are no pages."""
    heading = "" if item["page"] else item["section"].rsplit(SECTION_SEPARATOR, 1)[-1]
    return located(item["title"] or item["document"], heading, item["page"])


def _cost(cost: Cost) -> str:
    return " · ".join(
        (
            counted(cost.steps, "step"),
            duration(cost.seconds),
            counted(cost.calls, "model call"),
            f"{counted(cost.evaluated, 'token')} read",
            f"{cost.generated:,} written",
        )
    )


class Shown:
    """Shows the answers one after the other, and on a terminal a line with the current activity.

    The form ``json`` shows nothing, ``plain`` nothing that moves.
    """

    def __init__(self, form: Form) -> None:
        self._silent = form == "json"
        self._out = console()
        self._live = self._out.status("") if is_live(plain=form != "auto") else None

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the terminal as it was."""
        if self._live is not None:
            self._live.stop()

    def show(self, *blocks: Block) -> None:
        """Add blocks beneath what is shown."""
        for block in () if self._silent else blocks:
            if self._live is not None:
                self._out.print(as_grid(block))
            else:
                sys.stdout.write("\n" * (block.tone == "part") + f"{as_line(block)}\n")
                sys.stdout.flush()

    def doing(self, column: Column) -> None:
        """Update the line with the current activity."""
        if self._live is not None:
            self._live.update(Text(f"{column.system}: {column.going_on}", "dim"))

    def close(self, columns: Sequence[Column]) -> None:
        """Show the summary."""
        self.__exit__()
        if not self._silent:
            self._out.print()
            self._out.print(summary(columns))


def summary(shown: Sequence[Column]) -> Table:
    """What each took, a row for each."""
    counts = ("seconds", "read", "written", "steps", "sources", "flagged")
    table = columns("system", "answer", *counts, right=counts, whole=("system", "answer"))
    for column in shown:
        answered, status = column.answered, column.status.replace("_", " ")
        if answered is None:
            table.add_row(*cells(column.system, status, *("" for _ in counts)))
            continue
        cost = answered.cost
        table.add_row(
            *cells(
                column.system,
                status,
                f"{cost.seconds:.1f}",
                f"{cost.evaluated:,}",
                f"{cost.generated:,}",
                cost.steps,
                len(column.sources),
                f"{answered.flagged} of {answered.sentences}" if answered.sentences else "",
            )
        )
    return table


T = TypeVar("T")


def compare(
    question: str, names: str, settings: Settings, form: Form, collections: tuple[str, ...] = ()
) -> int:
    """Show what each system answers, and what it took; the exit code.

    A failure of one system does not stop the others. The code is the first failure's, else
    `failures.NOT_FOUND` if none found an answer; after Ctrl-C that of a cancelled run.

    Args:
        question: The question.
        names: Of the systems, separated by commas; they answer in this order.
        settings: Which models to use, and what each answer may cost.
        form: How it is shown; see `Shown`.
        collections: Where to look; all if empty.

    Raises:
        WrongUsage: there is no such system.
        DeepthinkError: none of them can answer.
    """
    systems = _named(names, settings)
    columns = [Column(system.name) for system in systems]
    store, embedder = open_store(), open_embedder(settings)
    embedding.before(store, embedder)
    with closing(open_chat(settings)) as chat, ctrl_c() as cancel:
        library = Library(store)
        where = tuple(collection.name for collection in searchable(library, collections, web=False))
        parts = Parts(
            chat=chat,
            embedder=embedder,
            reader=open_reader(settings),
            planner=open_planner(settings),
            store=store,
            collections=where,
            budget=settings.run_budget(),
            cancel=cancel,
        )
        with Shown(form) as shown:
            columns[0].begin("loading the models")
            shown.doing(columns[0])
            asked = _inside(lambda _tell: _loaded(question, parts), cancel, lambda _event: None).result()
            shown.show(
                Block("question", asked, (one_line(f"{chat.name} · in {', '.join(where)}"),), "opening")
            )
            for system, column in zip(systems, columns, strict=True):
                if not cancel.is_set():
                    _answer(system, column, asked, parts, cancel, shown)
            shown.close(columns)
    if form == "json":
        result = {
            "question": asked,
            "model": chat.name,
            "embedder": parts.embedder.name,
            "reranker": parts.reader.name,
            "collections": list(where),
            "systems": [_as_json(column) for column in columns],
        }
        print_json(result)
    return _exit_code(columns)


def _named(names: str, settings: Settings) -> list[System]:
    wanted = dict.fromkeys(name.strip() for name in names.split(",") if name.strip())
    there_are = f"There are: {', '.join(SYSTEMS)}."
    for name in wanted:
        if name not in SYSTEMS:
            raise failures.WrongUsage(f"There is no system “{clean(name)}”.", there_are)
    if not wanted:
        raise failures.WrongUsage("--systems names no system.", there_are)
    learned = open_learned() if LEAN in wanted else None
    lean = Looped(LEAN, LEAN, settings.decider, learned)  # it decides as the settings say
    return [lean if name == LEAN else SYSTEMS[name] for name in wanted]


def _loaded(question: str, parts: Parts) -> str:
    """The question in one line; everything is loaded, so that no system is charged for it."""
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
    """Do ``work`` in a thread to its end, and ``take`` its events in this one.

    Python hears Ctrl-C in the main thread alone, and not while a model computes there.
    """
    received: queue.SimpleQueue[ev.Event | None] = queue.SimpleQueue()
    with ThreadPoolExecutor(1, "deepthink-compare") as thread:
        done = thread.submit(work, received.put)
        done.add_done_callback(lambda _done: received.put(None))
        try:
            for event in iter(received.get, None):
                take(event)
        except BaseException:
            cancel.set()  # the thread is waited for
            raise
    return done


def _answer(
    system: System, column: Column, asked: str, parts: Parts, cancel: threading.Event, shown: Shown
) -> None:
    """Have a system answer, and keep its column and the screen up to date."""

    def take(event: ev.Event) -> None:
        column.take(event)
        if isinstance(event, ev.Warned):
            failures.warn(f"{column.system}: {clean(event.message)}")
        if isinstance(event, ev.StepStarted) and event.plan_step["question"] != asked:
            shown.show(Block(f"step {event.step}", one_line(event.plan_step["question"])))
        shown.doing(column)

    column.begin("beginning")
    shown.show(Block("system", column.system, tone="part"))
    done = _inside(lambda tell: system.answer(asked, replace(parts, on_event=tell)), cancel, take)
    error = done.exception()
    if error is None:
        column.end(done.result())
    else:
        column.fail(failures.explained(error))
    shown.show(*column.blocks())


def _exit_code(columns: Sequence[Column]) -> int:
    """The exit code, after reporting why systems failed, each reason once."""
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
    answered = any(column.status == "answered" for column in columns)
    return failures.DONE if answered else failures.NOT_FOUND


def _as_json(column: Column) -> dict[str, Any]:
    """A system's answer for a script; the keys are those of `ask`, where it has them."""
    answered, error = column.answered, column.error
    cost = answered.cost if answered else None
    checked = column.checked if answered else None
    return {
        "system": column.system,
        "status": column.status.replace(" ", "_"),
        "run_id": column.run_id,
        "answer": answered.text if answered else "",
        "sentences": [
            {**claim, "flagged": claim["verdict"] != "supported"}
            for claim in (checked.sentences if checked else [])
        ],
        "flagged": answered.flagged if answered else 0,
        "sources": [_source(item, checked.quotes if checked else {}) for item in column.sources],
        "stopped_because": answered.stopped if answered else "",
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
