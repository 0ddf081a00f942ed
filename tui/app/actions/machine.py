"""What is possible with models, settings and the machine."""

from __future__ import annotations

from tui.app.actions.action import Action

MODELS: tuple[Action, ...] = ()
SETTINGS: tuple[Action, ...] = ()
DOCTOR: tuple[Action, ...] = ()
