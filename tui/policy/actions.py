"""Reading and changing, in workers, what the policy screen shows: the policies, and who decides."""

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
GateVerdict = Literal["passed", "not passed", "not asked", "unusable"]

_GAIN = "utility over the default schedule"
_CHANGES = 8  # most changes of the active policy shown
_HOW = {"use": "chosen", "rollback": "rolled back to", "train": "trained"}


@dataclass(frozen=True, slots=True)
class PolicyRow:
    """One policy.

    Attributes:
        name: Its name; ``box`` for the one shipped with this version.
        method: How it was trained; "" if it cannot be used.
        gain: Its utility over the default schedule on held-out questions, with the interval; "" if unknown.
        verdict: Of the gate.
        reason: The gate's reason, or why the policy cannot be used.
        boxed: Whether it was shipped with this version.
        active: Whether it decides if `learned` decides.
        sections: All other facts, under titles.
    """

    name: str
    method: str
    gain: tuple[float, ...]
    verdict: GateVerdict
    reason: str
    boxed: bool
    active: bool
    sections: tuple[tuple[str, Facts], ...] = ()


@dataclass(frozen=True, slots=True)
class Policies:
    """All policies.

    Attributes:
        rows: The shipped one first, then the newest first.
        warning: What is wrong with the record of the active one; "" if nothing.
        changes: When and how each policy became active, the latest first.
    """

    rows: tuple[PolicyRow, ...] = ()
    warning: str = ""
    changes: Facts = ()

    @property
    def active(self) -> PolicyRow | None:
        """The policy that decides if `learned` decides."""
        return next((row for row in self.rows if row.active), None)


def read_policies(registry: Registry) -> Policies:
    """Read every policy and its manifest. Call it in a worker."""
    policies = registry.listed()
    single = sum(policy.boxed for policy in policies) == 1
    return Policies(
        tuple(_row(policy, is_the_box=policy.boxed and single) for policy in policies),
        registry.active().warning,
        tuple(_change_facts(change) for change in registry.history()[:_CHANGES]),
    )


def _row(policy: Listed, *, is_the_box: bool) -> PolicyRow:
    from policy.serving.card import sections
    from policy.serving.manifest import BOX

    name, manifest = BOX if is_the_box else policy.name, policy.manifest
    if manifest is None:
        return PolicyRow(name, "", (), "unusable", policy.problem, policy.boxed, policy.active)
    gate = manifest.gate
    verdict: GateVerdict = "not asked" if gate is None else "passed" if gate.passed else "not passed"
    reason = gate.reason if gate else "The gate was not asked when it was trained."
    measures: Mapping[str, Any] = {**manifest.metrics, **(gate.measures if gate else {})}
    gain = measures.get(_GAIN)
    return PolicyRow(
        name,
        manifest.method,
        tuple(gain) if isinstance(gain, list | tuple) and len(gain) == 3 else (),
        verdict,
        reason,
        policy.boxed,
        policy.active,
        sections(manifest),
    )


def _change_facts(change: Activation) -> tuple[str, str]:
    forced = ", although the gate did not pass it" if change.forced else ""
    return moment(change.at), f"{_HOW[change.how]} {change.name}{forced}"


@dataclass(frozen=True, slots=True)
class Deciding:
    """Who decides in future runs.

    Attributes:
        decider: Rules, language model or learned policy.
        profile: The profile that sets it; "" if the setting ``decider`` does.
        shadow: Whose second opinion is recorded; "" for none.
    """

    decider: str
    profile: str
    shadow: str


@dataclass
class PolicyRead(Message):
    """The gathered decisions, who decides, the policies, and the stores to learn from."""

    gathered: Gathered
    deciding: Deciding
    policies: Policies
    sources: tuple[Source, ...]


@dataclass
class PolicyChanged(Message):
    """Another policy became active."""

    name: str
    forced: bool


def read_policy(node: DOMNode, engine: Engine) -> None:
    """Read everything in a worker; `PolicyRead` or `Failed` is posted to ``node``."""

    def work() -> Message:
        from policy.decisions.gathered import gathered
        from policy.serving.registry import Registry

        learnable = gathered(engine.store)
        policies = read_policies(Registry())
        return PolicyRead(learnable, _read_deciding(engine), policies, collected_stores())

    in_background(node, work, group="policy", exclusive=True)


def use_policy(node: DOMNode, row: PolicyRow, *, force: bool) -> None:
    """Make a policy the active one in a worker; `PolicyChanged` or `Failed` is posted to ``node``."""
    _change(node, lambda registry: registry.use(row.name, force=force))


def roll_back(node: DOMNode) -> None:
    """Go back to the previous policy in a worker; `PolicyChanged` or `Failed` is posted to ``node``."""
    _change(node, lambda registry: registry.rollback())


def _change(node: DOMNode, change: Callable[[Registry], Activation]) -> None:
    def work() -> Message:
        from policy.serving.registry import Registry

        activation = change(Registry())
        return PolicyChanged(activation.name, forced=activation.forced)

    in_background(node, work, group="promote")


def collected_stores() -> tuple[Source, ...]:
    """The stores that `deepthink collect` filled, sorted by name."""
    from traces.paths import data_dir

    folder = data_dir() / "collected"
    return tuple(Source(path, path.stat().st_size) for path in sorted(folder.glob("*.duckdb")))


def _read_deciding(engine: Engine) -> Deciding:
    from agent.profiles import decides

    settings = engine.settings()
    decider = settings.decider or decides(settings.profile, learned=engine.learned() is not None)
    return Deciding(decider, "" if settings.decider else settings.profile, settings.shadow)
