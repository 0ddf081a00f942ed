"""Step ``converse``: replies to small talk and to questions about the conversation, without documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from agent import prompts
from agent.budget import BudgetExhausted
from agent.deps import Deps
from agent.events import Answered
from agent.state import RunState
from agent.text.terms import words_of

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
    text = _reply(state, deps) or _abilities(deps.described)
    deps.session.emit(Answered(text, [], []))
    return {"answer": text, "status": "answered", "stopped_because": "no documents were needed"}


def _reply(state: RunState, deps: Deps) -> str:
    """The model's reply from the conversation alone; "" for small talk, or where it cannot be asked."""
    if is_small_talk(state["question"]):
        return ""
    recent = [(turn["question"], turn["answer"]) for turn in state["turns"][-_RECENT_TURNS:]]
    instruction = prompts.converse(state["question"], recent, deps.described)
    try:
        return deps.session.write("converse", [], instruction, _MAX_TOKENS).text.strip()
    except BudgetExhausted:
        return ""


def is_small_talk(message: str) -> bool:
    """Whether the whole message is a known greeting, thanks or call for help."""
    return words_of(message) in _SMALL_TALK


def _abilities(tools: Sequence[tuple[str, str]]) -> str:
    if not tools:
        return f"{_PURPOSE} None have been read yet."
    collections = "\n".join(f"- {name}: {description}" for name, description in tools)
    return f"{_PURPOSE} There are:\n{collections}\n\nA question may have several parts."
