"""Verification: each sentence of an answer against the passages it cites."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, Literal

from pydantic import BaseModel

from agent import citations, prompts
from agent.budget import ANSWER_NOW, BudgetExhausted
from agent.deps import Deps
from agent.events import Answered, Warned
from agent.prompts import NOT_FOUND
from agent.session import Session
from agent.state import (
    Candidate,
    Claim,
    Evidence,
    Note,
    RunState,
    Verdict,
    nothing_found,
    still_missing,
    without_marks,
)
from agent.steps.answering import (
    ANSWERS,
    EARLIER,
    LEAD,
    SUPPORTS,
    abstains,
    is_answer,
    left_out,
    passage_text,
    probability_in,
    questions_of,
    says_nothing_of,
    with_prices,
)
from agent.steps.grade import graded
from agent.steps.reflect import current, likely_span
from agent.steps.rerank import LIKELY, shown
from agent.steps.synthesise import gaps, with_gaps
from agent.support import (
    NamedCell,
    content,
    missing_names,
    missing_numbers,
    named_cell,
    named_rows,
    share_held,
    stated_numbers,
)
from agent.text import quantities
from agent.text.language import language, readable
from agent.text.sentences import sentences
from agent.text.terms import nearest, words_of
from agent.text.vocabulary import YES_NO, vocabulary
from models.protocols import Reader, Support

_MAY_REFUTE = 0.5  # probability from which a passage may refute a sentence
_MAY_SUPPORT = 0.3  # … from which one may support it: it does if it says that the sentence is the answer,
_SURELY_ANSWERS = 0.7  # with this probability
_GROUNDED = 0.75  # share of an answer that must be supported for it to be grounded
_WEIGHT: dict[Verdict, float] = {"supported": 1.0, "unsure": 0.5, "partly": 0.5, "not": 0.0}
_COPIED: Final = Support(1.0, 0.0, 0.0)
_CONTRADICTED: Final = Support(0.0, 1.0, 0.0)
_YES_OR_NO = re.compile(rf"(?:{'|'.join(sorted(YES_NO, reverse=True))})\s*(?:[^\w\s]|$)", re.IGNORECASE)
_WORDS = 0.6  # share of a sentence's words that its passages hold, where only words can be compared
_OTHERS = 12  # passages that are tried in place of cited ones that do not say a sentence
_UNSUPPORTED: Final = 0.05
"""Probability below which a passage does not support a sentence.

Of held-out claims on written passages one right one in 200 is below it in its own passage, of the wrong
ones one in five, and of those about something else seven in ten.
"""
_REFUTES: Final = 0.85
"""Probability from which a passage refutes a sentence.

None of 192 held-out right claims reached it, in its own passage or in another; 28 % of the wrong ones did.
"""


def share(claims: Sequence[Claim]) -> float:
    """How much of an answer is supported, 0 to 1: a sentence counts 1, one that is partly or maybe so half.

    0 without claims: nothing said is nothing supported.
    """
    return sum(_WEIGHT[claim["verdict"]] for claim in claims) / len(claims) if claims else 0.0


def grounded(claims: Sequence[Claim], evidence: Sequence[Evidence]) -> bool:
    """Whether an answer can be relied on.

    It can if no sentence is unsupported and at least three quarters of it are supported (`share`): one
    sentence of two may be partly or maybe so, the only one may not. Never without evidence or claims.
    """
    return (
        bool(claims)
        and bool(evidence)
        and all(claim["verdict"] != "not" for claim in claims)
        and share(claims) >= _GROUNDED
    )


def verify_by_reader(
    reader: Reader,
    _session: Session,
    questions: Sequence[str],
    claims: Sequence[Claim],
    evidence: Sequence[Evidence],
) -> list[Claim]:
    """The reader's judgement of each sentence, and what code can check: numbers, dates and names.

    A sentence is supported if one of its passages supports it, or all of them together do, and none refutes
    it, and each of its numbers, dates and names is in one of them. It is partly supported if the reader
    says so but a name, or one of several numbers, is in none. It is not supported if it cites no passage,
    if its numbers or names are in none, or if the reader is sure that none says it; else it is unsure.
    A sentence that its passages neither support nor refute, or that cites none, is given the kept passage
    that does support it, if there is one; where some of its passages support it, the others are no longer
    cited. An answer of a few words is supported where the reader takes them for the answer, one about
    another cell of a table than was asked for only in part, and a sentence that a passage may support where
    it is surely the answer. Where no supported sentence answers the question or one of its look-ups, the
    reader is unsure of all.
    """
    question = questions[0]
    cited = [citations.cited(claim, evidence) for claim in claims]
    asked_cells = [
        _asked_cell(claim["text"], questions, passages)
        for claim, passages in zip(claims, cited, strict=True)
    ]
    # A small model takes the wrong column of a row that it has found.
    claims = [
        Claim({**claim, "text": cell.corrected(claim["text"])}) if cell else claim
        for claim, cell in zip(claims, asked_cells, strict=True)
    ]
    options = [
        [*([item] for item in passages), *([passages] if len(passages) > 1 else [])] for passages in cited
    ]
    judgements = _read(reader, claims, options)
    checked = [
        _accept_answer(reader, _judge(claim, passages, supports, question, evidence), passages, questions)
        for claim, passages, supports in zip(claims, cited, judgements, strict=True)
    ]
    checked = _cite_again(reader, checked, question, evidence)
    checked = [_with_cell(claim, questions, citations.cited(claim, evidence)) for claim in checked]
    if any(cell and cell.agrees(claim["text"]) for claim, cell in zip(checked, asked_cells, strict=True)):
        return checked
    supported = [claim for claim in checked if claim["verdict"] == "supported"]
    if not readable(question) or is_answer(reader, questions, supported, evidence, ANSWERS):
        return checked
    return [_doubted(claim, "but maybe not in answer to your question") for claim in checked]


def _accept_answer(
    reader: Reader, claim: Claim, cited: Sequence[Evidence], questions: Sequence[str]
) -> Claim:
    """The claim, supported if the reader takes it for the answer, or for no more than the answer's words.

    It knows the question then, which says what a sentence leaves out. An answer of a few words is no
    sentence that a passage could support or refute.
    """
    question = questions[0]
    if claim["verdict"] == "supported" or not cited or not readable(question):
        return claim
    passages = [passage_text([with_prices(item)]) for item in cited]
    if claim["verdict"] == "unsure" and not claim.get("refuted") and claim["support"] >= _MAY_SUPPORT:
        pairs = [(claim["text"], passage) for passage in passages]
        if any(
            judgement.supported >= _SURELY_ANSWERS
            for asked in questions
            for judgement in reader.judge(asked, pairs)
        ):
            return Claim({**claim, "verdict": "supported", "reason": ""})
    for item, passage, reading in zip(cited, passages, reader.read(question, passages), strict=True):
        for span in reading.spans:
            answer = passage[span.start : span.end]
            if min(span.probability, reading.probability) >= LIKELY and _says_only(
                claim["text"], answer, question
            ):
                return Claim(
                    text=claim["text"],
                    cites=[item["number"]],
                    support=round(span.probability, 3),
                    verdict="supported",
                    reason="",
                )
    return claim


def _read(
    reader: Reader, claims: Sequence[Claim], options: Sequence[Sequence[Sequence[Evidence]]]
) -> list[list[Support]]:
    """One judgement per claim and option; an option is one passage, or several read as one.

    What code can tell is not read: words that are copied whole, and the value of one cell of a table.
    """
    pairs = [
        (claim["text"], items)
        for claim, claim_options in zip(claims, options, strict=True)
        for items in claim_options
    ]
    decided = [_without_reading(text, items) for text, items in pairs]
    unread = [
        (text, _read_for(text, items))
        for (text, items), support in zip(pairs, decided, strict=True)
        if support is None
    ]
    readings = iter(reader.support(unread) if unread else [])
    supports = iter([support or next(readings) for support in decided])
    return [[next(supports) for _ in claim_options] for claim_options in options]


def _cite_again(
    reader: Reader,
    claims: Sequence[Claim],
    question: str,
    evidence: Sequence[Evidence],
) -> list[Claim]:
    """The claims, those that their passages say nothing of with a passage that supports them."""
    unsupported = [
        claim for claim in claims if claim["verdict"] in {"unsure", "not"} and not claim.get("refuted")
    ]
    passages = sorted(evidence, key=lambda item: -item["score"])[:_OTHERS]
    options = [
        [[item] for item in passages if item["number"] not in claim["cites"]] for claim in unsupported
    ]
    supported: dict[int, Claim] = {}
    for claim, claim_options, supports in zip(
        unsupported, options, _read(reader, unsupported, options), strict=True
    ):
        best = max(
            zip(supports, claim_options, strict=True), key=lambda pair: pair[0].supported, default=None
        )
        if best is None or best[0].supported < SUPPORTS:
            continue
        recited = Claim({**claim, "cites": [best[1][0]["number"]]})
        recited = _judge(recited, best[1], [best[0]], question, evidence)
        if recited["verdict"] == "supported":
            supported[id(claim)] = recited
    return [supported.get(id(claim), claim) for claim in claims]


def _asked_cell(text: str, questions: Sequence[str], cited: Sequence[Evidence]) -> NamedCell | None:
    """The cell of a cited table that both a sentence and a question are about."""
    return next((said for _, said, asked in _cells(text, questions, cited) if said in asked), None)


def _with_cell(claim: Claim, questions: Sequence[str], cited: Sequence[Evidence]) -> Claim:
    """The claim; in part supported where a question is about one cell of a table, and it about another."""
    if claim["verdict"] != "supported":
        return claim
    for item, said, asked in _cells(claim["text"], questions, cited):
        if asked and said not in asked:
            reason = f"[{item['number']}] has {asked[0].value} in the cell you asked for"
            return Claim({**claim, "verdict": "partly", "reason": reason})
    return claim


def _cells(
    text: str, questions: Sequence[str], cited: Sequence[Evidence]
) -> Iterator[tuple[Evidence, NamedCell, list[NamedCell]]]:
    """Each cited table with the cell that a sentence is about, and those that the questions are about."""
    for item in cited:
        if said := named_cell(text, item):
            yield item, said, [cell for question in questions if (cell := named_cell(question, item))]


def _without_reading(text: str, items: Sequence[Evidence]) -> Support | None:
    """The judgement of a sentence that is copied, or that is about one cell of a table; else None."""
    if is_copied(text, passage_text(items)):
        return _COPIED
    cell = named_cell(text, items[0]) if len(items) == 1 else None
    agrees = cell.agrees(text) if cell else None
    if agrees is None:
        return None
    return _COPIED if agrees else _CONTRADICTED


def _read_for(text: str, items: Sequence[Evidence]) -> str:
    """What a sentence is read against: its passages, of a table the rows that it names and the extremes.

    Among all rows the reader takes a neighbouring one for it.
    """

    def narrowed(item: Evidence) -> Evidence:
        rows = with_prices(Evidence({**item, "text": named_rows(text, item) or item["text"]}))
        return Evidence({**rows, "text": "\n".join([rows["text"], *item.get("extremes", [])])})

    return passage_text([narrowed(item) if item["kind"] == "table" else item for item in items])


def is_copied(text: str, passage: str) -> bool:
    """Whether ``text`` is a whole sentence or row of the passage, maybe behind words of it, or its date.

    That it is an earlier version's may stand before it.

    A part of a sentence may say the opposite of the whole; so only a quote that is marked as cut is looked
    for inside one.
    """
    lead, _, quote = text.removeprefix(EARLIER).rpartition(LEAD)
    words = words_of(quote)
    heading, *lines = passage.splitlines() or [""]
    units = [words_of(unit) for line in lines for unit in (line, *sentences(line))]
    is_cut, extra = "…" in quote, set(words_of(lead).split()) - set(words_of(heading).split())
    return any(
        (words == unit or (is_cut and words in unit)) and extra.issubset(unit.split())
        for unit in units
        if words
    )


def _says_only(text: str, answer: str, question: str) -> bool:
    """Whether ``text`` says ``answer``, maybe with words of the question, and nothing else.

    "$236.4 million" says the "$236.4" of a table in millions.
    """
    code = language(question)
    said_figures, answer_figures, question_figures = (
        quantities.read(figure, code) for figure in (text, answer, question)
    )
    if not all(
        any(quantities.is_among(figure, [other]) for figure in said_figures) for other in answer_figures
    ):
        return False
    if not all(
        quantities.is_among(figure, [*answer_figures, *question_figures]) for figure in said_figures
    ):
        return False
    said_words, answer_words = set(words_of(text).split()), set(words_of(answer).split())
    figures = {word for figure in said_figures for word in words_of(figure.shown).split()} | set(
        vocabulary(code).scales
    )
    return (
        bool(answer_figures) or answer_words <= said_words
    ) and said_words - figures <= answer_words | set(words_of(question).split())


def _judge(
    claim: Claim,
    cited: Sequence[Evidence],
    judgements: Sequence[Support],
    question: str,
    evidence: Sequence[Evidence],
) -> Claim:
    """A claim with what the judgements of its passages, and their numbers and names, make of it."""
    supported = max((judgement.supported for judgement in judgements), default=0.0)
    verdict, reason = _verdict(claim["text"], cited, judgements, question, evidence)
    cites = claim["cites"]
    if verdict == "supported" and len(cited) > 1:
        supporting = [(i, j) for i, j in zip(cited, judgements, strict=False) if j.supported >= SUPPORTS]
        items, supports = [item for item, _ in supporting], [judgement for _, judgement in supporting]
        # A citation that adds nothing goes: it would open a passage that does not say this.
        if _verdict(claim["text"], items, supports, question, evidence)[0] == "supported":
            cites = [item["number"] for item in items]
    checked = Claim(
        {**claim, "cites": cites, "support": round(supported, 3), "verdict": verdict, "reason": reason}
    )
    if verdict in {"unsure", "not"} and any(judgement.refuted >= _MAY_REFUTE for judgement in judgements):
        checked["refuted"] = True
    return checked


def _verdict(
    text: str,
    cited: Sequence[Evidence],
    judgements: Sequence[Support],
    question: str,
    evidence: Sequence[Evidence],
) -> tuple[Verdict, str]:
    if not cited:
        return "not", "no passage is cited"
    where, verb = _number_list([item["number"] for item in cited]), "does" if len(cited) == 1 else "do"
    missing = missing_numbers(text, cited)
    if not readable(text):
        return _verdict_by_words(text, cited, f"{where} {verb} not", missing)
    # Not strict: the last judgement may be of all passages together.
    refuting = [pair for pair in zip(cited, judgements, strict=False) if pair[1].refuted >= _MAY_REFUTE]
    likeliest = max((judgement.supported for judgement in judgements), default=0.0)
    is_supported = not refuting and likeliest >= SUPPORTS
    absent = missing[0] if missing else " ".join(missing_names(text, cited, question, evidence))
    if absent and not any(judgement.refuted >= _REFUTES for _, judgement in refuting):
        partly = is_supported and (not missing or len(missing) < len(stated_numbers(text)))
        return ("partly" if partly else "not"), f"{where} {verb} not mention {absent}"
    if is_supported:
        return "supported", ""
    return _doubt(text, refuting, likeliest, where)


def _doubt(
    text: str, refuting: Sequence[tuple[Evidence, Support]], likeliest: float, where: str
) -> tuple[Verdict, str]:
    """The verdict on a sentence whose support, ``likeliest``, is too low for the reader to confirm it.

    It is often “unsure”, because two in five of such sentences are in right answers.
    """
    if not refuting:
        return ("not" if likeliest < _UNSUPPORTED else "unsure"), f"{where} may not say this"
    item, judgement = max(refuting, key=lambda pair: pair[1].refuted)
    cell = named_cell(text, item)
    if cell and cell.agrees(text) is False:
        return "not", f"[{item['number']}] has {cell.value} in that cell"
    is_refuted = judgement.refuted >= _REFUTES or likeliest < _UNSUPPORTED
    return ("not" if is_refuted else "unsure"), f"[{item['number']}] may say otherwise"


def _verdict_by_words(
    text: str, cited: Sequence[Evidence], they_do_not: str, missing: Sequence[str]
) -> tuple[Verdict, str]:
    """The verdict on a sentence in a language that the reader was not taught: by words and numbers."""
    if missing:
        return "not", f"{they_do_not} mention {missing[0]}"
    if share_held(text, map(content, cited)) >= _WORDS:
        return "supported", ""
    return "unsure", f"{they_do_not} say it in these words, and only its numbers were checked"


def _number_list(numbers: Sequence[int]) -> str:
    return " and ".join(f"[{number}]" for number in numbers)


class _Verdicts(BaseModel):
    verdicts: list[Literal["supported", "partly", "not"]]


def verify_by_model(
    reader: Reader,
    session: Session,
    questions: Sequence[str],
    claims: Sequence[Claim],
    evidence: Sequence[Evidence],
) -> list[Claim]:
    """The verdicts of the model, asked about all sentences in one call, as the seed's groundedness check.

    What code can know is not asked: a sentence without a citation, or with a number that is in none
    of its passages, is not supported whatever the model says. Where the model cannot be asked any more, or
    gives another number of verdicts, the reader's judgement counts.
    """
    read = verify_by_reader(reader, session, questions, claims, evidence)
    pairs = [(claim["text"], citations.cited(claim, evidence)) for claim in read]
    if not any(cited for _, cited in pairs):
        return read
    try:
        instruction = prompts.verify(questions[0], pairs)
        result = session.ask("verify", [], instruction, _Verdicts, _Verdicts(verdicts=[]), 96)
    except BudgetExhausted:
        return read
    verdicts = result.value.verdicts
    if len(verdicts) != len(claims):
        return read
    return [
        claim if not cited or missing_numbers(text, cited) else _with_verdict(claim, verdict)
        for claim, verdict, (text, cited) in zip(read, verdicts, pairs, strict=True)
    ]


def _with_verdict(claim: Claim, verdict: Verdict) -> Claim:
    where, one = _number_list(claim["cites"]), len(claim["cites"]) == 1
    reasons: dict[Verdict, str] = {
        "supported": "",
        "partly": f"{where} {'says' if one else 'say'} only part of this",
        "not": f"{where} {'does' if one else 'do'} not say this",
    }
    if verdict == claim["verdict"]:
        return claim
    return Claim({**claim, "verdict": verdict, "reason": reasons[verdict]})


_STOPPED: Final = "Stopped before an answer was found."


def verify(state: RunState, deps: Deps) -> dict[str, Any]:
    """Reads question, draft, status, notes, evidence, and approval and share where the user had an answer
    rewritten. Writes claims, share, grounded, answer, status; only status where that answer stays.

    A sentence that the draft repeats is one claim, and is in the answer once.
    A sentence that only says that something is not there claims nothing: the answer keeps it, or code
    says the same for each step that found nothing, and neither is counted. A draft that begins with such
    a sentence answers nothing.
    """
    evidence = state["evidence"]
    if state["status"] == "not_found" or not state["draft"]:
        return _without_answer(state, deps)
    drafted = citations.claims(state["draft"], evidence)
    draft = state["draft"]
    abstaining = [abstains(claim["text"]) for claim in drafted]
    if not drafted or abstaining[0]:
        return _without_answer(state, deps)
    stating = [claim for claim, empty in zip(drafted, abstaining, strict=True) if not empty]
    questions = questions_of(state["question"], state["notes"])
    cited = {number for claim in stating for number in claim["cites"]}
    claims = deps.cognition.verify(deps.session, questions, stating, current(state, cited))
    claims = _with_later(state, map(_with_yes_or_no, claims), deps)
    if state["status"] == "overruled":
        claims = [_doubted(claim, "but the language model found no answer there") for claim in claims]
    for claim, drafted_claim in zip(claims, stating, strict=True):
        if claim["text"] != drafted_claim["text"]:
            deps.session.emit(
                Warned(f"A figure was that of a neighbouring cell: “{drafted_claim['text']}”")
            )
    if (nothing_found(state["notes"]) or deps.cognition.instant) and not _answered(state, claims, deps):
        return _without_answer(state, deps)
    if _stays(state, claims):
        return _as_before(deps)
    remaining = iter(claims)
    # What says nothing keeps its place in the answer, without marks.
    sentences = [
        Claim({**sentence, "cites": [], "verdict": "supported"}) if empty else next(remaining)
        for sentence, empty in zip(drafted, abstaining, strict=True)
    ]
    supported, is_grounded = round(share(claims), 3), grounded(claims, evidence)
    answer = citations.render(sentences, draft)
    missing, sentences_on_gaps = _missing(state, answer, deps)
    answer = with_gaps(answer, sentences_on_gaps, deps.length)
    cited = {number for claim in claims for number in claim["cites"]}
    deps.session.emit(
        Answered(
            answer=answer,
            sentences=claims,
            sources=[item for item in evidence if item["number"] in cited],
            share=supported,
            grounded=is_grounded,
            quotes=citations.quotes(claims, evidence),
            missing=missing,
        )
    )
    return {
        "claims": claims,
        "share": supported,
        "grounded": is_grounded,
        "answer": answer,
        "status": "answered",
    }


def _with_yes_or_no(claim: Claim) -> Claim:
    """The claim; no longer sure where it begins with a yes or a no, which nothing here can check.

    The reader takes either for the same. Of 79 questions about short passages of the kinds that people own,
    the default model answered 63 with a yes or a no, 40 of them rightly.
    """
    if not _YES_OR_NO.match(claim["text"]):
        return claim
    return _doubted(claim, "but check whether it means yes or no")


def _doubted(claim: Claim, doubt: str) -> Claim:
    """The claim; if it is supported, no longer sure."""
    if claim["verdict"] != "supported":
        return claim
    says = "says" if len(claim["cites"]) == 1 else "say"
    reason = f"{_number_list(claim['cites'])} {says} this, {doubt}"
    return Claim({**claim, "verdict": "unsure", "reason": reason})


def _with_later(state: RunState, claims: Iterable[Claim], deps: Deps) -> list[Claim]:
    """The claims; no longer sure where a later document than their sources may say otherwise.

    It replaces nothing: what merely sounds alike may be about something else. Several look-ups may compare
    what was said when.
    """
    if state["route"] != "single":
        return list(claims)
    found = {passage["passage_id"]: passage for passage in (*state["looked"], *state["candidates"])}

    def checked(claim: Claim) -> Claim:
        newest = max((item["date"] for item in citations.cited(claim, state["evidence"])), default="")
        later = [passage for passage in found.values() if newest and passage["date"] > newest]
        if claim["verdict"] != "supported" or claim["text"].startswith(EARLIER):
            return claim
        otherwise = _refuting(claim["text"], later, deps.reader) or _answering(state, claim["text"], later)
        if otherwise is None:
            return claim
        passage, sentence = otherwise
        reason = f"“{passage['title']}” of {passage['date']} may say otherwise: “{sentence}”"
        return Claim({**claim, "verdict": "unsure", "reason": without_marks(reason)})

    return [checked(claim) for claim in claims]


def _refuting(text: str, passages: Sequence[Candidate], reader: Reader) -> tuple[Candidate, str] | None:
    """The passage that most likely refutes a sentence, and its own sentence about the same."""
    statement = text.rpartition(LEAD)[2]
    if not passages or not readable(statement):
        return None
    supports = reader.support([(statement, shown(passage).text) for passage in passages])
    support, passage = max(zip(supports, passages, strict=True), key=lambda pair: pair[0].refuted)
    units = sentences(passage["text"])
    if support.refuted < _REFUTES or not units:
        return None
    return passage, units[nearest(units, statement)]


def _answering(state: RunState, text: str, passages: Sequence[Candidate]) -> tuple[Candidate, str] | None:
    """The passage with a likely answer that is not in a sentence, and the answer's sentence.

    A question that names a date asks about that date, and not for the latest.
    """
    question = state["question"]
    if quantities.dated(question):
        return None
    proposals = ((place, one["score"], one.get("spans", [])) for place, one in enumerate(passages))
    best = likely_span(proposals)
    if best is None or share_held(best[1]["text"], [text]) == 1.0:
        return None
    return passages[best[0]], best[1]["unit"]


def _stays(state: RunState, claims: Sequence[Claim]) -> bool:
    """Whether an answer that was rewritten stays: the new one says nothing, or less of it is supported."""
    is_rewritten, is_grounded = state["approval"] == "rewrite", grounded(claims, state["evidence"])
    return is_rewritten and not is_grounded and (not claims or share(claims) < state["share"])


def _as_before(deps: Deps) -> dict[str, Any]:
    deps.session.emit(Warned("The evidence has no better answer, so the earlier one is kept."))
    return {"status": "answered"}


def _without_answer(state: RunState, deps: Deps) -> dict[str, Any]:
    """What the documents do not say, or what was not searched to its end: that says nothing of them."""
    if _stays(state, []):
        return _as_before(deps)
    notes, ended = state["notes"], state["stopped_because"]
    early = ended == ANSWER_NOW or (bool(notes or ended) and all(note.get("skipped") for note in notes))
    answer, status, share = (_STOPPED, "stopped", None) if early else (NOT_FOUND, "not_found", 0.0)
    deps.session.emit(Answered(answer, [], [], share))
    return {"claims": [], "share": 0.0, "grounded": False, "answer": answer, "status": status}


def _missing(state: RunState, answer: str, deps: Deps) -> tuple[list[str], list[str]]:
    """The look-ups without an answer, and a sentence for the user on each."""
    notes = state["notes"]
    open_notes = [] if nothing_found(notes) else _left_open(state, answer, deps)
    searched = {note["step"] for note in notes}
    not_found = [note["question"] for note in open_notes if note["step"] in searched]
    unsearched = [note["question"] for note in open_notes if note["step"] not in searched]
    skipped = [note["question"] for note in notes if note.get("skipped")]
    return [*not_found, *unsearched, *skipped], [
        *gaps(not_found),
        *(f"Not searched: {without_marks(question)}" for question in unsearched),
        *(f"You skipped: {without_marks(question)}" for question in skipped),
    ]


def _left_open(state: RunState, answer: str, deps: Deps) -> list[Note]:
    """The look-ups that the answer leaves open, and that were not skipped.

    The model is not asked about them where the user wants the answer now.
    """
    notes, plan = state["notes"], state["plan"]
    is_urgent = state["stopped_because"] == ANSWER_NOW
    if state["approval"] == "rewrite" and state["route"] == "deep":
        # Findings that do not answer their look-ups are not in it.
        return left_out(deps.reader, notes, plan, answer)
    if deps.session.taught and state["route"] == "deep":
        return [
            note
            for note in left_out(deps.reader, notes, plan, answer)
            if not note["found"]
            and (_absent(note) if is_urgent else says_nothing_of(deps.session, answer, note["question"]))
        ]
    return [
        note
        for note in still_missing(notes)
        if not note.get("skipped")
        and _absent(note)
        and probability_in(deps.reader, note["question"], answer) < LIKELY
    ]


def _absent(note: Note) -> bool:
    """Whether the reader grades every passage of the step's searches as beside the point."""
    return graded(note.get("relevance", 0.0)) == "incorrect"


def _answered(state: RunState, claims: list[Claim], deps: Deps) -> bool:
    """Whether the answer is shown: a model that was not taught to refuse may not, so the reader decides.

    It is shown if the reader considers a passage, or the answer itself, more likely an answer than not.
    In a language that the reader was not taught, what could be checked decides.
    """
    if deps.session.taught:
        return True
    if not readable(state["question"]):
        doubtful = [claim for claim in claims if claim["verdict"] in {"unsure", "not"}]
        return not any(claim["verdict"] == "not" or readable(claim["text"]) for claim in doubtful)
    if max((item["score"] for item in state["evidence"]), default=0.0) >= LIKELY:
        return True
    questions = questions_of(state["question"], state["notes"])
    return is_answer(deps.reader, questions, claims, state["evidence"])
