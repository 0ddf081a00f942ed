"""Whether an answer answers: a sentence may be true of its passage and still be about something else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from agent.notebook import dated
from agent.retrieval.passage_text import show
from agent.state import Claim, Evidence, Note
from models.protocols import Reader

LEAD: Final = " – "
"""Stands between a short answer and the sentence that it is taken from."""
ANSWERS: Final = 0.35
"""Judgement from which a sentence counts as an answer.

Of answers to held-out questions (written passages, SQuAD 2.0), 77 and 81 % of the right ones reach it, and
84 and 77 % of the wrong ones do not.
"""


def asked(question: str, notes: Sequence[Note]) -> list[str]:
    """The question and its look-ups: what a sentence of the answer may answer."""
    return list(dict.fromkeys([question, *(note["question"] for note in notes)]))


def answering(
    reader: Reader, questions: Sequence[str], claims: Sequence[Claim], evidence: Sequence[Evidence]
) -> float:
    """How likely a sentence answers a question by one of the passages it cites: the best of all, 0 to 1."""
    by_number = {item["number"]: item for item in evidence}
    pairs = [
        (claim["text"].partition(LEAD)[0], shown([by_number[number]]))
        for claim in claims
        for number in claim["cites"]
        if number in by_number
    ]
    judged = [one for question in questions if pairs for one in reader.judge(question, pairs)]
    return max((one.supported for one in judged), default=0.0)


def shown(items: Sequence[Evidence]) -> str:
    """A passage as the reader sees it; of several only what was kept of them."""
    parts = [
        show(
            item["title"],
            item["section"],
            dated(item),
            item["text"] if len(items) == 1 else item["excerpt"].replace(" … ", "\n"),
            item["kind"],
        ).text
        for item in items
    ]
    return "\n\n".join(parts)
