"""The state of a run, folded from its events: live, replayed, exported or imported."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import accumulate
from typing import Any, Literal, TypeVar, get_args

from agent import events as ev
from agent.state import Candidate, Claim, Evidence, Note, PlanStep
from traces.runs import Run, Runs
from traces.store import Store
from tui.failures import DONE, NOT_FOUND, PARTLY, REJECTED, STOPPED, WAITING
from tui.terminal import clean

_EXIT_CODES = {
    "answered": DONE,
    "answered_with_doubts": PARTLY,
    "not_found": NOT_FOUND,
    "stopped": STOPPED,
    "waiting": WAITING,
    "withheld": REJECTED,
}

MARK = re.compile(r"\[(\d+)\]")
"""A citation in an answer, with its number."""
_ENDINGS_WITH_SOURCES = {"answered", "rejected"}  # after which nothing more is cited

_Kind = TypeVar("_Kind", bound=ev.Event)

Part = Literal["question", "status", "plan", "evidence", "decisions", "text", "answer", "reply", "meters"]
"""A part of the view of a run; views redraw only the parts that an event changes."""

EVERYTHING: frozenset[Part] = frozenset(get_args(Part))

# What each event changes, if not the status.
_PARTS: dict[type[ev.Event], tuple[Part, ...]] = {
    ev.RunStarted: ("question", "status", "meters"),
    ev.Resumed: ("question", "status", "meters"),
    ev.Routed: ("question", "status", "plan"),
    ev.Asked: ("reply", "status"),
    ev.Replied: ("reply", "status"),
    ev.Steered: ("status", "plan"),
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
    ev.Decided: ("decisions", "plan", "meters", "reply"),
    ev.Heartbeat: ("meters",),
    ev.AnswerText: ("text",),
    ev.Answered: ("answer",),
    ev.RunFinished: ("status", "meters", "plan", "answer", "reply"),
}

StepState = Literal["open", "under way", "found", "unsure", "irrelevant", "nothing", "skipped"]


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
        return [event for event in self.trail if isinstance(event, ev.Searched)]

    @property
    def gradings(self) -> list[ev.Graded]:
        """The gradings of the passages, one for each round of searches."""
        return [event for event in self.trail if isinstance(event, ev.Graded)]

    @property
    def grades(self) -> dict[int, tuple[str, float]]:
        """Each graded passage's last grade and probability, by its id."""
        return {
            passage: (grade, probability)
            for event in self.gradings
            for passage, grade, probability in zip(
                event.passages, event.grades, event.probabilities, strict=True
            )
        }

    @property
    def hits(self) -> list[Candidate]:
        hits: dict[int, Candidate] = {}
        for search in self.searches:
            for hit in search.hits:
                hits.setdefault(hit["passage_id"], hit)
        return list(hits.values())


@dataclass(slots=True)
class RunFold:
    """A run so far; complete once it has taken `agent.events.RunFinished`.

    If something happens more than once, such as an answer or a route, the last one counts.
    """

    run_id: str = ""
    started: ev.RunStarted | None = None
    routed: ev.Routed | None = None
    looked: ev.FirstLook | None = None
    finished: ev.RunFinished | None = None
    answered: ev.Answered | None = None
    withheld: ev.Answered | None = None  # the answer that was written, where the run ended without it
    plan: list[PlanStep] = field(default_factory=list)
    revisions: int = 0
    steps: list[Step] = field(default_factory=list)
    decisions: list[ev.Decided] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)
    events: list[ev.Event] = field(default_factory=list)  # all that are stored, see `every`
    node: str = ""  # the current one; "" before the first and after the last
    step: int = 0  # the current research step, 0 outside steps
    message: str = ""  # what the node is doing, in a few words
    text: str = ""  # the answer as written so far
    unanswered: ev.Asked | None = None  # the question to the user that the run waits for
    paused: bool = False  # by the user
    pausing: bool = False  # by the user; the run pauses as soon as what it is doing is done
    cancelling: bool = False  # by the user; the run ends as soon as what it is doing lets it
    elapsed: float = 0.0  # seconds of work, as last reported
    skipped_steps: set[int] = field(default_factory=set)  # their numbers
    addresses: dict[tuple[str, str], str] = field(default_factory=dict)  # of web pages, by collection, name
    unfinished: str = "running"  # the status of a run without an end; or waiting
    failure: str = ""  # why its worker failed; the only end of a run that could not begin
    rating: str = ""  # the user's, where that is shown

    def take(self, event: ev.Event) -> tuple[Part, ...]:  # noqa: PLR0912, PLR0915 - one arm per event
        """Add an event and return the parts that it changes."""
        if event.stored:
            self.events.append(event)
        match event:
            case ev.RunStarted():
                self.started, self.run_id = event, event.run_id
            case ev.Resumed():
                self.run_id, self.node, self.finished = event.run_id, event.node, None
            case ev.Routed():
                self.routed = event
            case ev.FirstLook():
                self.looked = event
            case ev.NodeStarted():
                self.node, self.step, self.message = event.node, event.step, ""
                if event.node in {"synthesise", "answer_directly"}:
                    self.text = ""
            case ev.NodeProgress():
                self.message = event.message if " " in event.message else ""  # else a model call's name
            case ev.Planned():
                self.plan, self.revisions = list(event.steps), event.revision
            case ev.StepStarted():
                step = self.step_numbered(event.step)
                step.question, step.tool = event.plan_step["question"], event.plan_step["tool"]
            case ev.Searched() | ev.Graded() | ev.Corrected():
                self.step_numbered(event.step).trail.append(event)
            case ev.Reranked():
                self.step_numbered(event.step).reranker = event.reranker
            case ev.EvidenceKept():
                self.evidence.extend(event.fresh)
                step = self.step_numbered(event.step)
                numbers = [*step.kept, *(item["number"] for item in event.fresh), *event.again]
                step.kept = list(dict.fromkeys(numbers))
            case ev.Noted():
                self.step_numbered(event.note["step"]).note = event.note
            case ev.Decided():
                self.decisions.append(event)
                if self.unanswered is not None and self.unanswered.about == "decide":
                    self.unanswered = None  # the decision was taken elsewhere, or left to the decider
            case ev.Asked():
                self.unanswered = event
            case ev.Replied():
                self.unanswered = None
            case ev.Steered():
                if event.what == "skip":
                    self.skipped_steps.add(self.step)
                elif event.what in {"pause", "resume"}:
                    self.paused = event.what == "pause"
            case ev.Heartbeat():
                if self.unanswered is None and not self.paused:  # the run does not wait for the user
                    self.elapsed = event.elapsed
            case ev.AnswerText():
                self.text += event.text
            case ev.Answered():
                self.answered = event
            case ev.RunFinished():
                self.finished, self.elapsed = event, event.seconds
                self.node, self.step, self.message = "", 0, ""
                self.unanswered, self.paused = None, False
                if event.status == "rejected":
                    self.withheld = next(iter(self.every(ev.Answered)[-2:-1]), None)
                if event.status in _ENDINGS_WITH_SOURCES:
                    self._number_as_read()
            case _:  # events that are only listed, or of a later version
                pass
        return _PARTS.get(type(event), ("status",))

    def take_all(self, events: Iterable[ev.Event]) -> frozenset[Part]:
        return frozenset(part for event in events for part in self.take(event))

    def every(self, kind: type[_Kind]) -> list[_Kind]:
        return [event for event in self.events if isinstance(event, kind)]

    def step_numbered(self, number: int) -> Step:
        """The step with this number, created if it was not planned, as in a single shot."""
        for step in reversed(self.steps):
            if step.number == number:
                return step
        self.steps.append(Step(number, self.standalone))
        return self.steps[-1]

    def _number_as_read(self) -> None:
        """Number the passages in the order of their first citation, then those that are not cited."""
        written = self.withheld or self.answered
        if self.answered is None or written is None:
            return
        numbers = [item["number"] for item in (*written.sources, *self.evidence)]
        cited = [int(mark) for mark in MARK.findall(written.answer) if int(mark) in numbers]
        order = {old: new for new, old in enumerate(dict.fromkeys([*cited, *numbers]), start=1)}
        self.answered = _renumber_answer(self.answered, order)
        if self.withheld is not None:
            self.withheld = _renumber_answer(self.withheld, order)
        self.evidence = _renumber_evidence(self.evidence, order)
        for step in self.steps:
            step.kept = _renumber(step.kept, order)
            if step.note is not None:
                step.note = Note({**step.note, "cites": _renumber(step.note["cites"], order)})
        self.events = [
            replace(
                event,
                number=order.get(event.number, event.number),
                superseded_number=order.get(event.superseded_number, event.superseded_number),
            )
            if isinstance(event, ev.Contradicted)
            else event
            for event in self.events
        ]

    def nearest(self, limit: int = 3) -> list[Candidate]:
        """The passages nearest to an answer, the likeliest first."""
        grades: dict[int, tuple[str, float]] = {}
        hits: dict[int, Candidate] = {}
        for step in self.steps:
            grades |= step.grades
            hits |= {hit["passage_id"]: hit for hit in step.hits}

        def rank(hit: Candidate) -> tuple[float, float]:
            _, probability = grades.get(hit["passage_id"], ("", 0.0))
            return -probability, -hit["score"]

        return sorted(hits.values(), key=rank)[:limit]

    @property
    def over(self) -> bool:
        """Whether the run has ended, or stopped to wait for the user."""
        return self.finished is not None or bool(self.failure)

    def state_of(self, step: Step) -> StepState:
        """The state of a research step; what it kept may answer it although the step was not sure."""
        if step.number in self.skipped_steps:
            return "skipped"
        if step.note is None:
            return "open" if self.over else "under way"
        if step.note["found"] or self._answers(step.note["question"], step.kept):
            return "found"
        if not step.kept:
            return "nothing"
        grades = {grade for grade, _ in step.grades.values()}
        return "irrelevant" if grades == {"incorrect"} else "unsure"

    def _answers(self, question: str, kept: Sequence[int]) -> bool:
        """Whether the answer leaves a step's question not out, and rests on what it kept."""
        if self.answered is None or question in self.answered.missing:
            return False
        supported = (claim for claim in self.answered.sentences if claim["verdict"] == "supported")
        return any(not set(claim["cites"]).isdisjoint(kept) for claim in supported)

    @property
    def exit_code(self) -> int:
        """The exit code of the command that asked; `NOT_FOUND` for a run without an answer."""
        return _EXIT_CODES.get(self.shown_status, NOT_FOUND)

    @property
    def doubtful(self) -> bool:
        """Whether part of the answer is missing, or not surely supported by its sources."""
        answered = self.answered
        return answered is not None and bool(
            answered.missing or any(claim["verdict"] != "supported" for claim in answered.sentences)
        )

    @property
    def status(self) -> str:
        """The status of `agent.events.RunFinished`; ``running`` or ``waiting`` before the end."""
        return self.finished.status if self.finished else self.unfinished

    @property
    def shown_status(self) -> str:
        """The status as users and programs see it (`status_key`)."""
        return status_key(self.status, doubtful=self.doubtful)

    @property
    def answer(self) -> str:
        """The answer, safe to show; "" until there is one."""
        return clean(self.answered.answer).strip() if self.answered else ""

    @property
    def question(self) -> str:
        return self.started.question if self.started else ""

    @property
    def standalone(self) -> str:
        """The question as it was answered: complete in itself, without the session's context."""
        return self.routed.question if self.routed else self.question

    def address(self, item: Evidence) -> str:
        """The URL of a passage's web page; "" if it is not from the web."""
        return self.addresses.get((item["collection"], item["document"]), "")

    def quote(self, item: Evidence) -> str:
        """The sentence of a source that is nearest to the answer; "" without one."""
        return self.answered.quotes.get(str(item["number"]), "") if self.answered else ""

    def to_json(self) -> dict[str, Any]:
        """The run as one JSON object, whose keys scripts may rely on."""
        started = self.started or ev.RunStarted("", "", "", "", "", "", "", [])
        answered = self.answered or ev.Answered("", [], [])
        finished, calls = self.finished, self.every(ev.ModelCalled)
        usage = {
            name: getattr(finished, name) if finished else sum(getattr(call, name) for call in calls)
            for name in ("evaluated", "reused", "generated")
        }
        return {
            "run_id": started.run_id,
            "session": started.session,
            "question": self.question,
            "standalone": self.standalone,
            "route": self.routed.route if self.routed else "",
            "routed_because": self.routed.reason if self.routed else "",
            "routed_by": self.routed.source if self.routed else "",
            # Beside no answer it would be taken for one.
            "first_look": self.looked.payload() if self.looked and self.status == "answered" else None,
            "answer": answered.answer,
            "withheld": self.withheld.answer if self.withheld else "",
            "status": self.shown_status,
            "stopped_because": finished.stopped_because if finished else "",
            "grounded": answered.grounded,
            "share": answered.share,
            "missing": answered.missing,
            "sentences": [sentence_json(claim) for claim in answered.sentences],
            "sources": [self.source_json(item) for item in answered.sources],
            "evidence": [{**item, "url": self.address(item)} for item in self.evidence],
            "plan": self.plan,
            "revisions": self.revisions,
            "steps": [_step_json(step) for step in self.steps],
            "decisions": [_decision_json(event) for event in self.decisions],
            **{
                kind.listed: [event.payload() for event in self.every(kind)]
                for kind in ev.KINDS.values()
                if kind.listed
            },
            "resumed": len(self.every(ev.Resumed)),
            "warnings": [event.message for event in self.every(ev.Warned)],
            "model": started.chat_model,
            "embedder": started.embedder,
            "reranker": started.reranker,
            "profile": started.profile,
            "decider": started.decider,
            "collections": started.collections,
            "filters": started.filters,
            "usage": {"model_calls": finished.model_calls if finished else len(calls), **usage},
            "seconds": finished.seconds if finished else None,
        }

    def source_json(self, item: Evidence) -> dict[str, Any]:
        """A cited passage as JSON, without its whole text."""
        fields = {name: value for name, value in item.items() if name not in {"text", "step", "score"}}
        return {**fields, "url": self.address(item), "quote": self.quote(item)}


def _renumber_marks(text: str, order: Mapping[int, int]) -> str:
    return MARK.sub(lambda mark: f"[{order.get(int(mark[1]), mark[1])}]", text)


def _renumber_answer(answered: ev.Answered, order: Mapping[int, int]) -> ev.Answered:
    return replace(
        answered,
        answer=_renumber_marks(answered.answer, order),
        sentences=[
            Claim(
                {
                    **claim,
                    "cites": _renumber(claim["cites"], order),
                    "reason": _renumber_marks(claim["reason"], order),
                }
            )
            for claim in answered.sentences
        ],
        sources=_renumber_evidence(answered.sources, order),
        quotes={str(order.get(int(key), key)): quote for key, quote in answered.quotes.items()},
    )


def _renumber(numbers: Iterable[int], order: Mapping[int, int]) -> list[int]:
    return [order.get(number, number) for number in numbers]


def _renumber_evidence(items: Sequence[Evidence], order: Mapping[int, int]) -> list[Evidence]:
    """The passages with their new numbers, sorted by them."""
    renumbered = [Evidence({**item, "number": order.get(item["number"], item["number"])}) for item in items]
    return sorted(renumbered, key=lambda item: item["number"])


def answer_as_read(run: Run) -> str:
    """The stored answer of a run, with the citations numbered as `RunFold` numbers them."""
    if run.status not in _ENDINGS_WITH_SOURCES:
        return run.answer
    numbers = dict.fromkeys(int(mark) for mark in MARK.findall(run.answer))
    return _renumber_marks(run.answer, {old: new for new, old in enumerate(numbers, start=1)})


def sentence_json(claim: Claim) -> dict[str, Any]:
    return {**claim, "flagged": claim["verdict"] != "supported"}


def _step_json(step: Step) -> dict[str, Any]:
    first = step.searches[0] if step.searches else None
    return {
        "number": step.number,
        "question": step.question,
        "tool": step.tool,
        "query": first.query if first else "",
        "strategy": first.strategy if first else "",
        "hits": [_hit_json(hit) for hit in step.hits],
        "searches": [
            {**_without_step(search), "hits": [_hit_json(hit) for hit in search.hits]}
            for search in step.searches
        ],
        "reranker": step.reranker,
        "grade": step.gradings[-1].grade if step.gradings else "",
        "gradings": [_grading_json(event) for event in step.gradings],
        "corrections": [_without_step(event) for event in step.trail if isinstance(event, ev.Corrected)],
        "kept": step.kept,
        "note": step.note,
    }


def _hit_json(hit: Candidate) -> dict[str, Any]:
    fields = ("passage_id", "collection", "document", "title", "section", "page", "score", "scores")
    return {name: value for name, value in hit.items() if name in fields}


def _grading_json(event: ev.Graded) -> dict[str, Any]:
    passages = zip(event.passages, event.grades, event.probabilities, strict=True)
    return {
        "grade": event.grade,
        "grader": event.grader,
        "passages": [
            {"passage_id": passage, "grade": grade, "probability": probability}
            for passage, grade, probability in passages
        ],
    }


def _decision_json(event: ev.Decided) -> dict[str, Any]:
    fields = ("step", "action", "source", "probabilities", "latency_ms", "justification")
    return {name: getattr(event, name) for name in fields}


def _without_step(event: ev.Event) -> dict[str, Any]:
    return {name: value for name, value in event.payload().items() if name != "step"}


def status_key(status: str, *, doubtful: bool) -> str:
    """The status of a run for programs, from the stored one; lists show the same words.

    ``doubtful`` is as in `RunFold`; ``going on`` is from `tui.runs.actions.as_of_now`.
    """
    if doubtful and status == "answered":
        return "answered_with_doubts"
    return {"rejected": "withheld", "running": "unfinished", "going on": "running"}.get(status, status)


def fold_of(store: Store, run: Run, *, urls: bool = False) -> RunFold:
    """A stored run, folded; with ``urls``, those of the web pages that the library still has."""
    fold = RunFold(run_id=run.id, unfinished="waiting" if run.status == "waiting" else "running")
    for seconds, event in stored_events(store, run):
        fold.take(event)
        if fold.finished is None:  # heartbeats are not stored
            fold.elapsed = seconds
    if urls and any("/" in item["document"] for item in fold.evidence):  # pages are named after their URL
        from traces.library import Library  # not at the top: the app's first frame imports this module

        pages = (document for document in Library(store).documents() if "://" in document.source)
        fold.addresses = {(page.collection, page.name): page.source for page in pages}
    return fold


def stored_events(store: Store, run: Run) -> list[tuple[float, ev.Event]]:
    """The events of a run, each with the seconds of work until then, without those of waiting for the user.

    An imported run has none, and gets those that its other records imply: its beginning, its decisions, its
    answer without sources, and its end if it has one. All except the end are at 0 seconds, since their
    times are unknown.
    """
    runs = Runs(store)
    if stored := runs.events(run.id):
        waits = accumulate(float(entry.payload.get("waited", 0.0)) for entry in stored)
        return [
            (max(0.0, entry.elapsed - waited), ev.from_stored(entry.kind, entry.payload))
            for entry, waited in zip(stored, waits, strict=True)
        ]
    fields = {**asdict(run), "run_id": run.id}
    implied = [ev.from_stored(ev.RunStarted.kind, fields)]
    for row in runs.decisions(run.id):
        decision = {**asdict(row), "valid": list(row.valid_actions), "shadow": None}
        if not row.shadow:
            implied.append(ev.from_stored(ev.Decided.kind, decision))
        elif isinstance(decided := implied[-1], ev.Decided):
            implied[-1] = replace(decided, shadow=decision)
    if run.answer:
        implied.append(ev.Answered(run.answer, [], []))
    timed: list[tuple[float, ev.Event]] = [(0.0, event) for event in implied]
    if run.finished is not None:
        seconds = run.seconds or 0.0
        timed.append((seconds, ev.from_stored(ev.RunFinished.kind, {**fields, "seconds": seconds})))
    return timed
