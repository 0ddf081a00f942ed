"""One question put to several systems, over the library, on one model; they answer in turn."""

from __future__ import annotations

import queue
import re
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Literal, Self, TypeVar

from rich import box
from rich.console import Console, Group, RenderableType
from rich.live import Live
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
from tui.run.render import as_grid
from tui.run.words import DOING, IN_STEP, Block, going_on, located
from tui.settings.settings import Settings
from tui.terminal import cells, clean, columns, console, counted, duration, is_live, one_line, print_json

Status = Literal["not asked", "working", "answered", "not_found", "failed", "cancelled"]


@dataclass(slots=True)
class Column:
    """One system's answer as it comes: a fold over its events.

    Attributes:
        system: Its name.
        status: Where it is.
        doing: What it is at, in a few words.
        run_id: Of the stored run, where the system makes one.
        checked: The answer with its sources, where it has any.
        answered: What it gave, once it has.
        error: What kept it from answering.
    """

    system: str
    status: Status = "not asked"
    doing: str = ""
    run_id: str = ""
    checked: ev.Answered | None = None
    answered: Answered | None = None
    error: DeepthinkError | None = None
    _planned: int = 0
    _began: float = 0.0

    def begin(self, doing: str) -> None:
        """The system has started."""
        self.status, self.doing, self._began = "working", doing, time.monotonic()

    def take(self, event: ev.Event) -> None:
        """Add an event; ignore events that are not shown."""
        match event:
            case ev.RunStarted():
                self.run_id = event.run_id
            case ev.Planned():
                self._planned = len(event.steps)
            case ev.NodeStarted():
                self.doing = self._at(event)
            case ev.Answered():
                self.checked = event
            case _:
                pass

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
        told = self.answered
        if told is None:
            return [self._without_answer()]
        made = [Block("answer", clean(told.text).strip() or "(nothing)", tone="answer")]
        if told.abstained:
            made.append(Block("abstained", "it says that it does not know", tone="warning"))
        elif not told.held:
            made.append(Block("unchecked", "from memory, without sources", tone="warning"))
        elif told.flagged:
            verb = "is" if told.flagged == 1 else "are"
            noun = "sentence" if told.sentences == 1 else "sentences"
            said = f"{told.flagged} of {told.sentences} {noun} {verb} not fully supported by the sources"
            made.append(Block("flagged", said, tone="warning"))
        made += [Block(f"[{item['number']}]", _where(item), tone="sources") for item in self.sources]
        run = (f"run {self.run_id}",) if self.run_id else ()
        return [*made, Block("done", _cost(told.cost), run, "closing")]

    def _without_answer(self) -> Block:
        if self.error is None:
            return Block(self.status, tone="warning")
        said = self.error.title if self.status == "failed" else ""
        again = (going_on(self.run_id, self.status),) if self.run_id else ()
        return Block(self.status, said, again, "warning")

    def _at(self, event: ev.NodeStarted) -> str:
        doing = DOING.get(event.node, event.node)
        if not event.step or event.node not in IN_STEP:
            return doing
        return f"step {event.step} of {max(self._planned, event.step)}: {doing}"


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


_NARROWEST, _WIDEST = 30, 100  # characters of a column that can be read
_BETWEEN = 3  # characters from one column to the next
_MARK = re.compile(r"\[\d+\]")
_DOUBT = re.compile(r"\((?:not supported|only partly supported)\b[^)\n]*\)")
_STYLES = {"warning": "yellow", "sources": "dim", "closing": "dim"}


class Answers:
    """Shows the answers as they come; this one shows nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the terminal as it is meant to stay."""

    def open(self, question: str, how: str) -> None:
        """The question is asked; ``how`` says with which model and where."""

    def begin(self, column: Column) -> None:
        """A system has started."""

    def take(self, column: Column, event: ev.Event) -> None:
        """An event has come; the column has it already."""

    def end(self, column: Column) -> None:
        """A system has finished."""

    def close(self) -> None:
        """All have finished: show the summary."""


class PlainAnswers(Answers):
    """One answer after the other, as lines without codes, as soon as they are known."""

    def __init__(self, shown: Sequence[Column]) -> None:
        self._columns = shown
        self._question = ""

    def open(self, question: str, how: str) -> None:
        """Write the question."""
        self._question = question
        _write(Block("question", one_line(question), (one_line(how),)))

    def begin(self, column: Column) -> None:
        """Write its name."""
        sys.stdout.write("\n")
        _write(Block("system", column.system))

    def take(self, column: Column, event: ev.Event) -> None:
        """Write the step, so that a long run shows its progress."""
        if isinstance(event, ev.StepStarted) and event.plan_step["question"] != self._question:
            _write(Block(f"step {event.step}", one_line(event.plan_step["question"])))

    def end(self, column: Column) -> None:
        """Write the result."""
        for block in column.blocks():
            _write(block)

    def close(self) -> None:
        """Write the table."""
        sys.stdout.write("\n")
        console().print(summary(self._columns))


class LiveAnswers(Answers):
    """A line with what is being done, and the answers: in columns at the end, or one under the other.

    Args:
        out: As wide as may be used.
        shown: The columns, in their order.
    """

    def __init__(self, out: Console, shown: Sequence[Column]) -> None:
        self._out = out
        self._columns = shown
        self._width = min(_WIDEST, (out.width + _BETWEEN) // len(shown) - _BETWEEN)
        self._beside = len(shown) > 1 and self._width >= _NARROWEST
        self._live = Live(
            console=out,
            get_renderable=self._working,
            refresh_per_second=8,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=sys.stderr.isatty(),
        )

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def open(self, question: str, how: str) -> None:
        """Print the question above what moves."""
        self._out.print(as_grid(Block("question", one_line(question), (one_line(how),), "opening")))
        self._out.print()

    def end(self, column: Column) -> None:
        """Print the result, unless it stays in its column."""
        if not self._beside:
            self._out.print(Group(Text(column.system, "bold"), *map(as_grid, column.blocks()), Text()))

    def close(self) -> None:
        """Print the columns whole, and the table."""
        self._live.stop()
        if self._beside:
            self._out.print(self._table())
            self._out.print()
        self._out.print(summary(self._columns))

    def _working(self) -> RenderableType:
        working = next((column for column in self._columns if column.status == "working"), None)
        line = f"{working.system}: {working.going_on}" if working is not None else ""
        return Text(line, "dim", no_wrap=True, overflow="ellipsis")

    def _table(self) -> Table:
        table = Table(box=box.MINIMAL, show_edge=False, pad_edge=False, header_style="bold")
        for column in self._columns:
            table.add_column(column.system, width=self._width)
        table.add_row(*map(_text, self._columns))
        return table


def _screen(shown: Sequence[Column], form: Form) -> Answers:
    """Columns where a terminal is wide enough, one answer under the other where not; else lines."""
    if form == "json":
        return Answers()
    plain = form == "plain"
    return LiveAnswers(_wide(len(shown)), shown) if is_live(plain=plain) else PlainAnswers(shown)


def summary(shown: Sequence[Column]) -> Table:
    """What each took, a row for each."""
    counts = ("seconds", "read", "written", "steps", "sources", "flagged")
    table = columns("system", "answer", *counts, right=counts, whole=("system", "answer"))
    for column in shown:
        told, came_to = column.answered, column.status.replace("_", " ")
        if told is None:
            table.add_row(*cells(column.system, came_to, *("" for _ in counts)))
            continue
        cost = told.cost
        table.add_row(
            *cells(
                column.system,
                came_to,
                f"{cost.seconds:.1f}",
                f"{cost.evaluated:,}",
                f"{cost.generated:,}",
                cost.steps,
                len(column.sources),
                f"{told.flagged} of {told.sentences}" if told.sentences else "",
            )
        )
    return table


def _wide(shown: int) -> Console:
    """The terminal, as wide as so many columns can be read; one column as wide as any text."""
    out = console()
    whole = Console(file=sys.stdout).width
    if (whole + _BETWEEN) // shown - _BETWEEN >= _NARROWEST:
        out.width = min(whole, shown * (_WIDEST + _BETWEEN) - _BETWEEN)
    return out


def _text(column: Column) -> Text:
    """A column's content, without its name."""
    if column.status == "not asked":
        return Text()
    parts: list[Text] = []
    for block in column.blocks():
        labelled = block.tone in {"warning", "sources"}
        colon = ":" if block.tone == "warning" and block.text else ""
        said = f"{block.label}{colon} {block.text}".rstrip() if labelled else block.text
        text = Text("\n".join((said, *block.items)), _STYLES.get(block.tone, ""))
        text.highlight_regex(_MARK, "cyan")
        text.highlight_regex(_DOUBT, "bold yellow")
        parts += [text, Text()] if block.tone == "answer" else [text]
    return Text("\n").join(parts)


def _write(block: Block) -> None:
    said = " | ".join(part for part in (block.text, *block.items) if part)
    colon = ":" if said and block.tone != "sources" else ""
    sys.stdout.write(f"{block.label}{colon} {said}".rstrip() + "\n")
    sys.stdout.flush()


T = TypeVar("T")


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
            planner=open_planner(settings),
            store=store,
            collections=where,
            budget=settings.run_budget(),
            cancel=cancel,
        )
        with _screen(columns, form) as shown:
            columns[0].begin("loading the models")
            asked = _inside(lambda _tell: _loaded(question, parts), cancel, lambda _event: None).result()
            shown.open(asked, f"{chat.name} · in {', '.join(where)}")
            for system, column in zip(systems, columns, strict=True):
                if not cancel.is_set():
                    _answer(system, column, asked, parts, cancel, shown)
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
        print_json(told)
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
    """Do ``work`` in a thread to its end, and ``take`` its events in this one.

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
    system: System, column: Column, asked: str, parts: Parts, cancel: threading.Event, shown: Answers
) -> None:
    """Have a system answer, and keep its column and the screen up to date."""

    def take(event: ev.Event) -> None:
        column.take(event)
        if isinstance(event, ev.Warned):
            failures.warn(f"{column.system}: {clean(event.message)}")
        shown.take(column, event)

    column.begin("beginning")
    shown.begin(column)
    done = _inside(lambda tell: system.answer(asked, replace(parts, on_event=tell)), cancel, take)
    error = done.exception()
    if error is None:
        column.end(done.result())
    else:
        column.fail(failures.explained(error))
    shown.end(column)


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
