"""The phases of a training: data, targets, training, calibration, gate, folder; with progress events.

The active policy does not change until the new one is written completely and has passed the gate, or the
user forced it.
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
from models.library_loading import forbid_hubs, import_torch
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
from policy.training.watching import Watch, build_watch, mean, run_in_background
from policy.training.workplace import Workplace, folder

_PACKAGES: Final = "torch transformers trl peft accelerate datasets scikit-learn numpy".split()


def measured(frozen: Frozen, cost: float) -> dict[str, Any]:
    """The model card's figures for the held-out questions."""
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
    created = datetime.now(UTC)
    return Manifest(
        name=request.name or f"{request.method}-{created:%Y%m%d-%H%M%S}",
        method=request.method,
        state_version=STATE_VERSION,
        created=created.isoformat(timespec="seconds"),
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


Emit: TypeAlias = Callable[[TrainingEvent], None]


def train(
    request: TrainingRequest,
    cancel: threading.Event | None = None,
    registry: Registry | None = None,
) -> Generator[TrainingEvent, None, Finished | None]:
    """Train a policy and report progress.

    Stopped or killed at any moment, the same request resumes where it was. Under ``accelerate launch``
    every process trains, and only the first reports, judges and writes; the others return None.
    ``cancel`` stops it; closing the generator does the same.

    Raises:
        UnusedOption: an option is given that the method does not use.
        CannotTrain: there is too little to learn from, or it is damaged.
        TrainingFailed: the loss is not a number, or the disk is full.
        TrainingCancelled: it was stopped.
        DeepthinkError: the store, the base model or the policy's folder cannot be used.
    """
    cancel = cancel or threading.Event()

    def work(emit: Emit) -> Finished | None:
        return _run_phases(request, _ignore if _is_helper() else emit, cancel, registry or Registry())

    return (yield from run_in_background(work, cancel))


def _run_phases(
    request: TrainingRequest, emit: Emit, cancel: threading.Event, registry: Registry
) -> Finished | None:
    forbid_hubs()
    require_used_options(request)
    if request.name:  # a generated name is always free
        require_free(registry.root, request.name)
    emit(Began("data", "Reading what there is to learn from."))
    material = gather(request.sources, folder() / "imported")
    for warning in material.warnings:
        emit(Warned(warning))
    if request.activation == "gate" and (warning := too_few(len(material.validation))):
        emit(Warned(warning))
    base = base_model(request)
    if base:
        import_torch()  # the gate times a decision, which spinning threads would disturb
    base_sha = fingerprint(base[1]) if base else ""
    workplace = Workplace(request, material.sha256, base_sha)
    learned_from = _targets(request, material, workplace, emit, cancel)
    watch = build_watch(request.cost, material.validation, emit, cancel)
    emit(Began("train", f"Training: {request.method}."))
    scorer = _train_scorer(request, learned_from, base[1] if base else None, workplace, watch, emit)
    if scorer is None:
        return None
    emit(Began("calibrate", "Calibrating, and choosing the margin, on held-out questions."))
    frozen = freeze(scorer, material.validation, request.cost)
    _raise_if(cancel)
    emit(Began("evaluate", "Measuring the policy on held-out questions."))
    metrics = measured(frozen, request.cost)
    _raise_if(cancel)
    emit(Began("gate", "Asking the gate."))
    verdict, gate = ask(frozen, material.validation, request.cost, registry, material.sha256)
    _raise_if(cancel)
    emit(Began("write", "Writing the policy."))
    policy_manifest = manifest(request, material, learned_from, base, base_sha, frozen, metrics, gate)
    policy_folder = write(registry.root, policy_manifest, frozen.scorer.save)
    emit(verdict)
    active = request.activation == "force" or (request.activation == "gate" and verdict.passed)
    if active:
        registry.use(policy_manifest.name, force=request.activation == "force", how="train")
    workplace.clear()
    finished = Finished(policy_manifest.name, policy_folder, active)
    emit(finished)
    return finished


def _ignore(_event: TrainingEvent) -> None:
    """Only the first process reports."""


def _raise_if(cancel: threading.Event) -> None:
    if cancel.is_set():
        raise TrainingCancelled("Stopped before the policy was written.", "The same command resumes it.")


def _targets(
    request: TrainingRequest, material: Material, workplace: Workplace, emit: Emit, cancel: threading.Event
) -> Examples:
    quick = examples(material.training, request.cost)
    held_out = examples(material.validation, request.cost)
    emit(DataSheet(sheet(quick, held_out, material.sources, request.cost)))
    message = "Working out what each action is worth if a learned policy goes on after it"
    emit(Began("data", f"{message}."))

    def report(done: int, total: int) -> None:
        _raise_if(cancel)
        emit(Began("data", f"{message}: {done} of {total} forests."))

    return workplace.targets(
        quick, lambda: improved(material.training, request.cost, seed=request.seed, on_progress=report)
    )


def _train_scorer(
    request: TrainingRequest,
    learned_from: Examples,
    base: Path | None,
    workplace: Workplace,
    watch: Watch,
    emit: Emit,
) -> Any:
    """The trained scorer; None in a helper process."""
    features = list(learned_from.states[0].features)
    if workplace.trained is not None:
        emit(Warned("The training was finished before; going on after it."))
        return None if _is_helper() else read_scorer(workplace.trained, features, base)
    scorer = _fit(request, learned_from, base, workplace.checkpoints, watch)
    if _is_helper():
        return None
    workplace.keep_trained(scorer.save)
    return scorer


def _fit(
    request: TrainingRequest, learned_from: Examples, base: Path | None, work: Path, watch: Watch
) -> Any:
    """Train; an interrupted training resumes from its checkpoints in ``work``."""
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


def _is_helper() -> bool:
    """Whether this is a helper process, started by ``accelerate launch``."""
    return int(os.environ.get("RANK", "0")) > 0
