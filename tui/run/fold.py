"""The state of a run, folded from its events: live, replayed, exported or imported."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from agent import events as ev
from agent.state import Candidate, Claim, Evidence, Note, PlanStep
from traces.runs import DecisionRow, Run, Runs, StoredEvent
from tui.failures import DONE, NOT_FOUND, PARTLY, REJECTED, STOPPED, WAITING

_MARK = re.compile(r"\[(\d+)\]")
_ENDINGS_WITH_SOURCES = {"answered", "rejected"}  # after which nothing more is cited


def _new_number(number: int, order: Mapping[int, int]) -> int:
    return order.get(number, number)


def reading_order(answered: ev.Answered, evidence: Sequence[Evidence]) -> dict[int, int]:
    """Old to new passage numbers: in the order of first citation, then those that are not cited."""
    numbers = [item["number"] for item in (*answered.sources, *evidence)]
    cited = [int(mark) for mark in _MARK.findall(answered.answer) if int(mark) in numbers]
    return {old: new for new, old in enumerate(dict.fromkeys([*cited, *numbers]), start=1)}


def answer_as_read(run: Run) -> str:
    """The stored answer of a run, with the citations numbered as `Outcome` numbers them."""
    if run.status not in _ENDINGS_WITH_SOURCES:
        return run.answer
    numbers = dict.fromkeys(int(mark) for mark in _MARK.findall(run.answer))
    return _renumber_marks(run.answer, {old: new for new, old in enumerate(numbers, start=1)})


def renumbered(answered: ev.Answered, order: Mapping[int, int]) -> ev.Answered:
    """The answer with new numbers in its text, sentences, sources and quotes."""
    return replace(
        answered,
        answer=_renumber_marks(answered.answer, order),
        sentences=[
            Claim(
                {
                    **claim,
                    "cites": [_new_number(number, order) for number in claim["cites"]],
                    "reason": _renumber_marks(claim["reason"], order),
                }
            )
            for claim in answered.sentences
        ],
        sources=numbered(answered.sources, order),
        quotes={str(_new_number(int(key), order)): quote for key, quote in answered.quotes.items()},
    )


def numbered(items: Sequence[Evidence], order: Mapping[int, int]) -> list[Evidence]:
    """The passages with their new numbers, sorted by them."""
    renumbered_items = [Evidence({**item, "number": _new_number(item["number"], order)}) for item in items]
    return sorted(renumbered_items, key=lambda item: item["number"])


def _renumber_marks(text: str, order: Mapping[int, int]) -> str:
    return _MARK.sub(lambda mark: f"[{_new_number(int(mark[1]), order)}]", text)


_EXIT_CODES = {
    "answered": DONE,
    "not_found": NOT_FOUND,
    "stopped": STOPPED,
    "waiting": WAITING,
    "rejected": REJECTED,
}


@dataclass(slots=True)
class Step:
    """One research step: its searches, their grades, and its finding."""

    number: int
    question: str = ""
    tool: str = ""
    trail: list[ev.Searched | ev.Graded | ev.Corrected] = field(default_factory=list)  # in their order
    reranker: str = ""
    kept: list[int] = field(default_factory=list)
    note: Note | None = None

    @property
    def searches(self) -> list[ev.Searched]:
        """The searches, including those of corrections."""
        return [event for event in self.trail if isinstance(event, ev.Searched)]

    @property
    def gradings(self) -> list[ev.Graded]:
        """The gradings of the passages, one for each round of searches."""
        return [event for event in self.trail if isinstance(event, ev.Graded)]

    @property
    def corrections(self) -> list[ev.Corrected]:
        """The corrections that were tried when the passages were not enough."""
        return [event for event in self.trail if isinstance(event, ev.Corrected)]

    @property
    def hits(self) -> list[Candidate]:
        """Every passage that a search found, without duplicates."""
        hits: dict[int, Candidate] = {}
        for search in self.searches:
            for hit in search.hits:
                hits.setdefault(hit["passage_id"], hit)
        return list(hits.values())


@dataclass(slots=True)
class Outcome:
    """The run so far; complete once it has taken `agent.events.RunFinished`.

    If something happens more than once, such as an answer or a route, the last one counts.
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
    addresses: dict[tuple[str, str], str] = field(default_factory=dict)  # URLs by collection, name
    unfinished: str = "running"  # the status of a run without an end: running or waiting

    def take(self, event: ev.Event) -> None:  # noqa: PLR0912 - one arm per event
        """Add an event; events that are not needed here are ignored."""
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
                if event.status in _ENDINGS_WITH_SOURCES:
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
            step.kept = [_new_number(number, order) for number in step.kept]
            if step.note is not None:
                cites = [_new_number(number, order) for number in step.note["cites"]]
                step.note = Note({**step.note, "cites": cites})
        self.contradictions = [
            replace(
                event,
                number=_new_number(event.number, order),
                superseded_number=_new_number(event.superseded_number, order),
            )
            for event in self.contradictions
        ]

    def nearest(self, limit: int = 3) -> list[Candidate]:
        """The passages nearest to an answer, the likeliest first."""
        probabilities: dict[int, float] = {}
        hits: dict[int, Candidate] = {}
        for step in self.steps:
            for event in step.gradings:
                probabilities.update(zip(event.passages, event.probabilities, strict=True))
            hits.update((hit["passage_id"], hit) for hit in step.hits)
        ranking = sorted(
            hits.values(), key=lambda hit: (-probabilities.get(hit["passage_id"], 0.0), -hit["score"])
        )
        return ranking[:limit]

    @property
    def exit_code(self) -> int:
        """The exit code of the command that asked; `NOT_FOUND` for a run without an answer."""
        if self.status == "answered" and self.partial:
            return PARTLY
        return _EXIT_CODES.get(self.status, NOT_FOUND)

    @property
    def partial(self) -> bool:
        """Whether part of the answer is missing, or not supported by its sources."""
        answered = self.answered
        return answered is not None and bool(
            answered.missing or any(claim["verdict"] != "supported" for claim in answered.sentences)
        )

    @property
    def status(self) -> str:
        """The status of `agent.events.RunFinished`; ``running`` or ``waiting`` before the end."""
        return self.finished.status if self.finished else self.unfinished

    @property
    def question(self) -> str:
        """The question, in the user's words."""
        return self.started.question if self.started else ""

    @property
    def standalone(self) -> str:
        """The question as it was answered: complete in itself, without the session's context."""
        return self.routed.question if self.routed else self.question

    def address(self, item: Evidence) -> str:
        """The URL of a passage's web page; "" if it is not from the web."""
        return self.addresses.get((item["collection"], item["document"]), "")

    def to_json(self) -> dict[str, Any]:
        """The run as one JSON object, whose keys scripts may rely on."""
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
            "decisions": [_decision(event) for event in self.decisions],
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
        # The evidence has the whole passage.
        fields = {name: value for name, value in item.items() if name not in {"text", "step", "score"}}
        return {**fields, "url": self.address(item), "quote": quotes.get(str(item["number"]), "")}

    def _step(self, number: int) -> Step:
        """The step with this number, created if it was not planned, as in a single shot."""
        for step in reversed(self.steps):
            if step.number == number:
                return step
        self.steps.append(Step(number, self.standalone))
        return self.steps[-1]


def outcome_of(run: Run, stored_events: Sequence[StoredEvent]) -> Outcome:
    """The outcome of a stored run, with the URLs of the web pages that the library still has."""
    outcome = Outcome(unfinished="waiting" if run.status == "waiting" else "running")
    for event in events_of(stored_events):
        outcome.take(event)
    from traces.library import Library  # not at the top: the app's first frame imports this module
    from tui.assemble import open_store

    if any("/" in item["document"] for item in outcome.evidence):  # web pages are named after their URL
        pages = (d for d in Library(open_store()).documents() if "://" in d.source)
        outcome.addresses = {(page.collection, page.name): page.source for page in pages}
    return outcome


def events_of(stored_events: Sequence[StoredEvent]) -> list[ev.Event]:
    """The events of a stored run (`traces.runs.Runs.events`)."""
    return [ev.from_stored(entry.kind, entry.payload) for entry in stored_events]


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
        "gradings": [_grading(event) for event in step.gradings],
        "corrections": [_without_step(event.payload()) for event in step.corrections],
        "kept": step.kept,
        "note": step.note,
    }


def _search(search: ev.Searched) -> dict[str, Any]:
    return {**_without_step(search.payload()), "hits": [_hit(hit) for hit in search.hits]}


def _hit(hit: Candidate) -> dict[str, Any]:
    fields = ("passage_id", "collection", "document", "title", "section", "page", "score", "scores")
    return {name: value for name, value in hit.items() if name in fields}


def _grading(event: ev.Graded) -> dict[str, Any]:
    passages = zip(event.passages, event.grades, event.probabilities, strict=True)
    return {
        "grade": event.grade,
        "grader": event.grader,
        "passages": [
            {"passage_id": passage, "grade": grade, "probability": probability}
            for passage, grade, probability in passages
        ],
    }


def _decision(event: ev.Decided) -> dict[str, Any]:
    return {
        "step": event.step,
        "action": event.action,
        "source": event.source,
        "probabilities": event.probabilities,
        "latency_ms": event.latency_ms,
        "justification": event.justification,
    }


def _without_step(payload: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in payload.items() if name != "step"}


Part = Literal["question", "status", "plan", "evidence", "decisions", "text", "answer", "asked", "meters"]
"""A part of the view of a run; views redraw only the parts that an event changes."""

EVERYTHING: frozenset[Part] = frozenset(
    ("question", "status", "plan", "evidence", "decisions", "text", "answer", "asked", "meters")
)

StepState = Literal["open", "under way", "found", "unsure", "nothing", "skipped"]

_PARTS: dict[type[ev.Event], tuple[Part, ...]] = {
    ev.RunStarted: ("question", "status", "meters"),
    ev.Resumed: ("question", "status", "meters"),
    ev.Routed: ("question", "status", "plan"),
    ev.Asked: ("asked", "status"),
    ev.Replied: ("asked", "status"),
    ev.Steered: ("status", "plan"),
    ev.NodeStarted: ("status",),
    ev.NodeProgress: ("status",),
    ev.Planned: ("plan",),
    ev.FirstLook: ("text",),
    ev.StepStarted: ("plan", "evidence"),
    ev.Searched: ("plan", "evidence"),
    ev.Reranked: ("evidence",),
    ev.Graded: ("evidence",),
    ev.Corrected: ("plan", "evidence"),
    ev.EvidenceKept: ("evidence", "plan"),
    ev.Noted: ("plan", "evidence"),
    ev.Contradicted: ("evidence",),
    ev.Decided: ("decisions", "plan", "meters", "asked"),
    ev.Heartbeat: ("meters",),
    ev.AnswerText: ("text",),
    ev.Answered: ("answer",),
    ev.Warned: ("status",),
    ev.RunFinished: ("status", "meters", "plan", "answer", "asked"),
}


@dataclass(slots=True)
class RunFold:
    """A run so far.

    Attributes:
        outcome: Everything that is stored about it.
        node: The current node; "" before the first and after the last.
        step: The current research step, 0 outside steps.
        message: What the node is doing, in a few words.
        text: The answer as written so far.
        asked: The question that the run waits for, if any.
        paused: Whether the user paused it.
        elapsed: Seconds since it began, as last reported.
        skipped_steps: Numbers of the steps that the user skipped.
        failure: Why its worker failed; the only end of a run that could not begin.
    """

    outcome: Outcome = field(default_factory=Outcome)
    run_id: str = ""
    node: str = ""
    step: int = 0
    message: str = ""
    text: str = ""
    asked: ev.Asked | None = None
    paused: bool = False
    elapsed: float = 0.0
    skipped_steps: set[int] = field(default_factory=set)
    failure: str = ""
    _resumed_after: float = 0.0

    def take(self, event: ev.Event) -> tuple[Part, ...]:  # noqa: PLR0912 - one arm per event
        """Add an event and return the parts that it changes."""
        self.outcome.take(event)
        match event:
            case ev.RunStarted():
                self.run_id = event.run_id
            case ev.Resumed():
                self.run_id = event.run_id
                self.node = event.node
                self._resumed_after = self.elapsed
            case ev.NodeStarted():
                self.node, self.step, self.message = event.node, event.step, ""
                if event.node in {"synthesise", "answer_directly"}:
                    self.text = ""
            case ev.NodeProgress():
                self.message = (
                    event.message if " " in event.message else ""
                )  # else the name of a model call
            case ev.AnswerText():
                self.text += event.text
            case ev.Asked():
                self.asked = event
            case ev.Replied():
                self.asked = None
            case ev.Decided() if self.asked is not None and self.asked.about == "decide":
                self.asked = None  # the decision was taken elsewhere, or left to the decider
            case ev.Steered():
                self._take_steering(event)
            case ev.Heartbeat():
                if self.asked is None and not self.paused:  # the run does not wait for the user
                    self.elapsed = self._resumed_after + event.elapsed
            case ev.RunFinished():
                self.node, self.step, self.message, self.asked, self.paused = "", 0, "", None, False
                self.elapsed = event.seconds
            case _:
                pass
        return _PARTS.get(type(event), ())

    def take_all(self, events: Iterable[ev.Event]) -> frozenset[Part]:
        """Add several events and return the parts that they change."""
        changed: set[Part] = set()
        for event in events:
            changed.update(self.take(event))
        return frozenset(changed)

    def _take_steering(self, event: ev.Steered) -> None:
        if event.what == "skip":
            self.skipped_steps.add(self.step)
        elif event.what in {"pause", "resume"}:
            self.paused = event.what == "pause"

    @property
    def over(self) -> bool:
        """Whether the run has ended, or stopped to wait for the user."""
        return self.outcome.finished is not None or bool(self.failure)

    def state_of(self, step: Step) -> StepState:
        """The state of a research step."""
        if step.number in self.skipped_steps:
            return "skipped"
        if step.note is not None:
            return "found" if step.note["found"] else "unsure" if step.kept else "nothing"
        return "open" if self.over else "under way"


def stored_or_implied(runs: Runs, run: Run) -> list[StoredEvent]:
    """The events of a run; an imported run has none, and gets those that its other records imply.

    The times of implied events are unknown: all except the end are at 0 seconds.
    """
    stored_events = runs.events(run.id)
    if stored_events:
        return stored_events
    implied = implied_events(run, runs.decisions(run.id))
    return [
        StoredEvent(
            seq, event.seconds if isinstance(event, ev.RunFinished) else 0.0, event.kind, event.payload()
        )
        for seq, event in enumerate(implied)
    ]


def implied_events(run: Run, decisions: Sequence[DecisionRow]) -> list[ev.Event]:
    """A run's beginning, its decisions, its answer without sources, and its end if it has one."""
    events: list[ev.Event] = [
        ev.RunStarted(
            run.id,
            run.question,
            run.profile,
            run.chat_model,
            run.embedder,
            run.reranker,
            run.decider,
            list(run.collections),
            run.session,
        )
    ]
    for row in decisions:
        event = _decided_event(row)
        previous = events[-1]
        if not row.shadow:
            events.append(event)
        elif isinstance(previous, ev.Decided):
            events[-1] = replace(previous, shadow={name: getattr(event, name) for name in _SHADOW_FIELDS})
    if run.answer:
        events.append(ev.Answered(run.answer, [], []))
    if run.finished is not None:
        seconds = run.seconds or 0.0
        tokens = run.evaluated, run.reused, run.generated
        events.append(ev.RunFinished(run.status, run.stopped_because, seconds, run.model_calls, *tokens))
    return events


_SHADOW_FIELDS = (
    "action",
    "probabilities",
    "source",
    "latency_ms",
    "justification",
    "behaviour_probability",
)


def _decided_event(row: DecisionRow) -> ev.Decided:
    return ev.Decided(
        step=row.step,
        state_version=row.state_version,
        state=dict(row.state),
        valid=list(row.valid_actions),
        action=row.action,
        probabilities=dict(row.probabilities),
        source=row.source,
        latency_ms=row.latency_ms,
        justification=row.justification,
        behaviour_probability=row.behaviour_probability,
        text=row.text,
        features=dict(row.features),
    )
