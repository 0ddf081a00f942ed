"""What the app shows of policies: the policies, who decides, and what there is to learn from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tui.terminal import counted, moment

if TYPE_CHECKING:
    from policy.serving.registry import Listed, Registry
    from traces.decisions import Counts
    from tui.app.engine import Engine

CHANGES: Final = "How the active policy came to be"
FORCED: Final = ", although the gate did not pass it"
_CHANGES = 8  # most changes of the active policy shown
_HOW = {"use": "chosen", "rollback": "rolled back to", "train": "trained"}


def change_facts(registry: Registry) -> list[tuple[str, str]]:
    """When and how the last policies became active, the latest first."""
    return [
        (moment(change.at), f"{_HOW[change.how]} {change.name}{FORCED if change.forced else ''}")
        for change in registry.history()[:_CHANGES]
    ]


def enough(counts: Counts) -> str:
    """For what policies the decisions are enough to learn from, and how many of them do not count."""
    from policy.decisions import usable
    from policy.training.material import NEEDED

    forest, encoder = NEEDED["forest"], NEEDED["encoder"]
    decisions = usable(counts)
    older = sum(counts.sources.values()) - decisions
    uncounted = f" {older:,} of an older encoding cannot be learnt from." if older else ""
    if decisions < forest:
        return f"Not enough decisions yet: {decisions} of at least {forest}.{uncounted}"
    more = "" if decisions >= encoder else f" for a forest; an encoder needs about {encoder:,}"
    return f"{decisions:,} decisions, enough{more}.{uncounted}"


def corrected(counts: Counts, plans: int) -> str:
    """How many decisions and plans the user corrected, as a sentence after a space; "" if none."""
    labels = sum(counts.origins.values())
    done = [
        *([f"labelled {labels:,}"] if labels else []),
        *([f"corrected {counted(plans, 'plan')}"] if plans else []),
    ]
    return f" You {' and '.join(done)}." if done else ""


@dataclass(frozen=True, slots=True)
class Overview:
    """Who decides in future runs, all policies, and what there is to learn from."""

    decider: str  # rules, language model or learned policy
    profile: str  # the profile that sets it; "" if the setting ``decider`` does
    rows: Sequence[Listed]  # the shipped policies first, then the newest first
    warning: str  # what is wrong with the record of the active one; "" if nothing
    changes: Sequence[tuple[str, str]]  # as `change_facts` gives them
    counts: Counts  # what the user's own store holds to learn from
    stores: Sequence[Path]  # those that `deepthink collect` filled, sorted by name
    plans: int  # that the user corrected

    @property
    def active(self) -> Listed | None:
        """The policy that decides if `learned` decides."""
        return next((row for row in self.rows if row.active), None)


def read_state(engine: Engine) -> Overview:
    """Read everything. Call it in a worker."""
    from agent.profiles import decides
    from policy.serving.registry import Registry
    from traces.decisions import count_decisions
    from traces.paths import data_dir
    from traces.runs import CorrectedPlans

    settings, registry = engine.settings(), Registry()
    active = registry.active()
    return Overview(
        decider=settings.decider or decides(settings.profile, learned=active.folder is not None),
        profile="" if settings.decider else settings.profile,
        rows=registry.listed(),
        warning=active.warning,
        changes=change_facts(registry),
        counts=count_decisions(engine.store),
        stores=sorted((data_dir() / "collected").glob("*.duckdb")),
        plans=len(CorrectedPlans(engine.store).all()),
    )
