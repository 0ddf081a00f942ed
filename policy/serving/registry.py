"""Which policies there are and which one decides: the box's, which is always there, and a person's own.

`active.json` beside a person's policies says which is active and how it came to be. It is written whole or
not at all, under a lock; where it cannot be read the box is active, with a warning.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from models.catalogue import entry
from models.fetch import installed
from models.protocols import ModelMissing
from policy.serving.folder import MANIFEST, BadPolicy, CannotWritePolicy, Manifest, check_base, read
from policy.serving.manifest import BOX, is_name
from traces.errors import DeepthinkError
from traces.paths import data_dir, models_dir

ACTIVE: Final = "active.json"
"""Says which of the policies beside it decides."""

_SHIPPED = Path(__file__).parents[1] / "box"
_PATIENCE = 10.0


def _called(name: str) -> str:
    if name != BOX and not is_name(name):
        raise ValueError("that is no name of a policy")
    return name


How = Literal["use", "rollback", "train"]
_Name = Annotated[str, AfterValidator(_called)]


class UnknownPolicy(DeepthinkError):
    """Raised when a policy is named that is not there."""

    title = "No such policy"
    kind = "usage"


class NotPassed(DeepthinkError):
    """Raised when a policy is to become active that the gate has not let through."""

    title = "The gate did not pass this policy"
    kind = "usage"


class NothingBefore(DeepthinkError):
    """Raised when there is no earlier policy to go back to."""

    title = "Nothing to roll back to"
    kind = "usage"


class Activation(BaseModel):
    """One change of the active policy.

    Attributes:
        name: What became active.
        at: When, ISO 8601 with the zone.
        how: ``use`` and ``rollback`` are commands, ``train`` a training whose policy passed.
        forced: Whether it became active although the gate had not passed it.
        reason: The gate's reason, or why it was forced.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: _Name
    at: str
    how: How
    forced: bool = False
    reason: str = ""


class _Record(BaseModel):
    """What `active.json` holds; ``before`` is what `rollback` goes back to, the last one first."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[1] = 1
    active: _Name = BOX
    before: tuple[_Name, ...] = ()
    history: tuple[Activation, ...] = ()


@dataclass(frozen=True, slots=True)
class Listed:
    """A policy that is there; ``boxed`` if it came with this version.

    Without a ``manifest`` it cannot be used, because of ``problem``.
    """

    name: str
    folder: Path
    boxed: bool
    active: bool
    manifest: Manifest | None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Active:
    """The active policy.

    Attributes:
        name: As it was chosen; `BOX` unless a person chose another.
        folder: Where it should be; None if it is the box and nothing is in it.
        warning: What is wrong with the record of it, if anything is.
    """

    name: str
    folder: Path | None
    warning: str = ""


class Registry:
    """Args:
    root: Folder of a person's own policies; it need not exist.
    box: Folder of those that came with this version.
    """

    def __init__(self, root: Path | None = None, box: Path | None = None) -> None:
        self.root = root or policies_dir()
        self._box = box or _SHIPPED

    def listed(self) -> list[Listed]:
        """Every policy, the box's first and then the newest first; those that cannot be used as well."""
        record, _ = self._record()
        active = self._place(record.active)
        places = [(folder, True) for folder in _folders(self._box)]
        places += [(folder, False) for folder in reversed(_folders(self.root))]
        return [_look(folder, boxed=boxed, active=folder == active) for folder, boxed in places]

    def active(self) -> Active:
        """The active policy; the box where `active.json` cannot be read."""
        record, warning = self._record()
        return Active(record.active, self._place(record.active), warning)

    def history(self) -> list[Activation]:
        """Every change of the active policy, the latest first."""
        return list(reversed(self._record()[0].history))

    def find(self, name: str) -> Path:
        """The folder of a policy.

        Args:
            name: Its name, the beginning of it if no other begins so, or ``box``.

        Raises:
            UnknownPolicy: there is none, or several.
        """
        place = self._place(name)
        if place is not None and place.is_dir():
            return place
        near = {f.name: f for f in [*_folders(self._box), *_folders(self.root)] if f.name.startswith(name)}
        if name and len(near) == 1:
            return next(iter(near.values()))
        if name == BOX:
            raise UnknownPolicy(
                "This version has no policy in its box.", "`deepthink train-policy` makes one."
            )
        what = "Several policies begin with" if name and near else "There is no policy called"
        raise UnknownPolicy(f"{what} “{name}”.", "`deepthink policy list` shows them.")

    def use(self, name: str, *, force: bool = False, how: How = "use", reason: str = "") -> Activation:
        """Make a policy the active one.

        Args:
            name: As in `find`.
            force: Even if the gate has not passed it; that is recorded.
            how: Who does it.
            reason: Why, where there is more to say than the gate's reason.

        Raises:
            UnknownPolicy, NotPassed, BadPolicy, CannotWritePolicy: the active one stays as it is.
        """
        folder = self.find(name)
        manifest = _usable(folder)
        gate = manifest.gate
        passed = self._passed(folder)
        if not passed and not force:
            said = gate.reason if gate else "The gate was not asked when it was trained."
            raise NotPassed(
                f"{manifest.name}: {said}",
                f"`deepthink policy use {manifest.name} --force` uses it all the same, and records that.",
            )
        said = reason or (gate.reason if gate else "")
        chosen = BOX if name == BOX else folder.name
        activation = Activation(name=chosen, at=_now(), how=how, forced=not passed, reason=said)
        with self._changing() as record:
            before = record.before if record.active == chosen else (record.active, *record.before)
            self._write(record, activation, before)
        return activation

    def rollback(self) -> Activation:
        """Go back to the policy that was active before; one that cannot be used any more is passed over.

        Raises:
            NothingBefore: there is none.
            CannotWritePolicy: the record cannot be written.
        """
        with self._changing() as record:
            passed_over: list[str] = []
            for at, name in enumerate(record.before):
                problem = self._problem(name)
                if problem:
                    passed_over.append(f"{name}: {problem}")
                    continue
                reason = f"instead of {record.active}"
                if passed_over:
                    reason += f"; passed over {' '.join(passed_over)}"
                forced = not self._passed(self._place(name))
                activation = Activation(name=name, at=_now(), how="rollback", forced=forced, reason=reason)
                self._write(record, activation, record.before[at + 1 :])
                return activation
        raise NothingBefore(
            f"No policy was active before {record.active}"
            + (" that can still be used." if passed_over else "."),
            "`deepthink policy use NAME` chooses any of those in `deepthink policy list`.",
        )

    def removable(self, name: str) -> Path:
        """The folder of a person's own policy that may be deleted; its whole name has to be given.

        Raises:
            UnknownPolicy: there is none of that name, it is in the box, or it is active.
        """
        place = self.root / name
        if not is_name(name) or not place.is_dir():
            boxed = name == BOX or (is_name(name) and (self._box / name).is_dir())
            said = f"{name} came with this version and stays." if boxed else f"You have no policy “{name}”."
            raise UnknownPolicy(said, "`deepthink policy list` shows them.")
        if self.active().folder == place:
            raise UnknownPolicy(f"{name} is active.", "Choose another first: `deepthink policy use NAME`.")
        return place

    def remove(self, name: str) -> str:
        """Delete a person's own policy, by its whole name, and return that.

        Raises:
            UnknownPolicy: it is not `removable`.
            CannotWritePolicy: it cannot be deleted.
        """
        place = self.removable(name)
        try:
            shutil.rmtree(place)
        except OSError as error:
            raise CannotWritePolicy(f"{name} cannot be deleted: {error.strerror}.", "") from error
        return name

    def _place(self, name: str) -> Path | None:
        """Where a policy of that name is or would be; a person's own goes before one of the box."""
        if name == BOX:
            return self._shipped()
        if not is_name(name):
            return None
        own, boxed = self.root / name, self._box / name
        return boxed if not own.is_dir() and boxed.is_dir() else own

    def _shipped(self) -> Path | None:
        """The box's own: the only one in it, or the one its `ACTIVE` names."""
        folders = _folders(self._box)
        if len(folders) > 1:
            chosen = _load(self._box / ACTIVE)[0].active
            folders = [folder for folder in folders if folder.name == chosen] or folders
        return folders[0] if folders else None

    def _passed(self, folder: Path | None) -> bool:
        """Whether a policy needs no force: it came with this version, or the gate has let it through."""
        if folder is None or folder.parent == self._box:
            return True
        gate = read(folder).gate
        return gate is not None and gate.passed

    def _problem(self, name: str) -> str:
        place = self._place(name)
        if place is None:
            return "" if name == BOX else "is no name."  # an empty box: the rules decide
        try:
            _usable(place)
        except BadPolicy as bad:
            return bad.message
        return ""

    def _record(self) -> tuple[_Record, str]:
        return _load(self.root / ACTIVE)

    @contextmanager
    def _changing(self) -> Iterator[_Record]:
        """The record, held against other processes. One that cannot be read is put aside."""
        from filelock import FileLock, Timeout

        try:
            self.root.mkdir(parents=True, exist_ok=True)
            with FileLock(self.root / ".lock", timeout=_PATIENCE):
                record, warning = self._record()
                if warning:
                    (self.root / ACTIVE).replace(self.root / "active.damaged.json")
                yield record
        except Timeout as busy:
            raise CannotWritePolicy("Another process is choosing a policy.", "Try again.") from busy
        except OSError as error:
            raise CannotWritePolicy(
                f"The active policy cannot be recorded in {self.root}: {error.strerror}.",
                "Make room, or make the folder writable. The active policy is the one it was.",
            ) from error

    def _write(self, record: _Record, activation: Activation, before: tuple[str, ...]) -> None:
        fresh = _Record(active=activation.name, before=before, history=(*record.history, activation))
        handle, name = tempfile.mkstemp(dir=self.root, prefix=f".{ACTIVE}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                stream.write(fresh.model_dump_json(indent=2) + "\n")
                stream.flush()
                os.fsync(stream.fileno())
            Path(name).replace(self.root / ACTIVE)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


def policies_dir() -> Path:
    """Folder of a person's own policies."""
    return data_dir() / "policies"


def base_of(manifest: Manifest) -> Path | None:
    """Where the base model of a policy lies; None if it needs none or is not on this machine.

    A base is named as in the catalogue, or by the name of its folder in the models folder, or by its path.
    """
    if manifest.base is None:
        return None
    name = manifest.base.name
    try:
        return installed(entry(name))
    except ModelMissing:  # not of the catalogue
        place = models_dir() / name  # an absolute path stands for itself
        return place if place.exists() else None


def _usable(folder: Path) -> Manifest:
    """The manifest of a policy that is whole and has its base. Raises `BadPolicy` for any other."""
    manifest = read(folder)
    check_base(manifest, base_of(manifest))
    return manifest


def _look(folder: Path, *, boxed: bool, active: bool) -> Listed:
    try:
        manifest = _usable(folder)
    except BadPolicy as bad:
        return Listed(folder.name, folder, boxed, active, None, bad.message)
    return Listed(folder.name, folder, boxed, active, manifest)


def _folders(root: Path) -> list[Path]:
    """Those that are, or were meant to be, policies: by name."""
    if not root.is_dir():
        return []
    return sorted(f for f in root.iterdir() if f.is_dir() and is_name(f.name) and _is_policy(f))


def _is_policy(folder: Path) -> bool:
    return (folder / MANIFEST).is_file() or any(folder.glob("*.safetensors"))


def _load(path: Path) -> tuple[_Record, str]:
    """The record, and what is wrong with the file."""
    try:
        return _Record.model_validate_json(path.read_bytes()), ""
    except FileNotFoundError:
        return _Record(), ""
    except (OSError, ValidationError) as error:
        what = error.strerror if isinstance(error, OSError) else "it is damaged"
        return _Record(), f"{path} cannot be read ({what}): the policy in the box is active."


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
