"""What a person reads of a run: each event becomes at most a few blocks of text.

The blocks know nothing of colour or width; `tui.render` puts them on a terminal or into lines. A live run
and the replay of a stored one go through here alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from agent import events as ev
from agent.state import Candidate, Claim, Evidence
from traces.records import SECTION_SEPARATOR
from tui.terminal import clean, duration, one_line
from tui.wording import ENDINGS

Tone = Literal["opening", "part", "line", "warning", "answer", "sources", "closing"]

DOING: Mapping[str, str] = {
    "route": "seeing what kind of question it is",
    "clarify": "waiting for you",
    "answer_directly": "answering",
    "single_shot": "preparing the search",
    "plan": "planning",
    "next_step": "preparing the next step",
    "retrieve": "searching",
    "rerank": "ordering the passages",
    "grade": "judging the passages",
    "correct": "looking elsewhere",
    "distil": "picking out what matters",
    "reflect": "noting what was found",
    "decide": "deciding what to do next",
    "synthesise": "writing the answer",
    "verify": "checking the answer against its sources",
    "approve": "waiting for you",
}
"""What each node of the graph does, in words."""

REPLIES: Mapping[str, str] = {
    "accept": "accept it as it is",
    "rewrite": "rewrite it from the evidence",
    "search": "search for more",
    "stop": "stop, and withhold it",
}
"""What may become of an answer that is not supported, in words."""

RESUMABLE = frozenset({"waiting", "cancelled", "failed"})
"""Statuses of a run that `deepthink resume` takes up again."""

_TITLES = 3
_GLIMPSE = 100  # characters of an excerpt while the run goes on; the sources show all of it
_QUIET = (ev.NodeStarted, ev.NodeProgress, ev.NodeFinished, ev.ModelCalled, ev.Heartbeat, ev.NotebookGrew)
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
    "resume": "went on",
    "finish": "answer now, from what was found",
    "skip": "given up",
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


class Transcript:
    """A fold over the events of one run.

    Searches that run side by side are shown together once they are all there, and of several answers
    the last, when the run is over.
    """

    def __init__(self) -> None:
        self._run_id = ""
        self._searches: list[ev.Searched] = []
        self._answered: ev.Answered | None = None
        self._claims: list[Claim] = []
        self._single = False

    def take(self, event: ev.Event) -> list[Block]:
        """The blocks that this event adds."""
        if isinstance(event, ev.Searched):
            done = [] if self._same_round(event) else self._round()
            self._searches.append(event)
            return done
        if isinstance(event, _QUIET):
            return []
        return [*self._round(), *self._shown(event)]

    def recall(self, events: Sequence[ev.Event]) -> None:
        """Know what happened in a run before it was resumed, without showing it."""
        for event in events:
            self.take(event)
        self._run_id = ""  # whoever watches now has not read the question

    def rest(self) -> list[Block]:
        """What is held back: a run that was cut off never came to show it."""
        answered, self._answered = self._answered, None
        return [*self._round(), *(_answer(answered) if answered is not None else [])]

    def _shown(self, event: ev.Event) -> list[Block]:  # noqa: PLR0911, PLR0912 - one arm per event
        match event:
            case ev.RunStarted() | ev.Resumed():
                return [self._opening(event)]
            case ev.Routed():
                self._single = event.route == "single"
                return [_route(event)]
            case ev.Replied():
                return [_reply(event)]
            case ev.Planned() if not self._single or event.revision:
                return [_plan(event)]
            case ev.StepStarted() if not self._single or event.step > 1:
                return [Block(f"step {event.step}", one_line(event.plan_step["question"]), tone="part")]
            case ev.Graded():
                return [_grades(event)]
            case ev.Corrected():
                return [_correction(event)]
            case ev.EvidenceKept():
                return [_kept(event)]
            case ev.Noted():
                note = event.note
                marks = "".join(f"[{number}]" for number in note["cites"])
                sentence = one_line(note["sentence"]) if note["found"] else "nothing that answers this step"
                return [Block("finding", f"{sentence} {marks if note['found'] else ''}".rstrip())]
            case ev.Contradicted():
                return [_contradiction(event)]
            case ev.Decided():
                return [Block("decide", _decision(event))]
            case ev.Steered():
                detail = f": {one_line(event.detail)}" if event.detail else ""
                return [Block("you", _STEERED.get(event.what, event.what) + detail)]
            case ev.Warned():
                return [Block("note", one_line(event.message), tone="warning")]
            case ev.Answered():
                self._answered = event
                self._claims = event.sentences or self._claims
                return []
            case ev.RunFinished():
                return [*self.rest(), self._closing(event)]
            case _:
                return []

    def _same_round(self, event: ev.Searched) -> bool:
        return all((other.step, other.rung) == (event.step, event.rung) for other in self._searches)

    def _round(self) -> list[Block]:
        together, self._searches = self._searches, []
        return [_search(together)] if together else []

    def _opening(self, event: ev.RunStarted | ev.Resumed) -> Block:
        if isinstance(event, ev.Resumed):
            where = f"at: {DOING.get(event.node, event.node)}"
            if self._run_id == event.run_id:
                return Block("resumed", where, tone="part")
            how = [event.chat_model, f"resumed {where}"]
        else:
            how = [
                event.chat_model,
                f"profile {event.profile}",
                f"decisions by {event.decider}",
                f"reranked by {event.reranker}"
                if event.reranker
                else "no reranker on disk, the fused order stands",
                f"in {', '.join(event.collections)}",
            ]
        self._run_id = event.run_id
        return Block("question", one_line(event.question), (clean(" · ".join(how)),), "opening")

    def _closing(self, event: ev.RunFinished) -> Block:
        ended = ENDINGS.get(event.status, event.status)
        calls = f"{event.model_calls} model call{'s' * (event.model_calls != 1)}"
        prompt = event.evaluated + event.reused
        share = f" ({event.reused / prompt:.0%})" if event.reused else ""
        tokens = (
            f"{event.evaluated:,} tokens read, {event.reused:,} reused{share}, {event.generated:,} written"
        )
        items = [f"{calls} · {tokens}", f"run {self._run_id}"]
        if event.status in RESUMABLE:
            items[-1] = going_on(self._run_id, event.status)
        if self._claims and event.status not in {"not_found", "cancelled", "failed"}:
            items.insert(0, supported(self._claims))
        because = f" ({one_line(event.stopped_because)})" if event.stopped_because != event.status else ""
        return Block("done", f"{ended} in {duration(event.seconds)}{because}", tuple(items), "closing")


def going_on(run_id: str, status: str) -> str:
    """How a person takes up a run again that came to no end."""
    return f"Run {run_id} {'waits' if status == 'waiting' else 'can go on'}: `deepthink resume {run_id}`"


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
    lines = tuple(words.splitlines()) if item["kind"] == "table" else (f"“{one_line(words)}”",)
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


def _glimpse(item: Evidence | Candidate) -> str:
    """Title, innermost heading and page: enough while the run goes on."""
    innermost = item["section"].rsplit(SECTION_SEPARATOR, 1)[-1]
    return located(one_line(item["title"] or item["document"], 50), innermost, item["page"])


def _route(event: ev.Routed) -> Block:
    kind = _ROUTES.get(event.route, event.route)
    why = f": {one_line(event.reason)}" if event.reason else ""
    by = "" if event.source in {"rules", "person"} else f" (by {event.source})"
    read_as = one_line(event.question)
    items = (f"read as: {read_as}",) if read_as != one_line(event.asked) else ()
    return Block("route", f"{kind}{by}{why}", items)


def _reply(event: ev.Replied) -> Block:
    if event.about == "approve":
        by = "you" if event.by == "person" else "as set"
        return Block("approve", f"{by}: {REPLIES.get(event.reply, event.reply)}")
    return Block("asked", one_line(event.question), (f"you: {one_line(event.reply) or '(nothing)'}",))


def _plan(event: ev.Planned) -> Block:
    label = "plan" if not event.revision else "re-plan"
    items = tuple(
        f"{number}. {one_line(step['question'])}" + (f" → {step['tool']}" if step["tool"] else "")
        for number, step in enumerate(event.steps, start=1)
    )
    return Block(label, "" if items else "no further step", items, "part")


def _search(together: Sequence[ev.Searched]) -> Block:
    """One round of searches: the phrasings, and where what they brought stands."""
    first, *others = dict.fromkeys(one_line(event.query) for event in together)
    hits = {hit["passage_id"]: hit for event in together for hit in event.hits}
    titles = list(dict.fromkeys(one_line(hit["title"] or hit["document"], 50) for hit in hits.values()))
    items = [f"also: {' · '.join(others)}"] if others else []
    if hits:
        more = [f"{len(titles) - _TITLES} more"] if len(titles) > _TITLES else []
        items.append(f"from {', '.join([*titles[:_TITLES], *more])}")
    strategies = " + ".join(dict.fromkeys(event.strategy for event in together))
    found = f"{len(hits)} passage{'s' * (len(hits) != 1)}" if hits else "nothing found"
    return Block("search", f"{first} ({strategies}: {found})", tuple(items))


def _grades(event: ev.Graded) -> Block:
    counted = [
        f"{event.grades.count(name)} {name}"
        for name in ("correct", "ambiguous", "incorrect")
        if name in event.grades
    ]
    so = _GRADES.get(event.grade, event.grade)
    return Block("grade", f"{', '.join(counted) or 'no passages'} ({event.grader}): {so}")


def _correction(event: ev.Corrected) -> Block:
    pages = []
    for page in event.pages:
        about = [str(page.get("title") or ""), str(page.get("url") or ""), str(page.get("date") or "")]
        kept = ["kept from before"] if page.get("cached") else []
        pages.append(" · ".join(one_line(part) for part in [*about, *kept] if part))
    tried = one_line(event.detail) or _RUNGS.get(event.rung, event.rung)
    return Block("retry", f"searching {tried}", tuple(pages))


def _kept(event: ev.EvidenceKept) -> Block:
    items = [f"[{e['number']}] {_glimpse(e)}: {one_line(e['excerpt'], _GLIMPSE)}" for e in event.fresh]
    if event.again:
        items.append(f"{''.join(f'[{number}]' for number in event.again)} again")
    return Block("kept", "" if items else "nothing", tuple(items))


def _contradiction(event: ev.Contradicted) -> Block:
    def said(value: str, number: int, date: str) -> str:
        return f"{one_line(value)} [{number}] ({one_line(date) or 'undated'})"

    followed = said(event.value, event.number, event.date)
    superseded = said(event.superseded, event.superseded_number, event.superseded_date)
    return Block("conflict", f"{followed} is followed, {superseded} is superseded")


def _answer(event: ev.Answered) -> list[Block]:
    blocks = [Block("answer", clean(event.answer).strip(), tone="answer")]
    doubts = [doubt(claim) for claim in event.sentences if claim["verdict"] != "supported"]
    if doubts:
        blocks.append(Block("check", "", tuple(doubts), "warning"))
    if event.sources:
        blocks.append(Block("sources", tone="sources"))
        blocks += [source(item, event.quotes.get(str(item["number"]), "")) for item in event.sources]
    return blocks


def _decision(event: ev.Decided) -> str:
    probability = event.probabilities.get(event.action, 1.0)
    sure = f", {probability:.0%}" if probability < 1 else ""
    why = f": {one_line(event.justification)}" if event.justification else ""
    return f"{event.action} ({event.source}{sure}){why}"
