"""Conversing: what is answered without documents: a greeting, thanks, what one can ask, what was asked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from agent import prompts
from agent.budget import BudgetExhausted
from agent.session import Session
from agent.state import Turn

_GREETING = re.compile(
    r"^\W*(?:hi|hello|hey|hiya|howdy|greetings|good (?:morning|afternoon|evening|day)|你好|您好)\b.{0,20}$",
    re.IGNORECASE,
)
_THANKS = re.compile(
    r"^\W*(?:thanks?(?: you)?|thx|many thanks|cheers|great|perfect|谢谢)\b.{0,40}$", re.IGNORECASE
)
_FAREWELL = re.compile(r"^\W*(?:bye|goodbye|see you|good night|再见)\b.{0,20}$", re.IGNORECASE)
_ABILITY = re.compile(
    r"\b(?:what (?:can|do) you (?:do|know|have)|who are you|what are you|"
    r"how (?:do|can|should) i (?:use|ask)|what can i ask|which (?:documents|collections|files)|help)\b",
    re.IGNORECASE,
)
_ASKED = re.compile(
    r"\bwhat (?:did|have|had|was|were) (?:i|we|my|our)\b.*\b(?:ask|asked|question|questions|talk|talked)\b"
    r"|\bmy (?:last|first|previous) questions?\b|\bquestions? (?:that )?i (?:have )?asked\b",
    re.IGNORECASE,
)
_ANSWERED = re.compile(
    r"\b(?:what (?:did|have) you (?:say|said|answer|tell)|repeat|say (?:that|it) again|"
    r"your (?:last|previous|first) answer)\b",
    re.IGNORECASE,
)
_FIRST = re.compile(r"\bfirst\b", re.IGNORECASE)
_LAST = re.compile(r"\b(?:last|just|previous|latest)\b", re.IGNORECASE)
_PURPOSE = "I answer questions from your own documents and cite where each sentence stands."
_MAX_TOKENS = 160
_SHOWN_TURNS = 4  # the most recent ones; a small model forgets the question over more


class Converser(Protocol):
    """Replies where nothing has to be looked up."""

    def reply(
        self, session: Session, question: str, turns: Sequence[Turn], tools: Sequence[tuple[str, str]]
    ) -> str:
        """The reply, never empty.

        Args:
            session: The run's way to its model.
            question: What the person wrote.
            turns: The conversation so far, oldest first.
            tools: Name and description of each collection.
        """
        ...


class PlainConverser:
    """Model-free: greetings, thanks, what there is to ask about, and what was asked and answered before."""

    def reply(
        self, session: Session, question: str, turns: Sequence[Turn], tools: Sequence[tuple[str, str]]
    ) -> str:
        """The reply that fits; what one can ask where none does."""
        return self.clear(question, turns, tools) or _abilities(tools)

    def clear(self, question: str, turns: Sequence[Turn], tools: Sequence[tuple[str, str]]) -> str:
        """The reply to one of the clear cases; "" if it is none of them."""
        if _ASKED.search(question):
            return _asked(question, turns)
        if _ANSWERED.search(question):
            return _answered(question, turns)
        fixed = (
            (_ABILITY, _abilities(tools)),
            (_GREETING, f"Hello. {_abilities(tools)}"),
            (_FAREWELL, "Goodbye."),
            (_THANKS, "You are welcome. Ask on whenever you like."),
        )
        return next((reply for pattern, reply in fixed if pattern.search(question)), "")


class ModelConverser:
    """Asks the model where the case is not clear; it may use the conversation and nothing else.

    Args:
        plain: Replies to the clear cases.
    """

    def __init__(self, plain: PlainConverser | None = None) -> None:
        self._plain = plain or PlainConverser()

    def reply(
        self, session: Session, question: str, turns: Sequence[Turn], tools: Sequence[tuple[str, str]]
    ) -> str:
        """The model's reply; the plain one where it says nothing or may not be asked any more."""
        clear = self._plain.clear(question, turns, tools)
        if clear:
            return clear
        recent = [(turn["question"], turn["answer"]) for turn in turns[-_SHOWN_TURNS:]]
        instruction = prompts.converse(question, recent, tools)
        try:
            reply = session.write("converse", [], instruction, _MAX_TOKENS)
        except BudgetExhausted:
            return self._plain.reply(session, question, turns, tools)
        return reply.text.strip() or self._plain.reply(session, question, turns, tools)


def _abilities(tools: Sequence[tuple[str, str]]) -> str:
    if not tools:
        return f"{_PURPOSE} None have been read yet."
    listed = "\n".join(f"- {name}: {description}" for name, description in tools)
    return (
        f"{_PURPOSE} There is:\n{listed}\n"
        "Ask in a full sentence, with the names and years you mean; a question may have several parts."
    )


def _asked(question: str, turns: Sequence[Turn]) -> str:
    if not turns:
        return "You have not asked anything in this session yet."
    if _FIRST.search(question):
        return f"Your first question was: {turns[0]['question']}"
    if _LAST.search(question) or len(turns) == 1:
        return f"Your last question was: {turns[-1]['question']}"
    return "You asked:\n" + "\n".join(f"{i}. {turn['question']}" for i, turn in enumerate(turns, start=1))


def _answered(question: str, turns: Sequence[Turn]) -> str:
    if not turns:
        return "I have not answered anything in this session yet."
    turn = turns[0] if _FIRST.search(question) else turns[-1]
    return f"You asked: {turn['question']}\nThe answer was: {turn['answer']}"
