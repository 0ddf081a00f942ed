"""Help for what has the focus: a description, the keys that work there, and the names of all actions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen, Screen
from textual.widgets import Input, Markdown, Static, TextArea

from tui.app.base import KeyLine
from tui.app.keys import ACTIONS, ACTIONS_BY_ID, bindings
from tui.app.lists import Drawn, DrawnText, facts

_PLACES: Final[Mapping[str, str]] = {
    "app": "Everywhere",
    "ask": "Asking",
    "run": "During a run",
    "prompt": "In the prompt",
    "find": "Finding words",
    "answer": "In an answer",
    "failure": "What went wrong",
    "passage": "In a passage",
    "files": "Choosing files",
    "file_tree": "In the list of files",
    "changes": "Followed folders",
    "strip": "At a decision",
    "search": "Searching the library",
    "describe": "Describing a collection",
    "thinking": "In the thinking",
    "export": "Exporting a run",
    "replay": "In a replay",
    "compare": "Comparing two runs",
    "confirm": "Before something final",
    "welcome": "At the first start",
}
_REMAP: Final = """\
The dim names are for keys of your own: F8, *Keys of your own*, for example
`run.pause=f11, app.runs=alt+r`; what you set works at once.
"""
_PLAIN: Final = """\
**Without the screen:** `deepthink ask --plain "…"` shows a run line by line, without animation, for a
screen reader, a log or a slow connection; `deepthink runs show` shows a stored run.

**In a browser** (`deepthink-tui --serve`), which keeps Ctrl-N and Ctrl-T for itself: click *answer now* and
*decide all* above the prompt, or find them in the palette.
"""

_IN_ENGLISH: Final[Mapping[str, str]] = {
    "cursor up": "Go up",
    "cursor down": "Go down",
    "cursor left": "Go left",
    "cursor right": "Go right",
    "up": "Go up",
    "down": "Go down",
    "first": "Go to the first",
    "last": "Go to the last",
    "page up": "Go up by a page",
    "page down": "Go down by a page",
    "page left": "Go left by a page",
    "page right": "Go right by a page",
    "cursor to parent": "Go to what it is in",
    "cursor to next ancestor": "Go to what follows that which it is in",
    "cursor to previous sibling": "Go to the one before, at the same level",
    "cursor to next sibling": "Go to the next one at the same level",
    "toggle": "Open or close",
    "focus next": "Go to the next part of the screen",
    "focus previous": "Go to the part before",
}
"""What Textual's own keys do, by its description of them; others read well as they are."""
_KEY: Final = 14  # columns
_Row = tuple[str, Content]  # keys, and what they do, with the name for remapping


class HelpScreen(ModalScreen[None]):
    """The help of F1: texts about what has the focus on a screen, its keys, and those of other places."""

    AUTO_FOCUS = "#pages"
    BINDINGS = bindings("help")

    def __init__(self, screen: Screen[object]) -> None:
        super().__init__()
        nodes = (screen.focused or screen).ancestors_with_self
        self._texts = dict.fromkeys(node.HELP for node in nodes if node.HELP)
        self._groups, self._others = _groups(screen)

    def compose(self) -> ComposeResult:
        with Vertical(id="help"):
            with VerticalScroll(id="pages"):
                for text in self._texts or ["Nothing special here."]:
                    yield Markdown(text)
                for title, rows in self._groups.items():
                    yield Static(title, classes="title", markup=False)
                    yield _keys(rows)
                yield Markdown(_REMAP)
                yield Markdown(_PLAIN)
                for title, rows in self._others.items():
                    where = "Not now" if title in self._groups else "Elsewhere"
                    yield Static(f"{where}: {title}", classes="elsewhere", markup=False)
                    yield _keys(rows)
            yield KeyLine()


def _keys(rows: Sequence[_Row]) -> DrawnText:
    return DrawnText(Drawn(partial(_draw_keys, rows)), classes="keys")


def _draw_keys(rows: Sequence[_Row], width: int) -> Content:
    return Content("\n").join(facts(rows, width, _KEY, "bold $accent"))


def _groups(screen: Screen[object]) -> tuple[dict[str, list[_Row]], dict[str, list[_Row]]]:
    """The actions possible on ``screen`` now, by place, the nearest first, and all others by place.

    The keys with which a text field is edited are those of any editor, and left out.
    """
    display = screen.app.get_key_display
    keys: dict[str, list[str]] = {}
    textual_keys: dict[str, list[str]] = {}
    for node, binding, enabled, _ in screen.active_bindings.values():
        if enabled and (action_id := binding.id or "") in ACTIONS_BY_ID:
            keys.setdefault(action_id, []).append(display(binding))
        elif enabled and binding.description and not (binding.system or isinstance(node, Input | TextArea)):
            text = binding.description.capitalize()
            text = _IN_ENGLISH.get(text.lower(), text)
            textual_keys.setdefault(text, []).append(display(binding))
    here: dict[str, list[_Row]] = {}
    for place in dict.fromkeys(ACTIONS_BY_ID[action_id].place for action_id in keys):
        here[_title(place)] = [_row(keys[one.id], one.id) for one in ACTIONS[place] if one.id in keys]
    if textual_keys:
        here["Moving about"] = [
            (" ".join(displays[:2]), Content(f"{text}.")) for text, displays in textual_keys.items()
        ]
    elsewhere: dict[str, list[_Row]] = {}
    for action in ACTIONS_BY_ID.values():
        if action.id not in keys:
            mapped = screen.app._keymap.get(action.id, action.key)  # Textual resolves active bindings only
            displays = [display(Binding(key, "")) for key in mapped.split(",")]
            elsewhere.setdefault(_title(action.place), []).append(_row(displays, action.id))
    return here, elsewhere


def _row(keys: Sequence[str], action_id: str) -> _Row:
    text = ACTIONS_BY_ID[action_id].help
    return " ".join(keys), Content.assemble(text, (f"  {action_id}", "$foreground 55%"))


def _title(place: str) -> str:
    return _PLACES.get(place, place.capitalize())
