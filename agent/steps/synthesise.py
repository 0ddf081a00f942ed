"""Writing the answer: from the model, or from the findings alone where nothing may be asked any more."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from agent import citations, notebook, prompts
from agent.budget import BudgetExhausted
from agent.cognition import Distilled, Finding, Length
from agent.deps import Deps
from agent.events import AnswerText, EvidenceKept, NotebookGrew, Warned
from agent.prompts import NOT_FOUND
from agent.session import Session
from agent.state import (
    Evidence,
    Note,
    RunState,
    citation_marks,
    nothing_found,
    still_missing,
    without_marks,
)
from agent.steps.answering import ANSWERS, LEAD, answering, asked, cited
from agent.steps.distil import as_evidence
from agent.steps.grade import graded
from agent.steps.look import likeliest
from agent.steps.reflect import LIKELY, SURE, best_excerpt, best_span, of_span, proposed
from agent.text.language import readable
from models.protocols import Reply

_LABEL = re.compile(rf"\bfindings? \d+: |{re.escape(prompts.FOUND)}\s*", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?。！？](?:\s*\[[\d\s,]+\])*(?=\s|$)|(?:\[\d+\])+\.(?=\s|$)")
_QUESTION = re.compile(
    r"(?:(?<=\n)|(?<=[.!?。！？\]]\s)|^)[^.!?。！？\n]*[?？](?:\s*\[[\d\s,]+\])*[.?？]?\s*"
)
_BRIEF_TOKENS = 128
_LONGEST_QUOTE = 280  # characters of a sentence in an answer that the model does not write
_SHORT_ANSWER, _MISSING = "Short answer", "What was not found"


@dataclass(frozen=True, slots=True)
class Writer:
    """The language model, which writes the answer; only what it writes from the notebook has ``[n]`` marks.

    A report is written section by section, one call for each finding: a small model keeps to one thing,
    and what a call adds to the prompt is one instruction.

    Attributes:
        session: The run's access to its model.
        question: The run's question.
        max_tokens: Upper bound of an answer, and of each section of a report.
        on_text: Takes the text as it is written.
    """

    session: Session
    question: str
    max_tokens: int
    on_text: Callable[[str], None]

    def from_notebook(self, entries: Sequence[str], notes: Sequence[Note], length: Length) -> str:
        """The answer after the notebook's entries; the findings if the model says nothing.

        Raises:
            BudgetExhausted: before anything was written.
        """
        if length == "report":
            return self._report(entries, notes)
        instruction = prompts.synthesise(self.question, notes, unanswered(notes), length)
        return self._written(entries, instruction, length) or from_findings(notes)

    def from_passages(
        self, evidence: Sequence[Evidence], found: Sequence[tuple[int, str]], length: Length
    ) -> str:
        """The answer from whole passages, read in one prompt, without marks; "" if the model says nothing.

        ``found`` are passage numbers with the sentences that the plan's steps found there.
        """
        passages = list(map(notebook.passage, evidence))
        instruction = prompts.answer(self.question, passages, found, length)
        return self._written([], instruction, length, prompts.READING)

    def _written(
        self, entries: Sequence[str], instruction: str, length: Length, system: str = prompts.SYSTEM
    ) -> str:
        most = _BRIEF_TOKENS if length == "brief" else self.max_tokens
        reply = self.session.write("synthesise", entries, instruction, most, self.on_text, system)
        return _whole_sentences(reply)

    def _report(self, entries: Sequence[str], notes: Sequence[Note]) -> str:
        self.on_text(f"## {_SHORT_ANSWER}\n\n")
        written = [_section(_SHORT_ANSWER, self.from_notebook(entries, notes, "brief"))]
        used_up = ""
        for note in notes:
            if not note["found"]:
                continue
            heading = _heading(note["question"])
            text = ""
            if not used_up:
                self.on_text(f"\n\n## {heading}\n\n")
                instruction = prompts.section(note["question"], note["cites"])
                try:
                    reply = self.session.write(
                        "section", entries, instruction, self.max_tokens, self.on_text
                    )
                    text = _marked(reply.text.strip(), note["cites"])
                except BudgetExhausted as exhausted:
                    used_up = str(exhausted)
                    self.session.emit(
                        Warned(f"The {used_up} is used up; the rest of the report lists the findings.")
                    )
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
    """The short answer before its sentence, unless the sentence begins with it."""
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
        for question in map(without_marks, missing)
    ]


def with_gaps(answer: str, missing: Sequence[str], length: Length = "normal") -> str:
    """The answer with what is missing at its end; a report has a section for it."""
    if not missing:
        return answer
    if length == "report":
        return "\n\n".join([answer, _section(_MISSING, "\n".join(f"- {line}" for line in missing))])
    return " ".join([answer, *missing])


def _heading(question: str) -> str:
    return without_marks(" ".join(question.split())).rstrip("?.! ") or "Finding"


def _section(heading: str, text: str) -> str:
    return f"## {heading}\n\n{text}"


def _marked(text: str, cites: Sequence[int]) -> str:
    """A section whose model forgot the marks gets those of its finding; they are checked like any."""
    if not text or re.search(r"\[\d", text):
        return text
    return f"{text.rstrip('.')} {citation_marks(cites)}."


_LOOKED = 3  # passages of the first look that are kept
_MOST_PASSAGES = 6  # in one prompt
_ROOM = 500  # context tokens kept free for the question and the answer


def synthesise(state: RunState, deps: Deps) -> dict[str, Any]:
    """Reads question, route, looked, notes, evidence, notebook, approval. Writes evidence, notebook, notes,
    draft, status, and stopped_because where the budget ran out here.

    The passages that the question found by itself are read whole, beside what the plan's steps kept, in one
    prompt. A single look-up of which the reader is sure is answered without the model; so is a user who
    has the answer rewritten, from the findings in their passages' own words. When the budget is used up,
    the findings are the draft; if not even one step came to an end, the best passage.
    """
    kept = _with_look(state, deps)
    state = RunState({**state, **kept})  # type: ignore[typeddict-item] # fields of the state
    notes, evidence = state["notes"], state["evidence"]
    if not evidence:
        return {**kept, "draft": "", "status": "not_found"}
    if not notes:
        notes = [_note(state, best_excerpt(evidence))]
    sure = deps.cognition.instant and state["route"] == "single" and all(n.get("sure") for n in notes)
    if state["approval"] == "rewrite" or sure:
        return {**kept, "draft": from_findings(notes, deps.length), "status": ""}
    try:
        draft = _written(state, notes, deps)
    except BudgetExhausted as used_up:
        deps.session.emit(Warned(f"The {used_up} is used up; the answer lists the findings."))
        draft = from_findings(notes, deps.length)
        kept["stopped_because"] = str(used_up)
    return {**kept, "draft": draft, "status": "" if draft else "not_found"}


def _written(state: RunState, notes: list[Note], deps: Deps) -> str:
    def show(text: str) -> None:
        deps.session.emit(AnswerText(text))

    def hide(_text: str) -> None:
        """Without a likely passage, the answer is shown only after it is checked."""

    def writer(on_text: Callable[[str], None]) -> Writer:
        return Writer(deps.session, state["question"], deps.cognition.answer_tokens, on_text)

    unread = nothing_found(notes)
    if unread or (deps.cognition.instant and deps.length != "report"):
        passages = _readable(state, deps)
        likely = max(item["score"] for item in passages) >= LIKELY
        length: Length = "normal" if state["route"] == "deep" and deps.length == "normal" else "brief"
        draft = writer(show if likely else hide).from_passages(passages, _found(state), length)
        draft = cited(deps.reader, state["question"], draft, passages)
    else:
        draft = writer(show).from_notebook(state["notebook"], notes, deps.length)
    claims = citations.claims(draft, state["evidence"])
    if not claims:
        return from_findings(notes) or from_findings(_proposed(state))
    if state["route"] == "single" and (proposal := _proposed(state)):
        questions = asked(state["question"], notes)
        # The reader marked words that it takes for the answer; the model's are kept if they answer too.
        if answering(deps.reader, questions, claims, state["evidence"]) < ANSWERS:
            return from_findings(proposal)
    return draft


def _proposed(state: RunState) -> list[Note]:
    """What the reader proposes in the evidence, if it is likely."""
    best = best_span(proposed(state)[1]) if readable(state["question"]) else None
    return [_note(state, of_span(*best))] if best and best[1]["probability"] >= LIKELY else []


def _readable(state: RunState, deps: Deps) -> list[Evidence]:
    """The best of the evidence, as much as the model has room for, in the order of its numbers."""
    best = sorted(state["evidence"], key=lambda item: -item["score"])[:_MOST_PASSAGES]
    while len(best) > 1 and not deps.session.fits([], "\n\n".join(map(notebook.passage, best)), _ROOM):
        best.pop()
    return sorted(best, key=lambda item: item["number"])


def _found(state: RunState) -> list[tuple[int, str]]:
    """Passage number and sentence of what the plan's steps found."""
    if state["route"] == "single":
        return []
    notes = [note for note in state["notes"] if note["found"]]
    return list(dict.fromkeys((number, note["sentence"]) for note in notes for number in note["cites"]))


def _with_look(state: RunState, deps: Deps) -> dict[str, Any]:
    """Evidence, notebook and notes with what the question found by itself, whole."""
    if state["route"] == "single":
        return {}
    evidence, held = list(state["evidence"]), {item["passage_id"]: item for item in state["evidence"]}
    likely = [one for one in state["looked"] if graded(one["score"]).grade != "incorrect"] or state[
        "looked"
    ]
    likely = likely[:_LOOKED]
    fresh: list[Evidence] = []
    for one in likely:
        if one["passage_id"] in held:
            number = held[one["passage_id"]]["number"]
            evidence[number - 1] = Evidence({**held[one["passage_id"]], "excerpt": one["text"]})
            continue
        item = as_evidence(Distilled(one, one["text"], one["score"]), len(evidence) + 1, state["step"])
        evidence.append(item)
        held[item["passage_id"]] = item
        fresh.append(item)
    book = state["notebook"]
    if fresh:
        entry = notebook.evidence_entry(state["step"], state["question"], [(item, False) for item in fresh])
        deps.session.emit(EvidenceKept(state["step"], fresh, []))
        deps.session.emit(NotebookGrew(entry))
        book = [*book, entry]
    notes = state["notes"]
    best = likeliest(likely)
    if best is not None and best["spans"][0]["probability"] >= SURE:
        number = held[best["passage_id"]]["number"]
        if not any(note["found"] and number in note["cites"] for note in notes):
            notes = [_note(state, of_span(number, best["spans"][0])), *notes]
    return {"evidence": evidence, "notebook": book, "notes": notes}


def _note(state: RunState, finding: Finding) -> Note:
    return Note(
        step=state["step"],
        question=state["question"],
        sentence=finding.sentence,
        answer=finding.answer,
        cites=finding.cites,
        found=True,
        revision=state["revisions"],
    )
