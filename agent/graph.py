"""The research loop as a LangGraph graph. Nothing is compiled at import; parts come as arguments."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, cast

from agent.budget import Budget, BudgetExhausted
from agent.deps import Deps
from agent.events import NodeFinished, NodeStarted, Warned
from agent.nodes.decide import decide
from agent.nodes.distil import distil
from agent.nodes.next_step import next_step
from agent.nodes.plan import plan
from agent.nodes.reflect import reflect
from agent.nodes.rerank import rerank
from agent.nodes.retrieve import retrieve
from agent.nodes.synthesise import synthesise
from agent.state import RunState
from models.protocols import GenerationCancelled

if TYPE_CHECKING:
    from langgraph.graph.state import CompiledStateGraph

Node = Callable[[RunState, Deps], dict[str, Any]]

NODES: dict[str, Node] = {
    "plan": plan,
    "next_step": next_step,
    "retrieve": retrieve,
    "rerank": rerank,
    "distil": distil,
    "reflect": reflect,
    "decide": decide,
    "synthesise": synthesise,
}
_ALWAYS = {"decide", "synthesise"}  # run even when the budget is used up: they end the run in order
_ROUTES = {"CONTINUE": "next_step", "REVISE": "plan", "FINISH": "synthesise"}


def build_graph(deps: Deps) -> CompiledStateGraph[RunState, None, RunState, RunState]:
    """Wire the nodes and compile.

        plan → next_step → retrieve → rerank → distil → reflect → decide
        decide: CONTINUE → next_step, REVISE → plan, FINISH → synthesise → end
        next_step: → decide where a revision brought no new step

    Args:
        deps: Everything the nodes use; one run's, since it holds the run's budget.
    """
    return _wire({name: _observed(name, node, deps) for name, node in NODES.items()})


def diagram(style: Literal["mermaid", "text"]) -> str:
    """The graph as it is wired, for a person to read; needs neither model nor library.

    Args:
        style: ``mermaid`` source, or plain ``text`` with one line per edge.
    """
    drawn = _wire({name: lambda _state: {} for name in NODES}).get_graph()
    if style == "mermaid":
        return drawn.draw_mermaid()
    lines: list[str] = []
    for name in ["__start__", *NODES]:
        for edge in drawn.edges:
            if edge.source == name:
                condition = f"  ({edge.data})" if edge.data and edge.data != edge.target else ""
                arrow = "┄→" if edge.conditional else "──→"
                lines.append(f"{_bare(name):<12} {arrow:<4} {_bare(edge.target)}{condition}")
    return "\n".join(lines)


def _bare(name: str) -> str:
    return name.strip("_") if name.startswith("__") else name


def _wire(
    nodes: Mapping[str, Callable[[RunState], dict[str, Any]]],
) -> CompiledStateGraph[RunState, None, RunState, RunState]:
    from langgraph.graph import END, START, StateGraph

    graph = StateGraph(RunState)
    for name, node in nodes.items():
        graph.add_node(name, cast(Any, node))
    graph.add_edge(START, "plan")
    graph.add_edge("plan", "next_step")
    graph.add_conditional_edges(
        "next_step",
        lambda state: "retrieve" if state["query"] else "decide",
        {"retrieve": "retrieve", "decide": "decide"},
    )
    graph.add_edge("retrieve", "rerank")
    graph.add_edge("rerank", "distil")
    graph.add_edge("distil", "reflect")
    graph.add_edge("reflect", "decide")
    graph.add_conditional_edges("decide", lambda state: state["action"], cast(Any, _ROUTES))
    graph.add_edge("synthesise", END)
    return graph.compile()


def recursion_limit(budget: Budget) -> int:
    """Supersteps a run within ``budget`` can take; LangGraph's own default is no limit to speak of."""
    per_step = len(NODES)
    return per_step * (budget.steps + budget.revisions + 2)


def _observed(name: str, node: Node, deps: Deps) -> Callable[[RunState], dict[str, Any]]:
    """The node with its events, and the budget's word obeyed."""

    def run(state: RunState) -> dict[str, Any]:
        session = deps.session
        if session.stop.cancelled:
            raise GenerationCancelled("The run was cancelled.")
        if state["stopped_because"] and name not in _ALWAYS:
            return {}
        session.emit(NodeStarted(name, state["step"]))
        began = time.monotonic()
        try:
            update = node(state, deps)
        except BudgetExhausted as used_up:
            session.emit(Warned(f"The {used_up} is used up; finishing with what was found."))
            update = {"stopped_because": str(used_up)}
        step = update.get("step", state["step"])
        session.emit(NodeFinished(name, step, round(time.monotonic() - began, 4)))
        return update

    return run
