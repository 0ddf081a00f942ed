"""Systems that run the product itself, through its public door: the whole graph, as a person has it."""

from __future__ import annotations

from dataclasses import dataclass, field

from agent import events as ev
from agent.decisions.learned import Policy
from agent.run import Request, run
from agent.state import Claim, Evidence, Note
from agent.steering import Steering
from policy.evaluation.answered import Answered, Cost, Parts, ids_of, noted, places_of, traced
from policy.evaluation.cache import clock
from policy.evaluation.cases import Case, Place


@dataclass(frozen=True, slots=True)
class Looped:
    """The loop with one of its profiles, deciding for itself when to stop.

    A run is stored, as every run is, so that it can be opened afterwards.

    Attributes:
        name: As tables call it.
        profile: ``lean`` or ``seed``.
        decider: ``rules``, ``llm`` or ``learned``; the profile's own if empty.
        learned: The learned policy, where one is to decide; the parts' own if None.
        route: The way of every question; the router chooses if empty.
    """

    name: str
    profile: str
    decider: str = ""
    learned: Policy | None = None
    route: str = "deep"

    def answer(self, case: Case, parts: Parts) -> Answered:
        """Run the question. An answer that is not grounded is accepted, flagged as it is.

        Raises:
            UnusableQuestion, EmptyLibrary, UnknownCollection, UnknownProfile: before it begins.
            GenerationCancelled: ``parts.cancel`` was set; the run can be resumed.
            DeepthinkError: whatever made the run fail.
        """
        request = Request(
            case.question,
            collections=parts.collections,
            profile=self.profile,
            decider=self.decider,
            budget=parts.budget,
            route=self.route,
            approve="always",
        )
        told = _Told()
        began = clock(parts.chat)
        first_words: float | None = None
        for event in run(
            request,
            chat=parts.chat,
            embedder=parts.embedder,
            reader=parts.reader,
            store=parts.store,
            steering=Steering(parts.cancel),
            learned=self.learned or parts.learned,
            planner=parts.planner,
        ):
            told.take(event)
            if first_words is None and isinstance(event, ev.AnswerText | ev.Answered):
                first_words = clock(parts.chat) - began
            parts.on_event(event)
        seconds = clock(parts.chat) - began
        return Answered(
            text=told.answer,
            abstained=not told.answered,
            held=places_of(told.evidence),
            cited=places_of(told.sources),
            sentences=len(told.claims),
            flagged=sum(claim["verdict"] != "supported" for claim in told.claims),
            cost=told.cost(seconds),
            stopped=told.finished.stopped_because if told.finished else "",
            traced=traced(case, recalled=told.recalled, noted=noted(told.evidence, told.notes)),
            passages=ids_of(told.evidence),
            first_words=first_words,
        )


@dataclass(slots=True)
class _Told:
    """A run's events, folded to what is measured of it; of several answers the last counts."""

    steps: int = 0
    answer: str = ""
    claims: list[Claim] = field(default_factory=list)
    sources: list[Evidence] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    recalled: set[Place] = field(default_factory=set)
    finished: ev.RunFinished | None = None

    @property
    def answered(self) -> bool:
        """Whether it has an answer, and not only the word that there is none."""
        return self.finished is not None and self.finished.status == "answered"

    def cost(self, seconds: float) -> Cost:
        """What it took."""
        end = self.finished
        if end is None:
            return Cost(self.steps, seconds=seconds)
        return Cost(self.steps, end.model_calls, end.evaluated, end.reused, end.generated, seconds)

    def take(self, event: ev.Event) -> None:
        """Add an event; those that nothing is measured of are passed over."""
        match event:
            case ev.StepStarted():
                self.steps = max(self.steps, event.step)
            case ev.Searched():
                self.recalled.update(places_of(event.hits))
            case ev.EvidenceKept():
                self.evidence += event.fresh
            case ev.Noted():
                self.notes.append(event.note)
            case ev.Answered():
                self.answer, self.claims, self.sources = event.answer, event.sentences, event.sources
            case ev.RunFinished():
                self.finished = event
            case _:
                pass
