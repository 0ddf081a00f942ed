"""A training under way, or the last one: phases, bar, curves, verdict, data sheet."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Sparkline, Static

from policy.serving.card import figure
from tui.app.failure import in_the_app
from tui.app.keys import ACTIONS
from tui.app.lists import facts, titled
from tui.app.offers import deepthink
from tui.app.work import Failed
from tui.policy.job import PHASES, TrainingEnded, TrainingFold, TrainingJob, TrainingTold, Wish
from tui.terminal import clean, duration, one_line

if TYPE_CHECKING:
    from traces.errors import DeepthinkError

_QUIET = "$foreground 65%"
_BAR = 30
_AS_IT_WAS = "The active policy is the one it was."
_CALLED: Final[Mapping[str, str]] = {
    "data": "data",
    "train": "training",
    "calibrate": "calibration",
    "evaluate": "comparison",
    "gate": "gate",
    "write": "writing",
}


KeyOf = Callable[[str], str]
"""How a person calls the key of an action of the policy's, as it is mapped now."""


def standing(
    fold: TrainingFold, wish: Wish, *, running: bool, stopping: bool, lasted: float, width: int
) -> list[Content]:
    """What is trained, the phases, and how far the one under way is.

    Args:
        fold: What is known.
        wish: What is trained.
        running: Whether it goes on.
        stopping: Whether it was asked to stop.
        lasted: Seconds of the phase so far; NaN where that need not be told.
        width: Of a line.
    """
    state = "Stopping" if stopping else "Training"
    title = f"{state} {wish.method}" if running else wish.method
    lines = [
        Content.assemble((title, "bold $primary"), f"  on {one_line(wish.learned_from, width - 30)}"),
        _phases(fold, "▸" if running else "■" if stopping else "✗"),
    ]
    if running:
        since = "" if math.isnan(lasted) else f"  {duration(lasted)} so far"
        if fold.phase == "train" and fold.steps:
            lines.append(_bar(fold))
        else:
            lines.append(Content.assemble(one_line(fold.message) or "Preparing …", (since, _QUIET)))
        if stopping:
            lines.append(Content.styled("It ends after the step under way.", _QUIET))
    lines += [
        Content.styled(("! " if not at else "  ") + line, "$warning")
        for warning in fold.warnings
        for at, line in enumerate(_folded(warning, width - 2))
    ]
    return lines


def doing(fold: TrainingFold) -> str:
    """The phase in a word; the share that is done while it trains."""
    return f"{fold.share:.0%}" if fold.phase == "train" else _CALLED.get(fold.phase, "…")


def outcome(
    fold: TrainingFold,
    error: DeepthinkError | None,
    key_of: KeyOf,
    width: int,
    *,
    decides: bool,
    remapped: Mapping[str, str],
) -> list[Content]:
    """What came of a training that is over; empty if nothing did.

    Args:
        fold: What is known.
        error: What it failed with, if it did.
        key_of: Names keys.
        width: Of a line.
        decides: Whether `learned` decides now.
        remapped: Remapped keys by action id.
    """
    if error is not None and error.kind == "cancelled":
        return [
            Content.styled(f"■ {one_line(error.message) or 'Stopped.'}", "bold"),
            *_plain(
                "What it saved is kept: the same method on the same decisions continues from there, "
                f"now ({key_of('train')}) or another day.",
                width,
            ),
            Content.styled(_AS_IT_WAS, _QUIET),
        ]
    if error is not None:
        return [
            *(Content.styled(x, "bold $error") for x in _folded(f"✗ {error.title}", width)),
            *_plain(error.message, width),
            *_plain(in_the_app(error, remapped), width),
            Content.styled(_AS_IT_WAS, _QUIET),
        ]
    if fold.verdict is None or fold.finished is None:
        return []
    return [*_verdict(fold, width), Content(""), *_next(fold, key_of, width, decides=decides)]


def _verdict(fold: TrainingFold, width: int) -> list[Content]:
    verdict = fold.verdict
    assert verdict is not None
    words, style = (
        ("✓ The gate passed it.", "$success")
        if verdict.passed
        else ("✗ The gate did not pass it.", "$error")
    )
    rows = tuple((name, figure(value)) for name, value in verdict.measures.items())
    return [
        Content.styled(words, f"bold {style}"),
        *_plain(verdict.reason, width),
        *facts(rows, width),
    ]


def _next(fold: TrainingFold, key_of: KeyOf, width: int, *, decides: bool) -> list[Content]:
    finished = fold.finished
    assert finished is not None
    name = one_line(finished.name)
    if not finished.active:
        told = (
            f"It is kept: among the policies ({key_of('policies')}), {key_of('use')} uses it all the same; "
            "that is recorded."
        )
        return [Content.styled(f"· {name} is not active", "bold"), *_plain(told, width)]
    then = "It decides in runs to come" if decides else f"{key_of('decider')} has it decide in runs to come"
    told = f"{then}; {key_of('rollback')} goes back to the policy before."
    return [Content.styled(f"● {name} is active now", "bold $primary"), *_plain(told, width)]


def _phases(fold: TrainingFold, sign: str) -> Content:
    """Each with a sign: done, to come, and ``sign`` for the one that the training is in or ended in."""
    at = PHASES.index(fold.phase) if fold.phase in PHASES else -1
    if fold.finished is not None:
        at = len(PHASES)
    pieces = []
    for number, phase in enumerate(PHASES):
        called = _CALLED[phase]
        if number < at:
            pieces.append(Content.assemble(("✓ ", "$success"), called))
        elif number == at:
            pieces.append(Content.styled(f"{sign} {called}", "bold $accent"))
        else:
            pieces.append(Content.styled(f"· {called}", _QUIET))
    return Content("  ").join(pieces)


def _bar(fold: TrainingFold) -> Content:
    full = round(_BAR * fold.share)
    left = ""
    if math.isfinite(fold.seconds_left) and fold.step < fold.steps:
        left = f", about {duration(fold.seconds_left)} left"
    return Content.assemble(
        ("━" * full, "$primary"),
        ("┄" * (_BAR - full), "$foreground 40%"),
        f" step {fold.step:,} of {fold.steps:,}{left}",
    )


def _plain(text: str, width: int) -> list[Content]:
    return [Content(line) for line in _folded(text, width)]


def _folded(text: str, width: int) -> list[str]:
    from textwrap import wrap

    return [line for part in clean(text).splitlines() for line in wrap(part, width)]


class TrainingCurves(Vertical):
    """The loss and the held-out utility so far, each as soon as there is something of it."""

    DEFAULT_CSS = """
    TrainingCurves { height: auto; display: none; }
    TrainingCurves.-shown { display: block; }
    TrainingCurves Static { height: 1; text-wrap: nowrap; text-overflow: ellipsis; }
    TrainingCurves Sparkline { height: 2; }
    TrainingCurves Sparkline > .sparkline--min-color, TrainingCurves Sparkline > .sparkline--max-color {
        color: $primary;
    }
    """

    def compose(self) -> ComposeResult:
        for which in ("loss", "value"):
            yield Static(id=f"{which}-figure")
            yield Sparkline(summary_function=_mean, id=which)

    def show(self, fold: TrainingFold) -> None:
        """Draw what is known by now."""
        self.set_class(bool(fold.losses or fold.held_out), "-shown")
        if fold.losses:
            step, loss = fold.losses[-1]
            figure = Content.assemble(("Loss", "bold"), f"  {loss:.3f} at step {step:,}")
            self._draw("loss", figure, [loss for _, loss in fold.losses])
        if fold.held_out:
            last = fold.held_out[-1]
            figure = Content.assemble(
                ("Held-out utility", "bold"),
                f"  learned {last.utility:.3f}",
                (f"  default {last.default:.3f}", _QUIET),
            )
            self._draw("value", figure, [look.utility for look in fold.held_out])

    def _draw(self, which: str, figure: Content, values: list[float]) -> None:
        self.query_one(f"#{which}-figure", Static).update(figure)
        self.query_one(f"#{which}", Sparkline).data = values


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


_REDRAW = 0.25  # seconds between two pictures
_SILENT = 10.0  # seconds of a phase after which its length is told: silence looks like a hang


class TrainingPanel(VerticalScroll, can_focus=True):
    """Shows one training after the other; the last one stays until it is put away.

    Attributes:
        job: The training under way, or the last one; None while there was none.
        running: Whether it goes on.
        fold: What is known of it.
        failure: What it raised.
        learned_decides: Whether `learned` decides now.
    """

    HELP = """\
### A training

The loss falls as it learns; what counts is the curve below it, the utility on held-out questions, which has
to rise above the default schedule's. At the end the gate applies a rule that was stated before. You can go
to any other screen meanwhile; leaving the app stops it, and the same training goes on from where it was.
"""
    DEFAULT_CSS = """
    TrainingPanel { height: 1fr; padding: 0 1; scrollbar-gutter: stable; }
    TrainingPanel > Static { height: auto; margin-bottom: 1; }
    TrainingPanel TrainingCurves { margin-bottom: 1; }
    """

    @dataclass
    class Changed(Message):
        """The training began, progressed or ended."""

        ended: bool = False

    def __init__(self) -> None:
        super().__init__()
        self.job: TrainingJob | None = None
        self.running = False
        self.fold = TrainingFold()
        self.failure: Failed | None = None
        self.learned_decides = False
        self._phase, self._since = ("", ""), 0.0
        self._drawing: Timer | None = None

    def compose(self) -> ComposeResult:
        yield Static(id="standing")
        yield Static(id="outcome")
        yield TrainingCurves()
        yield Static(id="sheet")

    def on_mount(self) -> None:
        self.set_interval(1.0, self._tick)

    def begin(self, wish: Wish) -> None:
        """Start a training."""
        self.job, self.fold, self.failure = TrainingJob(wish), TrainingFold(), None
        self.running = True
        self._phase, self._since = ("", ""), time.monotonic()
        self.scroll_home(animate=False)
        self._draw()
        self.job.start(self)
        self.post_message(self.Changed())

    def stop(self) -> None:
        """Stop after the step under way."""
        if self.job is not None:
            self.job.cancel.set()
        self._draw()
        self.post_message(self.Changed())

    def put_away(self) -> None:
        """Forget the one that is over."""
        if not self.running:
            self.job = None

    @property
    def stopping(self) -> bool:
        """Whether it was asked to stop."""
        return self.job is not None and self.job.cancel.is_set()

    @property
    def sign(self) -> str:
        """How it goes, in a word; "" while there is none."""
        if self.job is None:
            return ""
        if self.running:
            return f"▸ {doing(self.fold)}"
        if self.failure is not None and self.failure.error.kind == "cancelled":
            return "■"
        return "✓" if self.fold.verdict is not None and self.fold.verdict.passed else "✗"

    def on_unmount(self) -> None:
        """The app ends; the same training can be resumed."""
        if self.job is not None and self.running:
            self.job.leave()

    def on_resize(self) -> None:
        self._draw()

    @on(TrainingTold)
    def _told(self, message: TrainingTold) -> None:
        message.stop()
        if self._drawing is None and message.job is self.job:
            self._drawing = self.set_timer(_REDRAW, self._catch_up)

    def _catch_up(self) -> None:
        self._drawing = None
        if self.job is not None:
            self.fold.take(self.job.drain())
            self._draw()
            self.post_message(self.Changed())

    @on(TrainingEnded)
    def _ended(self, message: TrainingEnded) -> None:
        message.stop()
        self.fold.take(message.job.drain())
        self.running = False
        self.failure = message.failure
        self._draw()
        self.scroll_home(animate=False)
        self.post_message(self.Changed(ended=True))
        if message.failure is not None and message.failure.error.kind != "cancelled":
            self.post_message(message.failure)  # the app tells it as well

    def _tick(self) -> None:
        if self.running and time.monotonic() - self._since >= _SILENT:
            self._draw()

    def _draw(self) -> None:
        if self.job is None or not self.is_mounted:
            return
        fold, width = self.fold, max(self.scrollable_content_region.width - 1, 40)
        if (fold.phase, fold.message) != self._phase:
            self._phase, self._since = (fold.phase, fold.message), time.monotonic()
        lasted = time.monotonic() - self._since
        self.query_one("#standing", Static).update(
            Content("\n").join(
                standing(
                    fold,
                    self.job.wish,
                    running=self.running,
                    stopping=self.stopping,
                    lasted=lasted if lasted >= _SILENT else math.nan,
                    width=width,
                )
            )
        )
        app = deepthink(self)
        called = {action.id: app.key_for(action) for action in ACTIONS["policy"]}
        came = outcome(
            fold,
            self.failure.error if self.failure else None,
            lambda name: called[f"policy.{name}"],
            width,
            decides=self.learned_decides,
            remapped=app.keys,
        )
        told = self.query_one("#outcome", Static)
        told.display = bool(came) and not self.running
        told.update(Content("\n").join(came))
        self.query_one(TrainingCurves).show(fold)
        sheet = self.query_one("#sheet", Static)
        sheet.display = bool(fold.sheet)
        rows = tuple(fold.sheet.items())
        sheet.update(Content("\n").join(titled("What is learned from", facts(rows, width))[:-1]))
