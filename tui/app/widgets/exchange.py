"""One question and its answer in the conversation, live, replayed or from earlier."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from agent import events as ev
from agent.state import Evidence
from tui.app.fold import EVERYTHING, Part, RunFold
from tui.app.widgets.answer import Answer
from tui.app.widgets.asked import AskedBox
from tui.app.widgets.evidence import Passage
from tui.app.widgets.hanging import HangingList, hanging
from tui.app.widgets.ways_on import WaysOn
from tui.blocks import doubt, first_look, place, supported
from tui.terminal import clean, duration, one_line, unmarked
from tui.transcript import DOING
from tui.wording import ENDINGS

if TYPE_CHECKING:
    from tui.app.app import DeepthinkApp

_QUOTE = 160
_QUESTION = 1200  # characters of a question; what was pasted whole is in the prompt's history


class Sources(HangingList):
    """The passages that the answer cites, with the sentence that supports it."""

    HELP = """\
### The sources

Each passage that the answer cites: its number, where it stands, and the sentence that supports the answer
best. **Enter** opens it in its document.
"""
    DEFAULT_CSS = """
    Sources { height: auto; border: none; background: transparent; padding: 1 0 1 2; }
    Sources:focus { border: none; }
    Sources > .option-list--option-highlighted { background: transparent; text-style: none; }
    Sources:focus > .option-list--option-highlighted { background: $panel; text-style: bold; }
    """

    def __init__(self) -> None:
        super().__init__(classes="hidden")
        self._answered: ev.Answered | None = None

    def show(self, answered: ev.Answered) -> None:
        """List what an answer cites."""
        self._answered = answered
        self.redraw()
        self.set_class(not answered.sources, "hidden")

    def draw(self) -> None:
        """Each source with its place and the sentence that supports the answer best."""
        if self._answered is None:
            return
        at = self.highlighted
        self.clear_options()
        for item in self._answered.sources:
            told = _source(item, self._answered, self.width)
            self.add_option(Option(told, id=str(item["number"])))
        self.highlighted = at if at is not None and at < self.option_count else None

    def on_focus(self) -> None:
        """Be at the first source."""
        if self.highlighted is None and self.option_count:
            self.highlighted = 0


class Exchange(Vertical):
    """A question, what is under way, the answer, its sources, what the run warns of.

    Args:
        question: In the person's words.
    """

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

    class PassageWanted(Message):
        """A cited passage is to be opened in its document."""

        def __init__(self, passage: Passage) -> None:
            super().__init__()
            self.passage = passage

    class Ready(Message):
        """A turn is composed: a run can be drawn in it."""

        def __init__(self, exchange: Exchange) -> None:
            super().__init__()
            self.exchange = exchange

    class Unasked(Message):
        """What was asked is gone, and who was at it is nowhere."""

    def __init__(self, question: str) -> None:
        super().__init__()
        self.question = question
        self.fold: RunFold | None = None
        self._box: AskedBox | None = None

    def compose(self) -> ComposeResult:
        """Everything is there from the start; what is empty is not displayed."""
        question = clean(self.question).strip()
        shown = f"{question[:_QUESTION].rstrip()} …" if len(question) > _QUESTION else question
        yield Static(Content(shown), classes="question")
        yield Static(classes="look hidden", markup=False)
        yield Answer()
        yield Static(classes="checks hidden", markup=False)
        yield Sources()
        yield Static(classes="failed hidden", markup=False)
        yield Static(classes="warned hidden", markup=False)
        yield Static(classes="state", markup=False)
        yield WaysOn()

    def on_mount(self) -> None:
        """What is known by now can be drawn."""
        self.call_later(self.post_message, self.Ready(self))

    def show(self, fold: RunFold, changed: frozenset[Part] = EVERYTHING) -> None:
        """Draw what changed."""
        self.fold = fold
        if changed & {"status", "meters", "answer", "question"}:
            self.query_one(".state", Static).update(self._state(fold))
            self._show_failure(fold)
            self._show_warnings(fold)
        if "text" in changed and fold.outcome.answered is None:
            self.query_one(Answer).write(fold.text)
        if "answer" in changed or "text" in changed:
            self._show_answer(fold)
        if changed & {"answer", "text", "status"}:
            self._show_look(fold)
        if changed & {"asked", "status"}:
            self._show_asked(fold)

    @property
    def answer(self) -> str:
        """The answer, once there is one; else ""."""
        answered = self.fold.outcome.answered if self.fold else None
        return clean(answered.answer).strip() if answered else ""

    @property
    def with_sources(self) -> str:
        """The answer, and beneath it each source with its place and its words."""
        answered = self.fold.outcome.answered if self.fold else None
        lines = [
            f"[{item['number']}] {place(item)}: “{_words(item, answered)}”"
            for item in (answered.sources if answered else ())
        ]
        return "\n\n".join(filter(None, (self.answer, "\n".join(lines))))

    @property
    def has_citations(self) -> bool:
        """Whether there is one to go to."""
        return self.query_one(Answer).has_citations

    def go_to_citations(self) -> None:
        """Be at what is asked, else at the first citation of the answer."""
        if self._box is not None:
            if self._box.is_mounted:
                self._box.take_focus()
            return
        answer = self.query_one(Answer)
        self.screen.set_focus(answer)
        answer.call_later(answer.action_citation, 1)  # behind what is still to be drawn of it

    def ask(self, box: AskedBox) -> None:
        """Put a question at the end, in place of one that stands there; whoever is at the end sees it."""
        self.unask()
        self._box = box
        self.mount(box)

    @property
    def question_box(self) -> AskedBox | None:
        """What is asked in this turn, if anything."""
        return self._box

    def unask(self) -> None:
        """Take the question away."""
        box, self._box = self._box, None
        if box is None:
            return
        if box.has_focus_within:
            self.screen.set_focus(None)  # else Textual gives it to whatever is near
            self.post_message(self.Unasked())
        box.remove()

    def _show_answer(self, fold: RunFold) -> None:
        answered = fold.outcome.answered
        sources = self.query_one(Sources)
        if answered is None or fold.outcome.status in {"cancelled", "interrupted", "failed"}:
            sources.add_class("hidden")
            return
        if fold.node in {"synthesise", "answer_directly"} and fold.text:
            self.query_one(Answer).write(fold.text)  # it is being written anew
            return
        self.query_one(Answer).finish(answered.answer, answered.sentences)
        doubts = [f"! {doubt(claim)}" for claim in answered.sentences if claim["verdict"] != "supported"]
        checks = self.query_one(".checks", Static)
        checks.update(Content("\n".join(doubts)))
        checks.set_class(not doubts, "hidden")
        sources.show(answered)
        if fold.over and hasattr(self.screen, "on_ways_on_taken"):  # not where a run is only replayed
            searched = fold.outcome.started.collections if fold.outcome.started else ()
            library: frozenset[str] = getattr(self.screen, "known", frozenset())
            self.query_one(WaysOn).show(fold, narrowed=not library <= set(searched))

    def _show_look(self, fold: RunFold) -> None:
        """What was found at once stands there until the answer does."""
        line, looked = self.query_one(".look", Static), fold.outcome.looked
        shown = looked is not None and not (fold.text or fold.over or fold.outcome.answered)
        line.set_class(not shown, "hidden")
        if looked is not None and shown:
            said = first_look(looked)
            line.update(Content("\n".join([said.text, *said.items])))

    def _show_failure(self, fold: RunFold) -> None:
        line = self.query_one(".failed", Static)
        line.update(Content(f"✗ {fold.failure}"))
        line.set_class(not fold.failure, "hidden")

    def _show_warnings(self, fold: RunFold) -> None:
        lines = [f"! {one_line(message)}" for message in dict.fromkeys(fold.outcome.warnings)]
        box = self.query_one(".warned", Static)
        box.update(Content("\n".join(lines)))
        box.set_class(not lines, "hidden")

    def _show_asked(self, fold: RunFold) -> None:
        if fold.asked is None:
            self.unask()
        elif self._box is None or self._box.asked is not fold.asked:
            self.ask(AskedBox(fold.asked))

    def _state(self, fold: RunFold) -> Content:
        finished = fold.outcome.finished
        if finished is None:
            return Content(_under_way(fold))
        told, style = _ended(fold, finished)
        key = cast("DeepthinkApp", self.app).key_of("ask.panel")
        thinking = [f"{key} shows the thinking"] if key and fold.outcome.plan else []
        return Content(" · ".join([*told, *thinking])).stylize(style, 0, len(told[0]))

    @on(WaysOn.Opened)
    def _nearest_opened(self, event: WaysOn.Opened) -> None:
        event.stop()
        self.post_message(self.PassageWanted(event.passage))

    @on(Answer.Opened)
    def _citation_opened(self, event: Answer.Opened) -> None:
        event.stop()
        self._open(event.number)

    @on(OptionList.OptionSelected, "Sources")
    def _source_opened(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self._open(int(event.option.id or 0))

    def _open(self, number: int) -> None:
        answered = self.fold.outcome.answered if self.fold else None
        for item in answered.sources if answered else ():
            if item["number"] == number:
                self.post_message(self.PassageWanted(passage_of(item, answered.quotes if answered else {})))
                return
        self.notify(f"No passage stands behind [{number}].", severity="warning")


def passage_of(item: Evidence, quotes: dict[str, str]) -> Passage:
    """What it takes to open a cited passage."""
    return Passage(
        item["passage_id"],
        item["number"],
        item["collection"],
        item["title"] or item["document"],
        item["section"],
        item["text"],
        quotes.get(str(item["number"]), ""),
    )


def _words(item: Evidence, answered: ev.Answered | None) -> str:
    """The sentence that supports the answer best; the whole excerpt where none does."""
    quote = answered.quotes.get(str(item["number"]), "") if answered else ""
    return unmarked(one_line(quote or item["excerpt"]))


def _source(item: Evidence, answered: ev.Answered, width: int) -> Content:
    lead = f"[{item['number']}] "
    where = Content(hanging(lead, place(item), width))
    quote = one_line(_words(item, answered), _QUOTE)
    said = Content(hanging(" " * len(lead), f"“{quote}”", width)).stylize("$foreground 65%")
    return Content("\n").join([where, said])


def _under_way(fold: RunFold) -> str:
    if fold.failure:  # which has a line of its own
        return ""
    if fold.asked is not None:
        return "? waiting for you"
    doing = DOING.get(fold.node, fold.node) or "beginning"
    step = f" · step {fold.step} of {max(len(fold.outcome.plan), fold.step)}" if fold.step else ""
    detail = f" · {one_line(fold.message, 60)}" if fold.message not in {"", fold.node} else ""
    paused = "paused after: " if fold.paused else ""
    return f"… {paused}{doing}{step}{detail} · {duration(fold.elapsed)}"


def _ended(fold: RunFold, finished: ev.RunFinished) -> tuple[list[str], str]:
    """How it ended, what of it is supported, how long it took; and the colour of the first of these."""
    outcome, status = fold.outcome, finished.status
    ended = ENDINGS.get(status, status)
    sign, style = {
        "answered": ("✓", "$success"),
        "not_found": ("–", "$warning"),
        "stopped": ("–", "$warning"),
    }.get(status, ("✗", "$error"))
    if status == "answered" and outcome.partial:
        sign, style, ended = "!", "$warning", "answered in part"
    told = [f"{sign} {ended}"]
    claims = outcome.answered.sentences if outcome.answered else ()
    if claims and status == "answered":
        told.append(supported(claims))
    told.append(duration(finished.seconds))
    because, last = finished.stopped_because, outcome.decisions[-1:]
    if because not in {"", status} and all(decision.source in {"human", "budget"} for decision in last):
        told.append(one_line(because))
    return told, style
