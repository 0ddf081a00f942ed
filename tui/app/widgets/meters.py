"""One line under the conversation: what works, at what cost, against which budget."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content
from textual.widgets import Static

from tui.terminal import duration

if TYPE_CHECKING:
    from tui.app.fold import Part, RunFold

_PARTS = {"meters", "status", "question"}


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

    def redraw(self) -> None:
        """Draw the line; what matters least falls off a narrow one first."""
        started = self._fold.outcome.started if self._fold else None
        setting = [
            (started.chat_model if started else self.model).removeprefix("llama.cpp:"),
            started.profile if started else self.profile,
            f"decides: {started.decider if started else self.decider}",
            "● offline" if self.offline else "○ web on",
            *(["teaching"] if self.teaching else []),
        ]
        cost = self._cost() if self._fold else []
        width = max(self.size.width - 2, 1)
        while len("  ".join([*setting, *cost])) > width and len(setting) > 2:
            setting.pop(1)
        self.update(Content("  ".join(part for part in [*setting, *cost] if part)))

    def _cost(self) -> list[str]:
        assert self._fold is not None
        evaluated, reused, generated = self._fold.usage
        share = f" ({reused / (evaluated + reused):.0%})" if reused else ""
        parts = [f"read {evaluated:,}", f"reused {reused:,}{share}", f"written {generated:,}"]
        speed = self._fold.tokens_per_second
        if speed is not None:
            parts.append(f"{speed:.1f} tok/s")
        parts.append(duration(self._fold.elapsed))
        if self.tokens:
            parts.append(f"budget {min(1.0, (evaluated + generated) / self.tokens):.0%}")
        return parts
