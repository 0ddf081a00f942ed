"""Rewriting: a plan step becomes a question that stands on its own, and one line to search with."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from agent import prompts
from agent.retrieval.terms import terms
from agent.session import Session
from agent.state import Note, PlanStep

_REFERENCE = re.compile(r"#(\d+)")
_POINTING_AT_THINGS = frozenset("that this those these each".split())
_PRONOUNS = frozenset("it its he she they his her their them".split())
_LONGEST_NAME = 12  # words; a longer finding would drown the question it is added to
_LONGEST = 300  # characters; a longer "query" is an essay, and searches for nothing


def references(question: str) -> set[int]:
    """Numbers of the steps whose answers ``question`` needs."""
    return {int(number) for number in _REFERENCE.findall(question)}


def resolve(question: str, notes: Sequence[Note]) -> str:
    """``question`` with each ``#n`` replaced by the short answer of step n.

    A reference to a step that found nothing becomes that step's own question in brackets, which still
    says what is meant.
    """
    by_step = {note["step"]: note for note in notes}

    def answer(match: re.Match[str]) -> str:
        note = by_step.get(int(match.group(1)))
        if note is None:
            return ""
        return note["answer"] if note["found"] else f"({note['question'].rstrip('?')})"

    return " ".join(_REFERENCE.sub(answer, question).split())


class Rewriter(Protocol):
    """Makes the query of a step."""

    def rewrite(
        self,
        session: Session,
        notebook: Sequence[str],
        step: PlanStep,
        question: str,
        notes: Sequence[Note],
    ) -> str:
        """One line, at most 300 characters, never empty.

        Args:
            session: The run's way to its model.
            notebook: What the model reads first.
            step: The plan step.
            question: Its question with references resolved.
            notes: What was found so far.
        """
        ...


class PlainRewriter:
    """Model-free: the resolved question, and the last finding where it points back without saying so."""

    def rewrite(
        self,
        session: Session,
        notebook: Sequence[str],
        step: PlanStep,
        question: str,
        notes: Sequence[Note],
    ) -> str:
        """The question; "What happened at that supplier's plant?" also gets the supplier's name."""
        query = question
        if _REFERENCE.search(step["question"]) is None and _leans_on_others(question):
            query = " ".join([question, *_context(question, notes)])
        return query[:_LONGEST]


class ModelRewriter:
    """Asks the model for a query, as the seed does."""

    def rewrite(
        self,
        session: Session,
        notebook: Sequence[str],
        step: PlanStep,
        question: str,
        notes: Sequence[Note],
    ) -> str:
        """The first line of what the model writes; the question itself if that is no query."""
        reply = session.write("rewrite", notebook, prompts.rewrite(question), 48)
        return one_line(reply.text) or question[:_LONGEST]


def one_line(text: str) -> str:
    """The first line that says something, without quotes or a label; "" if it is an essay or empty."""
    for line in text.splitlines():
        bare = re.sub(r"^(?:search )?query:\s*", "", line.strip(" \t`*\"'“”#-"), flags=re.IGNORECASE)
        bare = bare.strip(" \"'“”")
        if any(c.isalnum() for c in bare):
            return bare if len(bare) <= _LONGEST else ""
    return ""


def _context(question: str, notes: Sequence[Note]) -> list[str]:
    """What a question that points back needs to be searched for.

    That is the last finding, if it is short enough to be a name and not a paragraph; for a mere "For how
    long?" also what was asked before it.
    """
    found = [note["answer"] for note in notes if note["found"]][-1:]
    asked = [note["question"] for note in notes][-1:] if len(terms(question)) < 3 else []
    return [*asked, *(answer for answer in found if len(answer.split()) <= _LONGEST_NAME)]


def _leans_on_others(question: str) -> bool:
    """True if the question points at what came before: "that plant", "For how long?".

    A pronoun behind a name points at that name: "AMD's launch with its customers" leans on nothing.
    """
    named = False
    for position, word in enumerate(question.split()):
        bare = word.strip("?.,;:'’\"")
        folded = bare.casefold().removesuffix("'s")
        if folded in _POINTING_AT_THINGS or (folded in _PRONOUNS and not named):
            return True
        named = named or (position > 0 and (bare[:1].isupper() or any(c.isdigit() for c in bare)))
    return not named and not any(ord(c) > 0x2E7F for c in question)
