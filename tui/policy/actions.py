"""What the screen of the policy reads and changes, in workers: decisions, policies, and who decides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.dom import DOMNode
from textual.message import Message

from tui.app.work import in_background
from tui.policy.policies import Policies, PolicyRow, read_policies
from tui.policy.training_choice import Source

if TYPE_CHECKING:
    from policy.decisions.gathered import Gathered
    from policy.serving.registry import Activation, Registry
    from tui.app.engine import Engine

RULES, LLM, LEARNED = "rules", "llm", "learned"


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

        found = gathered(engine.store)
        policies = read_policies(Registry())
        return PolicyRead(found, _deciding(engine), policies, collected())

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
