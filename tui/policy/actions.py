"""What the screen of the policy reads and changes, in workers: decisions, policies, and who decides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from textual.dom import DOMNode
from textual.message import Message

from tui.app.work import in_background
from tui.policy.policies import Policies, PolicyRow, read_policies
from tui.policy.training_choice import Source

if TYPE_CHECKING:
    from policy.decisions.gathered import Gathered
    from policy.serving.registry import Activation, Registry
    from tui.app.engine import Engine
    from tui.settings.settings import Entry

RULES, LLM, LEARNED, NOBODY = "rules", "llm", "learned", ""
SOURCES: Final = (RULES, LLM, LEARNED)
"""Who can decide, in the order in which a key goes through them."""


@dataclass(frozen=True, slots=True)
class Deciding:
    """Who takes the decisions of runs to come.

    Attributes:
        decider: One of `SOURCES`.
        profile: The profile that says so; "" where the setting ``decider`` does.
        shadow: Whose second opinion is recorded; "" for nobody's.
        fixed: Settings that the environment has, which the settings file cannot change, with the
            variable of each.
    """

    decider: str
    profile: str
    shadow: str
    fixed: dict[str, str]


@dataclass
class PolicyRead(Message):
    """What was gathered, what was learned, what could be learned from, and who decides."""

    gathered: Gathered
    deciding: Deciding
    policies: Policies
    sources: tuple[Source, ...]


@dataclass
class DecidingChanged(Message):
    """The settings say something else now."""

    deciding: Deciding


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


def change_setting(node: DOMNode, engine: Engine, key: str, value: str) -> None:
    """Write ``decider`` or ``shadow`` in a worker; `DecidingChanged` or `Failed` is posted to ``node``."""

    def work() -> Message:
        from tui.settings import file

        file.put(key, value)
        engine.reload()
        return DecidingChanged(_deciding(engine))

    in_background(node, work, group="setting")


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


def after(now: str, values: list[str]) -> str:
    """The value after ``now``, the first after the last."""
    return values[(values.index(now) + 1) % len(values)] if now in values else values[0]


def _deciding(engine: Engine) -> Deciding:
    from agent.profiles import decides
    from tui.settings.settings import entries

    found: dict[str, Entry] = {e.key: e for e in entries() if e.key in {"decider", "shadow", "profile"}}
    decider, profile = str(found["decider"].value), str(found["profile"].value)
    fixed = {key: e.origin for key, e in found.items() if e.layer == "environment"}
    return Deciding(
        decider or decides(profile, learned=engine.learned() is not None),
        "" if decider else profile,
        str(found["shadow"].value),
        fixed,
    )
