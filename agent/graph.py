"""The graph of DESIGN.md in LangGraph. Nothing is compiled at import; parts are passed as arguments."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from agent.budget import ANSWER_NOW, Budget, BudgetExhausted, StepSkipped
from agent.checkpoints import Recorder
from agent.deps import Deps
from agent.events import NodeFinished, NodeProgress, NodeStarted, Steered
from agent.state import RUNGS, TRIES, Action, RunState, new_state, updated
from agent.steps.approve import approve
from agent.steps.converse import answer_directly, is_small_talk
from agent.steps.correct import correct
from agent.steps.decide import decide, further_try
from agent.steps.distil import distil
from agent.steps.grade import grade
from agent.steps.look import look, single_shot
from agent.steps.next_step import next_step
from agent.steps.plan import plan
from agent.steps.reflect import reflect
from agent.steps.rerank import rerank
from agent.steps.retrieve import retrieve
from agent.steps.route import clarify, route
from agent.steps.synthesise import synthesise
from agent.steps.verify import verify
from models.protocols import GenerationCancelled

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langchain_core.runnables.graph import Graph
    from langgraph.checkpoint.base import BaseCheckpointSaver
    from langgraph.graph.state import CompiledStateGraph

Node = Callable[[Any, Deps], dict[str, Any]]
NODES: dict[str, Node] = {
    "route": route,
    "clarify": clarify,
    "answer_directly": answer_directly,
    "look": look,
    "single_shot": single_shot,
    "plan": plan,
    "next_step": next_step,
    "retrieve": retrieve,
    "rerank": rerank,
    "grade": grade,
    "correct": correct,
    "distil": distil,
    "reflect": reflect,
    "decide": decide,
    "synthesise": synthesise,
    "verify": verify,
    "approve": approve,
}
# Nodes that end a run in order, even without budget.
_ENDING_NODES = {"answer_directly", "decide", "synthesise", "verify", "approve"}
# Nodes of a research step, which the user may skip.
_SKIPPABLE_NODES = {"retrieve", "rerank", "grade", "correct", "distil", "reflect"}
_PLANS = {"single": "single_shot", "deep": "plan"}
_ROUTES = {"clarify": "clarify", "direct": "answer_directly", "look": "look", **_PLANS}
_ACTIONS: dict[Action, str] = {
    "CONTINUE": "next_step",
    "REVISE": "plan",
    "FINISH": "synthesise",
    "MORE": "retrieve",
    "WORDS": "correct",
    "ASK": "reflect",
}
_APPROVALS = {"accept": "__end__", "stop": "__end__", "rewrite": "synthesise", "search": "plan"}


def build_graph(
    deps: Deps, recorder: Recorder, checkpointer: BaseCheckpointSaver[Any]
) -> CompiledStateGraph[RunState, None, RunState, RunState]:
    """Wire the nodes as DESIGN.md draws them, and compile the graph.

    ``deps`` belong to one run, because they contain its budget.
    """
    return _wire(
        {name: _with_events(name, node, deps, recorder) for name, node in NODES.items()}, checkpointer
    )


@dataclass(frozen=True, slots=True)
class Edge:
    """A way from a node, or ``start``, to another, or ``end``."""

    source: str
    target: str
    is_conditional: bool
    condition: str  # its name; "" if it has none


def edges() -> list[Edge]:
    """The edges of the graph, in the order of the nodes they begin at."""
    found = _drawn().edges
    return [
        Edge(
            name.strip("_"),
            edge.target.strip("_"),
            edge.conditional,
            str(edge.data) if edge.data and edge.data != edge.target else "",
        )
        for name in ["__start__", *NODES]
        for edge in found
        if edge.source == name
    ]


def mermaid() -> str:
    """The graph as Mermaid source."""
    return _drawn().draw_mermaid()


def _drawn() -> Graph:
    return _wire({name: lambda _state: {} for name in NODES}).get_graph()


def _wire(
    nodes: Mapping[str, Callable[..., dict[str, Any]]], checkpointer: BaseCheckpointSaver[Any] | None = None
) -> CompiledStateGraph[RunState, None, RunState, RunState]:
    from langgraph.graph import END, START, StateGraph
    from langgraph.types import Send

    def searches(state: RunState) -> list[Any]:
        return [Send("retrieve", search) for search in state["searches"]]

    def first_node(state: RunState) -> str:
        # A follow-up is not self-contained, and a greeting is not a question.
        return "route" if state["turns"] or is_small_talk(state["question"]) else "look"

    def after_route(state: RunState) -> str:
        # Once the research has ended, no model is asked and the remaining steps are skipped.
        if state["stopped_because"]:
            return "deep"
        needs_look = state["route"] in _PLANS and not state["notebook"]
        return "look" if needs_look else state["route"]

    def after_look(state: RunState) -> str:
        return after_route(state) if state["route"] or state["stopped_because"] else "route"

    def after_next_step(state: RunState) -> Any:
        if not state["query"] or state["stopped_because"]:
            return "decide"  # a revision brought no new step, or the research has ended
        return searches(state) or "rerank"

    def after_grade(state: RunState) -> str:
        # If the research has ended, the grade is that of an earlier round.
        is_short = state["grade"] == "incorrect" and not state["stopped_because"]
        return "not" if is_short else "enough"

    def after_decide(state: RunState) -> Any:
        # What was found but not read needs no search.
        return (searches(state) or "rerank") if state["action"] == "MORE" else state["action"]

    def after_verify(state: RunState) -> str:
        return "end" if state["grounded"] or state["status"] != "answered" else "approve"

    graph = StateGraph(RunState)
    for name, node in nodes.items():
        graph.add_node(name, cast(Any, node))
    graph.add_conditional_edges(START, first_node, ["look", "route"])
    graph.add_conditional_edges("route", after_route, cast(Any, _ROUTES))
    graph.add_conditional_edges("look", after_look, cast(Any, {"route": "route", **_PLANS}))
    graph.add_edge("clarify", "route")
    graph.add_edge("answer_directly", END)
    graph.add_edge("single_shot", "next_step")
    graph.add_edge("plan", "next_step")
    graph.add_conditional_edges("next_step", after_next_step, ["retrieve", "rerank", "decide"])
    graph.add_edge("retrieve", "rerank")
    graph.add_edge("rerank", "grade")
    graph.add_conditional_edges("grade", after_grade, {"enough": "distil", "not": "correct"})
    graph.add_conditional_edges("correct", lambda s: searches(s) or "distil", ["retrieve", "distil"])
    graph.add_edge("distil", "reflect")
    graph.add_conditional_edges(
        "reflect",
        lambda s: "single" if s["route"] == "single" else "deep",
        {"single": "synthesise", "deep": "decide"},
    )
    graph.add_conditional_edges("decide", after_decide, cast(Any, {**_ACTIONS, "rerank": "rerank"}))
    graph.add_edge("synthesise", "verify")
    graph.add_conditional_edges("verify", after_verify, {"end": END, "approve": "approve"})
    graph.add_conditional_edges("approve", lambda s: s["approval"], cast(Any, _APPROVALS))
    return graph.compile(checkpointer=checkpointer)


def recursion_limit(budget: Budget) -> int:
    """The maximum number of supersteps of a run within ``budget``.

    A step takes its nodes once and again for each further try, and four of them for each rung of a
    correction.
    """
    per_step = (len(_SKIPPABLE_NODES) + 2) * (1 + len(TRIES)) + 4 * len(RUNGS)
    approvals = 100  # the user may ask for another answer each time
    return per_step * (budget.steps + budget.revisions + 2) + approvals


def _with_events(name: str, node: Node, deps: Deps, recorder: Recorder) -> Callable[..., dict[str, Any]]:
    """The node with its events; applies budget limits and steering."""

    def run(state: Any, config: RunnableConfig) -> dict[str, Any]:
        session = deps.session
        with recorder.collecting(config["metadata"]["langgraph_step"]) as log:
            _wait_while_paused(deps)
            if session.stop.cancelled:
                raise GenerationCancelled("The run was cancelled.")
            session.stop.heeds_finish = name not in _ENDING_NODES
            session.stop.heeds_skip = name in _SKIPPABLE_NODES
            # Searches run in parallel, and their updates must not contradict each other.
            if name not in {*_ENDING_NODES, "retrieve"} and (ended := _end_update(state, deps)):
                return {**_skipped_update(name), **ended, "log": log}
            session.on_call = lambda purpose: session.emit(NodeProgress(name, state["step"], purpose))
            session.emit(NodeStarted(name, state["step"]))
            began, usage_before = time.monotonic(), session.ledger.usage
            update = _run_node(name, node, state, deps)
            usage = session.ledger.usage
            session.emit(
                NodeFinished(
                    name,
                    update.get("step", state["step"]),
                    round(time.monotonic() - began, 4),
                    usage.evaluated - usage_before.evaluated,
                    usage.reused - usage_before.reused,
                    usage.generated - usage_before.generated,
                )
            )
            return {**update, "log": log}

    return run


def _run_node(name: str, node: Node, state: Any, deps: Deps) -> dict[str, Any]:
    """The update of the node, even if it ran out of budget or its step was skipped."""
    session = deps.session
    skipped = session.stop.skipping
    if not skipped:
        try:
            return node(state, deps)
        except BudgetExhausted as used_up:
            return {**_skipped_update(name), "stopped_because": str(used_up)}
        except StepSkipped:
            pass
    # The step still gets a finding (nothing), so that the trajectory has no gap.
    session.stop.heeds_skip = False
    if name not in {"distil", "reflect"}:
        return _skipped_update(name)
    update = node({**state, "candidates": []}, deps)
    if name == "reflect":
        deps.steering.take_skip()
        session.emit(Steered("skip", f"step {state['step']}"))
    return update


def _skipped_update(name: str) -> dict[str, Any]:
    """The update of a skipped node; after `correct`, the last round's searches must not run again."""
    return {"searches": []} if name == "correct" else {}


def _end_update(state: Any, deps: Deps) -> dict[str, Any]:
    """The update of a research node that must not run, because the research has ended; else {}."""
    if state["stopped_because"]:
        return {"stopped_because": state["stopped_because"]}
    if deps.steering.finishing:
        deps.session.emit(Steered("finish"))
        return {"stopped_because": ANSWER_NOW}
    return {}


def _wait_while_paused(deps: Deps) -> None:
    began = time.monotonic()
    stop = deps.session.stop
    if deps.steering.wait_while_paused(lambda: deps.session.emit(Steered("pause")), lambda: stop.cancelled):
        waited = time.monotonic() - began
        deps.session.give_back(waited)
        if not stop.cancelled:
            deps.session.emit(Steered("resume", waited=round(waited, 3)))


def begun(question: str, deps: Deps) -> RunState:
    """The state of a run with its route and its first look, before its first step."""
    state = new_state(question)
    state = updated(state, route(state, deps))
    return updated(state, look(state, deps))


def planned_step(state: RunState, deps: Deps) -> tuple[RunState, str]:
    """A research step, or a further try of the last one, as the last action says; after a plan or revision
    if it requires one, as at the beginning.

    The state after the step, and ""; if the budget is exhausted, the last complete state and the name of
    what is used up.
    """
    try:
        if (action := state["action"]) in TRIES:
            tried = updated(state, further_try(state, action))
            if action == "ASK":
                return updated(tried, reflect(tried, deps)), ""
            return _searched(tried, deps, correcting=action == "WORDS"), ""
        if action != "CONTINUE":
            state = updated(state, plan(state, deps))
        taken = updated(state, next_step(state, deps))
        # If the plan has no next step, only the step's own fields change, as in the graph.
        return (_searched(taken, deps) if taken["query"] else taken), ""
    except BudgetExhausted as exhausted:
        return state, str(exhausted)


def finish(state: RunState, deps: Deps) -> RunState:
    """The state with the checked answer, if the run finishes here."""
    state = updated(state, synthesise(state, deps))
    return updated(state, verify(state, deps))


def _searched(state: RunState, deps: Deps, *, correcting: bool = False) -> RunState:
    """The state after the searches of the step, or first other ones, and what was found in them."""
    while True:
        if correcting:
            state = updated(state, correct(state, deps))
            if not state["searches"]:
                break
        results = [recalled for s in state["searches"] for recalled in retrieve(s, deps)["recalled"]]
        state = updated(state, {"recalled": [*state["recalled"], *results]})
        state = updated(state, rerank(state, deps))
        state = updated(state, grade(state, deps))
        correcting = state["grade"] == "incorrect"
        if not correcting:
            break
    state = updated(state, distil(state, deps))
    return updated(state, reflect(state, deps))
