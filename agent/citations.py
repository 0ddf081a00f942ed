"""Citations: numbers are assigned by code, and every sentence is checked against what it cites."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent.cognition.support import best_source, joint_support, missing_numbers, support
from agent.sentences import sentences
from agent.state import Claim, Evidence

_MARK = re.compile(r"\s*\[(\d+(?:\s*,\s*\d+)*)\]")
_LEADING_MARKS = re.compile(rf"(?:{_MARK.pattern})+")
_SUPPORTED = 0.5  # share of a sentence's content its passages must hold
_TERMINAL = re.compile(r"([.!?。！？]+[\"”’)]*)$")


def check(answer: str, evidence: Sequence[Evidence]) -> list[Claim]:
    """The sentences of ``answer`` with their citations resolved, completed and checked.

    A mark that names no passage is dropped. A mark whose passage does not hold the sentence is
    replaced by the passage that does, if one does; a sentence without a mark gets one the same way.
    What still lacks support, or states a number its passages do not hold, is flagged.
    """
    by_number = {item["number"]: item for item in evidence}
    checked: list[Claim] = []
    for raw in _marked_sentences(answer):
        marks = [int(n) for group in _MARK.findall(raw) for n in group.split(",")]
        text = _MARK.sub("", raw).strip()
        if not any(c.isalnum() for c in text):
            continue
        cited = [by_number[n] for n in dict.fromkeys(marks) if n in by_number]
        if not _supported(text, cited):
            cited = _better(text, cited, evidence)
        cites = [item["number"] for item in cited]
        held = round(joint_support(text, cited), 3)
        checked.append(
            Claim(
                text=text,
                cites=cites,
                support=held,
                verdict="supported" if _supported(text, cited) else "not",
                reason="",
            )
        )
    return checked


def render(checked: Sequence[Claim]) -> str:
    """The answer with a mark after each sentence; a flagged one says that it is not supported."""
    return " ".join(_marked(sentence) for sentence in checked)


def _supported(text: str, cited: Sequence[Evidence]) -> bool:
    return joint_support(text, cited) >= _SUPPORTED and not missing_numbers(text, cited)


def _marked(sentence: Claim) -> str:
    marks = "".join(f"[{number}]" for number in sentence["cites"])
    warning = " (not supported by the sources)" if sentence["verdict"] != "supported" else ""
    body, end = sentence["text"], ""
    terminal = _TERMINAL.search(body)
    if terminal:
        body, end = body[: terminal.start()], terminal.group(1)
    tail = f" {marks}" if marks else ""
    return f"{body}{warning}{tail}{end}"


def _marked_sentences(answer: str) -> list[str]:
    """Sentences with their marks, whether the model put them before the full stop or after it."""
    pieces: list[str] = []
    for piece in sentences(answer):
        rest = piece
        leading = _LEADING_MARKS.match(rest)
        if leading and pieces:
            pieces[-1] += leading.group()
            rest = rest[leading.end() :].lstrip(" .")
        if rest:
            pieces.append(rest)
    return pieces


def _better(text: str, cited: list[Evidence], evidence: Sequence[Evidence]) -> list[Evidence]:
    """The passages that hold ``text`` better than the cited ones, or the cited ones."""
    best = best_source(text, evidence)
    if best is None:
        return cited
    kept = [item for item in cited if support(text, item) > 0.25]
    options = [[best], [*kept, *([best] if best not in kept else [])], cited]
    # Fewest missing numbers first, then most content, then fewest passages.
    return min(
        options,
        key=lambda items: (
            len(missing_numbers(text, items)),
            -joint_support(text, items),
            len(items),
        ),
    )
