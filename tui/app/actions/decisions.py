"""What is possible with decisions and the policy that takes them."""

from __future__ import annotations

from tui.app.actions.action import Action

DECISIONS: tuple[Action, ...] = ()
POLICY: tuple[Action, ...] = ()
