"""The phases of a training: data, targets, training, calibration, gate, folder; with progress events.

The active policy does not change until the new one is written completely and has passed the gate, or the
user forced it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Generator
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

from agent.decisions.decider import STATE_VERSION
from models.library_loading import forbid_hubs, import_torch
from policy.decisions.returns import Examples, examples
from policy.judging.calibration import Frozen, freeze
from policy.judging.gate import ask, too_few
from policy.serving.folder import fingerprint, read_scorer, require_free, write
from policy.serving.manifest import Base, Data, Gate, Manifest, RuleValues
from policy.serving.registry import Registry
from policy.training.forest import improved
from policy.training.material import Material, gather, sheet
from policy.training.progress import Began, DataSheet, Finished, TrainingCancelled, TrainingEvent, Warned
from policy.training.request import TrainingRequest, base_model
from policy.training.watching import Emit, Watch, mean, run_in_background
from policy.training.workplace import Workplace, folder

_PACKAGES: Final = "torch transformers trl peft accelerate datasets scikit-learn numpy".split()


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
        CannotTrain: there is too little to learn from, or it is damaged.
        TrainingFailed: the loss is not a number, or the disk is full.
        TrainingCancelled: it was stopped.
        DeepthinkError: the store, the base model or the policy's folder cannot be used.
    """
    cancel = cancel or threading.Event()

    def work(emit: Emit) -> Finished | None:
        return _run_phases(request, _ignore if _is_helper() else emit, cancel, registry or Registry())

    return (yield from run_in_background(work, cancel))


def _ignore(_event: TrainingEvent) -> None:
    """Only the first process reports."""


def _is_helper() -> bool:
    """Whether this is a helper process, started by ``accelerate launch``."""
    return int(os.environ.get("RANK", "0")) > 0


def _run_phases(
    request: TrainingRequest, emit: Emit, cancel: threading.Event, registry: Registry
) -> Finished | None:
    def begin(phase: str, message: str) -> None:
        if cancel.is_set():
            raise TrainingCancelled(
                "Stopped before the policy was written.", "The same command resumes it."
            )
        emit(Began(phase, message))

    forbid_hubs()
    if request.name:  # a generated name is always free
        require_free(registry.root, request.name)
    begin("data", "Reading what there is to learn from.")
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

    plain = examples(material.training, request.cost)
    held_out = examples(material.validation, request.cost)
    emit(DataSheet(sheet(plain, held_out, material.sources, request.cost)))
    message = "Working out what each action is worth if a learned policy goes on after it"
    begin("data", f"{message}.")

    def report(done: int, total: int) -> None:
        begin("data", f"{message}: {done} of {total} forests.")

    learned_from = workplace.targets(
        plain, lambda: improved(material.training, request.cost, seed=request.seed, on_progress=report)
    )

    begin("train", f"Training: {request.method}.")
    if workplace.trained is None:
        watch = Watch(emit, cancel, material.validation, request.cost)
        scorer = _fit(request, learned_from, base[1] if base else None, workplace.checkpoints, watch)
        if not _is_helper():
            workplace.keep_trained(scorer.save)
    else:
        emit(Warned("The training was finished before; going on after it."))
        features = list(learned_from.states[0].features)
        scorer = read_scorer(workplace.trained, features, base[1] if base else None)
    if _is_helper():
        return None

    begin("calibrate", "Calibrating, and choosing the margin, on held-out questions.")
    frozen = freeze(scorer, material.validation, request.cost)
    begin("gate", "Asking the gate.")
    gate = ask(frozen, material.validation, request.cost, registry, material.sha256)
    begin("write", "Writing the policy.")
    manifest = _manifest(
        request, material, learned_from, Base(name=base[0], sha256=base_sha) if base else None, frozen, gate
    )
    policy_folder = write(registry.root, manifest, frozen.scorer.save)
    emit(gate)
    active = request.activation == "force" or (request.activation == "gate" and gate.passed)
    if active:
        registry.use(manifest.name, force=request.activation == "force", how="train")
    workplace.clear()
    finished = Finished(manifest.name, policy_folder, active)
    emit(finished)
    return finished


def _fit(
    request: TrainingRequest, learned_from: Examples, base: Path | None, work: Path, watch: Watch
) -> Any:
    """Train; an interrupted training resumes from its checkpoints in ``work``."""
    if base is None:
        from policy.training import forest

        return forest.fit(learned_from, seed=request.seed)
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


def _manifest(
    request: TrainingRequest,
    material: Material,
    learned_from: Examples,
    base: Base | None,
    frozen: Frozen,
    gate: Gate,
) -> Manifest:
    created = datetime.now(UTC)
    crossed = frozen.crossed
    return Manifest(
        name=request.name or f"{request.method}-{created:%Y%m%d-%H%M%S}",
        method=request.method,
        state_version=STATE_VERSION,
        created=created.isoformat(timespec="seconds"),
        base=base,
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
            "steps": request.steps,
        },
        metrics={
            "held-out questions": len(crossed.walks),
            "quality": round(mean(crossed.quality), 4),
            "evidence complete": round(mean(crossed.detail("complete")), 4),
            "steps": round(mean(crossed.steps), 4),
            "utility": round(mean(crossed.utility(request.cost)), 4),
            "sufficiency: calibration error (ECE)": round(frozen.calibration_error, 4),
        },
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
