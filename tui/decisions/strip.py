"""The decisions of a run, one row each: action, probabilities, who decided, what others say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from textual import on
from textual.content import Content
from textual.message import Message

from agent import events as ev
from agent.state import ACTIONS, PLAN_ACTIONS
from traces.decisions import Label, Labels, Origin
from traces.runs import Runs
from tui.app.keys import bindings
from tui.app.lists import QUIET, Line, MarkedList
from tui.app.reach import deepthink
from tui.app.work import in_background
from tui.run.fold import RunFold
from tui.terminal import duration

SIGNS: Final[Mapping[str, str]] = {
    "CONTINUE": "→",
    "REVISE": "↻",
    "FINISH": "■",
    "MORE": "+",
    "WORDS": "≈",
    "ASK": "»",
}
ORIGINS: Final[Mapping[str, str]] = {
    "override": "you stepped in",
    "teach": "asked in teach mode",
    "said": "added later",
}
"""How a label came to be, in words."""

NOT_POSSIBLE: Final = "–"
_INDENT: Final = " " * 4


@dataclass(frozen=True, slots=True)
class Row:
    decided: ev.Decided | ev.Asked  # the question where the run waits for the decision
    label: Label | None = None  # the person's

    @property
    def valid(self) -> Sequence[str]:
        if isinstance(self.decided, ev.Asked):
            return self.decided.options
        return self.decided.valid or PLAN_ACTIONS

    @property
    def taken(self) -> str:
        """The action that was taken, or is suggested."""
        return self.decided.suggested if isinstance(self.decided, ev.Asked) else self.decided.action


def listed(valid: Sequence[str]) -> list[str]:
    """The actions to show: the plan's, and tries that are possible."""
    return [one for one in ACTIONS if one in PLAN_ACTIONS or one in valid]


def action(name: str) -> Content:
    return Content.styled(f"{SIGNS.get(name, '?')} {name}", "bold")


def source(name: str) -> str:
    return {"human": "you", "budget": "the budget"}.get(name, name)


def percent(share: float) -> str:
    """A share as four characters: never 100 where it is not all, never 0 where it is something."""
    whole = round(share * 100)
    if whole == 100 and share < 1:
        whole = 99
    return " <1%" if whole == 0 and share > 0 else f"{whole:>3}%"


def took(milliseconds: float) -> str:
    """How long a decision took; "" for an instant one."""
    if milliseconds >= 1000:
        return duration(milliseconds / 1000)
    return f"{milliseconds:.{0 if milliseconds >= 10 else 1}f} ms" if milliseconds >= 0.1 else ""


def drawn(row: Row, width: int) -> Content:
    """A row of the strip, in lines of at most ``width`` cells: further tries and a label are in a third."""
    decided, taken = row.decided, row.taken
    if isinstance(decided, ev.Asked):
        first = Content.assemble(("? ", "bold $accent"), "your turn, suggested: ", action(taken))
    else:
        first = Content.assemble(f"{decided.step:>2}  ", action(taken), f"  {source(decided.source)}")
        if decided.shadow:
            first = Content.assemble(first, (f"  {opinion(decided.shadow, taken)}", QUIET))
    shares = [
        Content(f"{name.lower()} {percent(decided.probabilities.get(name, 0.0))}")
        if name in row.valid
        else Content.styled(f"{name.lower()} {NOT_POSSIBLE:>4}", QUIET)
        for name in listed(row.valid)
    ]
    if row.label:
        shares.append(Content.styled(judgement(row.label, taken), "bold $accent"))
    plan, others = shares[: len(PLAN_ACTIONS)], shares[len(PLAN_ACTIONS) :]
    lines = [first, *(Content(_INDENT) + Content(" ").join(parts) for parts in (plan, others) if parts)]
    return Content("\n").join(line.truncate(width, ellipsis=True) for line in lines)


def taken_by(decided: ev.Decided) -> str:
    return " in ".join(filter(None, (f"by {source(decided.source)}", took(decided.latency_ms))))


def opinion(shadow: Mapping[str, Any], taken: str) -> str:
    """Whether a second source agrees, by a sign and in words."""
    would = str(shadow.get("action", ""))
    by = source(str(shadow.get("source", "")))
    return f"= {by} too" if would == taken else f"≠ {by}: {would}"


def judgement(label: Label, taken: str) -> str:
    """What a person says of a decision."""
    return "✎ you: right" if label.action == taken else f"✎ you: {label.action}"


_NOTHING = "No decision yet: after each step the run continues, revises its plan or finishes."


class DecisionStrip(MarkedList):
    """Every decision of a run; the row under the cursor can be labelled, or answered if it waits."""

    DEFAULT_CSS = """
    DecisionStrip { height: 1fr; scrollbar-gutter: stable; }
    DecisionStrip > .option-list--option-disabled { color: $foreground 65%; }
    """
    NARROWEST = 20
    BINDINGS = bindings("strip")
    HELP = """
### Decisions

After each step the run decides: → CONTINUE with the plan, ↻ REVISE what is left of it, or ■ FINISH and
answer. Where a step found nothing it may also + read MORE passages, ≈ search in other WORDS, or » ASK the
model. A row tells which it was, how probable whoever decided held each (– was not possible), and whether a
second source, the *shadow*, would have done the same (=) or not (≠). ✎ marks what you say that it should
have been. Where the run waits for you (teach mode), the last row asks, and the same keys answer it.
"""

    @dataclass
    class Answered(Message):
        """The person takes the decision that the run waits for: `agent.steering.Steering.reply`."""

        action: str

    class Labelled(Message):
        """What people said of the decisions is another now."""

    def __init__(self) -> None:
        super().__init__()
        self._decided: Sequence[ev.Decided] = ()
        self._asked: ev.Asked | None = None
        self._labels: Mapping[int, Label] = {}
        self._stored = 0  # decisions in the store; those after them have the labels of their events
        self._run_id = ""

    def on_mount(self) -> None:
        self._show_rows()

    def show_run(self, fold: RunFold) -> None:
        """Show a run as far as it has come; the cursor follows unless it was moved to an earlier row."""
        if fold.run_id != self._run_id:
            self._run_id, self._labels, self._stored = fold.run_id, {}, 0
            self.highlighted = None
            if self._run_id:
                self.read_labels()
        self._decided = tuple(fold.decisions)
        self._asked = fold.unanswered if fold.unanswered and fold.unanswered.about == "decide" else None
        self._show_rows()

    def read_labels(self, change: Callable[[Labels], None] = lambda _labels: None) -> None:
        """Read what people said of the decisions in a worker, after a ``change`` to it, and show it."""
        store, run_id = deepthink(self).engine.store, self._run_id

        def work() -> tuple[dict[int, Label], int]:
            with store.connect():
                labels = Labels(store)
                change(labels)
                stored = sum(not row.shadow for row in Runs(store).decisions(run_id))
                return labels.of_run(run_id), stored

        def show(read: tuple[dict[int, Label], int]) -> None:
            if run_id == self._run_id:
                if read[0] != self._labels:
                    self.post_message(self.Labelled())
                self._labels, self._stored = read
                self._show_rows()

        in_background(self, work, show, group="labels")

    @property
    def current(self) -> Row | None:
        rows = self._rows()
        at = self.highlighted
        return rows[at] if at is not None and at < len(rows) else None

    def action_say(self, action: str) -> None:
        """The decision under the cursor should have been ``action``; or is, where the run waits for it."""
        here = self.current
        if here is None or self.highlighted is None:
            return
        if isinstance(here.decided, ev.Asked):
            self.post_message(self.Answered(action))
        else:
            run_id, seq = self._run_id, self.highlighted
            self.read_labels(lambda labels: labels.put(run_id, seq, action))
            self.notify(f"Labelled {action}.")

    def action_unsay(self) -> None:
        if (seq := self.highlighted) is not None:
            run_id = self._run_id
            self.read_labels(lambda labels: labels.drop(run_id, seq))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """An action can be said that was possible there, and a label taken back where there is one."""
        here = self.current
        if action == "say":
            return here is not None and parameters[0] in here.valid
        return action != "unsay" or bool(here and here.label)

    @on(MarkedList.OptionHighlighted)
    def _offer_keys(self) -> None:
        self.refresh_bindings()

    def _rows(self) -> list[Row]:
        rows = [Row(decided, self._label_of(seq, decided)) for seq, decided in enumerate(self._decided)]
        return [*rows, Row(self._asked)] if self._asked else rows

    def _label_of(self, seq: int, decided: ev.Decided) -> Label | None:
        if seq < self._stored or seq in self._labels or not decided.label:
            return self._labels.get(seq)
        origin: Origin = "teach" if decided.label == "teach" else "override"
        return Label(seq, decided.action, origin)

    def _show_rows(self) -> None:
        lines = [Line(str(number), partial(drawn, row)) for number, row in enumerate(self._rows())]
        if self.highlighted == self.option_count - 1:  # the cursor was on the newest
            self.highlighted = None
        nothing = Line("", lambda _width: Content(_NOTHING))
        self.show(lines or [nothing], lines[-1].id if lines else "")
