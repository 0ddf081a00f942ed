"""The wording of each event of a run, as blocks of text for any view.

Live runs and replays use it alike; `tui.run.render` prints the blocks on a terminal or as lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Literal

from agent import events as ev
from agent.documents.document import MAIL_FIELDS
from agent.state import VERDICTS, Claim, Evidence, FoundPassage, PlanStep
from traces.records import SECTION_SEPARATOR
from traces.runs import Run
from tui.run.fold import RunFold, StepState, status_key
from tui.terminal import clean, counted, duration, one_line, unmarked

_MAIL_HEAD: Final = re.compile(
    rf"\A{MAIL_FIELDS[0]}: .*(?:\n|\Z)" + "".join(rf"(?:{name}: .*(?:\n|\Z))?" for name in MAIL_FIELDS[1:])
)

UNFINISHED_REASONS: Final[Mapping[str, str]] = {
    "waiting": "waits for you",
    "interrupted": "was interrupted",
    "failed": "failed",
    "cancelled": "was cancelled",
    "going on": "is going on",
}
"""Why a run has not finished (`agent.run.Resumable.why`), in words."""

ENDINGS: Final = {
    "answered": "answered",
    "answered_with_doubts": "answered with doubts",
    "not_found": "not found in your documents",
    "stopped": "stopped before an answer was found",
    "withheld": "withheld: the sources do not support all of it",
    "waiting": "waiting for a person's answer",
    "interrupted": "interrupted",
    "cancelled": "cancelled",
    "failed": "failed",
    "unfinished": "unfinished (still going on, or killed)",
}
"""How a run ended (`tui.run.fold.RunFold.shown_status`), in words; see `ending`."""
UNSURE: Final = "no short answer is certain"
"""What a step has found that did not surely answer it; the answer may yet be written from its passages."""
FROM_PASSAGES: Final = f"{UNSURE}; the answer is written from the passages kept"
"""What is said of such a step once there is an answer."""
STEP_ENDINGS: Final[Mapping[StepState, str]] = {
    "unsure": "passages found",
    "irrelevant": "nothing relevant",
    "nothing": "nothing found",
    "skipped": "skipped",
}
"""How a step without a finding ended, in words."""

GRADES: Final = {"correct": "relevant", "ambiguous": "maybe relevant", "incorrect": "not relevant"}
"""The grades of a passage, in words."""
ENOUGH: Final = {"correct": "enough", "ambiguous": "not quite enough", "incorrect": "not enough"}
"""The grade of all passages together, in words."""
_APPROVALS = {
    "accept": "accept it as it is",
    "rewrite": "rewrite it from the evidence",
    "search": "search for more",
    "stop": "stop, and withhold it",
}
_ACTIONS = {
    "CONTINUE": "keep searching",
    "REVISE": "change the plan",
    "FINISH": "answer now",
    "MORE": "read more passages",
    "WORDS": "search in other words",
    "ASK": "ask the model",
}
CHOICES: Mapping[str, str] = _APPROVALS | _ACTIONS
"""What the user can reply to a question of the run, in words."""
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
IN_STEP = frozenset({"retrieve", "rerank", "grade", "correct", "distil", "reflect"})
"""The nodes that work on a research step."""
ANSWERING = frozenset({"synthesise", "verify", "answer_directly"})
"""The nodes that write and check the answer, when nothing is searched or decided any more."""
RESUMABLE = frozenset({"waiting", "interrupted", "cancelled", "failed"})
"""Statuses of runs that `deepthink resume` can resume."""

_ROUTES = {
    "clarify": "unclear",
    "direct": "no search",
    "single": "one search",
    "deep": "research in steps",
}
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
_REFERENCE = re.compile(r"#(\d+)\b")
_TITLES = 3
# Characters shown during the run; the sources at the end show everything.
_TITLE, _QUERY, _PLACE, _LINE, _SENTENCE = 36, 100, 32, 70, 240

# --- parts of a run -----------------------------------------------------------------------------------


def local(moment: datetime) -> datetime:
    """A UTC time of the store in this machine's time zone."""
    return moment.replace(tzinfo=UTC).astimezone()


def local_time(moment: datetime) -> str:
    """A UTC time of the store as local day and time, to the minute."""
    return f"{local(moment):%Y-%m-%d %H:%M}"


def status(run: Run, *, doubtful: bool) -> str:
    """How a run ended, or that it is unfinished, in a few words; ``doubtful`` as in `RunFold`."""
    return status_key(run.status, doubtful=doubtful).replace("_", " ")


def ending(fold: RunFold) -> str:
    """How a run ended, in a sentence without its subject."""
    return ENDINGS.get(fold.shown_status, fold.shown_status)


def reason(end: Run | ev.RunFinished) -> str:
    """Why a run ended; "" if its status says so already."""
    return "" if end.stopped_because == end.status else one_line(end.stopped_because)


def cost(end: ev.RunFinished) -> str:
    if not end.model_calls:
        return "no model call"
    share = f" ({end.reused / (end.evaluated + end.reused):.0%})" if end.reused else ""
    return (
        f"{counted(end.model_calls, 'model call')} · {end.evaluated:,} tokens read, "
        f"{end.reused:,} reused{share}, {end.generated:,} written"
    )


def facts(fold: RunFold, when: datetime) -> list[tuple[str, str]]:
    """The run's setup, its end and its cost, as labels and values; ``when`` it began, in UTC."""
    rows = [("when", local_time(when))]
    if (started := fold.started) is not None:
        rows += [
            ("run", started.run_id),
            ("profile", f"{started.profile}, decisions by {started.decider}"),
            ("models", f"{started.chat_model}, {started.embedder}, {started.reranker or 'no reranker'}"),
            ("collections", ", ".join(started.collections)),
        ]
        rows += [("only", filters) for filters in filtered(started)]
    if (routed := fold.routed) is not None:
        rows.append(("route", block_of(routed).text))
    rows.append(("ended", ending(fold)))
    if (finished := fold.finished) is not None:
        if because := reason(finished):
            rows.append(("stopped because", because))
        rows += [("took", duration(finished.seconds)), ("cost", cost(finished))]
    if resumed := len(fold.every(ev.Resumed)):
        rows.append(("resumed", "once" if resumed == 1 else f"{resumed} times"))
    return rows + [("note", event.message) for event in fold.every(ev.Warned)]


def filtered(started: ev.RunStarted | None) -> list[str]:
    """The filters of a question, as written, in one line; none if it has none."""
    return [one_line(" ".join(started.filters))] if started and started.filters else []


def stepping_in(fold: RunFold) -> list[str]:
    """Questions to the user with their replies, and how they steered the run."""
    replies = [f"{reply.question} → {_reply(reply)}" for reply in fold.every(ev.Replied)]
    return [*replies, *(block_of(event).text for event in fold.every(ev.Steered))]


def _reply(event: ev.Replied) -> str:
    if event.about == "clarify":
        return f"you: {one_line(event.reply) or '(nothing)'}"
    # It is accepted where nobody is there to ask; otherwise only where the user set it.
    setting = "" if event.reply == "accept" else " (approve is never)"
    who = "you chose" if event.by == "person" else f"without asking{setting}"
    return f"{who}: {CHOICES.get(event.reply, one_line(event.reply))}"


def doing(fold: RunFold) -> str:
    """What the current node is doing, its research step, and details; "" before the first node."""
    parts = [DOING.get(fold.node, fold.node)]
    if fold.step:
        parts.append(f"step {fold.step} of {max(len(fold.plan), fold.step)}")
    return " · ".join(filter(None, [*parts, one_line(fold.message, 60)]))


def resume_hint(run_id: str, status: str) -> str:
    """How to resume an unfinished run, in a sentence."""
    verb = "waits" if status == "waiting" else "can be resumed"
    return f"Run {run_id} {verb}: `deepthink resume {run_id}`"


# --- parts of an answer -------------------------------------------------------------------------------


def support_count(claims: Sequence[Claim]) -> str:
    """How many sentences of an answer are supported by their sources."""
    supported_count = sum(claim["verdict"] == "supported" for claim in claims)
    verb = "is supported by its" if supported_count == 1 or len(claims) == 1 else "are supported by their"
    return f"{supported_count} of {counted(len(claims), 'sentence')} {verb} sources"


def withheld(fold: RunFold) -> list[str]:
    """The answer that was withheld, in lines: that it was, the text, and its doubts; none without one."""
    if fold.withheld is None:
        return []
    told = [f"✗ {line}" for line in doubts(fold.withheld.sentences)]
    return ["The withheld answer:", clean(fold.withheld.answer), *told]


def doubts(claims: Sequence[Claim]) -> list[str]:
    """The sentences that are not surely supported by their sources, and why."""
    return [
        f"{VERDICTS[claim['verdict']]}: “{one_line(claim['text'])}”"
        + (f" ({one_line(claim['reason'])})" if claim["reason"] else "")
        for claim in claims
        if claim["verdict"] != "supported"
    ]


def uncited(fold: RunFold) -> list[Evidence]:
    cited = {item["number"] for item in fold.answered.sources} if fold.answered else set()
    return [item for item in fold.evidence if item["number"] not in cited]


def preview(passage: str, query: str, longest: int) -> str:
    """A passage in one line; a long one from the sentence or table row on that has most words of a query.

    A mail's is without the lines that say who wrote to whom.
    """
    from agent.text.sentences import sentences
    from agent.text.terms import nearest

    text = _MAIL_HEAD.sub("", passage) or passage
    units = sentences(text) if len(text) > longest else []
    first = nearest(units, query) if units else 0
    return one_line(" ".join(["…", *units[first:]]) if first else text, longest)


def place(item: FoundPassage) -> str:
    """Title, section and page of a passage, in one line."""
    return located(_title(item), item["section"], item["page"])


def located(title: str, section: str, page: int | None) -> str:
    """Like `place`, from its parts; a first heading that only repeats the title is left out."""
    headings = [one_line(heading) for heading in section.split(SECTION_SEPARATOR) if heading.strip()]
    first, known = headings[0].casefold() if headings else "", one_line(title).casefold()
    if first and (first == known or (known.endswith(" …") and first.startswith(known[:-2]))):
        del headings[0]
    path = SECTION_SEPARATOR.join([one_line(title), *headings])
    return f"{path}, p. {page}" if page else path


def places(items: Sequence[FoundPassage]) -> list[str]:
    """The place of each passage, with the date of its document.

    Where another's document has the same title and date, file name and collection tell them apart.
    """
    alike: dict[tuple[str, str], set[str]] = {}  # the documents of each title and date
    for item in items:
        alike.setdefault((_title(item), item["date"]), set()).add(_origin(item))

    def parts(item: FoundPassage) -> Iterable[str]:
        same = alike[_title(item), item["date"]]
        return filter(None, [place(item), one_line(item["date"]), _origin(item) if len(same) > 1 else ""])

    return [" · ".join(parts(item)) for item in items]


def _title(item: FoundPassage) -> str:
    return item["title"] or item["document"]


def _origin(item: FoundPassage) -> str:
    """Collection and file name of a passage's document."""
    return " · ".join(filter(None, (one_line(item["collection"]), one_line(item["document"]))))


def step_question(question: str) -> str:
    """A step's question in a line; ``#n`` becomes the answer of step n."""
    return _REFERENCE.sub(r"(answer \1)", one_line(question))


def plan_step(step: PlanStep) -> str:
    """A step of a plan, with the collection that it searches."""
    return step_question(step["question"]) + (f" → {step['tool']}" if step["tool"] else "")


# --- events -------------------------------------------------------------------------------------------

Tone = Literal["opening", "part", "line", "warning", "answer", "sources", "closing"]


@dataclass(frozen=True, slots=True)
class Block:
    """A labelled piece of text; ``items`` are separate lines below ``text``."""

    label: str
    text: str = ""
    items: tuple[str, ...] = ()
    tone: Tone = "line"


def read_as(event: ev.Routed) -> list[str]:
    """A line with the question as the planner completed it; no line if it is still as the user typed it."""
    question = one_line(event.question)
    return [f"read as: {question}"] if question != one_line(event.asked) else []


def as_text(event: ev.Event) -> str:
    block = block_of(event)
    return one_line(f"{block.label}: {block.text}" if block.text else block.label)


def block_of(event: ev.Event) -> Block:  # noqa: PLR0911, PLR0912 - one arm per event
    """A single event: its label, its text, and lines of detail; of a later version, only its kind."""
    match event:
        case ev.RunStarted():
            return Block("question", event.question)
        case ev.Resumed():
            return Block("resumed", f"at: {DOING.get(event.node, event.node)}", tone="part")
        case ev.Routed():
            kind = _ROUTES.get(event.route, event.route)
            why = f": {one_line(event.reason)}" if event.reason else ""
            return Block("route", f"{kind}{why}", tuple(read_as(event)))
        case ev.Replied() if event.about == "approve":
            return Block("check", f"not fully supported by its sources; {_reply(event)}")
        case ev.Replied():
            return Block("asked", one_line(event.question), (_reply(event),))
        case ev.Steered():
            detail = f": {one_line(event.detail)}" if event.detail else ""
            return Block("you", _STEERING.get(event.what, event.what) + detail)
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
            return _first_look(event)
        case ev.Planned():
            by = "by the language model" if event.origin in {"model", "repaired"} else ""
            label = "re-plan" if event.revision else "plan"
            items = tuple(f"{number}. {plan_step(step)}" for number, step in enumerate(event.steps, 1))
            return Block(label, by if items else "no further step", items, "part")
        case ev.StepStarted():
            return Block(f"step {event.step}", step_question(event.plan_step["question"]), tone="part")
        case ev.Searched():
            return search([event], "")
        case ev.Reranked():
            by = f" by {event.reranker}" if event.reranker else ""
            return Block("read", f"{counted(len(event.order), 'passage')}{by}")
        case ev.Graded():
            counts = ((label, event.grades.count(grade)) for grade, label in GRADES.items())
            text = ", ".join(f"{count} {label}" for label, count in counts if count) or "no passages"
            return Block("grade", f"{text} ({event.grader}): {ENOUGH.get(event.grade, event.grade)}")
        case ev.Corrected():
            return _correction(event)
        case ev.EvidenceKept():
            return _evidence(event)
        case ev.Noted() if not event.note["found"]:
            return Block("finding", UNSURE)
        case ev.Noted():
            return Block("finding", unmarked(one_line(event.note["sentence"])))
        case ev.Decided():
            why = f": {one_line(event.justification)}" if event.justification else ""
            return Block("decide", f"{decision(event)}{why}")
        case ev.Contradicted():
            return contradiction(event)
        case ev.Warned():
            return Block("note", one_line(event.message), tone="warning")
        case ev.Answered():
            return Block("answer", event.answer)
        case _:
            return Block(event.kind)


def _first_look(event: ev.FirstLook) -> Block:
    """A first candidate for the answer, or the nearest passage, and its place, while the run continues."""
    words, sentence = one_line(event.answer), one_line(event.sentence, _SENTENCE)
    place = (located(event.title, "", event.page),)
    if not words:
        return Block("look", f"nearest so far: {sentence}", place)
    text = sentence if sentence.casefold().startswith(words.casefold()) else f"{words} – {sentence}"
    return Block("look", f"first look, likely: {text}", place)


def search(searches: Sequence[ev.Searched], question: str) -> Block:
    """One round of searches, one for each phrasing: the phrasings, and the documents found."""
    phrasings = dict.fromkeys(one_line(event.query) for event in searches)
    first, *others = (
        "the question as asked" if phrasing == one_line(question) else one_line(phrasing, _QUERY)
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
    count = counted(len(hits), "passage") if hits else "nothing found"
    return Block("search", f"{first} ({strategies}: {count})", tuple(items))


def _correction(event: ev.Corrected) -> Block:
    pages = []
    for page in event.pages:
        fields = [str(page.get("title") or ""), str(page.get("url") or ""), str(page.get("date") or "")]
        cache_note = ["kept from before"] if page.get("cached") else []
        pages.append(" · ".join(one_line(part) for part in [*fields, *cache_note] if part))
    attempt = one_line(event.detail) or _RUNGS.get(event.rung, event.rung)
    return Block("retry", f"searching {attempt}", tuple(pages))


def _evidence(event: ev.EvidenceKept) -> Block:
    """The passages by title, without their numbers: those of the answer are in the order it is read."""
    titles: dict[str, list[str]] = {}
    for item in event.fresh:
        title = one_line(item["title"] or item["document"])
        heading = one_line(item["section"].rsplit(SECTION_SEPARATOR, 1)[-1])
        location = [one_line(heading, _PLACE)] if heading and heading not in title else []
        location += [f"p. {item['page']}"] if item["page"] else []
        text = f"{', '.join(location)}: {item['excerpt']}" if location else item["excerpt"]
        titles.setdefault(title, []).append(one_line(f"· {text}", _LINE))
    items = [line for title, lines in titles.items() for line in (one_line(title, _LINE), *lines)]
    if event.again:
        items.append(f"{counted(len(event.again), 'passage')} again")
    return Block("kept", "" if items else "nothing", tuple(items))


def decision(event: ev.Decided) -> str:
    probability = event.probabilities.get(event.action, 1.0)
    confidence = f", {probability:.0%}" if probability < 1 else ""
    return f"{event.action} ({event.source}{confidence})"


def contradiction(event: ev.Contradicted, titles: Mapping[int, str] | None = None) -> Block:
    """The current value and the superseded one, with their dates.

    With the ``titles`` of an answer's passages, also their numbers, and a title where a date is missing.
    """

    def describe(value: str, number: int, date: str) -> str:
        mark = f" [{number}]" if titles else ""
        title = titles.get(number, "") if titles else ""
        return f"{one_line(value)}{mark} ({one_line(date or title) or 'undated'})"

    current = describe(event.value, event.number, event.date)
    superseded = describe(event.superseded, event.superseded_number, event.superseded_date)
    return Block("conflict", f"{current} is followed, {superseded} is superseded")


def answer(event: ev.Answered) -> list[Block]:
    """The answer, its doubtful sentences, and its sources."""
    blocks = [Block("answer", clean(event.answer).strip(), tone="answer")]
    if doubtful := doubts(event.sentences):
        blocks.append(Block("check", "", tuple(doubtful), "warning"))
    if event.sources:
        blocks.append(Block("sources", tone="sources"))
        blocks += [_source(item, event.quotes.get(str(item["number"]), "")) for item in event.sources]
    return blocks


def _source(item: Evidence, quote: str) -> Block:
    """A cited passage: title, place, and ``quote``, or the whole excerpt without one."""
    text = clean(quote or item["excerpt"]).strip()
    lines = tuple(text.splitlines()) if item["kind"] == "table" else (f"“{unmarked(one_line(text))}”",)
    origin = " · ".join(filter(None, [_origin(item), one_line(item["date"])]))
    return Block(f"[{item['number']}]", place(item), (origin, *lines), "sources")


_QUIET = (ev.NodeStarted, ev.NodeProgress, ev.NodeFinished, ev.ModelCalled, ev.Heartbeat, ev.NotebookGrew)


class Transcript:
    """Turns the events of one run into blocks, once its fold has taken them.

    Searches of one round are shown together; of several answers, the last is shown when the run ends.
    """

    def __init__(self, fold: RunFold) -> None:
        self._fold = fold
        self._searches: list[ev.Searched] = []
        self._claims: list[Claim] = []
        self._shows_question = False
        self._owes_answer = False  # there is an answer that is not shown yet

    def take(self, event: ev.Event) -> list[Block]:
        if isinstance(event, ev.Searched):
            finished_round = [] if self._same_round(event) else self._finish_round()
            self._searches.append(event)
            return finished_round
        if isinstance(event, _QUIET):
            return []
        return [*self._finish_round(), *self._blocks_for(event)]

    def recall(self, event: ev.Event) -> None:
        """Take an event from before the run was resumed, without showing it."""
        self.take(event)
        self._shows_question = False

    def rest(self) -> list[Block]:
        """The blocks held back so far, for a run that was interrupted."""
        answered = self._fold.answered if self._owes_answer else None
        self._owes_answer = False
        return [*self._finish_round(), *(answer(answered) if answered is not None else [])]

    def _blocks_for(self, event: ev.Event) -> list[Block]:  # noqa: PLR0911 - one arm per event
        is_single = self._fold.routed is not None and self._fold.routed.route == "single"
        match event:
            case ev.RunStarted() | ev.Resumed():
                return [self._opening(event)]
            case ev.Planned() if is_single and not event.revision:
                return []
            case ev.StepStarted() if is_single and event.step == 1:
                return []
            case ev.Answered():
                self._owes_answer = True
                self._claims = event.sentences or self._claims
                return []
            case ev.RunFinished():
                if event.status in {"interrupted", "cancelled"}:  # the resumed run may give another one
                    self._owes_answer = False
                return [*self.rest(), self._closing(event)]
            case ev.Asked() | ev.AnswerText() | ev.Reranked():
                return []
            case ev.Noted() if not event.note["found"]:
                return [self._without_finding(event)]
            case _:
                block = block_of(event)
                return [block] if block.text or block.items else []  # else it is from a later version

    def _without_finding(self, event: ev.Noted) -> Block:
        """What a step came to whose passages do not surely answer it."""
        state = self._fold.state_of(self._fold.step_numbered(event.note["step"]))
        if state in {"skipped", "nothing", "irrelevant"}:
            return Block("finding", STEP_ENDINGS[state])
        return Block("finding", FROM_PASSAGES)

    def _same_round(self, event: ev.Searched) -> bool:
        return all((search.step, search.rung) == (event.step, event.rung) for search in self._searches)

    def _finish_round(self) -> list[Block]:
        searches, self._searches = self._searches, []
        return [search(searches, self._fold.step_numbered(searches[0].step).question)] if searches else []

    def _opening(self, event: ev.RunStarted | ev.Resumed) -> Block:
        if isinstance(event, ev.Resumed):
            if self._shows_question:
                return block_of(event)
            details = [event.chat_model, f"resumed {block_of(event).text}"]
        else:
            details = [
                event.chat_model,
                f"profile {event.profile}",
                f"decisions by {event.decider}",
                f"read by {event.reranker}" if event.reranker else "no reranker, the fused order stands",
                f"in {', '.join(event.collections)}",
                *(f"only {filters}" for filters in filtered(event)),
            ]
        self._shows_question = True
        return Block("question", one_line(event.question), (clean(" · ".join(details)),), "opening")

    def _closing(self, event: ev.RunFinished) -> Block:
        run_id = self._fold.run_id
        is_resumable = event.status in RESUMABLE
        items = [cost(event), resume_hint(run_id, event.status) if is_resumable else f"run {run_id}"]
        if self._claims and event.status in {"answered", "rejected", "waiting"}:
            items.insert(0, support_count(self._claims))
        why = f" ({reason(event)})" if reason(event) else ""
        ended = f"{ending(self._fold)}, {duration(event.seconds)}{why}"
        return Block("done", ended, tuple(items), "closing")
