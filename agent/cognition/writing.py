"""Writing the answer: from the model, or from the findings alone where nothing may be asked any more."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Literal, Protocol

from agent import prompts
from agent.budget import BudgetExhausted
from agent.cognition import comparing
from agent.cognition.answering import asked
from agent.cognition.leading import answer_first, concluded_first
from agent.cognition.quantities import quantities, years
from agent.events import Warned
from agent.retrieval.terms import terms
from agent.session import Session
from agent.state import Note, citation_marks, still_missing
from models.protocols import Reply

Length = Literal["brief", "normal", "report"]

_ABSTENTION = re.compile(
    r"not found in (?:your|the) documents"
    r"|\b(?:is|are|was|were) not (?:provided|mentioned|stated|specified|given|included|available|"
    r"found|known)\b"
    r"|\b(?:could|can) ?not be (?:found|determined)\b|\bno information (?:on|about|is)\b"
    r"|\bdo(?:es)? not (?:provide|mention|state|specify|contain|give|say|include)\b"
    r"|\b(?:is|are|remains?) missing\b",
    re.IGNORECASE,
)
_PARTIAL = re.compile(r"\b(?:but|while|although|however)\b", re.IGNORECASE)
_MARKS = re.compile(r"\[(\d+(?:\s*,\s*\d+)*)\]")
_LABEL = re.compile(r"\bfindings? \d+: ", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?。！？](?:\s*\[[\d\s,]+\])*(?=\s|$)|(?:\[\d+\])+\.(?=\s|$)")
_MENTIONED = 0.5  # share of a missing step's question that a sentence about a gap must hold to be about it
_BRIEF_TOKENS = 96
_SHORT_ANSWER, _MISSING = "Short answer", "What was not found"


class Writer(Protocol):
    """Writes the answer with ``[n]`` marks; they are checked afterwards."""

    def write(
        self,
        session: Session,
        notebook: Sequence[str],
        question: str,
        notes: Sequence[Note],
        on_text: Callable[[str], None],
        length: Length = "normal",
    ) -> str:
        """The answer; at least one note was found.

        Args:
            session: The run's way to its model.
            notebook: What the model reads first.
            question: The run's.
            notes: What the steps found.
            on_text: Takes the text as it comes.
            length: ``brief`` is a sentence or two, ``report`` is Markdown with a section for each finding.

        Raises:
            BudgetExhausted: before anything was written.
        """
        ...

    def reread(self, session: Session, notebook: Sequence[str], question: str) -> str:
        """A short answer from the evidence alone, where no step found anything; raises as `write`."""
        ...


class ModelWriter:
    """Asks the model, which has the whole notebook before it.

    A report is written section by section, one call for each finding: a small model keeps to one thing,
    and what a call adds to the prompt is one instruction.

    Args:
        max_tokens: Upper bound of an answer, and of each section of a report.
    """

    def __init__(self, max_tokens: int) -> None:
        self._max_tokens = max_tokens

    def write(
        self,
        session: Session,
        notebook: Sequence[str],
        question: str,
        notes: Sequence[Note],
        on_text: Callable[[str], None],
        length: Length = "normal",
    ) -> str:
        """The model's answer; the findings if it says nothing."""
        if length == "report":
            return self._report(session, notebook, question, notes, on_text)
        follows = comparing.conclusion(question, notes)
        compared = follows.text if follows else ""
        instruction = prompts.synthesise(question, notes, unanswered(notes), length, compared)
        most = _BRIEF_TOKENS if length == "brief" else self._max_tokens
        reply = session.write("synthesise", notebook, instruction, most, on_text)
        written = _whole_sentences(reply)
        if not written:
            return from_findings(notes)
        left_out = [] if length == "brief" else _left_out(written, notes)
        told = " ".join([written, *([from_findings(left_out)] if left_out else [])])
        return concluded_first(follows, told) if follows else answer_first(question, notes, told)

    def reread(self, session: Session, notebook: Sequence[str], question: str) -> str:
        """The model's answer, or its word that there is none."""
        reply = session.write("synthesise", notebook, prompts.reread(question), _BRIEF_TOKENS)
        return _whole_sentences(reply)

    def _report(
        self,
        session: Session,
        notebook: Sequence[str],
        question: str,
        notes: Sequence[Note],
        on_text: Callable[[str], None],
    ) -> str:
        on_text(f"## {_SHORT_ANSWER}\n\n")
        written = [
            _section(_SHORT_ANSWER, self.write(session, notebook, question, notes, on_text, "brief"))
        ]
        used_up = ""
        for note in notes:
            if not note["found"]:
                continue
            heading = _heading(note["question"])
            text = ""
            if not used_up:
                on_text(f"\n\n## {heading}\n\n")
                instruction = prompts.section(note["question"], note["cites"])
                try:
                    reply = session.write("section", notebook, instruction, self._max_tokens, on_text)
                    text = _marked(reply.text.strip(), note["cites"])
                except BudgetExhausted as told:
                    used_up = str(told)
                    session.emit(Warned(f"The {used_up} is used up; the report goes on with the findings."))
            written.append(_section(heading, text or from_findings([note])))
        return "\n\n".join(written)


def abstains(sentence: str) -> bool:
    """True if a sentence says, in whatever words, that the evidence holds no answer and nothing else."""
    return _ABSTENTION.search(sentence) is not None and not _PARTIAL.search(sentence)


def _whole_sentences(reply: Reply) -> str:
    """What was written, without the notebook's labels and a sentence that the limit cut off."""
    text = _LABEL.sub("", reply.text).strip()
    if reply.finish_reason != "length":
        return text
    ends = [match.end() for match in _SENTENCE_END.finditer(text)]
    return text[: ends[-1]] if ends else text


def _left_out(written: str, notes: Sequence[Note]) -> list[Note]:
    """The findings that an answer neither cites nor tells: a small model drops one for its conclusion."""
    cited = {int(number) for marks in _MARKS.findall(written) for number in marks.split(",")}
    told = set(terms(written))
    return [
        note
        for note in notes
        if note["found"] and cited.isdisjoint(note["cites"]) and not _tells(told, note["answer"])
    ]


def _tells(told: set[str], answer: str) -> bool:
    """Whether an answer of these terms tells a finding: one of its figures, or half of its words."""
    wanted = terms(answer)
    figures = {term for term in wanted if term[0].isdigit()} - years(answer)
    if figures:
        return not told.isdisjoint(figures)
    return len(told.intersection(wanted)) >= _MENTIONED * len(wanted)


def from_findings(notes: Sequence[Note], length: Length = "normal") -> str:
    """The findings one after the other, each with its mark: the answer when the model is not asked.

    Each sentence is the passage's own. A report has a section for each.
    """
    found = [note for note in notes if note["found"]]
    said = [f"{note['sentence'].rstrip('.')} {citation_marks(note['cites'])}." for note in found]
    if length != "report":
        return " ".join(said)
    return "\n\n".join(
        _section(_heading(note["question"]), text) for note, text in zip(found, said, strict=True)
    )


def unanswered(notes: Sequence[Note]) -> list[str]:
    """What the steps were to find and did not: their questions, or the years of one that are left.

    Where two years were asked for and the finding has a value for one of them, the other is named.
    """
    left = [note["question"] for note in still_missing(notes)]
    for note in notes:
        asked_years = years(note["question"])
        told = years(f"{note['answer']} {note['sentence']}") & asked_years
        amounts = {q.shown for q in quantities(note["answer"]) if not q.calendar} - years(note["answer"])
        if note["found"] and told and told < asked_years and len(amounts) < len(asked_years):
            which = ", ".join(sorted(asked_years - told))
            left.append(f"{note['question'].rstrip('?. ')} ({which})?")
    return left


def gaps(missing: Sequence[str], said: Sequence[str] = ()) -> list[str]:
    """A sentence for each question that was not answered, unless one of those ``said`` tells it already."""
    told = [set(terms(sentence)) for sentence in said]
    return [
        f"Not found in your documents: {question.rstrip('.')}{'' if question.endswith('?') else '.'}"
        for question in missing
        if not any(_about(question, held) for held in told)
    ]


def with_gaps(answer: str, missing: Sequence[str], length: Length = "normal") -> str:
    """The answer with what is missing at its end; a report has a section for it."""
    if not missing:
        return answer
    if length == "report":
        return "\n\n".join([answer, _section(_MISSING, "\n".join(f"- {line}" for line in missing))])
    return " ".join([answer, *missing])


def _about(question: str, held: set[str]) -> bool:
    wanted = asked(question) or set(terms(question))
    return len(wanted & held) >= _MENTIONED * len(wanted)


def _heading(question: str) -> str:
    return " ".join(question.split()).rstrip("?.! ") or "Finding"


def _section(heading: str, text: str) -> str:
    return f"## {heading}\n\n{text}"


def _marked(text: str, cites: Sequence[int]) -> str:
    """A section whose model forgot the marks gets those of its finding; they are checked like any."""
    if not text or re.search(r"\[\d", text):
        return text
    return f"{text.rstrip('.')} {citation_marks(cites)}."
