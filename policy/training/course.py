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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, Literal

from agent.decisions.decider import STATE_VERSION
from models.catalogue import ALL_MINILM_L6_V2, entry
from models.fetch.pull import checked
from models.library_loading import forbid_hubs, import_torch
from models.protocols import ModelMissing
from policy.decisions import COST, Examples, Tree, examples
from policy.judging import Frozen, freeze, judge, measure, score, too_few
from policy.serving.folder import (
    Base,
    Data,
    Gate,
    Manifest,
    Method,
    fingerprint,
    require_free,
    write,
)
from policy.serving.registry import Registry
from policy.training import forest
from policy.training.forest import Forest, improved
from policy.training.material import Material, gather, sheet
from policy.training.progress import (
    DataSheet,
    Emit,
    Finished,
    TrainingEvent,
    UnusedOption,
    Warned,
    Watch,
    begin_phase,
    mean,
)
from traces.paths import data_dir, existing_path

_PACKAGES: Final = "torch transformers trl peft accelerate datasets scikit-learn numpy".split()


DEFAULT: Final[Method] = "forest"
"""It does no worse than the encoder, in a fiftieth of the time (`tests/benchmarks/results/policies.md`)."""


@dataclass(frozen=True, slots=True)
class TrainingRequest:
    """A training, as the user requests it; a forest has no base, ``epochs`` or ``steps``."""

    method: Method = DEFAULT
    sources: tuple[Path, ...] = ()
    """Collected stores (``.duckdb``) or exported traces (Parquet); the user's own if empty."""
    base: str = ""  # catalogue name, folder or file of the base model; "" for the method's default
    cost: float = COST  # of a research step, in units of quality
    name: str = ""  # of the policy; "" for one generated from method and time
    seed: int = 0
    epochs: float | None = None  # passes over the examples; None for the method's default
    steps: int | None = None  # optimiser steps; takes precedence over ``epochs``
    activation: Literal["gate", "never", "force"] = "gate"
    """Whether it becomes active: if it passes the gate, never, or always."""

    @property
    def resumes(self) -> bool:
        """Whether the training, once stopped, continues from where it was; a forest has no checkpoints."""
        return self.method != "forest"

    def __post_init__(self) -> None:
        """Raise `UnusedOption` if a forest is to have a base, passes or steps."""
        given = {"--base": self.base or None, "--epochs": self.epochs, "--steps": self.steps}
        unused = [option for option, value in given.items() if value is not None]
        if self.method == "forest" and unused:
            raise UnusedOption(
                f"A forest has no base model, passes or steps, so it takes no {unused[0]}.",
                "Leave it out, or name another --method.",
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

    A folder or file that is not in the catalogue goes by its path, so that it is found again. Raises
    `ModelMissing` if it is not on this machine.
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
    emit: Emit,
    cancel: threading.Event | None = None,
    registry: Registry | None = None,
) -> None:
    """Train a policy; ``emit`` gets the progress.

    Stopped by ``cancel`` or killed, the same request resumes an encoder's training from its last
    checkpoint; a forest has none and starts again. Under ``accelerate launch`` every process trains, and
    only the first reports, judges and writes.

    Raises:
        CannotTrain: there is too little to learn from, or it is damaged.
        TrainingFailed: the loss is not a number, or the disk is full.
        TrainingCancelled: it was stopped.
        DeepthinkError: the store, the base model or the policy's folder cannot be used.
    """
    registry = registry or Registry()
    cancel = cancel or threading.Event()
    is_helper = int(os.environ.get("RANK", "0")) > 0  # started by ``accelerate launch``

    def tell(event: TrainingEvent) -> None:
        if not is_helper:
            emit(event)

    begin = partial(begin_phase, tell, cancel, "policy", resumes=request.resumes)
    forbid_hubs()
    if request.name:  # a generated name is always free
        require_free(registry.root, request.name)
    begin("data", "Reading what there is to learn from.")
    onto = _boxed_forest(request, registry)
    material = gather(request.sources, folder() / "imported", correcting=onto is not None)
    for warning in material.warnings:
        tell(Warned(warning))
    if request.activation == "gate" and (warning := too_few(len(material.validation))):
        tell(Warned(warning))
    base = base_model(request)
    if base:
        import_torch()  # the gate times a decision, which spinning threads would disturb
    base_sha = fingerprint(base[1]) if base else ""
    tell(DataSheet(sheet(material, request.cost)))
    if onto:  # a run has one path, from which no better continuation can be learned
        learned_from = examples(material.training, request.cost, margin=onto[1].rule.margin)
    else:
        message = "Working out what each action is worth if a learned policy goes on after it"
        begin("data", f"{message}.")
        learned_from = improved(
            material.training,
            request.cost,
            seed=request.seed,
            on_progress=lambda done, total: begin("data", f"{message}: {done} of {total} forests."),
        )
    begin("train", f"Training: {request.method}.")
    work = workplace(request, material.sha256, base_sha)
    scorer: Any
    if base is None:
        scorer = forest.fit(learned_from, seed=request.seed, onto=onto and onto[0])
    else:
        from policy.training import fitting

        scorer = fitting.fit(
            learned_from,
            base=base[1],
            work=work,
            seed=request.seed,
            epochs=request.epochs or fitting.EPOCHS,
            steps=request.steps,
            watch=Watch(tell, cancel, material.validation, request.cost),
        )
    if is_helper:
        return

    begin("calibrate", "Calibrating, and choosing the margin, on held-out questions.")
    frozen = freeze(scorer, material.validation, request.cost, onto and onto[1].rule)
    begin("gate", "Asking the gate.")
    gate = judge(
        measure(frozen, material.validation, request.cost, registry.active().folder, material.sha256)
    )
    begin("write", "Writing the policy.")
    manifest = _manifest(
        request,
        material,
        learned_from,
        Base(name=base[0], sha256=base_sha) if base else None,
        frozen,
        gate,
        _changed(*onto, frozen, material.validation) if onto else {},
    )
    policy_folder = write(registry.root, manifest, frozen.scorer.save)
    tell(gate)
    becomes_active = request.activation == "force" or (request.activation == "gate" and gate.passed)
    if becomes_active:
        registry.use(manifest.name, force=request.activation == "force", how="train")
    shutil.rmtree(work, ignore_errors=True)
    tell(Finished(manifest.name, policy_folder, becomes_active))


def _boxed_forest(request: TrainingRequest, registry: Registry) -> tuple[Forest, Manifest] | None:
    """The forest that came with the package, which a forest from the user's own traces corrects."""
    if request.method != "forest" or request.sources:
        return None
    for policy in registry.listed():
        if policy.boxed and policy.manifest and policy.manifest.method == "forest":
            return Forest.read(policy.folder, policy.manifest.features), policy.manifest
    return None


def _changed(
    before: Forest, manifest: Manifest, frozen: Frozen, trees: Sequence[Tree]
) -> dict[str, object]:
    """How many of the held-out decisions became others by the corrections, as a measure in words."""
    old, new = score(trees, before), score(trees, frozen.scorer)
    pairs = [
        (old.decide(manifest.rule)(node), new.decide(frozen.rule)(node))
        for tree in trees
        for node in tree.nodes.values()
    ]
    others = sum(one != other for one, other in pairs)
    return {f"decided otherwise than by {manifest.name}": f"{others} of {len(pairs)} held-out decisions"}


def workplace(request: TrainingRequest, data: str, base: str) -> Path:
    """The folder of a training's checkpoints, determined by the request and the sha256 of data and base."""
    options = [request.method, request.cost, request.seed, request.epochs, request.steps]
    key = json.dumps([*options, data, base, STATE_VERSION]).encode()
    return folder() / hashlib.sha256(key).hexdigest()[:16]


def folder() -> Path:
    """The folder of all unfinished trainings."""
    return data_dir() / "training"


def _manifest(
    request: TrainingRequest,
    material: Material,
    learned_from: Examples,
    base: Base | None,
    frozen: Frozen,
    gate: Gate,
    changed: Mapping[str, object],
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
        settings={name: getattr(request, name) for name in ("cost", "seed", "epochs", "steps")},
        metrics={
            "held-out questions": len(crossed.ends),
            "quality": round(mean(crossed.quality), 4),
            "steps": round(mean(crossed.steps), 4),
            "utility": round(mean(crossed.utility(request.cost)), 4),
            "sufficiency: calibration error (ECE)": round(frozen.calibration_error, 4),
            **changed,
        },
        gate=gate,
        versions={name: version(name) for name in _PACKAGES},
        command=request.command,
    )
