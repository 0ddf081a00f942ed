"""Step ``correct``: the passages were not enough, so something else is tried, one thing at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from agent.deps import Deps
from agent.events import Corrected, NodeProgress, Warned
from agent.state import RUNGS, Rung, RunState, Search, searched
from agent.steps.next_step import search_of
from models.protocols import GenerationCancelled
from traces.records import SECTION_SEPARATOR

_WIDENED = 3  # best passages whose surroundings are searched


@dataclass(slots=True)
class _Attempt:
    """What one rung of the ladder comes to; without searches the next rung is tried."""

    detail: str = ""
    searches: list[Search] = field(default_factory=list)
    pages: list[dict[str, Any]] = field(default_factory=list)
    offline: bool = False


def correct(state: RunState, deps: Deps) -> dict[str, Any]:
    """Reads plan, position, step, query, candidates, recalled, rungs, queries, offline. Writes searches,
    queries, rungs, offline.

    The rungs in order: other words, the surroundings of what was found (or no section at all where a
    step was limited to one), the other collections, and the web if the user has allowed it. Each is tried
    once in a step. Without searches there is nothing left to try.
    """
    tried = list(state["rungs"])
    offline = state["offline"]
    for rung in RUNGS:
        if rung in tried:
            continue
        tried.append(rung)
        attempt = _LADDER[rung](state, deps)
        offline = offline or attempt.offline
        fresh = [s for s in attempt.searches if searched(s) not in state["queries"]]
        if fresh:
            queries = [search["query"] for search in fresh]
            deps.session.emit(Corrected(state["step"], rung, attempt.detail, queries, attempt.pages))
            return {
                "searches": fresh,
                "queries": [*state["queries"], *map(searched, fresh)],
                "rungs": tried,
                "offline": offline,
            }
    return {"searches": [], "rungs": tried, "offline": offline}


def _search(state: RunState, deps: Deps, rung: Rung) -> Search:
    """The step's own search under another rung; what is different about it is changed by the caller."""
    step = state["plan"][state["position"]]
    return search_of(step, state["step"], state["query"], "hybrid", rung, deps)


def _reword(state: RunState, deps: Deps) -> _Attempt:
    tried = [result["query"] for result in state["recalled"]]
    phrasings = deps.cognition.phraser.reword(
        deps.session, state["notebook"], state["query"], tried, state["candidates"]
    )
    as_planned = _search(state, deps, "reword")
    return _Attempt("in other words", [Search({**as_planned, "query": phrasing}) for phrasing in phrasings])


def _widen(state: RunState, deps: Deps) -> _Attempt:
    step = state["plan"][state["position"]]
    if deps.cognition.hard_filters and step["section"]:
        return _Attempt("in all sections", [Search({**_search(state, deps, "widen"), "section": ""})])
    near = {
        c["document_id"]: c["section"].rpartition(SECTION_SEPARATOR)[0] or c["section"]
        for c in reversed(state["candidates"][:_WIDENED])
        if c["section"]
    }
    if not near:
        return _Attempt()
    widened = Search(
        {
            **_search(state, deps, "widen"),
            "documents": sorted(near),
            "sections": sorted(set(near.values())),
        }
    )
    return _Attempt("around the best passages", [widened])


def _collections(state: RunState, deps: Deps) -> _Attempt:
    tool = state["plan"][state["position"]]["tool"]
    others = [name for name in deps.tools if name != tool]
    if not deps.cognition.hard_filters or not tool or not others:
        return _Attempt()  # without a hard filter every collection was searched in the first place
    widened = Search(
        {**_search(state, deps, "collections"), "tool": "", "section": "", "collections": others}
    )
    return _Attempt(f"in {', '.join(others)}", [widened])


def _web(state: RunState, deps: Deps) -> _Attempt:
    if deps.web is None or state["offline"]:
        return _Attempt()
    from agent.web.gather import WEB_COLLECTION, WebUnreachable

    def on_page(message: str) -> None:
        deps.session.emit(NodeProgress("correct", state["step"], message))

    try:
        gathered = deps.web.gather(state["query"], stop=deps.session.stop, on_page=on_page)
    except WebUnreachable as away:
        deps.session.emit(Warned(f"{away.message} The run continues with what it has."))
        return _Attempt(offline=True)
    except GenerationCancelled as stopped:
        deps.session.stop.tell_apart(stopped)
    for problem in gathered.problems:
        deps.session.emit(Warned(problem))
    if not gathered.pages:
        return _Attempt()
    search = Search(
        {
            **_search(state, deps, "web"),
            "tool": "",
            "section": "",
            "collections": [WEB_COLLECTION],
            "documents": [page.document_id for page in gathered.pages],
        }
    )
    pages = [{"url": p.url, "title": p.title, "date": p.date, "cached": p.cached} for p in gathered.pages]
    return _Attempt("on the web", [search], pages)


_LADDER: dict[Rung, Callable[[RunState, Deps], _Attempt]] = {
    "reword": _reword,
    "widen": _widen,
    "collections": _collections,
    "web": _web,
}
