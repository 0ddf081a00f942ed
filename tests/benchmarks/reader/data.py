"""What the reader is taught from: questions on passages, and claims with evidence.

Held out, and never seen here: every eighth line of the written passages, every seventh article of SQuAD
2.0's dev set (also where SQuAD 1.1 has it), every dev file, the test of the support head. `halueval_qa`
is left out, because there the length of a claim tells whether it is wrong.
"""

from __future__ import annotations

import itertools
import json
import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

from agent.retrieval.keyword import KeywordIndex
from agent.steps.queries import references
from agent.text.terms import terms
from models.boxed_reader.windows import answered
from tests.benchmarks.multihop import QuestionSet, filled, read_questions
from tests.benchmarks.reader.passages import Source, Span, body, cut, evidence, places, shown

Verdict = Literal["supported", "refuted", "neither"]
VERDICTS: Final[tuple[Verdict, ...]] = ("supported", "refuted", "neither")

_EVERY_WRITTEN = 8
_EVERY_ARTICLE = 7
_LONGEST_ANSWER = 200  # characters; longer ones are no span a person would be shown


@dataclass(frozen=True, slots=True)
class Asked:
    text: str
    answers: tuple[str, ...]  # ways to say the one answer; empty where the context does not tell
    kind: str = ""  # what it takes, where the set says so
    sentence: str = ""  # the answer in one, where the set has it

    @property
    def elements(self) -> tuple[str, ...]:
        """What must be found: all entries of a list, else the first way to say it."""
        return self.answers if self.kind == "list" else self.answers[:1]

    def found_in(self, passages: Sequence[str]) -> dict[int, list[Span]]:
        """Where what must be found is, in the passage that has most of it, by that passage's position."""
        return places(self.elements, set(terms(f"{self.text} {self.sentence}")), passages)


@dataclass(frozen=True, slots=True)
class Context:
    """A text with questions on it, cut into passages as the product does it; ``source`` is its heading."""

    source: Source
    passages: tuple[str, ...]
    asked: tuple[Asked, ...]


@dataclass(frozen=True, slots=True)
class Example:
    """One question or claim with one passage."""

    text: str
    passage: str
    answers: bool | None = None  # whether the passage answers the question; None for a claim
    spans: tuple[Span, ...] = ()  # where the answer is in ``passage``, in characters
    verdict: Verdict | None = None  # on the claim; None for a question


Group = list[Example]  # the passages of one question, or one claim: they stay in one batch
SentenceOf = Callable[[dict[str, Any], dict[str, Any]], str]
"""The answer to a question on a record in a sentence, empty where there is none."""


def records(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def written(folder: Path, *, held_out: bool) -> list[dict[str, Any]]:
    """The lines of `written/`: those to learn from, or every eighth."""
    return [
        record
        for path in sorted((folder / "written").glob("*.jsonl"))
        for number, record in enumerate(records(path))
        if (number % _EVERY_WRITTEN == 0) == held_out
    ]


def held_out_articles(folder: Path) -> frozenset[str]:
    """Titles of SQuAD's articles that nothing is learned from."""
    titles = sorted({record["title"] for record in records(folder / "squad-2.0-dev.jsonl")})
    return frozenset(titles[::_EVERY_ARTICLE])


def source_of(record: dict[str, Any]) -> Source:
    """Where the passages of a line of `written/` are from, or of a file of paragraphs."""
    return Source(record["title"], record.get("section") or "", record.get("date") or "")


def context_of(record: dict[str, Any], sentence_of: SentenceOf | None = None) -> Context:
    """A line of a file of paragraphs, or of `written/`."""
    return Context(
        source_of(record),
        tuple(body(one.text, one.kind) for one in cut(record["context"])),
        tuple(
            Asked(
                one["question"],
                tuple(one["answers"]),
                one.get("kind", ""),
                one.get("sentence") or (sentence_of(record, one) if sentence_of else ""),
            )
            for one in record["qas"]
        ),
    )


def tables(path: Path) -> Iterator[dict[str, Any]]:
    """TAT-QA's tables with their paragraphs, as records; what has to be computed is not asked."""
    for record in json.loads(path.read_text(encoding="utf-8")):
        rows = [" | ".join(" ".join(cell.split()) for cell in row) for row in record["table"]["table"]]
        asked = [
            {
                "question": one["question"],
                "answers": one["answer"],
                "kind": "list" if len(one["answer"]) > 1 else "table",
                "scale": one["scale"],
            }
            for one in record["questions"]
            if one["answer_type"] in {"span", "multi-span"}
        ]
        context = "\n\n".join([*(one["text"] for one in record["paragraphs"]), "\n".join(rows)])
        yield {"title": "", "context": context, "qas": asked}


class Pool:
    """The passages of a set, to find such as look right and are not.

    ``near`` is the share of the questions whose wrong passage is from the same context.
    """

    def __init__(self, contexts: Sequence[Context], near: float = 0.5) -> None:
        self.contexts = contexts
        self._near = near
        self._passages = [(c, p) for c, one in enumerate(contexts) for p in range(len(one.passages))]
        self._found = KeywordIndex(
            (number, " ".join(terms(f"{contexts[c].source.title} {contexts[c].passages[p]}")))
            for number, (c, p) in enumerate(self._passages)
        )

    def wrong(
        self, number: int, asked: Asked, right: int | None, draw: random.Random
    ) -> tuple[Source, str] | None:
        """A passage that the search finds for a question of context ``number`` and that does not answer it.

        A passage that holds the words of an answer may answer it, so it is not taken; nor is ``right``.
        """
        here = self.contexts[number]
        beside = [
            (here.source, one)
            for p, one in enumerate(here.passages)
            if p != right and not holds_any(one, asked.answers)
        ]
        if beside and draw.random() < self._near:
            return draw.choice(beside)
        found = self._found.search(terms(asked.text), None, 8)
        for at, _ in draw.sample(found, len(found)):
            c, p = self._passages[at]
            other = self.contexts[c]
            if c != number and not holds_any(other.passages[p], asked.answers):
                return other.source, other.passages[p]
        return beside[0] if beside else None


def holds_any(passage: str, answers: Sequence[str]) -> bool:
    """Whether the words of an answer are in a passage, in upper or lower case."""
    folded = passage.casefold()
    return any(answer.casefold() in folded for answer in answers)


def groups_of(pool: Pool, draw: random.Random, *, wrong: float) -> Iterator[Group]:
    """The questions of a pool with the passage that answers and, on average, ``wrong`` that do not.

    A question without an answer comes with its nearest passage.
    """
    for number, context in enumerate(pool.contexts):
        for asked in context.asked:
            if not asked.answers:
                if context.passages:
                    about = set(terms(asked.text))
                    nearest = max(context.passages, key=lambda one: len(about.intersection(terms(one))))
                    yield [_question(as_typed(asked.text, draw), context.source, nearest, (), draw)]
                continue
            if len(asked.answers[0]) > _LONGEST_ANSWER:
                continue
            for right, spans in asked.found_in(context.passages).items():
                text = as_typed(asked.text, draw)
                group = [_question(text, context.source, context.passages[right], spans, draw)]
                tries = int(wrong + draw.random())
                others = [pool.wrong(number, asked, right, draw) for _ in range(tries)]
                for other in dict.fromkeys(one for one in others if one):
                    group.append(_question(text, *other, (), draw))
                yield group


def _question(
    text: str, source: Source, passage: str, spans: Sequence[Span], draw: random.Random
) -> Example:
    whole = shown(_dropped(source, draw), passage)
    moved = len(whole) - len(passage)
    return Example(text, whole, bool(spans), tuple((start + moved, end + moved) for start, end in spans))


def as_typed(question: str, draw: random.Random) -> str:
    """As people type it: often in lower case, often without a question mark."""
    if draw.random() < 0.25:
        question = question.lower()
    return question.rstrip("?？ ") if draw.random() < 0.25 else question


def _dropped(source: Source, draw: random.Random) -> Source:
    """Without a part of the heading at times, so that none is relied upon."""
    return replace(
        source,
        title="" if draw.random() < 0.1 else source.title,
        section="" if draw.random() < 0.2 else source.section,
        date="" if draw.random() < 0.2 else source.date,
    )


def steps(questions: QuestionSet, *, pairs: bool) -> Iterator[tuple[str, str, int, tuple[int, ...]]]:
    """Steps of multi-hop questions: question, answer, the paragraph that answers, the others given."""
    for one in questions.questions:
        answers = [hop.answer for hop in one.hops]
        for hop in one.pairs if pairs else one.hops:
            if (
                hop.support is None
                or not hop.answer
                or any(n > len(answers) for n in references(hop.question))
            ):
                continue
            others = tuple(number for number in one.own if number != hop.support)
            yield filled(hop.question, answers), hop.answer, hop.support, others


def _step_groups(path: Path, draw: random.Random, *, pairs: bool) -> Iterator[Group]:
    questions = read_questions(path)
    for text, answer, support, others in steps(questions, pairs=pairs):
        paragraph = questions.paragraphs[support]
        around = set(terms(text))
        for _, spans in places([answer], around, [paragraph.text]).items():
            typed = as_typed(text, draw)
            group = [_question(typed, Source(paragraph.title), paragraph.text, spans, draw)]
            near = sorted(
                (
                    questions.paragraphs[n]
                    for n in others
                    if not holds_any(questions.paragraphs[n].text, [answer])
                ),
                key=lambda one: -len(around.intersection(terms(f"{one.title} {one.text}"))),
            )[:5]
            group += [
                _question(typed, Source(one.title), one.text, (), draw)
                for one in draw.sample(near, min(3, len(near)))
            ]
            yield group


# How many claims of each set are drawn. `med` and `wice` know no "refuted", `breaking_nli` little else.
_CLAIMS: Final = {
    "claims": 9000,
    "conjnli": 3000,
    "contractnli": 3000,
    "factcheck_gpt": 1200,
    "fever_symmetric": 1416,
    "fool_me_twice": 2500,
    "infotabs": 9000,
    "med": 1500,
    "mnli_taxinli": 9000,
    "breaking_nli": 1200,
    "negation_nli": 4000,
    "scifact": 560,
    "scitab": 1200,
    "snli_part": 2500,
    "summedits": 3600,
    "tabfact": 9000,
    "wice": 800,
}
_LONGEST_EVIDENCE = 1500  # characters: what fits a window


def _claim_sets(folder: Path, draw: random.Random) -> Iterator[Group]:
    for name, wanted in _CLAIMS.items():
        by_label: dict[Verdict, list[Example]] = defaultdict(list)
        for record in records(folder / "entailment" / f"{name}.jsonl"):
            text = evidence(record["evidence"])
            if len(text) <= _LONGEST_EVIDENCE and record["label"] in VERDICTS:
                one = Example(record["claim"], shown(Source(), text), verdict=record["label"])
                by_label[record["label"]].append(one)
        share = wanted // len(by_label)
        for examples in by_label.values():
            for one in draw.sample(examples, min(share, len(examples))):
                yield [one]


def _written_claims(lines: Sequence[dict[str, Any]], draw: random.Random) -> Iterator[Group]:
    """The claims on their own passage, and some on another's, which neither supports nor refutes them."""
    texts = [evidence(record["context"]) for record in lines]
    found = KeywordIndex((number, " ".join(terms(text))) for number, text in enumerate(texts))
    for number, record in enumerate(lines):
        source = source_of(record)
        for one in record["claims"]:
            passage = shown(_dropped(source, draw), texts[number])
            yield [Example(one["claim"], passage, verdict=one["label"])]
            near = [found for found, _ in found.search(terms(one["claim"]), None, 4) if found != number]
            if one["label"] != "neither" and near and draw.random() < 0.2:
                other = shown(Source(lines[near[0]]["title"]), texts[near[0]])
                yield [Example(one["claim"], other, verdict="neither")]


def _answer_claims(lines: Sequence[dict[str, Any]], draw: random.Random) -> Iterator[Group]:
    """Each question's answer in a sentence, supported; with another question's answer in it, refuted."""
    for record in lines:
        source = source_of(record)
        text = evidence(record["context"])
        answered = [one for one in record["qas"] if one["answers"] and one["sentence"]]
        for one in answered:
            passage = shown(_dropped(source, draw), text)
            yield [Example(one["sentence"], passage, verdict="supported")]
            answer = one["answers"][0]
            others = [
                other["answers"][0]
                for other in answered
                if other is not one
                and _has_digit(other["answers"][0]) == _has_digit(answer)
                and other["answers"][0].casefold() not in one["sentence"].casefold()
            ]
            if others and one["sentence"].count(answer) == 1:
                wrong = one["sentence"].replace(answer, draw.choice(others))
                yield [Example(wrong, passage, verdict="refuted")]


def _sentence_claims(pool: Pool, draw: random.Random) -> Iterator[Group]:
    """The sentences of a pool's answers as claims: supported by the passage, neither by another."""
    for number, context in enumerate(pool.contexts):
        for asked in context.asked:
            if not asked.answers or not asked.sentence:
                continue
            for right in asked.found_in(context.passages):
                passage = shown(_dropped(context.source, draw), context.passages[right])
                yield [Example(asked.sentence, passage, verdict="supported")]
                if draw.random() < 0.3 and (other := pool.wrong(number, asked, right, draw)):
                    yield [Example(asked.sentence, shown(*other), verdict="neither")]


def judged_answers(pool: Pool, draw: random.Random) -> Iterator[Group]:
    """Questions with an answer each, as one claim on a passage.

    The right answer, on the passage that gives it, is supported; in its place another question's answer,
    of the same passage, is refuted. On a passage that does not answer the question, the right answer, or
    one to the question most like it, is neither.
    """
    for number, context in enumerate(pool.contexts):
        held = [one for one in context.asked if one.answers and len(one.answers[0]) <= _LONGEST_ANSWER]
        for asked in context.asked:
            others = [one for one in held if one is not asked and not _overlap(one, asked)]
            if not asked.answers and draw.random() < 0.5:  # or "neither" would be the most frequent by far
                yield from _unanswered(asked, context, others, draw)
            elif asked in held:
                yield from _answered(number, asked, others, pool, draw)


def _answered(
    number: int, asked: Asked, others: Sequence[Asked], pool: Pool, draw: random.Random
) -> Iterator[Group]:
    context = pool.contexts[number]
    said = asked.sentence if asked.sentence and draw.random() < 0.7 else ", ".join(asked.elements)
    for right in asked.found_in(context.passages):
        passage = context.passages[right]
        drawn = draw.random()
        if drawn < 0.45:
            yield [_judged(asked.text, said, context.source, passage, "supported", draw)]
            continue
        alike = [
            one
            for one in others
            if _has_digit(one.answers[0]) == _has_digit(asked.answers[0])
            and holds_any(passage, one.answers[:1])
        ]
        if drawn < 0.8 and alike:
            wrong = _in_place(draw.choice(alike), asked, said)
            yield [_judged(asked.text, wrong, context.source, passage, "refuted", draw)]
        elif other := pool.wrong(number, asked, right, draw):
            yield [_judged(asked.text, said, *other, "neither", draw)]


def _unanswered(
    asked: Asked, context: Context, others: Sequence[Asked], draw: random.Random
) -> Iterator[Group]:
    about = set(terms(asked.text))
    likest = max(others, key=lambda one: len(about.intersection(terms(one.text))), default=None)
    if likest is None:
        return
    said = likest.sentence if likest.sentence and draw.random() < 0.7 else likest.answers[0]
    for right in likest.found_in(context.passages):
        yield [_judged(asked.text, said, context.source, context.passages[right], "neither", draw)]


def _in_place(other: Asked, asked: Asked, said: str) -> str:
    """Another question's answer, in the sentence of this question's answer where that is at hand."""
    right = asked.answers[0]
    if said.count(right) == 1 and asked.kind != "list":
        return said.replace(right, other.answers[0])
    return other.sentence or other.answers[0]


def _overlap(one: Asked, other: Asked) -> bool:
    """Whether an answer of one question is, or holds, an answer of the other, or stands in its words."""
    first, second = ([a.casefold() for a in asked.answers] for asked in (one, other))
    return any(a in b or b in a for a in first for b in second) or first[0] in other.text.casefold()


def _judged(
    question: str, answer: str, source: Source, passage: str, verdict: Verdict, draw: random.Random
) -> Example:
    claim = answered(as_typed(question, draw), answer)
    return Example(claim, shown(_dropped(source, draw), passage), verdict=verdict)


def _has_digit(text: str) -> bool:
    return any(character.isdigit() for character in text)


_NAME = re.compile(r"(?<!^)(?<![.!?] )\b[A-Z][\w'-]+(?: [A-Z][\w'-]+)*|(?<![\w.,])\d[\d.,]*(?![\w])")


def _swapped(claim: Example, draw: random.Random) -> Example | None:
    """A supported claim with two of its names, or two of its numbers, in each other's place: refuted.

    A pair with "and" or "or" between them is left alone, because it may say the same either way.
    """
    found = [one for one in _NAME.finditer(claim.text) if one[0].strip(".,")]
    pairs = [
        (first, second)
        for first, second in itertools.combinations(found, 2)
        if _has_digit(first[0]) == _has_digit(second[0])
        and first[0].casefold() != second[0].casefold()
        and not {"and", "or", "und", "oder"}
        & set(claim.text[first.end() : second.start()].casefold().split())
    ]
    if claim.verdict != "supported" or not pairs:
        return None
    first, second = draw.choice(pairs)
    before, after = claim.text[: first.start()], claim.text[second.end() :]
    between = claim.text[first.end() : second.start()]
    return replace(claim, text=f"{before}{second[0]}{between}{first[0]}{after}", verdict="refuted")


def exchanged(claim: Example, draw: random.Random) -> Example | None:
    """A supported claim with a name or number of the passage in the place of its own: refuted."""
    if claim.verdict != "supported":
        return None
    own = [one for one in _NAME.finditer(claim.text) if one[0].strip(".,") in claim.passage]
    there = {one[0].strip(".,") for one in _NAME.finditer(claim.passage)}
    there = {one for one in there if len(one) > 1 and one.casefold() not in claim.text.casefold()}
    draw.shuffle(own)
    for one in own:
        word = one[0].strip(".,")
        others = sorted(
            other
            for other in there
            if _has_digit(other) == _has_digit(word) and word.casefold() not in other.casefold()
        )
        if others:
            start = one.start() + one[0].index(word)
            text = f"{claim.text[:start]}{draw.choice(others)}{claim.text[start + len(word) :]}"
            return replace(claim, text=text, verdict="refuted")
    return None


_MONTHS: Final = (
    "January February March April May June July August September October November December".split()
)
_DATE = re.compile(rf"\b(\d{{1,2}}) ({'|'.join(_MONTHS)}) (\d{{4}})\b")
_WHOLE = re.compile(r"(?<![\w.,-])(\d{1,3}(?:,\d{3})+|\d{4,9})(?![\w%]|[.,-]\d)")
_SCALED = re.compile(r"(?<![\w.,])(\d{1,3}(?:\.\d{1,2})?) (thousand|million|billion)\b")
_PERCENT = re.compile(r"(?<=\d) ?(?:%|per ?cent\b)")
_DURATION = re.compile(r"(?<![\w.,-])(\d{1,3}) (weeks|months|hours|minutes)\b")
_SMALLER: Final = {
    "weeks": (7, "days"),
    "months": (12, "years"),
    "hours": (24, "days"),
    "minutes": (60, "hours"),
}
_SIZES: Final = {"thousand": 3, "million": 6, "billion": 9}


def another_notation(claim: Example, draw: random.Random) -> Example | None:
    """A claim with a figure in another notation, its verdict kept; or of another size, refuted."""
    right: list[tuple[re.Match[str], str]] = []
    wrong: list[tuple[re.Match[str], str]] = []
    for one in _DATE.finditer(claim.text):
        day, month, year = int(one[1]), _MONTHS.index(one[2]) + 1, one[3]
        right += [(one, f"{one[2]} {day}, {year}"), (one, f"{year}-{month:02d}-{day:02d}")]
        wrong.append((one, f"{year}-{month % 12 + 1:02d}-{day:02d}"))
    for one in _WHOLE.finditer(claim.text):
        digits = one[1].replace(",", "")
        if len(digits) == 4 and "," not in one[1]:  # a year, for all one can see
            continue
        right.append((one, digits if "," in one[1] else f"{int(digits):,}"))
        wrong += [(one, f"{int(digits) * 10:,}"), (one, f"{int(digits) // 10:,}")]
        for name, zeros in _SIZES.items():
            scaled = int(digits) / 10**zeros
            if 1 <= scaled < 1000:
                short = f"{scaled:.2f}".rstrip("0").rstrip(".")
                if round(float(short) * 10**zeros) == int(digits):
                    right.append((one, f"{short} {name}"))
                wrong.append((one, f"{short} {'billion' if name == 'million' else 'million'}"))
    for one in _SCALED.finditer(claim.text):
        right.append((one, f"{round(float(one[1]) * 10 ** _SIZES[one[2]]):,}"))
        wrong.append((one, f"{round(float(one[1]) * 10 ** (_SIZES[one[2]] - 1)):,}"))
        wrong.append((one, f"{one[1]} {'billion' if one[2] == 'million' else 'million'}"))
    for one in _PERCENT.finditer(claim.text):
        right.append((one, draw.choice([" percent", " per cent", " %", "%"])))
    for one in _DURATION.finditer(claim.text):
        factor, unit = _SMALLER[one[2]]
        count = int(one[1])
        if one[2] == "weeks":
            right.append((one, f"{count * factor} days"))
        elif count % factor == 0:
            right.append((one, f"{count // factor} {unit if count > factor else unit[:-1]}"))
        wrong.append((one, f"{count} {unit}"))
    refuting = claim.verdict == "supported" and wrong and (not right or draw.random() < 0.5)
    if not (drawn := wrong if refuting else right):
        return None
    place, figure = draw.choice(drawn)
    text = f"{claim.text[: place.start()]}{figure}{claim.text[place.end() :]}"
    return replace(claim, text=text, verdict="refuted" if refuting else claim.verdict)


def examples(folder: Path, multihop: Path, sentence_of: SentenceOf | None = None) -> list[Group]:
    """Everything to learn from, in random order; ``sentence_of`` for the sets that have no sentences."""
    draw = random.Random(0)
    taken: list[Group] = []
    held_out = held_out_articles(folder)

    def paragraphs(*names: str) -> list[Context]:
        return [
            context_of(record, sentence_of)
            for name in names
            for record in records(folder / f"{name}.jsonl")
            if record["title"] not in held_out
        ]

    def add(groups: Callable[[], Iterator[Group]], most: int | None = None, times: int = 1) -> None:
        for _ in range(times):
            made = list(groups())
            taken.extend(made if most is None else draw.sample(made, min(most, len(made))))

    def changed(change: Callable[[Example, random.Random], Example | None]) -> Iterator[Group]:
        return ([other] for [claim] in claims if (other := change(claim, draw)))

    lines = written(folder, held_out=False)
    own_kind = Pool([context_of(record) for record in lines])
    tabled = Pool(
        [
            context_of(one, sentence_of)
            for name in ("dev", "test_gold")
            for one in tables(folder / f"tables/tatqa_{name}.json")
        ]
    )
    sets = (  # wrong passages per question, the most groups if not all, times
        (own_kind, 2, None, 5),
        (Pool(paragraphs("squad-2.0-dev", "squad-2.0-train-part")), 0.7, None, 1),
        (
            Pool(paragraphs("squad-1.1-train-part", "squad-1.1-dev", "squadshifts-new-wiki"), 0.3),
            1,
            None,
            1,
        ),
        (Pool(paragraphs("natural-questions-a", "natural-questions-b"), 0.0), 2, None, 1),
        (Pool(paragraphs("policyqa"), 0.0), 1, 3000, 1),
        (Pool(paragraphs("covid-qa"), 0.8), 1.5, None, 1),
        (tabled, 1.5, None, 2),
    )
    add(lambda: _written_claims(lines, draw), times=4)
    add(lambda: _answer_claims(lines, draw), times=3)
    for pool, *_ in sets[1:]:
        add(partial(_sentence_claims, pool, draw))
    add(lambda: _claim_sets(folder, draw))
    claims = list(taken)
    for change, count in ((_swapped, 9000), (exchanged, 9000), (another_notation, 8000)):
        draw.shuffle(claims)
        add(partial(changed, change), count)
    for pool, wrong, most, times in sets:
        add(partial(groups_of, pool, draw, wrong=wrong), most, times)
        add(partial(judged_answers, pool, draw), most, times)
    add(lambda: _step_groups(multihop / "musique_train.jsonl", draw, pairs=False), times=5)
    add(lambda: _step_groups(multihop / "2wikimultihopqa_train.jsonl", draw, pairs=True), times=2)
    draw.shuffle(taken)
    return taken
