"""The phases of a training: data, targets, training, calibration, gate, folder; with progress events.

The active policy does not change until the new one is written completely and has passed the gate, or the
user forced it.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
import threading
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, Literal

from agent.decisions.decider import STATE_VERSION
from models.catalogue import ALL_MINILM_L6_V2, entry
from models.fetch import checked
from models.library_loading import forbid_hubs, import_torch
from models.protocols import ModelMissing
from policy.decisions import COST, Examples, examples
from policy.judging import Frozen, ask, freeze, too_few
from policy.serving.folder import (
    Base,
    Data,
    Gate,
    Manifest,
    Method,
    fingerprint,
    read_scorer,
    require_free,
    write,
)
from policy.serving.registry import Registry
from policy.training.forest import improved
from policy.training.material import Material, gather, sheet
from policy.training.progress import (
    Began,
    DataSheet,
    Emit,
    Finished,
    TrainingCancelled,
    TrainingEvent,
    UnusedOption,
    Warned,
    Watch,
    mean,
    run_in_background,
)
from traces.paths import data_dir, existing_path

_PACKAGES: Final = "torch transformers trl peft accelerate datasets scikit-learn numpy".split()


DEFAULT: Final[Method] = "reward"
"""The encoder that the protocol favours (`tests/benchmarks/results/policies.md`)."""

Activation = Literal["gate", "never", "force"]


@dataclass(frozen=True, slots=True)
class TrainingRequest:
    """A training, as the user requests it.

    Attributes:
        sources: Collected stores (``.duckdb``) or exported traces (Parquet); the user's own if empty.
        base: Catalogue name, folder or file of the base model; "" for the method's default.
        cost: Of a research step, in units of quality.
        name: Of the policy; "" for one generated from method and time.
        seed: Of all random numbers.
        epochs: Passes over the examples; None for the method's default. Encoders only.
        steps: Optimiser steps; takes precedence over ``epochs``. Encoders only.
        activation: Whether it becomes active: if it passes the gate, never, or always.
    """

    method: Method = DEFAULT
    sources: tuple[Path, ...] = ()
    base: str = ""
    cost: float = COST
    name: str = ""
    seed: int = 0
    epochs: float | None = None
    steps: int | None = None
    activation: Activation = "gate"

    def __post_init__(self) -> None:
        """Raise `UnusedOption` if a forest is to have a base, passes or steps."""
        if self.method == "forest" and self.base:
            raise UnusedOption(
                "A forest adapts no base model.", "Leave --base out, or name another --method."
            )
        if self.method == "forest" and (self.epochs is not None or self.steps is not None):
            raise UnusedOption(
                "A forest is grown in one go, not in passes or steps.",
                "Leave --epochs and --steps out, or name another --method.",
            )

    @property
    def command(self) -> str:
        """The command line for it; files by name, wherever they are."""
        default = TrainingRequest(method=self.method)
        words = ["deepthink", "train-policy", "--method", self.method]
        for source in self.sources:
            words += ["--from", source.name]
        for option in ("base", "cost", "name", "seed", "epochs", "steps"):
            value = getattr(self, option)
            if value != getattr(default, option):
                words += [f"--{option}", f"{value:g}" if isinstance(value, float) else str(value)]
        return shlex.join(words)


def base_model(request: TrainingRequest) -> tuple[str, Path] | None:
    """Name and path of the base that the method adapts; None for the forest, which has none.

    A folder or file that is not in the catalogue goes by its path, so that it is found again.

    Raises:
        ModelMissing: it is not on this machine.
    """
    if request.method == "forest":
        return None
    name = request.base or ALL_MINILM_L6_V2.name
    path = existing_path(name)
    if path is not None:
        return str(path.resolve()), path.resolve()
    model_path = checked(entry(name))
    if model_path is None:
        raise ModelMissing(
            f"The base model {name} is not on this machine.", f"Fetch it: “deepthink models pull {name}”."
        )
    return name, model_path


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
        # Only the first process reports.
        return _run_phases(
            request, (lambda _event: None) if _is_helper() else emit, cancel, registry or Registry()
        )

    return (yield from run_in_background(work, cancel))


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


_TRAINED: Final = "trained"
_TARGETS: Final = "targets.safetensors"


class Workplace:
    """The folder of one training, determined by the request and the sha256 of its data and base."""

    def __init__(self, request: TrainingRequest, data: str, base: str) -> None:
        options = [request.method, request.cost, request.seed, request.epochs, request.steps]
        key = json.dumps([*options, data, base, STATE_VERSION]).encode()
        self.folder = folder() / hashlib.sha256(key).hexdigest()[:16]
        self.folder.mkdir(parents=True, exist_ok=True)
        self.checkpoints = self.folder / "checkpoints"
        """Folder of the checkpoints."""

    @property
    def trained(self) -> Path | None:
        """The trained scorer, if training is finished."""
        path = self.folder / _TRAINED
        return path if path.is_dir() else None

    def keep_trained(self, save: Callable[[Path], None]) -> None:
        """Save the trained scorer; it appears completely or not at all."""
        temporary = self.folder / f".{_TRAINED}"
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir()
        save(temporary)
        temporary.rename(self.folder / _TRAINED)

    def targets(self, plain: Examples, make: Callable[[], Examples]) -> Examples:
        """``make()``, which takes minutes, or its earlier result.

        Args:
            plain: The same states in the same order, with targets that are quick to compute.
            make: Computes the targets to learn from.
        """
        from safetensors.numpy import load_file, save_file

        path = self.folder / _TARGETS
        if path.is_file():
            return replace(plain, values=load_file(path)["values"])
        targets = make()
        temporary = path.with_suffix(f".{os.getpid()}")  # several processes may train together
        save_file({"values": targets.values}, temporary)
        temporary.rename(path)
        return targets

    def clear(self) -> None:
        """Remove the folder once the policy is written."""
        shutil.rmtree(self.folder, ignore_errors=True)


def folder() -> Path:
    """The folder of all unfinished trainings."""
    return data_dir() / "training"


def _fit(
    request: TrainingRequest, learned_from: Examples, base: Path | None, work: Path, watch: Watch
) -> Any:
    """Train; an interrupted training resumes from its checkpoints in ``work``."""
    if base is None:
        from policy.training import forest

        return forest.fit(learned_from, seed=request.seed)
    from policy.training import fitting

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
        rule=frozen.rule,
        settings={
            "cost": request.cost,
            "seed": request.seed,
            "epochs": request.epochs,
            "steps": request.steps,
        },
        metrics={
            "held-out questions": len(crossed.ends),
            "quality": round(mean(crossed.quality), 4),
            "evidence complete": round(mean(crossed.detail("complete")), 4),
            "steps": round(mean(crossed.steps), 4),
            "utility": round(mean(crossed.utility(request.cost)), 4),
            "sufficiency: calibration error (ECE)": round(frozen.calibration_error, 4),
        },
        gate=gate,
        versions={name: version(name) for name in _PACKAGES},
        command=request.command,
    )
