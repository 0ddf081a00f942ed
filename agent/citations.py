"""Citations: code assigns the numbers, reads the marks in a draft, and writes marks into the answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agent.state import Claim, Evidence, citation_marks
from agent.support import share_held
from agent.text.sentences import sentences

_MARK = re.compile(r"\s*\[(\d+(?:\s*,\s*\d+)*)\]")
_SOURCE = re.compile(
    r"(?:According to|As (?:stated|reported) in) (?:the )?"
    r"(?:(?:passage|finding|source|number|report|document|evidence|text|fact|reference)\s)?"
    r"\[?(\d+)\]?,\s+(\S)",
    re.IGNORECASE,
)
# "According to the evidence," and "According to my_collection," name no source.
_NO_SOURCE = re.compile(
    r"According to (?:the )?(?:\w+_\w+|\d+ documents|(?:collections?|documents?|evidence|findings?|"
    r"information|look-?ups?|notebook|passages?|sources?|steps?)\b[^,.:]{0,30}),\s+(\S)",
    re.IGNORECASE,
)
_NUMBERING = re.compile(r"(?:^|[\s,(])\d{1,2}\.$")  # "Review 2024, 2. Reliability of machines"
_LEADING_MARKS = re.compile(rf"(?:{_MARK.pattern})+")
_TERMINAL = re.compile(r"([.!?。！？]+[\"”’)]*)$")
_AROUND = ".,;:!?。！？\"'“”‘’()*_"  # signs around a word that are not part of it
_LAYOUT = re.compile(r"^\s*(#{1,6}\s+|[-*•]\s+|\d{1,2}[.)]\s+)?(.*)$")
_FLAGS = {
    "supported": "",
    "partly": " (only partly supported)",
    "not": " (not supported by the sources)",
}


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of a draft.

    Attributes:
        prefix: Its heading or list mark.
        sentences: With their marks; each as a list of its repetitions, which may differ in marks.
    """

    prefix: str
    sentences: tuple[list[str], ...]

    @property
    def heading(self) -> bool:
        return self.prefix.startswith("#")


def claims(draft: str, evidence: Sequence[Evidence]) -> list[Claim]:
    """The sentences of ``draft`` with the passages they cite, not verified yet.

    Marks of unknown passages are dropped, and headings are not sentences. A small model may repeat itself:
    in a section, repetitions are one sentence, which cites what any of them cites.
    """
    known = {item["number"] for item in evidence}
    found: list[Claim] = []
    for times in (sentence for line in _lines(draft) if not line.heading for sentence in line.sentences):
        marks = [int(n) for raw in times for group in _MARK.findall(raw) for n in group.split(",")]
        found.append(
            Claim(
                text=_MARK.sub("", times[0]).strip(),
                cites=[number for number in dict.fromkeys(marks) if number in known],
                support=0.0,
                verdict="not",
                reason="not checked",
            )
        )
    return found


def render(checked: Sequence[Claim], draft: str = "") -> str:
    """The answer with marks after each sentence, and a flag if it is not or only partly supported.

    Args:
        checked: The draft's claims (`claims`), verified.
        draft: For the layout of headings and lists; without it, the sentences are one paragraph.
    """
    lines = _lines(draft) if draft else []
    if not any(line.prefix for line in lines):
        return " ".join(_marked(claim) for claim in checked)
    left = iter(checked)
    laid_out: list[str] = []
    for line in lines:
        if line.heading:
            heading = " ".join(times[0] for times in line.sentences)
            laid_out += ["", line.prefix + _MARK.sub("", heading), ""]  # a heading is not checked
        else:
            laid_out.append(line.prefix + " ".join(_marked(next(left)) for _ in line.sentences))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(laid_out)).strip()


def quotes(claims: Sequence[Claim], evidence: Sequence[Evidence]) -> dict[str, str]:
    """For each cited number, as text, the sentence or row of its passage most similar to a claim.

    The passage's excerpt, from which the answer was written, comes first.
    """
    found: dict[str, tuple[float, str]] = {}
    by_number = {item["number"]: item for item in evidence}
    for claim in claims:
        for item in (by_number[n] for n in claim["cites"] if n in by_number):
            score, unit = _nearest(claim["text"], item)
            key = str(item["number"])
            if unit and (key not in found or score > found[key][0]):
                found[key] = (score, unit)
    return {key: unit for key, (_, unit) in found.items()}


def _nearest(text: str, item: Evidence) -> tuple[float, str]:
    best = (0.0, "")
    for source in (item["excerpt"].replace(" … ", "\n"), item["text"]):
        for unit in sentences(source):
            score = share_held(text, [unit])
            if score > best[0]:
                best = (score, unit)
    return best


def _marked(claim: Claim) -> str:
    marks = citation_marks(claim["cites"])
    body, end = claim["text"], ""
    terminal = _TERMINAL.search(body)
    if terminal:
        body, end = body[: terminal.start()], terminal.group(1)
    tail = f" {marks}" if marks else ""
    return f"{body}{_FLAGS[claim['verdict']]}{tail}{end}"


def _lines(draft: str) -> list[_Line]:
    """The lines of a draft, without repetitions in a section.

    A repetition is added to the sentence that it repeats; a line with nothing else is dropped.
    """
    lines: list[_Line] = []
    said: dict[str, list[str]] = {}
    for prefix, pieces in _written_lines(draft):
        if prefix.startswith("#"):
            said = {}
            lines.append(_Line(prefix, tuple([raw] for raw in pieces)))
            continue
        fresh: list[list[str]] = []
        for raw in pieces:
            times = said.setdefault(_words(raw), [])
            times.append(raw)
            if len(times) == 1:
                fresh.append(times)
        if fresh:
            lines.append(_Line(prefix, tuple(fresh)))
    return lines


def _words(sentence: str) -> str:
    """The words of a sentence, for comparison, without marks and punctuation around words."""
    words = (word.strip(_AROUND) for word in _MARK.sub("", sentence).casefold().split())
    return " ".join(word for word in words if word)


def _written_lines(draft: str) -> list[tuple[str, list[str]]]:
    """The non-empty lines of a draft: prefix and sentences.

    If the draft begins with a mark, its marks are before the sentences they belong to.
    """
    lines: list[tuple[str, list[str]]] = []
    cited_first = _MARK.match(draft.lstrip()) is not None
    for line in draft.splitlines():
        match = _LAYOUT.match(line)
        prefix, rest = (match.group(1) or "", match.group(2)) if match else ("", line)
        said = [
            s for s in _marked_sentences(rest, cited_first) if any(c.isalnum() for c in _MARK.sub("", s))
        ]
        if said:
            lines.append((prefix, said))
        elif lines and _MARK.search(rest):
            # Marks on their own line belong to the sentence above.
            lines[-1][1][-1] += f" {rest.strip()}"
    return lines


def _marked_sentences(line: str, cited_first: bool) -> list[str]:
    """Sentences with their marks, before or after the full stop.

    In a line that cites first, a mark belongs to all sentences up to the next mark.
    """
    pieces: list[str] = []
    mark = ""
    for piece in _unbroken(sentences(line)):
        nothing = None if _SOURCE.match(piece) else _NO_SOURCE.match(piece)
        rest = nothing.group(1).upper() + piece[nothing.end() :] if nothing else piece
        leading = _LEADING_MARKS.match(rest)
        if named := _SOURCE.match(rest):
            # "According to passage 4, it burned" is "[4] It burned".
            mark = f"[{named.group(1)}]"
            rest = f"{mark} {named.group(2).upper()}{rest[named.end() :]}"
        elif cited_first:
            own = leading.group() if leading else ""
            mark = own or ("" if _MARK.search(rest) else mark)
            rest = rest if own else f"{mark} {rest}"
        elif leading and pieces:
            pieces[-1] += leading.group()
            rest = rest[leading.end() :].lstrip(" .")
        if rest:
            pieces.append(rest)
    return pieces


def _unbroken(pieces: Sequence[str]) -> list[str]:
    """The sentences, joining those that were split after the number of a heading."""
    whole: list[str] = []
    for piece in pieces:
        if whole and _NUMBERING.search(whole[-1]):
            whole[-1] = f"{whole[-1]} {piece}"
        else:
            whole.append(piece)
    return whole
