"""One question and its answer in the conversation, live, replayed or from earlier."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from markdown_it import MarkdownIt
from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.style import Style
from textual.widgets import Markdown, OptionList, Static
from textual.widgets.markdown import MarkdownStream
from textual.widgets.option_list import Option

from agent import events as ev
from agent.state import Claim, Evidence
from tui.app.keys import bindings
from tui.app.lists import Offers, hanging
from tui.app.offers import deepthink
from tui.library.original import open_original
from tui.run.asked import AskedBox
from tui.run.evidence import Passage, passage_of
from tui.run.fold import EVERYTHING, Outcome, Part, RunFold
from tui.run.words import DOING, ENDINGS, doubt, first_look, place, support_count
from tui.terminal import clean, duration, one_line, unmarked

_TEXT_LENGTH = 160


class WaysOn(Offers):
    """What to do after a run: passages to open, questions to ask, other places to search."""

    HELP = """\
### What next

The nearest passages, and other ways to search. **Enter** opens a passage, or does what the row says.
"""

    @dataclass
    class Ask(Message):
        """Put a question into the prompt."""

        question: str

    @dataclass
    class AskEverywhere(Message):
        """Ask a question again, in all collections."""

        question: str

    @dataclass
    class Search(Message):
        """Search the library with a question."""

        question: str

    @dataclass
    class Opened(Message):
        """Open a passage."""

        passage: Passage

    def __init__(self) -> None:
        super().__init__()
        self._rows: list[tuple[Callable[[], Message], tuple[str, str]]] = []  # message, (lead, text)

    def show(self, outcome: Outcome, *, narrowed: bool) -> None:
        """Show what to do after a run.

        Args:
            outcome: The run's outcome.
            narrowed: Whether it searched only some of the collections.
        """
        self._rows = []
        question = outcome.question
        if outcome.status in {"not_found", "stopped"}:
            for hit in outcome.nearest():
                words = f"{place(hit)}: {one_line(hit['text'], _TEXT_LENGTH)}"
                self._add(partial(self.Opened, passage_of(hit)), words, "nearest  ")
            self._add(partial(self.Ask, question), "Rephrase the question")
            if narrowed:
                self._add(partial(self.AskEverywhere, question), "Search all collections")
            self._add(partial(self.Search, question), "Search the library with this question")
        elif outcome.status == "answered" and outcome.answered is not None:
            for missing in outcome.answered.missing:
                words = f"Ask about what is missing: “{one_line(missing, _TEXT_LENGTH)}”"
                self._add(partial(self.Ask, missing), words)
        self.redraw()
        self.set_class(not self._rows, "hidden")

    def _add(self, message: Callable[[], Message], words: str, lead: str = "→ ") -> None:
        self._rows.append((message, (lead, words)))

    def rows(self) -> Iterable[Option]:
        return (Option(Content(hanging(*text, self.width))) for _, text in self._rows)

    @on(OptionList.OptionSelected)
    def _post_choice(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        message, _ = self._rows[event.option_index]
        self.post_message(message())


_CITATION = re.compile(r"\[(\d+)\]")
_PREFIX_LENGTH = 40  # characters by which a sentence is found in the answer


def _parser() -> MarkdownIt:
    parser = MarkdownIt("gfm-like", {"html": False, "linkify": False})
    return parser.disable(["link", "image", "reference", "autolink"])


class Answer(Markdown, can_focus=True):
    """An answer, while it is written and when it is complete.

    Appending parses the last block only. Square brackets are text, never links: they hold a citation, or
    come from a document.

    Attributes:
        has_citations: Whether it has any, or will have once it is drawn.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("answer")
    HELP = """\
### The answer

Each `[n]` is a citation. **→** and **←** go from one to the next, **Enter** opens the passage
behind it in its document, with the supporting sentence marked. A mouse click on it does the same.
**o** opens the original, the file or the page itself.
**g**, **p** and **w** rate the answer as good, partly good or wrong; press again to remove the rating.
**c** copies it with its sources, **x** exports the run.
"""
    DEFAULT_CSS = """
    Answer { height: auto; padding: 0 0 0 2; background: transparent; }
    Answer:focus { border-left: outer $accent; padding: 0 0 0 1; }
    Answer > MarkdownBlock:last-child { margin-bottom: 0; }
    """

    @dataclass
    class Opened(Message):
        """Open the citation ``[number]``, or its ``original``."""

        number: int
        original: bool = False

    def __init__(self) -> None:
        super().__init__(parser_factory=_parser, open_links=False)
        self._stream: MarkdownStream | None = None
        self._text = ""
        self._plain_blocks: dict[Static, Content] = {}  # block to its text without the cursor
        self._citations: list[tuple[Static, int, int, int]] = []  # block, start, end, number
        self._citation_index = -1
        self._doubtful_sentences: Sequence[str] = ()
        self.has_citations = False

    def write(self, text: str) -> None:
        """Show the answer so far; only the new part is drawn."""
        if not text.startswith(self._text):
            self._text, self.has_citations = "", False
            self.call_later(self._restart)
        addition, self._text = text[len(self._text) :], text
        if addition:
            self.call_later(self._append, clean(addition))

    def finish(self, text: str, claims: Sequence[Claim] = ()) -> None:
        """Show the complete answer with its citations; mark the unsupported sentences of ``claims``."""
        self.has_citations = bool(_CITATION.search(text))
        self._doubtful_sentences = [claim["text"] for claim in claims if claim["verdict"] != "supported"]
        self.call_later(self._finish, text)

    @property
    def citations(self) -> list[int]:
        """The numbers of the citations, in the order of the text."""
        return [number for *_, number in self._citations]

    async def _restart(self) -> None:
        await self._stop()
        self._citations, self._plain_blocks, self._citation_index = [], {}, -1
        await self.update("")

    async def _append(self, source: str) -> None:
        if self._stream is None:
            self._stream = Markdown.get_stream(self)
        await self._stream.write(source)

    async def _stop(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            await stream.stop()

    async def _finish(self, text: str) -> None:
        await self._stop()
        source = clean(text)
        if self.source != source:
            self._text = text
            await self.update(source)
        self._mark_citations()

    def _mark_citations(self) -> None:
        self._citations, self._plain_blocks, self._citation_index = [], {}, -1
        for block in self.query(Static):
            content = block.content
            if not isinstance(content, Content):
                continue
            marks = list(_CITATION.finditer(content.plain))
            original = content
            for sentence in self._doubtful_sentences:
                at = content.plain.find(sentence[:_PREFIX_LENGTH])
                if at >= 0:
                    content = content.stylize("$warning", at, at + len(sentence))
            if content is not original and not marks:
                block.update(content)
            for mark in marks:
                number = int(mark[1])
                self._citations.append((block, *mark.span(), number))
                opening = Style.from_meta({"citation": number})
                content = content.stylize(opening, *mark.span()).stylize("bold $primary", *mark.span())
            if marks:
                self._plain_blocks[block] = content
                block.update(content)

    def action_citation(self, by: int) -> None:
        if not self._citations:
            return
        self._unmark()
        index = self._citation_index + by if self._citation_index >= 0 else (0 if by > 0 else -1)
        self._citation_index = index % len(self._citations)
        block, start, end, _ = self._citations[self._citation_index]
        block.update(self._plain_blocks[block].stylize("reverse bold", start, end))
        self.screen.scroll_to_widget(block)

    def action_open(self) -> None:
        if not self._citations:
            return
        self.post_message(self.Opened(self._citations[max(self._citation_index, 0)][3]))

    def action_original(self) -> None:
        """Open the original of the current citation, by default of the first."""
        if self._citations:
            self.post_message(self.Opened(self._citations[max(self._citation_index, 0)][3], original=True))

    def on_click(self, event: events.Click) -> None:
        """Open the citation that was clicked; its block has no action for that."""
        number = event.style.meta.get("citation")
        if number is not None:
            self.post_message(self.Opened(number))

    def on_blur(self) -> None:
        self._unmark()

    def _unmark(self) -> None:
        if self._citation_index >= 0:
            block = self._citations[self._citation_index][0]
            block.update(self._plain_blocks[block])


_QUOTE_LENGTH = 160
_QUESTION_LENGTH = 1200  # characters; the whole text is in the prompt's history


class Sources(Offers):
    """The passages that the answer cites, with the sentence that supports it."""

    HELP = """\
### The sources

Each passage that the answer cites: its number, its place, and the sentence that supports the answer
best. **Enter** opens it in its document.
"""

    def __init__(self) -> None:
        super().__init__()
        self._answered: ev.Answered | None = None

    def show(self, answered: ev.Answered) -> None:
        """List the sources of an answer."""
        self._answered = answered
        self.redraw()
        self.set_class(not answered.sources, "hidden")

    def rows(self) -> Iterable[Option]:
        answered = self._answered
        if answered is None:
            return
        for item in answered.sources:
            yield Option(_source(item, answered, self.width), id=str(item["number"]))


class Exchange(Vertical):
    """One turn: the question, the progress, the answer, its sources, and warnings."""

    BINDINGS: ClassVar[list[BindingType]] = []
    DEFAULT_CSS = """
    Exchange { height: auto; margin: 0 1 1 1; }
    Exchange .question {
        text-style: bold; color: $primary; margin: 0 0 1 0; padding: 0 0 0 1; border-left: outer $primary;
    }
    Exchange .look { color: $foreground 80%; padding: 0 0 0 2; }
    Exchange .state { color: $foreground 75%; padding: 0 0 0 2; }
    Exchange .failed { color: $error; padding: 0 0 0 2; }
    Exchange .warned, Exchange .checks { color: $warning; padding: 0 0 0 2; }
    Exchange .checks { margin: 1 0 0 0; }
    Exchange .hidden { display: none; }
    """

    @dataclass
    class PassageWanted(Message):
        """Open a cited passage in its document."""

        passage: Passage

    @dataclass
    class Ready(Message):
        """A turn is composed, so a run can be drawn in it."""

        exchange: Exchange

    class Unasked(Message):
        """The question of the run was removed while it had the focus."""

    def __init__(self, question: str) -> None:
        super().__init__()
        self.question = question
        self.fold: RunFold | None = None
        self._box: AskedBox | None = None

    def compose(self) -> ComposeResult:
        """All widgets exist from the start; the empty ones are hidden."""
        question = clean(self.question).strip()
        shortened = (
            f"{question[:_QUESTION_LENGTH].rstrip()} …" if len(question) > _QUESTION_LENGTH else question
        )
        yield Static(Content(shortened), classes="question")
        yield Static(classes="look hidden", markup=False)
        yield Answer()
        yield Static(classes="checks hidden", markup=False)
        yield Sources()
        yield Static(classes="failed hidden", markup=False)
        yield Static(classes="warned hidden", markup=False)
        yield Static(classes="state", markup=False)
        yield WaysOn()

    def on_mount(self) -> None:
        self.call_later(self.post_message, self.Ready(self))

    def show(self, fold: RunFold, changed: frozenset[Part] = EVERYTHING) -> None:
        """Draw what changed."""
        self.fold = fold
        if changed & {"status", "meters", "answer", "question"}:
            self.query_one(".state", Static).update(self._state(fold))
            self._fill(".failed", [f"✗ {fold.failure}"] if fold.failure else [])
            warnings = dict.fromkeys(fold.outcome.warnings)
            self._fill(".warned", [f"! {one_line(message)}" for message in warnings])
        if "text" in changed and fold.outcome.answered is None:
            self.query_one(Answer).write(fold.text)
        if "answer" in changed or "text" in changed:
            self._show_answer(fold)
        if changed & {"answer", "text", "status"}:
            self._show_look(fold)
        if changed & {"asked", "status"}:
            self._show_question(fold)

    @property
    def answer(self) -> str:
        """The answer; "" until there is one."""
        answered = self.fold.outcome.answered if self.fold else None
        return clean(answered.answer).strip() if answered else ""

    @property
    def with_sources(self) -> str:
        """The answer, followed by each source with its place and a quote."""
        answered = self.fold.outcome.answered if self.fold else None
        lines = [
            f"[{item['number']}] {place(item)}: “{_quote_or_excerpt(item, answered)}”"
            for item in (answered.sources if answered else ())
        ]
        return "\n\n".join(filter(None, (self.answer, "\n".join(lines))))

    @property
    def has_citations(self) -> bool:
        """Whether the answer has citations to go to."""
        return self.query_one(Answer).has_citations

    def go_to_citations(self) -> None:
        """Focus the question of the run, else the first citation of the answer."""
        if self._box is not None:
            if self._box.is_mounted:
                self._box.take_focus()
            return
        answer = self.query_one(Answer)
        self.screen.set_focus(answer)
        answer.call_later(answer.action_citation, 1)  # after what is still to be drawn

    def ask(self, box: AskedBox) -> None:
        """Show a question of the run at the end, instead of the previous one."""
        self.unask()
        self._box = box
        self.mount(box)

    @property
    def question_box(self) -> AskedBox | None:
        """The run's current question in this turn, if any."""
        return self._box

    def unask(self) -> None:
        """Remove the question."""
        box, self._box = self._box, None
        if box is None:
            return
        if box.has_focus_within:
            self.screen.set_focus(None)  # else Textual focuses some widget nearby
            self.post_message(self.Unasked())
        box.remove()

    def _show_answer(self, fold: RunFold) -> None:
        answered = fold.outcome.answered
        sources = self.query_one(Sources)
        if answered is None or fold.outcome.status in {"cancelled", "interrupted", "failed"}:
            sources.add_class("hidden")
            return
        if fold.node in {"synthesise", "answer_directly"} and fold.text:
            self.query_one(Answer).write(fold.text)  # the answer is being rewritten
            return
        self.query_one(Answer).finish(answered.answer, answered.sentences)
        doubts = [f"! {doubt(claim)}" for claim in answered.sentences if claim["verdict"] != "supported"]
        self._fill(".checks", doubts)
        sources.show(answered)
        if fold.over and hasattr(self.screen, "on_ways_on_ask"):  # not where a run is only replayed
            searched = fold.outcome.started.collections if fold.outcome.started else ()
            library: frozenset[str] = getattr(self.screen, "collection_names", frozenset())
            self.query_one(WaysOn).show(fold.outcome, narrowed=not library <= set(searched))

    def _show_look(self, fold: RunFold) -> None:
        """Show what the first look found, until there is an answer."""
        lines: list[str] = []
        if fold.outcome.looked is not None and not (fold.text or fold.over or fold.outcome.answered):
            block = first_look(fold.outcome.looked)
            lines = [block.text, *block.items]
        self._fill(".look", lines)

    def _fill(self, selector: str, lines: Sequence[str]) -> None:
        """Show lines in one of the texts; hide it if there are none."""
        text = self.query_one(selector, Static)
        text.update(Content("\n".join(lines)))
        text.set_class(not lines, "hidden")

    def _show_question(self, fold: RunFold) -> None:
        if fold.asked is None:
            self.unask()
        elif self._box is None or self._box.asked is not fold.asked:
            self.ask(AskedBox(fold.asked))

    def _state(self, fold: RunFold) -> Content:
        finished = fold.outcome.finished
        if finished is None:
            return Content(_describe_progress(fold))
        parts, style = _describe_ending(fold, finished)
        key = deepthink(self).key_of("ask.panel")
        thinking = [f"{key} shows the thinking"] if key and fold.outcome.plan else []
        return Content(" · ".join([*parts, *thinking])).stylize(style, 0, len(parts[0]))

    @on(WaysOn.Opened)
    def _nearest_opened(self, event: WaysOn.Opened) -> None:
        event.stop()
        self.post_message(self.PassageWanted(event.passage))

    @on(Answer.Opened)
    def _citation_opened(self, event: Answer.Opened) -> None:
        event.stop()
        self._open(event.number, original=event.original)

    @on(OptionList.OptionSelected, "Sources")
    def _source_opened(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self._open(int(event.option.id or 0))

    def _open(self, number: int, *, original: bool = False) -> None:
        answered = self.fold.outcome.answered if self.fold else None
        for item in answered.sources if answered else ():
            if item["number"] == number and original:
                open_original(self, item["passage_id"])
                return
            if item["number"] == number:
                quote = answered.quotes.get(str(number), "") if answered else ""
                self.post_message(self.PassageWanted(passage_of(item, number, quote)))
                return
        self.notify(f"[{number}] is no source of this answer.", severity="warning")


def _quote_or_excerpt(item: Evidence, answered: ev.Answered | None) -> str:
    """The sentence that supports the answer best, else the whole excerpt."""
    quote = answered.quotes.get(str(item["number"]), "") if answered else ""
    return unmarked(one_line(quote or item["excerpt"]))


def _source(item: Evidence, answered: ev.Answered, width: int) -> Content:
    lead = f"[{item['number']}] "
    location = Content(hanging(lead, place(item), width))
    quote = one_line(_quote_or_excerpt(item, answered), _QUOTE_LENGTH)
    excerpt = Content(hanging(" " * len(lead), f"“{quote}”", width)).stylize("$foreground 65%")
    return Content("\n").join([location, excerpt])


def _describe_progress(fold: RunFold) -> str:
    if fold.failure:  # it has its own line
        return ""
    if fold.asked is not None:
        return "? waiting for you"
    doing = DOING.get(fold.node, fold.node) or "starting"
    step = f" · step {fold.step} of {max(len(fold.outcome.plan), fold.step)}" if fold.step else ""
    detail = f" · {one_line(fold.message, 60)}" if fold.message else ""
    paused = "paused after: " if fold.paused else ""
    return f"… {paused}{doing}{step}{detail} · {duration(fold.elapsed)}"


def _describe_ending(fold: RunFold, finished: ev.RunFinished) -> tuple[list[str], str]:
    """How the run ended, how much is supported, how long it took; and the style of the first part."""
    outcome, status = fold.outcome, finished.status
    ending = ENDINGS.get(status, status)
    sign, style = {
        "answered": ("✓", "$success"),
        "not_found": ("–", "$warning"),
        "stopped": ("–", "$warning"),
    }.get(status, ("✗", "$error"))
    if status == "answered" and outcome.partial:
        sign, style, ending = "!", "$warning", "answered in part"
    parts = [f"{sign} {ending}"]
    claims = outcome.answered.sentences if outcome.answered else ()
    if claims and status == "answered":
        parts.append(support_count(claims))
    parts.append(duration(finished.seconds))
    reason, last_decisions = finished.stopped_because, outcome.decisions[-1:]
    if reason not in {"", status} and all(
        decision.source in {"human", "budget"} for decision in last_decisions
    ):
        parts.append(one_line(reason))
    return parts, style
