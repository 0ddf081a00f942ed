"""Help for what has the focus: a description, the keys that work there, and the names of all actions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import ClassVar, Final

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.dom import DOMNode
from textual.geometry import Size
from textual.screen import ModalScreen, Screen
from textual.widget import Widget
from textual.widgets import Markdown, Static

from tui.app.base import KeyLine
from tui.app.keys import ACTIONS, ACTIONS_BY_ID, bindings

_PLACES: Final[Mapping[str, str]] = {
    "app": "Everywhere",
    "ask": "Asking",
    "run": "During a run",
    "prompt": "In the prompt",
    "find": "Finding in the conversation",
    "answer": "In an answer",
    "failure": "What went wrong",
    "passage": "In a passage",
    "files": "Choosing files",
    "replay": "In a replay",
    "compare": "Comparing two runs",
    "confirm": "Before something final",
    "welcome": "At the first start",
}
_REMAP: Final = """\
The names on the right are for keys of your own: F8, the setting *app.keys*, for example
`run.pause=f11, app.runs=alt+r`; what you set works at once.
"""
_PLAIN: Final = """\
**Without the screen:** `deepthink ask --plain "…"` shows a run line by line, without animation, for a
screen reader, a log or a slow connection; `deepthink runs show` shows a stored run.
"""


@dataclass(frozen=True, slots=True)
class _Row:
    """One line of a list of keys; ``id`` is "" if the key cannot be remapped."""

    key: str
    text: str
    id: str = ""


_Group = tuple[str, list[_Row]]  # the title of a place, and its keys


class HelpScreen(ModalScreen[None]):
    """The help of F1: texts about what has the focus on a screen, its keys, and those of other places."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("help")

    def __init__(self, screen: Screen[object]) -> None:
        super().__init__()
        self._texts = _texts(screen.focused or screen)
        self._groups = _active_groups(screen)
        listed_ids = {row.id for _, rows in self._groups for row in rows}
        self._others = _other_groups(listed_ids, screen.app)

    def compose(self) -> ComposeResult:
        with Vertical(id="help"):
            with VerticalScroll(id="pages"):
                for text in self._texts or ["Nothing special here."]:
                    yield Markdown(text)
                for title, rows in self._groups:
                    yield Static(title, classes="title", markup=False)
                    yield _Keys(rows)
                yield Markdown(_REMAP)
                yield Markdown(_PLAIN)
                for title, rows in self._others:
                    yield Static(f"Elsewhere: {title}", classes="elsewhere", markup=False)
                    yield _Keys(rows)
            yield KeyLine()

    def on_mount(self) -> None:
        self.query_one("#pages").focus()

    def action_close(self) -> None:
        self.dismiss()


class _Keys(Widget):
    """Key, description and name for remapping, wrapped to the width."""

    _KEY: ClassVar[int] = 14
    _NARROWEST: ClassVar[int] = 24  # cells for a description beside a name

    def __init__(self, rows: Sequence[_Row]) -> None:
        super().__init__(classes="keys")
        self._rows = rows
        self._name_width = max(len(row.id) for row in rows)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """The number of lines at ``width``."""
        return len(self._lines(width))

    def render(self) -> Content:
        return Content("\n").join(self._lines(self.content_size.width))

    def _lines(self, width: int) -> list[Content]:
        room = width - self._KEY - self._name_width - 2
        is_narrow = room < self._NARROWEST  # then a name has a line of its own
        room = width - self._KEY if is_narrow else room
        lines: list[Content] = []
        for row in self._rows:
            first, *rest = wrap(row.text, room) or [""]
            name = Content(row.id.rjust(self._name_width)).stylize("$foreground 55%")
            key = Content(row.key.ljust(self._KEY)).stylize("bold $accent")
            beside = () if is_narrow else (" " * (room - len(first) + 2), name)
            lines.append(Content.assemble(key, first, *beside))
            lines += [Content(" " * self._KEY + line) for line in rest]
            if is_narrow and row.id:
                lines.append(Content.assemble(" " * self._KEY, (row.id, "$foreground 55%")))
        return lines


def _texts(node: DOMNode) -> list[str]:
    """The help of ``node`` and of its ancestors, without duplicates."""
    texts = [ancestor.HELP for ancestor in node.ancestors_with_self if ancestor.HELP]
    return list(dict.fromkeys(texts))


def _active_groups(screen: Screen[object]) -> list[_Group]:
    """The actions possible on ``screen`` now, nearest place first; Textual's own keys last."""
    keys: dict[str, list[str]] = {}
    textual_keys: dict[str, list[str]] = {}
    for _, binding, enabled, _ in screen.active_bindings.values():
        display = screen.app.get_key_display(binding)
        if enabled and (action_id := binding.id or "") in ACTIONS_BY_ID:
            keys.setdefault(action_id, []).append(display)
        elif enabled and binding.description and not binding.system:
            textual_keys.setdefault(binding.description, []).append(display)
    places: dict[str, list[_Row]] = {}
    for action_id, displays in keys.items():
        action = ACTIONS_BY_ID[action_id]
        places.setdefault(action.place, []).append(_Row(" ".join(displays), action.help, action_id))
    groups = [(_title(place), rows) for place, rows in places.items()]
    if textual_keys:
        rows = [
            _Row(" ".join(displays[:2]), f"{text.capitalize()}.") for text, displays in textual_keys.items()
        ]
        groups.append(("Moving about", rows))
    return groups


def _other_groups(listed_ids: Iterable[str], app: App[object]) -> list[_Group]:
    """Every action whose id is not in ``listed_ids``, so that the help lists them all."""
    groups: list[_Group] = []
    for place, actions in ACTIONS.items():
        rows = []
        for action in actions:
            keys = app._keymap.get(action.id, action.key)  # Textual resolves keys of active bindings only
            displays = [app.get_key_display(Binding(key, "")) for key in keys.split(",") if key]
            if action.id not in listed_ids:
                rows.append(_Row(" ".join(displays) or "palette", action.help, action.id))
        if rows:
            groups.append((_title(place), rows))
    return groups


def _title(place: str) -> str:
    return _PLACES.get(place, place.capitalize())
