"""The wording of each event of a run, as blocks of text for any view.

Live runs and replays use it alike; `tui.run.render` prints the blocks on a terminal or as lines.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Literal
from urllib.parse import urlsplit

from agent import events as ev
from agent.state import Candidate, Claim, Evidence
from traces.records import SECTION_SEPARATOR
from traces.runs import Run, RunSummary
from tui.run.fold import Outcome, RunFold, reading_order, renumbered
from tui.terminal import clean, counted, duration, one_line, unmarked

UNFINISHED_REASONS: Final[Mapping[str, str]] = {
    "waiting": "waits for you",
    "interrupted": "was interrupted",
    "failed": "failed",
    "cancelled": "was cancelled",
    "going on": "is going on",
}
"""Why a run has not finished (`agent.run.Resumable.why`), in words."""


def local(moment: datetime) -> datetime:
    """A UTC time of the store in this machine's time zone."""
    return moment.replace(tzinfo=UTC).astimezone()


def status(run: Run | RunSummary) -> str:
    """How a run ended, or that it is unfinished, in a word or two."""
    if run.finished is None:
        return "waiting" if run.status == "waiting" else "unfinished"
    return run.status.replace("_", " ")


VERDICTS: Final = {"supported": "supported", "partly": "only partly supported", "not": "not supported"}
ENDINGS: Final = {
    "answered": "answered",
    "not_found": "not found in your documents",
    "stopped": "stopped before an answer was found",
    "rejected": "withheld: the sources do not support all of it",
    "waiting": "waiting for a person's answer",
    "interrupted": "interrupted",
    "cancelled": "cancelled",
    "failed": "failed",
    "running": "without an end: still going on, or killed",
}
GRADES: Final = {"correct": "relevant", "ambiguous": "maybe relevant", "incorrect": "not relevant"}
"""The grades of a passage, in words."""
_HEADING = re.compile(r"^#{1,6}\s+(?=\S)")


def paragraphs(text: str) -> list[tuple[Literal["heading", "text"], str]]:
    """An answer's paragraphs and the headings between them, without the ``#`` of the headings."""
    parts: list[tuple[Literal["heading", "text"], str]] = []
    for block in re.split(r"\n\s*\n", text.strip()):
        lines: list[str] = []
        for line in block.splitlines():
            if not _HEADING.match(line):
                lines.append(line)
                continue
            if lines:
                parts.append(("text", "\n".join(lines)))
            parts.append(("heading", _HEADING.sub("", line).strip()))
            lines = []
        if lines:
            parts.append(("text", "\n".join(lines)))
    return parts


def web_address(text: str) -> str:
    """``text`` if it is a web address, else ""."""
    try:
        parts = urlsplit(text)
    except ValueError:  # for example, an incomplete IPv6 address
        return ""
    safe = text.isprintable() and not re.search(r"[\s<>\"]", text)
    return text if safe and parts.scheme in {"http", "https"} and parts.hostname else ""


def quote_of(item: Evidence, answered: ev.Answered | None) -> str:
    """The sentence of a source that is nearest to the answer; "" if it is the whole excerpt."""
    quote = answered.quotes.get(str(item["number"]), "") if answered else ""
    return "" if quote.split() == item["excerpt"].split() else quote


def uncited(outcome: Outcome) -> list[Evidence]:
    """The evidence that the answer does not cite."""
    cited = {item["number"] for item in outcome.answered.sources} if outcome.answered else set()
    return [item for item in outcome.evidence if item["number"] not in cited]


def count_grades(event: ev.Graded) -> str:
    """How many passages are relevant, maybe relevant, or not."""
    counts = ((label, event.grades.count(grade)) for grade, label in GRADES.items())
    return ", ".join(f"{count} {label}" for label, count in counts if count) or "no passages"


def stepping_in(outcome: Outcome) -> list[str]:
    """Questions to the user with their replies, and how they steered the run."""
    replies = [
        f"{reply.question} → {reply.reply or 'no answer'} ({reply.by}, to {reply.about})"
        for reply in outcome.replies
    ]
    return [*replies, *(steering(event).text for event in outcome.steering)]


def facts(outcome: Outcome, when: datetime) -> list[tuple[str, str]]:
    """The run's setup, its end and its cost, as labels and values."""
    rows: list[tuple[str, str]] = []
    started, routed, finished = outcome.started, outcome.routed, outcome.finished
    rows.append(("when", f"{when:%Y-%m-%d %H:%M}"))
    if started is not None:
        rows += [
            ("run", started.run_id),
            ("profile", f"{started.profile}, decisions by {started.decider}"),
            ("models", f"{started.chat_model}, {started.embedder}, {started.reranker or 'no reranker'}"),
            ("collections", ", ".join(started.collections)),
        ]
    if routed is not None:
        rows.append(("route", f"{routed.route}, by {routed.source}: {routed.reason}"))
    rows.append(("ended", ENDINGS.get(outcome.status, outcome.status)))
    if finished is not None:
        if finished.stopped_because not in {"", finished.status}:
            rows.append(("stopped because", finished.stopped_because))
        rows += [
            ("took", duration(finished.seconds)),
            (
                "cost",
                f"{counted(finished.model_calls, 'model call')}; {finished.evaluated:,} tokens read, "
                f"{finished.reused:,} reused, {finished.generated:,} written",
            ),
        ]
    if outcome.resumed:
        rows.append(("resumed", "once" if outcome.resumed == 1 else f"{outcome.resumed} times"))
    return rows + [("note", message) for message in outcome.warnings]


Tone = Literal["opening", "part", "line", "warning", "answer", "sources", "closing"]

REPLIES: Mapping[str, str] = {
    "accept": "accept it as it is",
    "rewrite": "rewrite it from the evidence",
    "search": "search for more",
    "stop": "stop, and withhold it",
}
"""What the user can do with an answer that is not supported, in words."""

_REFERENCE = re.compile(r"#(\d+)\b")
_TITLES = 3
# Characters shown during the run; the sources at the end show everything.
_TITLE, _QUERY, _PLACE, _LINE, _SENTENCE = 36, 100, 32, 70, 240
_ROUTES = {
    "clarify": "unclear",
    "direct": "no search",
    "single": "one search",
    "deep": "research in steps",
}
ENOUGH: Final = {"correct": "enough", "ambiguous": "not quite enough", "incorrect": "not enough"}
_RUNGS = {
    "reword": "with other words",
    "widen": "around the best passages",
    "collections": "in the other collections",
    "web": "on the web",
}
_STEERING = {
    "pause": "paused",
    "resume": "resumed",
    "finish": "answer now, from what was found",
    "skip": "skipped",
    "add": "also to be found out",
    "override": "decided",
}


@dataclass(frozen=True, slots=True)
class Block:
    """A labelled piece of text; ``items`` are separate lines below ``text``."""

    label: str
    text: str = ""
    items: tuple[str, ...] = ()
    tone: Tone = "line"


def step_question(question: str) -> str:
    """A step's question in a line; ``#n`` becomes the answer of step n."""
    return _REFERENCE.sub(r"(answer \1)", one_line(question))


def support_count(claims: Sequence[Claim]) -> str:
    """How many sentences of an answer are supported by their sources."""
    supported_count = sum(claim["verdict"] == "supported" for claim in claims)
    verb = "is supported by its" if supported_count == 1 or len(claims) == 1 else "are supported by their"
    return f"{supported_count} of {counted(len(claims), 'sentence')} {verb} sources"


def doubt(claim: Claim) -> str:
    """A sentence that is not, or only partly, supported by its sources, and why."""
    reason = f" ({one_line(claim['reason'])})" if claim["reason"] else ""
    return f"{VERDICTS[claim['verdict']]}: “{one_line(claim['text'])}”{reason}"


def source(item: Evidence, quote: str = "") -> Block:
    """A cited passage: title, place, and ``quote``, or the whole excerpt without one."""
    origin = [item["collection"], item["document"]]
    if item["date"]:
        origin.append(item["date"])
    text = clean(quote or item["excerpt"]).strip()
    lines = tuple(text.splitlines()) if item["kind"] == "table" else (f"“{unmarked(one_line(text))}”",)
    return Block(f"[{item['number']}]", place(item), (" · ".join(map(one_line, origin)), *lines), "sources")


def place(item: Evidence | Candidate) -> str:
    """Title, section and page of a passage, in one line."""
    return located(item["title"] or item["document"], item["section"], item["page"])


def located(title: str, section: str, page: int | None) -> str:
    """Like `place`, from its parts; a first heading that only repeats the title is left out."""
    headings = [one_line(heading) for heading in section.split(SECTION_SEPARATOR) if heading.strip()]
    if headings and headings[0].casefold() == one_line(title).casefold():
        del headings[0]
    path = SECTION_SEPARATOR.join([one_line(title), *headings])
    return f"{path}, p. {page}" if page else path


def route(event: ev.Routed) -> Block:
    """The kind of question and why; for a follow-up, also the complete question it became."""
    kind = _ROUTES.get(event.route, event.route)
    reason = f": {one_line(event.reason)}" if event.reason else ""
    by = "" if event.source in {"rules", "person"} else f" (by {event.source})"
    read_as = one_line(event.question)
    items = (f"read as: {read_as}",) if read_as != one_line(event.asked) else ()
    return Block("route", f"{kind}{by}{reason}", items)


def first_look(event: ev.FirstLook) -> Block:
    """A first candidate for the answer and its place, while the run continues."""
    words, sentence = one_line(event.answer), one_line(event.sentence, _SENTENCE)
    text = sentence if sentence.casefold().startswith(words.casefold()) else f"{words} – {sentence}"
    return Block("look", f"first look, still thinking: {text}", (located(event.title, "", event.page),))


def reply(event: ev.Replied) -> Block:
    """The reply of the user, or of a setting."""
    if event.about == "approve":
        by = "you" if event.by == "person" else "as set"
        return Block("approve", f"{by}: {REPLIES.get(event.reply, event.reply)}")
    return Block("asked", one_line(event.question), (f"you: {one_line(event.reply) or '(nothing)'}",))


_PLANNED_BY: Final = {
    "model": "by the language model",
    "repaired": "by the language model",
}


def plan(event: ev.Planned) -> Block:
    """The steps, including finished ones."""
    label = "plan" if not event.revision else "re-plan"
    items = tuple(
        f"{number}. {step_question(step['question'])}" + (f" → {step['tool']}" if step["tool"] else "")
        for number, step in enumerate(event.steps, start=1)
    )
    text = _PLANNED_BY.get(event.origin, "") if items else "no further step"
    return Block(label, text, items, "part")


def search(searches: Sequence[ev.Searched], question: str) -> Block:
    """One round of searches, one for each phrasing: the phrasings, and the documents found."""
    phrasings = dict.fromkeys(one_line(event.query) for event in searches)
    first, *others = (
        "as it is asked" if phrasing == one_line(question) else one_line(phrasing, _QUERY)
        for phrasing in phrasings
    )
    hits = {hit["passage_id"]: hit for event in searches for hit in event.hits}
    titles = list(dict.fromkeys(one_line(hit["title"] or hit["document"], _TITLE) for hit in hits.values()))
    items = [f"also: {' · '.join(others)}"] if others else []
    if hits:
        more = [f"{len(titles) - _TITLES} more"] if len(titles) > _TITLES else []
        items.append(f"from {', '.join([*titles[:_TITLES], *more])}")
    strategies = " + ".join(dict.fromkeys(event.strategy for event in searches))
    strategies += f", in {searches[0].tool}" if searches[0].tool else ""
    count = f"{len(hits)} passage{'s' * (len(hits) != 1)}" if hits else "nothing found"
    return Block("search", f"{first} ({strategies}: {count})", tuple(items))


def grades(event: ev.Graded) -> Block:
    """How many passages are relevant, and whether that is enough."""
    verdict = ENOUGH.get(event.grade, event.grade)
    return Block("grade", f"{count_grades(event)} ({event.grader}): {verdict}")


def correction(event: ev.Corrected) -> Block:
    """The correction, with the web pages that were read for it."""
    pages = []
    for page in event.pages:
        fields = [str(page.get("title") or ""), str(page.get("url") or ""), str(page.get("date") or "")]
        cache_note = ["kept from before"] if page.get("cached") else []
        pages.append(" · ".join(one_line(part) for part in [*fields, *cache_note] if part))
    attempt = one_line(event.detail) or _RUNGS.get(event.rung, event.rung)
    return Block("retry", f"searching {attempt}", tuple(pages))


def evidence(event: ev.EvidenceKept) -> Block:
    """The passages kept, one line each, below the title of their document."""
    titles: dict[str, list[str]] = {}
    for item in event.fresh:
        title = one_line(item["title"] or item["document"])
        heading = one_line(item["section"].rsplit(SECTION_SEPARATOR, 1)[-1])
        location = [one_line(heading, _PLACE)] if heading and heading not in title else []
        location += [f"p. {item['page']}"] if item["page"] else []
        text = f"{', '.join(location)}: {item['excerpt']}" if location else item["excerpt"]
        titles.setdefault(title, []).append(one_line(f"[{item['number']}] {text}", _LINE))
    items = [line for title, lines in titles.items() for line in (one_line(title, _LINE), *lines)]
    if event.again:
        items.append(f"{''.join(f'[{number}]' for number in event.again)} again")
    return Block("kept", "" if items else "nothing", tuple(items))


def finding(event: ev.Noted) -> Block:
    """The finding of a step, with its citations."""
    note = event.note
    if not note["found"]:
        return Block("finding", "no sure answer to this step")
    marks = "".join(f"[{number}]" for number in note["cites"])
    return Block("finding", f"{unmarked(one_line(note['sentence']))} {marks}".rstrip())


def contradiction(event: ev.Contradicted) -> Block:
    """The current value and the superseded one, with their dates."""

    def describe(value: str, number: int, date: str) -> str:
        return f"{one_line(value)} [{number}] ({one_line(date) or 'undated'})"

    current = describe(event.value, event.number, event.date)
    superseded = describe(event.superseded, event.superseded_number, event.superseded_date)
    return Block("conflict", f"{current} is followed, {superseded} is superseded")


def answer(event: ev.Answered) -> list[Block]:
    """The answer, its doubtful sentences, and its sources."""
    blocks = [Block("answer", clean(event.answer).strip(), tone="answer")]
    doubts = [doubt(claim) for claim in event.sentences if claim["verdict"] != "supported"]
    if doubts:
        blocks.append(Block("check", "", tuple(doubts), "warning"))
    if event.sources:
        blocks.append(Block("sources", tone="sources"))
        blocks += [source(item, event.quotes.get(str(item["number"]), "")) for item in event.sources]
    return blocks


def decision(event: ev.Decided) -> Block:
    """The action, with its source and reason."""
    probability = event.probabilities.get(event.action, 1.0)
    confidence = f", {probability:.0%}" if probability < 1 else ""
    reason = f": {one_line(event.justification)}" if event.justification else ""
    return Block("decide", f"{event.action} ({event.source}{confidence}){reason}")


def steering(event: ev.Steered) -> Block:
    """How the user steered the run."""
    detail = f": {one_line(event.detail)}" if event.detail else ""
    return Block("you", _STEERING.get(event.what, event.what) + detail)


DOING: Mapping[str, str] = {
    "route": "seeing what kind of question it is",
    "clarify": "waiting for you",
    "answer_directly": "answering",
    "look": "reading what the question itself finds",
    "single_shot": "preparing the search",
    "plan": "planning",
    "next_step": "preparing the next step",
    "retrieve": "searching",
    "rerank": "reading the passages",
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


def block_of(event: ev.Event) -> Block:  # noqa: PLR0911, PLR0912 - one arm per event
    """A single event: its label, its text, and lines of detail."""
    match event:
        case ev.RunStarted():
            return Block("question", event.question)
        case ev.Resumed():
            return Block("resumed", f"at: {DOING.get(event.node, event.node)}" if event.node else "")
        case ev.Routed():
            return route(event)
        case ev.Replied():
            return reply(event)
        case ev.Steered():
            return steering(event)
        case ev.NodeStarted():
            return Block(DOING.get(event.node, event.node))
        case ev.NodeFinished():
            return Block("done", f"{DOING.get(event.node, event.node)}, {duration(event.seconds)}")
        case ev.ModelCalled():
            tokens = f"{event.evaluated:,} read, {event.reused:,} reused, {event.generated:,} written"
            return Block("model call", f"{event.purpose}, {tokens}, {duration(event.seconds)}")
        case ev.NotebookGrew():
            return Block("notebook", event.entry)
        case ev.FirstLook():
            return first_look(event)
        case ev.Planned():
            return plan(event)
        case ev.StepStarted():
            return Block(f"step {event.step}", step_question(event.plan_step["question"]), tone="part")
        case ev.Searched():
            return search([event], "")
        case ev.Reranked():
            return Block(
                "read", f"{len(event.order)} passages" + f" by {event.reranker}" * bool(event.reranker)
            )
        case ev.Graded():
            return grades(event)
        case ev.Corrected():
            return correction(event)
        case ev.EvidenceKept():
            return evidence(event)
        case ev.Noted():
            return finding(event)
        case ev.Decided():
            return decision(event)
        case ev.Contradicted():
            return contradiction(event)
        case ev.Warned():
            return Block("note", one_line(event.message), tone="warning")
        case ev.Answered():
            return Block("answer", event.answer)
        case ev.RunFinished():
            return Block("end", f"{ENDINGS.get(event.status, event.status)}, {duration(event.seconds)}")
        case _:
            return Block(event.kind)


def as_text(event: ev.Event) -> str:
    """An event in a line."""
    block = block_of(event)
    return one_line(f"{block.label}: {block.text}" if block.text else block.label)


IN_STEP = frozenset({"retrieve", "rerank", "grade", "correct", "distil", "reflect"})
"""The nodes that work on a research step."""


def doing(position: ev.NodeStarted | RunFold, message: str = "") -> str:
    """What a node is doing, with its research step."""
    text = message or DOING.get(position.node, position.node)
    return f"step {position.step}: {text}" if position.step and position.node in IN_STEP else text


RESUMABLE = frozenset({"waiting", "interrupted", "cancelled", "failed"})
"""Statuses of runs that `deepthink resume` can resume."""

_QUIET = (
    ev.NodeStarted,
    ev.NodeProgress,
    ev.NodeFinished,
    ev.ModelCalled,
    ev.Heartbeat,
    ev.NotebookGrew,
)


class Transcript:
    """A fold that turns the events of one run into blocks.

    Searches of one round are shown together; of several answers, the last is shown when the run ends.
    """

    def __init__(self) -> None:
        self._run_id = ""
        self._searches: list[ev.Searched] = []
        self._answered: ev.Answered | None = None
        self._claims: list[Claim] = []
        self._single = False  # the question is the only step
        self._question = ""  # of the current step

    def take(self, event: ev.Event) -> list[Block]:
        """The blocks that this event adds."""
        if isinstance(event, ev.Searched):
            finished_round = [] if self._same_round(event) else self._finish_round()
            self._searches.append(event)
            return finished_round
        if isinstance(event, _QUIET):
            return []
        return [*self._finish_round(), *self._blocks_for(event)]

    def recall(self, events: Sequence[ev.Event]) -> None:
        """Take the events of a run before it was resumed, without showing them."""
        for event in events:
            self.take(event)
        self._run_id = ""  # the question has not been shown here

    def rest(self) -> list[Block]:
        """The blocks held back so far, for a run that was interrupted."""
        answered, self._answered = self._answered, None
        return [*self._finish_round(), *(answer(answered) if answered is not None else [])]

    def _blocks_for(self, event: ev.Event) -> list[Block]:  # noqa: PLR0911 - one arm per event
        match event:
            case ev.RunStarted() | ev.Resumed():
                return [self._opening(event)]
            case ev.Routed():
                self._single, self._question = event.route == "single", event.question
                return [route(event)]
            case ev.Planned() if self._single and not event.revision:
                return []
            case ev.StepStarted():
                self._question = event.plan_step["question"]
                return [] if self._single and event.step == 1 else [block_of(event)]
            case ev.Answered():
                self._answered = event
                self._claims = event.sentences or self._claims
                return []
            case ev.RunFinished():
                if event.status in {"interrupted", "cancelled"}:  # the resumed run may give another one
                    self._answered = None
                elif self._answered is not None:
                    order = reading_order(self._answered, self._answered.sources)
                    self._answered = renumbered(self._answered, order)
                return [*self.rest(), self._closing(event)]
            case ev.Asked() | ev.AnswerText() | ev.Reranked():
                return []
            case _:
                block = block_of(event)
                return [block] if block.text or block.items else []  # else it is from a later version

    def _same_round(self, event: ev.Searched) -> bool:
        return all((search.step, search.rung) == (event.step, event.rung) for search in self._searches)

    def _finish_round(self) -> list[Block]:
        searches, self._searches = self._searches, []
        return [search(searches, self._question)] if searches else []

    def _opening(self, event: ev.RunStarted | ev.Resumed) -> Block:
        if isinstance(event, ev.Resumed):
            position = f"at: {DOING.get(event.node, event.node)}"
            if self._run_id == event.run_id:
                return Block("resumed", position, tone="part")
            details = [event.chat_model, f"resumed {position}"]
        else:
            details = [
                event.chat_model,
                f"profile {event.profile}",
                f"decisions by {event.decider}",
                f"read by {event.reranker}" if event.reranker else "no reranker, the fused order stands",
                f"in {', '.join(event.collections)}",
            ]
        self._run_id = event.run_id
        return Block("question", one_line(event.question), (clean(" · ".join(details)),), "opening")

    def _closing(self, event: ev.RunFinished) -> Block:
        ending = ENDINGS.get(event.status, event.status)
        calls = f"{event.model_calls} model call{'s' * (event.model_calls != 1)}"
        prompt = event.evaluated + event.reused
        share = f" ({event.reused / prompt:.0%})" if event.reused else ""
        tokens = (
            f"{event.evaluated:,} tokens read, {event.reused:,} reused{share}, {event.generated:,} written"
        )
        cost = f"{calls} · {tokens}" if event.model_calls else "no model call"
        items = [cost, f"run {self._run_id}"]
        if event.status in RESUMABLE:
            items[-1] = resume_hint(self._run_id, event.status)
        if self._claims and event.status in {"answered", "rejected", "waiting"}:
            items.insert(0, support_count(self._claims))
        reason = event.stopped_because if event.stopped_because != event.status else ""
        reason = f" ({one_line(reason)})" if reason else ""
        return Block("done", f"{ending}, {duration(event.seconds)}{reason}", tuple(items), "closing")


def resume_hint(run_id: str, status: str) -> str:
    """How to resume an unfinished run, in a sentence."""
    return (
        f"Run {run_id} {'waits' if status == 'waiting' else 'can be resumed'}: `deepthink resume {run_id}`"
    )
