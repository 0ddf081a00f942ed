"""Reflection: what a step's evidence says in answer to its question, and where."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, Final

from pydantic import BaseModel

from agent import notebook, prompts
from agent.citations import GAP
from agent.deps import Deps, Finding, Spans
from agent.events import Contradicted, Noted
from agent.retrieval.versions import same_series, takes_place, versions
from agent.session import Session
from agent.state import (
    RELEVANCE,
    AnswerSpan,
    Earlier,
    Evidence,
    Note,
    RunState,
    current_step,
    likeliest,
    open_steps,
    without_marks,
)
from agent.steps.answering import abstains, answer_prompt, most_likely, probability_in
from agent.steps.queries import references, resolve
from agent.steps.rerank import LIKELY, POSSIBLE, shown
from agent.support import missing_numbers, support
from agent.text import quantities
from agent.text.language import readable
from agent.text.sentences import sentences
from agent.text.terms import nearest, terms
from models.protocols import Reader
from traces.plain_text import squeezed

SURE: Final = 0.9
"""Probability of a span from which the language model is not asked: right nine times in ten."""
_AGREED: Final = 0.1  # … and from which it confirms what the language model says
_ENOUGH: Final = 0.5  # share of an answer's content that its passage must hold
_BRIEF_TOKENS: Final = 112


_NOTHING = Finding(found=False, sentence="", answer="", cites=[], origin="default")


class _Reflection(BaseModel):
    source: int
    answer: str
    sentence: str


def read_finding(
    reader: Reader,
    session: Session,
    _notebook: Sequence[str],
    question: str,
    evidence: Sequence[Evidence],
    spans: Spans,
) -> Finding:
    """The reader's finding where it is sure, the language model's where it is not (``lean``).

    The model answers from the step's passages, and the reader finds the short answer in what it wrote; the
    sentence is the passage's own. An answer counts only if its passage holds it, and the reader marked
    those words or considers the passage more likely an answer than not.
    """
    best = likeliest((item["number"], item["score"], spans.get(item["number"], ())) for item in evidence)
    if best is not None and best[1]["probability"] >= SURE:
        return of_span(*best)
    entries, instruction, system = answer_prompt(
        session, question, most_likely(evidence, session), [], "brief"
    )
    reply = session.write("reflect", entries, instruction, _BRIEF_TOKENS, system=system)
    answer = "" if abstains(reply.text) else _shortest(reader, question, _plain(reply.text))
    for source in _sources(answer, 0, evidence):
        passage_spans = spans.get(source["number"], ())
        if _agrees(answer, passage_spans) or source.get("relevance", 0.0) >= LIKELY:
            return Finding(True, quote(answer, source), answer, [source["number"]], "model")
    return Finding(False, "", "", [], "model")


def _shortest(reader: Reader, question: str, text: str) -> str:
    """The words of an answer that a later step can be asked with."""
    if not text or not readable(question):
        return text
    (reading,) = reader.read(question, [text])
    return text[reading.spans[0].start : reading.spans[0].end] if reading.spans else text


def model_finding(
    session: Session, notebook: Sequence[str], question: str, evidence: Sequence[Evidence], _spans: Spans
) -> Finding:
    """The model's finding in a sentence of its own, as in the seed; none if no passage supports it."""
    default = _Reflection(source=0, answer="", sentence="")
    result = session.ask("reflect", notebook, prompts.reflect(question), _Reflection, default, 160)
    sentence = without_marks(squeezed(result.value.sentence))
    answer = _plain(result.value.answer) or sentence
    source = next(iter(_sources(answer, result.value.source, evidence)), None)
    if source is None:
        return Finding(False, "", "", [], result.origin)
    return Finding(True, sentence or answer, answer, [source["number"]], result.origin)


def best_excerpt(question: str, evidence: Sequence[Evidence]) -> Finding:
    """The excerpt of the best evidence, of a table the row nearest to the question; no model is asked."""
    closest = max(evidence, key=lambda item: item["score"])
    excerpt = quote(question, closest) if closest["kind"] == "table" else closest["excerpt"]
    text = without_marks(squeezed(excerpt))
    return Finding(True, text, text, [closest["number"]], "default")


def of_span(number: int, span: AnswerSpan) -> Finding:
    """A reader's span as a finding."""
    return Finding(True, span["unit"], span["text"], [number], "reader")


def _agrees(answer: str, spans: Sequence[AnswerSpan]) -> bool:
    """Whether a span that is not improbable shares words with the model's answer."""
    words = set(terms(answer))
    return any(
        span["probability"] >= _AGREED and not words.isdisjoint(terms(span["text"])) for span in spans
    )


_NO_ANSWER = {"", "none", "empty", "n/a", "not found", "unknown", "not mentioned", "not stated"}


def _plain(answer: str) -> str:
    """One line; "" for the words small models use for an empty answer."""
    text = squeezed(answer).strip(" \"'")
    return "" if text.casefold().rstrip(".") in _NO_ANSWER else without_marks(text)


def _sources(answer: str, named: int, evidence: Sequence[Evidence]) -> list[Evidence]:
    """The passages that hold ``answer``, best first; of equals the one the model named, then the earlier.

    An empty answer is the model's word that there is none. That it names no passage is not: small models
    give passage 0 beside an answer they have copied correctly, and often another's number.
    """
    if not answer:
        return []
    candidates = [
        (support(answer, item), item["number"] == named, item)
        for item in evidence
        if not missing_numbers(answer, [item])
    ]
    sources = [candidate for candidate in candidates if candidate[0] >= _ENOUGH]
    return [item for *_, item in sorted(sources, key=lambda source: (-source[0], not source[1]))]


def quote(answer: str, item: Evidence) -> str:
    """The sentence or table row of the passage's excerpt that holds most of ``answer``."""
    units = sentences(item["excerpt"].replace(GAP, "\n"))
    return without_marks(units[nearest(units, answer)] if units else answer)


def reflect(state: RunState, deps: Deps) -> dict[str, Any]:
    """Reads plan, revisions, position, step, route, candidates, evidence, action, notes, notebook. Writes
    notes, notebook, unasked.

    A step without candidates is noted as not found without asking. The language model is asked only for
    what a later step needs and the reader is not sure of, or after ASK: the answer is written from the
    evidence in one call. Where two versions of a document disagree, the later one is used and the earlier
    one mentioned. The note of a further try takes the place of the step's earlier one.
    """
    question = current_step(state)["question"]
    evidence, proposals = proposed(state)
    spans = {number: proposal for number, _, proposal in proposals}
    best = likeliest(unreplaced(state, proposals))
    reader_alone = _reader_alone(state, deps)
    finding = _NOTHING
    if evidence and reader_alone:
        finding = _read(state, question, best)
    elif evidence:
        finding = deps.cognition.reflect(deps.session, state["notebook"], question, evidence, spans)
    finding, earlier = _latest(question, finding, evidence, spans)
    note = as_note(state, question, finding)
    note["relevance"] = max((c["scores"].get(RELEVANCE, 0.0) for c in state["candidates"]), default=0.0)
    note["span"] = best[1]["probability"] if best is not None else 0.0
    if deps.cognition.instant and state["route"] == "deep":  # a single look-up leaves nothing to decide
        if note["found"]:
            note["answers"] = round(probability_in(deps.reader, state["question"], note["sentence"]), 4)
        note["known"] = _known(state, note, deps)
    note["sure"] = finding.origin == "reader"
    if deps.steering.skipping and not note["found"]:
        note["skipped"] = True
    entries = [notebook.note_entry(note)]
    deps.session.emit(Noted(note, finding.origin))
    if earlier is not None:
        note["earlier"] = earlier
        entries.append(_contradiction(state["step"], note, earlier, evidence, deps))
    notes = [*(n for n in state["notes"] if n["step"] != state["step"]), note]
    return {
        "notes": notes,
        "notebook": deps.grown(state["notebook"], *entries),
        "unasked": bool(evidence) and reader_alone,
    }


def _known(state: RunState, note: Note, deps: Deps) -> list[float]:
    """For each open step, how likely the passages that the user's question found answer it; 0 if the step
    still needs what another one finds."""
    texts = [shown(passage).text for passage in state["looked"]]
    known: list[float] = []
    for step in open_steps(state):
        question = resolve(step["question"], [*state["notes"], note])
        readings = deps.reader.read(question, texts) if texts and not references(question) else []
        known.append(round(max((reading.probability for reading in readings), default=0.0), 4))
    return known


def as_note(state: RunState, question: str, finding: Finding) -> Note:
    """The finding of the present step as it is kept."""
    return Note(
        step=state["step"],
        question=question,
        sentence=finding.sentence,
        answer=finding.answer,
        cites=finding.cites,
        found=finding.found,
        revision=state["revisions"],
    )


def proposed(state: RunState) -> tuple[list[Evidence], list[tuple[int, float, list[AnswerSpan]]]]:
    """The step's evidence, and of each its number, its score and what the reader proposes in it."""
    candidates = {candidate["passage_id"]: candidate for candidate in state["candidates"]}
    evidence = [item for item in state["evidence"] if item["passage_id"] in candidates]
    numbered = [(item["number"], candidates[item["passage_id"]]) for item in evidence]
    return evidence, [(number, c["score"], c.get("spans", [])) for number, c in numbered]


def unreplaced(
    state: RunState, proposals: Iterable[tuple[int, float, list[AnswerSpan]]]
) -> Iterator[tuple[int, float, list[AnswerSpan]]]:
    """What is proposed, without what later versions replace."""
    numbers = {item["number"] for item in current(state)}
    return (proposal for proposal in proposals if proposal[0] in numbers)


def likely_span(
    passages: Iterable[tuple[int, float, Sequence[AnswerSpan]]], least: float = LIKELY
) -> tuple[int, AnswerSpan] | None:
    """The `likeliest` span of the passages that answer with a probability of ``least``; None below it."""
    best = likeliest(passage for passage in passages if passage[1] >= least)
    return best if best is not None and best[1]["probability"] >= least else None


def _reader_alone(state: RunState, deps: Deps) -> bool:
    """Whether the language model is not asked: no later step needs the finding, and nobody wished it."""
    is_referred_to = any(state["step"] in references(step["question"]) for step in open_steps(state))
    return deps.cognition.instant and not is_referred_to and state["action"] != "ASK"


def _read(state: RunState, question: str, best: tuple[int, AnswerSpan] | None) -> Finding:
    threshold = SURE if state["route"] == "single" else POSSIBLE
    is_sure = best is not None and readable(question) and best[1]["probability"] >= threshold
    return of_span(*best) if best is not None and is_sure else _NOTHING


def _latest(
    question: str, finding: Finding, evidence: Sequence[Evidence], spans: Spans
) -> tuple[Finding, Earlier | None]:
    """The finding of the latest version of its document, and what the version before it says instead.

    A question that names a date asks about that date, and not for the latest.
    """
    source = next((item for item in evidence if item["number"] in finding.cites), None)
    if source is None or quantities.dated(question):
        return finding, None
    proposals = {item["number"]: span for item in evidence if (span := _probable(item, spans)) is not None}
    rivals = [item for item in evidence if item["number"] in proposals and same_series(item, source)]
    for newest, *rest in versions([source, *rivals]):
        if newest is not source:
            finding = of_span(newest["number"], proposals[newest["number"]])
        for item in rest:
            span = proposals.get(item["number"])
            if span is None or set(terms(span["text"])) == set(terms(finding.answer)):
                continue
            earlier = Earlier(
                answer=span["text"], sentence=span["unit"], number=item["number"], date=item["date"]
            )
            return finding, earlier
    return finding, None


def current(state: RunState, cited: Collection[int] = ()) -> list[Evidence]:
    """The evidence without what the latest versions of its documents replace.

    That is all of the earlier ones where a later one is likely to answer; else what has a passage of the
    latest in its place. Nothing is left out if the question names a date, or if several look-ups may
    compare the versions, nor are the passages whose numbers are ``cited``.
    """
    question, evidence = state["question"], state["evidence"]
    earlier: set[int] = set()
    if state["route"] == "single" and not quantities.dated(question):
        for group in versions(evidence):
            documents = list(dict.fromkeys(item["document"] for item in group))  # the latest first
            latest = [item for item in group if item["document"] == documents[0]]
            likely = [documents.index(item["document"]) for item in group if item["score"] >= LIKELY]
            earlier.update(
                item["number"]
                for item in group[len(latest) :]
                if documents.index(item["document"]) > min(likely, default=len(documents))
                or any(takes_place(later, item) for later in latest)
            )
    return [item for item in evidence if item["number"] not in earlier or item["number"] in cited]


def _probable(item: Evidence, spans: Spans) -> AnswerSpan | None:
    """The best span of a passage, if it is likely enough to be set against another version's."""
    span = next(iter(spans.get(item["number"], ())), None)
    return span if span is not None and span["probability"] >= LIKELY else None


def _contradiction(
    step: int, note: Note, earlier: Earlier, evidence: Sequence[Evidence], deps: Deps
) -> str:
    dates = {item["number"]: item["date"] for item in evidence}
    number = note["cites"][0]
    deps.session.emit(
        Contradicted(
            step=step,
            value=note["answer"],
            number=number,
            date=dates[number],
            superseded=earlier["answer"],
            superseded_number=earlier["number"],
            superseded_date=earlier["date"],
        )
    )
    return notebook.version_entry(
        step, note["answer"], number, dates[number], earlier["number"], earlier["date"]
    )
