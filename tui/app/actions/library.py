"""What is possible with documents, passages and files."""

from __future__ import annotations

from tui.app.actions.action import Action

LIBRARY: tuple[Action, ...] = ()
PASSAGE: tuple[Action, ...] = ()
FILES: tuple[Action, ...] = ()
