"""What is to be trained, and from what: two lists, and what the choice costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from textual import on
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList, Static

from tui.app.lists import Line, MarkedList
from tui.policy.training_panel import Wish
from tui.terminal import one_line, padded, size

if TYPE_CHECKING:
    from policy.serving.manifest import Method

_QUIET = "$foreground 65%"
_NAME, _WHAT, _COST = 9, 42, 18  # cells
OWN = "own"


@dataclass(frozen=True, slots=True)
class Way:
    """A method in plain words: what it is, what it costs on two cores, and more of it."""

    what: str
    cost: str
    more: str


WAYS: Final[dict[Method, Way]] = {
    "forest": Way(
        "a forest on the numbers of a state",
        "a few minutes",
        "Quick, needs no base model, and is the floor that nothing may fall below.",
    ),
    "reward": Way(
        "MiniLM reads the state, learns by pairs",
        "half an hour",
        "The usual one: reads text and numbers, learned from pairs of a better and a worse action. "
        "Needs the embedder’s weights.",
    ),
}


@dataclass(frozen=True, slots=True)
class Source:
    """A collected store."""

    path: Path
    bytes: int


class TrainingChoice(VerticalScroll, can_focus=False):
    """Methods above, sources beneath, and what the choice means."""

    DEFAULT_CSS = """
    TrainingChoice { height: 1fr; scrollbar-gutter: stable; }
    TrainingChoice Static { height: auto; padding: 0 1; }
    TrainingChoice #methods { margin-bottom: 1; }
    TrainingChoice #sources { max-height: 5; margin-bottom: 1; }
    """

    class Wanted(Message):
        """The training is to begin."""

    def __init__(self) -> None:
        super().__init__()
        self._sources: Sequence[Source] = ()
        self._until = Content("")
        self._key = ""

    def compose(self) -> ComposeResult:
        yield Static("Method", classes="title")
        yield MethodList(id="methods")
        yield Static("Learn from", classes="title")
        yield SourceList(id="sources")
        yield Static(id="means")
        yield Static(id="until")

    def on_mount(self) -> None:
        from policy.training.request import DEFAULT

        lines = [Line(name, partial(_method, name)) for name in WAYS]
        self.query_one(MethodList).show(lines, DEFAULT)

    def show(self, sources: Sequence[Source], decisions: int, until: Content, key: str) -> None:
        """Draw what there is to learn from.

        Args:
            sources: Collected stores.
            decisions: Of the person's own runs, those that can be learned from.
            until: How many are missing.
            key: That begins a training.
        """
        self._sources, self._until, self._key = sources, until, key
        lines = [Line(OWN, partial(_source, "your own runs", f"{decisions:,} decisions"))]
        lines += [Line(str(one.path), partial(_source, one.path.stem, size(one.bytes))) for one in sources]
        self.query_one(SourceList).show(lines)
        self._explain()

    @property
    def wish(self) -> Wish:
        """What is chosen."""
        method, source = self.query_one(MethodList).chosen, self.query_one(SourceList).chosen
        paths = tuple(one.path for one in self._sources if source == str(one.path))
        text = ", ".join(path.stem for path in paths) or "your own runs"
        return Wish(next(name for name in WAYS if name == method), paths, text)

    def take_focus(self) -> None:
        """The keys go to the methods."""
        self.query_one(MethodList).focus()

    @on(OptionList.OptionHighlighted)
    def _moved(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        self._explain()

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        if isinstance(event.option_list, MethodList):
            self.query_one(SourceList).focus()
        else:
            self.post_message(self.Wanted())

    def _explain(self) -> None:
        if not self.query_one(MethodList).chosen or not self.query_one(SourceList).chosen:
            return
        wish = self.wish
        more = [
            Content.assemble((wish.method, "bold"), ": ", (WAYS[wish.method].more, _QUIET)),
            Content.assemble(
                (self._key, "bold $accent"),
                f" trains {wish.method} on {one_line(wish.learned_from, 60)}.",
                (" Only what the gate passes becomes active.", _QUIET),
            ),
        ]
        if not self._sources:
            more.append(
                Content.styled(
                    "“deepthink collect” gathers decisions from questions with known answers.", _QUIET
                )
            )
        self.query_one("#means", Static).update(Content("\n").join(more))
        until = self.query_one("#until", Static)
        until.update(Content.assemble("\n", self._until))
        until.display = not wish.sources  # it is about a person's own


class MethodList(MarkedList):
    """The methods."""

    HELP = """\
### What is trained

**Enter** goes to what it is learned from. The times are those of two cores and 7,000 decisions.
"""


class SourceList(MarkedList):
    """What there is to learn from."""

    HELP = """\
### What it learns from

Your own runs, as far as their outcome is known, or questions that `deepthink collect` worked through to the
end. **Enter** begins.
"""


def _method(name: Method, width: int) -> Content:
    way = WAYS[name]
    room = min(width - _NAME - _COST, _WHAT)
    return Content.assemble(
        (name.ljust(_NAME), "bold"),
        one_line(way.what, room - 1).ljust(room),
        (f"{way.cost:>{_COST}}", _QUIET),
    )


def _source(name: str, much: str, width: int) -> Content:
    room = min(width - _COST, _NAME + _WHAT)
    return Content.assemble(padded(name, room), (f"{much:>{_COST}}", _QUIET))
