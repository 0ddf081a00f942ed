"""Step ``converse``: replies to small talk and to questions about the conversation, without documents."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from agent import prompts
from agent.budget import BudgetExhausted
from agent.deps import Deps
from agent.events import Answered
from agent.session import Session
from agent.state import RunState, Turn

_SMALL_TALK: Final = frozenset(
    "hi|hello|hey|hi there|hello there|good morning|good afternoon|good evening|how are you|thanks|"
    "thank you|thanks a lot|many thanks|thx|great|perfect|ok|okay|got it|bye|goodbye|who are you|"
    "what can you do|what can i ask|help|hallo|guten tag|guten morgen|guten abend|moin|servus|danke|"
    "danke schön|vielen dank|tschüss|wer bist du|was kannst du|hilfe|bonjour|salut|bonsoir|merci|"
    "merci beaucoup|au revoir|qui es tu|aide|hola|buenos días|gracias|muchas gracias|adiós|ayuda|ciao|"
    "你好|您好|谢谢|再见|你是谁|你能做什么|帮助|こんにちは|ありがとう|안녕하세요|감사합니다".split("|")
)
"""Complete messages that are recognised without a model."""
_PURPOSE: Final = "I answer questions from your own documents, and cite the passage of each sentence."
_MAX_TOKENS: Final = 160
_RECENT_TURNS: Final = 4  # with more, a small model loses sight of the question


def answer_directly(state: RunState, deps: Deps) -> dict[str, Any]:
    """Reads question, turns. Writes answer, status, stopped_because."""
    text = reply(deps.session, state["question"], state["turns"], deps.described)
    deps.session.emit(Answered(text, [], []))
    return {"answer": text, "status": "answered", "stopped_because": "no documents were needed"}


def reply(session: Session, question: str, turns: Sequence[Turn], tools: Sequence[tuple[str, str]]) -> str:
    """The model's reply from the conversation alone; for small talk, or without a reply, what can be asked.

    ``turns`` is the conversation, oldest first; ``tools`` has the names and descriptions of collections.
    """
    if is_small_talk(question):
        return _abilities(tools)
    recent = [(turn["question"], turn["answer"]) for turn in turns[-_RECENT_TURNS:]]
    try:
        response = session.write("converse", [], prompts.converse(question, recent, tools), _MAX_TOKENS)
    except BudgetExhausted:
        return _abilities(tools)
    return response.text.strip() or _abilities(tools)


def is_small_talk(message: str) -> bool:
    """Whether the whole message is a known greeting, thanks or call for help."""
    return " ".join(re.sub(r"[^\w\s]", " ", message.casefold()).split()) in _SMALL_TALK


def _abilities(tools: Sequence[tuple[str, str]]) -> str:
    if not tools:
        return f"{_PURPOSE} None have been read yet."
    collections = "\n".join(f"- {name}: {description}" for name, description in tools)
    return f"{_PURPOSE} There are:\n{collections}\nA question may have several parts."
