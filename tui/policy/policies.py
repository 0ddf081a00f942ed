"""The policies there are, as rows and in full: plain values, for the command line and the app."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from policy.serving.card import Facts
    from policy.serving.registry import Activation, Listed, Registry

GateSaid = Literal["passed", "not passed", "not asked", "unusable"]

_GAIN = "utility over the default schedule"
_CHANGES = 8  # of the active policy, shown at most
_HOW = {"use": "chosen", "rollback": "rolled back to", "train": "trained"}


@dataclass(frozen=True, slots=True)
class PolicyRow:
    """One policy.

    Attributes:
        name: By which it is chosen; ``box`` for the one that came with this version.
        method: How it was trained; "" if it cannot be used.
        made: When, by this machine's clock.
        questions: It was made from.
        gain: Its utility over the default schedule on held-out questions, with the interval; "" if unknown.
        said: What the gate said of it.
        reason: Why, or why it cannot be used.
        boxed: Whether it came with this version.
        active: Whether it decides where `learned` decides.
        sections: Everything else there is to know, under titles.
    """

    name: str
    method: str
    made: str
    questions: int
    gain: tuple[float, ...]
    said: GateSaid
    reason: str
    boxed: bool
    active: bool
    sections: tuple[tuple[str, Facts], ...] = ()


@dataclass(frozen=True, slots=True)
class Policies:
    """What there is.

    Attributes:
        rows: The box's first, then the newest first.
        warning: What is wrong with the record of the active one; "" if nothing.
        changes: How the active one came to be, the latest first.
    """

    rows: tuple[PolicyRow, ...] = ()
    warning: str = ""
    changes: Facts = field(default=())

    @property
    def active(self) -> PolicyRow | None:
        """The one that decides where `learned` decides."""
        return next((row for row in self.rows if row.active), None)


def read_policies(registry: Registry) -> Policies:
    """Read every policy and its manifest; for a worker."""
    found = registry.listed()
    single = sum(one.boxed for one in found) == 1
    return Policies(
        tuple(_row(one, box=one.boxed and single) for one in found),
        registry.active().warning,
        tuple(_change(change) for change in registry.history()[:_CHANGES]),
    )


def _row(one: Listed, *, box: bool) -> PolicyRow:
    from policy.serving.card import sections
    from policy.serving.manifest import BOX

    name, manifest = BOX if box else one.name, one.manifest
    if manifest is None:
        return PolicyRow(name, "", "", 0, (), "unusable", one.problem, one.boxed, one.active)
    gate = manifest.gate
    said: GateSaid = "not asked" if gate is None else "passed" if gate.passed else "not passed"
    reason = gate.reason if gate else "The gate was not asked when it was trained."
    measures: Mapping[str, Any] = {**manifest.metrics, **(gate.measures if gate else {})}
    gain = measures.get(_GAIN)
    return PolicyRow(
        name,
        manifest.method,
        when(manifest.created),
        manifest.data.questions,
        tuple(gain) if isinstance(gain, list | tuple) and len(gain) == 3 else (),
        said,
        reason,
        one.boxed,
        one.active,
        sections(manifest),
    )


def _change(change: Activation) -> tuple[str, str]:
    forced = ", although the gate did not pass it" if change.forced else ""
    return when(change.at), f"{_HOW[change.how]} {change.name}{forced}"


def when(iso: str) -> str:
    """A moment by this machine's clock."""
    try:
        moment = datetime.fromisoformat(iso)
    except ValueError:
        return iso
    return f"{moment.astimezone():%Y-%m-%d %H:%M}"
