"""Step ``correct``: the ladder, rung by rung, and its end."""

from __future__ import annotations

from typing import Any
from unittest.mock import Mock

import agent.events as ev
from agent.state import RUNGS, Recalled, RunState, searched
from agent.steps.correct import correct
from agent.web.gather import Gathered, Page
from agent.web.search import WebUnreachable
from tests.agent.made import candidate, only, state, step
from tests.agent.steps.conftest import Events, Make

QUESTION = "Who supplies ceramic bearings to Orlavane?"


def _short(**changes: Any) -> RunState:
    found = candidate(1, "Orlavane buys ceramic compressor bearings at Brevnes.", section="Part I › Item 1")
    return state(
        **{
            "plan": [step(QUESTION)],
            "position": 0,
            "step": 1,
            "query": QUESTION,
            "candidates": [found],
            "recalled": [Recalled(query=QUESTION, candidates=[found])],
            **changes,
        }
    )


def test_other_words_come_first(make: Make, events: Events) -> None:
    update = correct(_short(), make())
    assert update["rungs"] == ["reword"]
    assert update["searches"]
    assert QUESTION not in {s["query"] for s in update["searches"]}
    assert {s["rung"] for s in update["searches"]} == {"reword"}
    (event,) = only(events, ev.Corrected)
    assert event.queries == [s["query"] for s in update["searches"]]


def test_then_what_stands_around_the_best_passages_or_the_section_that_it_is_held_to(
    make: Make,
) -> None:
    (search,) = correct(_short(rungs=["reword"]), make())["searches"]
    assert (search["documents"], search["sections"]) == ([1], ["Part I"])
    held = _short(rungs=["reword"], plan=[step(QUESTION, tool="reports", section="Item 9")])
    (search,) = correct(held, make(profile_name="seed"))["searches"]
    assert (search["tool"], search["section"], search["hard"]) == ("reports", "", True)


def test_then_the_other_collections_where_one_was_held_to(make: Make) -> None:
    held = _short(rungs=["reword", "widen"], plan=[step(QUESTION, tool="reports")])
    (search,) = correct(held, make(profile_name="seed"))["searches"]
    assert (search["collections"], search["tool"]) == (["news"], "")


def test_the_web_is_the_last_and_only_if_it_is_allowed(make: Make, events: Events) -> None:
    tried = [rung for rung in RUNGS if rung != "web"]
    assert correct(_short(rungs=tried), make())["searches"] == []
    page = Page(url="https://example.org/a", title="A", date="2025-01-01", document_id=7, cached=False)
    web = Mock()
    web.gather.return_value = Gathered((page,), ("https://example.org/b could not be read.",))
    update = correct(_short(rungs=tried), make(web=web))
    (search,) = update["searches"]
    assert (search["collections"], search["documents"]) == (["web"], [7])
    assert web.gather.call_args.args == (QUESTION,)
    told = only(events, ev.Corrected)
    assert told[-1].pages[0]["url"] == page.url
    assert [e.message for e in events if isinstance(e, ev.Warned)] == [
        "https://example.org/b could not be read."
    ]


def test_that_the_network_is_away_is_told_once(make: Make, events: Events) -> None:
    tried = [rung for rung in RUNGS if rung != "web"]
    deps = make(web=Mock(**{"gather.side_effect": WebUnreachable("The web cannot be reached.")}))
    update = correct(_short(rungs=tried), deps)
    assert (update["searches"], update["offline"]) == ([], True)
    assert correct(_short(rungs=tried, offline=True), deps)["searches"] == []
    assert len(only(events, ev.Warned)) == 1


def test_a_search_that_was_made_does_not_count_as_something_else(make: Make) -> None:
    first = correct(_short(rungs=["reword"]), make())
    made = [searched(search) for search in first["searches"]]
    update = correct(_short(rungs=["reword"], queries=made), make())
    assert update["searches"] == []
    assert update["rungs"] == list(RUNGS)
