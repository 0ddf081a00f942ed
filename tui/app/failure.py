"""The last failures in full, with ways out that work in the app."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.dom import DOMNode
from textual.screen import ModalScreen
from textual.widgets import Static, TextArea

from traces.errors import DeepthinkError
from tui.app.base import KeyLine
from tui.app.keys import ACTIONS_BY_ID, bindings
from tui.app.reach import deepthink
from tui.app.work import Failed

_WAYS_OUT: Final[Mapping[str, str]] = {
    "NoModelYet": "Fetch one in {models}; a file or an Ollama model can be chosen there too.",
    "ModelMissing": "Fetch it in {models}, or choose another one there.",
    "EmptyLibrary": "Add documents in {library}, or read the samples there.",
    "WebOff": "Turn on web in {settings}.",
}
"""By class name, since the modules of the classes take long to import."""

_PHRASES: Final = (
    (re.compile(r', for example: deepthink ask "[^"]*"'), "."),
    (re.compile(r"`deepthink ingest` it\b"), "read it in {library}"),
    (re.compile(r"`deepthink config set (\S+) [^`]*`"), r"\1 in {settings}"),
    (re.compile(r", or `deepthink config unset [^`]*`"), ""),
    (re.compile(r"\brun the command again\b"), "try again"),
)
_COMMAND: Final = re.compile(r"[`“]deepthink ([a-z-]+)[^`”]*[`”]")
_SCREENS: Final[Mapping[str, str]] = {
    **{name: name for name in "ask doctor library models runs sessions".split()},
    **dict.fromkeys(("policy", "traces", "train-policy"), "learn"),
    "config": "settings",
    "demo": "library",
    "ingest": "library",
    "resume": "runs",
}
"""Command to the equivalent screen."""


def in_the_app(error: DeepthinkError, keys: Mapping[str, str]) -> str:
    """The error's way out, with commands replaced by the app's screens and keys, remapped by ``keys``."""
    if "deepthink " not in error.way_out:
        return error.way_out
    return in_words_of_the_app(_WAYS_OUT.get(type(error).__name__, error.way_out), keys)


def in_words_of_the_app(text: str, keys: Mapping[str, str]) -> str:
    """``text`` with its commands replaced by the app's screens, with their keys as in `in_the_app`."""

    def named(screen: re.Match[str]) -> str:
        action = ACTIONS_BY_ID.get("ask.sessions" if screen[1] == "sessions" else f"app.{screen[1]}")
        if action is None:  # braces of the message
            return screen[0]
        return f"{keys.get(action.id, action.key).split(',')[0].upper()} {action.label}"

    for pattern, replacement in _PHRASES:
        text = pattern.sub(replacement, text)
    text = _COMMAND.sub(lambda one: f"{{{_SCREENS[one[1]]}}}" if one[1] in _SCREENS else one[0], text)
    return re.sub(r"\{(\w+)\}", named, text)


def way_out(node: DOMNode, error: DeepthinkError) -> str:
    return in_the_app(error, deepthink(node).keys)


def failure_text(node: DOMNode, error: DeepthinkError, again: str = "") -> Content:
    """Title, message, way out and the action ``again``, for a screen that has nothing else to show."""
    hint = f"\n{deepthink(node).key_for(again)} tries again." if again else ""
    lines = filter(None, (error.message, way_out(node, error), hint))
    return Content.assemble((f"✗ {error.title}", "bold $error"), "\n\n", "\n".join(lines))


class FailureScreen(ModalScreen[None]):
    """Title, message and way out of each failure, newest first; a program fault with its traceback."""

    BINDINGS = bindings("failure")
    HELP = "What went wrong, newest first, with a way out. Shift and the arrows select text."

    def __init__(self, failures: Sequence[Failed], keys: Mapping[str, str]) -> None:
        super().__init__()
        texts: list[str] = []
        for failure in reversed(failures):
            error = failure.error
            traceback = ["", failure.detail] * (error.kind == "internal")  # other errors need none
            texts.append(
                "\n".join((f"{error.title}: {error.message}", in_the_app(error, keys), *traceback))
            )
        self._text = "\n\n".join(texts)

    def compose(self) -> ComposeResult:
        with Vertical(id="failure"):
            yield Static("What went wrong", classes="title")
            yield TextArea(self._text, read_only=True, show_line_numbers=False)
            yield KeyLine()

    def action_copy(self) -> None:
        self.app.copy_to_clipboard(self._text)
        self.notify("Copied.")
