"""The policies there are, as rows and in full: plain values, for the command line and the app."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from policy.serving.manifest import Manifest
    from policy.serving.registry import Activation, Listed, Registry

GateSaid = Literal["passed", "not passed", "not asked", "unusable"]
Facts = tuple[tuple[str, str], ...]
"""Names and what there is to say of them."""

_GAIN = "utility over the default schedule"
_CHANGES = 8  # of the active policy, told at most
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
    """Every policy, with what its manifest tells; meant for a worker."""
    found = registry.listed()
    single = sum(one.boxed for one in found) == 1
    return Policies(
        tuple(_row(one, box=one.boxed and single) for one in found),
        registry.active().warning,
        tuple(_change(change) for change in registry.history()[:_CHANGES]),
    )


def figure(value: Any) -> str:
    """A setting or a measure; one with its interval as `difference`."""
    from policy.serving.card import in_words

    if isinstance(value, list | tuple) and len(value) == 3 and all(isinstance(n, float) for n in value):
        return difference(tuple(value))
    return in_words(value)


def difference(interval: tuple[float, ...]) -> str:
    """Estimate, low and high end with their signs."""
    estimate, low, high = (f"{value:+.3f}" for value in interval)
    return f"{estimate} [{low}, {high}]"


def _row(one: Listed, *, box: bool) -> PolicyRow:
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


def sections(manifest: Manifest) -> tuple[tuple[str, Facts], ...]:
    """What a policy was made from, how it was measured and set, under titles."""
    from policy.serving.card import method_in_words

    data, gate = manifest.data, manifest.gate
    made = [
        ("policy", manifest.name),
        ("method", method_in_words(manifest.method)),
        ("made", when(manifest.created)),
        ("by", manifest.command or "a command that was not recorded"),
        ("base model", manifest.base.name if manifest.base else "none"),
        ("questions", f"{data.questions:,}{_counted(data.datasets)}"),
        ("decisions", f"{data.decisions:,}{_counted(data.sources)}"),
        ("margin", f"{manifest.rule.margin:g}, temperature {manifest.rule.temperature:g}"),
        ("reads", f"states of version {manifest.state_version}, {len(manifest.features)} numbers of each"),
    ]
    told: list[tuple[str, Facts]] = [
        ("Made from", tuple(made)),
        ("Measured on held-out questions", _facts(manifest.metrics)),
    ]
    if gate is not None:
        told.append(("What the gate measured", (*_facts(gate.measures), ("the rule", gate.rule))))
    told += [("Settings", _facts(manifest.settings)), ("Trained with", _facts(manifest.versions))]
    return tuple((title, facts) for title, facts in told if facts)


def _facts(values: Mapping[str, Any], before: str = "") -> Facts:
    found: list[tuple[str, str]] = []
    for name, value in values.items():
        if isinstance(value, Mapping):
            found += _facts(value, f"{before}{name}, ")
        else:
            found.append((f"{before}{name}", figure(value)))
    return tuple(found)


def _counted(counts: Mapping[str, int]) -> str:
    told = ", ".join(f"{name} {count:,}" for name, count in counts.items())
    return f" ({told})" if told else ""


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
