"""The course of a training: data, targets, training, calibration, judgement, folder, gate; told as it goes.

Whatever happens on the way, the active policy stays what it is until the new one is written whole and the
gate has let it through, or a person has said that it need not.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, TypeAlias

from models.library_loading import import_torch
from models.offline import forbid_hubs
from policy.datasheet import dataset, sheet
from policy.examples import Examples
from policy.folder import fingerprint, require_free, write
from policy.gate import ask, too_few
from policy.improvement import improved
from policy.registry import Registry
from policy.returns import examples
from policy.training import methods
from policy.training.background import telling
from policy.training.errors import TrainingCancelled
from policy.training.freezing import freeze
from policy.training.looking import watching
from policy.training.material import Material, gather
from policy.training.progress import Began, DataSheet, Finished, TrainingEvent, Warned
from policy.training.record import manifest, measured
from policy.training.request import TrainingRequest, base_model, require_heeded
from policy.training.watching import Watch
from policy.training.workplace import Workplace, folder

Tell: TypeAlias = Callable[[TrainingEvent], None]


def train(
    request: TrainingRequest,
    cancel: threading.Event | None = None,
    registry: Registry | None = None,
) -> Generator[TrainingEvent, None, Finished | None]:
    """Train a policy and tell what happens.

    Stopped or killed at any moment, the same request goes on where it was. Under ``accelerate launch``
    every process trains and the first alone judges and writes; the others return None.

    Args:
        request: What is asked for.
        cancel: Set to stop; closing the generator does the same.
        registry: Where policies are kept.

    Raises:
        NotHeeded: an option is given that is not the method's.
        CannotTrain: there is too little to learn from, or it is damaged.
        TrainingFailed: the loss is no number any more, or the disk is full.
        TrainingCancelled: it was stopped.
        DeepthinkError: the store, the base model or the policy's folder cannot be used.
    """
    cancel = cancel or threading.Event()
    return (yield from telling(lambda tell: _course(request, tell, cancel, registry or Registry()), cancel))


def _course(
    request: TrainingRequest, tell: Tell, cancel: threading.Event, registry: Registry
) -> Finished | None:
    forbid_hubs()
    require_heeded(request)
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
    _heed(cancel)
    tell(Began("evaluate", "Comparing with the schedules and rules that need no training."))
    metrics = measured(frozen, material, request.cost)
    _heed(cancel)
    tell(Began("gate", "Asking the gate."))
    verdict, gate = ask(frozen, material.validation, request.cost, registry, material.sha256)
    _heed(cancel)
    tell(Began("write", "Writing the policy."))
    told = manifest(request, material, learned_from, base, base_sha, frozen, metrics, gate)
    where = write(registry.root, told, frozen.scorer.save)
    tell(verdict)
    active = request.activation == "force" or (request.activation == "gate" and verdict.passed)
    if active:
        registry.use(told.name, force=request.activation == "force", how="train")
    place.clear()
    finished = Finished(told.name, where, active)
    tell(finished)
    return finished


def _heed(cancel: threading.Event) -> None:
    if cancel.is_set():
        raise TrainingCancelled("Stopped before the policy was written.", "The same command goes on.")


def _targets(
    request: TrainingRequest, material: Material, place: Workplace, tell: Tell, cancel: threading.Event
) -> Examples:
    plain = examples(material.training, request.cost)
    held_out = examples(material.validation, request.cost)
    tell(DataSheet(sheet(plain, held_out, material.sources, request.cost)))
    said = "Working out what each action is worth if a learned policy goes on after it"
    tell(Began("data", f"{said}."))

    def told(done: int, total: int) -> None:
        _heed(cancel)
        tell(Began("data", f"{said}: {done} of {total} forests."))

    made = place.targets(
        plain, lambda: improved(material.training, request.cost, seed=request.seed, on_progress=told)
    )
    place.keep_dataset(dataset(made, held_out))
    return made


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
        return None if _helps() else methods.read_back(request, place.trained, base, features)
    scorer = methods.fit(request, learned_from, base, place.checkpoints, watch)
    if _helps():
        return None
    place.keep_trained(scorer.save)
    return scorer


def _helps() -> bool:
    """Whether this process only helps another, started by ``accelerate launch``, to train."""
    return int(os.environ.get("RANK", "0")) > 0
