"""Writing the answer: from the model, or from the findings alone where nothing may be asked any more."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from agent import citations, notebook, prompts
from agent.budget import ANSWER_NOW, BudgetExhausted
from agent.deps import Deps, Length
from agent.documents import table_text
from agent.events import AnswerText, EvidenceKept, Warned
from agent.extremes import with_extremes
from agent.state import (
    Claim,
    Evidence,
    Note,
    RunState,
    citation_marks,
    likeliest,
    nothing_found,
    still_missing,
    updated,
    without_marks,
)
from agent.steps.answering import (
    EARLIER,
    LEAD,
    SUPPORTS,
    abstains,
    answer_prompt,
    cite,
    has_unsupported,
    is_answer,
    leaves,
    left_out,
    most_likely,
    probability_in,
    questions_of,
    says_nothing_of,
)
from agent.steps.distil import as_evidence, with_best, with_section
from agent.steps.grade import graded
from agent.steps.reflect import (
    SURE,
    as_note,
    best_excerpt,
    current,
    likely_span,
    of_span,
    proposed,
    unreplaced,
)
from agent.steps.rerank import LIKELY
from agent.support import share_held, stated_numbers
from agent.text import quantities
from agent.text.language import language, readable
from models.protocols import Reader, Reply
from traces.plain_text import squeezed

_LABEL = re.compile(rf"\bfindings? \d+: |{re.escape(prompts.FOUND)}\s*", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?。！？](?:\s*\[[\d\s,]+\])*(?=\s|$)|(?:\[\d+\])+\.(?=\s|$)")
_QUESTION = re.compile(
    r"(?:(?<=\n)|(?<=[.!?。！？\]]\s)|^)[^.!?。！？\n]*[?？](?:\s*\[[\d\s,]+\])*[.?？]?\s*"
)
_BRIEF_TOKENS = 128
_LONGEST_QUOTE = 280  # characters of a sentence in an answer that the model does not write
_SHORT_ANSWER, _MISSING = "Short answer", "What was not found"


def _from_passages(
    question: str,
    passages: Sequence[Evidence],
    found: Sequence[tuple[int, str]],
    length: Length,
    deps: Deps,
    show: Callable[[str], None],
    unlike: str = "",
) -> str:
    """The model's answer from whole passages, read in one prompt, without marks; "" if it says nothing.

    ``found`` are passage numbers with the sentences that the plan's steps found there. A taught model does
    not begin with ``unlike``. Raises `BudgetExhausted` before anything was written.
    """
    entries, instruction, system = answer_prompt(deps.session, question, passages, found, length)
    if system == prompts.TAUGHT:
        show = _holding_back_refusal(show)
    text = _generate(entries, instruction, length, deps, show, system, unlike)
    return _without_sources(text, passages)


def _without_sources(text: str, passages: Sequence[Evidence]) -> str:
    """The text without sentences that are only a passage's source, copied, unless that is all there is."""
    sources = "|".join(re.escape(notebook.source_of(item)) for item in passages)
    return re.sub(rf"(?:^|(?<=[.!?]\s))\(?(?:{sources})\)?(?:\.|$)", "", text).strip() or text


def _generate(
    entries: Sequence[str],
    instruction: str,
    length: Length,
    deps: Deps,
    show: Callable[[str], None],
    system: str = prompts.SYSTEM,
    unlike: str = "",
) -> str:
    most = _BRIEF_TOKENS if length == "brief" else deps.cognition.answer_tokens
    reply = deps.session.write("synthesise", entries, instruction, most, show, system, unlike)
    return _whole_sentences(reply)


def _holding_back_refusal(on_text: Callable[[str], None]) -> Callable[[str], None]:
    """``on_text``, which takes text only once it is no beginning of a refusal."""
    pending: str | None = ""

    def show(piece: str) -> None:
        nonlocal pending
        if pending is None:
            on_text(piece)
            return
        pending += piece
        if not prompts.NOT_FOUND.startswith(pending.lstrip()):
            on_text(pending)
            pending = None

    return show


def _whole_sentences(reply: Reply) -> str:
    """What was written, without the notebook's labels, questions, and a sentence that the limit cut off."""
    text = _LABEL.sub("", reply.text).strip()
    if reply.finish_reason == "length":
        ends = [match.end() for match in _SENTENCE_END.finditer(text)]
        text = text[: ends[-1]] if ends else text
    # A small model repeats the question before it answers it.
    return _QUESTION.sub("", text).strip()


def from_findings(notes: Sequence[Note], evidence: Sequence[Evidence], length: Length = "normal") -> str:
    """The findings one after the other, each with its mark: the answer when the model is not asked.

    What was asked for comes first, then the passage's own sentence. A report has a section for each.
    """
    findings = [note for note in notes if note["found"]]
    texts = [" ".join(_statements(note, evidence)) for note in findings]
    if length != "report":
        return " ".join(texts)
    return "\n\n".join(
        _section(_heading(note["question"]), text) for note, text in zip(findings, texts, strict=True)
    )


def _statements(note: Note, evidence: Sequence[Evidence]) -> Iterator[str]:
    sources = [item for item in evidence if item["number"] in note["cites"]]
    statement = _cell(note, sources) or _lead(note["answer"], note["sentence"])
    yield f"{statement.rstrip('.')} {citation_marks(note['cites'])}."
    if earlier := note.get("earlier"):
        titles = (item["title"] for item in evidence if item["number"] == earlier["number"])
        version = earlier["date"] or next(titles, "")
        whose = f"{EARLIER}({version})" if version else EARLIER.rstrip()
        quote = _around(earlier["answer"], earlier["sentence"]).rstrip(".")
        yield f"{whose}: {earlier['answer']}{LEAD}{quote} {citation_marks([earlier['number']])}."


def _cell(note: Note, sources: Sequence[Evidence]) -> str:
    """The one cell of a table's row that has the answer, with its row and column; "" if there is none."""
    for item in sources:
        for row in table_text.rows(item["text"]) if item["kind"] == "table" else []:
            if note["sentence"] not in {squeezed(form) for form in (row.line, row.spelled())}:
                continue
            cells = [cell for cell in row.cells if cell[1].strip() == note["answer"]]
            if len(cells) == 1:
                return replace(row, cells=(table_text.figure(*cells[0]),)).spelled()
    return ""


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
    excerpt = sentence[start : start + _LONGEST_QUOTE]
    before, after = "… " if start else "", " …" if start + _LONGEST_QUOTE < len(sentence) else ""
    excerpt = excerpt.partition(" ")[2] if before else excerpt
    return f"{before}{excerpt.rpartition(' ')[0] if after else excerpt}{after}"


def gaps(missing: Sequence[str]) -> list[str]:
    """A sentence for each question that was not answered."""
    return [
        f"{prompts.NOT_FOUND.rstrip('.')}: {question.rstrip('.')}{'' if question.endswith('?') else '.'}"
        for question in map(without_marks, missing)
    ]


def with_gaps(answer: str, missing: Sequence[str], length: Length = "normal") -> str:
    """The answer with what is missing at its end, in place of a refusal that does not say of what.

    A report has a section for it.
    """
    if not missing:
        return answer
    answer = answer.removesuffix(prompts.NOT_FOUND).rstrip() or answer
    if length == "report":
        return "\n\n".join([answer, _section(_MISSING, "\n".join(f"- {line}" for line in missing))])
    return " ".join([answer, *missing])


def _heading(question: str) -> str:
    return without_marks(squeezed(question)).rstrip("?.! ") or "Finding"


def _section(heading: str, text: str) -> str:
    return f"## {heading}\n\n{text}"


_LOOKED = 3  # passages of the first look that are kept
_OVERRULES = 0.7
"""Probability, of a passage and of the words marked in it, from which these overrule a refusal.

Of 54 questions about written passages kept out of training, 8 of the 29 with an answer reach it, seven of
them in the right passage, and none of the 25 without.
"""


def synthesise(state: RunState, deps: Deps) -> dict[str, Any]:
    """Reads question, route, looked, notes, evidence, notebook, approval. Writes evidence, notebook, notes,
    draft, status, and stopped_because where the budget ran out here.

    The passages that the question found by itself are read whole, beside what the plan's steps kept, in one
    prompt. A single look-up of which the reader is sure is answered without the model; so is a user who
    has the answer rewritten, from the likely findings in their passages' own words. When the budget is
    used up, the findings are the draft; if not even one step came to an end, the best passage.
    """
    update = _with_look(state, deps)
    state = updated(state, update)
    notes, evidence = state["notes"], state["evidence"]
    if not evidence:
        return {**update, "draft": "", "status": "not_found"}
    if not notes:
        notes = [as_note(state, state["question"], best_excerpt(state["question"], evidence))]
    is_certain = deps.cognition.instant and state["route"] == "single" and all(n.get("sure") for n in notes)
    if state["approval"] == "rewrite" or is_certain:
        if not is_certain:
            notes = _likely(notes, evidence, deps.reader) or _likely(
                _proposed_note(state), evidence, deps.reader
            )
        draft = from_findings(notes, evidence, deps.length)
        return {**update, "draft": draft, "status": ""}
    questions = questions_of(state["question"], notes)
    update["evidence"] = with_extremes(questions, evidence, deps.reader, deps.library)
    state = updated(state, update)
    status = ""
    try:
        draft = _written(state, notes, deps)
        if _refuses(draft, evidence) and (overruling := _overruling(state, questions, deps)):
            draft, status = overruling, "overruled"
    except BudgetExhausted as used_up:
        deps.session.emit(Warned(f"The {used_up} is used up; the answer lists the findings."))
        draft = from_findings(notes, evidence, deps.length)
        update["stopped_because"] = str(used_up)
    return {**update, "draft": draft, "status": status if draft else "not_found"}


def _refuses(draft: str, evidence: Sequence[Evidence]) -> bool:
    """Whether a draft begins by saying that the evidence holds no answer."""
    return any(abstains(claim["text"]) for claim in citations.claims(draft, evidence)[:1])


def _overruling(state: RunState, questions: Sequence[str], deps: Deps) -> str:
    """What the reader takes for the answer where the model found none, and rules out nothing of; else "".

    A taught model has to answer then. Of 22 such answers to held-out questions that the documents leave
    open, the reader takes one for the answer; of 8 to others three, two of them right.
    """
    question, evidence, is_taught = state["question"], state["evidence"], deps.session.taught is not None
    if is_taught:
        passages = most_likely(current(state), deps.session)
        text = _from_passages(question, passages, [], "brief", deps, _hide, prompts.NOT_FOUND)
        draft = cite(deps.reader, question, text, passages)
        claims = _checked(draft, questions, evidence, deps)
        # It may refuse in words of its own. The question stands before it, since a date alone says nothing.
        if (
            not has_unsupported(claims)
            and is_answer(deps.reader, questions, claims, evidence)
            and (readable(question) or not says_nothing_of(deps.session, f"{question} {text}", question))
        ):
            return draft
    return _proposal(state, _OVERRULES if is_taught else LIKELY)


def _likely(notes: Sequence[Note], evidence: Sequence[Evidence], reader: Reader) -> list[Note]:
    """The findings that the reader takes, each read alone, for likely answers to their questions.

    A quotation is supported by its passage whatever it says.
    """

    def is_likely(question: str, text: str) -> bool:
        claims = citations.claims(text, evidence)
        is_found = is_answer(reader, [question], claims, evidence)
        return is_found and probability_in(reader, question, text) >= LIKELY

    return [
        note
        for note in notes
        if not readable(note["question"]) or is_likely(note["question"], from_findings([note], evidence))
    ]


def _written(state: RunState, notes: list[Note], deps: Deps) -> str:
    """The draft by the model; without a likely passage, it is shown only after it is checked."""

    def show(text: str) -> None:
        deps.session.emit(AnswerText(text))

    question, evidence = state["question"], state["evidence"]
    questions = questions_of(question, notes)
    unread = nothing_found(notes)
    if deps.length == "report" and not unread:
        return _report(state, notes, deps, show)
    passages = most_likely(current(state), deps.session)
    if unread or deps.cognition.instant:
        draft = _from_likely(state, passages, deps, show)
    else:
        missing = [note["question"] for note in still_missing(notes)]
        instruction = prompts.synthesise(question, notes, missing, deps.length)
        draft = _generate(state["notebook"], instruction, deps.length, deps, show) or from_findings(
            notes, evidence
        )
    claims = citations.claims(draft, evidence)
    if not claims:
        return from_findings(notes, evidence) or _proposal(state)
    in_parts = state["route"] == "deep" and deps.session.taught and state["stopped_because"] != ANSWER_NOW
    if abstains(claims[0]["text"]):
        return (" ".join(_left_out(state, notes, "", passages, deps)) if in_parts else "") or draft
    # The reader marked words that it takes for the answer. A model that was taught is believed. Another's
    # words are kept if they answer too, unless the passages refute them, or if they are those and tell a
    # figure more: one of two things asked for.
    is_believed = deps.session.taught or state["route"] != "single"
    marked = [] if is_believed else _proposed_note(state)
    if (
        (proposal := from_findings(marked, evidence))
        and not _says_more(" ".join(claim["text"] for claim in claims), marked[0]["answer"], proposal)
        and (
            not is_answer(deps.reader, questions, claims, evidence)
            or _is_refuted(_checked(draft, questions, evidence, deps))
        )
    ):
        return proposal
    if in_parts:
        if deps.cognition.instant:
            draft = _in_parts(state, notes, draft, passages, deps)
        return " ".join([draft, *_left_out(state, notes, draft, passages, deps)])
    return draft


def _says_more(draft: str, words: str, proposal: str) -> bool:
    """Whether the draft has the words that the reader marked, and a figure that its proposal lacks."""
    has_words = share_held(words, [draft]) == 1.0
    return has_words and bool(stated_numbers(draft)) and _is_lost(draft, [proposal])


def _from_best(
    state: RunState, passages: Sequence[Evidence], deps: Deps, show: Callable[[str], None]
) -> str:
    """The answer of a taught model from the best passage alone, shown if the reader agrees; else "".

    It does where it takes the passage for a likely answer, the draft has the words that it marks there, and
    all of the draft is supported and answers. Of 41 questions about people's own documents 9 were answered
    so, 8 rightly, in a third of the time; from all passages 7 of the 9 were.
    """
    question = state["question"]
    if state["route"] != "single" or not deps.session.taught or not readable(question):
        return ""
    best = max(passages, key=lambda item: item["score"])
    section = [item for item in passages if _place(item) == _place(best)]
    spans = next((spans for number, _, spans in proposed(state)[1] if number == best["number"]), [])
    if best["score"] < LIKELY or not spans or len(section) == len(passages):
        return ""
    written: list[str] = []
    draft = _read(question, section, "brief", deps, written.append)
    if not draft or share_held(spans[0]["text"], [draft]) < 1.0:
        return ""
    claims = _checked(draft, [question], section, deps)
    is_supported = all(claim["verdict"] == "supported" for claim in claims)
    if not is_supported or not is_answer(deps.reader, [question], claims, section):
        return ""
    show("".join(written))
    return draft


def _place(item: Evidence) -> tuple[str, str, str]:
    return item["collection"], item["document"], item["section"]


def _from_likely(
    state: RunState, passages: Sequence[Evidence], deps: Deps, show: Callable[[str], None]
) -> str:
    """The draft from the most likely passages, with citations, or a refusal."""
    question = state["question"]
    if draft := _from_best(state, passages, deps, show):
        return draft
    is_likely = max(item["score"] for item in passages) >= LIKELY
    length: Length = "normal" if state["route"] == "deep" and deps.length == "normal" else "brief"
    hints = _step_findings(state)
    draft = _from_passages(question, passages, hints, length, deps, show if is_likely else _hide)
    return draft if abstains(draft) else cite(deps.reader, question, draft, passages)


def _is_refuted(claims: Sequence[Claim]) -> bool:
    return any(claim.get("refuted") for claim in claims) and not any(
        claim["verdict"] == "supported" for claim in claims
    )


def _hide(_text: str) -> None:
    """In place of a function that shows what is written."""


def _report(state: RunState, notes: list[Note], deps: Deps, show: Callable[[str], None]) -> str:
    """A short answer, then a section for each finding, written from the passages of its step.

    A small model keeps to one thing at a time. When the budget is used up, the sections that are left have
    their findings. Raises `BudgetExhausted` before anything was written.
    """
    show(f"## {_SHORT_ANSWER}\n\n")
    short = _read(state["question"], state["evidence"], "brief", deps, show)
    sections = [_section(_SHORT_ANSWER, short or from_findings(notes, state["evidence"]))]
    exhausted_limit = ""
    for note in (note for note in notes if note["found"]):
        heading, text = _heading(note["question"]), from_findings([note], state["evidence"])
        passages = [
            item
            for item in state["evidence"]
            if item["step"] == note["step"] or item["number"] in note["cites"]
        ]
        if not exhausted_limit:
            show(f"\n\n## {heading}\n\n")
            try:
                text = _read(note["question"], passages, "normal", deps, show) or text
            except BudgetExhausted as exhausted:
                exhausted_limit = str(exhausted)
                deps.session.emit(
                    Warned(f"The {exhausted_limit} is used up; the rest of the report lists the findings.")
                )
        sections.append(_section(heading, text))
    return "\n\n".join(sections)


def _in_parts(
    state: RunState, notes: Sequence[Note], draft: str, passages: Sequence[Evidence], deps: Deps
) -> str:
    """The draft; what it says of several look-ups in one sentence, unsupported, in a sentence for each.

    The reader judges one fact at a time: a sentence that compares two, it can neither accept nor refute.
    The draft stays where one of them has no sentence, or where a figure of it would be lost, or, without
    figures, a word.
    """
    evidence, questions = state["evidence"], questions_of(state["question"], notes)
    lookups = leaves(notes, state["plan"])

    def answered(claim: Claim) -> list[Note]:
        open_notes = left_out(deps.reader, lookups, [], claim["text"])
        return [note for note in lookups if note not in open_notes]

    claims = _checked(draft, questions, evidence, deps)
    unsupported = [claim for claim in claims if claim["verdict"] != "supported"]
    joined = [(claim, found) for claim in unsupported if len(found := answered(claim)) > 1]
    if not joined:
        return draft
    parts: list[Claim] = []
    for note in (note for note in lookups if any(note in found for _, found in joined)):
        try:
            text = _read(note["question"], passages, "brief", deps, _hide)
        except BudgetExhausted:
            return draft
        part = _checked(text, questions, evidence, deps)
        if not all(claim["verdict"] == "supported" for claim in part):
            likely = _likely([note], evidence, deps.reader)
            part = citations.claims(from_findings(likely, evidence), evidence)
        if not part:
            return draft
        parts += [Claim({**claim, "verdict": "supported"}) for claim in part]
    said = [*questions, *(part["text"] for part in parts)]
    replaced = [claim for claim, _ in joined]
    if any(_is_lost(claim["text"], said) for claim in replaced):
        return draft
    kept = [Claim({**claim, "verdict": "supported"}) for claim in claims if claim not in replaced]
    return citations.render([*kept, *parts])


def _is_lost(text: str, said: Sequence[str]) -> bool:
    stated = [figure for one in said for figure in quantities.read(one, language(one))]
    if figures := stated_numbers(text):
        return not all(quantities.is_among(figure, stated) for figure in figures)
    return share_held(text, said) < 1.0


def _checked(draft: str, questions: Sequence[str], evidence: Sequence[Evidence], deps: Deps) -> list[Claim]:
    return deps.cognition.verify(deps.session, questions, citations.claims(draft, evidence), evidence)


def _left_out(
    state: RunState, notes: Sequence[Note], draft: str, passages: Sequence[Evidence], deps: Deps
) -> Iterator[str]:
    """Answers to the look-ups that the draft leaves out, where the reader takes them for answers.

    Asked for several things at once, a small model answers the first. The draft's passages are asked
    first, since the model has just read them; then those of the look-up's own step.
    """
    for note in left_out(deps.reader, notes, state["plan"], draft):
        question = note["question"]
        own = [item for item in state["evidence"] if item["step"] == note["step"] and item not in passages]
        try:
            text = _read(question, passages, "brief", deps, _hide)
            if not text and own:
                text = _read(question, own, "brief", deps, _hide)
        except BudgetExhausted:
            return
        claims = citations.claims(text, state["evidence"])
        if _adds(deps.reader, claims, draft) and (
            not readable(question) or is_answer(deps.reader, [question], claims, state["evidence"])
        ):
            yield text


def _adds(reader: Reader, claims: Sequence[Claim], draft: str) -> bool:
    """Whether a claim says what the draft does not, in its words or by the reader."""
    new = [claim["text"] for claim in claims if share_held(claim["text"], [draft]) < 1.0]
    supports = reader.support([(text, draft) for text in new if readable(text)])
    return any(not readable(text) for text in new) or any(one.supported < SUPPORTS for one in supports)


def _read(
    question: str, passages: Sequence[Evidence], length: Length, deps: Deps, show: Callable[[str], None]
) -> str:
    """The model's answer from the most likely passages, with citations; "" where it has none.

    Raises `BudgetExhausted` before anything was written.
    """
    passages = most_likely(passages, deps.session)
    text = _from_passages(question, passages, [], length, deps, show)
    return cite(deps.reader, question, text, passages) if text and not abstains(text) else ""


def _proposal(state: RunState, least: float = LIKELY) -> str:
    """What the reader proposes, if it and its passage answer with a probability of ``least``; else ""."""
    return from_findings(_proposed_note(state, least), state["evidence"])


def _proposed_note(state: RunState, least: float = LIKELY) -> list[Note]:
    proposals = unreplaced(state, proposed(state)[1])
    best = likely_span(proposals, least) if readable(state["question"]) else None
    return [] if best is None else [as_note(state, state["question"], of_span(*best))]


def _step_findings(state: RunState) -> list[tuple[int, str]]:
    """Passage number and sentence of what the plan's steps found."""
    if state["route"] == "single":
        return []
    notes = [note for note in state["notes"] if note["found"]]
    return list(dict.fromkeys((number, note["sentence"]) for note in notes for number in note["cites"]))


def _with_look(state: RunState, deps: Deps) -> dict[str, Any]:
    """Evidence, notebook and notes with what the question found by itself, whole."""
    if state["route"] == "single":
        return {}
    evidence, by_passage = list(state["evidence"]), {item["passage_id"]: item for item in state["evidence"]}
    passages = [
        candidate for candidate in state["looked"] if graded(candidate["score"]) != "incorrect"
    ] or state["looked"]
    passages = passages[:_LOOKED]
    new_items: list[Evidence] = []
    for candidate in with_section(state["question"], passages, deps):
        if existing := by_passage.get(candidate["passage_id"]):
            evidence[existing["number"] - 1] = Evidence({**existing, "excerpt": candidate["text"]})
            continue
        item = as_evidence(candidate, candidate["text"], len(evidence) + 1, state["step"])
        evidence.append(item)
        by_passage[item["passage_id"]] = item
        new_items.append(item)
    evidence = with_best(evidence, passages)
    entries = state["notebook"]
    if new_items:
        deps.session.emit(EvidenceKept(state["step"], new_items, []))
        shown = [(item, False) for item in new_items]
        entries = deps.grown(entries, notebook.evidence_entry(state["step"], state["question"], shown))
    notes = state["notes"]
    best = likeliest(
        (by_passage[c["passage_id"]]["number"], c["score"], c.get("spans", [])) for c in passages
    )
    if (
        best is not None
        and best[1]["probability"] >= SURE
        and not any(note["found"] and best[0] in note["cites"] for note in notes)
    ):
        notes = [as_note(state, state["question"], of_span(*best)), *notes]
    return {"evidence": evidence, "notebook": entries, "notes": notes}
