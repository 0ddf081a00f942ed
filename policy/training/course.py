"""The course of a training: data, targets, training, calibration, gate, folder; with progress events.

The active policy stays what it is until the new one is written whole and the gate has passed it, or a
person has forced it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator, Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final, TypeAlias

from agent.decisions.decider import STATE_VERSION
from models.library_loading import import_torch
from models.offline import forbid_hubs
from policy.decisions.returns import Examples, examples
from policy.judging.freezing import Frozen, freeze
from policy.judging.gate import ask, too_few
from policy.serving.folder import (
    Base,
    Data,
    Gate,
    Manifest,
    RuleValues,
    fingerprint,
    read_scorer,
    require_free,
    write,
)
from policy.serving.registry import Registry
from policy.training.errors import TrainingCancelled
from policy.training.forest import improved
from policy.training.material import Material, gather, sheet
from policy.training.progress import Began, DataSheet, Finished, TrainingEvent, Warned
from policy.training.request import TrainingRequest, base_model, require_used_options
from policy.training.watching import Watch, mean, telling, watching
from policy.training.workplace import Workplace, folder

_PACKAGES: Final = "torch transformers trl peft accelerate datasets scikit-learn numpy".split()


def measured(frozen: Frozen, cost: float) -> dict[str, Any]:
    """The model card's figures of the held-out questions."""
    crossed = frozen.crossed
    return {
        "held-out questions": len(crossed.walks),
        "quality": round(mean(crossed.quality), 4),
        "evidence complete": round(mean(crossed.column("complete")), 4),
        "steps": round(mean(crossed.steps), 4),
        "utility": round(mean(crossed.utility(cost)), 4),
        "sufficiency: calibration error (ECE)": round(frozen.calibration.ece, 4),
        "sufficiency: Brier": round(frozen.calibration.brier, 4),
        "sufficiency: AUROC": round(frozen.separation, 4),
    }


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
    versions: dict[str, str] = {}
    for name in _PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions


Tell: TypeAlias = Callable[[TrainingEvent], None]


def train(
    request: TrainingRequest,
    cancel: threading.Event | None = None,
    registry: Registry | None = None,
) -> Generator[TrainingEvent, None, Finished | None]:
    """Train a policy and report what happens.

    Stopped or killed at any moment, the same request is resumed where it was. Under ``accelerate launch``
    every process trains and the first alone reports, judges and writes; the others return None.
    ``cancel`` stops it; closing the generator does the same.

    Raises:
        UnusedOption: an option is given that is not the method's.
        CannotTrain: there is too little to learn from, or it is damaged.
        TrainingFailed: the loss is not a number, or the disk is full.
        TrainingCancelled: it was stopped.
        DeepthinkError: the store, the base model or the policy's folder cannot be used.
    """
    cancel = cancel or threading.Event()

    def work(tell: Tell) -> Finished | None:
        return _course(request, _ignore if _helps() else tell, cancel, registry or Registry())

    return (yield from telling(work, cancel))


def _course(
    request: TrainingRequest, tell: Tell, cancel: threading.Event, registry: Registry
) -> Finished | None:
    forbid_hubs()
    require_used_options(request)
    if request.name:  # one made of method and time is free
        require_free(registry.root, request.name)
    tell(Began("data", "Reading what there is to learn from."))
    material = gather(request.sources, folder() / "imported")
    for warning in material.warnings:
        tell(Warned(warning))
    if request.activation == "gate" and (warning := too_few(len(material.validation))):
        tell(Warned(warning))
    base = base_model(request)
    if base:
        import_torch()  # the gate times a decision: threads that spin would be in it
    base_sha = fingerprint(base[1]) if base else ""
    place = Workplace(request, material.sha256, base_sha)
    learned_from = _targets(request, material, place, tell, cancel)
    watch = watching(request.cost, material.validation, tell, cancel)
    tell(Began("train", f"Training: {request.method}."))
    scorer = _scorer(request, learned_from, base[1] if base else None, place, watch, tell)
    if scorer is None:
        return None
    tell(Began("calibrate", "Calibrating, and choosing the margin, on held-out questions."))
    frozen = freeze(scorer, material.validation, request.cost)
    _raise_if(cancel)
    tell(Began("evaluate", "Measuring the policy on held-out questions."))
    metrics = measured(frozen, request.cost)
    _raise_if(cancel)
    tell(Began("gate", "Asking the gate."))
    verdict, gate = ask(frozen, material.validation, request.cost, registry, material.sha256)
    _raise_if(cancel)
    tell(Began("write", "Writing the policy."))
    written = manifest(request, material, learned_from, base, base_sha, frozen, metrics, gate)
    where = write(registry.root, written, frozen.scorer.save)
    tell(verdict)
    active = request.activation == "force" or (request.activation == "gate" and verdict.passed)
    if active:
        registry.use(written.name, force=request.activation == "force", how="train")
    place.clear()
    finished = Finished(written.name, where, active)
    tell(finished)
    return finished


def _ignore(_event: TrainingEvent) -> None:
    """The first process alone reports."""


def _raise_if(cancel: threading.Event) -> None:
    if cancel.is_set():
        raise TrainingCancelled("Stopped before the policy was written.", "The same command resumes it.")


def _targets(
    request: TrainingRequest, material: Material, place: Workplace, tell: Tell, cancel: threading.Event
) -> Examples:
    plain = examples(material.training, request.cost)
    held_out = examples(material.validation, request.cost)
    tell(DataSheet(sheet(plain, held_out, material.sources, request.cost)))
    doing = "Working out what each action is worth if a learned policy goes on after it"
    tell(Began("data", f"{doing}."))

    def report(done: int, total: int) -> None:
        _raise_if(cancel)
        tell(Began("data", f"{doing}: {done} of {total} forests."))

    return place.targets(
        plain, lambda: improved(material.training, request.cost, seed=request.seed, on_progress=report)
    )


def _scorer(
    request: TrainingRequest,
    learned_from: Examples,
    base: Path | None,
    place: Workplace,
    watch: Watch,
    tell: Tell,
) -> Any:
    """The trained scorer; None in a process that only helped."""
    features = list(learned_from.states[0].features)
    if place.trained is not None:
        tell(Warned("The training was finished before; going on after it."))
        return None if _helps() else read_scorer(place.trained, features, base)
    scorer = _fitted(request, learned_from, base, place.checkpoints, watch)
    if _helps():
        return None
    place.keep_trained(scorer.save)
    return scorer


def _fitted(
    request: TrainingRequest, learned_from: Examples, base: Path | None, work: Path, watch: Watch
) -> Any:
    """Train; what was interrupted continues from its checkpoints in ``work``."""
    if base is None:
        from policy.training import forest

        def report(done: int, total: int) -> None:
            watch.stepped(done, total, float("nan"))

        return forest.fit(learned_from, seed=request.seed, on_progress=report)
    from policy.training.encoder import fitting

    return fitting.fit(
        learned_from,
        base=base,
        work=work,
        seed=request.seed,
        epochs=request.epochs or fitting.EPOCHS,
        steps=request.steps,
        watch=watch,
    )


def _helps() -> bool:
    """Whether this process only helps another, started by ``accelerate launch``, to train."""
    return int(os.environ.get("RANK", "0")) > 0
