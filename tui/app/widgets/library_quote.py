"""Where a quotation stands in a passage, however either of them is broken into lines and cells."""

from __future__ import annotations

from agent.text.sentences import sentences

_LONG_ENOUGH = 12  # letters and signs of a part that is looked for by itself


def find_quote(text: str, quote: str) -> list[tuple[int, int]]:
    """Start and end of ``quote`` in ``text``, or of those of its sentences that stand there.

    White space and the bars between a table's cells do not matter, nor does case; what was left out of the
    quotation, written ``…``, parts it.
    """
    squeezed, places = _squeezed(text)
    whole = [part for part in quote.split("…") if part.strip()]
    for parts in (whole, [piece for part in whole for piece in sentences(part)]):
        found: list[tuple[int, int]] = []
        for part in parts:
            wanted, _ = _squeezed(part)
            at = squeezed.find(wanted) if wanted else -1
            if at >= 0 and (len(parts) == 1 or len(wanted) >= _LONG_ENOUGH):
                found.append((places[at], places[at + len(wanted) - 1] + 1))
        if found:
            return _joined(found)
    return []


def find_words(text: str, words: str) -> list[tuple[int, int]]:
    """Every place of ``words`` in ``text``, in order; white space and case do not matter."""
    squeezed, places = _squeezed(text)
    wanted, _ = _squeezed(words)
    found: list[tuple[int, int]] = []
    at = squeezed.find(wanted) if wanted else -1
    while at >= 0:
        found.append((places[at], places[at + len(wanted) - 1] + 1))
        at = squeezed.find(wanted, at + len(wanted))
    return found


def bare(text: str) -> str:
    """``text`` without what does not matter: words are in a passage if they are so when both are bare."""
    return "".join(text.split()).replace("|", "").lower()


def _squeezed(text: str) -> tuple[str, list[int]]:
    """``text`` without white space and bars, lower case, and where each of its letters stood."""
    letters: list[str] = []
    places: list[int] = []
    for place, letter in enumerate(text):
        if not letter.isspace() and letter != "|":
            lower = letter.lower()
            letters.append(lower if len(lower) == 1 else letter)
            places.append(place)
    return "".join(letters), places


def _joined(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same in order, those that overlap made one."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined
