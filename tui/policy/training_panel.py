"""The panel that shows a training: phases, progress, verdict, data sheet."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from textual import on
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Static

from policy.serving.card import figure
from policy.serving.manifest import Gate
from policy.training import progress
from tui.app.failure import in_the_app
from tui.app.lists import facts, folded, gauge, titled
from tui.app.offers import deepthink
from tui.app.work import Failed, Job
from tui.policy.training_choice import learned_from
from tui.terminal import duration, one_line

if TYPE_CHECKING:
    from policy.training.request import TrainingRequest
    from traces.errors import DeepthinkError


_PHASES: Final[Mapping[str, str]] = {
    "data": "data",
    "train": "training",
    "calibrate": "calibration",
    "gate": "gate",
    "write": "writing",
}
"""The phases in order, each with its name."""


@dataclass
class TrainingFold:
    """The state of a training, folded from its events: the latest of each kind, and all warnings."""

    phase: str = ""
    message: str = ""
    sheet: Mapping[str, str] = field(default_factory=dict)
    trained: progress.Trained | None = None
    held_out: progress.HeldOut | None = None
    warnings: list[str] = field(default_factory=list)
    verdict: Gate | None = None
    finished: progress.Finished | None = None

    @property
    def share(self) -> float:
        """The share of steps done; 0 while their number is unknown."""
        return self.trained.step / self.trained.steps if self.trained else 0.0

    def take(self, event: progress.TrainingEvent) -> None:
        """Add an event."""
        match event:
            case progress.Began(phase, message):
                self.phase, self.message = phase, message
            case progress.DataSheet(rows):
                self.sheet = rows
            case progress.Trained():
                self.trained = event
            case progress.HeldOut():
                self.held_out = event
            case progress.Warned(message):
                self.warnings.append(message)
            case Gate():
                self.verdict = event
            case progress.Finished():
                self.finished = event


_QUIET = "$foreground 65%"
_BAR = 30
_UNCHANGED = Content.styled("The active policy has not changed.", _QUIET)


def _state(
    fold: TrainingFold,
    request: TrainingRequest,
    *,
    running: bool,
    stopping: bool,
    elapsed: float,
    width: int,
) -> list[Content]:
    """What is trained, the phases, the progress of the current one, and the latest measures.

    ``elapsed`` is seconds of the phase so far; NaN leaves them out.
    """
    doing = "Stopping" if stopping else "Training"
    title = f"{doing} {request.method}" if running else request.method
    lines = [
        Content.assemble((title, "bold $primary"), f"  on {one_line(learned_from(request), width - 30)}"),
        _phases(fold, "▸" if running else "■" if stopping else "✗"),
    ]
    step = fold.trained
    if running:
        if fold.phase == "train" and step is not None:
            time_left = ""
            if math.isfinite(step.seconds_left) and step.step < step.steps:
                time_left = f", about {duration(step.seconds_left)} left"
            lines.append(gauge(fold.share, _BAR) + f" step {step.step:,} of {step.steps:,}{time_left}")
        else:
            so_far = "" if math.isnan(elapsed) else f"  {duration(elapsed)} so far"
            lines.append(Content.assemble(one_line(fold.message) or "Preparing …", (so_far, _QUIET)))
        if stopping:
            lines.append(Content.styled("It ends after the step under way.", _QUIET))
    lines += [
        Content.styled(("  " if index else "! ") + line, "$warning")
        for warning in fold.warnings
        for index, line in enumerate(folded(warning, width - 2))
    ]
    if step is not None:
        lines.append(Content.assemble(("Loss", "bold"), f"  {step.loss:.3f} at step {step.step:,}"))
    if fold.held_out is not None:
        learned = f"  learned {fold.held_out.utility:.3f}"
        default = (f"  default {fold.held_out.default:.3f}", _QUIET)
        lines.append(Content.assemble(("Held-out utility", "bold"), learned, default))
    return lines


def _phases(fold: TrainingFold, sign: str) -> Content:
    """The phases with a sign each: done, to come, and ``sign`` for the current or last one."""
    names = list(_PHASES)
    current = names.index(fold.phase) if fold.phase in names else -1
    if fold.finished is not None:
        current = len(names)
    pieces = []
    for number, name in enumerate(_PHASES.values()):
        if number < current:
            pieces.append(Content.assemble(("✓ ", "$success"), name))
        elif number == current:
            pieces.append(Content.styled(f"{sign} {name}", "bold $accent"))
        else:
            pieces.append(Content.styled(f"· {name}", _QUIET))
    return Content("  ").join(pieces)


def _outcome(
    fold: TrainingFold,
    error: DeepthinkError | None,
    key_of: Callable[[str], str],
    width: int,
    *,
    decides: bool,
    remapped: Mapping[str, str],
) -> list[Content]:
    """The result of a finished training; empty if there is none. ``decides``: whether `learned` does."""

    def paragraph(text: str, style: str = "") -> list[Content]:
        return [Content.styled(line, style) for part in text.splitlines() for line in folded(part, width)]

    if error is not None and error.kind == "cancelled":
        kept = (
            "What it saved is kept: the same method on the same decisions continues from there, "
            f"now ({key_of('train')}) or another day."
        )
        return [*paragraph(f"■ {error.message}", "bold"), *paragraph(kept), _UNCHANGED]
    if error is not None:
        return [
            *paragraph(f"✗ {error.title}", "bold $error"),
            *paragraph(error.message),
            *paragraph(in_the_app(error, remapped)),
            _UNCHANGED,
        ]
    verdict, finished = fold.verdict, fold.finished
    if verdict is None or finished is None:
        return []
    sign, style = ("✓ The gate passed it.", "$success")
    if not verdict.passed:
        sign, style = ("✗ The gate did not pass it.", "$error")
    measures = [(name, figure(value)) for name, value in verdict.measures.items()]
    if finished.active:
        headline, style_of_name = f"● {finished.name} is active now", "bold $primary"
        effect = (
            "It decides from the next question on"
            if decides
            else "Set decider to learned to have it decide"
        )
        next_step = f"{effect}; {key_of('rollback')} goes back to the policy before."
    else:
        headline, style_of_name = f"· {finished.name} is not active", "bold"
        next_step = (
            f"It is kept: among the policies ({key_of('policies')}), {key_of('use')} uses it all the same; "
            "that is recorded."
        )
    return [
        Content.styled(sign, f"bold {style}"),
        *paragraph(verdict.reason),
        *facts(measures, width),
        Content(""),
        Content.styled(one_line(headline), style_of_name),
        *paragraph(next_step),
    ]


_REDRAW = 0.25  # seconds between two drawings
_SILENT = 10.0  # seconds of a phase after which its duration is shown, so that it does not look like a hang


class TrainingPanel(VerticalScroll, can_focus=True):
    """Shows a training; a finished one stays until it is cleared.

    Attributes:
        job: The current or last training; None if there is none.
        running: Whether it is running.
        fold: Its state.
        failure: The error it raised.
        learned_decides: Whether `learned` decides now.
    """

    HELP = """\
### A training

The loss falls as it learns; what counts is the utility on held-out questions, which must rise above the
default schedule's. At the end the gate applies a rule that was fixed in advance. You can go to any other
screen meanwhile; leaving the app stops the training, and starting the same one again resumes it.
"""
    DEFAULT_CSS = """
    TrainingPanel { height: 1fr; padding: 0 1; scrollbar-gutter: stable; }
    TrainingPanel > Static { height: auto; margin-bottom: 1; }
    """

    @dataclass
    class Changed(Message):
        """The training began, progressed or ended."""

        ended: bool = False

    def __init__(self) -> None:
        super().__init__()
        self.job: Job[progress.TrainingEvent] | None = None
        self._request: TrainingRequest | None = None
        self.running = False
        self.fold = TrainingFold()
        self.failure: Failed | None = None
        self.learned_decides = False
        self._phase, self._since = ("", ""), 0.0
        self._redraw_timer: Timer | None = None

    def compose(self) -> ComposeResult:
        yield Static(id="state")
        yield Static(id="outcome")
        yield Static(id="sheet")

    def on_mount(self) -> None:
        self.set_interval(1.0, self._tick)

    def begin(self, request: TrainingRequest) -> None:
        """Start a training; a stopped one of the same request is resumed."""
        from policy.training.course import train

        self.job = Job(lambda cancel: train(request, cancel))
        self.fold, self.failure, self._request = TrainingFold(), None, request
        self.running = True
        self._phase, self._since = ("", ""), time.monotonic()
        self.scroll_home(animate=False)
        self._draw()
        self.job.start(self)
        self.post_message(self.Changed())

    def stop(self) -> None:
        """Stop after the current step."""
        if self.job is not None:
            self.job.cancel.set()
        self._draw()
        self.post_message(self.Changed())

    def put_away(self) -> None:
        """Clear a finished training."""
        if not self.running:
            self.job = None

    @property
    def stopping(self) -> bool:
        """Whether the training was asked to stop."""
        return self.job is not None and self.job.cancel.is_set()

    @property
    def sign(self) -> str:
        """The progress or result in a word; "" if there is no training."""
        if self.job is None:
            return ""
        if self.running:
            phase = self.fold.phase
            return f"▸ {f'{self.fold.share:.0%}' if phase == 'train' else _PHASES.get(phase, '…')}"
        if self.failure is not None and self.failure.error.kind == "cancelled":
            return "■"
        return "✓" if self.fold.verdict is not None and self.fold.verdict.passed else "✗"

    def on_unmount(self) -> None:
        """Leave the training when the app ends; it can be resumed."""
        if self.job is not None and self.running:
            self.job.leave()

    def on_resize(self) -> None:
        self._draw()

    @on(Job.Progressed)
    def _schedule_drawing(self, message: Job.Progressed) -> None:
        message.stop()
        if self._redraw_timer is None and message.job is self.job:
            self._redraw_timer = self.set_timer(_REDRAW, self._catch_up)

    def _catch_up(self) -> None:
        self._redraw_timer = None
        if self.job is not None:
            self._take_events()
            self._draw()
            self.post_message(self.Changed())

    @on(Job.Ended)
    def _end_job(self, message: Job.Ended) -> None:
        message.stop()
        self._take_events()
        self.running = False
        self.failure = message.failure
        self._draw()
        self.scroll_home(animate=False)
        self.post_message(self.Changed(ended=True))
        if message.failure is not None and message.failure.error.kind != "cancelled":
            self.post_message(message.failure)  # the app shows it too

    def _take_events(self) -> None:
        for event in self.job.drain() if self.job is not None else ():
            self.fold.take(event)

    def _tick(self) -> None:
        if self.running and time.monotonic() - self._since >= _SILENT:
            self._draw()

    def _draw(self) -> None:
        if self.job is None or self._request is None or not self.is_mounted:
            return
        fold, width = self.fold, max(self.scrollable_content_region.width - 1, 40)
        if (fold.phase, fold.message) != self._phase:
            self._phase, self._since = (fold.phase, fold.message), time.monotonic()
        elapsed = time.monotonic() - self._since
        lines = _state(
            fold,
            self._request,
            running=self.running,
            stopping=self.stopping,
            elapsed=elapsed if elapsed >= _SILENT else math.nan,
            width=width,
        )
        self.query_one("#state", Static).update(Content("\n").join(lines))
        app = deepthink(self)
        result = _outcome(
            fold,
            self.failure.error if self.failure else None,
            lambda name: app.key_for(f"policy.{name}"),
            width,
            decides=self.learned_decides,
            remapped=app.keys,
        )
        outcome_view = self.query_one("#outcome", Static)
        outcome_view.display = bool(result) and not self.running
        outcome_view.update(Content("\n").join(result))
        sheet = self.query_one("#sheet", Static)
        sheet.display = bool(fold.sheet)
        rows = tuple(fold.sheet.items())
        sheet.update(Content("\n").join(titled("What is learned from", facts(rows, width))[:-1]))
