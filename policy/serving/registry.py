"""Which policies there are and which one decides: the boxed ones, always present, and the user's own.

`active.json` beside the user's policies records the active one and the history of changes. It is written
completely or not at all, under a lock; if it cannot be read, what the box names is active, with a warning.
The box that ships names no policy, so that the rules decide.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal

from pydantic import Field, ValidationError

from policy.serving.folder import (
    BOX,
    GAIN,
    MANIFEST,
    BadPolicy,
    CannotWritePolicy,
    Gate,
    Manifest,
    Name,
    Part,
    Verdict,
    is_name,
    read,
    require_base,
)
from traces.errors import DeepthinkError
from traces.paths import data_dir

ACTIVE: Final = "active.json"
"""Records which of the policies beside it is active."""
NOT_ASKED: Final = "The gate was not asked when it was trained."

_SHIPPED = Path(__file__).parents[1] / "box"
_PATIENCE = 10.0


How = Literal["use", "rollback", "train"]
GateVerdict = Verdict | Literal["not asked", "unusable"]
_Name = Name | Literal["box"]


class UnknownPolicy(DeepthinkError, title="No such policy", kind="usage"):
    """Raised when a named policy does not exist."""


class NotPassed(DeepthinkError, title="The gate did not pass this policy", kind="usage"):
    """Raised when a policy that did not pass the gate is to become active."""


class NothingBefore(DeepthinkError, title="Nothing to roll back to", kind="usage"):
    """Raised when there is no earlier policy to roll back to."""


class Activation(Part):
    """One change of the active policy."""

    name: _Name  # the policy that became active
    at: str = Field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    """When, ISO 8601 with the zone."""
    how: How  # ``use`` and ``rollback`` are commands, ``train`` a training whose policy passed
    forced: bool = False  # whether it became active although it had not passed the gate
    reason: str = ""  # the gate's reason, or why it was forced


class _Record(Part):
    """The content of `active.json`; ``before`` lists what `rollback` returns to, the latest first."""

    format: Literal[1] = 1
    active: _Name = BOX
    before: tuple[_Name, ...] = ()
    history: tuple[Activation, ...] = ()


@dataclass(frozen=True, slots=True)
class Listed:
    """An existing policy; ``boxed`` if it came with this version.

    Without a ``manifest`` it cannot be used, for the reason given in ``problem``.
    """

    name: str
    folder: Path
    boxed: bool
    active: bool
    manifest: Manifest | None
    problem: str = ""

    @property
    def verdict(self) -> GateVerdict:
        """What the gate said of it; “unusable” for a policy that cannot be read."""
        if self.manifest is None:
            return "unusable"
        gate = self.manifest.gate
        return gate.verdict if gate else "not asked"

    @property
    def reason(self) -> str:
        """The gate's reason, or why the policy cannot be used."""
        if self.manifest is None:
            return self.problem
        return self.manifest.gate.reason if self.manifest.gate else NOT_ASKED

    @property
    def gain(self) -> tuple[float, ...]:
        """Its utility over the default schedule, with the interval; empty if it was not measured."""
        gate = self.manifest.gate if self.manifest else None
        return tuple(gate.measures.get(GAIN) or ()) if gate else ()


@dataclass(frozen=True, slots=True)
class Active:
    """The active policy, if there is one."""

    name: str  # as it was chosen; `BOX` unless the user chose another
    folder: Path | None  # where it should be; None if the rules decide
    warning: str = ""  # what is wrong with the record, if anything


class Registry:
    """The policies on this machine: the user's own in ``root``, which need not exist, and boxed ones."""

    def __init__(self, root: Path | None = None, box: Path | None = None) -> None:
        self.root = root or policies_dir()
        self._box = box or _SHIPPED

    def listed(self) -> list[Listed]:
        """Every policy: boxed ones first, then the newest first; unusable ones included."""
        record, _ = self._record()
        active = self._place(record.active)
        rows: list[Listed] = []
        for folder in (*_folders(self._box), *reversed(_folders(self.root))):
            manifest, problem = None, ""
            try:
                manifest = _read_usable(folder)
            except BadPolicy as error:
                problem = error.message
            boxed = folder.parent == self._box
            rows.append(Listed(folder.name, folder, boxed, folder == active, manifest, problem))
        return rows

    def active(self) -> Active:
        """What the user chose; what the box names if `active.json` cannot be read."""
        record, warning = self._record()
        return Active(record.active, self._place(record.active), warning)

    def history(self) -> list[Activation]:
        """Every change of the active policy, the latest first."""
        return list(reversed(self._record()[0].history))

    def find(self, name: str) -> Path:
        """The folder of a policy, by its name, an unambiguous prefix of it, or ``box``.

        Raises `UnknownPolicy` if no policy matches, or several do.
        """
        folder = self._place(name)
        if folder is not None and folder.is_dir():
            return folder
        matches = {
            f.name: f for f in [*_folders(self._box), *_folders(self.root)] if f.name.startswith(name)
        }
        if name and len(matches) == 1:
            return next(iter(matches.values()))
        if name == BOX:
            raise UnknownPolicy(
                "This version has no built-in policy.", "`deepthink train-policy` makes one."
            )
        problem = "Several policies begin with" if name and matches else "There is no policy called"
        raise UnknownPolicy(f"{problem} “{name}”.", "`deepthink policy list` shows them.")

    def use(self, name: str, *, force: bool = False, how: How = "use") -> Activation:
        """Make a policy the active one, by a name as in `find`; ``box`` is what decides by default.

        ``force``: even if it did not pass the gate; that is recorded. The active policy does not change if
        it raises `UnknownPolicy`, `NotPassed`, `BadPolicy` or `CannotWritePolicy`.
        """
        if name == BOX and self._boxed_default() is None:
            new_name, passed, reason = BOX, True, "the rules decide"
        else:
            folder = self.find(name)
            gate = _read_usable(folder).gate
            reason = gate.reason if gate else NOT_ASKED
            passed = self._passed(folder, gate)
            if not passed and not force:
                raise NotPassed(
                    f"The gate did not pass {folder.name}: {reason}",
                    f"`deepthink policy use {folder.name} --force` uses it all the same, and records that.",
                )
            new_name = BOX if name == BOX else folder.name
        activation = Activation(name=new_name, how=how, forced=not passed, reason=reason)
        with self._locked_record() as record:
            before = record.before if record.active == new_name else (record.active, *record.before)
            self._write(record, activation, before)
        return activation

    def rollback(self) -> Activation:
        """Return to the policy that was active before; unusable ones are skipped.

        Raises `NothingBefore` if there is none, and `CannotWritePolicy` if the record cannot be written.
        """
        with self._locked_record() as record:
            skipped: list[str] = []
            for position, name in enumerate(record.before):
                folder = self._place(name)
                passed = True
                if folder is not None:  # None is an empty box: the rules decide
                    try:
                        passed = self._passed(folder, _read_usable(folder).gate)
                    except BadPolicy as error:
                        skipped.append(f"{name}: {error.message}")
                        continue
                reason = f"instead of {record.active}"
                if skipped:
                    reason += f"; passed over {' '.join(skipped)}"
                activation = Activation(name=name, how="rollback", forced=not passed, reason=reason)
                self._write(record, activation, record.before[position + 1 :])
                return activation
        usable = " that can still be used" if skipped else ""
        raise NothingBefore(
            f"No policy{usable} was active before.",
            "`deepthink policy use NAME` chooses any of those in `deepthink policy list`.",
        )

    def removable(self, name: str) -> Path:
        """The folder of one of the user's own policies that may be deleted, by its full name.

        Raises `UnknownPolicy` if there is none of that name, it is boxed, or it is active.
        """
        folder = self.root / name
        if not is_name(name) or not folder.is_dir():
            boxed = name == BOX or (is_name(name) and (self._box / name).is_dir())
            explanation = (
                f"{name} came with this version and stays." if boxed else f"You have no policy “{name}”."
            )
            raise UnknownPolicy(explanation, "`deepthink policy list` shows them.")
        if self.active().folder == folder:
            raise UnknownPolicy(f"{name} is active.", "Choose another first: `deepthink policy use NAME`.")
        return folder

    def remove(self, name: str) -> None:
        """Delete one of the user's own policies, by its full name.

        Raises `UnknownPolicy` if it is not `removable`, and `CannotWritePolicy` if it cannot be deleted.
        """
        folder = self.removable(name)
        try:
            shutil.rmtree(folder)
        except OSError as error:
            raise CannotWritePolicy(f"{name} cannot be deleted: {error.strerror}.", "") from error

    def _place(self, name: str) -> Path | None:
        """Where the policy of that name is or would be; the user's own come before boxed ones."""
        if name == BOX:
            return self._boxed_default()
        if not is_name(name):
            return None
        user_folder, boxed_folder = self.root / name, self._box / name
        return boxed_folder if not user_folder.is_dir() and boxed_folder.is_dir() else user_folder

    def _boxed_default(self) -> Path | None:
        """The policy that the box's `ACTIVE` names, if any; without that file the box's first one."""
        folders = _folders(self._box)
        if (self._box / ACTIVE).is_file():
            default = _load(self._box / ACTIVE)[0].active
            folders = [folder for folder in folders if folder.name == default]
        return folders[0] if folders else None

    def _passed(self, folder: Path, gate: Gate | None) -> bool:
        """Whether a policy needs no force: it came with this version, or passed the gate."""
        return folder.parent == self._box or (gate is not None and gate.passed)

    def _record(self) -> tuple[_Record, str]:
        return _load(self.root / ACTIVE)

    @contextmanager
    def _locked_record(self) -> Iterator[_Record]:
        """The record, locked against other processes. An unreadable one is set aside."""
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
        new_record = _Record(active=activation.name, before=before, history=(*record.history, activation))
        temporary = self.root / f".{ACTIVE}"
        with temporary.open("w", encoding="utf-8") as stream:
            stream.write(new_record.model_dump_json(indent=2) + "\n")
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(self.root / ACTIVE)


def policies_dir() -> Path:
    """Folder of the user's own policies."""
    return data_dir() / "policies"


def _read_usable(folder: Path) -> Manifest:
    """The manifest of a complete policy whose base is available. Raises `BadPolicy` for any other."""
    manifest = read(folder)
    require_base(manifest)
    return manifest


def _folders(root: Path) -> list[Path]:
    """Folders that are, or were meant to be, policies, sorted by name."""
    if not root.is_dir():
        return []
    folders = (folder for folder in root.iterdir() if folder.is_dir() and is_name(folder.name))
    return sorted(f for f in folders if (f / MANIFEST).is_file() or any(f.glob("*.safetensors")))


def _load(path: Path) -> tuple[_Record, str]:
    """The record, and what is wrong with the file."""
    try:
        return _Record.model_validate_json(path.read_bytes()), ""
    except FileNotFoundError:
        return _Record(), ""
    except (OSError, ValidationError) as error:
        cause = error.strerror if isinstance(error, OSError) else "it is damaged"
        return _Record(), f"{path} cannot be read ({cause}): what decides by default is active."
