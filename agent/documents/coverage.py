"""How much of a document ended up in its passages, and whether anything did so twice."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from agent.documents.document import Chunk, ParsedDocument
from agent.text.sentences import sentences

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_WORD = re.compile(rf"[{_CJK}]|[^\W_{_CJK}]+")
_SHORTEST = 5  # words that make a sentence worth naming; "Not applicable." is often said twice


def coverage(document: ParsedDocument, chunks: Sequence[Chunk]) -> float:
    """The share, 0 to 1, of the words and CJK characters a person would see that are in ``chunks``.

    Words are counted as often as they occur, so that a passage given twice makes up for none that is
    missing. Headings count where a passage first stands under them; what a part of a table repeats
    does not count.
    """
    seen = Counter(_words(document.visible_text))
    if not seen:
        return 1.0
    kept: Counter[str] = Counter()
    for text in _own_texts(chunks):
        kept.update(_words(text))
    return (seen & kept).total() / seen.total()


def doubled_sentences(document: ParsedDocument, chunks: Sequence[Chunk]) -> list[str]:
    """Sentences that the chunks hold more often than the document does, in order.

    A row of a table is no sentence: the same row may stand in two tables.
    """
    found: Counter[str] = Counter()
    spoken: dict[str, str] = {}
    for made in chunks:
        for line in made.text[made.repeated :].splitlines():
            if made.kind == "table" and " | " in line:
                continue
            for sentence in sentences(line):
                words = _normal(sentence)
                found[words] += 1
                spoken.setdefault(words, sentence)
    visible = f" {_normal(document.visible_text)} "
    return [
        spoken[words]
        for words, times in found.items()
        if times > 1
        and words.count(" ") + 1 >= _SHORTEST
        and times > max(visible.count(f" {half} ") for half in _halves(words))
    ]


def _halves(words: str) -> tuple[str, str]:
    """A sentence in two: at the end of a page a running header may stand in the middle of it."""
    parts = words.split(" ")
    middle = len(parts) // 2
    return " ".join(parts[:middle]), " ".join(parts[middle:])


def _words(text: str) -> Iterator[str]:
    return (match.group().casefold() for match in _WORD.finditer(text))


def _normal(text: str) -> str:
    return " ".join(_words(text))


def _own_texts(chunks: Iterable[Chunk]) -> Iterator[str]:
    """The texts of the chunks without what they repeat, and the headings they newly stand under."""
    above: tuple[str, ...] = ()
    for made in chunks:
        shared = 0
        while shared < min(len(above), len(made.section)) and above[shared] == made.section[shared]:
            shared += 1
        text = made.text[made.repeated :]
        new = made.section[shared:]
        if new[-1:] == (text,):
            new = new[:-1]  # a heading that is its own text
        yield from new
        yield text
        above = made.section
