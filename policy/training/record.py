"""What is written down of a training: the figures of the held-out questions, and the manifest."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

import numpy as np

from agent.decisions.decider import STATE_VERSION
from policy.evaluation.bootstrap import difference, draws
from policy.evaluation.untrained import UNTRAINED
from policy.evaluation.walking import follow
from policy.examples import Examples
from policy.folder import Base, Data, Gate, Manifest, RuleValues
from policy.training.freezing import Frozen
from policy.training.material import Material
from policy.training.request import TrainingRequest

_PACKAGES: Final = "torch transformers trl peft accelerate datasets scikit-learn numpy".split()


def measured(frozen: Frozen, material: Material, cost: float) -> dict[str, Any]:
    """What the model card tells of the held-out questions; differences as [estimate, low, high]."""
    crossed = frozen.crossed
    drawn = draws(len(material.validation))
    rivals = [follow(name, material.validation, decide, cost) for name, decide in UNTRAINED.items()]
    against = {
        f"utility over {rival.name}": difference(crossed.utility(cost), rival.utility(cost), drawn)
        for rival in rivals
    }
    return {
        "held-out questions": len(crossed.walks),
        "quality": _mean(crossed.quality),
        "evidence complete": _mean(crossed.column("complete")),
        "steps": _mean(crossed.steps),
        "utility": _mean(crossed.utility(cost)),
        "sufficiency: calibration error (ECE)": round(frozen.calibration.ece, 4),
        "sufficiency: Brier": round(frozen.calibration.brier, 4),
        "sufficiency: AUROC": round(frozen.separation, 4),
        **{
            name: [round(gain.estimate, 4), round(gain.low, 4), round(gain.high, 4)]
            for name, gain in against.items()
        },
    }


def _mean(column: Any) -> float:
    known = column[~np.isnan(column)]
    return round(float(known.mean()), 4) if known.size else float("nan")


def manifest(
    request: TrainingRequest,
    material: Material,
    learned_from: Examples,
    base: tuple[str, Path] | None,
    base_sha: str,
    frozen: Frozen,
    metrics: Mapping[str, Any],
    gate: Gate,
) -> Manifest:
    made = datetime.now(UTC)
    return Manifest(
        name=request.name or f"{request.method}-{made:%Y%m%d-%H%M%S}",
        method=request.method,
        state_version=STATE_VERSION,
        created=made.isoformat(timespec="seconds"),
        base=Base(name=base[0], sha256=base_sha) if base else None,
        data=Data(
            sha256=material.sha256,
            questions=len(material.trees),
            decisions=len(learned_from),
            datasets=material.datasets,
            sources=material.sources,
        ),
        features=list(learned_from.states[0].features),
        rule=RuleValues(margin=frozen.rule.margin, temperature=frozen.rule.temperature),
        settings={
            "cost": request.cost,
            "seed": request.seed,
            "epochs": request.epochs,
            "steps": request.steps if request.steps > 0 else None,
            "margin chosen": {
                "utility": frozen.margin.utility,
                "default": frozen.margin.default,
                "best": frozen.margin.best,
            },
        },
        metrics=dict(metrics),
        gate=gate,
        versions=_versions(),
        command=request.command,
    )


def _versions() -> dict[str, str]:
    found: dict[str, str] = {}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
