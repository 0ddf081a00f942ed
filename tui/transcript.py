"""What a person reads of a run: each event becomes at most a few blocks of text.

The blocks know nothing of colour or width; `tui.render` puts them on a terminal or into lines. A live run
and the replay of a stored one go through here alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from agent import events as ev
from agent.state import Candidate, Evidence
from traces.records import SECTION_SEPARATOR
from tui.terminal import clean, duration, one_line

Tone = Literal["opening", "part", "line", "warning", "answer", "sources", "closing"]

_HITS = 3
_GLIMPSE = 100  # characters of an excerpt while the run goes on; the sources show all of it


@dataclass(frozen=True, slots=True)
class Block:
    """A labelled piece of text; ``items`` are lines of their own beneath ``text``."""

    label: str
    text: str = ""
    items: tuple[str, ...] = ()
    tone: Tone = "line"


class Transcript:
    """A fold over the events of one run."""

    def __init__(self) -> None:
        self._run_id = ""
        self._flagged = 0

    def take(self, event: ev.Event) -> list[Block]:  # noqa: PLR0911 - one arm per event
        """The blocks that this event adds."""
        match event:
            case ev.RunStarted():
                return [self._opening(event)]
            case ev.Planned():
                return [_plan(event)]
            case ev.StepStarted():
                return [Block(f"step {event.step}", one_line(event.plan_step["question"]), tone="part")]
            case ev.Searched():
                return [_search(event)]
            case ev.Reranked() if event.reranker and event.order:
                return [Block("rerank", f"{len(event.order)} passages by {event.reranker}")]
            case ev.EvidenceKept():
                return [_kept(event)]
            case ev.Noted():
                note = event.note
                marks = "".join(f"[{number}]" for number in note["cites"])
                sentence = one_line(note["sentence"]) if note["found"] else "nothing that answers this step"
                return [Block("finding", f"{sentence} {marks if note['found'] else ''}".rstrip())]
            case ev.Decided():
                return [Block("decide", _decision(event))]
            case ev.Warned():
                return [Block("note", one_line(event.message), tone="warning")]
            case ev.Answered():
                return self._answer(event)
            case ev.RunFinished():
                return [self._closing(event)]
            case _:
                return []

    def _opening(self, event: ev.RunStarted) -> Block:
        self._run_id = event.run_id
        how = [
            event.chat_model,
            f"profile {event.profile}",
            f"decisions by {event.decider}",
            f"in {', '.join(event.collections)}",
        ]
        if not event.reranker:
            how.append("no reranker on disk, the fused order stands")
        return Block("question", one_line(event.question), (clean(" · ".join(how)),), "opening")

    def _answer(self, event: ev.Answered) -> list[Block]:
        self._flagged = sum(1 for sentence in event.sentences if sentence["verdict"] != "supported")
        blocks = [Block("answer", clean(event.answer).strip(), tone="answer")]
        if event.sources:
            blocks.append(Block("sources", tone="sources"))
            blocks += [source(item) for item in event.sources]
        return blocks

    def _closing(self, event: ev.RunFinished) -> Block:
        ended = {
            "answered": "answered",
            "not_found": "not found in the documents",
            "cancelled": "cancelled",
            "failed": "failed",
        }.get(event.status, event.status)
        prompt = event.evaluated + event.reused
        share = f" ({event.reused / prompt:.0%})" if event.reused else ""
        cost = [
            f"{event.model_calls} model calls",
            f"{event.evaluated:,} tokens read, {event.reused:,} reused{share}, {event.generated:,} written",
        ]
        items = [" · ".join(cost), f"run {self._run_id}"]
        if self._flagged:
            noun = "sentence is" if self._flagged == 1 else "sentences are"
            items.insert(
                0, f"{self._flagged} {noun} not supported by the sources: check before relying on it"
            )
        because = f" ({one_line(event.stopped_because)})" if event.stopped_because != event.status else ""
        return Block("done", f"{ended} in {duration(event.seconds)}{because}", tuple(items), "closing")


def source(item: Evidence) -> Block:
    """A cited passage: what it is, where it stands, and its words."""
    where = [item["collection"], item["document"]]
    if item["date"]:
        where.append(item["date"])
    excerpt = clean(item["excerpt"]).strip()
    quote = tuple(excerpt.splitlines()) if item["kind"] == "table" else (f"“{one_line(excerpt)}”",)
    return Block(f"[{item['number']}]", place(item), (" · ".join(map(one_line, where)), *quote), "sources")


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


def _plan(event: ev.Planned) -> Block:
    label = "plan" if not event.revision else "re-plan"
    items = tuple(
        f"{number}. {one_line(step['question'])}" + (f" → {step['tool']}" if step["tool"] else "")
        for number, step in enumerate(event.steps, start=1)
    )
    return Block(label, "" if items else "no further step", items, "part")


def _search(event: ev.Searched) -> Block:
    places = list(dict.fromkeys(_glimpse(hit) for hit in event.hits))
    found = f"{len(event.hits)} passages" if event.hits else "nothing found"
    items = [*places[:_HITS], *(["…"] if len(places) > _HITS else [])]
    return Block("search", f"{one_line(event.query)} ({event.strategy}: {found})", tuple(items))


def _kept(event: ev.EvidenceKept) -> Block:
    items = [f"[{e['number']}] {_glimpse(e)}: {one_line(e['excerpt'], _GLIMPSE)}" for e in event.fresh]
    if event.again:
        items.append(f"{''.join(f'[{number}]' for number in event.again)} again")
    return Block("kept", "" if items else "nothing", tuple(items))


def _decision(event: ev.Decided) -> str:
    probability = event.probabilities.get(event.action, 1.0)
    sure = f", {probability:.0%}" if probability < 1 else ""
    why = f": {one_line(event.justification)}" if event.justification else ""
    return f"{event.action} ({event.source}{sure}){why}"
