"""Citations: the marks in a draft and in the answer are read and written (`steps.distil` numbers them)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from agent.documents import table_text
from agent.state import VERDICTS, Claim, Evidence, citation_marks
from agent.support import share_held
from agent.text.sentences import sentences
from agent.text.terms import terms

GAP: Final = " … "
"""What stands in an excerpt or a quote for what is left out."""
_MOST_QUOTED = 3  # sentences or rows of one passage
_MARK = re.compile(r"\s*\[(\d+(?:\s*,\s*\d+)*)\]")
_NUMBERING = re.compile(r"(?:^|[\s,(])\d{1,2}\.$")  # "Review 2024, 2. Reliability of machines"
_LEADING_MARKS = re.compile(rf"(?:{_MARK.pattern})+")
_TERMINAL = re.compile(r"([.!?。！？]+[\"”’)]*)$")
_PUNCTUATION = ".,;:!?。！？\"'“”‘’()*_"  # signs around a word that are not part of it
_LAYOUT = re.compile(r"^\s*(#{1,6}\s+|[-*•]\s+|\d{1,2}[.)]\s+)?(.*)$")


@dataclass(frozen=True, slots=True)
class _Line:
    prefix: str  # its heading or list mark
    sentences: tuple[list[str], ...]  # each a list of repetitions, which may differ in their marks


def claims(draft: str, evidence: Sequence[Evidence]) -> list[Claim]:
    """The sentences of ``draft`` with the passages they cite, not verified yet.

    Marks of unknown passages are dropped, and headings are not sentences. A small model may repeat itself:
    within a section, repetitions become one sentence, with the citations of all.
    """
    numbers = {item["number"] for item in evidence}
    unchecked: list[Claim] = []
    for repetitions in (
        sentence for line in _lines(draft) if not line.prefix.startswith("#") for sentence in line.sentences
    ):
        marks = [int(n) for raw in repetitions for group in _MARK.findall(raw) for n in group.split(",")]
        unchecked.append(
            Claim(
                text=_MARK.sub("", repetitions[0]).strip(),
                cites=[number for number in dict.fromkeys(marks) if number in numbers],
                support=0.0,
                verdict="not",
                reason="not checked",
            )
        )
    return unchecked


def render(checked: Sequence[Claim], draft: str = "") -> str:
    """The verified claims of a draft with marks, and a flag if one is not supported for sure.

    They have the layout of ``draft``, its headings and lists; without it, the result is one paragraph.
    """
    lines = _lines(draft) if draft else []
    if not any(line.prefix for line in lines):
        return " ".join(_with_marks(claim) for claim in checked)
    remaining = iter(checked)
    output: list[str] = []
    for line in lines:
        if line.prefix.startswith("#"):
            heading = " ".join(repetitions[0] for repetitions in line.sentences)
            output += ["", line.prefix + _MARK.sub("", heading), ""]  # a heading is not checked
        else:
            output.append(line.prefix + " ".join(_with_marks(next(remaining)) for _ in line.sentences))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(output)).strip()


def cited(claim: Claim, evidence: Sequence[Evidence]) -> list[Evidence]:
    """The passages that a claim cites."""
    by_number = {item["number"]: item for item in evidence}
    return [by_number[number] for number in claim["cites"] if number in by_number]


def quotes(claims: Sequence[Claim], evidence: Sequence[Evidence]) -> dict[str, str]:
    """For each cited number, as a string, the sentences or rows of its passage most similar to its claims.

    They are in the order of the claims, at most three; claims that nothing supports count only where there
    is no other. Figures of a claim count more than its words, a row of a table more than its heading. In
    a tie, the passage's excerpt, from which the answer was written, comes first.
    """
    tables = {item["number"] for item in evidence if item["kind"] == "table"}
    ranks: dict[int, dict[str, tuple[bool, tuple[int, bool, float]]]] = {}  # of units, by passage
    for claim in claims:
        for item in cited(claim, evidence):
            score, unit = _nearest(claim["text"], item)
            rank, units = (claim["verdict"] != "not", score), ranks.setdefault(item["number"], {})
            if unit:
                units[unit] = max(rank, units.get(unit, rank))
    quoted: dict[str, str] = {}
    for number, units in ranks.items():
        best = sorted(units, key=lambda unit: units[unit], reverse=True)
        chosen = [unit for unit in best if units[unit][0]][:_MOST_QUOTED] or best[:1]
        gap = "\n" if number in tables else GAP
        if chosen:
            quoted[str(number)] = gap.join(unit for unit in units if unit in chosen)
    return quoted


def _nearest(text: str, item: Evidence) -> tuple[tuple[int, bool, float], str]:
    """The most similar sentence or row, with how many figures it shares, whether it is no heading of a
    table, and what share of the words it has in common."""
    figures = {term for term in terms(text) if any(map(str.isdigit, term))}
    headings = set(table_text.parts(item["text"])[0]) if item["kind"] == "table" else set()
    best = ((0, False, 0.0), "")
    for source in (item["excerpt"].replace(GAP, "\n"), item["text"]):
        for unit in sentences(source):
            shared, held = len(figures.intersection(terms(unit))), share_held(text, [unit])
            score = shared, bool(shared or held) and unit not in headings, held
            if score > best[0]:
                best = (score, unit)
    return best


def _with_marks(claim: Claim) -> str:
    marks = citation_marks(claim["cites"])
    body, end = claim["text"], ""
    terminal = _TERMINAL.search(body)
    if terminal:
        body, end = body[: terminal.start()], terminal.group(1)
    tail = f" {marks}" if marks else ""
    flag = "" if claim["verdict"] == "supported" else f" ({VERDICTS[claim['verdict']]})"
    return f"{body}{flag}{tail}{end}"


def _lines(draft: str) -> list[_Line]:
    """The lines of a draft, without repetitions within a section.

    A repetition is added to the sentence that it repeats; a line with only repetitions is dropped.
    """
    lines: list[_Line] = []
    repetitions_by_words: dict[str, list[str]] = {}
    for prefix, pieces in _written_lines(draft):
        if prefix.startswith("#"):
            repetitions_by_words = {}
            lines.append(_Line(prefix, tuple([raw] for raw in pieces)))
            continue
        new_sentences: list[list[str]] = []
        for raw in pieces:
            repetitions = repetitions_by_words.setdefault(_words(raw), [])
            repetitions.append(raw)
            if len(repetitions) == 1:
                new_sentences.append(repetitions)
        if new_sentences:
            lines.append(_Line(prefix, tuple(new_sentences)))
    return lines


def _words(sentence: str) -> str:
    """The words of a sentence, for comparison, without marks and punctuation around words."""
    words = (word.strip(_PUNCTUATION) for word in _MARK.sub("", sentence).casefold().split())
    return " ".join(word for word in words if word)


def _written_lines(draft: str) -> list[tuple[str, list[str]]]:
    """The non-empty lines of a draft: prefix and sentences.

    If the draft begins with a mark, all marks precede the sentences that they belong to.
    """
    lines: list[tuple[str, list[str]]] = []
    cited_first = _MARK.match(draft.lstrip()) is not None
    for line in draft.splitlines():
        match = _LAYOUT.match(line)
        prefix, rest = (match.group(1) or "", match.group(2)) if match else ("", line)
        pieces = [
            s for s in _marked_sentences(rest, cited_first) if any(c.isalnum() for c in _MARK.sub("", s))
        ]
        if pieces:
            lines.append((prefix, pieces))
        elif lines and _MARK.search(rest):
            # Marks on their own line belong to the sentence above.
            lines[-1][1][-1] += f" {rest.strip()}"
    return lines


def _marked_sentences(line: str, cited_first: bool) -> list[str]:
    """Sentences with their marks, before or after the full stop.

    If ``cited_first``, a mark belongs to all sentences up to the next mark.
    """
    pieces: list[str] = []
    mark = ""
    for piece in _rejoin_numbered(sentences(line)):
        leading = _LEADING_MARKS.match(piece)
        if cited_first:
            own_marks = leading.group() if leading else ""
            mark = own_marks or ("" if _MARK.search(piece) else mark)
            pieces.append(piece if own_marks else f"{mark} {piece}")
        elif leading and pieces:
            pieces[-1] += leading.group()
            if rest := piece[leading.end() :].lstrip(" ."):
                pieces.append(rest)
        else:
            pieces.append(piece)
    return pieces


def _rejoin_numbered(pieces: Sequence[str]) -> list[str]:
    """The sentences, rejoining those that were split after the number of a heading."""
    whole: list[str] = []
    for piece in pieces:
        if whole and _NUMBERING.search(whole[-1]):
            whole[-1] = f"{whole[-1]} {piece}"
        else:
            whole.append(piece)
    return whole
