"""Compare several systems on one question: each answers in turn, from one library, on one model."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

from rich.table import Table
from rich.text import Text

from agent import events as ev
from agent.retrieval.recall import Recall
from agent.run import checked_question, searchable
from agent.state import Evidence
from models.protocols import ChatOptions, Message
from policy.evaluation.systems import LEAN, SYSTEMS, Answered, Looped, Parts, System
from traces.errors import DeepthinkError
from traces.library import Library
from traces.records import Scope
from tui import failures
from tui.ask.terminal import Form
from tui.assemble import open_learned, open_parts, open_store
from tui.interrupts import ctrl_c
from tui.library.actions import embed_few
from tui.run.fold import RunFold, sentence_json
from tui.run.render import as_grid, as_line
from tui.run.words import Block, doing, places, resume_hint, step_question, support_count
from tui.settings.settings import Settings
from tui.terminal import clean, console, duration, is_live, one_line, print_json, table


@dataclass(slots=True)
class Column:
    """One system's answer so far, with its events; or why it could not answer."""

    system: str
    fold: RunFold = field(default_factory=RunFold)
    answered: Answered | None = None
    error: DeepthinkError | None = None

    @property
    def status(self) -> str:
        """The status in a word or two."""
        if self.error is not None:
            return "cancelled" if self.error.kind == "cancelled" else "failed"
        if self.answered is None:
            return "not asked"
        return "not found" if self.answered.abstained else "answered"

    @property
    def text(self) -> str:
        """The answer; with sources, as its fold numbers them."""
        checked = self.fold.answered
        return checked.answer if checked else self.answered.text if self.answered else ""

    @property
    def sources(self) -> list[Evidence]:
        """The passages that the answer cites."""
        return self.fold.answered.sources if self.fold.answered and self.status == "answered" else []

    def blocks(self) -> list[Block]:
        """The result as blocks of text."""
        answered, run_id = self.answered, self.fold.run_id
        if answered is None:
            reason = self.error.title if self.error is not None and self.status == "failed" else ""
            hints = (resume_hint(run_id, self.status),) if self.error is not None and run_id else ()
            return [Block(self.status, reason, hints, "warning")]
        blocks = [Block("answer", clean(self.text).strip() or "(nothing)", tone="answer")]
        if answered.abstained:
            blocks.append(Block("abstained", "it says that it does not know", tone="warning"))
        elif answered.flagged and self.fold.answered is not None:
            blocks.append(Block("flagged", support_count(self.fold.answered.sentences), tone="warning"))
        cited = zip(self.sources, places(self.sources), strict=True)
        blocks += [Block(f"[{item['number']}]", where, tone="sources") for item, where in cited]
        return [*blocks, Block("run", run_id, tone="closing")] if run_id else blocks

    def to_json(self) -> dict[str, Any]:
        """The result as JSON; the keys are those of `ask`, where `ask` has them."""
        checked, error = self.fold.answered if self.answered else None, self.error
        answered = self.answered or Answered("", abstained=False)
        cost = answered.cost
        fields = ("title", "message", "way_out")
        return {
            "system": self.system,
            "status": self.status.replace(" ", "_"),
            "run_id": self.fold.run_id,
            "answer": self.text if self.answered else "",
            "sentences": [sentence_json(claim) for claim in checked.sentences] if checked else [],
            "flagged": answered.flagged,
            "sources": [self.fold.source_json(item) for item in self.sources],
            "stopped_because": answered.stopped,
            "steps": cost.steps,
            "usage": {
                "model_calls": cost.calls,
                "evaluated": cost.evaluated,
                "reused": cost.reused,
                "generated": cost.generated,
            },
            "seconds": round(cost.seconds, 3) if self.answered else None,
            "error": {name: getattr(error, name) for name in fields} if error else None,
        }


class AnswerPrinter:
    """Prints the answers one after the other, and on a terminal a line with the current activity.

    The form ``json`` prints nothing, ``plain`` is not animated.

    Attributes:
        live: The line with the current activity; None without one.
    """

    def __init__(self, form: Form) -> None:
        self._silent = form == "json"
        self._out = console()
        self.live = self._out.status("") if is_live(plain=form != "auto") else None

    def show(self, *blocks: Block) -> None:
        for block in () if self._silent else blocks:
            if self.live is not None:
                self._out.print(as_grid(block))
            else:
                sys.stdout.write("\n" * (block.tone == "part") + f"{as_line(block)}\n")
                sys.stdout.flush()

    def tell(self, activity: str) -> None:
        """Update the line with the current activity."""
        if self.live is not None:
            self.live.update(Text(activity, "dim"))


def _summary(results: Sequence[Column]) -> Table:
    """What each system took, one row each."""
    counts = ("seconds", "steps", "calls", "read", "written", "sources", "flagged")
    rows: list[Sequence[object]] = []
    for column in results:
        values: list[object] = [""] * len(counts)
        if (answered := column.answered) is not None:
            cost = answered.cost
            flagged = f"{answered.flagged} of {answered.sentences}" if answered.sentences else ""
            values = [f"{cost.seconds:.1f}", cost.steps, cost.calls, f"{cost.evaluated:,}"]
            values += [f"{cost.generated:,}", len(column.sources), flagged]
        rows.append((column.system, column.status, *values))
    headers = ("system", "answer", *counts)
    spare = ("written", "read", "calls", "steps")
    return table(headers, rows, right=counts, whole=("system", "answer"), spare=spare)


def compare(
    question: str, names: str, settings: Settings, form: Form, collections: tuple[str, ...] = ()
) -> int:
    """Show what each system answers and what it took; return the exit code.

    A failure of one system does not stop the others. The code is the first failure's, else
    `failures.NOT_FOUND` if none found an answer; after Ctrl-C that of a cancelled run. Raises `WrongUsage`
    if a system is unknown.

    Args:
        question: The question.
        names: The systems, separated by commas, in the order in which they answer.
        settings: Which models to use, and what each answer may cost.
        form: How it is shown; see `AnswerPrinter`.
        collections: Where to look; all if empty.
    """
    systems = _parse_systems(names, settings)
    columns = [Column(name) for name in systems]
    store, models = open_store(), open_parts(settings)
    chat, embedder, reader = models["chat"], models["embedder"], models["reader"]
    embed_few(store, embedder)
    printer = AnswerPrinter(form)
    with closing(chat), ctrl_c() as cancel, printer.live or nullcontext():
        library = Library(store)
        places = tuple(collection.name for collection in searchable(library, collections, web=False))
        budget = settings.budget
        parts = Parts(
            **models,
            store=store,
            collections=places,
            budget=budget,
            learned=open_learned(),
            cancel=cancel,
        )
        printer.tell("loading the models")
        clean_question = _load_models(question, parts)
        setup = one_line(f"{chat.name} · in {', '.join(places)}")
        printer.show(Block("question", clean_question, (setup,), "opening"))
        for system, column in zip(systems.values(), columns, strict=True):
            if not cancel.is_set():
                _answer(system, column, clean_question, parts, printer)
    if form != "json":
        out = console()
        out.print()
        out.print(_summary(columns))
    else:
        result = {
            "question": clean_question,
            "model": chat.name,
            "embedder": embedder.name,
            "reranker": reader.name,
            "collections": places,
            "systems": [column.to_json() for column in columns],
        }
        print_json(result)
    return _exit_code(columns)


def _parse_systems(names: str, settings: Settings) -> dict[str, System]:
    requested = dict.fromkeys(name.strip() for name in names.split(",") if name.strip())
    choices = f"There are: {', '.join(SYSTEMS)}."
    for name in requested:
        if name not in SYSTEMS:
            raise failures.WrongUsage(f"There is no system “{clean(name)}”.", choices)
    if not requested:
        raise failures.WrongUsage("--systems names no system.", choices)
    lean = Looped(LEAN, settings.decider)  # it decides as the settings say
    return {name: lean if name == LEAN else SYSTEMS[name] for name in requested}


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


def _answer(
    system: System,
    column: Column,
    question: str,
    parts: Parts,
    printer: AnswerPrinter,
) -> None:
    """Let a system answer, and keep its column and the screen up to date."""

    def take(event: ev.Event) -> None:
        column.fold.take(event)
        if isinstance(event, ev.Warned):
            failures.warn(f"{column.system}: {clean(event.message)}")
        if isinstance(event, ev.StepStarted) and event.plan_step["question"] != question:
            printer.show(Block(f"step {event.step}", step_question(event.plan_step["question"])))
        activity = doing(column.fold) or "working"
        printer.tell(f"{column.system}: {activity} · {duration(time.monotonic() - began)}")

    began = time.monotonic()
    printer.show(Block("system", column.system, tone="part"))
    try:
        column.answered = system(question, replace(parts, on_event=take))
    except BrokenPipeError:  # of stdout
        raise
    except Exception as error:  # noqa: BLE001 - told in its place: the others still answer
        column.error = failures.explained(error)
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
