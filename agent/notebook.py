"""The notebook's entries: what every later prompt of a run begins with, in the order it arose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from agent.state import Candidate, Evidence, Note, PlanStep, citation_marks

_LONGEST_NAME: Final = 60  # characters; some files name all their authors


def opening(question: str, tools: Sequence[tuple[str, str]]) -> str:
    """The notebook's first entry: the question and where one may look."""
    lines = [f"- {name}: {description}" for name, description in tools]
    return f"QUESTION: {question}\n\nCOLLECTIONS:\n" + "\n".join(lines)


def plan_entry(steps: Sequence[PlanStep], first: int, revision: int) -> str:
    """The plan, or what is left of it after a revision."""
    lines = [f"{number}. {step['question']}" for number, step in enumerate(steps, start=first)]
    return ("PLAN:\n" if revision == 0 else "NEW PLAN FOR WHAT IS MISSING:\n") + "\n".join(lines)


def evidence_entry(step: int, question: str, shown: Sequence[tuple[Evidence, bool]]) -> str:
    """The evidence of a step; a passage shown before with the same excerpt is only named.

    Args:
        step: Number of the step.
        question: Its question with references resolved.
        shown: The step's evidence in order, each with True if its excerpt is already in the notebook.
    """
    lines = [f"STEP {step}: {question}"]
    lines += [f"[{item['number']}] (as above)" if known else passage(item) for item, known in shown]
    return "\n".join(lines)


def passage(item: Evidence) -> str:
    """A passage as the model reads it: its number, its excerpt, and where that is from."""
    place = dict.fromkeys((item["title"], last_heading(item["section"]), dated(item)))
    where = ", ".join(part for part in place if part)
    if item["kind"] == "table":
        # What a table is about stands above it, and its rows on lines of their own.
        return f"[{item['number']}] {where}:\n{item['excerpt']}"
    # Text first: a small model takes what stands first, and dates of documents for answers.
    return f"[{item['number']}] {item['excerpt']} ({where})"


def nothing_entry(step: int, question: str) -> str:
    """A step whose search brought nothing that could be read."""
    return f"STEP {step}: {question}\n(no evidence)"


def note_entry(note: Note) -> str:
    """A step's finding."""
    if not note["found"]:
        return f"FINDING {note['step']}: not found."
    cites = citation_marks(note["cites"])
    # The short answer where there is one: the sentence it stands in is in the evidence already.
    return f"FINDING {note['step']}: {note['answer'] or note['sentence']} {cites}".rstrip()


def dated(item: Candidate | Evidence) -> str:
    """Who wrote or sent a passage's document, by name, and its date; what is not known is left out."""
    author = item.get("author", "")
    name = author.partition("<")[0].strip(' "') or author
    return ", ".join(part for part in (name[:_LONGEST_NAME], item["date"]) if part)


def last_heading(section: str) -> str:
    """The innermost heading of a stored section path."""
    return section.rsplit(" › ", 1)[-1]


def version_entry(step: int, value: str, number: int, date: str, earlier: int, earlier_date: str) -> str:
    """Two versions of a document that disagree, and which of them counts."""
    dated, before = (f" of {day}" if day else "" for day in (date, earlier_date))
    return (
        f"NOTE ON STEP {step}: [{number}]{dated} says {value}. It is the later version of "
        f"[{earlier}]{before}, which says otherwise."
    )
