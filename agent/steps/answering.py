"""What an answer rests on: which passage a sentence comes from, and whether it answers what was asked."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Final

from agent import citations, prompts
from agent.budget import BudgetExhausted
from agent.documents import table_text
from agent.notebook import fenced, passage
from agent.retrieval.passage_text import show
from agent.session import Session
from agent.state import Claim, Evidence, Note, PlanStep
from agent.steps.queries import references, resolve
from agent.steps.rerank import shown
from agent.support import missing_counts, missing_names, missing_numbers, support
from agent.text import quantities
from agent.text.language import language, readable
from models.protocols import Reader

LEAD: Final = " – "
"""Stands between a short answer and the sentence that it is taken from."""
EARLIER: Final = "Earlier "
"""Begins what an earlier version of a document says."""
_MAY_ANSWER: Final = 0.3
"""Probability from which a passage may support a sentence as the answer to a question."""
ANSWERS: Final = 0.5
"""Probability from which it does."""
_ALONE: Final = 0.005
"""Probability from which the sentence, read alone, may be that answer.

Of the sentences that answer 384 held-out questions about written passages, 64 % reach this and `ANSWERS`
and are supported (`verify_by_reader`), of true ones about something else in the passage 5 %, of those
beside a question without an answer 2 %, and of those with another number of the passage one of 185.
"""
_ANSWERED: Final = 0.03
"""Probability from which a text holds an answer: 78 % of those sentences, and 5 % of the others."""
SUPPORTS: Final = 0.6
"""Probability from which a passage supports a sentence.

Of held-out claims on written passages 49 % of the right ones reach it, of answers to questions 79 %; of the
wrong ones 95 % do not. Lower values let more wrong answers about a person's own documents pass.
"""
MOST_PASSAGES: Final = 6  # in one prompt
_TOKENS: Final = 48  # of a reply of which only the beginning counts
_ROOM: Final = 500  # context tokens kept free for the question and the answer


def questions_of(question: str, notes: Sequence[Note]) -> list[str]:
    """The question and its look-ups: what a sentence of the answer may answer."""
    return list(dict.fromkeys([question, *(note["question"] for note in notes)]))


def is_answer(
    reader: Reader,
    questions: Sequence[str],
    claims: Sequence[Claim],
    evidence: Sequence[Evidence],
    least: float = _MAY_ANSWER,
) -> bool:
    """Whether the reader takes a sentence for the answer to a question, with a probability of ``least``.

    It judges the sentence by a passage that it cites, and reads it alone: what a passage says of something
    else is supported by it too, but answers nothing.
    """
    pairs = [
        (claim["text"], passage_text([with_prices(item)]))
        for claim in claims
        for item in citations.cited(claim, evidence)
    ]
    return any(
        support.supported >= least and probability_in(reader, question, text) >= _ALONE
        for question in questions
        if pairs
        for (text, _), support in zip(
            pairs,
            reader.judge(question, [(text.partition(LEAD)[0], passage) for text, passage in pairs]),
            strict=True,
        )
    )


def has_unsupported(claims: Sequence[Claim]) -> bool:
    """Whether something in an answer is in no passage, as far as could be checked."""
    return any(claim["verdict"] in {"partly", "not"} for claim in claims)


def probability_in(reader: Reader, question: str, text: str) -> float:
    """How likely a text of the run answers a question, 0 to 1."""
    (reading,) = reader.read(question, [show("", "", "", text, "text").text])
    return reading.probability


def cite(reader: Reader, question: str, draft: str, evidence: Sequence[Evidence]) -> str:
    """The draft, with the passages that its sentences come from.

    Passages that hold all numbers and names of a sentence come first. Of these the one that the reader
    takes for its best support is cited; in a language it does not know, the one that shares most words.
    Where it does not hold all numbers, the fewest passages that together do are cited. Sentences that cite
    already are left alone; the evidence is not empty.
    """
    claims = citations.claims(draft, evidence)
    unmarked = [claim["text"] for claim in claims if not claim["cites"]]
    pairs = [(text, passage_text([item])) for text in unmarked if readable(text) for item in evidence]
    supports = iter(reader.support(pairs) if pairs else [])
    sources: dict[str, list[int]] = {}
    for text in unmarked:
        is_readable = readable(text)
        scores = [next(supports).supported if is_readable else support(text, item) for item in evidence]
        sources[text] = _sources(text, question, evidence, scores)
    cited_claims = [
        Claim({**claim, "cites": claim["cites"] or sources[claim["text"]], "verdict": "supported"})
        for claim in claims
    ]
    return citations.render(cited_claims, draft)


def _sources(text: str, question: str, evidence: Sequence[Evidence], scores: Sequence[float]) -> list[int]:
    """Numbers of the passages that ``text`` comes from, given how well each supports it."""

    def misfit(place: int) -> tuple[int, int, int, float]:
        item = [evidence[place]]
        names = missing_names(text, item, question, evidence)
        counts = missing_counts(text, evidence[place])
        return len(missing_numbers(text, item)), len(names), counts, -scores[place]

    ranked = sorted(range(len(evidence)), key=misfit)
    sources = [evidence[ranked[0]]]
    for size in range(2, len(ranked) + 1):
        missing = missing_numbers(text, sources)
        if not missing:
            break
        sets = ([evidence[place] for place in places] for places in combinations(ranked, size))
        best = min(sets, key=lambda items: len(missing_numbers(text, items)))
        if len(missing_numbers(text, best)) == len(missing):
            break
        sources = best
    return sorted(item["number"] for item in sources)


def left_out(reader: Reader, notes: Sequence[Note], plan: Sequence[PlanStep], answer: str) -> list[Note]:
    """The look-ups, run or not, that a text does not answer by the reader, or whose figures it lacks.

    One that only leads to another need not be, nor one that was skipped. Those that the decider or the
    budget left out are notes without a finding.
    """
    done = {note["step"] for note in notes}
    not_run: list[Note] = []
    for number, step in enumerate(plan, start=1):
        if number not in done:
            question = resolve(step["question"], [*notes, *not_run])
            not_run.append(
                Note(
                    step=number,
                    question=question,
                    sentence="",
                    answer="",
                    cites=[],
                    found=False,
                    revision=0,
                )
            )
    return [
        note
        for note in leaves([*notes, *not_run], plan)
        if not (
            answer
            and readable(note["question"])
            and probability_in(reader, note["question"], answer) >= _ANSWERED
            and _has_figure(answer, note)
        )
    ]


def _has_figure(answer: str, note: Note) -> bool:
    """Whether a text has one of the figures that a look-up found, if it found any."""
    found = quantities.read(note["answer"], language(note["answer"]))
    stated = quantities.read(answer, language(answer))
    return not found or any(quantities.is_among(figure, stated) for figure in found)


def leaves(notes: Sequence[Note], plan: Sequence[PlanStep]) -> list[Note]:
    """The look-ups that do not only lead to another and were not skipped, each question once."""
    leading = {number for step in plan for number in references(step["question"])}
    lookups = {
        note["question"]: note for note in notes if note["step"] not in leading and not note.get("skipped")
    }
    return list(lookups.values())


def says_nothing_of(session: Session, answer: str, question: str) -> bool:
    """Whether a text leaves a question open, by a model that was taught to tell.

    Where the budget is used up, it does not.
    """
    beginning = [prompts.passages([f"[1] {fenced(answer)}"])]
    instruction = prompts.question(question)
    try:
        reply = session.write("verify", beginning, instruction, _TOKENS, system=prompts.TAUGHT)
    except BudgetExhausted:
        return False
    return abstains(reply.text)


def abstains(text: str) -> bool:
    """Whether a text says, in the words that were asked for, that the evidence holds no answer."""
    return prompts.NOT_FOUND.rstrip(".").casefold() in text.casefold()


def answer_prompt(
    session: Session,
    question: str,
    evidence: Sequence[Evidence],
    found: Sequence[tuple[int, str]],
    length: str,
) -> tuple[list[str], str, str]:
    """The prompt for an answer from whole passages: notebook entries, instruction, system prompt.

    A model that was taught to answer is asked as it was taught; ``found`` and ``length`` are for others,
    which are not allowed to refuse.
    """
    passages = list(map(passage, evidence))
    if session.taught:
        return [prompts.passages(passages)], prompts.question(question), prompts.TAUGHT
    return [], prompts.answer(question, passages, found, length), prompts.READING


def most_likely(evidence: Sequence[Evidence], session: Session) -> list[Evidence]:
    """The best of the evidence, as much as the model has room for, in the order of its numbers.

    The best of each look-up comes before the others: its score tells nothing about another's question.
    """
    ranked = sorted(evidence, key=lambda item: (not item.get("best"), -item["score"]))[:MOST_PASSAGES]
    while len(ranked) > 1 and not session.fits([], "\n\n".join(map(passage, ranked)), _ROOM):
        ranked.pop()
    return sorted(ranked, key=lambda item: item["number"])


def with_prices(item: Evidence) -> Evidence:
    """A passage whose figures have the currency sign of their column's heading, if it is a table.

    Without it the reader takes "£110" for something else than the 110 below "Price (£)".
    """
    return Evidence({**item, "text": table_text.priced(item["text"])}) if item["kind"] == "table" else item


def passage_text(items: Sequence[Evidence]) -> str:
    """A passage as the reader sees it; of several only what was kept of them."""
    if len(items) > 1:
        items = [Evidence({**item, "text": item["excerpt"].replace(citations.GAP, "\n")}) for item in items]
    return "\n\n".join(shown(item).text for item in items)
