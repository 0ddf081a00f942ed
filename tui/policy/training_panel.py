"""Choosing a training by its method and data, and the panel that shows it until its verdict."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from textual import on
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList, Static

from agent.plans import FEWEST
from policy.serving.card import figure
from policy.serving.folder import Gate
from policy.training import progress
from tui.app.failure import failure_text
from tui.app.lists import QUIET, Line, MarkedList, Sheet, facts, gauge, titled
from tui.app.reach import deepthink
from tui.app.work import Failed, Job
from tui.terminal import counted, duration, one_line, padded

if TYPE_CHECKING:
    from policy.serving.folder import Method
    from policy.training.course import TrainingRequest
    from policy.training.planner import PlannerRequest
    from tui.policy.actions import Overview

    Chosen: TypeAlias = Method | Literal["planner"]
    Request: TypeAlias = TrainingRequest | PlannerRequest

_NAME, _SUMMARY, _COST = 9, 42, 18  # cells
_OWN = "own"

_METHODS: Final[dict[Chosen, tuple[str, str, str]]] = {
    "forest": (
        "a forest on the numbers of a state",
        "a few minutes",
        "To begin with: quick, needs no base model; a few decisions of yours correct the built-in one.",
    ),
    "reward": (
        "MiniLM reads the state, learns by pairs",
        "half an hour",
        "Reads text and numbers, learned from pairs of a better and a worse action. Needs thousands of "
        "decisions and the model all-minilm-l6-v2; no better than the forest on other questions.",
    ),
    "planner": (
        "the planner, from plans you corrected",
        "a few minutes",
        "Teaches the planner what to look up, not who decides. Correct plans on an answer or a run.",
    ),
}
"""Each method in plain words: what it is, how long it takes on two cores, and details."""


def learned_from(request: Request) -> str:
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
        self._state: Overview | None = None  # until it is read

    def compose(self) -> ComposeResult:
        yield Static("Method", classes="title")
        yield MethodList(id="methods")
        yield Static("Learn from", classes="title")
        yield SourceList(id="sources")
        yield Static(id="means")

    def on_mount(self) -> None:
        lines = [Line(name, partial(_method_line, name)) for name in _METHODS]
        self.query_one(MethodList).show(lines, "forest")

    def show(self, state: Overview) -> None:
        """Draw the sources to learn from: the user's own decisions, and collected stores."""
        self._state = state
        lines = [Line(_OWN, partial(self._own_line, state))]
        lines += [Line(str(path), partial(_source_line, path.stem, "collected")) for path in state.stores]
        self.query_one(SourceList).show(lines)
        self._explain()

    def _own_line(self, state: Overview, width: int) -> Content:
        from policy.decisions import usable

        amount = counted(usable(state.counts), "decision")
        if self.query_one(MethodList).chosen == "planner":
            needed = f" of {FEWEST}" if state.plans < FEWEST else ""
            amount = f"{state.plans}{needed} plans"
        return _source_line("your own runs", amount, width)

    @property
    def request(self) -> Request:
        from policy.training.course import TrainingRequest
        from policy.training.planner import PlannerRequest

        chosen, source = self.query_one(MethodList).chosen, self.query_one(SourceList).chosen
        method = next(name for name in _METHODS if name == chosen)
        if method == "planner":
            return PlannerRequest()
        stores = self._state.stores if self._state is not None else ()
        return TrainingRequest(method, tuple(path for path in stores if str(path) == source))

    def take_focus(self) -> None:
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
        if self._state is None:
            return
        request = self.request
        lines = [
            Content.assemble((request.method, "bold"), ": ", (_METHODS[request.method][2], QUIET)),
            Content.assemble(
                (deepthink(self).key_for("policy.train"), "bold $accent"),
                f" trains {request.method} on {one_line(learned_from(request), 60)}.",
                (" The new one is used only if it passes the gate, a test on held-out questions.", QUIET),
            ),
        ]
        if not self._state.stores:
            hint = "“deepthink collect” gathers decisions from questions with known answers."
            lines.append(Content.styled(hint, QUIET))
        self.query_one(SourceList).redraw(_OWN)
        self.query_one("#means", Static).update(Content("\n").join(lines))


class MethodList(MarkedList):
    HELP = """\
### What is trained

**Enter** goes to the data. The times are for two cores and 7,000 decisions.
"""


class SourceList(MarkedList):
    HELP = """\
### What it learns from

Your own runs whose outcome is known, or questions that `deepthink collect` worked through to the end.
**Enter** starts the training.
"""


def _method_line(name: Chosen, width: int) -> Content:
    summary, cost, _ = _METHODS[name]
    room = min(width - _NAME - _COST, _SUMMARY)
    return Content.assemble(
        (name.ljust(_NAME), "bold"),
        one_line(summary, room - 1).ljust(room),
        (f"{cost:>{_COST}}", QUIET),
    )


def _source_line(name: str, amount: str, width: int) -> Content:
    room = min(width - _COST, _NAME + _SUMMARY)
    return Content.assemble(padded(name, room), (f"{amount:>{_COST}}", QUIET))


# --- the panel -----------------------------------------------------------------------------------

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

    began: progress.Began = field(default_factory=lambda: progress.Began("", ""))
    sheet: Mapping[str, str] = field(default_factory=dict)
    trained: progress.Trained | None = None
    held_out: progress.HeldOut | None = None
    warnings: list[str] = field(default_factory=list)
    verdict: Gate | None = None
    finished: progress.Finished | None = None

    def take(self, event: progress.TrainingEvent) -> None:
        match event:
            case progress.Began():
                self.began = event
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


_BAR = 30
_UNCHANGED = Content("The active policy has not changed.").stylize(QUIET)
NOTHING_KEPT: Final = "Nothing of it is kept: a forest is trained from the beginning."
_REDRAW = 0.25  # seconds between two drawings
_SILENT = 10.0  # seconds of a phase after which its duration is shown, so that it does not look like a hang


class TrainingPanel(Sheet):
    """Shows a training; a finished one stays until it is cleared."""

    HELP = """\
### A training

The loss falls as it learns; what counts is the quality of the answers to held-out questions less the cost
of the steps, which must rise above the default schedule's. At the end the gate applies a rule that was
fixed in advance. You can go to any other screen meanwhile. Leaving the app stops the training; starting the
same one again resumes it, but a forest starts anew.
"""
    DEFAULT_CSS = "TrainingPanel { height: 1fr; padding: 0 1; }"

    @dataclass
    class Changed(Message):
        """The training began, is being stopped, or ended."""

        ended: bool = False

    def __init__(self) -> None:
        super().__init__()
        self.job: Job[progress.TrainingEvent] | None = None  # the current or the last training
        self._request: Request | None = None
        self.running = False
        self.fold = TrainingFold()
        self.failure: Failed | None = None  # what it raised
        self.learned_decides = False  # whether a learned policy decides now
        self._since = 0.0  # when the phase began

    def on_mount(self) -> None:
        self.set_interval(_REDRAW, self._catch_up)

    def begin(self, request: Request) -> None:
        """Start a training; a stopped one of the same request is resumed, if it has checkpoints."""
        from policy.training import course, planner

        def train(cancel: threading.Event) -> None:
            if isinstance(request, planner.PlannerRequest):
                planner.train(request, job.put, cancel)
            else:
                course.train(request, job.put, cancel)

        job = self.job = Job[progress.TrainingEvent](train)
        self.fold, self.failure, self._request = TrainingFold(), None, request
        self.running, self._since = True, time.monotonic()
        self.scroll_home(animate=False)
        self.redraw()
        self.job.start(self)
        self.post_message(self.Changed())

    def stop(self) -> None:
        """Stop after the current step."""
        if self.job is not None:
            self.job.cancel.set()
        self.redraw()
        self.post_message(self.Changed())

    def put_away(self) -> None:
        if not self.running:
            self.job = None

    @property
    def stopping(self) -> bool:
        return self.job is not None and self.job.cancel.is_set()

    @property
    def resumes(self) -> bool:
        """Whether the training, once stopped, continues from where it was; a forest does not."""
        return self._request is not None and self._request.resumes

    def on_unmount(self) -> None:
        if self.job is not None and self.running:
            self.job.leave()

    def _catch_up(self) -> None:
        if self.running:
            self._take_events()
            self.redraw()

    @on(Job.Ended)
    def _end_job(self, message: Job.Ended) -> None:
        self._take_events()
        self.running = False
        self.failure = message.failure
        self.redraw()
        self.scroll_home(animate=False)
        self.post_message(self.Changed(ended=True))
        if message.failure is not None and message.failure.error.kind != "cancelled":
            self.post_message(message.failure)  # the app shows it too

    def _take_events(self) -> None:
        for event in self.job.drain() if self.job is not None else ():
            self.fold.take(event)
            if isinstance(event, progress.Began):
                self._since = time.monotonic()

    # --- drawing ---------------------------------------------------------------------------------

    def lines(self, width: int) -> list[Content]:
        if self.job is None or self._request is None:
            return []
        lines = [*self._state(self._request, width - 1), Content("")]
        if not self.running and (outcome := self._outcome(width - 1)):
            lines += [*outcome, Content("")]
        if sheet := self.fold.sheet:
            lines += titled("What is learned from", facts(tuple(sheet.items()), width - 1))
        return lines

    def _state(self, request: Request, width: int) -> list[Content]:
        """What is trained, the phases, the progress of the current one, and the latest measures."""
        fold, step = self.fold, self.fold.trained
        doing = "Stopping" if self.stopping else "Training"
        title = f"{doing} {request.method}" if self.running else request.method
        lines = [
            Content.assemble(
                (title, "bold $primary"), f"  on {one_line(learned_from(request), width - 30)}"
            ),
            self._phases(),
        ]
        if self.running and fold.began.phase == "train" and step is not None:
            time_left = ""
            if math.isfinite(step.seconds_left) and step.step < step.steps:
                time_left = f", about {duration(step.seconds_left)} left"
            words = f" step {step.step:,} of {step.steps:,}{time_left}"
            lines.append(gauge(step.step / step.steps, _BAR) + words)
        elif self.running:
            elapsed = time.monotonic() - self._since
            so_far = f"  {duration(elapsed)} so far" if elapsed >= _SILENT else ""
            lines.append(Content.assemble(one_line(fold.began.message) or "Preparing …", (so_far, QUIET)))
        if self.running and self.stopping:
            lines.append(Content.styled("It ends after the step under way.", QUIET))
        lines += [Content.styled(f"! {one_line(warning)}", "$warning") for warning in fold.warnings]
        if step is not None:
            lines.append(Content.assemble(("Loss", "bold"), f"  {step.loss:.3f} at step {step.step:,}"))
        if fold.held_out is not None:
            learned = f"  learned {fold.held_out.utility:.3f}"
            default = (f"  default {fold.held_out.default:.3f}", QUIET)
            lines.append(Content.assemble(("On held-out questions", "bold"), learned, default))
        return lines

    def _phases(self) -> Content:
        sign = "▸" if self.running else "■" if self.stopping else "✗"
        names = list(_PHASES)
        current = names.index(self.fold.began.phase) if self.fold.began.phase in names else -1
        if self.fold.finished is not None:
            current = len(names)
        pieces = []
        for number, name in enumerate(_PHASES.values()):
            if number < current:
                pieces.append(Content.assemble(("✓ ", "$success"), name))
            elif number == current:
                pieces.append(Content.styled(f"{sign} {name}", "bold $accent"))
            else:
                pieces.append(Content.styled(f"· {name}", QUIET))
        return Content("  ").join(pieces)

    def _outcome(self, width: int) -> list[Content]:
        """The result of a finished training; empty if there is none."""

        def key_of(name: str) -> str:
            return deepthink(self).key_for(f"policy.{name}")

        error = self.failure.error if self.failure else None
        if error is not None and error.kind == "cancelled":
            kept = (
                "What it saved is kept: the same method on the same decisions continues from there, "
                f"now ({key_of('train')}) or another day."
                if self.resumes
                else NOTHING_KEPT
            )
            return [Content.styled(f"■ {error.message}", "bold"), Content(kept), _UNCHANGED]
        if error is not None:
            return [failure_text(self, error), _UNCHANGED]
        verdict, finished = self.fold.verdict, self.fold.finished
        if verdict is None or finished is None:
            return []
        sign = ("✓ The gate passed it.", "bold $success")
        if not verdict.passed:
            sign = ("✗ The gate did not pass it.", "bold $error")
        about = [
            Content.styled(*sign),
            Content(verdict.reason),
            *facts([(name, figure(value)) for name, value in verdict.measures.items()], width),
            Content(""),
        ]
        headline = Content.styled(one_line(f"· {finished.name} is not active"), "bold")
        if finished.name == "planner":
            active, inactive = "● It plans from the next question on", "· The planner has not changed"
            back = "“deepthink train-planner --drop” goes back to the built-in one."
            force = "“deepthink train-planner --force” uses it all the same."
            headline = Content.styled(active if finished.active else inactive, "bold")
            return [*about, headline, Content(back if finished.active else force)]
        policies = deepthink(self).key_for("learn.previous")
        next_step = (
            f"It is kept: among the policies ({policies}), {key_of('use')} uses it all the same; "
            "that is recorded."
        )
        if finished.active:
            headline = Content.styled(one_line(f"● {finished.name} is active now"), "bold $primary")
            effect = "Set decider to learned to have it decide"
            if self.learned_decides:
                effect = "It decides from the next question on"
            next_step = f"{effect}; {key_of('rollback')} goes back to the policy before."
        return [*about, headline, Content(next_step)]
