"""What each system reads, what it may say, and what is known of its answer."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from agent.budget import Budget
from agent.events import AnswerText, Event, NodeStarted
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
SHALLOW, GUESS = SYSTEMS["shallow"], SYSTEMS["search-and-guess"]
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


@pytest.mark.parametrize("system", PLAIN, ids=["shallow", "search-and-guess"])
def test_an_answer_is_told_with_its_evidence_and_its_cost(filled: Store, system: System) -> None:
    wrong = f"{SAID} Orlavane employed 9,999 people at the end of 2024 [1]."
    answered, prompts = _answered(system, filled, [("PASSAGES:\n[1] ", wrong)])
    assert (answered.text.startswith(SAID), answered.abstained, answered.stopped) == (True, False, "")
    assert answered.in_prompt[0] == Place("annual-report")
    assert answered.cited == (Place("annual-report"),)
    assert (answered.sentences, answered.flagged) == (2, 1)
    assert answered.cost == Cost(
        answered.cost.evaluated, 0, len(wrong.split()), answered.cost.seconds, calls=1, steps=1
    )
    assert answered.cost.evaluated > 20
    assert NOT_FOUND not in prompts[0], "no leave to find nothing"
    if system is SHALLOW:
        assert "[4] " not in prompts[0], "the three nearest alone"


def test_there_must_be_something_to_search(store: Store) -> None:
    with pytest.raises(EmptyLibrary):
        _answered(GUESS, store, [])


def test_search_and_guess_reads_what_the_reader_prefers(filled: Store) -> None:
    class Contrary(WordReader):
        def read(self, question: str, passages: Sequence[str]) -> list[Reading]:
            return [Reading(float("Ostra 180" in passage), ()) for passage in passages]

    with ScriptedChat([("[1] Haldrecht launched", SAID)]) as chat:
        guessed = GUESS(SUPPLIER, replace(_parts(filled, chat), reader=Contrary()))
    assert guessed.in_prompt[0] == Place("launch")


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
        assert doing[-1] == "synthesise"


@pytest.mark.parametrize("system", [GUESS, LEAN], ids=["search-and-guess", "lean"])
def test_an_answer_is_given_up_when_that_is_wanted(filled: Store, system: System) -> None:
    cancel = threading.Event()
    cancel.set()
    with ScriptedChat([]) as chat, pytest.raises(GenerationCancelled):
        system(SUPPLIER, replace(_parts(filled, chat), cancel=cancel))


@pytest.mark.parametrize("reply", [NOT_FOUND, ""])
def test_nothing_found_is_an_abstention(filled: Store, reply: str) -> None:
    answered, _ = _answered(GUESS, filled, [reply])
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
