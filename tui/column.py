"""One system's answer as it comes, and what is said of it: the same whatever it is shown as."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Literal

from agent import events as ev
from agent.state import Evidence
from policy.systems.answered import Answered, Cost
from traces.errors import DeepthinkError
from traces.records import SECTION_SEPARATOR
from tui.blocks import Block, located
from tui.terminal import clean, duration
from tui.transcript import DOING, IN_STEP, going_on

Status = Literal["not asked", "working", "answered", "not_found", "failed", "cancelled"]

_WRITING = frozenset({"synthesise", "answer_directly"})


@dataclass(slots=True)
class Column:
    """One system's answer as it comes: a fold over what it tells.

    Attributes:
        system: Its name.
        status: Where it is.
        doing: What it is at, in a few words.
        draft: The answer as far as it is written; not yet checked.
        run_id: Of the stored run, where the system makes one.
        checked: The answer with its sources, where it has any.
        answered: What it gave, once it has.
        error: What kept it from answering.
    """

    system: str
    status: Status = "not asked"
    doing: str = ""
    draft: str = ""
    run_id: str = ""
    checked: ev.Answered | None = None
    answered: Answered | None = None
    error: DeepthinkError | None = None
    _planned: int = 0
    _began: float = 0.0

    def begin(self, doing: str) -> None:
        """It is at work from now on."""
        self.status, self.doing, self._began = "working", doing, time.monotonic()

    def take(self, event: ev.Event) -> None:
        """Add what it tells; what is not shown is passed over."""
        match event:
            case ev.RunStarted():
                self.run_id = event.run_id
            case ev.Planned():
                self._planned = len(event.steps)
            case ev.NodeStarted():
                self.doing = self._at(event)
                if event.node in _WRITING:
                    self.draft = ""  # it is written anew
            case ev.AnswerText():
                self.draft += event.text
            case ev.Answered():
                self.checked = event
            case _:
                pass

    def end(self, answered: Answered) -> None:
        """It has answered."""
        self.status, self.answered = "not_found" if answered.abstained else "answered", answered

    def fail(self, error: DeepthinkError) -> None:
        """It has not answered."""
        self.status, self.error = "cancelled" if error.kind == "cancelled" else "failed", error

    @property
    def sources(self) -> list[Evidence]:
        """The passages that the answer cites, with the numbers of its marks."""
        return self.checked.sources if self.checked is not None and self.status == "answered" else []

    @property
    def going_on(self) -> str:
        """What it is at, and since when."""
        return f"{self.doing} · {duration(time.monotonic() - self._began)}"

    def blocks(self) -> list[Block]:
        """What it came to."""
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
    """Title and page of a passage; where there are no pages, the heading it stands under."""
    heading = "" if item["page"] else item["section"].rsplit(SECTION_SEPARATOR, 1)[-1]
    return located(item["title"] or item["document"], heading, item["page"])


def _cost(cost: Cost) -> str:
    def counted(number: int, noun: str) -> str:
        return f"{number:,} {noun}{'s' * (number != 1)}"

    return " · ".join(
        (
            counted(cost.steps, "step"),
            duration(cost.seconds),
            counted(cost.calls, "model call"),
            f"{counted(cost.evaluated, 'token')} read",
            f"{cost.generated:,} written",
        )
    )
