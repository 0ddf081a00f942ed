"""Step ``plan``: a question and the conversation before it become look-ups; REVISE plans what is left.

The planner that ships was taught: one call of a small model turns a follow-up into a question complete in
itself, tells talk from questions, asks back where nothing can be searched, and lists the look-ups. The
answering model can do the same by prompt, in several calls: the profile ``seed`` always asks it, and anyone
with a large model may choose so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from pydantic import BaseModel, Field

from agent import events, notebook, prompts
from agent.budget import BudgetExhausted
from agent.cognition import Planned, PlannedBy
from agent.deps import Deps
from agent.session import Session
from agent.state import PlanStep, Route, RunState, still_missing
from agent.steps import lookups
from agent.steps.lookups import Lookup, Plan, PlanRequest
from agent.steps.queries import one_line, references
from agent.text.terms import terms
from models.protocols import Completer
from models.structured import Origin
from traces.plain_text import plain

MOST_STEPS: Final = lookups.MOST_LOOKUPS
_LABEL: Final = re.compile(r"^(?:(?:look-?up|step) )?\d[:.)] (?=\S+ )", re.IGNORECASE)
_MARK: Final = re.compile(r"\s*\[\d+(?:\s*,\s*\d+)*\]")
_STEP_TOKENS: Final = 60  # JSON of one look-up, generously; the seed's form is about twice as long
_ROUTE_TOKENS: Final = 24
_LINE_TOKENS: Final = 80


class TaughtPlanner:
    """The small model that was trained on the text of `agent.steps.lookups`: one call for everything."""

    def __init__(self, model: Completer) -> None:
        self._model = model

    def begin(self, session: Session, request: PlanRequest, chosen: Route | None = None) -> Planned:
        """The model's plan; the whole question where what it wrote is none.

        With collections to choose from it overlooks parts of a question. A look-up too many costs seconds
        and a missing one the answer, so a single look-up is checked by planning again without them.
        """
        plan = self._written(session, request)
        single = plan is not None and len(plan.lookups) == 1
        if single and request.collections and chosen != "single":
            again = self._written(session, replace(request, collections=()))
            plan = again if again is not None and len(again.lookups) > 1 else plan
        if plan is None:
            return _whole(request.question, "default")
        return Planned(plan.kind, plan.question, _steps(plan.lookups), "planner")

    def revise(
        self,
        session: Session,
        request: PlanRequest,
        entries: Sequence[str],
        missing: Sequence[str],
        done: int,
        most: int,
    ) -> Planned:
        """The model's look-ups for what the findings leave open.

        A look-up that refers to one that was asked before goes with it: the model saw what that one found.
        """
        plan = self._written(session, request)
        if plan is None or plan.kind != "search":
            return Planned("search", request.question, [], "default")
        written = _steps(plan.lookups)
        numbers: dict[int, int] = {}  # of the model's look-ups, in the run
        steps: list[PlanStep] = []
        for number, step in enumerate(written, start=1):
            needed = references(step["question"]) & set(range(1, len(written) + 1))
            if needed <= numbers.keys() and _unasked([step], entries):
                numbers[number] = done + len(steps) + 1
                steps.append(PlanStep({**step, "question": _renumbered(step["question"], numbers)}))
        return Planned("search", request.question, steps[:most], "planner")

    def _written(self, session: Session, request: PlanRequest) -> Plan | None:
        session.on_call("plan")
        written = self._model.complete(lookups.prompt(request), lookups.MOST_TOKENS)
        return lookups.parse(plain(written), request)


class _Chosen(BaseModel):
    route: Route


class _Lookups(BaseModel):
    steps: list[str] = Field(max_length=MOST_STEPS)


class _Step(BaseModel):
    question: str
    reason: str
    tool: str
    keywords: str
    section: str

    def planned(self) -> PlanStep:
        return PlanStep(
            question=self.question,
            reason=self.reason,
            tool=self.tool,
            keywords=self.keywords,
            section=self.section,
        )


class _FullPlan(BaseModel):
    steps: list[_Step] = Field(max_length=MOST_STEPS)


class AskedPlanner:
    """The answering model, by prompt: the follow-up, the route and the plan are a call each.

    Args:
        full: Ask for reason, tool, keywords and section with each step, as the seed does. Small models
            fill these in without regard to the question, at twice the tokens.
    """

    def __init__(self, *, full: bool) -> None:
        self._full = full

    def begin(self, session: Session, request: PlanRequest, chosen: Route | None = None) -> Planned:
        """What the model makes of it; the whole question where it gives nothing usable."""
        try:
            return self._begun(session, request, chosen)
        except BudgetExhausted:
            return _whole(request.question, "default")

    def _begun(self, session: Session, request: PlanRequest, chosen: Route | None) -> Planned:
        question = self._standalone(session, request) if request.history else request.question
        if chosen == "single":
            return _whole(question, "default")
        route = chosen or self._route(session, question)
        if route == "direct":
            return Planned("talk", question, [], "model")
        if route == "clarify" and (asked := self._asked_back(session, question, request)):
            return Planned("ask", asked, [], "model")
        if route == "single" and self._full:
            return _whole(question, "model")
        tools = [name for name, _ in request.collections]
        entries = [notebook.opening(question, request.collections)]
        instruction = prompts.seed_plan(tools, MOST_STEPS) if self._full else prompts.plan(MOST_STEPS)
        steps, origin = self._ask(session, "plan", entries, instruction, MOST_STEPS)
        steps = _bearing_on(question, _tidy(steps, tools))
        return Planned("search", question, steps, origin) if steps else _whole(question, "default")

    def revise(
        self,
        session: Session,
        request: PlanRequest,
        entries: Sequence[str],
        missing: Sequence[str],
        done: int,
        most: int,
    ) -> Planned:
        """The model's new look-ups; it counts them after those it sees in the notebook."""
        tools = [name for name, _ in request.collections]
        instruction = prompts.revise(missing, most, full=self._full)
        steps, origin = self._ask(session, "revise", entries, instruction, most)
        steps = _unasked(_bearing_on("\n".join(entries), _tidy(steps, tools)), entries)
        return Planned("search", request.question, steps[:most], origin)

    def _standalone(self, session: Session, request: PlanRequest) -> str:
        instruction = prompts.follow(request.question, request.history[-3:])
        reply = session.write("follow", [], instruction, _LINE_TOKENS)
        return one_line(reply.text) or request.question

    def _route(self, session: Session, question: str) -> Route:
        default = _Chosen(route="deep")
        return session.ask(
            "route", [], prompts.route(question), _Chosen, default, _ROUTE_TOKENS
        ).value.route

    def _asked_back(self, session: Session, question: str, request: PlanRequest) -> str:
        instruction = prompts.clarify(question, request.collections)
        return one_line(session.write("clarify", [], instruction, _LINE_TOKENS).text)

    def _ask(
        self, session: Session, purpose: str, entries: Sequence[str], instruction: str, most: int
    ) -> tuple[list[PlanStep], Origin]:
        tokens = 40 + most * _STEP_TOKENS * (2 if self._full else 1)
        if self._full:
            full = session.ask(purpose, entries, instruction, _FullPlan, _FullPlan(steps=[]), tokens)
            return [step.planned() for step in full.value.steps], full.origin
        bare = session.ask(purpose, entries, instruction, _Lookups, _Lookups(steps=[]), tokens)
        return [look_up(question) for question in bare.value.steps], bare.origin


def plan(state: RunState, deps: Deps) -> dict[str, Any]:
    """Reads question, plan, planned_by, position, notes, notebook, action, revisions, approval, claims.

    Writes plan, revisions, notebook. Finished steps keep their place in the plan, so that ``#n`` keeps
    its meaning; what is known stays known.
    """
    if state["action"] == "REVISE" or state["approval"] == "search":
        return _revised(state, deps)
    steps = state["plan"][: deps.session.ledger.budget.steps]
    deps.session.emit(events.Planned(steps, 0, state["planned_by"]))
    if state["planned_by"] == "default":
        deps.session.emit(
            events.Warned("No usable plan was made; the whole question is searched as one step.")
        )
    entry = notebook.plan_entry(steps, 1, 0)
    deps.session.emit(events.NotebookGrew(entry))
    return {"plan": steps, "notebook": [*state["notebook"], entry]}


def request_of(state: RunState, deps: Deps, findings: Sequence[str] = ()) -> PlanRequest:
    """What a planner is shown of a run: collections only where there is a choice."""
    turns = [] if findings else state["turns"]
    return PlanRequest(
        question=state["question"],
        history=[(turn["question"], _MARK.sub("", turn["answer"])) for turn in turns],
        collections=deps.described if len(deps.collections) > 1 else [],
        findings=findings,
    )


def _revised(state: RunState, deps: Deps) -> dict[str, Any]:
    budget = deps.session.ledger.budget
    done = state["plan"][: state["position"] + 1]
    rest = state["plan"][state["position"] + 1 :]
    missing = [note["question"] for note in still_missing(state["notes"])]
    missing += [step["question"] for step in rest]
    if state["approval"] == "search":
        missing += [claim["text"] for claim in state["claims"] if claim["verdict"] != "supported"]
    missing = missing or [state["question"]]
    known = [note["sentence"] for note in state["notes"] if note["found"]]
    request = request_of(state, deps, [*known, *(f"Not found: {question}" for question in missing)])
    most = min(2 + len(rest), budget.steps - state["step"])
    made = deps.cognition.planner.revise(deps.session, request, state["notebook"], missing, len(done), most)
    steps = made.steps
    revision = state["revisions"] + 1
    deps.session.emit(events.Planned([*done, *steps], revision, made.origin))
    if not steps:
        return {"plan": done, "revisions": revision}
    entry = notebook.plan_entry(steps, len(done) + 1, revision)
    deps.session.emit(events.NotebookGrew(entry))
    return {
        "plan": [*done, *steps],
        "revisions": revision,
        "notebook": [*state["notebook"], entry],
    }


def _renumbered(question: str, numbers: Mapping[int, int]) -> str:
    """``question`` with each reference changed to the number it has in ``numbers``, if it has one."""
    return lookups.RESULT.sub(lambda result: f"#{numbers.get(int(result[1]), int(result[1]))}", question)


def _unasked(steps: Sequence[PlanStep], entries: Sequence[str]) -> list[PlanStep]:
    """The steps whose questions are not in the notebook."""
    asked = {_folded(line) for entry in entries for line in entry.splitlines()}
    return [step for step in steps if not any(line.endswith(_folded(step["question"])) for line in asked)]


def _whole(question: str, origin: PlannedBy) -> Planned:
    return Planned("search", question, [look_up(question)], origin)


def _steps(planned: Sequence[Lookup]) -> list[PlanStep]:
    return [look_up(lookup.question, lookup.collection) for lookup in planned]


def look_up(question: str, tool: str = "") -> PlanStep:
    """A step that is a question and nothing else."""
    return PlanStep(question=question, reason="", tool=tool, keywords="", section="")


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


def _tidy(steps: Sequence[PlanStep], tools: Sequence[str]) -> list[PlanStep]:
    """One line each, no empty or repeated question, and no tool that does not exist."""
    tidy: dict[str, PlanStep] = {}
    for step in steps:
        question = _LABEL.sub("", " ".join(step["question"].split()))
        tool = step["tool"] if step["tool"] in tools else ""
        if question:
            tidy.setdefault(_folded(question), PlanStep({**step, "question": question, "tool": tool}))
    return list(tidy.values())


def _bearing_on(text: str, steps: Sequence[PlanStep]) -> list[PlanStep]:
    """The steps that have to do with ``text``: neither copied from an example nor about nothing.

    A step bears on it if it shares a term with it, or refers to an earlier step.
    """
    if steps and "#" in steps[0]["question"] and "#" not in text:
        return []  # the step it refers to was not made
    known = set(terms(text))
    return [
        step
        for step in steps
        if step["question"] not in prompts.EXAMPLE_STEPS
        and not any(n in step["question"] and n not in text for n in prompts.EXAMPLE_NAMES)
        and ("#" in step["question"] or not known.isdisjoint(terms(step["question"])))
    ]
