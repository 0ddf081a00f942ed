"""Choosing the method of a training and its data: two lists, and the cost of the choice."""

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
from tui.policy.training_panel import TrainingSpec
from tui.terminal import one_line, padded, size

if TYPE_CHECKING:
    from policy.serving.manifest import Method

_QUIET = "$foreground 65%"
_NAME, _SUMMARY, _COST = 9, 42, 18  # cells
OWN = "own"


@dataclass(frozen=True, slots=True)
class MethodText:
    """A method in plain words: what it is, how long it takes on two cores, and details."""

    summary: str
    cost: str
    detail: str


METHODS: Final[dict[Method, MethodText]] = {
    "forest": MethodText(
        "a forest on the numbers of a state",
        "a few minutes",
        "Quick, needs no base model, and is the floor that nothing may fall below.",
    ),
    "reward": MethodText(
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
    """Methods above, sources below, and an explanation of the choice."""

    DEFAULT_CSS = """
    TrainingChoice { height: 1fr; scrollbar-gutter: stable; }
    TrainingChoice Static { height: auto; padding: 0 1; }
    TrainingChoice #methods { margin-bottom: 1; }
    TrainingChoice #sources { max-height: 5; margin-bottom: 1; }
    """

    class Submitted(Message):
        """The user starts the training."""

    def __init__(self) -> None:
        super().__init__()
        self._sources: Sequence[Source] = ()
        self._shortfall = Content("")
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

        lines = [Line(name, partial(_method_line, name)) for name in METHODS]
        self.query_one(MethodList).show(lines, DEFAULT)

    def show(self, sources: Sequence[Source], decisions: int, shortfall: Content, key: str) -> None:
        """Draw the sources to learn from.

        Args:
            sources: Collected stores.
            decisions: Number of usable decisions in the user's own runs.
            shortfall: How many are missing.
            key: The key that starts a training.
        """
        self._sources, self._shortfall, self._key = sources, shortfall, key
        lines = [Line(OWN, partial(_source_line, "your own runs", f"{decisions:,} decisions"))]
        lines += [
            Line(str(source.path), partial(_source_line, source.path.stem, size(source.bytes)))
            for source in sources
        ]
        self.query_one(SourceList).show(lines)
        self._explain()

    @property
    def spec(self) -> TrainingSpec:
        """The chosen method and sources."""
        method, source = self.query_one(MethodList).chosen, self.query_one(SourceList).chosen
        paths = tuple(candidate.path for candidate in self._sources if source == str(candidate.path))
        text = ", ".join(path.stem for path in paths) or "your own runs"
        return TrainingSpec(next(name for name in METHODS if name == method), paths, text)

    def take_focus(self) -> None:
        """Focus the methods."""
        self.query_one(MethodList).focus()

    @on(OptionList.OptionHighlighted)
    def _explain_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        self._explain()

    @on(OptionList.OptionSelected)
    def _advance(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        if isinstance(event.option_list, MethodList):
            self.query_one(SourceList).focus()
        else:
            self.post_message(self.Submitted())

    def _explain(self) -> None:
        if not self.query_one(MethodList).chosen or not self.query_one(SourceList).chosen:
            return
        spec = self.spec
        lines = [
            Content.assemble((spec.method, "bold"), ": ", (METHODS[spec.method].detail, _QUIET)),
            Content.assemble(
                (self._key, "bold $accent"),
                f" trains {spec.method} on {one_line(spec.learned_from, 60)}.",
                (" Only what the gate passes becomes active.", _QUIET),
            ),
        ]
        if not self._sources:
            lines.append(
                Content.styled(
                    "“deepthink collect” gathers decisions from questions with known answers.", _QUIET
                )
            )
        self.query_one("#means", Static).update(Content("\n").join(lines))
        shortfall = self.query_one("#until", Static)
        shortfall.update(Content.assemble("\n", self._shortfall))
        shortfall.display = not spec.sources  # it is about the user's own runs


class MethodList(MarkedList):
    """The methods."""

    HELP = """\
### What is trained

**Enter** goes to the data. The times are for two cores and 7,000 decisions.
"""


class SourceList(MarkedList):
    """The sources to learn from."""

    HELP = """\
### What it learns from

Your own runs whose outcome is known, or questions that `deepthink collect` worked through to the end.
**Enter** starts the training.
"""


def _method_line(name: Method, width: int) -> Content:
    text = METHODS[name]
    room = min(width - _NAME - _COST, _SUMMARY)
    return Content.assemble(
        (name.ljust(_NAME), "bold"),
        one_line(text.summary, room - 1).ljust(room),
        (f"{text.cost:>{_COST}}", _QUIET),
    )


def _source_line(name: str, amount: str, width: int) -> Content:
    room = min(width - _COST, _NAME + _SUMMARY)
    return Content.assemble(padded(name, room), (f"{amount:>{_COST}}", _QUIET))
