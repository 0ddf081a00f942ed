"""Policy folders: a manifest, weights as safetensors, a model card. Written completely or not at all.

Nothing in a folder is executable: weights are safetensors, everything else is JSON or text, and a folder
with any other file in it, such as a pickle, is rejected. Every file must match the manifest, which says
what the policy is and where it comes from.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from agent.decisions.decider import STATE_VERSION
from models.catalogue import entry
from models.fetch.pull import installed
from models.library_loading import import_torch
from models.protocols import ModelMissing
from policy.serving.card import card
from policy.serving.scorers import Rule, Scorer, calibrated
from traces.errors import DeepthinkError, first_problem
from traces.paths import models_dir

Method = Literal["forest", "reward"]

FORMAT: Final = 1
BOX: Final = "box"
"""The name that stands for the policy shipped with this version."""

GAIN: Final = "utility over the default schedule"
"""The measure of the gate that says what a policy is worth."""
Verdict = Literal["passed", "not surely better", "not passed"]
"""The gate's; *not passed* is what may be better than the default schedule, but fails another condition."""

MANIFEST: Final = "manifest.json"
CARD: Final = "README.md"
_ALLOWED: Final = frozenset({".safetensors", ".json", ".md"})
_OLDEST_STATES = 4  # the version since which states have all the numbers that its policies read
_ABANDONED_SECONDS = 24 * 3600.0
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_SHA256 = r"[0-9a-f]{64}"
_SEAL = "seal"


class BadPolicy(DeepthinkError, title="This policy cannot be used", kind="input"):
    """Raised when a policy folder cannot be used; other policies are not affected."""


def is_name(text: str) -> bool:
    """Whether a policy may have this name; `BOX` is reserved."""
    return text != BOX and _NAME.fullmatch(text) is not None


def _checked_name(text: str) -> str:
    if not is_name(text):
        raise ValueError(f"a policy's name is of small letters, digits, dots and dashes, and not “{BOX}”")
    return text


Name = Annotated[str, AfterValidator(_checked_name)]
"""The name of a policy."""


class Part(BaseModel):
    """A record in a file, or a part of one: never changed, and without other fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="null")


class Base(Part):
    """The model that a policy is an adapter of: its catalogue name, and the sha256 of its weights."""

    name: str
    sha256: str = Field(pattern=f"^{_SHA256}$")


class Data(Part):
    """What a policy was trained on."""

    sha256: str  # of the examples, independent of the form they were read in
    questions: int = Field(ge=0)  # how many, held-out ones included
    decisions: int = Field(ge=0)  # states learned from
    datasets: dict[str, int] = {}  # questions by data set
    sources: dict[str, int] = {}  # states by the source of their quality (answer, evidence, rating, …)


class Gate(Part):
    """The gate's verdict when the policy was made: its rule in words, and the measures judged."""

    passed: bool
    reason: str
    rule: str
    measures: dict[str, Any] = {}

    @property
    def verdict(self) -> Verdict:
        if self.passed:
            return "passed"
        _, lowest, _ = self.measures.get(GAIN) or (0.0, 1.0, 1.0)
        return "not surely better" if lowest <= 0 else "not passed"


class Manifest(Part):
    """Everything about a policy but its weights."""

    name: Name  # of the policy and of its folder
    method: Method  # how it was trained, which determines how it is loaded
    state_version: int  # `agent.decisions.decider.STATE_VERSION` of the states it reads
    created: str  # ISO 8601, with the zone
    base: Base | None  # None for a method without a base model
    data: Data
    features: list[str]  # names of the numeric features it reads, in column order
    rule: Rule
    settings: dict[str, Any] = {}  # of the method, with seeds and the cost of a step
    metrics: dict[str, Any] = {}  # measured on held-out questions
    gate: Gate | None = None  # None if it was not judged
    versions: dict[str, str] = {}  # of the packages it was trained with
    command: str = ""  # the command that trained it
    files: dict[str, str] = {}  # sha256 of each file by its path in the folder, except this manifest
    format: int = FORMAT


def render(manifest: Manifest) -> bytes:
    """The manifest as JSON with a digest of itself, so that changes are noticed.

    Non-finite numbers become null.
    """
    values = json.loads(manifest.model_dump_json())
    values[_SEAL] = seal(values)
    return (json.dumps(values, ensure_ascii=False, indent=2) + "\n").encode()


def seal(values: Mapping[str, Any]) -> str:
    """The digest of a manifest's other values."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def parse(content: bytes) -> Manifest:
    """The manifest in ``content``.

    Raises `ValueError` or `TypeError` if it is not byte for byte what `render` writes.
    """
    values = json.loads(content)
    if not isinstance(values, dict):
        raise TypeError("it is not a JSON object")
    values.pop(_SEAL, None)
    if values.get("format") != FORMAT:
        raise ValueError(f"it is of format {values.get('format')}, and this version reads {FORMAT}")
    manifest = Manifest.model_validate(values)
    if render(manifest) != content:
        raise ValueError("it was changed after it was written")
    return manifest


_AGAIN = "Train it again: `deepthink train-policy`; `deepthink policy list` shows what else there is."


class CannotWritePolicy(DeepthinkError, title="The policy was not saved", kind="store"):
    """Raised when a policy folder cannot be written: no space, no permission, or the name is taken."""


def write(root: Path, manifest: Manifest, save: Callable[[Path], None]) -> Path:
    """Write a policy under ``root`` and return its folder; it appears completely or not at all.

    ``save`` writes the weights into a folder; the manifest's ``files`` are filled in here. Raises
    `CannotWritePolicy` if the disk is full, the folder is not writable, or the name is taken, and
    `BadPolicy` if what ``save`` wrote cannot be read back: a pickle, for instance.
    """
    target = root / manifest.name
    try:
        root.mkdir(parents=True, exist_ok=True)
        _sweep(root)
        require_free(root, manifest.name)
        temporary = Path(tempfile.mkdtemp(dir=root, prefix=".unfinished."))
        try:
            folder = temporary / manifest.name
            folder.mkdir()
            save(folder)
            manifest = manifest.model_copy(update={"files": _digests(folder)})
            (folder / CARD).write_text(card(manifest), encoding="utf-8")
            manifest = manifest.model_copy(update={"files": _digests(folder)})
            (folder / MANIFEST).write_bytes(render(manifest))
            for path in (*folder.iterdir(), folder):
                _sync(path)
            read(folder)
            folder.rename(target)
            _sync(root)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    except OSError as error:
        raise CannotWritePolicy(
            f"The policy {manifest.name} cannot be written to {root}: {error.strerror or error}.",
            "Make room or make the folder writable, and train again: it resumes from its last checkpoint.",
        ) from error
    return target


def require_free(root: Path, name: str) -> None:
    """Raise `CannotWritePolicy` if ``root`` already has a policy of that name."""
    if (root / name).exists():
        raise CannotWritePolicy(f"There is a policy called {name} already.", "Choose another name.")


def read(folder: Path) -> Manifest:
    """The manifest of a policy folder, after checking every file.

    Raises `BadPolicy` if the folder is incomplete, was changed after it was written, has a pickle or an
    unknown file in it, or was made for another version of the policy state.
    """
    name = folder.name
    try:
        content = (folder / MANIFEST).read_bytes()
    except OSError as error:
        raise BadPolicy(
            f"There is no policy in {folder}: {MANIFEST} cannot be read ({error.strerror}).", _AGAIN
        ) from error
    digests = _digests(folder)
    try:
        manifest = parse(content)
    except (ValueError, TypeError, RecursionError) as error:
        reason = first_problem(error) if isinstance(error, ValidationError) else _first_line(error)
        raise BadPolicy(f"The manifest of {name} is not valid: {reason}.", _AGAIN) from error
    if manifest.name != name:
        raise BadPolicy(f"The policy in {folder} is called {manifest.name}.", "Give the folder that name.")
    _compare(manifest, folder, digests)
    if not _OLDEST_STATES <= manifest.state_version <= STATE_VERSION:
        raise BadPolicy(
            f"The policy {name} reads states of version {manifest.state_version}; runs have version "
            f"{STATE_VERSION} now.",
            _AGAIN,
        )
    return manifest


def open_policy(folder: Path) -> tuple[Scorer, Manifest]:
    """Load a policy. Only the libraries that its method needs are imported.

    Raises:
        BadPolicy: as `read` and `require_base`; or it cannot be loaded.
    """
    manifest = read(folder)
    base = require_base(manifest)
    try:
        if base is not None:
            import_torch()  # first, so that its threads do not compete for the cores
        scorer = read_scorer(folder, manifest.features, base)
    except DeepthinkError:
        raise
    except Exception as error:
        raise BadPolicy(
            f"The policy {manifest.name} cannot be loaded: {_first_line(error)}.", _AGAIN
        ) from error
    return scorer, manifest


def read_scorer(folder: Path, features: Sequence[str], base: Path | None) -> Scorer:
    """The scorer whose weights are in ``folder``: an encoder on ``base``, else a forest on ``features``.

    It is calibrated by the curve in the folder, if there is one. Raises `ModelMissing` or `ModelError` if
    the base cannot be loaded, and `OSError`, `ValueError` or `KeyError` if the weights are not of that
    kind.
    """
    scorer: Scorer
    if base is None:
        from policy.training.forest import Forest

        scorer = Forest.read(folder, features)
    else:
        from policy.training.encoder import read as read_encoder

        scorer = read_encoder(folder, base)
    return calibrated(scorer, folder)


def require_base(manifest: Manifest) -> Path | None:
    """Where the base model of a policy is; None if it needs none.

    A base goes by its catalogue name, the name of its folder in the models folder, or its path. Raises
    `BadPolicy` if it is not on this machine, or not the model that the policy was made for.
    """
    if manifest.base is None:
        return None
    name = manifest.base.name
    try:
        base = installed(entry(name))
    except ModelMissing:  # not in the catalogue
        base = models_dir() / name  # an absolute path stands for itself
    if base is None or not base.exists():
        raise BadPolicy(
            f"The policy {manifest.name} needs {name}, which is not on this machine.",
            f"Fetch it: `deepthink models pull {name}`.",
        )
    try:
        actual = fingerprint(base)
    except OSError as error:
        raise BadPolicy(f"The base model in {base} cannot be read: {error.strerror}.", _AGAIN) from error
    if actual != manifest.base.sha256:
        raise BadPolicy(
            f"The policy {manifest.name} was made for another base: {name} with sha256 "
            f"{manifest.base.sha256[:12]}…; that in {base} has {actual[:12]}….",
            _AGAIN,
        )
    return base


def fingerprint(base: Path) -> str:
    """sha256 of a base model's weights: of a file, or of a folder's safetensors files in sorted order.

    Raises `OSError` if they cannot be read, or there are no weights.
    """
    weights = [base] if base.is_file() else sorted(base.glob("*.safetensors"))
    if not weights:
        raise FileNotFoundError(2, "no weights as safetensors are there")
    return _fingerprint(tuple((path, path.stat().st_size, path.stat().st_mtime_ns) for path in weights))


@lru_cache(maxsize=8)
def _fingerprint(weights: tuple[tuple[Path, int, int], ...]) -> str:
    digest = hashlib.sha256()
    for path, _size, _changed in weights:
        with path.open("rb") as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()


def _digests(folder: Path) -> dict[str, str]:
    """sha256 of every file but the manifest. Raises `BadPolicy` for what is no file of a policy."""
    digests: dict[str, str] = {}
    for path in sorted(folder.iterdir()):
        if path.is_symlink():
            raise BadPolicy(f"{path.name} in {folder} is a link: a policy is made of files.", _AGAIN)
        if path.suffix.lower() not in _ALLOWED or not path.is_file():
            raise BadPolicy(
                f"{path.name} in {folder} does not belong to a policy: it could run a stranger's code.",
                "Nothing of the policy is opened. Those that deepthink writes hold nothing of that kind.",
            )
        if path.name != MANIFEST:
            digests[path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return digests


def _compare(manifest: Manifest, folder: Path, digests: Mapping[str, str]) -> None:
    for name in sorted(manifest.files.keys() | digests.keys()):
        if name not in digests:
            raise BadPolicy(f"The policy {manifest.name} is not whole: {name} is missing.", _AGAIN)
        if name not in manifest.files:
            raise BadPolicy(f"{name} in {folder} is not in its manifest.", "Remove it.")
        if digests[name] != manifest.files[name]:
            raise BadPolicy(f"The policy {manifest.name} was tampered with: {name} has changed.", _AGAIN)
    if CARD not in digests or not any(name.endswith(".safetensors") for name in digests):
        raise BadPolicy(f"The policy {manifest.name} is not whole: it has no weights or no card.", _AGAIN)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sweep(root: Path) -> None:
    """Remove what killed writers left behind; a running writer is younger."""
    for leftover in root.glob(".unfinished.*"):
        if time.time() - leftover.stat().st_mtime > _ABANDONED_SECONDS:
            shutil.rmtree(leftover, ignore_errors=True)


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__
