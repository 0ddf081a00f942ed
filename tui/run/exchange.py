"""One question and its answer in the conversation, live, replayed or from earlier."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from markdown_it import MarkdownIt
from textual import events, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.style import Style
from textual.widgets import Input, Markdown, OptionList, Static
from textual.widgets.markdown import MarkdownStream
from textual.widgets.option_list import Option

from agent import events as ev
from agent.state import Claim, Evidence
from traces.records import WEB_COLLECTION
from tui.app.keys import bindings
from tui.app.lists import Drawn, DrawnText, RowList, hanging
from tui.app.reach import deepthink
from tui.library.passage import open_kept, open_original
from tui.run import words
from tui.run.fold import EVERYTHING, MARK, Part, RunFold
from tui.run.live import Meters
from tui.terminal import clean, duration, one_line, unmarked

_TEXT_LENGTH, _SCOPE_LENGTH = 160, 60
Way = Literal["edit", "anew", "everywhere", "search"]


class UnderAnswer(RowList):
    """Rows under an answer, hidden without any, on which the keys of the answer work too."""

    BINDINGS = bindings("answer")
    DEFAULT_CSS = """
    /* As high as its rows, so it never scrolls. A scrollbar, shown while the height is still that of
       another width, would stay: it takes cells from a row that just fits, which then wraps. */
    UnderAnswer { height: auto; overflow-y: hidden; background: transparent; padding: 1 0 1 2; }
    UnderAnswer, UnderAnswer:focus { border: none; }
    UnderAnswer > .option-list--option-highlighted { background: transparent; text-style: none; }
    UnderAnswer:focus > .option-list--option-highlighted { background: $panel; text-style: bold; }
    """

    def __init__(self) -> None:
        super().__init__(classes="hidden")

    def put(self, options: Iterable[Option]) -> None:
        super().put(options)
        self.set_class(not self.option_count, "hidden")

    def on_focus(self) -> None:
        if self.highlighted is None and self.option_count:
            self.highlighted = 0

    def action_citation(self, by: int) -> None:
        if by > 0:
            self.action_cursor_down()
        else:
            self.action_cursor_up()

    def action_open(self) -> None:
        self.action_select()

    def action_original(self) -> None:
        """Open the original of what is under the cursor."""
        raise NotImplementedError


class WaysOn(UnderAnswer):
    HELP = """\
### What next

The nearest passages, and other ways to search. **Enter** opens a passage, or does what the row says;
**o** opens the original of a passage. The keys of the answer that rate, correct, copy and export it are the
same here.
"""

    @dataclass
    class Chosen(Message):
        """Ask a question: edited in the prompt, also of a new conversation, everywhere, or as a search.

        The ``question`` of the last and of a new conversation begins with the collections it is limited to.
        """

        way: Way
        question: str

    class Revealed(Message):
        """Show the answer that was withheld."""

    def __init__(self) -> None:
        super().__init__()
        self._acts: list[Callable[[], object]] = []  # what each row does
        self._passages: list[int] = []  # the ids of those in the first rows

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action != "citation"  # no row is one

    def action_original(self) -> None:
        if self.highlighted is None or self.highlighted >= len(self._passages):
            self.notify("There is no passage under the cursor.", severity="warning")
        else:
            open_original(self, self._passages[self.highlighted])

    def show(self, fold: RunFold, only: Sequence[str]) -> None:
        """Show what to do after a run that searched ``only`` these collections; all if there are none."""
        rows: list[tuple[Callable[[], object], str, str]] = []  # what it does, lead, text
        question, self._passages = fold.question, []
        is_reworded = fold.routed is not None and bool(words.read_as(fold.routed))
        if fold.status in {"not_found", "stopped", "rejected"}:
            nearest = fold.nearest()
            for hit, where in zip(nearest, words.places(nearest), strict=True):
                self._passages.append(hit["passage_id"])
                text = f"{where}: {words.preview(hit['text'], question, _TEXT_LENGTH)}"
                rows.append((partial(open_kept, self, hit), "nearest  ", text))
            if fold.withheld is not None:
                rows.append((partial(self.post_message, self.Revealed()), "→ ", "Show what was withheld"))
            ways: dict[Way, str] = {
                "edit": "Rephrase the question",
                "anew": "Ask it as typed, in a new conversation",
                "everywhere": "Search all your collections",
                "search": "Search the library with this question",
            }
            for way, text in ways.items():
                if (way == "everywhere" and not only) or (way == "anew" and not is_reworded):
                    continue
                scope = "".join(f"#{name} " for name in only) if way in {"anew", "search"} else ""
                rows.append((partial(self._choose, way, scope + question), "→ ", text))
        elif fold.status == "answered" and fold.answered is not None:
            for missing in fold.answered.missing:
                text = f"Ask about what is missing: “{one_line(missing, _TEXT_LENGTH)}”"
                rows.append((partial(self._choose, "edit", missing), "→ ", text))
        self._acts = [act for act, _, _ in rows]
        self.put(Option(Drawn(partial(hanging, lead, text))) for _, lead, text in rows)

    @on(OptionList.OptionSelected)
    def _take(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self._acts[event.option_index]()

    def _choose(self, way: Way, question: str) -> None:
        self.post_message(self.Chosen(way, question))


_PREFIX_LENGTH = 40  # characters by which a sentence is found in the answer


def _parser() -> MarkdownIt:
    parser = MarkdownIt("gfm-like", {"html": False, "linkify": False})
    return parser.disable(["link", "image", "reference", "autolink"])


class Answer(Markdown, can_focus=True):
    """An answer, while it is written and when it is complete.

    Appending parses the last block only. Square brackets are text, never links: they hold a citation, or
    come from a document.
    """

    BINDINGS = bindings("answer")
    HELP = """\
### The answer

Each `[n]` is a citation. **→** and **←** go from one to the next, **Enter** opens the passage
behind it in its document, with the supporting sentence marked. A mouse click on it does the same.
**o** opens the original, the file or the page itself.
**g**, **p** and **w** rate the answer as good, partly good or wrong; press again to remove the rating.
What you type on at once is a question, and rates nothing.
**l** corrects what was looked up.
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
        self.has_citations = False  # it has some, or will have once it is drawn

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
        self.has_citations = bool(MARK.search(text))
        self._doubtful_sentences = [claim["text"] for claim in claims if claim["verdict"] != "supported"]
        self.call_later(self._finish, text)

    @property
    def citations(self) -> list[int]:
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
            marks = list(MARK.finditer(content.plain))
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

    def action_open(self, original: bool = False) -> None:
        """Open the current citation, by default the first, or its original."""
        if self._citations:
            number = self._citations[max(self._citation_index, 0)][3]
            self.post_message(self.Opened(number, original))

    def action_original(self) -> None:
        self.action_open(original=True)

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


_QUOTE_LENGTH = 400  # characters of up to three sentences
_QUESTION_LENGTH = 1200  # characters; the whole text is in the prompt's history


class Sources(UnderAnswer):
    HELP = """\
### The sources

Each passage that the answer cites: its number, its place, and the sentence that supports the answer
best. **Enter** opens it in its document, **o** opens the original, the file or the page itself. The keys of
the answer that rate, correct, copy and export it are the same here.
"""

    def action_original(self) -> None:
        if self.highlighted_option is not None:
            self.post_message(Answer.Opened(int(self.highlighted_option.id or 0), original=True))

    def show(self, fold: RunFold, items: Sequence[Evidence]) -> None:
        def row(item: Evidence, where: str) -> Option:
            draw = partial(_draw_source, item, where, _quote_or_excerpt(item, fold))
            return Option(Drawn(draw), id=str(item["number"]))

        self.put(map(row, items, words.places(items)))


def _draw_source(item: Evidence, where: str, quote: str, width: int) -> Content:
    lead = f"[{item['number']}] "
    excerpt = hanging(" " * len(lead), f"“{one_line(quote, _QUOTE_LENGTH)}”", width)
    return Content("\n").join([hanging(lead, where, width), excerpt.stylize("$foreground 65%")])


_MAX_DOUBTS = 6


class AskedBox(Vertical):
    """One question: a list of its options, or an input line if it has none."""

    HELP = """\
### The run asks

**↑ ↓** or a number go to a choice, **Enter** takes it; where nothing is listed, type a line. Any other text
goes into the prompt. **Esc** goes back to the prompt; pressed again, it cancels the run, which can be
resumed.
"""
    DEFAULT_CSS = """
    AskedBox { height: auto; border: round $accent; padding: 0 1; margin: 0 0 0 2; }
    AskedBox OptionList { height: auto; max-height: 8; background: transparent; padding: 0; }
    AskedBox Input { height: 1; padding: 0; }
    AskedBox OptionList, AskedBox Input { &, &:focus { border: none; } }
    """

    @dataclass
    class Replied(Message):
        """What the user chose or typed, and the kind of question."""

        about: str
        reply: str

    @dataclass
    class Typed(Message):
        """The user typed this instead of choosing."""

        text: str

    @dataclass
    class Posed(Message):
        """The question is on the screen and can be answered."""

        box: AskedBox

    def __init__(self, event: ev.Asked) -> None:
        super().__init__()
        self.event = event
        self.border_subtitle = "a number or ↑ ↓, then Enter" if event.options else ""
        self.choices = {str(number): word for number, word in enumerate(event.options, 1)}
        self._digits = ""  # typed one after the other: numbers of choices, or the beginning of a text

    def compose(self) -> ComposeResult:
        event = self.event
        yield Static(Content(f"? {one_line(event.question)}").stylize("bold"), classes="asks")
        doubtful = words.doubts(event.claims)
        for line in doubtful[:_MAX_DOUBTS]:
            yield DrawnText(Drawn(partial(hanging, "  ✗ ", line)))
        if len(doubtful) > _MAX_DOUBTS:
            yield Static(Content(f"  … and {len(doubtful) - _MAX_DOUBTS} more"))
        if event.options:
            options = (Option(self._label(*choice), id=choice[1]) for choice in self.choices.items())
            yield OptionList(*options, markup=False)
        else:
            yield Input(placeholder="Type your answer; Enter alone: your best guess")

    def on_mount(self) -> None:
        # Only now: the widget that takes the focus has to be composed first.
        self.call_after_refresh(self.post_message, self.Posed(self))

    def take_focus(self) -> None:
        """Focus the input or the choices; the cursor starts on the suggested choice, else on none."""
        if not self.event.options:
            self.query_one(Input).focus(scroll_visible=False)
            return
        choices, suggested = self.query_one(OptionList), self.event.suggested
        choices.focus(scroll_visible=False)
        # Without a suggestion, an Enter that was meant for another widget chooses nothing.
        choices.highlighted = (
            self.event.options.index(suggested) if suggested in self.event.options else None
        )

    def reply_with(self, text: str) -> None:
        """Reply to the run, also for who chose elsewhere."""
        self.post_message(self.Replied(self.event.about, text))

    def on_key(self, event: events.Key) -> None:
        """Go to the choice of a number, but leave it to Enter: it may begin a text for the prompt."""
        character = event.character or ""
        if not (self.event.options and character and event.is_printable):
            return
        event.stop()
        if character in self.choices:
            self._digits += character
            choice = self.event.options.index(self.choices[character])
            self.query_one(OptionList).highlighted = choice
        else:
            self.post_message(self.Typed(self._digits + character))
            self._digits = ""

    def _label(self, number: str, word: str) -> Content:
        share = self.event.probabilities.get(word)
        confidence = f"  {share:.0%}" if share is not None else ""
        suggested = "  ← suggested" if word == self.event.suggested else ""
        return Content(f"{number} {words.CHOICES.get(word, word)}{confidence}{suggested}")

    @on(OptionList.OptionSelected)
    def _reply_with_option(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.reply_with(event.option.id or "")

    @on(Input.Submitted)
    def _reply_with_text(self, event: Input.Submitted) -> None:
        event.stop()
        self.reply_with(" ".join(event.value.split()))


class Exchange(Vertical):
    """One turn: the question, the progress, the answer, its sources, and notes on it."""

    DEFAULT_CSS = """
    Exchange { height: auto; margin: 0 1 1 1; }
    Exchange .question {
        color: $foreground 65%; margin: 0 0 1 0; padding: 0 0 0 1; border-left: outer $foreground 35%;
    }
    Exchange .look { color: $foreground 80%; padding: 0 0 0 2; }
    Exchange .state { color: $foreground 75%; padding: 0 0 0 2; }
    Exchange .failed { color: $error; padding: 0 0 0 2; }
    Exchange .warned, Exchange .withheld { color: $warning; padding: 0 0 0 2; }
    Exchange .warned, Exchange .withheld { margin: 1 0 0 0; }
    Exchange .hidden { display: none; }
    """

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
        self.box: AskedBox | None = None  # what the run asks the user now

    def compose(self) -> ComposeResult:
        """All widgets exist from the start; the empty ones are hidden."""
        yield Static(self._asked(), classes="question")
        yield Static(classes="look hidden", markup=False)
        yield Answer()
        yield DrawnText(classes="warned hidden")
        yield Static(classes="withheld hidden", markup=False)
        yield Sources()
        yield Static(classes="failed hidden", markup=False)
        yield Static(classes="state", markup=False)
        yield WaysOn()

    def _asked(self) -> Content:
        """The question as it was typed, how it was read if in other words, and its filters."""
        question = clean(self.question).strip()
        shortened = (
            f"{question[:_QUESTION_LENGTH].rstrip()} …" if len(question) > _QUESTION_LENGTH else question
        )
        lines, fold = [shortened], self.fold
        lines += words.read_as(fold.routed) if fold and fold.routed else []
        lines += [f"only {filters}" for filters in words.filtered(fold.started)] if fold else []
        return Content("\n").join(map(Content, lines))

    def on_mount(self) -> None:
        self.call_later(self.post_message, self.Ready(self))

    def show(self, fold: RunFold, changed: frozenset[Part] = EVERYTHING) -> None:
        self.fold = fold
        if "question" in changed:
            self.query_one(".question", Static).update(self._asked())
        if changed & {"status", "meters", "answer", "question"}:
            self.query_one(".state", Static).update(self._state(fold))
            self._fill(".failed", [f"✗ {fold.failure}"] if fold.failure else [])
            self._show_notes(fold)
        if "text" in changed and fold.answered is None:
            self.query_one(Answer).write(fold.text)
        if "answer" in changed or "text" in changed:
            self._show_answer(fold)
        if changed & {"answer", "text", "status"}:
            self._show_look(fold)
        if changed & {"reply", "status"}:
            self._show_question(fold)

    @property
    def answer(self) -> str:
        return self.fold.answer if self.fold else ""

    @property
    def with_sources(self) -> str:
        """The answer, followed by each source with its place and a quote."""
        fold = self.fold
        if fold is None or fold.answered is None:
            return ""
        items = fold.answered.sources
        lines = [
            f"[{item['number']}] {where}: “{_quote_or_excerpt(item, fold)}”"
            for item, where in zip(items, words.places(items), strict=True)
        ]
        return "\n\n".join(filter(None, (self.answer, "\n".join(lines))))

    @property
    def has_citations(self) -> bool:
        return self.query_one(Answer).has_citations

    def go_to_citations(self) -> None:
        """Focus the question of the run, else the first citation of the answer, else what to do next."""
        if self.box is not None:
            if self.box.is_mounted:
                self.box.take_focus()
                self.screen.scroll_to_widget(self.box, animate=False)
            return
        if self.has_offers and not self.has_citations:
            self.screen.set_focus(self.query_one(WaysOn))
            return
        answer = self.query_one(Answer)
        self.screen.set_focus(answer)
        answer.call_later(answer.action_citation, 1)  # after what is still to be drawn

    @property
    def has_offers(self) -> bool:
        return self.query_one(WaysOn).option_count > 0

    def unask(self) -> None:
        box, self.box = self.box, None
        if box is None:
            return
        if box.has_focus_within:
            self.screen.set_focus(None)  # else Textual focuses some widget nearby
            self.post_message(self.Unasked())
        box.remove()

    def _show_answer(self, fold: RunFold) -> None:
        answered = fold.answered
        sources = self.query_one(Sources)
        if answered is None or fold.status in {"cancelled", "interrupted", "failed"}:
            sources.add_class("hidden")
            return
        if fold.node in {"synthesise", "answer_directly"} and fold.text:
            self.query_one(Answer).write(fold.text)  # the answer is being rewritten
            return
        self.query_one(Answer).finish(answered.answer, answered.sentences)
        sources.show(fold, answered.sources)
        searched = fold.started.collections if fold.started else []
        is_everywhere = {*self.screen.query_one(Meters).collections} <= {WEB_COLLECTION, *searched}
        self.query_one(WaysOn).show(fold, [] if is_everywhere else searched)

    def _show_look(self, fold: RunFold) -> None:
        lines: list[str] = []
        if fold.looked is not None and not (fold.text or fold.over or fold.answered):
            block = words.block_of(fold.looked)
            lines = [block.text, *block.items]
        self._fill(".look", lines)

    def _fill(self, selector: str, lines: Sequence[str]) -> None:
        """Show lines in one of the texts; hide it if there are none."""
        text = self.query_one(selector, Static)
        text.update(Content("\n".join(lines)))
        text.set_class(not lines, "hidden")

    def _show_notes(self, fold: RunFold) -> None:
        """Show the doubtful sentences of the answer, and what the run has warned of, as one list.

        While the run asks about these sentences, they stand beside its choices.
        """
        asks_about_them = fold.unanswered is not None and bool(fold.unanswered.claims)
        doubts = words.doubts(fold.answered.sentences) if fold.answered and not asks_about_them else []
        notes = dict.fromkeys([*doubts, *(one_line(event.message) for event in fold.every(ev.Warned))])
        shown = self.query_one(".warned", DrawnText)
        shown.update(Drawn(lambda width: Content("\n").join(hanging("! ", note, width) for note in notes)))
        shown.set_class(not notes, "hidden")

    def _show_question(self, fold: RunFold) -> None:
        if self.box is not None and self.box.event is fold.unanswered:
            return
        self.unask()
        if fold.unanswered is not None:
            self.box = AskedBox(fold.unanswered)
            self.mount(self.box)

    def _state(self, fold: RunFold) -> Content:
        finished = fold.finished
        if finished is None:
            return Content(_describe_progress(fold))
        parts, style = _describe_ending(fold, finished)
        key = deepthink(self).key_of("ask.panel")
        rated = [f"rated {fold.rating}"] if fold.rating else []
        thinking = [f"{key} shows or hides the thinking"] if key and fold.plan else []
        resumed = []
        if finished.status in words.RESUMABLE and (shown := deepthink(self).key_of("ask.unfinished")):
            resumed = [f"{shown}, then {deepthink(self).key_for('runs.resume')}, resumes it"]
        return Content(" · ".join([*parts, *rated, *resumed, *thinking])).stylize(style, 0, len(parts[0]))

    @on(WaysOn.Revealed)
    def _reveal_withheld(self) -> None:
        if self.fold is not None:
            self._fill(".withheld", words.withheld(self.fold))
            shown = self.query_one(".withheld")
            self.call_after_refresh(shown.scroll_visible, top=True, animate=False)

    @on(Answer.Opened)
    def _citation_opened(self, event: Answer.Opened) -> None:
        event.stop()
        self._open(event.number, original=event.original)

    @on(OptionList.OptionSelected, "Sources")
    def _source_opened(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self._open(int(event.option.id or 0))

    def _open(self, number: int, *, original: bool = False) -> None:
        sources = self.fold.answered.sources if self.fold and self.fold.answered else []
        item = next((item for item in sources if item["number"] == number), None)
        if self.fold is None or item is None:
            self.notify(f"[{number}] is no source of this answer.", severity="warning")
        elif original:
            open_original(self, item["passage_id"])
        else:
            open_kept(self, item, number, self.fold.quote(item))


def _quote_or_excerpt(item: Evidence, fold: RunFold) -> str:
    return unmarked(one_line(fold.quote(item) or item["excerpt"]))


def _describe_progress(fold: RunFold) -> str:
    if fold.failure:  # it has its own line
        return ""
    if fold.cancelling:
        return f"… being cancelled · {duration(fold.elapsed)}"
    if fold.unanswered is not None:
        return "? waiting for you"
    pause = "paused after: " if fold.paused else "pausing after this step: " if fold.pausing else ""
    return f"… {pause}{words.doing(fold) or 'starting'} · {duration(fold.elapsed)}"


def _beside_answer(fold: RunFold) -> str:
    """How the run ended, without what the answer says already."""
    match fold.shown_status:
        case "not_found" if fold.started is not None:
            return f"searched {one_line(', '.join(fold.started.collections), _SCOPE_LENGTH)}"
        case "stopped" | "withheld" as word:
            return word
    return words.ending(fold)


def _describe_ending(fold: RunFold, finished: ev.RunFinished) -> tuple[list[str], str]:
    """How the run ended, how much is supported, how long it took; and the style of the first part."""
    sign, style = {
        "answered": ("✓", "$success"),
        "answered_with_doubts": ("!", "$warning"),
        "not_found": ("–", "$warning"),
        "stopped": ("–", "$warning"),
    }.get(fold.shown_status, ("✗", "$error"))
    parts = [f"{sign} {_beside_answer(fold)}"]
    if finished.status == "answered" and fold.answered and fold.answered.sentences:
        parts.append(words.support_count(fold.answered.sentences))
    if any(
        (r.about, r.reply, r.by) == ("approve", "accept", "person") for r in fold.every(ev.Replied)[-1:]
    ):
        parts.append("you accepted it as it is")
    parts.append(duration(finished.seconds))
    if all(decision.source in {"human", "budget"} for decision in fold.decisions[-1:]):
        parts += filter(None, [words.reason(finished)])
    return parts, style
