"""What is possible everywhere, and in the windows that lie over a screen."""

from __future__ import annotations

from tui.app.actions.action import Action


def _screen(key: str, mode: str, label: str, help_text: str) -> Action:
    return Action(f"app.{mode}", key, f"mode('{mode}')", label, help_text, shown=False, priority=True)


APP = (
    Action("app.help", "f1", "help", "Help", "Help for what has the focus.", priority=True),
    _screen("f2", "ask", "Ask", "Ask, and watch the thinking."),
    _screen("f3", "library", "Library", "Documents: read more, look into them, search them."),
    _screen("f4", "runs", "Runs", "Every run that is stored."),
    _screen("f5", "decisions", "Decisions", "The decisions of a run, and yours about them."),
    _screen("f6", "policy", "Policy", "What decides, and what it learns from."),
    _screen("f7", "models", "Models", "The models on this machine."),
    _screen("f8", "settings", "Settings", "Everything that can be set."),
    _screen("f9", "doctor", "Doctor", "What is missing on this machine, and what to do."),
    Action("app.palette", "ctrl+p", "command_palette", "Palette", "Find anything that can be done."),
    Action("app.failure", "ctrl+r", "failure", "Last error", "What failed, in full, to copy.", shown=False),
    Action("app.quit", "ctrl+q", "quit", "Quit", "Leave; what was going on can be resumed.", priority=True),
)
FAILURE = (
    Action("failure.copy", "c", "copy", "Copy", "Put the whole text on the clipboard."),
    Action("failure.close", "escape", "close", "Close", "Back to the screen beneath."),
)
