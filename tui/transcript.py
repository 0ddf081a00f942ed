"""What a person reads of a run: each event becomes at most a few blocks of text.

`tui.blocks` says what each event is worth saying; here is what is held back, left out or added up. A live
run and the replay of a stored one go through here alike; `tui.render` puts the blocks on a terminal or into
lines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agent import events as ev
from agent.state import Claim
from tui import blocks
from tui.blocks import Block
from tui.numbering import reading_order, renumbered
from tui.terminal import clean, duration, one_line
from tui.wording import ENDINGS

DOING: Mapping[str, str] = {
    "route": "seeing what kind of question it is",
    "clarify": "waiting for you",
    "answer_directly": "answering",
    "look": "reading what the question itself finds",
    "single_shot": "preparing the search",
    "plan": "planning",
    "next_step": "preparing the next step",
    "retrieve": "searching",
    "rerank": "reading the passages",
    "grade": "judging the passages",
    "correct": "looking elsewhere",
    "distil": "picking out what matters",
    "reflect": "noting what was found",
    "decide": "deciding what to do next",
    "synthesise": "writing the answer",
    "verify": "checking the answer against its sources",
    "approve": "waiting for you",
}
"""What each node of the graph does, in words."""

IN_STEP = frozenset({"retrieve", "rerank", "grade", "correct", "distil", "reflect"})
"""The nodes that work on one research step."""

RESUMABLE = frozenset({"waiting", "interrupted", "cancelled", "failed"})
"""Statuses of a run that `deepthink resume` takes up again."""

_QUIET = (ev.NodeStarted, ev.NodeProgress, ev.NodeFinished, ev.ModelCalled, ev.Heartbeat, ev.NotebookGrew)


class Transcript:
    """A fold over the events of one run.

    Searches that run side by side are shown together once they are all there, and of several answers
    the last, when the run is over.
    """

    def __init__(self) -> None:
        self._run_id = ""
        self._searches: list[ev.Searched] = []
        self._answered: ev.Answered | None = None
        self._claims: list[Claim] = []
        self._single = False  # the question is its own only step
        self._question = ""  # of the step under way

    def take(self, event: ev.Event) -> list[Block]:
        """The blocks that this event adds."""
        if isinstance(event, ev.Searched):
            done = [] if self._same_round(event) else self._round()
            self._searches.append(event)
            return done
        if isinstance(event, _QUIET):
            return []
        return [*self._round(), *self._shown(event)]

    def recall(self, events: Sequence[ev.Event]) -> None:
        """Know what happened in a run before it was resumed, without showing it."""
        for event in events:
            self.take(event)
        self._run_id = ""  # whoever watches now has not read the question

    def rest(self) -> list[Block]:
        """What is held back: a run that was cut off never came to show it."""
        answered, self._answered = self._answered, None
        return [*self._round(), *(blocks.answer(answered) if answered is not None else [])]

    def _shown(self, event: ev.Event) -> list[Block]:  # noqa: PLR0911, PLR0912 - one arm per event
        match event:
            case ev.RunStarted() | ev.Resumed():
                return [self._opening(event)]
            case ev.Routed():
                self._single, self._question = event.route == "single", event.question
                return [blocks.route(event)]
            case ev.FirstLook():
                return [blocks.first_look(event)]
            case ev.Replied():
                return [blocks.reply(event)]
            case ev.Planned() if not self._single or event.revision:
                return [blocks.plan(event)]
            case ev.StepStarted():
                self._question = event.plan_step["question"]
                if self._single and event.step == 1:
                    return []
                return [Block(f"step {event.step}", one_line(event.plan_step["question"]), tone="part")]
            case ev.Graded():
                return [blocks.grades(event)]
            case ev.Corrected():
                return [blocks.correction(event)]
            case ev.EvidenceKept():
                return [blocks.kept(event)]
            case ev.Noted():
                return [blocks.finding(event)]
            case ev.Contradicted():
                return [blocks.contradiction(event)]
            case ev.Decided():
                return [blocks.decision(event)]
            case ev.Steered():
                return [blocks.steered(event)]
            case ev.Warned():
                return [Block("note", one_line(event.message), tone="warning")]
            case ev.Answered():
                self._answered = event
                self._claims = event.sentences or self._claims
                return []
            case ev.RunFinished():
                if event.status in {
                    "interrupted",
                    "cancelled",
                }:  # it was not wanted as it is, and may yet become another
                    self._answered = None
                elif self._answered is not None:
                    order = reading_order(self._answered, self._answered.sources)
                    self._answered = renumbered(self._answered, order)
                return [*self.rest(), self._closing(event)]
            case _:
                return []

    def _same_round(self, event: ev.Searched) -> bool:
        return all((other.step, other.rung) == (event.step, event.rung) for other in self._searches)

    def _round(self) -> list[Block]:
        together, self._searches = self._searches, []
        return [blocks.search(together, self._question)] if together else []

    def _opening(self, event: ev.RunStarted | ev.Resumed) -> Block:
        if isinstance(event, ev.Resumed):
            where = f"at: {DOING.get(event.node, event.node)}"
            if self._run_id == event.run_id:
                return Block("resumed", where, tone="part")
            how = [event.chat_model, f"resumed {where}"]
        else:
            how = [
                event.chat_model,
                f"profile {event.profile}",
                f"decisions by {event.decider}",
                f"read by {event.reranker}" if event.reranker else "no reranker, the fused order stands",
                f"in {', '.join(event.collections)}",
            ]
        self._run_id = event.run_id
        return Block("question", one_line(event.question), (clean(" · ".join(how)),), "opening")

    def _closing(self, event: ev.RunFinished) -> Block:
        ended = ENDINGS.get(event.status, event.status)
        calls = f"{event.model_calls} model call{'s' * (event.model_calls != 1)}"
        prompt = event.evaluated + event.reused
        share = f" ({event.reused / prompt:.0%})" if event.reused else ""
        tokens = (
            f"{event.evaluated:,} tokens read, {event.reused:,} reused{share}, {event.generated:,} written"
        )
        cost = f"{calls} · {tokens}" if event.model_calls else "no model call"
        items = [cost, f"run {self._run_id}"]
        if event.status in RESUMABLE:
            items[-1] = going_on(self._run_id, event.status)
        if self._claims and event.status in {"answered", "rejected", "waiting"}:
            items.insert(0, blocks.supported(self._claims))
        because = event.stopped_because if event.stopped_because != event.status else ""
        because = f" ({one_line(because)})" if because else ""
        return Block("done", f"{ended}, {duration(event.seconds)}{because}", tuple(items), "closing")


def going_on(run_id: str, status: str) -> str:
    """How a person takes up a run again that came to no end."""
    return f"Run {run_id} {'waits' if status == 'waiting' else 'can go on'}: `deepthink resume {run_id}`"
