"""The searches of a step: its query, other phrasings of it, and the search strategy."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from pydantic import BaseModel, Field

from agent import prompts
from agent.retrieval.recall import Strategy
from agent.session import Session
from agent.state import Candidate, Note
from agent.steps.plan_text import RESULT
from agent.text.terms import terms, words_of
from traces.plain_text import squeezed

_MAX_QUERY_CHARS = 300  # a longer "query" is an essay, and finds nothing


def references(question: str) -> set[int]:
    """Numbers of the steps whose answers ``question`` refers to."""
    return {int(number) for number in RESULT.findall(question)}


def resolve(question: str, notes: Sequence[Note]) -> str:
    """``question`` with each ``#n`` replaced by the short answer of step n.

    A reference to a step that found nothing becomes that step's question in brackets, which still says
    what is meant. A number that belongs to no step, such as that of an invoice, is left as it is.
    """
    by_step = {note["step"]: note for note in notes}

    def answer(match: re.Match[str]) -> str:
        note = by_step.get(int(match.group(1)))
        if note is None:
            return match.group()
        return note["answer"] if note["found"] else f"({note['question'].rstrip('?')})"

    return squeezed(RESULT.sub(answer, question))


def plain_query(_session: Session, _notebook: Sequence[str], question: str) -> str:
    """The question itself, truncated if it is too long."""
    return question[:_MAX_QUERY_CHARS]


def model_query(session: Session, notebook: Sequence[str], question: str) -> str:
    """The first line that the model writes, as in the seed; the question itself if that is no query."""
    reply = session.write("rewrite", notebook, prompts.rewrite(question), 48)
    return one_line(reply.text) or plain_query(session, notebook, question)


def one_line(text: str) -> str:
    """The first line with content, without quotes or a label; "" if it is too long or there is none."""
    for line in text.splitlines():
        query = re.sub(r"^(?:search )?query:\s*", "", line.strip(" \t`*\"'“”#-"), flags=re.IGNORECASE)
        query = query.strip(" \"'“”")
        if any(c.isalnum() for c in query):
            return query if len(query) <= _MAX_QUERY_CHARS else ""
    return ""


_MOST_PHRASINGS = 4
_MODEL_PHRASINGS = 3
_MAX_TOKENS = 160
_FEEDBACK_PASSAGES = 5
_FEEDBACK_TERMS = 12

_WORD = re.compile(r"[^\W_][\w'’.-]*[^\W_]|[^\W_]")
_NUMBERING = re.compile(r"\A(?:\d+[.)]|[-*•])\s*")


def plain_phrasings(_session: Session, _notebook: Sequence[str], query: str) -> list[str]:
    """The query alone."""
    return [query]


def plain_rewordings(
    _session: Session,
    _notebook: Sequence[str],
    query: str,
    tried: Sequence[str],
    passages: Sequence[Candidate],
) -> list[str]:
    """The query's keywords with words of the best passages, and with words of the best one alone.

    Measured with MiniLM on the 303 of 750 train questions (MuSiQue, 2Wiki, HotpotQA, pooled) whose top 5
    miss a supporting paragraph, as the mean share of those in the top 5 and top 10: the question alone
    0.479 and 0.606; with the words of the five best passages 0.507 and 0.677, with those of the best one as
    a search of its own 0.541 and 0.710.
    """
    texts = [passage["text"] for passage in passages]
    # `terms` leaves out function words unless nothing else would be left.
    keywords = " ".join(word for word in _WORD.findall(query) if terms(f"{word} name") != ["name"])
    expansions = [_feedback_words(query, texts), _feedback_words(query, texts[:1])]
    return _distinct([_truncate(" ".join([keywords, *words])) for words in expansions], tried)


class _Phrasings(BaseModel):
    searches: list[str] = Field(max_length=_MODEL_PHRASINGS)


def model_phrasings(session: Session, notebook: Sequence[str], query: str) -> list[str]:
    """The query, and up to three phrasings by the model, as in the multi-query system."""
    phrasings = _ask(session, notebook, query, prompts.phrase(query, _MODEL_PHRASINGS))
    return _distinct([query, *phrasings], [])


def model_rewordings(
    session: Session,
    notebook: Sequence[str],
    query: str,
    tried: Sequence[str],
    _passages: Sequence[Candidate],
) -> list[str]:
    """Other phrasings by the model, without those already tried."""
    phrasings = _ask(session, notebook, query, prompts.reword(query, tried, _MODEL_PHRASINGS))
    return _distinct(phrasings, [query, *tried])


def _ask(session: Session, notebook: Sequence[str], query: str, instruction: str) -> list[str]:
    """The model's phrasings that search for the same: one line each, with a term of ``query`` in them."""
    result = session.ask("phrase", notebook, instruction, _Phrasings, _Phrasings(searches=[]), _MAX_TOKENS)
    query_terms = set(terms(query))
    phrasings = (_NUMBERING.sub("", one_line(line)) for line in result.value.searches)
    return [phrasing for phrasing in phrasings if not query_terms.isdisjoint(terms(phrasing))]


def _distinct(phrasings: Iterable[str], tried: Sequence[str]) -> list[str]:
    """Each phrasing once, in order, without empty or tried ones; at most four."""
    seen = {words_of(phrasing) for phrasing in tried}
    distinct: list[str] = []
    for phrasing in phrasings:
        key = words_of(phrasing)
        if key and key not in seen:
            seen.add(key)
            distinct.append(phrasing)
    return distinct[:_MOST_PHRASINGS]


def _truncate(text: str) -> str:
    return text if len(text) <= _MAX_QUERY_CHARS else text[:_MAX_QUERY_CHARS].rpartition(" ")[0]


def _feedback_words(query: str, texts: Sequence[str]) -> list[str]:
    """The most distinctive words of the best passages that the query lacks, the most distinctive first.

    No figures: a table has so many that they would be all. Pseudo-relevance feedback in the manner of RM3
    (Abdul-Jaleel et al., TREC 2004): a word is weighted by its share of each passage, by the passage's
    rank, and, as in Rocchio's method, by its rarity, here among the passages found.
    """
    if not texts:
        return []
    passages = [terms(text) for text in texts]
    frequency = Counter(term for passage in passages for term in set(passage))
    query_terms = set(terms(query))
    weights: dict[str, float] = {}
    for rank, passage in enumerate(passages[:_FEEDBACK_PASSAGES], start=1):
        counts = Counter(
            term
            for term in passage
            if term not in query_terms and not term[0].isdecimal() and (len(term) > 2 or _is_cjk(term))
        )
        total = sum(counts.values())
        for term, count in counts.items():
            gain = count / total / rank * math.log(1 + len(passages) / frequency[term])
            weights[term] = weights.get(term, 0.0) + gain
    best = sorted(weights, key=lambda term: (-weights[term], term))[:_FEEDBACK_TERMS]
    spellings = _spellings(texts)
    return [spellings.get(term, term) for term in best]


def _spellings(texts: Sequence[str]) -> dict[str, str]:
    """How the best passages first spell each term: the query is embedded and read as well."""
    spellings: dict[str, str] = {}
    for text in texts[:_FEEDBACK_PASSAGES]:
        for word in _WORD.findall(text):
            if not _is_cjk(word) and len(word_terms := terms(word)) == 1:
                spellings.setdefault(word_terms[0], word)
    return spellings


_QUOTATION = re.compile(r"[\"“«「]([^\"”»」]{2,})[\"”»」]")
_CODE = re.compile(r"\b(?=\w*\d)(?=\w*[A-Za-z])[A-Za-z0-9][A-Za-z0-9./-]{3,}\b")


def plain_strategy(_session: Session, _notebook: Sequence[str], query: str) -> Strategy:
    """``hybrid``; ``keyword`` alone for a quotation or a single code."""
    if _QUOTATION.search(query):
        return "keyword"
    if len(query.split()) <= 3 and _CODE.search(query):
        return "keyword"
    return "hybrid"


class _Choice(BaseModel):
    justification: str
    strategy: Strategy


def model_strategy(session: Session, notebook: Sequence[str], query: str) -> Strategy:
    """The model's choice, as in the seed; ``hybrid`` if it gives none."""
    default = _Choice(justification="", strategy="hybrid")
    return session.ask("strategy", notebook, prompts.strategy(query), _Choice, default, 80).value.strategy


def _is_cjk(word: str) -> bool:
    """Whether the word is Chinese, Japanese or Korean, where two characters can be a word."""
    return ord(word[0]) > 0x2E7F
