"""Choosing the method of a training and its data: two lists, and the cost of the choice."""

from __future__ import annotations

from collections.abc import Sequence
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
from tui.terminal import one_line, padded

if TYPE_CHECKING:
    from policy.serving.manifest import Method
    from policy.training.request import TrainingRequest

_QUIET = "$foreground 65%"
_NAME, _SUMMARY, _COST = 9, 42, 18  # cells
_OWN = "own"

_METHODS: Final[dict[Method, tuple[str, str, str]]] = {
    "forest": (
        "a forest on the numbers of a state",
        "a few minutes",
        "Quick, needs no base model, and is the floor that nothing may fall below.",
    ),
    "reward": (
        "MiniLM reads the state, learns by pairs",
        "half an hour",
        "The usual one: reads text and numbers, learned from pairs of a better and a worse action. "
        "Needs the embedder’s weights.",
    ),
}
"""Each method in plain words: what it is, how long it takes on two cores, and details."""


def learned_from(request: TrainingRequest) -> str:
    """The sources of a training in a few words."""
    return ", ".join(path.stem for path in request.sources) or "your own runs"


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
        self._stores: Sequence[Path] = ()
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

        lines = [Line(name, partial(_method_line, name)) for name in _METHODS]
        self.query_one(MethodList).show(lines, DEFAULT)

    def show(self, stores: Sequence[Path], decisions: int, shortfall: Content, key: str) -> None:
        """Draw the sources to learn from: the user's usable ``decisions``, and collected stores."""
        self._stores, self._shortfall, self._key = stores, shortfall, key
        lines = [Line(_OWN, partial(_source_line, "your own runs", f"{decisions:,} decisions"))]
        lines += [Line(str(path), partial(_source_line, path.stem, "collected")) for path in stores]
        self.query_one(SourceList).show(lines)
        self._explain()

    @property
    def request(self) -> TrainingRequest:
        """The training with the chosen method and sources."""
        from policy.training.request import TrainingRequest

        chosen, source = self.query_one(MethodList).chosen, self.query_one(SourceList).chosen
        method = next(name for name in _METHODS if name == chosen)
        return TrainingRequest(method, tuple(path for path in self._stores if str(path) == source))

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
        request = self.request
        lines = [
            Content.assemble((request.method, "bold"), ": ", (_METHODS[request.method][2], _QUIET)),
            Content.assemble(
                (self._key, "bold $accent"),
                f" trains {request.method} on {one_line(learned_from(request), 60)}.",
                (" Only what the gate passes becomes active.", _QUIET),
            ),
        ]
        if not self._stores:
            hint = "“deepthink collect” gathers decisions from questions with known answers."
            lines.append(Content.styled(hint, _QUIET))
        self.query_one("#means", Static).update(Content("\n").join(lines))
        shortfall = self.query_one("#until", Static)
        shortfall.update(Content.assemble("\n", self._shortfall))
        shortfall.display = not request.sources  # it is about the user's own runs


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
    summary, cost, _ = _METHODS[name]
    room = min(width - _NAME - _COST, _SUMMARY)
    return Content.assemble(
        (name.ljust(_NAME), "bold"),
        one_line(summary, room - 1).ljust(room),
        (f"{cost:>{_COST}}", _QUIET),
    )


def _source_line(name: str, amount: str, width: int) -> Content:
    room = min(width - _COST, _NAME + _SUMMARY)
    return Content.assemble(padded(name, room), (f"{amount:>{_COST}}", _QUIET))
