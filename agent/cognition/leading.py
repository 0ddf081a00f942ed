"""The answer first: the few words that were asked for, before the sentences that lead to them.

A question worked through in steps is answered by its last one, and a small model tells the steps in their
order: whoever asked reads three sentences to find the name in the last.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent.cognition.comparands import things
from agent.cognition.comparing import Conclusion
from agent.cognition.proper_names import is_function_word
from agent.cognition.surface import names
from agent.retrieval.terms import terms
from agent.sentences import sentences
from agent.state import Note, citation_marks

_MOST_WORDS = 8  # an answer of more is a sentence
_ASKS_ONE_THING = re.compile(
    r"\b(?:who|whom|whose|what|which|when|where"
    r"|how (?:many|much|old|long|far|tall|high|big|large|often))\b",
    re.IGNORECASE,
)
_ASKS_MORE = re.compile(
    r"(?:,|;|\band\b)\s+(?:who|whom|whose|what|which|when|where|how|why)\b|\b(?:both|same|either|why)\b",
    re.IGNORECASE,
)
_CONCLUDES = re.compile(r"\W*(?:yes\b|no\b|it follows\b|therefore\b|thus\b|so,? it is\b)", re.IGNORECASE)
_LEAST_WORDS = 2  # "When did" is the least that two questions can have in common


def answer_first(question: str, notes: Sequence[Note], written: str) -> str:
    """``written`` with the last finding's short answer before it, where that is what ``question`` asks for.

    It is where the last step asks as the question does ("Who is the mother of …"), and where one thing is
    asked for. Nothing is put before a text that gives it in its first sentence already, nor before one that
    does not give it at all.
    """
    if not notes or not notes[-1]["found"] or not _asks_as(question, notes[-1]["question"]):
        return written
    if things(question):
        return written
    last = notes[-1]
    answer = last["answer"].strip(" .")
    wanted = set(terms(answer))
    told = sentences(written)
    if not wanted or not told or len(answer.split()) > _MOST_WORDS:
        return written
    if wanted.issubset(terms(told[0])) or not wanted.issubset(terms(written)):
        return written
    if is_function_word(answer.split()[0]):
        answer = answer[0].upper() + answer[1:]
    return f"{answer} {citation_marks(last['cites'])}. {written}"


def concluded_first(follows: Conclusion, written: str) -> str:
    """``written`` with what follows from the findings before it: code compares, and the model may not.

    What the model says of its own that concludes gives way to it.
    """
    if not follows.answer:
        return written
    marks = citation_marks(follows.cites)
    told = [one for one in sentences(written) if not _CONCLUDES.match(one)]
    if follows.answer in {"Yes", "No"}:
        return " ".join([f"{follows.answer}: {follows.because} {marks}.", *told])
    return " ".join([f"{follows.answer} {marks}.", f"{follows.because} {marks}.", *told])


def _asks_as(question: str, step: str) -> bool:
    """True if the question asks for one thing, and the step begins to ask as it does."""
    if _ASKS_MORE.search(question) or not _ASKS_ONE_THING.search(question):
        return False
    name = next(iter(names(step)), "")
    begins = step.partition(name)[0] if name else step
    words = begins.casefold().split()
    return len(words) >= _LEAST_WORDS and " ".join(words) in " ".join(question.casefold().split())
