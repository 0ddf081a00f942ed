"""Reporting: a step that asks what is said of something is answered by the passages that say it.

A small model asked for "the exact words" of an open question copies half a sentence. The best sentences
of the best passages are the answer, and cost no call.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent.cognition.proper_names import names, stands
from agent.cognition.reflecting import Finding, Reflector
from agent.cognition.support import content
from agent.retrieval.terms import terms
from agent.sentences import sentences
from agent.session import Session
from agent.state import Evidence

_OPEN = re.compile(
    r"^what (?:is said about .+|(?:do|does|did) .+ (?:say|report|name|describe))\??$", re.IGNORECASE
)
_PASSAGES = 2
_SENTENCES = 2  # of each
_LEAST = 4  # terms of a sentence that tells something; a date line has fewer


class ReportingReflector:
    """Open questions by what the passages say, the others by another reflector (``lean``).

    Args:
        closed: For questions that ask for one thing.
    """

    def __init__(self, closed: Reflector) -> None:
        self._closed = closed

    def reflect(
        self,
        session: Session,
        notebook: Sequence[str],
        question: str,
        query: str,
        evidence: Sequence[Evidence],
    ) -> Finding:
        """The first sentences of the best passages that mention what the question names."""
        if not _OPEN.match(question):
            return self._closed.reflect(session, notebook, question, query, evidence)
        about = [item for item in evidence if item["kind"] != "table" and _mentions(item, question)]
        best = about[:_PASSAGES]  # numbered in the order of their grades
        told = [sentence for item in best for sentence in _told(item)]
        if not told:
            return self._closed.reflect(session, notebook, question, query, evidence)
        return Finding(True, " ".join(told), told[0], [item["number"] for item in best], "rule")


def _mentions(item: Evidence, question: str) -> bool:
    """Whether a passage mentions at least half of the names in the question."""
    named = names(question)
    held = set(terms(content(item)))
    return 2 * sum(stands(name, held) for name in named) >= len(named)


def _told(item: Evidence) -> list[str]:
    told = sentences(item["excerpt"].replace(" … ", "\n"))
    return [sentence for sentence in told if len(terms(sentence)) >= _LEAST][:_SENTENCES]
