"""How far a passage supports a sentence, without a model: shared content, and every number."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date

from agent.cognition import proper_names, quantities, tables
from agent.retrieval.terms import terms
from agent.sentences import sentences
from agent.state import Evidence

_HAS_DIGIT = re.compile(r"\d")
_ISO_DATE = re.compile(r"\b(\d{4})-(\d\d)-(\d\d)\b")


def content(item: Evidence) -> str:
    """All that a citation of ``item`` may rest on: its chunk, and where that stands."""
    return f"{place(item)} {item['text']}"


def place(item: Evidence) -> str:
    """Where a passage stands: title, section and date, the date in figures and in words."""
    return f"{item['title']} {item['section']} {item['date']} {in_words(item['date'])}"


def in_words(text: str) -> str:
    """The ISO dates of ``text`` as a person writes them: ``2025-04-09`` is ``9 April 2025``."""
    found: list[str] = []
    for year, month, day in _ISO_DATE.findall(text):
        try:
            found.append(f"{int(day)} {date(int(year), int(month), 1):%B} {year}")
        except ValueError:
            continue  # digits that look like a date and are none
    return " ".join(found)


def support(sentence: str, item: Evidence) -> float:
    """Share of the content terms of ``sentence`` that stand in the passage, 0 to 1.

    Numbers count double: a sentence with a right wording and a wrong figure is not supported.
    """
    return joint_support(sentence, [item])


def joint_support(sentence: str, items: Iterable[Evidence]) -> float:
    """The same against several passages together."""
    texts = [content(item) for item in items]
    return share_held(sentence, texts)


def share_held(sentence: str, texts: Iterable[str]) -> float:
    """The same against plain texts."""
    wanted = terms(sentence)
    if not wanted:
        return 0.0
    joined = " ".join(texts)
    have = set(terms(joined))
    numbers = {term for q in _missing(sentence, joined) for term in terms(q.shown)}
    held = total = 0
    for term in wanted:
        weight = 2 if _HAS_DIGIT.search(term) else 1
        total += weight
        # "7" is held by "seven", and "1.28 billion" by 1,284.6 in a table in millions.
        said = term in have or (_HAS_DIGIT.search(term) is not None and term not in numbers)
        held += weight if said else 0
    return held / total


def missing_numbers(sentence: str, items: Iterable[Evidence]) -> list[str]:
    """The numbers of ``sentence``, as it writes them, that stand in none of the passages."""
    joined = " ".join(content(item) for item in items)
    return [quantity.shown for quantity in _missing(sentence, joined)]


def best_source(sentence: str, items: Sequence[Evidence]) -> Evidence | None:
    """The passage that supports the sentence best; the earlier of equals; None without passages."""
    return max(items, key=lambda item: support(sentence, item), default=None)


def units(item: Evidence) -> list[str]:
    """The parts of a passage that say something of their own: sentences, or the rows of a table.

    A row is spelled out with its columns, so that it can be read alone.
    """
    if item["kind"] == "table":
        rows = tables.rows(item["text"])
        return [f"{row.heading} {row.spelled()}".strip() for row in rows]
    return sentences(item["text"])


def understood(names: Sequence[str], item: Evidence, evidence: Sequence[Evidence]) -> set[str]:
    """Those of ``names`` that a table need not mention, because its whole library is about them.

    A company's register of suppliers does not repeat whose register it is. So a name that half of the
    other documents mention is understood, unless the table's own title names somebody else. Prose has
    a subject of its own, and what it does not mention it does not speak of.
    """
    if item["kind"] != "table":
        return set()
    known = proper_names.known_names(other["text"] for other in evidence) - set(names)
    if known.intersection(proper_names.names(f"on {item['title']}")):
        return set()
    documents: dict[str, set[str]] = {}
    for other in evidence:
        if other["document"] != item["document"]:
            documents.setdefault(other["document"], set()).update(terms(content(other)))
    return {
        name
        for name in names
        if documents
        and 2 * sum(proper_names.stands(name, held) for held in documents.values()) >= len(documents)
    }


def latin(text: str) -> bool:
    """True if most letters of ``text`` are Latin: words can be compared within a script only."""
    letters = [c for c in text if c.isalpha()]
    return 2 * sum(c < "\u0250" for c in letters) >= len(letters)


def _missing(sentence: str, text: str) -> list[quantities.Quantity]:
    held = quantities.quantities(text)
    return [q for q in quantities.quantities(sentence) if not quantities.stands(q, held)]
