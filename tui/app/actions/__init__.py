"""The one registry of what can be done: keys, footer, palette and help all read it.

An action belongs to a place: the app, a screen, or a widget. Its id stays the same for ever, since people
remap keys by it: ``deepthink config set app.keys "run.pause=f11, app.runs=alt+r"``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from textual.binding import Binding, BindingType

from tui.app.actions import ask, decisions, frame, library, machine, runs
from tui.app.actions.action import Action

__all__ = ["ACTIONS", "Action", "bindings", "every", "keymap"]

ACTIONS: Mapping[str, Sequence[Action]] = {
    "app": frame.APP,
    "failure": frame.FAILURE,
    "ask": ask.ASK,
    "run": ask.RUN,
    "prompt": ask.PROMPT,
    "answer": ask.ANSWER,
    "thinking": ask.THINKING,
    "library": library.LIBRARY,
    "passage": library.PASSAGE,
    "files": library.FILES,
    "file_tree": library.FILE_TREE,
    "search": library.SEARCH,
    "describe": library.DESCRIBE,
    "runs": runs.RUNS,
    "replay": runs.REPLAY,
    "compare": runs.COMPARE,
    "export": runs.EXPORT,
    "unfinished": runs.UNFINISHED,
    "sessions": runs.SESSIONS,
    "strip": decisions.STRIP,
    "decisions": decisions.DECISIONS,
    "policy": decisions.POLICY,
    "models": machine.MODELS,
    "settings": machine.SETTINGS,
    "doctor": machine.DOCTOR,
    "confirm": machine.CONFIRM,
    "help": machine.HELP,
    "welcome": machine.WELCOME,
}
"""Place to its actions, in the order in which help and footer have them."""


def bindings(place: str) -> list[BindingType]:
    """The key bindings of a place, for its ``BINDINGS``."""
    return [
        Binding(
            action.key,
            action.does,
            action.label,
            show=action.shown,
            priority=action.priority,
            tooltip=action.help,
            id=action.id,
        )
        for action in ACTIONS[place]
        if action.key
    ]


def every() -> Iterator[tuple[str, Action]]:
    """Each action with its place."""
    for place, actions in ACTIONS.items():
        for action in actions:
            yield place, action


def keymap(text: str) -> dict[str, str]:
    """Remapped keys by action id, from ``"run.pause=f11, app.runs=alt+r"``.

    Raises:
        ValueError: an action or a key is unknown, a pair has no key, a key is another action's in the same
            place or one around it, or it would keep the prompt from being typed in; in words.
    """
    from tui.app.actions.remap import read

    return read(text, ACTIONS)
