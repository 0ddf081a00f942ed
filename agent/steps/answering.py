"""What an answer rests on: which passage a sentence comes from, and whether it answers what was asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from agent import citations
from agent.notebook import dated
from agent.retrieval.passage_text import show
from agent.state import Claim, Evidence, Note
from agent.support import missing_names, missing_numbers, support
from agent.text.language import readable
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


def cited(reader: Reader, question: str, draft: str, evidence: Sequence[Evidence]) -> str:
    """The draft, with the passages that its sentences come from.

    Passages that hold all numbers and names of a sentence come first. Of these the one that the reader
    takes for its best support is cited; in a language it does not know, the one that shares most words.
    Others are cited for numbers that the first does not hold.

    Args:
        reader: Judges.
        question: The run's.
        draft: What the model wrote. Sentences that cite already are left alone.
        evidence: What it may have been written from; not empty.
    """
    claims = citations.claims(draft, evidence)
    unmarked = [claim["text"] for claim in claims if not claim["cites"]]
    pairs = [(text, shown([item])) for text in unmarked if readable(text) for item in evidence]
    supports = iter(reader.support(pairs) if pairs else [])
    sources: dict[str, list[int]] = {}
    for text in unmarked:
        known = readable(text)
        scores = [next(supports).supported if known else support(text, item) for item in evidence]
        sources[text] = _sources(text, question, evidence, scores)
    marked = [
        Claim({**claim, "cites": claim["cites"] or sources[claim["text"]], "verdict": "supported"})
        for claim in claims
    ]
    return citations.render(marked, draft)


def _sources(text: str, question: str, evidence: Sequence[Evidence], scores: Sequence[float]) -> list[int]:
    """Numbers of the passages that ``text`` comes from, given how well each supports it."""

    def misfit(place: int) -> tuple[int, int, float]:
        item = [evidence[place]]
        names = missing_names(text, item, question, evidence)
        return len(missing_numbers(text, item)), len(names), -scores[place]

    first, *others = sorted(range(len(evidence)), key=misfit)
    chosen = [evidence[first]]
    left = missing_numbers(text, chosen)
    for place in others:
        if not left:
            break
        still = missing_numbers(text, [*chosen, evidence[place]])
        if len(still) < len(left):
            chosen.append(evidence[place])
            left = still
    return sorted(item["number"] for item in chosen)


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
