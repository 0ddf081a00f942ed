"""Evidence and candidates for tests."""

from __future__ import annotations

from agent.state import Candidate, Evidence


def evidence(
    number: int, text: str, *, title: str = "Report", kind: str = "text", step: int = 1
) -> Evidence:
    """A kept passage whose excerpt is its whole text."""
    return Evidence(
        number=number,
        step=1,
        passage_id=100 + number,
        collection="c",
        document="d.txt",
        title=title,
        date="",
        section="",
        page=None,
        kind=kind,
        text=text,
        excerpt=text,
        score=1.0 / number,
    )


def candidate(passage_id: int, text: str, *, kind: str = "text", title: str = "Report") -> Candidate:
    """A recalled passage."""
    return Candidate(
        passage_id=passage_id,
        document_id=1,
        collection="c",
        document="d.txt",
        title=title,
        date="",
        section="",
        page=None,
        kind=kind,
        text=text,
        score=1.0,
        scores={},
        grade="",
    )
