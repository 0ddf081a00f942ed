"""What a run came to: a fold over its events, for scripts, for export and for the exit code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, cast

from agent import events as ev
from agent.state import Candidate, Claim, Evidence, Note, PlanStep
from traces.runs import Run, StoredEvent
from tui.failures import DONE, NOT_FOUND, PARTLY, REJECTED, STOPPED, WAITING
from tui.numbering import numbered, reading_order, renumbered

_EXIT_CODES = {
    "answered": DONE,
    "not_found": NOT_FOUND,
    "stopped": STOPPED,
    "waiting": WAITING,
    "rejected": REJECTED,
}


@dataclass(slots=True)
class Step:
    """One research step: its searches, how what they brought was graded, and what came of it."""

    number: int
    question: str = ""
    tool: str = ""
    trail: list[ev.Searched | ev.Graded | ev.Corrected] = field(default_factory=list)  # as it happened
    reranker: str = ""
    kept: list[int] = field(default_factory=list)
    note: Note | None = None

    @property
    def searches(self) -> list[ev.Searched]:
        """The searches, those of a correction included."""
        return [event for event in self.trail if isinstance(event, ev.Searched)]

    @property
    def gradings(self) -> list[ev.Graded]:
        """How the passages were graded, once for each round of searches."""
        return [event for event in self.trail if isinstance(event, ev.Graded)]

    @property
    def corrections(self) -> list[ev.Corrected]:
        """What was tried where they were not enough."""
        return [event for event in self.trail if isinstance(event, ev.Corrected)]

    @property
    def hits(self) -> list[Candidate]:
        """Every passage that a search brought, once."""
        found: dict[int, Candidate] = {}
        for search in self.searches:
            for hit in search.hits:
                found.setdefault(hit["passage_id"], hit)
        return list(found.values())


@dataclass(slots=True)
class Outcome:
    """The run so far; complete once `agent.events.RunFinished` was taken.

    Of what may happen more than once, an answer or a route, the last counts.
    """

    started: ev.RunStarted | None = None
    routed: ev.Routed | None = None
    looked: ev.FirstLook | None = None
    finished: ev.RunFinished | None = None
    answered: ev.Answered | None = None
    plan: list[PlanStep] = field(default_factory=list)
    revisions: int = 0
    steps: list[Step] = field(default_factory=list)
    decisions: list[ev.Decided] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)
    contradictions: list[ev.Contradicted] = field(default_factory=list)
    replies: list[ev.Replied] = field(default_factory=list)
    steering: list[ev.Steered] = field(default_factory=list)
    resumed: int = 0
    nodes: list[ev.NodeFinished] = field(default_factory=list)
    calls: list[ev.ModelCalled] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    addresses: dict[tuple[str, str], str] = field(default_factory=dict)  # of web pages, by collection, name
    unfinished: str = "running"  # the status of a run that has no end: running, or waiting for a person

    def take(self, event: ev.Event) -> None:  # noqa: PLR0912 - one arm per event
        """Add an event; events that this fold has no use for are passed over."""
        match event:
            case ev.RunStarted():
                self.started = event
            case ev.Resumed():
                self.resumed += 1
                self.finished = None
            case ev.Routed():
                self.routed = event
            case ev.FirstLook():
                self.looked = event
            case ev.Planned():
                self.plan, self.revisions = list(event.steps), event.revision
            case ev.StepStarted():
                step = self._step(event.step)
                step.question, step.tool = event.plan_step["question"], event.plan_step["tool"]
            case ev.Searched() | ev.Graded() | ev.Corrected():
                self._step(event.step).trail.append(event)
            case ev.Reranked():
                self._step(event.step).reranker = event.reranker
            case ev.EvidenceKept():
                self.evidence.extend(event.fresh)
                step = self._step(event.step)
                numbers = [*step.kept, *(item["number"] for item in event.fresh), *event.again]
                step.kept = list(dict.fromkeys(numbers))
            case ev.Noted():
                self._step(event.note["step"]).note = event.note
            case ev.Decided():
                self.decisions.append(event)
            case ev.Contradicted():
                self.contradictions.append(event)
            case ev.Replied():
                self.replies.append(event)
            case ev.Steered():
                self.steering.append(event)
            case ev.NodeFinished():
                self.nodes.append(event)
            case ev.ModelCalled():
                self.calls.append(event)
            case ev.Warned():
                self.warnings.append(event.message)
            case ev.Answered():
                self.answered = event
            case ev.RunFinished():
                self.finished = event
                if event.status in {"answered", "rejected"}:  # nothing is cited after it
                    self._number_as_read()
            case _:
                pass

    def _number_as_read(self) -> None:
        if self.answered is None:
            return
        order = reading_order(self.answered, self.evidence)
        self.answered = renumbered(self.answered, order)
        self.evidence = numbered(self.evidence, order)
        for step in self.steps:
            step.kept = [order.get(number, number) for number in step.kept]
            if step.note is not None:
                cites = [order.get(number, number) for number in step.note["cites"]]
                step.note = Note({**step.note, "cites": cites})
        self.contradictions = [
            replace(
                event,
                number=order.get(event.number, event.number),
                superseded_number=order.get(event.superseded_number, event.superseded_number),
            )
            for event in self.contradictions
        ]

    def nearest(self, most: int = 3) -> list[Candidate]:
        """The passages that come nearest to an answer, the likeliest first."""
        graded: dict[int, float] = {}
        found: dict[int, Candidate] = {}
        for step in self.steps:
            for event in step.gradings:
                graded.update(zip(event.passages, event.probabilities, strict=True))
            found.update((hit["passage_id"], hit) for hit in step.hits)
        likeliest = sorted(
            found.values(), key=lambda hit: (-graded.get(hit["passage_id"], 0.0), -hit["score"])
        )
        return likeliest[:most]

    @property
    def exit_code(self) -> int:
        """What the command that asked exits with; `NOT_FOUND` for a run without an answer."""
        if self.status == "answered" and self.partial:
            return PARTLY
        return _EXIT_CODES.get(self.status, NOT_FOUND)

    @property
    def partial(self) -> bool:
        """Whether something of the answer is missing, or is not supported by its sources."""
        answered = self.answered
        return answered is not None and bool(
            answered.missing or any(claim["verdict"] != "supported" for claim in answered.sentences)
        )

    @property
    def status(self) -> str:
        """As `agent.events.RunFinished` has it; ``running`` or ``waiting`` before the end."""
        return self.finished.status if self.finished else self.unfinished

    @property
    def question(self) -> str:
        """What was asked, in the person's words."""
        return self.started.question if self.started else ""

    @property
    def standalone(self) -> str:
        """What was answered: the same as a question of its own, without the session it leant on."""
        return self.routed.question if self.routed else self.question

    def address(self, item: Evidence) -> str:
        """The URL of a passage's page; "" for what is no web page."""
        return self.addresses.get((item["collection"], item["document"]), "")

    def to_json(self) -> dict[str, Any]:
        """The run as one JSON object; the keys are part of what scripts may rely on."""
        started = self.started
        routed = self.routed
        finished = self.finished
        answered = self.answered
        sources = [self._source(item, answered.quotes) for item in answered.sources] if answered else []
        return {
            "run_id": started.run_id if started else "",
            "session": started.session if started else "",
            "question": self.question,
            "standalone": self.standalone,
            "route": routed.route if routed else "",
            "routed_because": routed.reason if routed else "",
            "routed_by": routed.source if routed else "",
            "first_look": self.looked.payload() if self.looked else None,
            "answer": answered.answer if answered else "",
            "status": self.status,
            "stopped_because": finished.stopped_because if finished else "",
            "grounded": answered.grounded if answered else False,
            "share": answered.share if answered else 0.0,
            "missing": list(answered.missing) if answered else [],
            "sentences": [_sentence(claim) for claim in answered.sentences] if answered else [],
            "sources": sources,
            "evidence": [{**item, "url": self.address(item)} for item in self.evidence],
            "contradictions": [event.payload() for event in self.contradictions],
            "plan": [dict(step) for step in self.plan],
            "revisions": self.revisions,
            "steps": [_step(step) for step in self.steps],
            "decisions": [_decision(decided) for decided in self.decisions],
            "replies": [event.payload() for event in self.replies],
            "steering": [event.payload() for event in self.steering],
            "resumed": self.resumed,
            "warnings": list(self.warnings),
            "model": started.chat_model if started else "",
            "embedder": started.embedder if started else "",
            "reranker": started.reranker if started else "",
            "profile": started.profile if started else "",
            "decider": started.decider if started else "",
            "collections": list(started.collections) if started else [],
            "nodes": [asdict(node) for node in self.nodes],
            "usage": {
                "model_calls": finished.model_calls if finished else len(self.calls),
                "evaluated": finished.evaluated if finished else sum(c.evaluated for c in self.calls),
                "reused": finished.reused if finished else sum(c.reused for c in self.calls),
                "generated": finished.generated if finished else sum(c.generated for c in self.calls),
            },
            "seconds": finished.seconds if finished else None,
        }

    def _source(self, item: Evidence, quotes: Mapping[str, str]) -> dict[str, Any]:
        # The whole passage is in the evidence.
        kept = {name: value for name, value in item.items() if name not in {"text", "step", "score"}}
        return {**kept, "url": self.address(item), "quote": quotes.get(str(item["number"]), "")}

    def _step(self, number: int) -> Step:
        """The step of that number; a single shot has one without having planned it."""
        for step in reversed(self.steps):
            if step.number == number:
                return step
        self.steps.append(Step(number, self.standalone))
        return self.steps[-1]


def outcome_of(run: Run, stored: Sequence[StoredEvent]) -> Outcome:
    """The outcome of a stored run, with the addresses of the web pages that the library still holds.

    Args:
        run: As `traces.runs.Runs.find` gives it.
        stored: Its events (`traces.runs.Runs.events`).
    """
    outcome = Outcome(unfinished="waiting" if run.status == "waiting" else "running")
    for event in events_of(stored):
        outcome.take(event)
    from traces.library import Library  # the fold alone, which the app's first frame needs, does without
    from tui.assemble import open_store

    if any("/" in item["document"] for item in outcome.evidence):  # a page is called by its URL
        pages = (d for d in Library(open_store()).documents() if "://" in d.source)
        outcome.addresses = {(page.collection, page.name): page.source for page in pages}
    return outcome


def events_of(stored: Sequence[StoredEvent]) -> list[ev.Event]:
    """A stored run's events (`traces.runs.Runs.events`) as this version has them.

    What an earlier version did not know yet is filled in, so that its runs can still be shown.
    """
    found: list[ev.Event] = []
    for entry in stored:
        payload = dict(entry.payload)
        if entry.kind == ev.Answered.kind:
            payload["sentences"] = [_claim(sentence) for sentence in payload["sentences"]]
        elif entry.kind == ev.Searched.kind:
            payload["hits"] = [{"grade": "", **hit} for hit in payload["hits"]]
        found.append(ev.from_stored(entry.kind, payload))
    return found


def _claim(sentence: Mapping[str, Any]) -> Claim:
    """A checked sentence; before there were verdicts it was flagged or not."""
    verdict = "not" if sentence.get("flagged") else "supported"
    return cast(Claim, {"verdict": verdict, "reason": "", **sentence})


def _sentence(claim: Claim) -> dict[str, Any]:
    return {**claim, "flagged": claim["verdict"] != "supported"}


def _step(step: Step) -> dict[str, Any]:
    first = step.searches[0] if step.searches else None
    return {
        "number": step.number,
        "question": step.question,
        "tool": step.tool,
        "query": first.query if first else "",
        "strategy": first.strategy if first else "",
        "hits": [_hit(hit) for hit in step.hits],
        "searches": [_search(search) for search in step.searches],
        "reranker": step.reranker,
        "grade": step.gradings[-1].grade if step.gradings else "",
        "gradings": [_grading(graded) for graded in step.gradings],
        "corrections": [_without_step(corrected.payload()) for corrected in step.corrections],
        "kept": step.kept,
        "note": step.note,
    }


def _search(search: ev.Searched) -> dict[str, Any]:
    return {**_without_step(search.payload()), "hits": [_hit(hit) for hit in search.hits]}


def _hit(hit: Candidate) -> dict[str, Any]:
    wanted = ("passage_id", "collection", "document", "title", "section", "page", "score", "scores")
    return {name: value for name, value in hit.items() if name in wanted}


def _grading(graded: ev.Graded) -> dict[str, Any]:
    passages = zip(graded.passages, graded.grades, graded.probabilities, strict=True)
    return {
        "grade": graded.grade,
        "grader": graded.grader,
        "passages": [
            {"passage_id": passage, "grade": grade, "probability": probability}
            for passage, grade, probability in passages
        ],
    }


def _decision(decided: ev.Decided) -> dict[str, Any]:
    return {
        "step": decided.step,
        "action": decided.action,
        "source": decided.source,
        "probabilities": decided.probabilities,
        "latency_ms": decided.latency_ms,
        "justification": decided.justification,
    }


def _without_step(payload: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in payload.items() if name != "step"}
