"""Parts of a run's state, and sessions on scripted replies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from agent.budget import Budget
from agent.events import Event
from agent.session import Session
from agent.state import AnswerSpan, Candidate, Evidence, Note, PlanStep, RunState, new_state
from tests.scripted import Scripted, ScriptedChat

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
    emit: Callable[[Event], None] = lambda _event: None,
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


def span(text: str, probability: float, unit: str = "") -> AnswerSpan:
    """Words that the reader marked, in their sentence."""
    return AnswerSpan(text=text, unit=unit or text, probability=probability)
