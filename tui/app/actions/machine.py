"""What is possible with models, settings and the machine."""

from __future__ import annotations

from tui.app.actions.action import Action

MODELS: tuple[Action, ...] = ()
SETTINGS: tuple[Action, ...] = ()
DOCTOR: tuple[Action, ...] = ()
CONFIRM = (
    Action("confirm.yes", "y", "yes", "Yes", "Do what is asked."),
    Action("confirm.no", "n,escape", "no", "No", "Leave everything as it is."),
    Action("confirm.move", "left,right", "app.focus_next", "Other", "Go to the other choice.", shown=False),
)
