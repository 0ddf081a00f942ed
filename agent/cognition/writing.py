"""Writing the answer: from the model, or from the findings alone where nothing may be asked any more."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final, Literal, Protocol

from agent import notebook, prompts
from agent.budget import BudgetExhausted
from agent.events import Warned
from agent.prompts import NOT_FOUND
from agent.session import Session
from agent.state import Evidence, Note, citation_marks, still_missing
from models.protocols import Reply

Length = Literal["brief", "normal", "report"]

_LABEL = re.compile(rf"\bfindings? \d+: |{re.escape(prompts.FOUND)}\s*", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?。！？](?:\s*\[[\d\s,]+\])*(?=\s|$)|(?:\[\d+\])+\.(?=\s|$)")
_QUESTION = re.compile(
    r"(?:(?<=\n)|(?<=[.!?。！？\]]\s)|^)[^.!?。！？\n]*[?？](?:\s*\[[\d\s,]+\])*[.?？]?\s*"
)
_BRIEF_TOKENS = 96
_LONGEST_QUOTE = 280  # characters of a sentence in an answer that the model does not write
_SHORT_ANSWER, _MISSING = "Short answer", "What was not found"


LEAD: Final = " – "
"""Stands between a short answer and the sentence that it is taken from."""


class Writer(Protocol):
    """Writes the answer with ``[n]`` marks; they are checked afterwards."""

    def write(
        self,
        session: Session,
        entries: Sequence[str],
        question: str,
        notes: Sequence[Note],
        on_text: Callable[[str], None],
        length: Length = "normal",
    ) -> str:
        """The answer; at least one note was found.

        Args:
            session: The run's way to its model.
            entries: The notebook, which the model reads first.
            question: The run's.
            notes: What the steps found.
            on_text: Takes the text as it comes.
            length: ``brief`` is a sentence or two, ``report`` is Markdown with a section for each finding.

        Raises:
            BudgetExhausted: before anything was written.
        """
        ...

    def answer(
        self,
        session: Session,
        question: str,
        evidence: Sequence[Evidence],
        found: Sequence[tuple[int, str]],
        on_text: Callable[[str], None],
        length: Length = "normal",
    ) -> str:
        """The answer from the evidence alone, read in one prompt; raises as `write`.

        ``found`` are passage numbers with the sentences that the plan's steps found there.
        """
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
        entries: Sequence[str],
        question: str,
        notes: Sequence[Note],
        on_text: Callable[[str], None],
        length: Length = "normal",
    ) -> str:
        """The model's answer; the findings if it says nothing."""
        if length == "report":
            return self._report(session, entries, question, notes, on_text)
        instruction = prompts.synthesise(question, notes, unanswered(notes), length)
        most = _BRIEF_TOKENS if length == "brief" else self._max_tokens
        reply = session.write("synthesise", entries, instruction, most, on_text)
        return _whole_sentences(reply) or from_findings(notes)

    def answer(
        self,
        session: Session,
        question: str,
        evidence: Sequence[Evidence],
        found: Sequence[tuple[int, str]],
        on_text: Callable[[str], None],
        length: Length = "normal",
    ) -> str:
        """The model's answer; "" if it says nothing."""
        instruction = prompts.answer(question, list(map(notebook.passage, evidence)), found, length)
        most = _BRIEF_TOKENS if length == "brief" else self._max_tokens
        return _whole_sentences(
            session.write("synthesise", [], instruction, most, on_text, prompts.READING)
        )

    def _report(
        self,
        session: Session,
        entries: Sequence[str],
        question: str,
        notes: Sequence[Note],
        on_text: Callable[[str], None],
    ) -> str:
        on_text(f"## {_SHORT_ANSWER}\n\n")
        written = [_section(_SHORT_ANSWER, self.write(session, entries, question, notes, on_text, "brief"))]
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
                    reply = session.write("section", entries, instruction, self._max_tokens, on_text)
                    text = _marked(reply.text.strip(), note["cites"])
                except BudgetExhausted as told:
                    used_up = str(told)
                    session.emit(Warned(f"The {used_up} is used up; the report goes on with the findings."))
            written.append(_section(heading, text or from_findings([note])))
        return "\n\n".join(written)


def abstains(text: str) -> bool:
    """Whether a text says, in the words that were asked for, that the evidence holds no answer."""
    return NOT_FOUND.rstrip(".").casefold() in text.casefold()


def _whole_sentences(reply: Reply) -> str:
    """What was written, without the notebook's labels, questions, and a sentence that the limit cut off."""
    text = _LABEL.sub("", reply.text).strip()
    if reply.finish_reason == "length":
        ends = [match.end() for match in _SENTENCE_END.finditer(text)]
        text = text[: ends[-1]] if ends else text
    # A small model repeats the question before it answers it.
    return _QUESTION.sub("", text).strip()


def from_findings(notes: Sequence[Note], length: Length = "normal") -> str:
    """The findings one after the other, each with its mark: the answer when the model is not asked.

    What was asked for comes first, then the passage's own sentence. A report has a section for each.
    """
    found = [note for note in notes if note["found"]]
    said = [" ".join(_said(note)) for note in found]
    if length != "report":
        return " ".join(said)
    return "\n\n".join(
        _section(_heading(note["question"]), text) for note, text in zip(found, said, strict=True)
    )


def _said(note: Note) -> Iterator[str]:
    yield f"{_lead(note['answer'], note['sentence']).rstrip('.')} {citation_marks(note['cites'])}."
    if earlier := note.get("earlier"):
        dated = f" ({earlier['date']})" if earlier["date"] else ""
        quote = _around(earlier["answer"], earlier["sentence"]).rstrip(".")
        yield f"{earlier['answer']}{dated}{LEAD}{quote} {citation_marks([earlier['number']])}."


def _lead(answer: str, sentence: str) -> str:
    """The short answer before the sentence that it stands in, unless it begins or is all of it."""
    if not answer or not sentence or sentence.casefold().startswith(answer.casefold()):
        return sentence or answer
    return f"{answer}{LEAD}{_around(answer, sentence)}"


def _around(answer: str, sentence: str) -> str:
    """At most `_LONGEST_QUOTE` characters of a sentence, around the answer."""
    if len(sentence) <= _LONGEST_QUOTE:
        return sentence
    middle = max(0, sentence.find(answer)) + len(answer) // 2
    start = max(0, min(middle - _LONGEST_QUOTE // 2, len(sentence) - _LONGEST_QUOTE))
    cut = sentence[start : start + _LONGEST_QUOTE]
    before, after = "… " if start else "", " …" if start + _LONGEST_QUOTE < len(sentence) else ""
    cut = cut.partition(" ")[2] if before else cut
    return f"{before}{cut.rpartition(' ')[0] if after else cut}{after}"


def unanswered(notes: Sequence[Note]) -> list[str]:
    """What the steps were to find and did not: their questions."""
    return [note["question"] for note in still_missing(notes)]


def gaps(missing: Sequence[str]) -> list[str]:
    """A sentence for each question that was not answered."""
    return [
        f"Not found in your documents: {question.rstrip('.')}{'' if question.endswith('?') else '.'}"
        for question in missing
    ]


def with_gaps(answer: str, missing: Sequence[str], length: Length = "normal") -> str:
    """The answer with what is missing at its end; a report has a section for it."""
    if not missing:
        return answer
    if length == "report":
        return "\n\n".join([answer, _section(_MISSING, "\n".join(f"- {line}" for line in missing))])
    return " ".join([answer, *missing])


def _heading(question: str) -> str:
    return " ".join(question.split()).rstrip("?.! ") or "Finding"


def _section(heading: str, text: str) -> str:
    return f"## {heading}\n\n{text}"


def _marked(text: str, cites: Sequence[int]) -> str:
    """A section whose model forgot the marks gets those of its finding; they are checked like any."""
    if not text or re.search(r"\[\d", text):
        return text
    return f"{text.rstrip('.')} {citation_marks(cites)}."
