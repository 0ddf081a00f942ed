"""What of a sentence its passages mention: words, numbers with their units, dates and names. No model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agent.notebook import dated
from agent.retrieval.terms import terms
from agent.state import Evidence
from agent.text import names, quantities
from agent.text.language import language
from agent.text.vocabulary import vocabulary

_COUNTED = 100  # a smaller number in words is often a count or an estimate of the writer's own


def content(item: Evidence) -> str:
    """All that a citation of ``item`` may rest on: its chunk, and where that stands."""
    return f"{item['title']}\n{item['section']}\n{dated(item)}\n{item['text']}"


def support(sentence: str, item: Evidence) -> float:
    """Share of the content terms of ``sentence`` that stand in the passage, 0 to 1."""
    return share_held(sentence, [content(item)])


def share_held(sentence: str, texts: Iterable[str]) -> float:
    """The same against plain texts together."""
    wanted = terms(sentence)
    have = {term for text in texts for term in terms(text)}
    return sum(term in have for term in wanted) / len(wanted) if wanted else 0.0


def told_numbers(sentence: str) -> list[quantities.Measure]:
    """The numbers and dates of ``sentence`` that its passages must say.

    What is part of a name is the name's, and a small number in words is left to the reader.
    """
    return [
        measure
        for measure in quantities.read(sentence, language(sentence))
        if isinstance(measure, quantities.Date)
        or (not measure.part and (_in_digits(measure, sentence) or max(measure.values) >= _COUNTED))
    ]


def _in_digits(quantity: quantities.Quantity, sentence: str) -> bool:
    return quantity.shown in sentence and any(c.isdecimal() for c in quantity.shown)


def missing_numbers(sentence: str, items: Iterable[Evidence]) -> list[str]:
    """The numbers and dates of ``sentence``, as written, that none of the passages says in any notation."""
    held = [m for item in items for m in quantities.read(content(item), language(item["text"]))]
    return [measure.shown for measure in told_numbers(sentence) if not quantities.stands(measure, held)]


def missing_names(
    sentence: str, cited: Sequence[Evidence], question: str, evidence: Sequence[Evidence]
) -> list[str]:
    """The names in ``sentence`` that none of its passages mentions, nor the place it stands in.

    A name of the question may also come from another kept passage of the same document, since a document
    does not repeat in every paragraph what it is about. Across languages only codes are looked for: other
    names may be translated.

    Args:
        sentence: Without marks.
        cited: Its passages.
        question: The run's.
        evidence: All the run's, which tells which words are names.
    """
    spoken = language(sentence)
    words = vocabulary(spoken)
    translated = spoken and any(language(item["text"]) not in {spoken, ""} for item in cited)
    if translated:
        found = names.codes(sentence)
    else:
        texts = [question, *(item["text"] for item in evidence)]
        found = names.names(sentence, spoken, [names.inside(text) for text in texts])
    mentioned = "\n".join(f"{content(item)}\n{item['document']}\n{item['collection']}" for item in cited)
    documents = {item["document"] for item in cited}
    around = "\n".join(content(item) for item in evidence if item["document"] in documents)
    return [
        name
        for name in found
        if not (name in words.months or name in words.days or name in words.signs)
        and not names.stands(name, mentioned)
        and not (names.stands(name, question) and names.stands(name, around))
    ]
