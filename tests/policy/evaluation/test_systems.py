"""What each system reads, what it may say, and what is known of its answer."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from agent.budget import Budget
from agent.events import AnswerText, Event, NodeStarted, Searched
from agent.prompts import NOT_FOUND
from agent.run import EmptyLibrary
from models.protocols import GenerationCancelled, Reading
from policy.evaluation.systems import SYSTEMS, Answered, Cost, Looped, Parts, System
from policy.questions import Place
from tests.policy.evaluation.working import CASE, READER, STEPS, WRITTEN, parts, replying
from tests.scripted import HashEmbedder, Scripted, ScriptedChat, WordReader
from traces.runs import Runs
from traces.store import Store

SUPPLIER = "Who supplies Orlavane's ceramic bearings?"
SAID = "Orlavane buys all of its ceramic bearings from Tolvang Ceramics [1]."
PLAIN = [system for system in SYSTEMS.values() if not isinstance(system, Looped)]
SHALLOW, SEARCH, GUESS, CRAG = (
    SYSTEMS[name] for name in ("shallow", "search-and-answer", "search-and-guess", "crag")
)
FROM_PASSAGES = [SHALLOW, SEARCH, CRAG]
LEAN = Looped("lean", "rules")
NO_REVISION = Budget(revisions=0)


@pytest.fixture(scope="module")
def filled(library: Path, tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A small library; only runs are added to it."""
    return Store(Path(shutil.copy(library, tmp_path_factory.mktemp("library"))))


def _parts(store: Store, chat: ScriptedChat) -> Parts:
    return Parts(chat, HashEmbedder(), WordReader(), store)


def _answered(
    system: System, store: Store, replies: Sequence[Scripted], asked: str = SUPPLIER
) -> tuple[Answered, list[str]]:
    with ScriptedChat(replies) as chat:
        answered = system(asked, _parts(store, chat))
    return answered, ["\n".join(m.content for m in call.messages) for call in chat.calls]


def test_a_closed_book_sees_the_question_and_nothing_else(store: Store) -> None:
    answered, prompts = _answered(SYSTEMS["closed-book"], store, ["Tolvang Ceramics does."])
    assert SUPPLIER in prompts[0]
    assert "PASSAGES" not in prompts[0]
    assert (answered.text, answered.abstained) == ("Tolvang Ceramics does.", False)
    assert answered.in_prompt == answered.cited == ()
    assert (answered.sentences, answered.flagged, answered.recalled) == (0, 0, None)
    assert (answered.cost.steps, answered.cost.calls) == (0, 1)
    assert answered.cost.generated == 3


@pytest.mark.parametrize("system", FROM_PASSAGES, ids=["shallow", "search-and-answer", "crag"])
def test_an_answer_is_told_with_its_evidence_and_its_cost(filled: Store, system: System) -> None:
    wrong = f"{SAID} Orlavane employed 9,999 people at the end of 2024 [1]."
    answered, prompts = _answered(system, filled, [("PASSAGES:\n[1] ", wrong)])
    assert (answered.text.startswith(SAID), answered.abstained, answered.stopped) == (True, False, "")
    assert answered.in_prompt[0] == Place("annual-report")
    assert answered.cited == (Place("annual-report"),)
    assert (answered.sentences, answered.flagged) == (2, 1)
    assert answered.cost == Cost(
        1, 1, answered.cost.evaluated, 0, len(wrong.split()), answered.cost.seconds
    )
    assert answered.cost.evaluated > 20
    assert NOT_FOUND in prompts[0]
    if system is SHALLOW:
        assert "[4] " not in prompts[0], "the three nearest alone"


def test_there_must_be_something_to_search(store: Store) -> None:
    with pytest.raises(EmptyLibrary):
        _answered(SEARCH, store, [])


def test_search_and_guess_reads_what_the_reader_prefers_too_and_has_no_leave_to_find_nothing(
    filled: Store,
) -> None:
    class Contrary(WordReader):
        def read(self, question: str, passages: Sequence[str]) -> list[Reading]:
            return [Reading(float("Ostra 180" in passage), ()) for passage in passages]

    with ScriptedChat([NOT_FOUND, SAID]) as chat:
        given = replace(_parts(filled, chat), reader=Contrary())
        answered, guessed = SEARCH(SUPPLIER, given), GUESS(SUPPLIER, given)
    asked, pressed = (call.messages[-1].content for call in chat.calls)
    assert guessed.in_prompt == answered.in_prompt
    assert answered.in_prompt[0] == Place("launch")
    assert "[1] Haldrecht launched" in asked
    assert pressed.partition(" like [1]. ")[0] == asked.partition(" like [1]. ")[0]
    assert (NOT_FOUND in asked, NOT_FOUND in pressed) == (True, False)


def test_crag_looks_again_where_no_passage_helps(filled: Store) -> None:
    searches: list[int] = []
    counts: list[int] = []
    for score in (0.99, 0.3, 0.0):
        told: list[Event] = []
        with ScriptedChat([NOT_FOUND]) as chat:
            given = replace(_parts(filled, chat), reader=WordReader(reads=score), on_event=told.append)
            answered = CRAG(SUPPLIER, given)
        assert (answered.cost.steps, answered.cost.calls) == (1, 1)
        searches.append(sum(isinstance(event, Searched) for event in told))
        counts.append(len(answered.in_prompt))
    assert searches[0] == searches[1] < searches[2]
    assert counts[2] < counts[0]  # the reader is not alone in saying that nothing is there


def test_the_lowest_passages_give_way_to_a_small_context(filled: Store) -> None:
    with ScriptedChat([SAID], context_tokens=300) as chat:
        answered = SHALLOW(SUPPLIER, _parts(filled, chat))
    prompt = chat.calls[0].messages[-1].content
    assert "[1] " in prompt
    assert "[3] " not in prompt
    assert not answered.abstained


def test_whoever_watches_reads_along(filled: Store) -> None:
    for system in PLAIN:
        told: list[Event] = []
        with ScriptedChat([SAID]) as chat:
            system(SUPPLIER, replace(_parts(filled, chat), on_event=told.append))
        assert "".join(event.text for event in told if isinstance(event, AnswerText)) == SAID
        first = next(n for n, event in enumerate(told) if isinstance(event, AnswerText))
        doing = [event.node for event in told[:first] if isinstance(event, NodeStarted)]
        assert doing[-1] == ("answer_directly" if system is SYSTEMS["closed-book"] else "synthesise")


@pytest.mark.parametrize(
    "system", [SYSTEMS["closed-book"], SEARCH, LEAN], ids=["closed-book", "search-and-answer", "lean"]
)
def test_an_answer_is_given_up_when_that_is_wanted(filled: Store, system: System) -> None:
    cancel = threading.Event()
    cancel.set()
    with ScriptedChat([]) as chat, pytest.raises(GenerationCancelled):
        system(SUPPLIER, replace(_parts(filled, chat), cancel=cancel))


@pytest.mark.parametrize(
    ("system", "reply"),
    [
        (SYSTEMS["closed-book"], "I don't know who supplies them."),
        (SYSTEMS["closed-book"], ""),
        (SEARCH, NOT_FOUND),
    ],
)
def test_nothing_known_or_found_is_an_abstention(filled: Store, system: System, reply: str) -> None:
    answered, _ = _answered(system, filled, [reply])
    assert (answered.abstained, answered.cited) == (True, ())


def test_a_run_of_the_loop_is_an_answer(filled: Store) -> None:
    with replying(3) as chat:
        answered = LEAN(CASE.question, parts(chat, filled, NO_REVISION))
    assert answered.text.startswith(WRITTEN)
    assert not answered.abstained
    assert answered.in_prompt[:2] == (Place("annual-report"), Place("fire"))
    assert answered.cited == (Place("annual-report"),)
    assert (answered.sentences, answered.flagged) == (1, 0)
    assert (answered.cost.steps, answered.cost.calls) == (2, 3)
    assert answered.stopped == "rules: the plan is done, but 1 of its 2 steps found nothing certain"
    assert answered.recalled is not None
    assert set(CASE.gold) <= set(answered.recalled)
    assert answered.noted == (Place("annual-report"),)
    stored = Runs(filled).find("last")
    assert (stored.question, stored.decider) == (CASE.question, "rules")


def test_a_run_searches_only_the_given_collections(filled: Store) -> None:
    script: list[Scripted] = [{"steps": STEPS[:1]}, WRITTEN]
    with ScriptedChat(script) as chat:
        given = Parts(chat, HashEmbedder(), READER, filled, ("reports",), NO_REVISION)
        answered = LEAN(CASE.question, given)
    assert answered.recalled is not None
    assert Place("fire") not in answered.recalled


def test_a_run_that_finds_nothing_is_an_abstention(filled: Store) -> None:
    with ScriptedChat([{"steps": STEPS[:1]}, NOT_FOUND]) as chat:
        unmarked = replace(parts(chat, filled, NO_REVISION), reader=WordReader())
        answered = LEAN(CASE.question, unmarked)
    assert (answered.text, answered.abstained) == (NOT_FOUND, True)
    assert answered.cited == ()
    assert answered.in_prompt != ()
