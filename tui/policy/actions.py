"""What the policy screen shows: the policies, who decides, and what there is to learn from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tui.terminal import moment

if TYPE_CHECKING:
    from policy.serving.registry import Activation, Listed, Registry
    from traces.decisions import Counts
    from tui.app.engine import Engine

RULES, LLM, LEARNED = "rules", "llm", "learned"

_CHANGES = 8  # most changes of the active policy shown
_HOW = {"use": "chosen", "rollback": "rolled back to", "train": "trained"}


@dataclass(frozen=True, slots=True)
class Policies:
    """All policies.

    Attributes:
        rows: The shipped ones first, then the newest first.
        warning: What is wrong with the record of the active one; "" if nothing.
        changes: When and how each policy became active, the latest first.
    """

    rows: Sequence[Listed] = ()
    warning: str = ""
    changes: Sequence[tuple[str, str]] = ()

    @property
    def active(self) -> Listed | None:
        """The policy that decides if `learned` decides."""
        return next((row for row in self.rows if row.active), None)


def read_policies(registry: Registry) -> Policies:
    """Read every policy and its manifest. Call it in a worker."""
    changes = [_change_facts(change) for change in registry.history()[:_CHANGES]]
    return Policies(registry.listed(), registry.active().warning, changes)


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


@dataclass(frozen=True, slots=True)
class PolicyState:
    """What the store counts to learn from, who decides, the policies, and the collected stores."""

    counts: Counts
    deciding: Deciding
    policies: Policies
    stores: Sequence[Path]


def read_state(engine: Engine) -> PolicyState:
    """Read everything. Call it in a worker."""
    from policy.serving.registry import Registry
    from traces.decisions import count_decisions

    counts = count_decisions(engine.store)
    return PolicyState(counts, _read_deciding(engine), read_policies(Registry()), collected_stores())


def collected_stores() -> list[Path]:
    """The stores that `deepthink collect` filled, sorted by name."""
    from traces.paths import data_dir

    return sorted((data_dir() / "collected").glob("*.duckdb"))


def _read_deciding(engine: Engine) -> Deciding:
    from agent.profiles import decides

    settings = engine.settings()
    decider = settings.decider or decides(settings.profile, learned=engine.learned() is not None)
    return Deciding(decider, "" if settings.decider else settings.profile, settings.shadow)
