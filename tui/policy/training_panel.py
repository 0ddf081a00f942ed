"""A training in a thread, and the panel that shows it: phases, progress, verdict, data sheet."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from textual import on
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Static

from policy.serving.card import figure
from policy.training import progress
from tui.app.failure import in_the_app
from tui.app.lists import facts, gauge, titled
from tui.app.offers import deepthink
from tui.app.work import Failed, Job
from tui.terminal import clean, duration, one_line

if TYPE_CHECKING:
    from policy.serving.manifest import Method
    from traces.errors import DeepthinkError


PHASES = ("data", "train", "calibrate", "evaluate", "gate", "write")
"""The phases, in order."""


class TrainingFold:
    """The state of a training, folded from its events.

    Attributes:
        phase: The current one of `PHASES`; "" before the first.
        message: Its message.
        sheet: Facts about the training data, by name.
        step: Optimiser steps done since the start or the last resumption.
        steps: Number of steps; 0 until it is known.
        seconds_left: Estimate; NaN if there is none.
        losses: Step and training loss; empty if the method has no loss.
        held_out: Measures on the held-out questions, in order.
        warnings: For the user.
        verdict: Of the gate, once it was asked.
        finished: The policy, once it is written.
    """

    def __init__(self) -> None:
        self.phase = ""
        self.message = ""
        self.sheet: Mapping[str, str] = {}
        self.step = 0
        self.steps = 0
        self.seconds_left = math.nan
        self.losses: list[tuple[int, float]] = []
        self.held_out: list[progress.HeldOut] = []
        self.warnings: list[str] = []
        self.verdict: progress.Verdict | None = None
        self.finished: progress.Finished | None = None

    @property
    def share(self) -> float:
        """The share of steps done; 0 while their number is unknown."""
        return self.step / self.steps if self.steps else 0.0

    def take(self, event: progress.TrainingEvent) -> None:
        """Add an event."""
        match event:
            case progress.Began(phase, message):
                self.phase, self.message = phase, message
            case progress.DataSheet(rows):
                self.sheet = rows
            case progress.Trained():
                self.step, self.steps, self.seconds_left = event.step, event.steps, event.seconds_left
                if math.isfinite(event.loss):
                    self.losses.append((event.step, event.loss))
            case progress.HeldOut():
                self.held_out.append(event)
            case progress.Warned(message):
                self.warnings.append(message)
            case progress.Verdict():
                self.verdict = event
            case progress.Finished():
                self.finished = event


@dataclass(frozen=True, slots=True)
class TrainingSpec:
    """A training that the user asks for.

    Attributes:
        method: As `policy.serving.manifest.Method`.
        sources: Collected stores; empty for the user's own runs.
        learned_from: The sources in a few words.
    """

    method: Method
    sources: tuple[Path, ...]
    learned_from: str

    def train(self, cancel: threading.Event) -> Iterator[progress.TrainingEvent]:
        """Train it; a stopped training of the same spec is resumed."""
        from policy.training.course import train
        from policy.training.request import TrainingRequest

        return train(TrainingRequest(method=self.method, sources=self.sources), cancel)


_QUIET = "$foreground 65%"
_BAR = 30
_UNCHANGED = "The active policy has not changed."
_PHASE_NAMES: Final[Mapping[str, str]] = {
    "data": "data",
    "train": "training",
    "calibrate": "calibration",
    "evaluate": "comparison",
    "gate": "gate",
    "write": "writing",
}


KeyOf = Callable[[str], str]
"""Names the key that an action of the policy screen is mapped to."""


def state(
    fold: TrainingFold, spec: TrainingSpec, *, running: bool, stopping: bool, elapsed: float, width: int
) -> list[Content]:
    """The method and its data, the phases, the progress of the current one, and the latest measures.

    Args:
        fold: The state of the training.
        spec: What is trained.
        running: Whether it is running.
        stopping: Whether it was asked to stop.
        elapsed: Seconds of the phase so far; NaN to leave them out.
        width: Of a line.
    """
    doing = "Stopping" if stopping else "Training"
    title = f"{doing} {spec.method}" if running else spec.method
    lines = [
        Content.assemble((title, "bold $primary"), f"  on {one_line(spec.learned_from, width - 30)}"),
        _phases(fold, "▸" if running else "■" if stopping else "✗"),
    ]
    if running:
        so_far = "" if math.isnan(elapsed) else f"  {duration(elapsed)} so far"
        if fold.phase == "train" and fold.steps:
            lines.append(_bar(fold))
        else:
            lines.append(Content.assemble(one_line(fold.message) or "Preparing …", (so_far, _QUIET)))
        if stopping:
            lines.append(Content.styled("It ends after the step under way.", _QUIET))
    lines += [
        Content.styled(("! " if not index else "  ") + line, "$warning")
        for warning in fold.warnings
        for index, line in enumerate(_wrap(warning, width - 2))
    ]
    if fold.losses:
        step, loss = fold.losses[-1]
        lines.append(Content.assemble(("Loss", "bold"), f"  {loss:.3f} at step {step:,}"))
    if fold.held_out:
        last = fold.held_out[-1]
        default = (f"  default {last.default:.3f}", _QUIET)
        lines.append(
            Content.assemble(("Held-out utility", "bold"), f"  learned {last.utility:.3f}", default)
        )
    return lines


def outcome(
    fold: TrainingFold,
    error: DeepthinkError | None,
    key_of: KeyOf,
    width: int,
    *,
    decides: bool,
    remapped: Mapping[str, str],
) -> list[Content]:
    """The result of a finished training; empty if there is none.

    Args:
        fold: The state of the training.
        error: The error it failed with, if it did.
        key_of: Names keys.
        width: Of a line.
        decides: Whether `learned` decides now.
        remapped: Remapped keys by action id.
    """
    if error is not None and error.kind == "cancelled":
        return [
            Content.styled(f"■ {one_line(error.message) or 'Stopped.'}", "bold"),
            *_text_lines(
                "What it saved is kept: the same method on the same decisions continues from there, "
                f"now ({key_of('train')}) or another day.",
                width,
            ),
            Content.styled(_UNCHANGED, _QUIET),
        ]
    if error is not None:
        return [
            *(Content.styled(line, "bold $error") for line in _wrap(f"✗ {error.title}", width)),
            *_text_lines(error.message, width),
            *_text_lines(in_the_app(error, remapped), width),
            Content.styled(_UNCHANGED, _QUIET),
        ]
    if fold.verdict is None or fold.finished is None:
        return []
    return [*_verdict(fold, width), Content(""), *_next_steps(fold, key_of, width, decides=decides)]


def _verdict(fold: TrainingFold, width: int) -> list[Content]:
    verdict = fold.verdict
    assert verdict is not None
    headline, style = (
        ("✓ The gate passed it.", "$success")
        if verdict.passed
        else ("✗ The gate did not pass it.", "$error")
    )
    rows = tuple((name, figure(value)) for name, value in verdict.measures.items())
    return [
        Content.styled(headline, f"bold {style}"),
        *_text_lines(verdict.reason, width),
        *facts(rows, width),
    ]


def _next_steps(fold: TrainingFold, key_of: KeyOf, width: int, *, decides: bool) -> list[Content]:
    finished = fold.finished
    assert finished is not None
    name = one_line(finished.name)
    if not finished.active:
        text = (
            f"It is kept: among the policies ({key_of('policies')}), {key_of('use')} uses it all the same; "
            "that is recorded."
        )
        return [Content.styled(f"· {name} is not active", "bold"), *_text_lines(text, width)]
    effect = (
        "It decides from the next question on" if decides else "Set decider to learned to have it decide"
    )
    text = f"{effect}; {key_of('rollback')} goes back to the policy before."
    return [Content.styled(f"● {name} is active now", "bold $primary"), *_text_lines(text, width)]


def _phases(fold: TrainingFold, sign: str) -> Content:
    """The phases with a sign each: done, to come, and ``sign`` for the current or last one."""
    current = PHASES.index(fold.phase) if fold.phase in PHASES else -1
    if fold.finished is not None:
        current = len(PHASES)
    pieces = []
    for number, phase in enumerate(PHASES):
        name = _PHASE_NAMES[phase]
        if number < current:
            pieces.append(Content.assemble(("✓ ", "$success"), name))
        elif number == current:
            pieces.append(Content.styled(f"{sign} {name}", "bold $accent"))
        else:
            pieces.append(Content.styled(f"· {name}", _QUIET))
    return Content("  ").join(pieces)


def _bar(fold: TrainingFold) -> Content:
    time_left = ""
    if math.isfinite(fold.seconds_left) and fold.step < fold.steps:
        time_left = f", about {duration(fold.seconds_left)} left"
    return gauge(fold.share, _BAR) + f" step {fold.step:,} of {fold.steps:,}{time_left}"


def _text_lines(text: str, width: int) -> list[Content]:
    return [Content(line) for line in _wrap(text, width)]


def _wrap(text: str, width: int) -> list[str]:
    from textwrap import wrap

    return [line for part in clean(text).splitlines() for line in wrap(part, width)]


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
        self._spec: TrainingSpec | None = None
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

    def begin(self, spec: TrainingSpec) -> None:
        """Start a training."""
        self.job, self.fold, self.failure = Job(spec.train), TrainingFold(), None
        self._spec = spec
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
            fold = self.fold
            return (
                f"▸ {f'{fold.share:.0%}' if fold.phase == 'train' else _PHASE_NAMES.get(fold.phase, '…')}"
            )
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
        if self.job is None or self._spec is None or not self.is_mounted:
            return
        fold, width = self.fold, max(self.scrollable_content_region.width - 1, 40)
        if (fold.phase, fold.message) != self._phase:
            self._phase, self._since = (fold.phase, fold.message), time.monotonic()
        elapsed = time.monotonic() - self._since
        self.query_one("#state", Static).update(
            Content("\n").join(
                state(
                    fold,
                    self._spec,
                    running=self.running,
                    stopping=self.stopping,
                    elapsed=elapsed if elapsed >= _SILENT else math.nan,
                    width=width,
                )
            )
        )
        app = deepthink(self)
        result = outcome(
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
