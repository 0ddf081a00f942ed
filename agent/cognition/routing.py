"""Routing: what a question needs first: no documents, a question back, one search, or a plan."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from pydantic import BaseModel

from agent import prompts
from agent.budget import BudgetExhausted
from agent.cognition.forms import asks_one_fact, needs_several
from agent.cognition.rewriting import one_line
from agent.cognition.surface import has_cjk, names, pieces
from agent.cognition.talk import goes_on, is_talk, names_nothing, pointers, without_courtesy
from agent.retrieval.terms import terms
from agent.session import Session
from agent.state import Route, Turn

_SHORT = 6  # words; a longer message is hardly talk that no rule knows
_SHORT_CJK = 12  # characters
_ROUTE_TOKENS = 24
_ASKING_TOKENS = 48
_ASKS_WHAT_IS_MEANT = re.compile(r"\b(?:you mean|meinen|meinst|voulez-vous dire|quieres decir)\b|指|意思")


@dataclass(frozen=True, slots=True)
class Routed:
    """A route, and who chose it.

    Attributes:
        reason: One short sentence for people.
        source: ``rules`` or ``llm``.
        settled: False where ``deep`` is only the safe choice.
    """

    route: Route
    reason: str
    source: Literal["rules", "llm"]
    settled: bool = True


class Router(Protocol):
    """Chooses the route of a question."""

    def route(
        self,
        session: Session,
        question: str,
        turns: Sequence[Turn],
        tools: Sequence[tuple[str, str]],
        *,
        may_clarify: bool,
    ) -> Routed:
        """The route.

        A question of several look-ups that is searched once loses its answer, while a single fact that
        is planned for costs only time. So ``single`` is for what is clearly one, and ``deep`` for the rest.

        Args:
            session: The run's way to its model.
            question: As a question of its own.
            turns: The session before it.
            tools: Name and description of each collection.
            may_clarify: False once the person has been asked back.
        """
        ...


class PlainRouter:
    """Model-free: what the words alone make clear, and ``deep`` for the rest."""

    def route(
        self,
        session: Session,
        question: str,
        turns: Sequence[Turn],
        tools: Sequence[tuple[str, str]],
        *,
        may_clarify: bool,
    ) -> Routed:
        """By the forms of questions; ``deep`` where they leave it open, since that loses nothing."""
        return by_rules(question, turns, may_clarify=may_clarify) or _UNCLEAR


class _Chosen(BaseModel):
    route: Route


class ModelRouter:
    """Asks the model about every question, as the system does that routing comes from."""

    def route(
        self,
        session: Session,
        question: str,
        turns: Sequence[Turn],
        tools: Sequence[tuple[str, str]],
        *,
        may_clarify: bool,
    ) -> Routed:
        """The model's choice; ``deep`` where it gives none, or asks back when it may not."""
        chosen = _ask(session, question)
        if chosen is None or (chosen == "clarify" and not may_clarify):
            return _UNCLEAR
        return Routed(chosen, _MODEL_REASONS[chosen], "llm")


class RulesFirstRouter:
    """The rules where they are sure, and the model where it knows better.

    Measured on training questions that the rules leave open, the 1.5B model is right about every piece
    of talk, and whatever it finds unclear is unclear; but of multi-hop questions it takes half for one
    fact. So it is asked about short messages only, whether they are talk or unclear, and the rest is
    ``deep``.
    """

    def route(
        self,
        session: Session,
        question: str,
        turns: Sequence[Turn],
        tools: Sequence[tuple[str, str]],
        *,
        may_clarify: bool,
    ) -> Routed:
        """By the rules; short messages without a name that they leave open, by the model."""
        clear = by_rules(question, turns, may_clarify=may_clarify)
        if clear or not _is_short(question):
            return clear or _UNCLEAR
        chosen = _ask(session, question)
        if chosen == "direct" or (chosen == "clarify" and may_clarify):
            return Routed(chosen, _MODEL_REASONS[chosen], "llm")
        return _UNCLEAR


def clarifying_question(
    session: Session, question: str, tools: Sequence[tuple[str, str]], source: str
) -> str:
    """One line that asks a person what ``question`` means.

    Args:
        session: The run's way to its model.
        question: What is unclear.
        tools: Name and description of each collection.
        source: Who found it unclear; where that was the model, the model also words the question.
    """
    if source == "llm":
        try:
            reply = session.write("clarify", [], prompts.clarify(question, tools), _ASKING_TOKENS)
        except BudgetExhausted:
            return _plain_clarifying_question(question, tools)
        asked = one_line(reply.text)
        # A small model often asks something else ("What did the person ask for?").
        about = _ASKS_WHAT_IS_MEANT.search(asked) or not set(terms(question)).isdisjoint(terms(asked))
        if asked.endswith(("?", "？")) and about:
            return asked
    return _plain_clarifying_question(question, tools)


_UNCLEAR = Routed("deep", "It may need more than one look-up.", "rules", settled=False)
_MODEL_REASONS: dict[Route, str] = {
    "direct": "It needs no documents.",
    "clarify": "It does not say what is meant.",
    "single": "It asks for one fact about one thing.",
    "deep": "It needs more than one look-up.",
}


def _ask(session: Session, question: str) -> Route | None:
    """The model's choice; None if it makes none."""
    try:
        result = session.ask(
            "route", [], prompts.route(question), _Chosen, _Chosen(route="deep"), _ROUTE_TOKENS
        )
    except BudgetExhausted:
        return None
    return None if result.origin == "default" else result.value.route


def by_rules(question: str, turns: Sequence[Turn], *, may_clarify: bool) -> Routed | None:
    """The route of a question that the rules are sure of."""
    talk = is_talk(question)
    if talk:
        return Routed("direct", talk, "rules")
    asked = without_courtesy(question)
    if may_clarify and not turns:
        if names_nothing(asked):
            return Routed("clarify", "It does not say what is meant.", "rules")
        if goes_on(asked):
            return Routed("clarify", "It goes on from something that was not said.", "rules")
    several = needs_several(asked)
    if several:
        return Routed("deep", several, "rules")
    one = asks_one_fact(asked)
    return Routed("single", one, "rules") if one else None


def _is_short(question: str) -> bool:
    if has_cjk(question):
        return len(question.strip()) <= _SHORT_CJK
    return len(question.split()) <= _SHORT and not names(question)


def _plain_clarifying_question(question: str, tools: Sequence[tuple[str, str]]) -> str:
    """Names what is missing, and where one can look."""
    said = [piece for piece in pieces(question) if piece.kind in {"name", "period"}]
    pointing = pointers(question)
    if said:
        asks = f"What would you like to know about {said[0].text}?"
    elif pointing:
        asks = f"What do you mean by “{pointing[0]}”?"
    else:
        asks = "Which company, document or figure do you mean?"
    listed = ", ".join(name for name, _ in tools)
    return f"{asks} I can look in: {listed}." if listed else asks
