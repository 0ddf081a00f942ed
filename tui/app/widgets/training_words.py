"""How a training reads: where it is, and what came of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from textual.content import Content

from tui.app.actions import ACTIONS
from tui.app.training_fold import PHASES, TrainingFold
from tui.app.ways_out import in_the_app
from tui.app.widgets.fact_lines import facts
from tui.app.widgets.policy_rows import figure
from tui.terminal import clean, duration, one_line

if TYPE_CHECKING:
    from traces.errors import DeepthinkError
    from tui.app.app import DeepthinkApp
    from tui.app.training_job import Wish

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


@dataclass(frozen=True, slots=True)
class Keys:
    """How a person calls what can be done about a training.

    Attributes:
        train: Chooses the next one.
        use: Promotes a policy.
        rollback: Goes back.
        policies: Shows the policies.
        decider: Has another source decide.
        decides: Whether `learned` decides now.
        remapped: As `tui.app.actions.keymap` gives them.
    """

    train: str
    use: str
    rollback: str
    policies: str
    decider: str
    decides: bool = False
    remapped: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, app: DeepthinkApp, *, decides: bool) -> Keys:
        """As they are mapped now."""
        called = {action.id.partition(".")[2]: app.key_for(action) for action in ACTIONS["policy"]}
        return cls(
            called["train"],
            called["use"],
            called["rollback"],
            called["policies"],
            called["decider"],
            decides=decides,
            remapped=app.keys,
        )


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
            lines.append(Content.assemble(one_line(fold.message) or "Getting ready …", (since, _QUIET)))
        if stopping:
            lines.append(Content.styled("It ends after the step under way.", _QUIET))
    lines += [
        Content.styled(("! " if not at else "  ") + line, "$warning")
        for warning in fold.warnings
        for at, line in enumerate(_folded(warning, width - 2))
    ]
    return lines


def doing(fold: TrainingFold) -> str:
    """What goes on, in a word: the phase; while it trains, how far it is."""
    return f"{fold.share:.0%}" if fold.phase == "train" else _CALLED.get(fold.phase, "…")


def outcome(fold: TrainingFold, error: DeepthinkError | None, keys: Keys, width: int) -> list[Content]:
    """What came of a training that is over; empty if nothing did."""
    if error is not None and error.kind == "cancelled":
        return [
            Content.styled(f"■ {one_line(error.message) or 'Stopped.'}", "bold"),
            *_plain(
                "What it has saved is kept: the same method on the same decisions goes on from there, "
                f"now ({keys.train}) or another day.",
                width,
            ),
            Content.styled(_AS_IT_WAS, _QUIET),
        ]
    if error is not None:
        return [
            *(Content.styled(x, "bold $error") for x in _folded(f"✗ {error.title}", width)),
            *_plain(error.message, width),
            *_plain(in_the_app(error, keys.remapped), width),
            Content.styled(_AS_IT_WAS, _QUIET),
        ]
    if fold.verdict is None or fold.finished is None:
        return []
    return [*_verdict(fold, width), Content(""), *_next(fold, keys, width)]


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


def _next(fold: TrainingFold, keys: Keys, width: int) -> list[Content]:
    finished = fold.finished
    assert finished is not None
    name = one_line(finished.name)
    if not finished.active:
        told = (
            f"It is kept: among the policies ({keys.policies}), {keys.use} uses it all the same; that is "
            "recorded."
        )
        return [Content.styled(f"· {name} is not active", "bold"), *_plain(told, width)]
    then = "It decides in runs to come" if keys.decides else f"{keys.decider} has it decide in runs to come"
    told = f"{then}; {keys.rollback} goes back to the policy before."
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
