"""What is possible with stored runs."""

from __future__ import annotations

from tui.app.actions.action import Action

RUNS: tuple[Action, ...] = ()
REPLAY: tuple[Action, ...] = ()
COMPARE: tuple[Action, ...] = ()
