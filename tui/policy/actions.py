"""What the screen of the policy shows, read and changed in workers: policies, and who decides."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from textual.dom import DOMNode
from textual.message import Message

from tui.app.work import in_background
from tui.policy.training_choice import Source
from tui.terminal import moment

if TYPE_CHECKING:
    from policy.decisions.gathered import Gathered
    from policy.serving.card import Facts
    from policy.serving.registry import Activation, Listed, Registry
    from tui.app.engine import Engine

RULES, LLM, LEARNED = "rules", "llm", "learned"
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
        gain: Its utility over the default schedule on held-out questions, with the interval; "" if unknown.
        said: What the gate said of it.
        reason: Why, or why it cannot be used.
        boxed: Whether it came with this version.
        active: Whether it decides where `learned` decides.
        sections: Everything else there is to know, under titles.
    """

    name: str
    method: str
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
    changes: Facts = ()

    @property
    def active(self) -> PolicyRow | None:
        """The one that decides where `learned` decides."""
        return next((row for row in self.rows if row.active), None)


def read_policies(registry: Registry) -> Policies:
    """Read every policy and its manifest; for a worker."""
    listed = registry.listed()
    single = sum(one.boxed for one in listed) == 1
    return Policies(
        tuple(_row(one, box=one.boxed and single) for one in listed),
        registry.active().warning,
        tuple(_described(change) for change in registry.history()[:_CHANGES]),
    )


def _row(one: Listed, *, box: bool) -> PolicyRow:
    from policy.serving.card import sections
    from policy.serving.manifest import BOX

    name, manifest = BOX if box else one.name, one.manifest
    if manifest is None:
        return PolicyRow(name, "", (), "unusable", one.problem, one.boxed, one.active)
    gate = manifest.gate
    said: GateSaid = "not asked" if gate is None else "passed" if gate.passed else "not passed"
    reason = gate.reason if gate else "The gate was not asked when it was trained."
    measures: Mapping[str, Any] = {**manifest.metrics, **(gate.measures if gate else {})}
    gain = measures.get(_GAIN)
    return PolicyRow(
        name,
        manifest.method,
        tuple(gain) if isinstance(gain, list | tuple) and len(gain) == 3 else (),
        said,
        reason,
        one.boxed,
        one.active,
        sections(manifest),
    )


def _described(change: Activation) -> tuple[str, str]:
    forced = ", although the gate did not pass it" if change.forced else ""
    return moment(change.at), f"{_HOW[change.how]} {change.name}{forced}"


@dataclass(frozen=True, slots=True)
class Deciding:
    """Who takes the decisions of runs to come.

    Attributes:
        decider: Rules, language model or learned policy.
        profile: The profile that says so; "" where the setting ``decider`` does.
        shadow: Whose second opinion is recorded; "" for nobody's.
    """

    decider: str
    profile: str
    shadow: str


@dataclass
class PolicyRead(Message):
    """What was gathered, what was learned, what could be learned from, and who decides."""

    gathered: Gathered
    deciding: Deciding
    policies: Policies
    sources: tuple[Source, ...]


@dataclass
class PolicyChanged(Message):
    """Another policy is active."""

    name: str
    forced: bool


def read_policy(node: DOMNode, engine: Engine) -> None:
    """Read everything in a worker; `PolicyRead` or `Failed` is posted to ``node``."""

    def work() -> Message:
        from policy.decisions.gathered import gathered
        from policy.serving.registry import Registry

        learnable = gathered(engine.store)
        policies = read_policies(Registry())
        return PolicyRead(learnable, _deciding(engine), policies, collected())

    in_background(node, work, group="policy", exclusive=True)


def use_policy(node: DOMNode, row: PolicyRow, *, force: bool) -> None:
    """Make a policy the active one in a worker; `PolicyChanged` or `Failed` is posted to ``node``."""
    _change(node, lambda registry: registry.use(row.name, force=force))


def roll_back(node: DOMNode) -> None:
    """Go back to the policy before in a worker; `PolicyChanged` or `Failed` is posted to ``node``."""
    _change(node, lambda registry: registry.rollback())


def _change(node: DOMNode, change: Callable[[Registry], Activation]) -> None:
    def work() -> Message:
        from policy.serving.registry import Registry

        done = change(Registry())
        return PolicyChanged(done.name, forced=done.forced)

    in_background(node, work, group="promote")


def collected() -> tuple[Source, ...]:
    """The stores that `deepthink collect` has filled, by name."""
    from traces.paths import data_dir

    folder = data_dir() / "collected"
    return tuple(Source(path, path.stat().st_size) for path in sorted(folder.glob("*.duckdb")))


def _deciding(engine: Engine) -> Deciding:
    from agent.profiles import decides

    settings = engine.settings()
    decider = settings.decider or decides(settings.profile, learned=engine.learned() is not None)
    return Deciding(decider, "" if settings.decider else settings.profile, settings.shadow)
