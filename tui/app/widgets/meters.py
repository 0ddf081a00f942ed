"""One line under the conversation: what works, at what cost, against which budget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.content import Content
from textual.widgets import Static

from tui.terminal import duration

if TYPE_CHECKING:
    from tui.app.fold import Part, RunFold

_PARTS = {"meters", "status", "question"}
_GAP = "  "


class Meters(Static):
    """Model, profile, who decides, whether the web is off; tokens, speed, seconds, budget."""

    DEFAULT_CSS = """
    Meters { height: 1; background: $panel; color: $foreground 85%; padding: 0 1; }
    """

    def __init__(self) -> None:
        super().__init__(markup=False)
        self.model = ""
        self.profile = ""
        self.decider = ""
        self.offline = True
        self.teaching = False
        self.tokens = 0  # the budget's
        self._fold: RunFold | None = None

    def on_mount(self) -> None:
        """Draw what is known."""
        self.redraw()

    def on_resize(self) -> None:
        """What fits depends on the width."""
        self.redraw()

    def show(self, fold: RunFold, changed: frozenset[Part]) -> None:
        """Draw what changed."""
        self._fold = fold
        if changed & _PARTS:
            self.redraw()

    def clear_away(self) -> None:
        """No run is shown any more: only what is set is told."""
        self._fold = None
        self.redraw()

    def redraw(self) -> None:
        """Draw the line; where it is narrow, numbers are rounded and what matters least falls off."""
        width = max(self.size.width - 2, 1)
        parts = self._parts(exact=True)
        if _length(parts) > width:
            parts = self._parts(exact=False)
        while _length(parts) > width and len(parts) > 1:
            parts.remove(max(parts, key=lambda part: part[0]))
        self.update(Content(_GAP.join(text for _, text in parts)))

    def _parts(self, *, exact: bool) -> list[tuple[int, str]]:
        """What there is to tell, in order, each with its rank: what has the highest can be done without."""
        started = self._fold.outcome.started if self._fold else None
        setting = [
            (5, (started.chat_model if started else self.model).removeprefix("llama.cpp:")),
            (8, started.profile if started else self.profile),
            (7, f"decides: {started.decider.partition(':')[0] if started else self.decider}"),
            (0, "● offline" if self.offline else "○ web on"),
            (1, "teaching" if self.teaching else ""),
        ]
        return [part for part in [*setting, *(self._cost(exact=exact) if self._fold else [])] if part[1]]

    def _cost(self, *, exact: bool) -> list[tuple[int, str]]:
        assert self._fold is not None
        evaluated, reused, generated = self._fold.usage
        share = f"{reused / (evaluated + reused):.0%}" if reused else ""
        speed = self._fold.tokens_per_second
        return [
            (3, f"read {_count(evaluated, exact=exact)}"),
            (4, f"reused {reused:,} ({share})" if exact and share else f"reused {share or 0}"),
            (3, f"written {_count(generated, exact=exact)}"),
            (6, f"{speed:.1f} tok/s" if speed is not None else ""),
            (1, duration(self._fold.elapsed)),
            (2, f"budget {min(1.0, (evaluated + generated) / self.tokens):.0%}" if self.tokens else ""),
        ]


def _length(parts: Sequence[tuple[int, str]]) -> int:
    return len(_GAP.join(text for _, text in parts))


def _count(tokens: int, *, exact: bool) -> str:
    return f"{tokens:,}" if exact or tokens < 1000 else f"{tokens / 1000:.1f}k"
