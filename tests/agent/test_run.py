"""Whole runs on a scripted model: what is asked, searched, decided, answered and stored."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, TypeVar

import pytest

import agent.events as ev
from agent.budget import Budget
from agent.prompts import NOT_FOUND
from agent.run import EmptyLibrary, Request, UnusableQuestion, resumable, resume, run
from agent.steering import Steering
from models.protocols import ChatOptions, GenerationCancelled, Message, Reader, Reply
from tests.agent.conftest import UnsureReader
from tests.scripted import HashEmbedder, Plain, Scripted, ScriptedChat, WordReader
from traces.library import Library
from traces.records import UnknownCollection
from traces.runs import Runs
from traces.store import Store, StoreBusy

E = TypeVar("E", bound=ev.Event)
Ask = Callable[..., list[ev.Event]]

QUESTION = "Name the supplier of Orlavane's ceramic bearings and the event that halted its plant."
TWO_STEPS: dict[str, Any] = {
    "steps": ["Who supplies Orlavane's ceramic bearings?", "What halted production at the plant of #1?"]
}
FIRST: dict[str, Any] = {"source": 1, "answer": "Tolvang Ceramics"}
DEEP = Request(QUESTION, route="deep", approve="always")
WRITTEN = "Tolvang Ceramics supplies the bearings [1]. A fire at the Brevnes plant halted production [9]."
WHOLE: list[Scripted] = [TWO_STEPS, FIRST, WRITTEN]  # the second step is the reader's alone


@pytest.fixture
def ask(library: Library, store: Store, embedder: HashEmbedder) -> Ask:
    """Run a request on scripted replies to the end; every reply must be used."""

    def go(
        replies: list[Scripted], request: Request = DEEP, reader: Reader | None = None, **changes: Any
    ) -> list[ev.Event]:
        parts: dict[str, Any] = {"embedder": embedder, "reader": reader or UnsureReader(), "store": store}
        with ScriptedChat(replies) as chat:
            return list(run(replace(request, **changes), chat=chat, **parts))

    return go


def _end(events: list[ev.Event]) -> ev.RunFinished:
    assert isinstance(events[-1], ev.RunFinished)
    return events[-1]


def _only(events: list[ev.Event], kind: type[E]) -> list[E]:
    return [event for event in events if isinstance(event, kind)]


def test_a_two_step_plan_reaches_the_second_collection(ask: Ask, store: Store) -> None:
    events = ask(WHOLE)
    assert isinstance(events[0], ev.RunStarted)
    assert isinstance(events[-1], ev.RunFinished)
    searched = _only(events, ev.Searched)
    assert {
        (1, "Who supplies Orlavane's ceramic bearings?"),
        (2, "What halted production at the plant of Tolvang Ceramics?"),
    } <= {(s.step, s.query) for s in searched}
    assert "news" in {hit["collection"] for s in searched if s.step == 2 for hit in s.hits}
    assert [d.action for d in _only(events, ev.Decided)] == ["CONTINUE", "FINISH"]
    (answered,) = _only(events, ev.Answered)
    assert {source["collection"] for source in answered.sources} == {"reports", "news"}
    assert all(claim["verdict"] == "supported" for claim in answered.sentences)
    assert _end(events).status == "answered"


def test_a_first_look_is_shown_before_the_plan(ask: Ask) -> None:
    events = ask(WHOLE)
    (looked,) = _only(events, ev.FirstLook)
    assert (looked.answer, looked.title) == ("Tolvang Ceramics", "Annual report")
    assert events.index(looked) < events.index(_only(events, ev.Routed)[0])


def test_everything_is_stored_as_it_happened(ask: Ask, store: Store) -> None:
    events = ask(WHOLE)
    runs = Runs(store)
    stored = runs.find("last")
    assert stored.status == "answered"
    assert stored.answer == _only(events, ev.Answered)[0].answer
    assert stored.id == _only(events, ev.RunStarted)[0].run_id
    replayed = [ev.from_stored(e.kind, e.payload) for e in runs.events(stored.id)]
    # Searches that run side by side are stored in the order of the phrasings, whenever they ended.
    assert sorted(map(repr, replayed)) == sorted(repr(e) for e in events if e.stored)
    first, second = runs.decisions(stored.id)
    assert (first.action, first.source, first.behaviour_probability) == ("CONTINUE", "rules", 1.0)
    assert first.state["open_questions"] == [TWO_STEPS["steps"][1]]
    assert second.state["findings"][1]["answer"] == "A fire"
    assert sum(second.probabilities.values()) == pytest.approx(1)


def test_prompts_are_append_only(library: Library, store: Store, embedder: HashEmbedder) -> None:
    three = {"steps": [*TWO_STEPS["steps"], "How long did #2 halt it?"]}
    fire = {"source": 2, "answer": "A fire"}
    with ScriptedChat([three, FIRST, fire, WRITTEN]) as chat:
        list(run(DEEP, chat=chat, embedder=embedder, reader=UnsureReader(), store=store))
        prompts = [call.messages[-1].content for call in chat.calls]
    *research, written = prompts
    assert written.startswith("PASSAGES:")  # the answer's is a prompt of its own
    notebooks = [prompt.rsplit("\n\n", 1)[0] for prompt in research]
    for earlier, later in pairwise(notebooks):
        assert later.startswith(earlier)


def test_nothing_found_is_said_and_nothing_is_written(ask: Ask, store: Store) -> None:
    plan = {"steps": ["What is the list price?"]}
    events = ask([plan, {"steps": []}, NOT_FOUND], reader=WordReader())
    assert _only(events, ev.Answered)[0].answer == NOT_FOUND
    assert (_end(events).status, Runs(store).find("last").status) == ("not_found", "not_found")


def test_a_revision_keeps_what_is_known_and_asks_anew_for_the_rest(ask: Ask) -> None:
    again = {"steps": ["What halted production at the Brevnes plant?"]}
    marks = {TWO_STEPS["steps"][0]: ("Tolvang Ceramics", 0.3), again["steps"][0]: ("A fire", 0.3)}
    events = ask([TWO_STEPS, FIRST, again, WRITTEN], reader=WordReader(marks))
    first, second = _only(events, ev.Planned)
    assert (first.revision, second.revision) == (0, 1)
    assert [s["question"] for s in second.steps][2:] == again["steps"]
    assert [d.action for d in _only(events, ev.Decided)] == ["CONTINUE", "REVISE", "FINISH"]
    assert [n.note["found"] for n in _only(events, ev.Noted)] == [True, False, True]
    assert _only(events, ev.Decided)[-1].state["missing"] == []


def test_an_answer_that_stands_in_no_passage_is_not_a_finding(ask: Ask) -> None:
    invented = {"source": 1, "answer": "Zanzibar Copper Holdings"}
    events = ask([TWO_STEPS, invented, {"steps": []}, NOT_FOUND], reader=WordReader())
    assert not any(noted.note["found"] for noted in _only(events, ev.Noted))
    assert _end(events).status == "not_found"


@pytest.mark.parametrize(
    "garbage", ["", "   \n\n\t ", "I cannot answer.", "[[[[", '["a", 1]', "<think>hm</think>"]
)
def test_a_plan_that_is_garbage_becomes_one_step_recorded_as_the_default(ask: Ask, garbage: str) -> None:
    events = ask([garbage, garbage, "Tolvang Ceramics supplies the bearings [1]."])
    (planned,) = _only(events, ev.Planned)
    assert planned.origin == "default"
    assert [s["question"] for s in planned.steps] == [QUESTION]
    assert _only(events, ev.Warned)
    assert _end(events).status == "answered"


def test_a_list_instead_of_an_object_is_understood(ask: Ask) -> None:
    listed = '["Who supplies Orlavane\'s ceramic bearings?"]'
    events = ask([listed, "Tolvang Ceramics [1]."])
    assert _only(events, ev.Planned)[0].origin == "model"


def test_a_plan_copied_from_the_examples_is_no_plan(ask: Ask) -> None:
    copied = {
        "steps": ["Which firm built the harbour bridge of Avelin?", "How large was the loss of #1 in 2019?"]
    }
    events = ask([copied, "Tolvang Ceramics [1]."])
    assert [s["question"] for s in _only(events, ev.Planned)[0].steps] == [QUESTION]


def test_a_supported_negative_is_an_answer_and_the_sentence_for_nothing_found_is_none(ask: Ask) -> None:
    plan = {"steps": ["Who supplies Orlavane's ceramic bearings?"]}
    assert _end(ask([plan, NOT_FOUND])).status == "not_found"
    negative = "Orlavane does not give its ceramic bearings to Tolvang Ceramics."
    assert _end(ask([plan, negative])).status == "answered"


def test_an_answer_of_marks_alone_is_replaced_by_the_findings(ask: Ask) -> None:
    events = ask([{"steps": ["Who supplies Orlavane's ceramic bearings?"]}, "[1]."])
    assert "Tolvang Ceramics" in _only(events, ev.Answered)[0].answer


def test_a_prompt_that_outgrows_the_context_ends_with_what_was_found(
    library: Library, store: Store, embedder: HashEmbedder
) -> None:
    chat = ScriptedChat([TWO_STEPS, FIRST, FIRST, WRITTEN], context_tokens=640)
    events = list(
        run(
            replace(DEEP, question="Who supplies bearings?"),
            chat=chat,
            embedder=embedder,
            reader=UnsureReader(),
            store=store,
        )
    )
    assert isinstance(events[-1], ev.RunFinished)
    assert events[-1].status in {"answered", "not_found"}


def test_a_run_whose_end_cannot_be_stored_still_tells_its_end(
    library: Library, store: Store, embedder: HashEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(*_args: object, **_named: object) -> None:
        raise StoreBusy("held")

    monkeypatch.setattr(Runs, "record", busy)
    events: list[ev.Event] = []
    with ScriptedChat(WHOLE) as chat:
        stream = run(DEEP, chat=chat, embedder=embedder, reader=UnsureReader(), store=store)
        with pytest.raises(StoreBusy):
            events.extend(iter(lambda: next(stream), None))
    assert _end(events).status == "answered"


@pytest.mark.parametrize("busy_again", [False, True])
def test_what_a_busy_store_did_not_take_is_stored_when_the_run_is_resumed(
    busy_again: bool,
    library: Library,
    store: Store,
    embedder: HashEmbedder,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    record = Runs.record
    busy = [True] * 100

    def sometimes(runs: Runs, *given: Any, **named: Any) -> None:
        if "superstep" in named and busy and busy.pop():
            raise StoreBusy("held")
        record(runs, *given, **named)

    monkeypatch.setattr(Runs, "record", sometimes)
    events: list[ev.Event] = []
    with ScriptedChat(WHOLE) as chat:
        stream = run(DEEP, chat=chat, embedder=embedder, reader=UnsureReader(), store=store)
        with pytest.raises(StoreBusy):
            events.extend(iter(lambda: next(stream), None))
    stored = Runs(store).find("last")
    assert (stored.status, stored.finished) == ("running", None)
    busy[:] = [True] if busy_again else []
    with ScriptedChat([]) as chat:
        list(resume(stored.id, chat=chat, embedder=embedder, reader=UnsureReader(), store=store))
    stored = Runs(store).find("last")
    told = [event.action for event in _only(events, ev.Decided)]
    assert (stored.status, [d.action for d in Runs(store).decisions(stored.id)]) == ("answered", told)
    kept = [event.kind for event in Runs(store).events(stored.id)]
    for event in events:
        assert not event.stored or event.kind in kept
    assert resumable(store) == []


def test_the_callers_event_is_left_alone(library: Library, store: Store, embedder: HashEmbedder) -> None:
    cancel = threading.Event()
    with ScriptedChat(WHOLE) as chat:
        list(
            run(
                DEEP,
                chat=chat,
                embedder=embedder,
                reader=UnsureReader(),
                store=store,
                steering=Steering(cancel),
            )
        )
    assert not cancel.is_set()


# --- budgets ------------------------------------------------------------------------------------


def test_the_step_budget_ends_the_loop_with_an_answer(ask: Ask) -> None:
    four = {
        "steps": [
            "Who supplies Orlavane's ceramic bearings?",
            "From whom does Orlavane buy its ceramic bearings?",
            "Which supplier sells ceramic bearings to Orlavane?",
            "Whose ceramic bearings does Orlavane use?",
        ]
    }
    events = ask([four, "Tolvang Ceramics [1]."], budget=Budget(steps=2))
    assert len(_only(events, ev.StepStarted)) == 2
    assert _end(events).status == "answered"


def test_two_steps_without_new_evidence_end_the_loop(ask: Ask) -> None:
    same = {
        "steps": [
            "Who supplies Orlavane's ceramic bearings?",
            "Orlavane's ceramic bearings: who supplies?",
            "Who supplies ceramic bearings: Orlavane's?",
            "Ceramic bearings: who supplies Orlavane's?",
        ]
    }
    events = ask([same, "Tolvang Ceramics [1]."])
    decided = _only(events, ev.Decided)
    assert decided[-1].source == "budget"
    assert "no new evidence" in _end(events).stopped_because


def test_a_token_budget_too_small_for_a_plan_leaves_what_the_question_finds_by_itself(ask: Ask) -> None:
    events = ask([], budget=Budget(tokens=10))
    assert _end(events).stopped_because == "token budget"
    assert "Tolvang Ceramics" in _only(events, ev.Answered)[0].answer


@pytest.mark.parametrize("tokens", range(200, 3200, 200))
def test_no_run_exceeds_its_tokens_and_every_run_ends_in_order(
    tokens: int, library: Library, store: Store, embedder: HashEmbedder
) -> None:
    def by_instruction(messages: Sequence[Message]) -> Plain:
        # Under a small budget the answer may be asked for before the reading.
        if messages[-1].content.startswith("PASSAGES:"):
            return WRITTEN
        return TWO_STEPS if len(chat.calls) == 1 else FIRST

    chat = ScriptedChat([by_instruction] * 3)
    request = replace(DEEP, budget=Budget(tokens=tokens))
    events = list(run(request, chat=chat, embedder=embedder, reader=UnsureReader(), store=store))
    end = events[-1]
    assert isinstance(end, ev.RunFinished)
    assert end.evaluated + end.generated <= tokens
    assert end.status == "answered"
    assert "Tolvang Ceramics" in _only(events, ev.Answered)[0].answer


def test_no_time_left_ends_the_run_in_order(ask: Ask) -> None:
    events = ask([], budget=Budget(seconds=0.0))
    assert _end(events).stopped_because == "time budget"


# --- the seed's profile and the judge -------------------------------------------------------------


def test_the_seed_profile_asks_at_every_step(ask: Ask) -> None:
    plan = {
        "steps": [
            {
                "question": "Who supplies Orlavane's ceramic bearings?",
                "reason": "r",
                "tool": "reports",
                "keywords": "single supplier",
                "section": "Item 0",
            }
        ]
    }
    finding = {**FIRST, "sentence": "Tolvang Ceramics is the single supplier of ceramic bearings."}
    events = ask(
        [
            plan,
            "ceramic bearings single supplier",
            {"searches": ["supplier of ceramic bearings"]},
            {"justification": "exact names", "strategy": "keyword"},
            {"A": "correct"},
            "(A) Orlavane buys all of its ceramic bearings from a single supplier, Tolvang Ceramics.",
            finding,
            {"A": 0.1, "B": 0.1, "C": 0.8},
            "All is known.",
            "Tolvang Ceramics supplies them [1].",
            {"verdicts": ["supported"]},
        ],
        profile="seed",
    )
    searched = _only(events, ev.Searched)
    phrasings = {"ceramic bearings single supplier", "supplier of ceramic bearings"}
    assert {(s.strategy, s.query) for s in searched} == {("keyword", query) for query in phrasings}
    assert {hit["collection"] for s in searched for hit in s.hits} == {"reports"}
    (decided,) = _only(events, ev.Decided)
    assert (decided.source, decided.justification) == ("llm", "All is known.")
    assert decided.probabilities["CONTINUE"] == 0  # no open step: not valid, whatever the model says
    assert decided.probabilities["FINISH"] == pytest.approx(0.8 / 0.9)


def test_the_judge_can_be_used_with_lean(ask: Ask) -> None:
    events = ask(
        [
            {"steps": ["Who supplies Orlavane's ceramic bearings?"]},
            {"A": 0.0, "B": 0.2, "C": 0.8},
            "Tolvang Ceramics [1].",
        ],
        decider="llm",
    )
    assert [d.source for d in _only(events, ev.Decided)] == ["llm"]


# --- bad input, cancelling ------------------------------------------------------------------------


@pytest.mark.parametrize("question", ["", "   ", "?!", "why " * 12_500])
def test_an_unusable_question_is_refused(ask: Ask, question: str) -> None:
    with pytest.raises(UnusableQuestion):
        ask([], Request(question))


def test_an_unknown_collection_is_refused(ask: Ask) -> None:
    with pytest.raises(UnknownCollection):
        ask([], collections=("nope",))


def test_an_empty_library_says_how_to_fill_it(store: Store, embedder: HashEmbedder) -> None:
    with ScriptedChat([]) as chat, pytest.raises(EmptyLibrary) as caught:
        list(run(Request("Why?"), chat=chat, embedder=embedder, reader=UnsureReader(), store=store))
    assert "ingest" in caught.value.way_out


def test_another_embedder_than_the_librarys_answers_from_the_words(library: Library, store: Store) -> None:
    other = HashEmbedder(dimensions=32)
    request = replace(DEEP, question="Who supplies Orlavane's ceramic bearings?", route="single")
    with ScriptedChat(["Tolvang Ceramics supplies the bearings [1]."]) as chat:
        events = list(run(request, chat=chat, embedder=other, reader=UnsureReader(), store=store))
    searched = next(event for event in events if isinstance(event, ev.Searched))
    assert searched.hits
    assert not any("vector" in hit["scores"] for hit in searched.hits)


def test_a_failing_model_ends_the_run_as_failed(ask: Ask, store: Store) -> None:
    with pytest.raises(RuntimeError, match="engine"):
        ask([RuntimeError("engine")])
    assert Runs(store).find("last").status == "failed"


def test_cancelling(library: Library, store: Store, embedder: HashEmbedder) -> None:
    cancel = threading.Event()

    def stops(_messages: Sequence[Message]) -> dict[str, Any]:
        cancel.set()
        return TWO_STEPS

    events: list[ev.Event] = []
    with ScriptedChat([stops]) as chat:
        stream = run(
            DEEP,
            chat=chat,
            embedder=embedder,
            reader=UnsureReader(),
            store=store,
            steering=Steering(cancel),
        )
        with pytest.raises(GenerationCancelled):
            events.extend(iter(lambda: next(stream), None))
    assert _end(events).status == "cancelled"
    assert Runs(store).find("last").status == "cancelled"


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
