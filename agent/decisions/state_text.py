"""The policy state as text, for deciders that read text, at run time and in training.

The order is fixed, with the most important facts first, and the length fits a small model: evidence that
does not fit is cut off at the end.
"""

from __future__ import annotations

from collections.abc import Iterator

from agent.decisions.decider import PolicyState
from models.token_estimate import at_most

MOST_TOKENS = 240
"""Estimated tokens of a state text; the estimate is not too low (`models.token_estimate.at_most`)."""

_LONGEST_QUESTION = 320  # characters of a question, so that half of the text is for findings
_LONGEST_TEXT = 140
_MOST_QUESTIONS = 3  # open or missing questions that are listed


def state_text(state: PolicyState) -> str:
    """The state in at most about `MOST_TOKENS` tokens, one fact per line, the evidence last."""
    lines: list[str] = []
    room = MOST_TOKENS
    for line in _lines(state):
        needed = at_most(line)
        if needed > room:
            lines.append(_truncate(line, room))
            break
        lines.append(line)
        room -= needed
    return "\n".join(line for line in lines if line)


def _lines(state: PolicyState) -> Iterator[str]:
    yield f"question: {_shorten(state.question, _LONGEST_QUESTION)}"
    total = state.plan_done + len(state.open_questions)
    yield (
        f"step {state.step}, {state.steps_left} left, {state.revisions_left} revisions left; "
        f"plan {state.plan_done} of {total}"
    )
    yield from _question_lines("open", state.open_questions)
    yield from _question_lines("not found", state.missing)
    best = ", ".join(f"{score:.2f}" for score in state.scores[:3]) or "none"
    yield (
        f"last {(state.last_action or 'start').lower()}: {_shorten(state.query, _LONGEST_TEXT)}; "
        f"{state.fresh} new, {state.again} known; "
        f"{state.grade or 'ungraded'} {best}; {state.corrections} corrections"
    )
    for finding in state.findings:
        if finding["found"] and finding["answer"]:
            yield f"found: {_shorten(finding['answer'], _LONGEST_TEXT)}"
    # The most relevant first, because the end may be cut off.
    for passage in sorted(state.evidence, key=lambda item: -item["relevance"]):
        title, excerpt = _shorten(passage["title"], 60), _shorten(passage["excerpt"], 2 * _LONGEST_TEXT)
        yield f"{passage['relevance']:.2f} {title}: {excerpt}"


def _question_lines(word: str, questions: list[str]) -> Iterator[str]:
    for question in questions[:_MOST_QUESTIONS]:
        yield f"{word}: {_shorten(question, _LONGEST_TEXT)}"
    if len(questions) > _MOST_QUESTIONS:
        yield f"{word}: {len(questions) - _MOST_QUESTIONS} more"


def _shorten(text: str, limit: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else line[:limit].rpartition(" ")[0] or line[:limit]


def _truncate(line: str, room: int) -> str:
    """The words of ``line`` that fit; "" if only a few do."""
    words = line.split(" ")
    while words and at_most(" ".join(words)) > room:
        words = words[: len(words) * 9 // 10]
    return " ".join(words) if len(words) > 4 else ""
