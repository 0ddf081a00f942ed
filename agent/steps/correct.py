"""Step ``correct``: the passages were not enough, so other searches are tried, one kind at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

from agent.deps import Deps
from agent.events import Corrected, NodeProgress, Warned
from agent.state import RUNGS, Rung, RunState, Search, current_step, searched
from agent.steps.next_step import search_of
from models.protocols import GenerationCancelled
from traces.records import SECTION_SEPARATOR, WEB_COLLECTION

_WIDENED_PASSAGES = 3  # the best, whose surroundings are searched


@dataclass(slots=True)
class _Attempt:
    """The outcome of one rung of the ladder; without searches the next rung is tried.

    ``searches`` are what differs from the step's own search.
    """

    detail: str = ""
    searches: list[dict[str, Any]] = field(default_factory=list)
    pages: list[dict[str, Any]] = field(default_factory=list)
    offline: bool = False


def correct(state: RunState, deps: Deps) -> dict[str, Any]:
    """Reads plan, position, step, query, candidates, recalled, rungs, queries, offline, action. Writes
    searches, queries, rungs, offline.

    The rungs in order: other words, the surroundings of the best passages (or all sections, if the step
    was limited to one), the other collections, and the web if the user has allowed it. Each is tried once
    in a step. Without searches there is nothing left to try.
    """
    step = current_step(state)
    rungs = list(state["rungs"])
    offline = state["offline"]
    for rung in RUNGS:
        if rung in rungs:
            continue
        rungs.append(rung)
        attempt = _LADDER[rung](state, deps)
        offline = offline or attempt.offline
        own = search_of(step, state["step"], state["query"], "hybrid", rung, deps)
        searches = [cast(Search, {**own, **changes}) for changes in attempt.searches]
        new_searches = [search for search in searches if searched(search) not in state["queries"]]
        if new_searches:
            queries = [search["query"] for search in new_searches]
            deps.session.emit(Corrected(state["step"], rung, attempt.detail, queries, attempt.pages))
            return {
                "searches": new_searches,
                "queries": [*state["queries"], *map(searched, new_searches)],
                "rungs": rungs,
                "offline": offline,
            }
    if state["action"] == "WORDS":
        deps.session.emit(Warned("There is nothing else to search for or in."))
    return {"searches": [], "rungs": rungs, "offline": offline}


def _reword(state: RunState, deps: Deps) -> _Attempt:
    tried_queries = [result["query"] for result in state["recalled"]]
    phrasings = deps.cognition.reword(
        deps.session, state["notebook"], state["query"], tried_queries, state["candidates"]
    )
    return _Attempt("in other words", [{"query": phrasing} for phrasing in phrasings])


def _widen(state: RunState, deps: Deps) -> _Attempt:
    if deps.cognition.hard_filters and current_step(state)["section"]:
        return _Attempt("in all sections", [{"section": ""}])
    sections = {
        candidate["document_id"]: candidate["section"].rpartition(SECTION_SEPARATOR)[0]
        or candidate["section"]
        for candidate in reversed(state["candidates"][:_WIDENED_PASSAGES])
        if candidate["section"]
    }
    if not sections:
        return _Attempt()
    around = {"documents": sorted(sections), "sections": sorted(set(sections.values()))}
    return _Attempt("around the best passages", [around])


def _collections(state: RunState, deps: Deps) -> _Attempt:
    tool = current_step(state)["tool"]
    others = [name for name in deps.tools if name != tool]
    if not deps.cognition.hard_filters or not tool or not others:
        return _Attempt()  # without a hard filter every collection was searched in the first place
    return _Attempt(f"in {', '.join(others)}", [{"tool": "", "section": "", "collections": others}])


def _web(state: RunState, deps: Deps) -> _Attempt:
    if deps.web is None or state["offline"]:
        return _Attempt()
    from agent.web.search import WebUnreachable

    def on_page(message: str) -> None:
        deps.session.emit(NodeProgress("correct", state["step"], message))

    try:
        web_result = deps.web.gather(state["query"], stop=deps.session.stop, on_page=on_page)
    except WebUnreachable as error:
        deps.session.emit(Warned(f"{error.message} The run continues with what it has."))
        return _Attempt(offline=True)
    except GenerationCancelled as cancellation:
        deps.session.stop.raise_reason(cancellation)
    for problem in web_result.problems:
        deps.session.emit(Warned(problem))
    if not web_result.pages:
        return _Attempt()
    documents = [page.document_id for page in web_result.pages]
    search = {"tool": "", "section": "", "collections": [WEB_COLLECTION], "documents": documents}
    pages = [
        {"url": page.url, "title": page.title, "date": page.date, "cached": page.cached}
        for page in web_result.pages
    ]
    return _Attempt("on the web", [search], pages)


_LADDER: dict[Rung, Callable[[RunState, Deps], _Attempt]] = {
    "reword": _reword,
    "widen": _widen,
    "collections": _collections,
    "web": _web,
}
