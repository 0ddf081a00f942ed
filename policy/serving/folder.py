"""Policy folders: a manifest, weights as safetensors, a model card. Written completely or not at all.

Nothing in a folder is executable: weights are safetensors, everything else is JSON or text, and a folder
with a pickle in it is rejected. Every file must match the manifest.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from agent.decisions.decider import STATE_VERSION, PolicyState
from agent.decisions.features import features
from models.library_loading import import_torch
from policy.serving.card import card
from policy.serving.manifest import (
    BadPolicy,
    Base,
    Data,
    Gate,
    Manifest,
    RuleValues,
    parse,
    render,
)
from policy.serving.scorers import Rule, Scorer
from traces.errors import DeepthinkError

__all__ = [
    "BadPolicy",
    "Base",
    "CannotWritePolicy",
    "Data",
    "Gate",
    "Manifest",
    "RuleValues",
    "fingerprint",
    "open_policy",
    "read",
    "write",
]

MANIFEST: Final = "manifest.json"
CARD: Final = "README.md"
_ALLOWED: Final = frozenset({".safetensors", ".json", ".md", ".txt", ".jinja"})
_PICKLED: Final = frozenset(".pkl .pickle .bin .pt .pth .ckpt .joblib .npy .npz .dill .skops .h5".split())
_PICKLE_STARTS: Final = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05", b"PK\x03\x04")
_ABANDONED_SECONDS = 24 * 3600.0


class CannotWritePolicy(DeepthinkError):
    """Raised when a policy folder cannot be written: no space, no permission, or the name is taken."""

    title = "The policy was not saved"
    kind = "store"


def write(root: Path, manifest: Manifest, save: Callable[[Path], None]) -> Path:
    """Write a policy under ``root`` and return its folder; it appears completely or not at all.

    Args:
        root: Folder of policies; created if needed.
        manifest: Its ``files`` are filled in here.
        save: Writes the weights into the given folder.

    Raises:
        CannotWritePolicy: the disk is full, the folder is not writable, or the name is taken.
        BadPolicy: what ``save`` wrote cannot be read back: a pickle, for instance.
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
            _finish(folder, manifest)
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

    Raises:
        BadPolicy: the folder is incomplete, was changed after it was written, has a pickle or an unknown
            file in it, or was made for another version of the policy state.
    """
    name = folder.name
    try:
        content = (folder / MANIFEST).read_bytes()
    except OSError as error:
        raise BadPolicy(
            f"There is no policy in {folder}: {MANIFEST} cannot be read ({error.strerror}).", _AGAIN
        ) from error
    _reject_foreign(folder)
    try:
        manifest = parse(content)
    except ValidationError as error:
        problem = error.errors()[0]
        where = ".".join(str(part) for part in problem["loc"])
        raise BadPolicy(
            f"The manifest of {name} is not valid: {where}: {problem['msg']}.", _AGAIN
        ) from error
    except (ValueError, TypeError, RecursionError) as error:
        raise BadPolicy(f"The manifest of {name} is not valid: {_first_line(error)}.", _AGAIN) from error
    if manifest.name != name:
        raise BadPolicy(f"The policy in {folder} is called {manifest.name}.", "Give the folder that name.")
    _compare(folder, manifest)
    _check_state(manifest)
    return manifest


def open_policy(folder: Path, base: Path | None) -> tuple[Scorer, Rule, Manifest]:
    """Load a policy. Only the libraries that its method needs are imported.

    Raises:
        BadPolicy: as `read`; or its ``base`` is missing (None) or a different one, or it cannot be loaded.
    """
    from policy.judging.calibration import calibrated

    manifest = read(folder)
    check_base(manifest, base)
    try:
        if manifest.base is not None:
            import_torch()  # first, so that its threads do not compete for the cores
        scorer = calibrated(read_scorer(folder, manifest.features, base if manifest.base else None), folder)
    except DeepthinkError:
        raise
    except Exception as error:
        raise BadPolicy(
            f"The policy {manifest.name} cannot be loaded: {_first_line(error)}.", _AGAIN
        ) from error
    return scorer, Rule(manifest.rule.margin, manifest.rule.temperature), manifest


def read_scorer(folder: Path, features: Sequence[str], base: Path | None) -> Scorer:
    """The scorer whose weights are in ``folder``: an encoder on ``base``, else a forest on ``features``.

    Raises:
        ModelMissing, ModelError: the base cannot be loaded.
        OSError, ValueError, KeyError: the weights are not of that kind.
    """
    if base is None:
        from policy.training.forest import Forest

        return Forest.read(folder, features)
    from policy.training.encoder.scorer import read as read_encoder

    return read_encoder(folder, base)


def check_base(manifest: Manifest, base: Path | None) -> None:
    """Raise `BadPolicy` unless ``base`` is the model that the policy was made for."""
    if manifest.base is None:
        return
    if base is None:
        raise BadPolicy(
            f"The policy {manifest.name} needs {manifest.base.name}, which is not on this machine.",
            f"Fetch it: `deepthink models pull {manifest.base.name}`.",
        )
    try:
        actual = fingerprint(base)
    except OSError as error:
        raise BadPolicy(f"The base model in {base} cannot be read: {error.strerror}.", _AGAIN) from error
    if actual != manifest.base.sha256:
        raise BadPolicy(
            f"The policy {manifest.name} was made for another base: {manifest.base.name} with sha256 "
            f"{manifest.base.sha256[:12]}…; that in {base} has {actual[:12]}….",
            _AGAIN,
        )


def fingerprint(base: Path) -> str:
    """sha256 of a base model's weights: of a file, or of a folder's safetensors files in sorted order.

    Raises:
        OSError: they cannot be read, or there are no weights.
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


def _finish(folder: Path, manifest: Manifest) -> None:
    """Write card and manifest, and flush every file to disk."""
    digests = {path: _sha256(folder / path) for path in _files(folder)}
    manifest = manifest.model_copy(update={"files": digests})
    (folder / CARD).write_text(card(manifest), encoding="utf-8")
    digests = {**digests, CARD: _sha256(folder / CARD)}
    (folder / MANIFEST).write_bytes(render(manifest.model_copy(update={"files": digests})))
    for path in _files(folder):
        _sync(folder / path)
    for directory in (folder, *(p for p in folder.rglob("*") if p.is_dir())):
        _sync(directory)


def _reject_foreign(folder: Path) -> None:
    for path in _files(folder):
        file = folder / path
        if file.is_symlink():
            raise BadPolicy(f"{path} in {folder} is a link: a policy is made of files.", _AGAIN)
        if file.suffix.lower() in _PICKLED or _is_pickled(file):
            raise BadPolicy(
                f"{path} in {folder} is pickled or packed: loading it could run a stranger's code.",
                "It is not opened. Policies written by deepthink hold nothing of that kind.",
            )
        if file.suffix.lower() not in _ALLOWED:
            raise BadPolicy(f"{path} in {folder} does not belong to a policy.", "Remove it.")


def _is_pickled(file: Path) -> bool:
    """Whether a file begins like a pickle or an archive.

    A safetensors file whose header is 640 bytes long begins the same way: with this number, in eight bytes,
    and then a brace. In a pickle these eight bytes are a number far beyond the file's size.
    """
    with file.open("rb") as stream:
        start = stream.read(9)
    header = int.from_bytes(start[:8], "little")
    if start[8:] == b"{" and header <= file.stat().st_size - 8:
        return False
    return start.startswith(_PICKLE_STARTS)


def _compare(folder: Path, manifest: Manifest) -> None:
    present = set(_files(folder)) - {MANIFEST}
    for path in manifest.files:
        if path not in present:
            raise BadPolicy(f"The policy {manifest.name} is not whole: {path} is missing.", _AGAIN)
        if _sha256(folder / path) != manifest.files[path]:
            raise BadPolicy(f"The policy {manifest.name} was tampered with: {path} has changed.", _AGAIN)
    for path in sorted(present - set(manifest.files)):
        raise BadPolicy(f"{path} in {folder} is not in its manifest.", "Remove it.")
    if CARD not in manifest.files or not any(path.endswith(".safetensors") for path in manifest.files):
        raise BadPolicy(f"The policy {manifest.name} is not whole: it has no weights or no card.", _AGAIN)


def _check_state(manifest: Manifest) -> None:
    if manifest.state_version != STATE_VERSION:
        raise BadPolicy(
            f"The policy {manifest.name} reads states of version {manifest.state_version}; runs have "
            f"version {STATE_VERSION} now.",
            _AGAIN,
        )
    unknown = [name for name in manifest.features if name not in _known_features()]
    if unknown:
        raise BadPolicy(
            f"The policy {manifest.name} reads “{unknown[0]}”, which states do not have.", _AGAIN
        )


@lru_cache(maxsize=1)
def _known_features() -> frozenset[str]:
    empty = PolicyState(
        question="",
        step=1,
        steps_left=0,
        revisions_left=0,
        tokens_left=0.0,
        plan_done=1,
        open_questions=[],
        last_action="",
        query="",
        fresh=0,
        again=0,
        barren=0,
        top_score=0.0,
        scores=[],
        grade="",
        corrections=0,
        findings=[],
        missing=[],
        evidence=[],
    )
    return frozenset(features(empty))


def _files(folder: Path) -> Iterator[str]:
    """Sorted paths of all entries except folders, with forward slashes."""
    paths = [
        p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_symlink() or not p.is_dir()
    ]
    yield from sorted(paths)


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


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


_AGAIN = "Train it again: `deepthink train-policy`; `deepthink policy list` shows what else there is."
