"""The short answer inside a system's answer: the same extraction for all, so that EM and F1 are fair.

The data sets' measures compare a few words with a few words, and no system here writes so. Its model is
asked once for the words of its own answer that the question asks for; code takes off what is no part of
them. Where it gives words of the question instead, or of an example, it picks one of the names and dates
that its answer has and the question has not. No call of these is charged to the system.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

from agent.steps.synthesise import abstains
from agent.text.language import language
from agent.text.names import phrases
from agent.text.sentences import sentences
from agent.text.terms import terms
from models.protocols import Chat, ChatOptions, Message
from policy.evaluation.cases import Case
from policy.evaluation.scoring import NO_SOURCE

Shorten: TypeAlias = Callable[[Chat, str, str], str]
"""An answer in as few words as its question asks for: `shorten`."""

_SYSTEM = "You copy the answer to a question out of a text. You add nothing of your own."
# Told what to copy, a 0.5B repeats the text; shown it, it copies: right in 7 of 8 texts, before in none.
_EXAMPLES = (
    (
        "Who built the Marrow bridge?",
        "The Marrow bridge was built by Ansel Kadis in 1911.",
        "Ansel Kadis",
    ),
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
)
_NAME_WORDS = 8  # a text that begins with more begins with a sentence
_TOKENS = 24
_YES_NO = ("yes", "no")

_ASKS = r"(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should)\b"
_BEGINS = re.compile(rf"(?:{_ASKS}|both\b)", re.IGNORECASE)
_TURNS = re.compile(rf",\s{_ASKS}|\bboth\b|\bthe same\b", re.IGNORECASE)
_OPEN = re.compile(r"\b(?:who|whom|whose|what|which|where|when|why|how)\b", re.IGNORECASE)
_OPEN_AT_LAST = re.compile(rf"{_OPEN.pattern}(?:\s[^\s?]+)?\s*\?", re.IGNORECASE)
_OR = re.compile(r"\bor\b", re.IGNORECASE)
_TOGETHER = re.compile(r"\b(?:both|same)\b", re.IGNORECASE)

_UNSPEAKABLE = re.compile(r"[\"\\\n]")  # would have to be escaped in JSON
_DATE = re.compile(r"(?:\d{1,2} )?(?:[A-Z][a-z]+ )?(?:\d{1,2}, )?\b\d{4}\b")
_UNSURE = re.compile(r"\bI (?:do not|don['’]t) know\b", re.IGNORECASE)
_MARKS = re.compile(r"\s*\[\d+(?:\s*,\s*\d+)*\]")
_FLAGS = re.compile(r"\s*\((?:not supported by the sources|only partly supported)\)")  # of agent.citations
_LABEL = re.compile(
    r"^(?:(?:short )?answer\s*:\s*|text\s*:\s*|the (?:short )?answer(?:\s+is\b:?|\s*:)\s*)+", re.IGNORECASE
)
_SAID = re.compile(  # but not "No Doubt"
    rf"\W*((?i:yes|no)){NO_SOURCE}(?=\s*(?:[,.;:!—–-]|$)|\s+[a-z])"
)
_WRAPPING = " \t\"'“”‘’«»`*_"


def short_form(case: Case, text: str, chat: Chat, shorten: Shorten) -> str:
    """The short answer inside ``text``; "" for a case whose whole answer is judged."""
    return "" if case.by_patterns else shorten(chat, case.question, text)


def shorten(chat: Chat, question: str, text: str) -> str:
    """The answer in as few words as the question asks for; "" for one that answers nothing.

    A question that can be answered with yes or no gets one of them. A text that is a name, or begins with
    a few words that it then explains, has given it.

    Args:
        chat: The model that wrote the answer.
        question: What was asked.
        text: What was answered, with or without citation marks.

    Raises what the model raises.
    """
    if says_nothing(text):
        return ""
    said = unmarked(text)
    if asks_yes_or_no(question):
        return _yes_or_no(chat, question, said)
    stated = _stated(said)
    if stated:
        return _tidied(stated)
    short = _copied(chat, question, said)
    if not short or short in _YES_NO:
        return short
    kept = "" if _invented(short, said) else short
    if (kept and kept.casefold() not in question.casefold()) or _offers_a_choice(question):
        return kept
    return _picked(chat, question, said) or kept


def _stated(said: str) -> str:
    """What a text begins with if that is no sentence: a name, a number, or words that come again in it.

    "" for a text that begins with a sentence.
    """
    first, *rest = sentences(said)
    words = first.strip(" .").split()
    named = not rest and all(not word[0].islower() for word in words)
    again = " ".join(words).casefold() in " ".join(rest).casefold()
    return first if len(words) <= _NAME_WORDS and (named or again) else ""


def _yes_or_no(chat: Chat, question: str, said: str) -> str:
    begins = _SAID.match(said)
    if begins:
        return begins.group(1).lower()
    wanted = _put(question, said, "Answer with one word, yes or no.")
    picked = chat.choose([Message("system", _SYSTEM), wanted], _YES_NO)
    return _YES_NO[picked.index]


def _copied(chat: Chat, question: str, said: str) -> str:
    shown = [
        message
        for asked, told, short in _EXAMPLES
        for message in (_put(asked, told, "ANSWER:"), Message("assistant", short))
    ]
    messages = [Message("system", _SYSTEM), *shown, _put(question, said, "ANSWER:")]
    return _tidied(chat.generate(messages, ChatOptions(max_tokens=_TOKENS)).text)


def _picked(chat: Chat, question: str, said: str) -> str:
    """One of the names and dates that the text has and the question has not; "" where there are none."""
    asked = set(terms(question))
    dates = _DATE.findall(said)
    named = [one for one in phrases(said, language(said)) if not any(one in date for date in dates)]
    options = [
        one
        for one in dict.fromkeys([*named, *dates])
        if not (set(terms(one)) <= asked or _UNSPEAKABLE.search(one))
    ]
    if not options:
        return ""
    schema = {
        "type": "object",
        "properties": {"answer": {"type": "string", "enum": options}},
        "required": ["answer"],
    }
    wanted = _put(question, said, "Which of its names or dates answers the question?")
    messages = [Message("system", _SYSTEM), wanted]
    reply = chat.generate(messages, ChatOptions(max_tokens=2 * _TOKENS, schema=schema))
    return next((one for one in options if f'"{one}"' in reply.text), "")


def unmarked(text: str) -> str:
    """An answer without its citation marks and flags."""
    return _FLAGS.sub("", _MARKS.sub("", text)).strip()


def says_nothing(text: str) -> bool:
    """True of an empty text, and of one that begins by saying that it has no answer.

    What follows such a sentence is an excuse, as the run's own check has it (`agent.steps.verify`).
    """
    said = next((one for one in sentences(_MARKS.sub("", text)) if any(c.isalnum() for c in one)), "")
    return not said or abstains(said) or _UNSURE.search(said) is not None


def asks_yes_or_no(question: str) -> bool:
    """True if the question, by its form, wants yes or no.

    Fitted to the train files: it knows all 191 of HotpotQA and 2Wiki, and takes none of their and MuSiQue's
    992 others for one.
    """
    asked = sentences(question)[0] if question.strip() else ""
    choice = _OR.search(asked) is not None
    if _BEGINS.match(asked) and not _OPEN_AT_LAST.search(asked):
        return not choice or _TOGETHER.search(asked) is not None  # "or" in the title of a film
    return not choice and not _OPEN.search(asked) and _TURNS.search(asked) is not None


def _invented(short: str, said: str) -> bool:
    # Where the text holds no answer, a small model copies one out of an example.
    own, examples = set(terms(said)), set(terms(" ".join(short for *_, short in _EXAMPLES)))
    told = set(terms(short))
    return not told & own or bool((told - own) & examples)


def _offers_a_choice(question: str) -> bool:
    return _OR.search(question) is not None


def _put(question: str, text: str, wanted: str) -> Message:
    return Message("user", f"QUESTION: {question}\nTEXT: {text}\n{wanted}")


def _tidied(text: str) -> str:
    """The first line of a reply, without what is no part of the answer."""
    line = next((line for line in text.splitlines() if line.strip()), "")
    bare = _MARKS.sub("", line).strip(_WRAPPING)
    bare = _LABEL.sub("", bare).strip(_WRAPPING)
    if bare.endswith(".") and not bare.endswith(".."):
        bare = bare[:-1].rstrip(_WRAPPING)
    if says_nothing(bare):
        return ""
    return bare.lower() if bare.lower() in _YES_NO else bare
