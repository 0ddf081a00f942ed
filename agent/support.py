"""How far passages support a sentence, without a model: by words, numbers with units, dates and names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agent.documents import table_text
from agent.notebook import dated
from agent.state import Evidence
from agent.text import names, quantities
from agent.text.language import language
from agent.text.terms import terms
from agent.text.vocabulary import vocabulary

_BRACKETED = re.compile(r"\([^()]*\)")
_LEAST_NUMBER_IN_WORDS = 100  # smaller numbers in words are often the writer's own count or estimate


def content(item: Evidence) -> str:
    """The text that a citation of ``item`` may rely on: title, section, author, date and chunk."""
    return f"{item['title']}\n{item['section']}\n{dated(item)}\n{item['text']}"


def support(sentence: str, item: Evidence) -> float:
    """The share of the content terms of ``sentence`` that the passage contains, 0 to 1."""
    return share_held(sentence, [content(item)])


def share_held(sentence: str, texts: Iterable[str]) -> float:
    """The share of the content terms of ``sentence`` that the texts together contain, 0 to 1."""
    sentence_terms = terms(sentence)
    text_terms = {term for text in texts for term in terms(text)}
    return (
        sum(term in text_terms for term in sentence_terms) / len(sentence_terms) if sentence_terms else 0.0
    )


def stated_numbers(sentence: str) -> list[quantities.Measure]:
    """The numbers and dates of ``sentence`` that its passages must contain.

    Numbers in names, and small numbers in words, are not included.
    """
    return [
        measure
        for measure in quantities.read(sentence, language(sentence))
        if isinstance(measure, quantities.Date)
        or (
            not measure.part
            and (
                (measure.shown in sentence and any(map(str.isdecimal, measure.shown)))  # in digits
                or max(measure.values) >= _LEAST_NUMBER_IN_WORDS
            )
        )
    ]


def missing_numbers(sentence: str, items: Iterable[Evidence]) -> list[str]:
    """The numbers and dates of ``sentence``, as written, that no passage contains, in whatever notation."""
    return [measure.shown for measure in _missing(stated_numbers(sentence), items)]


def missing_counts(sentence: str, item: Evidence) -> int:
    """How many numbers of ``sentence`` a passage lacks, small ones in words among them."""
    return len(_missing(quantities.read(sentence, language(sentence)), [item]))


def _missing(stated: Iterable[quantities.Measure], items: Iterable[Evidence]) -> list[quantities.Measure]:
    measures = [m for item in items for m in quantities.read(content(item), language(item["text"]))]
    return [measure for measure in stated if not quantities.is_among(measure, measures)]


def missing_names(
    sentence: str, cited: Sequence[Evidence], question: str, evidence: Sequence[Evidence]
) -> list[str]:
    """The names in ``sentence`` that neither its passages nor their title or path mention.

    A name in the question may also be in another kept passage of the same document, because a document does
    not repeat its subject in every paragraph. Across languages only codes are checked, because other names
    may be translated.

    ``evidence`` is all of the run's evidence, which shows which words are names.
    """
    sentence_language = language(sentence)
    words = vocabulary(sentence_language)
    is_translated = sentence_language and any(
        language(item["text"]) not in {sentence_language, ""} for item in cited
    )
    if is_translated:
        candidates = names.codes(sentence)
    else:
        texts = [question, *(item["text"] for item in evidence)]
        candidates = names.names(
            sentence, sentence_language, [names.capitalised_inside(text) for text in texts]
        )
    mentioned = "\n".join(f"{content(item)}\n{item['document']}\n{item['collection']}" for item in cited)
    documents = {item["document"] for item in cited}
    same_documents = "\n".join(content(item) for item in evidence if item["document"] in documents)
    return [
        name
        for name in candidates
        if not (name in words.months or name in words.days or name in words.signs)
        and not names.is_mentioned(name, mentioned)
        and not (names.is_mentioned(name, question) and names.is_mentioned(name, same_documents))
    ]


@dataclass(frozen=True, slots=True)
class NamedCell:
    """The one cell of a table that a text is about.

    A text is about a cell if it names one row and one of the row's columns, each in full.
    """

    value: str
    names: frozenset[str]  # numbers in the names of its row and column
    neighbours: tuple[str, ...]
    """The values of the other cells of its row and column, without those whose column has its column's name
    in its own."""

    def agrees(self, sentence: str) -> bool | None:
        """Whether a sentence about the cell says what is in it; None if code cannot tell.

        The value of a neighbour contradicts it; other numbers may be about something else.
        """
        if _holds(sentence, self.value):
            return True
        return False if _numbers(self.value) and self._value_instead(sentence) else None

    def corrected(self, sentence: str) -> str:
        """A sentence about the cell, with its value in place of a neighbour's of the same notation."""
        figures = quantities.read(self.value, language(sentence))
        if self.agrees(sentence) is not False or len(figures) != 1:
            return sentence
        figures_instead = quantities.read(self._value_instead(sentence))
        wrong = [
            said.shown
            for said in quantities.read(sentence, language(sentence))
            if not getattr(said, "scale", 0)
            and any(quantities.is_among(said, [figure]) for figure in figures_instead)
        ]
        if len(wrong) != 1 or sentence.count(wrong[0]) != 1:
            return sentence
        return sentence.replace(wrong[0], figures[0].shown)

    def _value_instead(self, sentence: str) -> str:
        return next(
            (one for one in self.neighbours if _numbers(one) - self.names and _holds(sentence, one)), ""
        )


def named_cell(text: str, item: Evidence) -> NamedCell | None:
    """The cell of a table that a sentence or question is about; None if there is no such one cell."""
    text_terms = set(terms(text))
    rows = table_text.rows(item["text"]) if item["kind"] == "table" else []
    named = _named(text_terms, rows)
    if len(named) != 1:
        return None
    (row,) = named
    label = _name(row.label)
    cells = [
        (column, value)
        for column, value in row.cells
        if (name := _name(column)) - label and name <= text_terms
    ]
    if len(cells) != 1:
        return None
    ((column, value),) = cells
    # What is named by "bag" may be another column's "price per bag".
    in_row = (
        other for heading, other in row.cells if heading != column and not _name(column) < _name(heading)
    )
    in_column = (
        other for one in rows if one is not row for heading, other in one.cells if heading == column
    )
    names = frozenset(_numbers(row.label) | _numbers(column))
    return NamedCell(value, names, (*in_row, *in_column))


def named_rows(sentence: str, item: Evidence) -> str:
    """The rows of a table whose names are in a sentence, below the table's header; "" if none is."""
    head, body = table_text.parts(item["text"])
    lines = {row.line for row in _named(set(terms(sentence)), table_text.rows(item["text"]))}
    named = table_text.with_headings(body, [i for i, line in enumerate(body) if line in lines])
    return "\n".join([*head, *named]) if named else ""


def _named(sentence_terms: set[str], rows: Iterable[table_text.Row]) -> list[table_text.Row]:
    return [row for row in rows if (label := _name(row.label)) and label <= sentence_terms]


def _name(heading: str) -> set[str]:
    """The terms of a row's or column's name, without what is in brackets, such as a unit."""
    return set(terms(_BRACKETED.sub(" ", heading)) or terms(heading))


def _holds(sentence: str, cell: str) -> bool:
    """Whether the sentence has the numbers and dates of a cell, in whatever notation; else its words."""
    code = language(sentence)
    if not (figures := quantities.read(cell, code)):
        return set(terms(cell)) <= set(terms(sentence))
    stated = quantities.read(sentence, code)
    # The unit of a column of numbers is often in the table's caption only.
    return _numbers(cell) <= _numbers(sentence) or all(
        any(quantities.is_among(said, [figure]) for said in stated) for figure in figures
    )


def _numbers(text: str) -> set[str]:
    return {term for term in terms(text) if term[0].isdigit()}
