"""Step ``plan``: turns a question and the conversation before it into look-ups; REVISE plans what is left.

The planner that ships was trained for this: one call of a small model rewrites a follow-up as a
self-contained question, tells small talk from questions, asks the user if a question is too vague, and
lists the look-ups. The answering model can do the same by prompt, in several calls: the profile ``seed``
always uses it, and so does a setting for those who have a large model.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, cast

from pydantic import BaseModel, Field

from agent import events, notebook, prompts
from agent.budget import BudgetExhausted
from agent.deps import Deps
from agent.session import Session
from agent.state import PlanStep, Route, RunState, open_steps, still_missing
from agent.steps import plan_text
from agent.steps.plan_text import MOST_LOOKUPS, Plan, PlanRequest, look_up
from agent.steps.queries import one_line, references
from agent.text.terms import terms
from models.protocols import Completer
from models.structured import Origin
from traces.plain_text import squeezed

_NUMBERING: Final = re.compile(r"^(?:(?:look-?up|step) )?\d[:.)] (?=\S+ )", re.IGNORECASE)
_CITATION: Final = re.compile(r"\s*\[\d+(?:\s*,\s*\d+)*\]")
_STEP_TOKENS: Final = 60  # generous, for one look-up in JSON; the seed's form is about twice as long
_ROUTE_TOKENS: Final = 24
_LINE_TOKENS: Final = 80


class TaughtPlanner:
    """The small model trained on the text of `agent.steps.plan_text`: one call for everything."""

    def __init__(self, model: Completer) -> None:
        self._model = model

    def begin(self, session: Session, request: PlanRequest, chosen: Route | None = None) -> Plan:
        """The model's plan; the whole question as one look-up where its text is no plan.

        A question that stands alone as typed is planned without the conversation, from which its look-ups
        would borrow. With collections to choose from, the model overlooks parts of a question. A look-up
        too many costs seconds, a missing one the answer; so a single look-up is checked by planning again
        without them.
        """
        plan = self._generate_plan(session, request)
        as_typed = squeezed(request.question)
        if plan and request.history and plan.question == as_typed and len(plan.steps) > 1:
            request = replace(request, history=())
            plan = self._generate_plan(session, request)
        if plan and len(plan.steps) == 1 and request.collections and chosen != "single":
            second_plan = self._generate_plan(session, replace(request, collections=()))
            plan = second_plan if second_plan and len(second_plan.steps) > 1 else plan
        return plan or _whole_question(request.question)

    def revise(
        self,
        session: Session,
        request: PlanRequest,
        entries: Sequence[str],
        missing: Sequence[str],
        done: int,
        most: int,
    ) -> Plan:
        """The model's look-ups for what the findings leave open.

        Repeated look-ups are dropped with those that refer to them: the model has seen their results.
        """
        plan = self._generate_plan(session, request)
        if plan is None or plan.kind != "search":
            return Plan("search", request.question, origin="default")
        numbers: dict[int, int] = {}  # of the model's look-ups, in the run
        new_steps: list[PlanStep] = []
        for number, step in enumerate(plan.steps, start=1):
            dependencies = references(step["question"]) & set(range(1, len(plan.steps) + 1))
            if dependencies <= numbers.keys() and _new_steps([step], entries):
                numbers[number] = done + len(new_steps) + 1
                new_steps.append(PlanStep({**step, "question": _renumber(step["question"], numbers)}))
        return Plan("search", request.question, new_steps[:most])

    def _generate_plan(self, session: Session, request: PlanRequest) -> Plan | None:
        text = session.complete("plan", self._model, plan_text.prompt(request), plan_text.MOST_TOKENS)
        return plan_text.parse(text, request)


class _Chosen(BaseModel):
    route: Route


class _Lookups(BaseModel):
    steps: list[str] = Field(max_length=MOST_LOOKUPS)


class _Step(BaseModel):
    question: str
    reason: str
    tool: str
    keywords: str
    section: str


class _FullPlan(BaseModel):
    steps: list[_Step] = Field(max_length=MOST_LOOKUPS)


class AskedPlanner:
    """The answering model, by prompt: follow-up, route and plan take one call each.

    ``full`` asks for reason, tool, keywords and section of each step, as the seed does. Small models fill
    these in without regard to the question, at twice the tokens.
    """

    def __init__(self, *, full: bool) -> None:
        self._full = full

    def begin(self, session: Session, request: PlanRequest, chosen: Route | None = None) -> Plan:
        """The model's plan; the whole question as one look-up where it gives nothing usable."""
        try:
            return self._first_plan(session, request, chosen)
        except BudgetExhausted:
            return _whole_question(request.question)

    def _first_plan(self, session: Session, request: PlanRequest, chosen: Route | None) -> Plan:
        question = request.question
        if request.history:
            instruction = prompts.follow(question, request.history[-3:])
            question = one_line(session.write("follow", [], instruction, _LINE_TOKENS).text) or question
        if chosen == "single":
            return _whole_question(question)
        route: Route | None = chosen
        if route is None:
            instruction, default = prompts.route(question), _Chosen(route="deep")
            route = session.ask("route", [], instruction, _Chosen, default, _ROUTE_TOKENS).value.route
        if route == "direct":
            return Plan("talk", question, origin="model")
        if route == "clarify":
            instruction = prompts.clarify(question, request.collections)
            if clarification := one_line(session.write("clarify", [], instruction, _LINE_TOKENS).text):
                return Plan("ask", clarification, origin="model")
        if route == "single" and self._full:
            return _whole_question(question, "model")
        tools = [name for name, _ in request.collections]
        entries = [notebook.opening(question, request.collections)]
        instruction = prompts.plan(MOST_LOOKUPS, tools if self._full else None)
        steps, origin = self._ask(session, "plan", entries, instruction, MOST_LOOKUPS)
        steps = _relevant_steps(question, _tidy(steps, tools))
        return Plan("search", question, steps, origin) if steps else _whole_question(question)

    def revise(
        self,
        session: Session,
        request: PlanRequest,
        entries: Sequence[str],
        missing: Sequence[str],
        done: int,
        most: int,
    ) -> Plan:
        """The model's new look-ups, numbered by it after those in the notebook."""
        tools = [name for name, _ in request.collections]
        instruction = prompts.revise(missing, most, full=self._full)
        steps, origin = self._ask(session, "revise", entries, instruction, most)
        steps = _new_steps(_relevant_steps("\n".join(entries), _tidy(steps, tools)), entries)
        return Plan("search", request.question, steps[:most], origin)

    def _ask(
        self, session: Session, purpose: str, entries: Sequence[str], instruction: str, most: int
    ) -> tuple[list[PlanStep], Origin]:
        tokens = 40 + most * _STEP_TOKENS * (2 if self._full else 1)
        if self._full:
            full_plan = session.ask(purpose, entries, instruction, _FullPlan, _FullPlan(steps=[]), tokens)
            return [cast(PlanStep, step.model_dump()) for step in full_plan.value.steps], full_plan.origin
        question_list = session.ask(purpose, entries, instruction, _Lookups, _Lookups(steps=[]), tokens)
        return [look_up(question) for question in question_list.value.steps], question_list.origin


def plan(state: RunState, deps: Deps) -> dict[str, Any]:
    """Reads question, plan, planned_by, position, notes, notebook, action, revisions, approval, claims.

    Writes plan, revisions, notebook, spent. Finished steps keep their places in the plan, so that ``#n``
    keeps its meaning; findings are kept.
    """
    if state["action"] == "REVISE" or state["approval"] == "search":
        return _revise(state, deps)
    steps = state["plan"][: deps.session.ledger.budget.steps]
    deps.session.emit(events.Planned(steps, 0, state["planned_by"]))
    if state["planned_by"] == "default":
        deps.session.emit(
            events.Warned("No usable plan was made; the whole question is searched as one step.")
        )
    return {"plan": steps, "notebook": deps.grown(state["notebook"], notebook.plan_entry(steps, 1, 0))}


def request_of(state: RunState, deps: Deps, findings: Sequence[str] = ()) -> PlanRequest:
    """What a planner sees of a run; collections only where there is a choice."""
    turns = [] if findings else [(turn["question"], turn["answer"]) for turn in state["turns"]]
    return first_request(state["question"], turns, deps.described, findings)


def first_request(
    question: str,
    turns: Sequence[tuple[str, str]],
    collections: Sequence[tuple[str, str]],
    findings: Sequence[str] = (),
) -> PlanRequest:
    """The request for a question after ``turns``, questions with their cited answers."""
    history = [(earlier, _CITATION.sub("", answer)) for earlier, answer in turns]
    return PlanRequest(question, history, collections if len(collections) > 1 else [], findings)


def _revise(state: RunState, deps: Deps) -> dict[str, Any]:
    budget = deps.session.ledger.budget
    finished_steps = state["plan"][: state["position"] + 1]
    missing = [note["question"] for note in still_missing(state["notes"])]
    missing += [step["question"] for step in open_steps(state)]
    if state["approval"] == "search":
        missing += [claim["text"] for claim in state["claims"] if claim["verdict"] != "supported"]
    missing = missing or [state["question"]]
    findings = [note["sentence"] for note in state["notes"] if note["found"]]
    request = request_of(state, deps, [*findings, *(f"Not found: {question}" for question in missing)])
    limit = min(2 + len(open_steps(state)), budget.steps - state["step"])
    revised = deps.cognition.planner.revise(
        deps.session, request, state["notebook"], missing, len(finished_steps), limit
    )
    new_steps = revised.steps
    revision = state["revisions"] + 1
    deps.session.emit(events.Planned([*finished_steps, *new_steps], revision, revised.origin))
    if not new_steps:
        if state["approval"] != "search":
            return {"plan": finished_steps, "revisions": revision}
        deps.session.emit(events.Warned("There is nothing else to search for; try other words."))
        spent = [*state.get("spent", []), "search"]
        return {"plan": finished_steps, "revisions": revision, "spent": spent}
    entry = notebook.plan_entry(new_steps, len(finished_steps) + 1, revision)
    return {
        "route": "deep",
        "plan": [*finished_steps, *new_steps],
        "revisions": revision,
        "spent": [],
        "notebook": deps.grown(state["notebook"], entry),
    }


def _renumber(question: str, numbers: Mapping[int, int]) -> str:
    """``question`` with each reference replaced by its number in ``numbers``, if it has one there."""
    return plan_text.RESULT.sub(
        lambda reference: f"#{numbers.get(int(reference[1]), int(reference[1]))}", question
    )


def _new_steps(steps: Sequence[PlanStep], entries: Sequence[str]) -> list[PlanStep]:
    """The steps whose questions have not been looked up yet, by the notebook."""
    notebook_lines = {
        squeezed(line).casefold()
        for entry in entries
        if not notebook.is_plan(entry)
        for line in entry.splitlines()
    }
    return [
        step
        for step in steps
        if not any(line.endswith(squeezed(step["question"]).casefold()) for line in notebook_lines)
    ]


def _whole_question(question: str, origin: Origin = "default") -> Plan:
    return Plan("search", question, [look_up(question)], origin)


def _tidy(steps: Sequence[PlanStep], tools: Sequence[str]) -> list[PlanStep]:
    """The steps with each question on one line, none empty or repeated, and only existing tools."""
    by_question: dict[str, PlanStep] = {}
    for step in steps:
        question = _NUMBERING.sub("", squeezed(step["question"]))
        tool = step["tool"] if step["tool"] in tools else ""
        if question:
            by_question.setdefault(
                question.casefold(), PlanStep({**step, "question": question, "tool": tool})
            )
    return list(by_question.values())


def _relevant_steps(text: str, steps: Sequence[PlanStep]) -> list[PlanStep]:
    """The steps that are about ``text``, and not copied from the prompt's example.

    A step is about it if it shares a term with it, or refers to an earlier step.
    """
    if steps and "#" in steps[0]["question"] and "#" not in text:
        return []  # the look-up that it refers to is missing
    text_terms = set(terms(text))
    return [
        step
        for step in steps
        if step["question"] not in prompts.EXAMPLE_STEPS
        and not any(name in step["question"] and name not in text for name in prompts.EXAMPLE_NAMES)
        and ("#" in step["question"] or not text_terms.isdisjoint(terms(step["question"])))
    ]
