"""The systems without a loop: what each reads, what it may say, and what is told of it."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from agent.deps import Deps
from agent.events import AnswerText, Event, NodeStarted
from agent.prompts import NOT_FOUND
from agent.request import EmptyLibrary
from agent.state import Evidence
from models.protocols import GenerationCancelled, Reading, Reply, Usage
from policy.collecting.questions import Paragraph, Question, QuestionSet
from policy.evaluation.answered import Answered, Cost, Parts, System
from policy.evaluation.cache import CachedChat
from policy.evaluation.cases import Case, Place, pooled
from policy.evaluation.libraries import RememberingEmbedder, pool
from policy.evaluation.plain import (
    PLAIN,
    ClosedBook,
    Crag,
    SearchAndAnswer,
    SearchAndGuess,
    Shallow,
    WatchedRecall,
)
from tests.agent.conftest import fill
from tests.scripted import HashEmbedder, Scripted, ScriptedChat, WordReader
from traces.store import Store

SUPPLIER = Case(
    "s", "Who supplies Orlavane's ceramic bearings?", ("Tolvang Ceramics",), (Place("annual-report"),)
)
SAID = "Orlavane buys all of its ceramic bearings from Tolvang Ceramics [1]."
FROM_PASSAGES: list[System] = [Shallow(), SearchAndAnswer(), Crag()]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A small library, which nothing here changes."""
    store = Store(tmp_path_factory.mktemp("library") / "store.duckdb")
    fill(store, HashEmbedder())
    return store


def _parts(store: Store, chat: ScriptedChat) -> Parts:
    return Parts(chat, HashEmbedder(), WordReader(), store)


def _answered(
    system: System, store: Store, replies: Sequence[Scripted], case: Case = SUPPLIER
) -> tuple[Answered, list[str]]:
    """What it gave, and the prompts that it made of it."""
    with ScriptedChat(replies) as chat:
        answered = system.answer(case, _parts(store, chat))
    return answered, ["\n".join(m.content for m in call.messages) for call in chat.calls]


def test_the_systems_are_called_as_tables_call_them() -> None:
    assert [system.name for system in PLAIN] == [
        "closed-book",
        "shallow",
        "search-and-answer",
        "search-and-guess",
        "crag",
    ]


def test_a_closed_book_sees_the_question_and_nothing_else(store: Store) -> None:
    answered, prompts = _answered(ClosedBook(), store, ["Tolvang Ceramics does."])
    assert SUPPLIER.question in prompts[0]
    assert "PASSAGES" not in prompts[0]
    assert (answered.text, answered.abstained) == ("Tolvang Ceramics does.", False)
    assert answered.held == answered.cited == ()
    assert (answered.sentences, answered.flagged, dict(answered.traced)) == (0, 0, {})
    assert (answered.cost.steps, answered.cost.calls) == (0, 1)
    assert answered.cost.generated == 3


@pytest.mark.parametrize("reply", ["I do not know.", "I don't know who supplies them.", ""])
def test_a_closed_book_may_say_that_it_does_not_know(store: Store, reply: str) -> None:
    answered, _ = _answered(ClosedBook(), store, [reply])
    assert answered.abstained


@pytest.mark.parametrize("system", FROM_PASSAGES, ids=lambda system: system.name)
def test_an_answer_is_told_with_its_evidence_and_its_cost(filled: Store, system: System) -> None:
    answered, prompts = _answered(system, filled, [("PASSAGES:\n[1] ", SAID)])
    assert (answered.text, answered.abstained) == (SAID, False)
    assert answered.held[0] == Place("annual-report")
    assert answered.cited == (Place("annual-report"),)
    assert (answered.sentences, answered.flagged) == (1, 0)
    assert answered.traced == {"reached": 1.0, "recalled": 1.0}
    assert answered.stopped == ""
    assert answered.cost == Cost(1, 1, answered.cost.evaluated, 0, len(SAID.split()), answered.cost.seconds)
    assert answered.cost.evaluated > 20
    assert NOT_FOUND in prompts[0]


@pytest.mark.parametrize("system", FROM_PASSAGES, ids=lambda system: system.name)
def test_what_the_passages_do_not_say_is_flagged(filled: Store, system: System) -> None:
    wrong = f"{SAID} Orlavane employed 9,999 people at the end of 2024 [1]."
    answered, _ = _answered(system, filled, [wrong])
    assert (answered.sentences, answered.flagged) == (2, 1)


@pytest.mark.parametrize("system", FROM_PASSAGES, ids=lambda system: system.name)
def test_the_sentence_for_nothing_found_is_an_abstention(filled: Store, system: System) -> None:
    answered, _ = _answered(system, filled, [NOT_FOUND])
    assert (answered.text, answered.abstained) == (NOT_FOUND, True)
    assert (answered.sentences, answered.cited) == (0, ())
    assert answered.held  # it had read them


@pytest.mark.parametrize("system", FROM_PASSAGES, ids=lambda system: system.name)
def test_a_case_without_gold_is_not_traced(filled: Store, system: System) -> None:
    answered, _ = _answered(system, filled, [NOT_FOUND], replace(SUPPLIER, gold=()))
    assert answered.traced == {}


@pytest.mark.parametrize("system", FROM_PASSAGES, ids=lambda system: system.name)
def test_there_must_be_something_to_search(store: Store, system: System) -> None:
    with pytest.raises(EmptyLibrary):
        _answered(system, store, [])


def test_shallow_reads_the_three_nearest_passages(filled: Store) -> None:
    answered, (prompt,) = _answered(Shallow(), filled, [SAID])
    assert [f"[{n}] " in prompt for n in (1, 2, 3, 4)] == [True, True, True, False]
    assert "(Annual report, Item 0, 2025-01-01)" in prompt
    assert len(answered.held) <= 3


def test_search_and_answer_shows_what_the_reader_prefers(filled: Store) -> None:
    class Contrary(WordReader):
        def read(self, question: str, passages: Sequence[str]) -> list[Reading]:
            return [Reading(float("Ostra 180" in passage), ()) for passage in passages]

    with ScriptedChat([NOT_FOUND, NOT_FOUND]) as chat:
        parts = _parts(filled, chat)
        contrary = SearchAndAnswer().answer(SUPPLIER, replace(parts, reader=Contrary()))
        by_words = SearchAndAnswer().answer(SUPPLIER, parts)
    assert contrary.held[0] == Place("launch")
    assert by_words.held[0] == Place("annual-report")
    assert "[1] Haldrecht launched" in chat.calls[0].messages[-1].content


def test_search_and_guess_reads_the_same_and_has_no_leave_to_find_nothing(filled: Store) -> None:
    answered, prompts = _answered(SearchAndAnswer(), filled, [SAID])
    guessed, pressed = _answered(SearchAndGuess(), filled, [SAID])
    assert guessed.held == answered.held
    assert NOT_FOUND in prompts[0]
    assert NOT_FOUND not in pressed[0]
    assert pressed[0].partition(" like [1]. ")[0] == prompts[0].partition(" like [1]. ")[0]


@pytest.mark.parametrize("system", FROM_PASSAGES, ids=lambda system: system.name)
def test_only_the_collections_asked_for_are_searched(filled: Store, system: System) -> None:
    asked = replace(SUPPLIER, question="What halted production at the Brevnes plant of Tolvang Ceramics?")
    with ScriptedChat([NOT_FOUND]) as chat:
        answered = system.answer(asked, replace(_parts(filled, chat), collections=("news",)))
    assert answered.held[0] == Place("fire")
    assert set(answered.held) <= {Place("fire"), Place("launch")}
    assert answered.traced == {"reached": 0.0, "recalled": 0.0}


class _Watched(Crag):
    """Tells how many searches were made for how much evidence."""

    def __init__(self) -> None:
        super().__init__()
        self.searches = -1

    def found(self, question: str, deps: Deps) -> list[Evidence]:
        evidence = super().found(question, deps)
        assert isinstance(deps.recall, WatchedRecall)
        self.searches = len(deps.recall.made)
        return evidence


class _Scoring(WordReader):
    """Holds every passage for equally good."""

    def __init__(self, score: float) -> None:
        super().__init__()
        self._score = score

    def read(self, question: str, passages: Sequence[str]) -> list[Reading]:
        return [Reading(self._score, ())] * len(passages)


def test_crag_looks_again_where_no_passage_helps(filled: Store) -> None:
    watched = _Watched()
    made: list[int] = []
    held: list[int] = []
    for score in (0.99, 0.3, 0.0):
        with ScriptedChat([NOT_FOUND]) as chat:
            answered = watched.answer(SUPPLIER, replace(_parts(filled, chat), reader=_Scoring(score)))
        assert (answered.cost.steps, answered.cost.calls) == (1, 1)
        made.append(watched.searches)
        held.append(len(answered.passages))
    assert made[0] == made[1] < made[2]
    assert held == [4, 4, 2]  # the reader is not alone in saying that nothing is there


def test_without_a_passage_nobody_is_asked(filled: Store) -> None:
    class Nothing(Crag):
        def found(self, question: str, deps: Deps) -> list[Evidence]:
            return []

    with ScriptedChat([]) as chat:
        answered = Nothing().answer(SUPPLIER, _parts(filled, chat))
    assert (answered.text, answered.abstained, answered.held) == (NOT_FOUND, True, ())


def test_the_lowest_passages_give_way_to_a_small_context(filled: Store) -> None:
    with ScriptedChat([SAID], context_tokens=300) as chat:
        answered = Shallow().answer(SUPPLIER, _parts(filled, chat))
    prompt = chat.calls[0].messages[-1].content
    assert "[1] " in prompt
    assert "[3] " not in prompt
    assert not answered.abstained


def test_a_sentence_that_the_limit_cut_off_is_dropped(filled: Store) -> None:
    cut = Reply(f"{SAID} It also has", Usage(), "length")
    answered, _ = _answered(Shallow(), filled, [cut])
    assert answered.text == SAID


def test_a_resumed_question_took_as_long_as_the_first_time(filled: Store, tmp_path: Path) -> None:
    file = tmp_path / "replies.jsonl"
    with ScriptedChat([SAID]) as chat:
        first = Shallow().answer(SUPPLIER, replace(_parts(filled, chat), chat=CachedChat(chat, file)))
    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    file.write_text("".join(json.dumps({**line, "seconds": 1e6}) + "\n" for line in lines), "utf-8")
    with ScriptedChat([]) as chat:
        again = Shallow().answer(SUPPLIER, replace(_parts(filled, chat), chat=CachedChat(chat, file)))
    assert again.cost.seconds > 9e5
    assert again.cost.seconds < 1.5e6

    def timeless(answered: Answered) -> Answered:
        return replace(answered, cost=replace(answered.cost, seconds=0), first_words=None)

    assert timeless(again) == timeless(first)


def test_whoever_watches_reads_along(filled: Store) -> None:
    for system in PLAIN:
        told: list[Event] = []
        with ScriptedChat([SAID]) as chat:
            system.answer(SUPPLIER, replace(_parts(filled, chat), on_event=told.append))
        assert "".join(event.text for event in told if isinstance(event, AnswerText)) == SAID
        first = next(n for n, event in enumerate(told) if isinstance(event, AnswerText))
        doing = [event.node for event in told[:first] if isinstance(event, NodeStarted)]
        assert doing[-1] == ("answer_directly" if system.name == "closed-book" else "synthesise")


@pytest.mark.parametrize("system", PLAIN, ids=lambda system: system.name)
def test_an_answer_is_given_up_when_that_is_wanted(filled: Store, system: System) -> None:
    cancel = threading.Event()
    cancel.set()
    with ScriptedChat([]) as chat, pytest.raises(GenerationCancelled):
        system.answer(SUPPLIER, replace(_parts(filled, chat), cancel=cancel))


def test_two_hops_of_one_question_are_followed_apart(filled: Store) -> None:
    both = replace(SUPPLIER, gold=(Place("annual-report"), Place("elsewhere")))
    answered, _ = _answered(Shallow(), filled, [SAID], both)
    assert answered.traced == {"reached": 0.5, "recalled": 0.5}


def test_a_pooled_set_is_searched_and_traced_by_its_positions(store: Store) -> None:
    texts = ["The river Elm flows north.", "Hank Snow was born in Brooklyn.", "Hello Love is by Hank Snow."]
    asked = Question("q", "Where was Hank Snow born?", ("Brooklyn",), frozenset({1}))
    questions = QuestionSet(
        "small_dev", tuple(Paragraph(f"T{n}", text) for n, text in enumerate(texts)), (asked,)
    )
    list(pool(questions, store, RememberingEmbedder(HashEmbedder())))
    read = pooled(questions)
    with ScriptedChat(["Hank Snow was born in Brooklyn [1]."]) as chat:
        parts = replace(_parts(store, chat), collections=read.collections)
        answered = SearchAndAnswer().answer(read.cases[0], parts)
    assert answered.cited == (Place("1"),)
    assert set(answered.held) == {Place("0"), Place("1"), Place("2")}
    assert answered.traced == {"reached": 1.0, "recalled": 1.0}
