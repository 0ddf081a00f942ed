"""Compare several systems on one question: each answers in turn, from one library, on one model."""

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
from tui.run.words import Block, doing, located, resume_hint
from tui.settings.settings import Settings
from tui.terminal import cells, clean, columns, console, counted, duration, is_live, one_line, print_json

Status = Literal["not asked", "working", "answered", "not_found", "failed", "cancelled"]


@dataclass(slots=True)
class Column:
    """One system's answer so far: a fold over its events.

    Attributes:
        doing: Its current activity, in a few words.
        run_id: Id of the stored run, if the system stores one.
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
    def progress(self) -> str:
        """The current activity and its duration."""
        return f"{self.doing} · {duration(time.monotonic() - self._began)}"

    def blocks(self) -> list[Block]:
        """The result as blocks of text."""
        answered = self.answered
        if answered is None:
            reason = self.error.title if self.error is not None and self.status == "failed" else ""
            resume_hints = (
                (resume_hint(self.run_id, self.status),) if self.error is not None and self.run_id else ()
            )
            return [Block(self.status, reason, resume_hints, "warning")]
        blocks = [Block("answer", clean(answered.text).strip() or "(nothing)", tone="answer")]
        if answered.abstained:
            blocks.append(Block("abstained", "it says that it does not know", tone="warning"))
        elif not answered.in_prompt:
            blocks.append(Block("unchecked", "from memory, without sources", tone="warning"))
        elif answered.flagged:
            verb = "is" if answered.flagged == 1 else "are"
            proportion = f"{answered.flagged} of {counted(answered.sentences, 'sentence')} {verb}"
            text = f"{proportion} not fully supported by the sources"
            blocks.append(Block("flagged", text, tone="warning"))
        blocks += [Block(f"[{item['number']}]", _location(item), tone="sources") for item in self.sources]
        run = (f"run {self.run_id}",) if self.run_id else ()
        return [*blocks, Block("done", _cost(answered.cost), run, "closing")]


def _location(item: Evidence) -> str:
    """Title and page of a passage; without pages, its heading."""
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


class AnswerPrinter:
    """Prints the answers one after the other, and on a terminal a line with the current activity.

    The form ``json`` prints nothing, ``plain`` is not animated.
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
        """Print blocks below the previous ones."""
        for block in () if self._silent else blocks:
            if self._live is not None:
                self._out.print(as_grid(block))
            else:
                sys.stdout.write("\n" * (block.tone == "part") + f"{as_line(block)}\n")
                sys.stdout.flush()

    def doing(self, column: Column) -> None:
        """Update the line with the current activity."""
        if self._live is not None:
            self._live.update(Text(f"{column.system}: {column.progress}", "dim"))

    def close(self, columns: Sequence[Column]) -> None:
        """Show the summary."""
        self.__exit__()
        if not self._silent:
            self._out.print()
            self._out.print(summary(columns))


def summary(results: Sequence[Column]) -> Table:
    """What each system took, one row each."""
    counts = ("seconds", "read", "written", "steps", "sources", "flagged")
    table = columns("system", "answer", *counts, right=counts, whole=("system", "answer"))
    for column in results:
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
    """Show what each system answers and what it took; return the exit code.

    A failure of one system does not stop the others. The code is the first failure's, else
    `failures.NOT_FOUND` if none found an answer; after Ctrl-C that of a cancelled run.

    Args:
        question: The question.
        names: The systems, separated by commas, in the order in which they answer.
        settings: Which models to use, and what each answer may cost.
        form: How it is shown; see `AnswerPrinter`.
        collections: Where to look; all if empty.

    Raises:
        WrongUsage: a system is unknown.
        DeepthinkError: no system can answer.
    """
    systems = _parse_systems(names, settings)
    columns = [Column(system.name) for system in systems]
    store, embedder = open_store(), open_embedder(settings)
    embedding.before(store, embedder)
    with closing(open_chat(settings)) as chat, ctrl_c() as cancel:
        library = Library(store)
        collection_names = tuple(
            collection.name for collection in searchable(library, collections, web=False)
        )
        parts = Parts(
            chat=chat,
            embedder=embedder,
            reader=open_reader(settings),
            planner=open_planner(settings),
            store=store,
            collections=collection_names,
            budget=settings.run_budget(),
            cancel=cancel,
        )
        with AnswerPrinter(form) as printer:
            columns[0].begin("loading the models")
            printer.doing(columns[0])
            clean_question = _run_in_thread(
                lambda _tell: _load_models(question, parts), cancel, lambda _event: None
            ).result()
            printer.show(
                Block(
                    "question",
                    clean_question,
                    (one_line(f"{chat.name} · in {', '.join(collection_names)}"),),
                    "opening",
                )
            )
            for system, column in zip(systems, columns, strict=True):
                if not cancel.is_set():
                    _answer(system, column, clean_question, parts, cancel, printer)
            printer.close(columns)
    if form == "json":
        result = {
            "question": clean_question,
            "model": chat.name,
            "embedder": parts.embedder.name,
            "reranker": parts.reader.name,
            "collections": list(collection_names),
            "systems": [_as_json(column) for column in columns],
        }
        print_json(result)
    return _exit_code(columns)


def _parse_systems(names: str, settings: Settings) -> list[System]:
    requested = dict.fromkeys(name.strip() for name in names.split(",") if name.strip())
    choices = f"There are: {', '.join(SYSTEMS)}."
    for name in requested:
        if name not in SYSTEMS:
            raise failures.WrongUsage(f"There is no system “{clean(name)}”.", choices)
    if not requested:
        raise failures.WrongUsage("--systems names no system.", choices)
    learned = open_learned() if LEAN in requested else None
    lean = Looped(LEAN, LEAN, settings.decider, learned)  # it decides as the settings say
    return [lean if name == LEAN else SYSTEMS[name] for name in requested]


def _load_models(question: str, parts: Parts) -> str:
    """Load everything, so that no system is charged for it; return the question in one line."""
    import langgraph.checkpoint.sqlite
    import langgraph.graph  # noqa: F401 - what a run needs; it takes seconds to import

    clean_question = checked_question(question, parts.chat)
    scopes = [Scope(collections=parts.collections)]
    Recall(Library(parts.store), parts.embedder).search(clean_question, "hybrid", scopes, 1)
    parts.reader.read(clean_question, [clean_question])
    parts.chat.generate([Message("user", "Hello")], ChatOptions(max_tokens=1, cancel=parts.cancel))
    return clean_question


def _run_in_thread(
    work: Callable[[Callable[[ev.Event], None]], T],
    cancel: threading.Event,
    take: Callable[[ev.Event], None],
) -> Future[T]:
    """Run ``work`` in a thread until it ends, and ``take`` its events in this one.

    Python handles Ctrl-C in the main thread only, and not while a model computes there.
    """
    received: queue.SimpleQueue[ev.Event | None] = queue.SimpleQueue()
    with ThreadPoolExecutor(1, "deepthink-compare") as thread:
        future = thread.submit(work, received.put)
        future.add_done_callback(lambda _future: received.put(None))
        try:
            for event in iter(received.get, None):
                take(event)
        except BaseException:
            cancel.set()  # leaving the `with` block waits for the thread
            raise
    return future


def _answer(
    system: System,
    column: Column,
    question: str,
    parts: Parts,
    cancel: threading.Event,
    printer: AnswerPrinter,
) -> None:
    """Let a system answer, and keep its column and the screen up to date."""

    def take(event: ev.Event) -> None:
        column.take(event)
        if isinstance(event, ev.Warned):
            failures.warn(f"{column.system}: {clean(event.message)}")
        if isinstance(event, ev.StepStarted) and event.plan_step["question"] != question:
            printer.show(Block(f"step {event.step}", one_line(event.plan_step["question"])))
        printer.doing(column)

    column.begin("beginning")
    printer.show(Block("system", column.system, tone="part"))
    future = _run_in_thread(
        lambda tell: system.answer(question, replace(parts, on_event=tell)), cancel, take
    )
    error = future.exception()
    if error is None:
        column.end(future.result())
    else:
        column.fail(failures.explained(error))
    printer.show(*column.blocks())


def _exit_code(columns: Sequence[Column]) -> int:
    """The exit code, after reporting why systems failed, each reason once."""
    if any(column.status in {"cancelled", "not asked"} for column in columns):
        return failures.EXIT_CODES["cancelled"]
    systems_by_reason: dict[str, list[str]] = {}
    errors = {column.system: column.error for column in columns if column.error is not None}
    for system, error in errors.items():
        systems_by_reason.setdefault(f"{error.title}: {error.message}", []).append(system)
    for systems in systems_by_reason.values():
        failures.report(errors[systems[0]], ", ".join(systems))
    if errors:
        return failures.EXIT_CODES[next(iter(errors.values())).kind]
    any_answered = any(column.status == "answered" for column in columns)
    return failures.DONE if any_answered else failures.NOT_FOUND


def _as_json(column: Column) -> dict[str, Any]:
    """A system's answer as JSON; the keys are those of `ask`, where `ask` has them."""
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
    fields = ("number", "title", "collection", "document", "section", "page", "date", "kind")
    source = {name: value for name, value in item.items() if name in fields}
    return {**source, "quote": quotes.get(str(item["number"]), "")}
