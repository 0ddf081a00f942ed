"""The notebook's entries, in order: every later prompt of the run begins with them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from agent.retrieval.passage_text import last_heading
from agent.state import Candidate, Evidence, Note, PlanStep, citation_marks, without_marks

_BLANK_LINES: Final = re.compile(r"\n(?:[^\S\n]*\n)+")
_LABEL: Final = re.compile(
    r"^(?=\s*(?:QUESTION|PASSAGES|SENTENCES|COLLECTIONS|PLAN|NEW PLAN FOR WHAT IS MISSING|STEP \d+|"
    r"FINDING \d+|NOTE ON STEP \d+)\s*:)",
    re.MULTILINE,
)
_PLANS: Final = ("PLAN:\n", "NEW PLAN FOR WHAT IS MISSING:\n")
_LONGEST_NAME: Final = 60  # characters; some files name all their authors


def opening(question: str, tools: Sequence[tuple[str, str]]) -> str:
    """The notebook's first entry: the question and the collections."""
    lines = [f"- {name}: {description}" for name, description in tools]
    return f"QUESTION: {question}\n\nCOLLECTIONS:\n" + "\n".join(lines)


def plan_entry(steps: Sequence[PlanStep], first: int, revision: int) -> str:
    """The plan, or its revised remaining steps."""
    lines = [f"{number}. {step['question']}" for number, step in enumerate(steps, start=first)]
    return _PLANS[revision > 0] + "\n".join(lines)


def is_plan(entry: str) -> bool:
    """Whether an entry is a plan, of steps that may be open still."""
    return entry.startswith(_PLANS)


def evidence_entry(step: int, question: str, shown: Sequence[tuple[Evidence, bool]]) -> str:
    """The evidence of a step, if any; a passage whose excerpt was already shown is only mentioned.

    ``shown`` is the step's evidence in order, each with True if its excerpt is already in the notebook.
    """
    lines = [f"[{item['number']}] (as above)" if is_known else passage(item) for item, is_known in shown]
    return "\n".join([f"STEP {step}: {question}", *(lines or ["(no evidence)"])])


def passage(item: Evidence) -> str:
    """A passage for the model: its number, its excerpt, and its source."""
    source = source_of(item)
    excerpt = fenced(item["excerpt"])
    if item["kind"] == "table":
        # The source is above the table, and the rows are on their own lines.
        lines = [f"[{item['number']}] {source}:", excerpt, *map(fenced, item.get("extremes", []))]
        return "\n".join(lines)
    # The text first: a small model prefers what comes first, and mistakes document dates for answers.
    return f"[{item['number']}] {excerpt} ({source})"


def source_of(item: Evidence) -> str:
    """Title, heading and date of a passage, in one line, as the model sees them."""
    parts = dict.fromkeys((item["title"], last_heading(item["section"]), dated(item)))
    return " ".join(fenced(", ".join(part for part in parts if part)).split())


def fenced(text: str) -> str:
    """A document's text for a prompt, so that it cannot pose as another passage or a part of the prompt.

    Passages are separated by blank lines and numbered in square brackets, and the parts of a prompt begin
    with labels. Text without any of these stays as it is.
    """
    return without_marks(_LABEL.sub(r"> \g<0>", _BLANK_LINES.sub("\n", text)))


def note_entry(note: Note) -> str:
    """A step's finding."""
    if not note["found"]:
        return f"FINDING {note['step']}: not found."
    cites = citation_marks(note["cites"])
    # The short answer, if any: its sentence is already in the evidence.
    return f"FINDING {note['step']}: {note['answer'] or note['sentence']} {cites}".rstrip()


def dated(item: Candidate | Evidence) -> str:
    """The name of the author or sender of a passage's document, and its date, as far as they are known."""
    author = item.get("author", "")
    name = author.partition("<")[0].strip(' "') or author
    return ", ".join(part for part in (name[:_LONGEST_NAME], item["date"]) if part)


def version_entry(step: int, value: str, number: int, date: str, earlier: int, earlier_date: str) -> str:
    """A note on two versions of a document that disagree, and which of them counts."""
    date_text, earlier_text = (f" of {day}" if day else "" for day in (date, earlier_date))
    return (
        f"NOTE ON STEP {step}: [{number}]{date_text} says {value}. It is the later version of "
        f"[{earlier}]{earlier_text}, which says otherwise."
    )
