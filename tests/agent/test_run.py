"""Whole runs on a scripted model: what is asked, searched, decided, answered and stored."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any

import pytest

import agent.events as ev
from agent.budget import Budget
from agent.documents.sample_library import COLLECTIONS, documents
from agent.run import Request, resumable, run, searchable
from agent.web.fetch import Fetcher
from agent.web.gather import Web
from agent.web.search import Searxng
from models.protocols import ChatOptions, Message, Reading, Reply
from tests.agent.conftest import DEEP, Ask, UnsureReader
from tests.agent.made import FIRST, TWO_STEPS, WHOLE, WRITTEN, end, only, put
from tests.agent.web.loopback import SearxngServer, Site
from tests.agent.web.pages import article
from tests.scripted import HashEmbedder, ScriptedChat, WordReader
from traces.library import Library
from traces.runs import Runs
from traces.store import Store, StoreBusy


def test_a_two_step_plan_reaches_the_second_collection_and_is_stored_as_it_happened(
    ask: Ask, store: Store
) -> None:
    events = ask(WHOLE)
    assert isinstance(events[0], ev.RunStarted)
    searched = only(events, ev.Searched)
    assert {
        (1, "Who supplies Orlavane's ceramic bearings?"),
        (2, "What halted production at the plant of Tolvang Ceramics?"),
    } <= {(s.step, s.query) for s in searched}
    assert "news" in {hit["collection"] for s in searched if s.step == 2 for hit in s.hits}
    assert [d.action for d in only(events, ev.Decided)] == ["CONTINUE", "FINISH"]
    (answered,) = only(events, ev.Answered)
    assert {source["collection"] for source in answered.sources} == {"reports", "news"}
    assert all(claim["verdict"] == "supported" for claim in answered.sentences)
    runs = Runs(store)
    stored = runs.find("last")
    assert stored.status == end(events).status == "answered"
    assert (stored.answer, stored.id) == (answered.answer, events[0].run_id)
    older = {**stored.request, "budget": {**stored.request["budget"], "barren": 2}}
    assert Request.from_stored(older) == Request.from_stored(stored.request)
    replayed = [ev.from_stored(e.kind, e.payload) for e in runs.events(stored.id)]
    # Searches that run side by side are stored in the order of the phrasings, whenever they ended.
    assert sorted(map(repr, replayed)) == sorted(repr(e) for e in events if e.stored)
    first, second = runs.decisions(stored.id)
    assert (first.action, first.source, first.behaviour_probability) == ("CONTINUE", "rules", 1.0)
    assert first.state["open_questions"] == [TWO_STEPS["steps"][1]]
    assert second.state["findings"][1]["answer"] == "A fire"
    assert sum(second.probabilities.values()) == pytest.approx(1)


def test_a_revision_keeps_what_is_known_and_asks_anew_for_the_rest(ask: Ask) -> None:
    again = {"steps": ["What halted production at the Brevnes plant?"]}
    marks = {TWO_STEPS["steps"][0]: ("Tolvang Ceramics", 0.3), again["steps"][0]: ("A fire", 0.3)}
    choices = [{"A": 1.0}, {"B": 1.0}, {"C": 1.0}]
    replies = [TWO_STEPS, FIRST, choices[0], choices[1], again, choices[2], WRITTEN]
    events = ask(replies, reader=WordReader(marks), decider="llm")
    first, second = only(events, ev.Planned)
    assert (first.revision, second.revision) == (0, 1)
    assert [s["question"] for s in second.steps][2:] == again["steps"]
    assert [d.action for d in only(events, ev.Decided)] == ["CONTINUE", "REVISE", "FINISH"]
    assert [n.note["found"] for n in only(events, ev.Noted)] == [True, False, True]
    assert only(events, ev.Decided)[-1].state["missing"] == []


@pytest.mark.parametrize("busy_again", [False, True])
def test_what_a_busy_store_did_not_take_is_told_and_stored_when_the_run_is_resumed(
    busy_again: bool, ask: Ask, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = Runs.record
    busy = [True] * 100

    def sometimes(runs: Runs, *given: Any, **named: Any) -> None:
        if "superstep" in named and busy and busy.pop():
            raise StoreBusy("held")
        record(runs, *given, **named)

    monkeypatch.setattr(Runs, "record", sometimes)
    events: list[ev.Event] = []
    with pytest.raises(StoreBusy):
        ask(WHOLE, seen=events)
    assert end(events).status == "answered"
    stored = Runs(store).find("last")
    assert (stored.status, stored.finished) == ("running", None)
    busy[:] = [True] if busy_again else []
    ask([], resumed=stored.id)
    stored = Runs(store).find("last")
    told = [event.action for event in only(events, ev.Decided)]
    assert (stored.status, [d.action for d in Runs(store).decisions(stored.id)]) == ("answered", told)
    kept = [event.kind for event in Runs(store).events(stored.id)]
    for event in events:
        assert not event.stored or event.kind in kept
    assert resumable(store) == []


# --- budgets ------------------------------------------------------------------------------------


def test_a_token_budget_too_small_for_a_plan_leaves_what_the_question_finds_by_itself(ask: Ask) -> None:
    events = ask([], budget=Budget(tokens=10))
    assert end(events).stopped_because == "token budget"
    assert "Tolvang Ceramics" in only(events, ev.Answered)[0].answer


# --- the seed profile -----------------------------------------------------------------------------


def test_the_seed_profile_asks_at_every_step(ask: Ask) -> None:
    step = {
        "question": "Who supplies Orlavane's ceramic bearings?",
        "reason": "r",
        "tool": "reports",
        "keywords": "single supplier",
        "section": "Item 0",
    }
    events = ask(
        [
            {"steps": [step]},
            "ceramic bearings single supplier",
            {"searches": ["supplier of ceramic bearings"]},
            {"justification": "exact names", "strategy": "keyword"},
            {"A": "correct"},
            "(A) Orlavane buys all of its ceramic bearings from a single supplier, Tolvang Ceramics.",
            {
                "source": 1,
                "answer": FIRST,
                "sentence": "Tolvang Ceramics is the single supplier of ceramic bearings.",
            },
            {"A": 0.1, "B": 0.1, "C": 0.8},
            "All is known.",
            "Tolvang Ceramics supplies them [1].",
            {"verdicts": ["supported"]},
        ],
        profile="seed",
    )
    searched = only(events, ev.Searched)
    phrasings = {"ceramic bearings single supplier", "supplier of ceramic bearings"}
    assert {(s.strategy, s.query) for s in searched} == {("keyword", query) for query in phrasings}
    assert {hit["collection"] for s in searched for hit in s.hits} == {"reports"}
    (decided,) = only(events, ev.Decided)
    assert (decided.source, decided.justification) == ("llm", "All is known.")
    assert decided.probabilities["CONTINUE"] == 0  # no open step: not valid, whatever the model says
    assert decided.probabilities["FINISH"] == pytest.approx(0.8 / 0.9)


# --- bad input, cancelling ------------------------------------------------------------------------


def test_leaving_early_stops_the_run(library: Library, store: Store, embedder: HashEmbedder) -> None:
    asked = threading.Event()

    class Held(ScriptedChat):
        def generate(self, messages: Sequence[Message], options: ChatOptions) -> Reply:
            asked.set()
            while options.cancel is not None and not options.cancel.is_set():
                time.sleep(0.01)
            return super().generate(messages, options)

    with Held([]) as chat:
        stream = run(DEEP, chat=chat, embedder=embedder, reader=UnsureReader(), store=store)
        next(stream)
        assert asked.wait(60)
        stream.close()
    assert Runs(store).find("last").status == "cancelled"


def test_the_sample_library_is_searched_only_where_it_is_named_or_alone(store: Store) -> None:
    library = Library(store)

    def searched(*names: str) -> set[str]:
        return {collection.name for collection in searchable(library, names, web=False)}

    for name, description in COLLECTIONS.items():
        library.describe_collection(name, description)
        for path in documents(name):
            put(library, path.name, ["Orlavane makes heat pumps."], name)
    assert searched() == set(COLLECTIONS)
    put(library, "minutes", ["The rent is 1,225 pounds."], "theatre")
    assert searched() == {"theatre"}
    assert searched("reports", "theatre") == {"reports", "theatre"}
    put(library, "lease", ["The lease ends in May."], "reports")
    assert searched() == {"reports", "theatre"}, "it holds a document of the user's own"


# --- corrective retrieval -------------------------------------------------------------------------

DRONES = article(
    "Night drones count the herons of Lake Orrin",
    "The night drone census of Lake Orrin counted 412 grey herons in March 2024, wardens said on Monday.",
    "The census was flown with four thermal cameras and took three nights, one more than the year before.",
    date="2024-03-18",
)


class Strict(WordReader):
    """Takes a passage with most of the question's words for an answer, and rules out any other."""

    def read(self, question: str, passages: Sequence[str]) -> list[Reading]:
        return [
            Reading(0.9 if one.probability > 0.6 else 0.01, ()) for one in super().read(question, passages)
        ]


def test_the_web_is_asked_for_what_the_library_cannot_answer_and_cited(
    ask: Ask, store: Store, embedder: HashEmbedder
) -> None:
    question = "How many grey herons did the night drone census of Lake Orrin count in March 2024?"
    reply = "The night drone census of Lake Orrin counted 412 grey herons in March 2024."
    with Site({"/drones": DRONES}) as site, SearxngServer({f"{site.url}/drones": "Drones"}) as engine:
        web = Web(Searxng(engine.url), Fetcher(allowed_hosts=frozenset({site.host})), store, embedder)
        asked = Request(question, route="single", approve="always")
        events = ask([reply], asked, reader=Strict(), embedder=embedder, web=web)
    assert only(events, ev.Graded)[0].grade != "correct"
    assert engine.queries == [question]
    pages = [found["url"] for event in only(events, ev.Corrected) for found in event.pages]
    assert pages == [f"{site.url}/drones"]
    (answered,) = only(events, ev.Answered)
    assert ([source["collection"] for source in answered.sources], answered.grounded) == (["web"], True)
