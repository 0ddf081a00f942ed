"""Every method behind one call: examples in, a scorer out; and how a scorer is read back unfinished."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from policy.decisions.returns import Examples
from policy.serving.manifest import Manifest
from policy.training.request import TrainingRequest
from policy.training.watching import Watch


@dataclass(frozen=True, slots=True)
class Stored:
    """As much of a manifest as reading back a scorer takes, before there is a policy folder."""

    name: str
    method: str
    features: list[str]


def fit(request: TrainingRequest, examples: Examples, base: Path | None, work: Path, watch: Watch) -> Any:
    """Train; a training that was interrupted goes on.

    Args:
        request: What is asked for.
        examples: Of the training questions.
        base: Of the method's base model.
        work: Folder of the checkpoints.
        watch: Who is told, and who may stop it.

    Returns:
        A `policy.serving.scorers.Scorer` that can be saved.

    Raises:
        CannotTrain, TrainingFailed, TrainingCancelled: as `policy.training.errors` says.
        ModelMissing, ModelError: the base cannot be loaded.
    """
    if request.method == "forest":
        from policy.training import forest

        def told(done: int, total: int) -> None:
            watch.stepped(done, total, float("nan"))

        return forest.fit(examples, seed=request.seed, on_progress=told)
    assert base is not None
    from policy.training.encoder import fitting

    return fitting.fit(
        examples,
        base=base,
        work=work,
        seed=request.seed,
        epochs=request.epochs or fitting.EPOCHS,
        steps=request.steps,
        watch=watch,
    )


def read_back(request: TrainingRequest, folder: Path, base: Path | None, features: list[str]) -> Any:
    """The scorer that was saved into ``folder`` before its policy was written."""
    stored = cast(Manifest, Stored("unfinished", request.method, features))
    if request.method == "forest":
        from policy.training import forest

        return forest.load(folder, stored)
    assert base is not None
    from policy.training.encoder import scorer

    return scorer.load(folder, stored, base)
