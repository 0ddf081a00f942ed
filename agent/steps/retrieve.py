"""Step ``retrieve``: recalls passages for one phrasing; the phrasings of a step run in parallel."""

from __future__ import annotations

from typing import Any, cast

from agent.deps import Deps
from agent.events import Searched
from agent.retrieval.recall import Hit, Strategy, aim
from agent.state import Candidate, Recalled, Search
from traces.records import Scope


def retrieve(search: Search, deps: Deps) -> dict[str, Any]:
    """Reads only the search it is sent, not the rest of the state. Adds to recalled."""
    collections = tuple(search["collections"])
    scopes = [Scope(collections, tuple(search["documents"]), tuple(search["sections"]))]
    if not search["documents"] and not search["sections"]:
        scopes = aim(
            deps.library,
            collections,
            search["question"],
            search["tool"],
            search["section"],
            hard=search["hard"],
        )
    strategy = cast(Strategy, search["strategy"])
    skip = search.get("skip", 0)
    end = skip + deps.search_limit
    # One more tells whether there is more.
    hits = deps.recall.search(search["query"], strategy, scopes, end + 1, keywords=search["keywords"])
    candidates = [candidate(hit) for hit in hits[skip:end]]
    deps.session.emit(
        Searched(
            step=search["step"],
            query=search["query"],
            strategy=strategy,
            tool=search["tool"],
            section=search["section"],
            hits=candidates,
            rung=search["rung"],
        )
    )
    further = len(hits) > end
    return {
        "recalled": [Recalled(query=search["query"], candidates=candidates, search=search, further=further)]
    }


def recall(question: str, deps: Deps) -> list[Candidate]:
    """The passages that a question finds in all collections, not read yet."""
    scopes = aim(deps.library, deps.tools, question, "", "", hard=False)
    return [candidate(hit) for hit in deps.recall.search(question, "hybrid", scopes, deps.search_limit)]


def candidate(hit: Hit) -> Candidate:
    """``hit`` as an entry of the run's state, not graded yet."""
    passage = hit.passage
    return Candidate(
        passage_id=passage.id,
        document_id=passage.document_id,
        collection=passage.collection,
        document=passage.document,
        title=passage.title,
        date=passage.date,
        section=passage.section,
        page=passage.page,
        kind=passage.kind,
        text=passage.text,
        score=hit.score,
        scores=hit.scores,
        grade="",
        author=passage.author,
    )
