"""What is said of a single event, as blocks of text that know nothing of colour or width."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from agent import events as ev
from agent.state import Candidate, Claim, Evidence
from traces.records import SECTION_SEPARATOR
from tui.terminal import clean, one_line, unmarked
from tui.wording import graded

Tone = Literal["opening", "part", "line", "warning", "answer", "sources", "closing"]

REPLIES: Mapping[str, str] = {
    "accept": "accept it as it is",
    "rewrite": "rewrite it from the evidence",
    "search": "search for more",
    "stop": "stop, and withhold it",
}
"""What may become of an answer that is not supported, in words."""

_REFERENCE = re.compile(r"#(\d+)\b")
_TITLES = 3
# Characters while the run goes on; the sources show all.
_TITLE, _QUERY, _PLACE, _LINE, _SENTENCE = 36, 100, 32, 70, 240
_ROUTES = {
    "clarify": "unclear",
    "direct": "no search",
    "single": "one search",
    "deep": "research in steps",
}
_GRADES = {"correct": "enough", "ambiguous": "not quite enough", "incorrect": "not enough"}
_RUNGS = {
    "reword": "in other words",
    "widen": "around the best passages",
    "collections": "in the other collections",
    "web": "on the web",
}
_STEERED = {
    "pause": "paused",
    "resume": "resumed",
    "finish": "answer now, from what was found",
    "skip": "skipped",
    "add": "also to be found out",
    "override": "decided",
}


@dataclass(frozen=True, slots=True)
class Block:
    """A labelled piece of text; ``items`` are lines of their own beneath ``text``."""

    label: str
    text: str = ""
    items: tuple[str, ...] = ()
    tone: Tone = "line"


def step_question(question: str) -> str:
    """A step's question in a line; what an earlier step is to find is named as its answer."""
    return _REFERENCE.sub(r"(answer \1)", one_line(question))


def supported(claims: Sequence[Claim]) -> str:
    """How many sentences of an answer their sources support."""
    held = sum(claim["verdict"] == "supported" for claim in claims)
    noun = "sentence" if len(claims) == 1 else "sentences"
    verb = "is supported by its" if held == 1 or len(claims) == 1 else "are supported by their"
    return f"{held} of {len(claims)} {noun} {verb} sources"


def doubt(claim: Claim) -> str:
    """A sentence that its sources do not, or only partly, support, and why."""
    how = "only partly supported" if claim["verdict"] == "partly" else "not supported"
    why = f" ({one_line(claim['reason'])})" if claim["reason"] else ""
    return f"{how}: “{one_line(claim['text'])}”{why}"


def source(item: Evidence, quote: str = "") -> Block:
    """A cited passage: what it is, where it stands, and its words.

    Args:
        item: The passage.
        quote: The sentence in it that the answer rests on; its whole excerpt if empty.
    """
    where = [item["collection"], item["document"]]
    if item["date"]:
        where.append(item["date"])
    words = clean(quote or item["excerpt"]).strip()
    lines = tuple(words.splitlines()) if item["kind"] == "table" else (f"“{unmarked(one_line(words))}”",)
    return Block(f"[{item['number']}]", place(item), (" · ".join(map(one_line, where)), *lines), "sources")


def place(item: Evidence | Candidate) -> str:
    """Title, section and page of a passage, in one line."""
    return located(item["title"] or item["document"], item["section"], item["page"])


def located(title: str, section: str, page: int | None) -> str:
    """The same from its parts; a first heading that only repeats the title is left out."""
    headings = [one_line(heading) for heading in section.split(SECTION_SEPARATOR) if heading.strip()]
    if headings and headings[0].casefold() == one_line(title).casefold():
        del headings[0]
    path = SECTION_SEPARATOR.join([one_line(title), *headings])
    return f"{path}, p. {page}" if page else path


def route(event: ev.Routed) -> Block:
    """What kind of question it is and why; a follow-up also as the question of its own it became."""
    kind = _ROUTES.get(event.route, event.route)
    why = f": {one_line(event.reason)}" if event.reason else ""
    by = "" if event.source in {"rules", "person"} else f" (by {event.source})"
    read_as = one_line(event.question)
    items = (f"read as: {read_as}",) if read_as != one_line(event.asked) else ()
    return Block("route", f"{kind}{by}{why}", items)


def first_look(event: ev.FirstLook) -> Block:
    """What may answer the question by itself, and where it stands; the run goes on thinking."""
    words, sentence = one_line(event.answer), one_line(event.sentence, _SENTENCE)
    told = sentence if sentence.casefold().startswith(words.casefold()) else f"{words} – {sentence}"
    return Block("look", f"first look, still thinking: {told}", (located(event.title, "", event.page),))


def reply(event: ev.Replied) -> Block:
    """What a person, or the rule they set, replied."""
    if event.about == "approve":
        by = "you" if event.by == "person" else "as set"
        return Block("approve", f"{by}: {REPLIES.get(event.reply, event.reply)}")
    return Block("asked", one_line(event.question), (f"you: {one_line(event.reply) or '(nothing)'}",))


def plan(event: ev.Planned) -> Block:
    """The steps, those that are done included."""
    label = "plan" if not event.revision else "re-plan"
    items = tuple(
        f"{number}. {step_question(step['question'])}" + (f" → {step['tool']}" if step["tool"] else "")
        for number, step in enumerate(event.steps, start=1)
    )
    return Block(label, "" if items else "no further step", items, "part")


def search(together: Sequence[ev.Searched], question: str) -> Block:
    """One round of searches: the phrasings, and where what they brought stands.

    Args:
        together: The searches, one for each phrasing.
        question: What is looked for; not repeated where it was searched as it stands.
    """
    phrasings = dict.fromkeys(one_line(event.query) for event in together)
    first, *others = (
        "as it is asked" if p == one_line(question) else one_line(p, _QUERY) for p in phrasings
    )
    hits = {hit["passage_id"]: hit for event in together for hit in event.hits}
    titles = list(dict.fromkeys(one_line(hit["title"] or hit["document"], _TITLE) for hit in hits.values()))
    items = [f"also: {' · '.join(others)}"] if others else []
    if hits:
        more = [f"{len(titles) - _TITLES} more"] if len(titles) > _TITLES else []
        items.append(f"from {', '.join([*titles[:_TITLES], *more])}")
    strategies = " + ".join(dict.fromkeys(event.strategy for event in together))
    found = f"{len(hits)} passage{'s' * (len(hits) != 1)}" if hits else "nothing found"
    return Block("search", f"{first} ({strategies}: {found})", tuple(items))


def grades(event: ev.Graded) -> Block:
    """How many passages were found fit, and whether that is enough."""
    so = _GRADES.get(event.grade, event.grade)
    return Block("grade", f"{graded(event)} ({event.grader}): {so}")


def correction(event: ev.Corrected) -> Block:
    """What else is tried, with the web pages that were read for it."""
    pages = []
    for page in event.pages:
        about = [str(page.get("title") or ""), str(page.get("url") or ""), str(page.get("date") or "")]
        kept = ["kept from before"] if page.get("cached") else []
        pages.append(" · ".join(one_line(part) for part in [*about, *kept] if part))
    tried = one_line(event.detail) or _RUNGS.get(event.rung, event.rung)
    return Block("retry", f"searching {tried}", tuple(pages))


def kept(event: ev.EvidenceKept) -> Block:
    """The passages, one line each, beneath the title of what they are from."""
    titles: dict[str, list[str]] = {}
    for item in event.fresh:
        title = one_line(item["title"] or item["document"])
        heading = one_line(item["section"].rsplit(SECTION_SEPARATOR, 1)[-1])
        where = [one_line(heading, _PLACE)] if heading and heading not in title else []
        where += [f"p. {item['page']}"] if item["page"] else []
        words = f"{', '.join(where)}: {item['excerpt']}" if where else item["excerpt"]
        titles.setdefault(title, []).append(one_line(f"[{item['number']}] {words}", _LINE))
    items = [line for title, lines in titles.items() for line in (one_line(title, _LINE), *lines)]
    if event.again:
        items.append(f"{''.join(f'[{number}]' for number in event.again)} again")
    return Block("kept", "" if items else "nothing", tuple(items))


def finding(event: ev.Noted) -> Block:
    """What the step found, with what it rests on."""
    note = event.note
    if not note["found"]:
        return Block("finding", "nothing that answers this step")
    marks = "".join(f"[{number}]" for number in note["cites"])
    return Block("finding", f"{unmarked(one_line(note['sentence']))} {marks}".rstrip())


def contradiction(event: ev.Contradicted) -> Block:
    """The value that is followed, and the one that is not, with their dates."""

    def said(value: str, number: int, date: str) -> str:
        return f"{one_line(value)} [{number}] ({one_line(date) or 'undated'})"

    followed = said(event.value, event.number, event.date)
    superseded = said(event.superseded, event.superseded_number, event.superseded_date)
    return Block("conflict", f"{followed} is followed, {superseded} is superseded")


def answer(event: ev.Answered) -> list[Block]:
    """The answer, what in it is to be checked, and its sources."""
    blocks = [Block("answer", clean(event.answer).strip(), tone="answer")]
    doubts = [doubt(claim) for claim in event.sentences if claim["verdict"] != "supported"]
    if doubts:
        blocks.append(Block("check", "", tuple(doubts), "warning"))
    if event.sources:
        blocks.append(Block("sources", tone="sources"))
        blocks += [source(item, event.quotes.get(str(item["number"]), "")) for item in event.sources]
    return blocks


def decision(event: ev.Decided) -> Block:
    """CONTINUE, REVISE or FINISH, who says so and why."""
    probability = event.probabilities.get(event.action, 1.0)
    sure = f", {probability:.0%}" if probability < 1 else ""
    why = f": {one_line(event.justification)}" if event.justification else ""
    return Block("decide", f"{event.action} ({event.source}{sure}){why}")


def steered(event: ev.Steered) -> Block:
    """What the person did to the run."""
    detail = f": {one_line(event.detail)}" if event.detail else ""
    return Block("you", _STEERED.get(event.what, event.what) + detail)
