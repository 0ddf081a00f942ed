"""The short answer inside a system's answer: the same extraction for all, so that EM and F1 are fair.

The data sets' measures compare a few words with a few words, and no system here writes so. The model is
asked once for the words of the answer that the question asks for; the system is not charged for that.
"""

from __future__ import annotations

import re
from typing import Final

from agent.steps.synthesise import abstains
from agent.text.sentences import sentences
from agent.text.terms import terms
from models.protocols import Chat, ChatOptions, Message

UNKNOWN: Final = "I do not know"
"""What a system without documents is asked to write where it has no answer."""
_UNKNOWN = (UNKNOWN, "I don't know", "I don’t know")
_SYSTEM = "You copy the answer to a question out of a text. You add nothing of your own."
# Told what to copy, a 0.5B repeats the text; shown it, it copies: right in 7 of 8 texts, before in none.
_EXAMPLES = (
    ("Who built the Marrow bridge?", "The Marrow bridge was built by Ansel Kadis in 1911.", "Ansel Kadis"),
    (
        "When did the company that owns Lunar Tide open its first shop?",
        "Lunar Tide is owned by Varo Foods, a retailer that opened its first shop on 3 May 1964.",
        "3 May 1964",
    ),
    (
        "Which river does the town where Avelin was born lie on?",
        "Avelin was born in Kestrel, a town on the Oder.",
        "the Oder",
    ),
    ("Were Ilse Brandt and Ugo Marin born in one country?", "Both were born in Estonia.", "yes"),
)
_TOKENS = 24
_YES_NO = ("yes", "no")
_MARKS = re.compile(r"\s*\[\d+(?:\s*,\s*\d+)*\]")
_FLAGS = re.compile(r"\s*\((?:not supported by the sources|only partly supported)\)")  # of agent.citations
_LABEL: Final = "ANSWER:"
_WRAPPING = " \t\"'“”‘’«»`*_"


def shorten(chat: Chat, question: str, text: str) -> str:
    """The answer in as few words as the question asks for; "" for one that answers nothing.

    Args:
        chat: The model that wrote the answer.
        question: What was asked.
        text: What was answered, with or without citation marks.

    Raises what the model raises.
    """
    if says_nothing(text):
        return ""
    answer = _FLAGS.sub("", _MARKS.sub("", text)).strip()
    shown = [
        message
        for asked, told, short in _EXAMPLES
        for message in (_put(asked, told), Message("assistant", short))
    ]
    messages = [Message("system", _SYSTEM), *shown, _put(question, answer)]
    short = _tidied(chat.generate(messages, ChatOptions(max_tokens=_TOKENS)).text)
    return "" if _invented(short, answer) else short


def says_nothing(text: str) -> bool:
    """True of an empty text, and of one that begins by saying that it has no answer.

    What follows such a sentence is an excuse, as the run's own check has it (`agent.steps.verify`).
    """
    said = next((one for one in sentences(_MARKS.sub("", text)) if any(c.isalnum() for c in one)), "")
    return not said or abstains(said) or said.startswith(_UNKNOWN)


def _put(question: str, text: str) -> Message:
    return Message("user", f"QUESTION: {question}\nTEXT: {text}\n{_LABEL}")


def _invented(short: str, answer: str) -> bool:
    """Where the text holds no answer, a small model copies one out of an example."""
    return short not in _YES_NO and not set(terms(short)) & set(terms(answer))


def _tidied(text: str) -> str:
    """The first line of a reply, without what is no part of the answer."""
    line = next((line for line in text.splitlines() if line.strip()), "")
    bare = _MARKS.sub("", line).strip(_WRAPPING).removeprefix(_LABEL).strip(_WRAPPING)
    if bare.endswith(".") and not bare.endswith(".."):
        bare = bare[:-1].rstrip(_WRAPPING)
    if says_nothing(bare):
        return ""
    return bare.lower() if bare.lower() in _YES_NO else bare
