"""The policy state as numbers and as text, by the same code at run time and in training.

The numbers are cheap signals of whether evidence is missing and more search would help, computed from the
state alone, never from a gold answer. The text has a fixed order, with the most important facts first, and
fits a small model: evidence that does not fit is cut off at the end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

from agent.decisions.decider import PolicyState, is_stuck
from agent.text.language import language
from agent.text.names import phrases
from agent.text.terms import terms
from models.token_estimate import at_most
from traces.plain_text import squeezed

_YEAR = re.compile(r"\b(?:1[5-9]|20)\d\d\b")
_HELPFUL = 0.5  # a passage of at least this relevance helps

MOST_TOKENS = 240
"""Estimated tokens of a state text; the estimate is not too low (`models.token_estimate.at_most`)."""

_LONGEST_QUESTION = 320  # characters of a question, so that half of the text is for findings
_LONGEST_TEXT = 140
_MOST_QUESTIONS = 3  # open or missing questions that are listed


def features(state: PolicyState) -> dict[str, float]:
    """The numbers by name, rounded to four digits; names and order are always the same."""
    passages = [_Passage(item) for item in state.evidence]
    values = {
        **_progress(state),
        **_last_search(state),
        **_findings(state),
        **_reading(state),
        **_evidence(state, passages),
        **_coverage(state, passages),
        **_links(state, passages),
        "words": len(state.question.split()),
    }
    return {name: round(float(value), 4) for name, value in values.items()}


class _Passage:
    """A passage of the evidence, with the values that several features need."""

    def __init__(self, item: dict[str, Any]) -> None:
        self.title = squeezed(item["title"]).casefold()
        self.bare = self.title.partition(" (")[0]
        self.excerpt = item["excerpt"].casefold()
        self.terms = set(terms(f"{item['title']} {item['excerpt']}"))
        self.step: int = item["step"]
        self.relevance: float = item["relevance"]


def _progress(state: PolicyState) -> dict[str, float]:
    total = state.plan_done + len(state.open_questions)
    return {
        "step": state.step,
        "steps_left": state.steps_left,
        "revisions_left": state.revisions_left,
        "tokens_left": state.tokens_left,
        "plan_done": state.plan_done,
        "open": len(state.open_questions),
        "plan_share": state.plan_done / max(1, total),
        "stuck": is_stuck(state),
        "open_references": sum("#" in question for question in state.open_questions),
        "revised_last": state.last_action == "REVISE",
        "first": state.last_action == "",
    }


def _last_search(state: PolicyState) -> dict[str, float]:
    scores = [*state.scores, 0.0, 0.0, 0.0][:3]
    return {
        "fresh": state.fresh,
        "again": state.again,
        "barren": state.barren,
        "best": scores[0],
        "second": scores[1],
        "third": scores[2],
        "drop": scores[0] - scores[1],
        "correct": state.grade == "correct",
        "incorrect": state.grade == "incorrect",
        "corrections": state.corrections,
    }


def _findings(state: PolicyState) -> dict[str, float]:
    successful = [finding for finding in state.findings if finding["found"]]
    answers = [" ".join(terms(str(finding["answer"]))) for finding in successful]
    last = state.findings[-1] if state.findings else None
    last_answer = " ".join(terms(str(last["answer"]))) if last and last["found"] else ""
    return {
        "found_share": len(successful) / max(1, len(state.findings)),
        "found_last": bool(last and last["found"]),
        "missing": len(state.missing),
        "answer_repeats": bool(last_answer) and last_answer in answers[:-1],
        "answer_words": len(last_answer.split()),
    }


def _reading(state: PolicyState) -> dict[str, float]:
    """What the reader says of the question as a whole, of each look-up, and whether the two agree."""
    spans = [float(finding.get("span", 0.0)) for finding in state.findings]
    answering = [float(finding.get("answers", 0.0)) for finding in state.findings]
    looked = set(terms(str(state.look["answer"])))
    answers = [set(terms(str(finding["answer"]))) for finding in state.findings]
    return {
        "look_span": state.look["span"],
        "look_score": state.look["score"],
        "span_last": spans[-1] if spans else 0.0,
        "span_weakest": min(spans, default=0.0),
        "answers_last": answering[-1] if answering else 0.0,
        "answers_best": max(answering, default=0.0),
        "known_least": min(state.known, default=0.0),
        "known_most": max(state.known, default=0.0),
        "look_agrees": max((_share(looked, answer) for answer in answers), default=0.0) if looked else 0.0,
    }


def _evidence(state: PolicyState, passages: Sequence[_Passage]) -> dict[str, float]:
    steps = [float(finding["relevance"]) for finding in state.findings]
    weakest = sorted(steps)
    earlier = max(steps[:-1], default=0.0)
    relevance = sorted((item.relevance for item in passages), reverse=True)
    top = [*relevance, 0.0, 0.0, 0.0, 0.0][:4]
    return {
        "held": len(passages),
        "titles": len({item.title for item in passages}),
        "helping": sum(item.relevance >= _HELPFUL for item in passages),
        "weakest_step": weakest[0] if weakest else 0.0,
        "second_weakest_step": weakest[1] if len(weakest) > 1 else 0.0,
        "mean_step": sum(steps) / max(1, len(steps)),
        "weak_steps": sum(value < _HELPFUL for value in steps),
        "gain_on_earlier": (steps[-1] if steps else 0.0) - earlier,
        "steps_with_new": len({item.step for item in passages}),
        "top_1": top[0],
        "top_2": top[1],
        "top_3": top[2],
        "top_4": top[3],
        "relevance_sum": sum(relevance),
    }


def _coverage(state: PolicyState, passages: Sequence[_Passage]) -> dict[str, float]:
    everything: set[str] = set().union(*(item.terms for item in passages))
    question = set(terms(state.question))
    query = set(terms(state.query))
    mentioned = phrases(state.question, language(state.question)) + _YEAR.findall(state.question)
    name_terms = [set(terms(name)) for name in mentioned]
    missing = sum(not name <= everything for name in name_terms)
    open_terms = set().union(*(terms(question) for question in state.open_questions))
    return {
        "question_covered": _share(question, everything),
        "question_best": max((_share(question, item.terms) for item in passages), default=0.0),
        "query_covered": _share(query, everything),
        "query_best": max((_share(query, item.terms) for item in passages), default=0.0),
        "names": len(name_terms),
        "names_missing": missing,
        "names_titled": sum(
            any(name <= set(terms(item.title)) for item in passages) for name in name_terms
        ),
        "open_covered": _share(open_terms, everything),
    }


def _links(state: PolicyState, passages: Sequence[_Passage]) -> dict[str, float]:
    """How passages mention each other: the evidence of a bridge question is a chain of mentions."""
    links, strong, linked = 0, 0.0, set[int]()
    for (i, first), (j, second) in combinations(enumerate(passages), 2):
        if first.title == second.title:
            continue
        if _mentions(first, second) or _mentions(second, first):
            links += 1
            strong = max(strong, min(first.relevance, second.relevance))
            linked.update((i, j))
    last = [i for i, item in enumerate(passages) if item.step == state.step]
    question = squeezed(state.question).casefold()
    answers = [str(f["answer"]).casefold() for f in state.findings if f["found"] and f["answer"]]
    titles = {item.bare for item in passages if len(item.bare) > 3}
    return {
        "links": links,
        "link_strength": strong,
        "linked_share": len(linked) / max(1, len(passages)),
        "last_linked": any(i in linked for i in last),
        "asked_titles": len({bare for bare in titles if bare in question}),
        "answered_titles": len({bare for bare in titles if any(bare in a for a in answers)}),
    }


def _mentions(passage: _Passage, other: _Passage) -> bool:
    return len(other.bare) > 3 and other.bare in passage.excerpt


def _share(part: set[str], whole: set[str]) -> float:
    return len(part & whole) / len(part) if part else 1.0


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
    if state.look["answer"]:
        yield f"look {state.look['span']:.2f}: {_shorten(state.look['answer'], _LONGEST_TEXT)}"
    best = ", ".join(f"{score:.2f}" for score in state.scores[:3]) or "none"
    yield (
        f"last {(state.last_action or 'start').lower()}: {_shorten(state.query, _LONGEST_TEXT)}; "
        f"{state.fresh} new, {state.again} known; "
        f"{state.grade or 'ungraded'} {best}; {state.corrections} corrections"
    )
    for finding in state.findings:
        if finding["found"] and finding["answer"]:
            answers = float(finding.get("answers", 0.0))
            yield f"found {answers:.2f}: {_shorten(finding['answer'], _LONGEST_TEXT)}"
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
    line = squeezed(text)
    return line if len(line) <= limit else line[:limit].rpartition(" ")[0] or line[:limit]


def _truncate(line: str, room: int) -> str:
    """The words of ``line`` that fit; "" if only a few do."""
    words = line.split(" ")
    while words and at_most(" ".join(words)) > room:
        words = words[: len(words) * 9 // 10]
    return " ".join(words) if len(words) > 4 else ""
