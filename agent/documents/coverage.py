"""How much of a document ended up in its passages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from agent.documents.document import Chunk, ParsedDocument

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_WORD = re.compile(rf"[{_CJK}]|[^\W_{_CJK}]+")


def coverage(document: ParsedDocument, chunks: Sequence[Chunk]) -> float:
    """The share, 0 to 1, of the visible words and CJK characters that are in ``chunks``.

    Words count as often as they occur, so that a repeated passage does not make up for a missing one.
    A heading counts for the first chunk below it; repeated parts of tables do not count.
    """
    seen = Counter(words(document.visible_text))
    if not seen:
        return 1.0
    kept: Counter[str] = Counter()
    for text in _own_texts(chunks):
        kept.update(words(text))
    return (seen & kept).total() / seen.total()


def words(text: str) -> Iterator[str]:
    """The words and CJK characters of ``text``, case-folded."""
    return (match.group().casefold() for match in _WORD.finditer(text))


def _own_texts(chunks: Iterable[Chunk]) -> Iterator[str]:
    """The texts of the chunks without their repeated parts, and each heading once."""
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
