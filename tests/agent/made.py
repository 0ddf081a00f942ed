"""Parts of a run, sessions on scripted replies, stored documents, and what to look for in events."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import agent.events as ev
from agent.budget import Budget
from agent.decisions.decider import PolicyState
from agent.session import Session
from agent.state import AnswerSpan, Candidate, Evidence, Note, PlanStep, RunState, new_state
from agent.text.terms import terms
from tests.scripted import HashEmbedder, Scripted, ScriptedChat
from traces.library import Library
from traces.records import Chunk, NewDocument

E = TypeVar("E", bound=ev.Event)

QUESTION = "Name the supplier of Orlavane's ceramic bearings and the event that halted its plant."
ONE_STEP: dict[str, Any] = {"steps": ["Who supplies Orlavane's ceramic bearings?"]}
TWO_STEPS: dict[str, Any] = {"steps": [*ONE_STEP["steps"], "What halted production at the plant of #1?"]}
FIRST = "Tolvang Ceramics"
WRITTEN = "Tolvang Ceramics supplies the bearings [1]. A fire at the Brevnes plant halted production [9]."
WHOLE: list[Scripted] = [TWO_STEPS, FIRST, WRITTEN]
"""The replies of a whole run; the reader alone answers the second step."""

_PASSAGE: dict[str, Any] = {
    "collection": "reports",
    "document": "annual-report",
    "title": "Annual report",
    "date": "",
    "section": "",
    "page": None,
    "kind": "text",
    "score": 0.5,
}


@contextmanager
def scripted(
    *replies: Scripted,
    budget: Budget | None = None,
    emit: Callable[[ev.Event], None] = lambda _event: None,
    context_tokens: int = 8192,
) -> Iterator[Session]:
    """A session whose model gives these replies, each of which must be asked for."""
    with ScriptedChat(replies, context_tokens=context_tokens) as chat:
        yield Session(chat, budget or Budget(), emit)


def state(**changes: Any) -> RunState:
    """A run's state with some fields changed."""
    made: Any = {**new_state("Who supplies Orlavane's ceramic bearings?"), **changes}
    return made  # type: ignore[no-any-return]


def step(question: str, **changes: Any) -> PlanStep:
    """A plan step that asks ``question``."""
    made: Any = {"question": question, "reason": "", "tool": "", "keywords": "", "section": "", **changes}
    return made  # type: ignore[no-any-return]


def candidate(passage_id: int, text: str, **changes: Any) -> Candidate:
    """A recalled passage."""
    own = {"passage_id": passage_id, "document_id": 1, "text": text, "scores": {}, "grade": ""}
    made: Any = {**_PASSAGE, **own, **changes}
    return made  # type: ignore[no-any-return]


def evidence(number: int, text: str, **changes: Any) -> Evidence:
    """A passage that was kept, whole."""
    own = {"number": number, "step": 1, "passage_id": number, "text": text, "excerpt": text}
    made: Any = {**_PASSAGE, **own, **changes}
    return made  # type: ignore[no-any-return]


def note(answer: str, *cites: int, **changes: Any) -> Note:
    """A finding; without ``cites`` nothing was found."""
    made: Any = {
        "step": 1,
        "question": "Who makes them?",
        "sentence": answer,
        "answer": answer,
        "cites": list(cites),
        "found": bool(cites),
        "revision": 0,
        **changes,
    }
    return made  # type: ignore[no-any-return]


def observed(**changes: Any) -> PolicyState:
    """What a decider sees after the first of two steps, with some fields changed."""
    first: dict[str, Any] = {
        "question": "Who painted it?",
        "step": 1,
        "steps_left": 5,
        "revisions_left": 2,
        "tokens_left": 1.0,
        "plan_done": 1,
        "open_questions": ["Where is #1?"],
        "last_action": "",
        "query": "painter",
        "fresh": 1,
        "again": 1,
        "barren": 0,
        "top_score": 0.9,
        "scores": [0.91, 0.2],
        "grade": "correct",
        "corrections": 0,
        "missing": [],
        "findings": [{"question": "Who?", "answer": "Anna Ode", "found": True, "relevance": 0.9}],
        "evidence": [{"title": "Weak", "excerpt": "It may be.", "step": 1, "relevance": 0.1}],
    }
    return PolicyState(**{**first, **changes})


def span(text: str, probability: float, unit: str = "") -> AnswerSpan:
    """Words that the reader marked, in their sentence."""
    return AnswerSpan(text=text, unit=unit or text, probability=probability)


def document(name: str, texts: Sequence[str], collection: str = "news", **changes: Any) -> NewDocument:
    """A document with one passage a text, with some fields changed."""
    fields: dict[str, Any] = {
        "collection": collection,
        "source": f"/{collection}/{name}",
        "name": name,
        "title": name.replace("-", " ").capitalize(),
        "media_type": "text/plain",
        "sha256": name,
        "bytes": sum(map(len, texts)),
        "pages": None,
        "date": "2025-01-01",
        "coverage": 1.0,
        "notices": (),
        "reader": 1,
        "chunks": tuple(
            Chunk(i, "text", (f"Item {i}",), None, text, tuple(terms(text))) for i, text in enumerate(texts)
        ),
    }
    return NewDocument(**{**fields, **changes})


def put(
    library: Library,
    name: str,
    texts: Sequence[str],
    collection: str = "news",
    embedder: HashEmbedder | None = None,
    **changes: Any,
) -> int:
    """Store such a document; its id."""
    model = embedder or HashEmbedder()
    made = document(name, texts, collection, **changes)
    return library.put_document(made, model.embed_passages(texts), model.name)


def only(events: Iterable[ev.Event], kind: type[E]) -> list[E]:
    """The events of one kind."""
    return [event for event in events if isinstance(event, kind)]


def end(events: Sequence[ev.Event]) -> ev.RunFinished:
    """The last event, which must be the end of the run."""
    assert isinstance(events[-1], ev.RunFinished)
    return events[-1]


def answered(events: Iterable[ev.Event]) -> ev.Answered:
    """The last answer."""
    return only(events, ev.Answered)[-1]


def warnings(events: Iterable[ev.Event]) -> list[str]:
    """The messages of the warnings."""
    return [event.message for event in only(events, ev.Warned)]
