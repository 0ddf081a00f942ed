"""How often two sources of decisions agree, in all and on the last day, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from textual.content import Content

from tui.decisions.strip import percent, source

if TYPE_CHECKING:
    from traces.decisions import Agreement

_NOTHING = """\
No two sources have judged the same state yet. With a second opinion, or with labels of yours, this shows
how often they agree."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two sources, and how often they agreed on each day on which both judged."""

    first: str
    second: str
    days: tuple[Agreement, ...]

    @property
    def compared(self) -> int:
        """Decisions that both judged."""
        return sum(day.compared for day in self.days)

    @property
    def share(self) -> float:
        """Of them, those in which they agreed."""
        return sum(day.agreed for day in self.days) / self.compared

    @property
    def name(self) -> str:
        """Both, in words."""
        return f"{source(self.first)} and {source(self.second)}"


def pairs(agreement: Sequence[Agreement]) -> list[Pair]:
    """The pairs, those that judged most together first."""
    found: dict[tuple[str, str], list[Agreement]] = {}
    for day in agreement:
        found.setdefault((day.first, day.second), []).append(day)
    listed = [Pair(first, second, tuple(days)) for (first, second), days in found.items()]
    return sorted(listed, key=lambda pair: (-pair.compared, pair.name))


def table(agreement: Sequence[Agreement]) -> Content:
    """Each pair with its agreement; a sentence while there is nothing to compare."""
    title = Content.styled("Agreement", "bold $primary")
    listed = pairs(agreement)
    if not listed:
        return Content("\n").join([title, Content.styled(_NOTHING, "$foreground 65%")])
    lines = [title, Content.styled(f"{'':<18}{'agree':>6}{'compared':>10}  last day", "$foreground 65%")]
    for pair in listed:
        last = pair.days[-1]
        latest = f"{percent(last.agreed / last.compared)} of {last.compared:,}, {_day(last.day)}"
        lines.append(Content(f"{pair.name:<18}{percent(pair.share):>6}{pair.compared:>10,}  {latest}"))
    return Content("\n").join(lines)


def _day(day: date) -> str:
    return f"{day.day} {day:%b}"
