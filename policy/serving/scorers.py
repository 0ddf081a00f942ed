"""A learned policy: its scores of states, the curve that calibrates them, the rule that picks an action."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Protocol

import numpy as np
from pydantic import Field

from agent.state import PLAN_ACTIONS, Action
from policy.decisions import INDEX, Floats, Seen, default_action


@dataclass(frozen=True, slots=True)
class Scores:
    """A policy's scores of n states."""

    advantages: Floats
    """Shape (n, actions), columns as `INDEX`: how much better each action is than the default, in quality
    (forest) or log-odds (reward). 0 for the default, minus infinity if not valid or not learned."""
    sufficiency: Floats  # shape (n,): calibrated probability that finishing now is good enough


class Scorer(Protocol):
    """A trained policy. It scores; `policy.serving.scorers.Rule` turns scores into an action."""

    def score(self, states: Sequence[Seen]) -> Scores:
        """Scores of ``states``, in their order. Thread-safe."""
        ...


@dataclass(frozen=True, slots=True)
class Rule:
    """The frozen part of a policy; its manifest holds it, and validates the values."""

    margin: Annotated[float, Field(allow_inf_nan=False)]
    """An action other than the default is taken if its advantage exceeds this."""
    temperature: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    """Of the displayed probabilities, the softmax of advantages divided by this."""

    def action(self, valid: Sequence[Action], advantages: Floats) -> Action:
        """The action for one state; ``advantages`` has shape (actions,)."""
        default = default_action(valid)
        best = max(valid, key=lambda action: float(advantages[INDEX[action]]))
        return best if advantages[INDEX[best]] > self.margin else default

    def probabilities(self, valid: Sequence[Action], advantages: Floats) -> dict[Action, float]:
        """Probability of each action being the right one; one that is not valid has 0, or is missing."""
        columns = [INDEX[action] for action in valid]
        margins = advantages[columns] - np.array(
            [self.margin if a != default_action(valid) else 0.0 for a in valid]
        )
        weights = np.exp((margins - margins.max()) / self.temperature)
        share = dict(zip(valid, (weights / weights.sum()).tolist(), strict=True))
        return {**dict.fromkeys(PLAN_ACTIONS, 0.0), **share}


CURVE: Final = "calibration.safetensors"


@dataclass(frozen=True, slots=True)
class Curve:
    """A monotone map of raw probabilities ``x`` to calibrated ones ``y``, linear between its points."""

    x: Floats
    y: Floats

    def __call__(self, raw: Floats) -> Floats:
        """Calibrated probabilities; beyond the ends the curve is constant."""
        return np.asarray(np.interp(raw, self.x, self.y), dtype=np.float64)


IDENTITY = Curve(np.array([0.0, 1.0]), np.array([0.0, 1.0]))


class Calibrated:
    """A scorer whose sufficiency is calibrated by a curve."""

    def __init__(self, inner: Scorer, curve: Curve) -> None:
        self._inner = inner
        self.curve = curve

    def score(self, states: Sequence[Seen]) -> Scores:
        """The inner scorer's advantages, and its sufficiency calibrated by the curve."""
        raw = self._inner.score(states)
        return Scores(raw.advantages, self.curve(raw.sufficiency))

    def save(self, folder: Path) -> None:
        """Write the inner scorer and the curve into ``folder``."""
        from safetensors.numpy import save_file

        inner: Any = self._inner
        inner.save(folder)
        save_file({"x": self.curve.x, "y": self.curve.y}, folder / CURVE)


def calibrated(scorer: Scorer, folder: Path) -> Scorer:
    """``scorer`` with the curve in its folder; ``scorer`` itself if there is no curve."""
    from safetensors.numpy import load_file

    if not (folder / CURVE).is_file():
        return scorer
    points = load_file(folder / CURVE)
    return Calibrated(scorer, Curve(points["x"], points["y"]))
