"""What is asked before a policy is used that the gate did not pass, and before a training is stopped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from textual.app import App

from tui.app.screens.confirm import ConfirmScreen
from tui.app.widgets.policy_rows import PolicyRow


def ask_to_force(app: App[Any], row: PolicyRow, then: Callable[[], object]) -> None:
    """Ask, saying why the gate did not pass it; ``then`` is called after a yes."""
    asked = row.said != "not asked"
    question = f"Use {row.name}, which the gate {'did not pass' if asked else 'was not asked about'}?"
    recorded = "It is recorded as forced. The policy before stays, and can be gone back to."
    _ask(app, ConfirmScreen(question, f"{row.reason}\n\n{recorded}", yes="Use"), then)


def ask_to_stop(app: App[Any], then: Callable[[], object]) -> None:
    """Ask, saying what is kept; ``then`` is called after a yes."""
    kept = "It ends after the step under way. What it saved is kept: the same training goes on from there."
    _ask(app, ConfirmScreen("Stop the training?", kept, yes="Stop"), then)


def _ask(app: App[Any], window: ConfirmScreen, then: Callable[[], object]) -> None:
    def answered(yes: bool | None) -> None:
        if yes:
            then()

    app.push_screen(window, answered)
