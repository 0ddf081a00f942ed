"""The searches of a step: its query, other phrasings of it, and the strategy that suits."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from pydantic import BaseModel, Field

from agent import prompts
from agent.cognition import Chosen
from agent.retrieval.recall import Strategy
from agent.session import Session
from agent.state import Candidate, Note
from agent.steps.lookups import RESULT
from agent.text.terms import terms

_LONGEST = 300  # characters; a longer "query" is an essay, and searches for nothing


def references(question: str) -> set[int]:
    """Numbers of the steps whose answers ``question`` needs."""
    return {int(number) for number in RESULT.findall(question)}


def resolve(question: str, notes: Sequence[Note]) -> str:
    """``question`` with each ``#n`` replaced by the short answer of step n.

    A reference to a step that found nothing becomes that step's own question in brackets, which still
    says what is meant. A number that is no step's, as of an invoice, stays.
    """
    by_step = {note["step"]: note for note in notes}

    def answer(match: re.Match[str]) -> str:
        note = by_step.get(int(match.group(1)))
        if note is None:
            return match.group()
        return note["answer"] if note["found"] else f"({note['question'].rstrip('?')})"

    return " ".join(RESULT.sub(answer, question).split())


def plain_query(_session: Session, _notebook: Sequence[str], question: str) -> str:
    """The question itself, cut if it is too long."""
    return question[:_LONGEST]


def model_query(session: Session, notebook: Sequence[str], question: str) -> str:
    """The first line of what the model writes, as in the seed; the question itself if that is no query."""
    reply = session.write("rewrite", notebook, prompts.rewrite(question), 48)
    return one_line(reply.text) or plain_query(session, notebook, question)


def one_line(text: str) -> str:
    """The first line that says something, without quotes or a label; "" if it is an essay or empty."""
    for line in text.splitlines():
        bare = re.sub(r"^(?:search )?query:\s*", "", line.strip(" \t`*\"'“”#-"), flags=re.IGNORECASE)
        bare = bare.strip(" \"'“”")
        if any(c.isalnum() for c in bare):
            return bare if len(bare) <= _LONGEST else ""
    return ""


MOST_PHRASINGS = 4
_ASKED_FOR = 3
_TOKENS = 160
_FEEDBACK_PASSAGES = 5
_FEEDBACK_TERMS = 12

_WORD = re.compile(r"[^\W_][\w'’.-]*[^\W_]|[^\W_]")
_NUMBERING = re.compile(r"\A(?:\d+[.)]|[-*•])\s*")


class PlainPhraser:
    """Model-free: the question as it is, and the words of the best passages.

    Measured with MiniLM on the 303 of 750 train questions (MuSiQue, 2Wiki, HotpotQA, pooled) whose top 5
    miss a supporting paragraph, as the mean share of those in the top 5 and top 10: the question alone
    0.479 and 0.606; with the words of the five best passages 0.507 and 0.677, with those of the best one as
    a search of its own 0.541 and 0.710.
    """

    def phrase(self, session: Session, notebook: Sequence[str], query: str) -> list[str]:
        """The query alone."""
        return [query]

    def reword(
        self,
        session: Session,
        notebook: Sequence[str],
        query: str,
        tried: Sequence[str],
        passages: Sequence[Candidate],
    ) -> list[str]:
        """The query's words with those of the best passages, and with those of the best one alone."""
        texts = [passage["text"] for passage in passages]
        key = _key_words(query)
        fed = [_feedback(query, texts), _feedback(query, texts[:1])]
        return _distinct([_cut(" ".join([key, *words])) for words in fed], tried)


class _Phrasings(BaseModel):
    searches: list[str] = Field(max_length=_ASKED_FOR)


class ModelPhraser:
    """Asks the model, as the multi-query system does."""

    def phrase(self, session: Session, notebook: Sequence[str], query: str) -> list[str]:
        """The query, and up to three phrasings of the model's."""
        return _distinct([query, *_ask(session, notebook, query, prompts.phrase(query, _ASKED_FOR))], [])

    def reword(
        self,
        session: Session,
        notebook: Sequence[str],
        query: str,
        tried: Sequence[str],
        passages: Sequence[Candidate],
    ) -> list[str]:
        """The model's other phrasings, without those that were tried."""
        written = _ask(session, notebook, query, prompts.reword(query, tried, _ASKED_FOR))
        return _distinct(written, [query, *tried])


def _ask(session: Session, notebook: Sequence[str], query: str, instruction: str) -> list[str]:
    """What the model writes that is a search for the same: one line, with a word or a name in common."""
    result = session.ask("phrase", notebook, instruction, _Phrasings, _Phrasings(searches=[]), _TOKENS)
    known = set(terms(query))
    written = (_NUMBERING.sub("", one_line(line)) for line in result.value.searches)
    return [line for line in written if not known.isdisjoint(terms(line))]


def _distinct(phrasings: Iterable[str], tried: Sequence[str]) -> list[str]:
    """Each once, in order, without the empty and the tried ones, at most four."""
    seen = {_folded(phrasing) for phrasing in tried}
    kept: list[str] = []
    for phrasing in phrasings:
        folded = _folded(phrasing)
        if folded and folded not in seen:
            seen.add(folded)
            kept.append(phrasing)
    return kept[:MOST_PHRASINGS]


def _folded(text: str) -> str:
    return " ".join(re.sub(r"[^\w\s]", " ", text.casefold()).split())


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[:_LONGEST].rpartition(" ")[0]


def _key_words(query: str) -> str:
    """The names, numbers and words of ``query`` that say something, in order."""
    return " ".join(word for word in _WORD.findall(query) if _says(word))


def _says(word: str) -> bool:
    # `terms` leaves function words out where something else is left.
    return terms(f"{word} name") != ["name"]


def _feedback(query: str, texts: Sequence[str]) -> list[str]:
    """The most distinctive words of the best passages that the query does not have, most so first.

    Pseudo-relevance feedback in the manner of RM3 (Abdul-Jaleel et al., TREC 2004): a word weighs by its
    share of each passage, the passage by its rank, and, as in Rocchio's, the word by its rarity, here among
    the passages found.
    """
    if not texts:
        return []
    found = [terms(text) for text in texts]
    frequency = Counter(term for passage in found for term in set(passage))
    have = set(terms(query))
    weight: dict[str, float] = {}
    for rank, passage in enumerate(found[:_FEEDBACK_PASSAGES], start=1):
        counted = Counter(term for term in passage if term not in have and (len(term) > 2 or _is_cjk(term)))
        total = sum(counted.values())
        for term, times in counted.items():
            gained = times / total / rank * math.log(1 + len(found) / frequency[term])
            weight[term] = weight.get(term, 0.0) + gained
    best = sorted(weight, key=lambda term: (-weight[term], term))[:_FEEDBACK_TERMS]
    spelled = _spelled(texts)
    return [spelled.get(term, term) for term in best]


def _spelled(texts: Sequence[str]) -> dict[str, str]:
    """How each term is first written in the best passages: a query is embedded as well, and read."""
    spelled: dict[str, str] = {}
    for text in texts[:_FEEDBACK_PASSAGES]:
        for word in _WORD.findall(text):
            if not _is_cjk(word) and len(term := terms(word)) == 1:
                spelled.setdefault(term[0], word)
    return spelled


_QUOTED = re.compile(r"[\"“«「]([^\"”»」]{2,})[\"”»」]")
_CODE = re.compile(r"\b(?=\w*\d)(?=\w*[A-Za-z])[A-Za-z0-9][A-Za-z0-9./-]{3,}\b")


def plain_strategy(_session: Session, _notebook: Sequence[str], query: str) -> Chosen:
    """Both rankings fused; ``keyword`` alone for a quotation or a lone code."""
    if _QUOTED.search(query):
        return Chosen("keyword", "the query quotes exact words")
    if len(query.split()) <= 3 and _CODE.search(query):
        return Chosen("keyword", "the query is a code")
    return Chosen("hybrid", "meaning and words both count")


class _Choice(BaseModel):
    justification: str
    strategy: Strategy


def model_strategy(session: Session, notebook: Sequence[str], query: str) -> Chosen:
    """The model's pick, as in the seed; ``hybrid`` if it gives none."""
    default = _Choice(justification="the model gave no usable choice", strategy="hybrid")
    choice = session.ask("strategy", notebook, prompts.strategy(query), _Choice, default, 80).value
    return Chosen(choice.strategy, choice.justification)


def _is_cjk(word: str) -> bool:
    """True of Chinese, Japanese and Korean, in which two characters are a word."""
    return ord(word[0]) > 0x2E7F
