"""The decisions of a run, one row each, and what the person who looks at them has to say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from textual import events, on
from textual.binding import BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from agent import events as ev
from traces.labels import Label, Origin
from tui.app.actions import bindings
from tui.app.fold import EVERYTHING, Part, RunFold
from tui.app.widgets.decision_lines import Form, Row, row

_SHOWN: frozenset[Part] = frozenset(("question", "decisions", "asked"))
_INLINE = 72  # cells from which three bars stand side by side
_COMPACT = 46
_NOTHING = "No decision yet: after each step the run goes on, revises its plan or finishes."


class DecisionStrip(OptionList):
    """Every decision of a run; the row under the cursor can be labelled, or answered if it waits.

    Args:
        compact: Two lines a decision, however wide it is; it is compact anyway where it is narrow.
        nothing: What stands there while there is no decision.
    """

    DEFAULT_CSS = """
    DecisionStrip {
        height: 1fr; border: none; padding: 0; background: $background; scrollbar-gutter: stable;
    }
    DecisionStrip:focus { border: none; background-tint: $foreground 0%; }
    DecisionStrip > .option-list--option { padding: 0 1; }
    DecisionStrip > .option-list--option-disabled { color: $foreground 65%; }
    DecisionStrip > .option-list--option-highlighted,
    DecisionStrip:focus > .option-list--option-highlighted {
        color: $foreground; background: $panel; text-style: none;
    }
    DecisionStrip:blur > .option-list--option-highlighted { background: $surface; }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings("strip")
    HELP = """
### Decisions

After each step the run decides: → CONTINUE with the plan, ↻ REVISE what is left of it, or ■ FINISH and
answer. A row tells which it was, how probable whoever decided held each of the three (– was not possible),
and whether a second source, the *shadow*, would have done the same (=) or not (≠).

- **↑ ↓** go from decision to decision.
- **1 2 3** (or c r f) say what it should have been: CONTINUE, REVISE, FINISH. ✎ marks what you said.
- **Backspace** takes that back.

Where the run waits for you (teach mode), the last row asks, and **1 2 3** answer it.
"""

    class Labelled(Message):
        """The person says what decision ``seq`` should have been."""

        def __init__(self, seq: int, action: str) -> None:
            super().__init__()
            self.seq = seq
            self.action = action

    class Unlabelled(Message):
        """The person takes back what they said of decision ``seq``."""

        def __init__(self, seq: int) -> None:
            super().__init__()
            self.seq = seq

    class Answered(Message):
        """The person takes the decision that the run waits for: `agent.steering.Steering.reply`."""

        def __init__(self, action: str) -> None:
            super().__init__()
            self.action = action

    class Moved(Message):
        """The cursor is on another decision; ``row`` is None where there is none."""

        def __init__(self, row: Row | None) -> None:
            super().__init__()
            self.row = row

    def __init__(self, *, compact: bool = False, nothing: str = _NOTHING, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id, markup=False)
        self._only_compact = compact
        self._nothing = nothing
        self._decided: Sequence[ev.Decided] = ()
        self._asked: ev.Asked | None = None
        self._labels: Mapping[int, Label] = {}
        self._stored = 0
        self._run_id = ""

    def show(self, fold: RunFold, changed: frozenset[Part] = EVERYTHING) -> None:
        """Show a run as far as it has come; the cursor follows unless it was moved to an earlier row."""
        if not changed & _SHOWN:
            return
        if fold.run_id != self._run_id:
            self._run_id, self._labels, self._stored = fold.run_id, {}, 0
            self.highlighted = None
        self._decided = tuple(fold.outcome.decisions)
        self._asked = fold.asked if fold.asked and fold.asked.about == "decide" else None
        self._draw()

    def show_labels(self, labels: Mapping[int, Label], stored: int | None = None) -> None:
        """Show what people said of the decisions.

        Args:
            labels: By the decision's order within the run, from 0.
            stored: Decisions that the store holds: those after them have the labels that their events
                tell. All that are shown if not given.
        """
        self._labels = dict(labels)
        self._stored = len(self._decided) if stored is None else stored
        self._draw()

    @property
    def current(self) -> Row | None:
        """The row under the cursor."""
        rows = self._rows()
        at = self.highlighted
        return rows[at] if at is not None and at < len(rows) else None

    def action_say(self, action: str) -> None:
        """The decision under the cursor should have been ``action``; or is, where the run waits for it."""
        here = self.current
        if here is None or self.highlighted is None:
            return
        if action not in here.valid:
            possible = " or ".join(here.valid)
            self.notify(f"{action} was not possible there, only {possible}.", severity="warning")
        elif isinstance(here.decided, ev.Asked):
            self.post_message(self.Answered(action))
        else:
            self.post_message(self.Labelled(self.highlighted, action))

    def action_unsay(self) -> None:
        """Take back what was said of the decision under the cursor."""
        here = self.current
        if here is None or here.label is None or self.highlighted is None:
            self.notify("You have said nothing of this decision.")
        else:
            self.post_message(self.Unlabelled(self.highlighted))

    def on_mount(self) -> None:
        """Say what will be here."""
        self._draw()

    def on_resize(self, _event: events.Resize) -> None:
        """Lines are as long as there is room."""
        self._draw()

    @on(OptionList.OptionHighlighted)
    def _moved(self, message: OptionList.OptionHighlighted) -> None:
        message.stop()
        self._mark()
        self.post_message(self.Moved(self.current))

    def _rows(self) -> list[Row]:
        rows = [Row(decided, self._label_of(seq, decided)) for seq, decided in enumerate(self._decided)]
        return [*rows, Row(self._asked)] if self._asked else rows

    def _label_of(self, seq: int, decided: ev.Decided) -> Label | None:
        if seq < self._stored or seq in self._labels or not decided.label:
            return self._labels.get(seq)
        origin: Origin = "teach" if decided.label == "teach" else "override"
        return Label(seq, decided.action, origin)

    def _draw(self) -> None:
        if not self.is_mounted:
            return
        rows = self._rows()
        at, last = self.highlighted, self.option_count - 1
        if at is None or at >= last:  # it was on the newest, or there was none
            at = len(rows) - 1
        self.set_options([Option(self._line(told, place == at)) for place, told in enumerate(rows)])
        if not rows:
            self.add_option(Option(self._nothing, disabled=True))
            self.post_message(self.Moved(None))
        else:
            self.highlighted = at

    def _mark(self) -> None:
        for place, told in enumerate(self._rows()[: self.option_count]):
            self.replace_option_prompt_at_index(place, self._line(told, place == self.highlighted))

    def _line(self, told: Row, marked: bool) -> Content:
        width = max(20, self.scrollable_content_region.width - 2)
        return row(told, self._form(width), width, marked=marked)

    def _form(self, width: int) -> Form:
        if self._only_compact or width < _COMPACT:
            return "compact"
        return "inline" if width >= _INLINE else "stacked"
