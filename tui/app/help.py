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

from tui.app.key_line import KeyLine
from tui.app.keys import ACTIONS, Action, all_actions, bindings

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


class HelpScreen(ModalScreen[None]):
    """The help of F1: texts about what has the focus, its keys, and those of other places; see `of`."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("help")

    def __init__(
        self,
        texts: Sequence[str],
        groups: Sequence[tuple[str, Sequence[_Row]]],
        others: Sequence[tuple[str, Sequence[_Row]]] = (),
    ) -> None:
        super().__init__()
        self._texts = texts
        self._groups = groups
        self._others = others

    @classmethod
    def of(cls, screen: Screen[object]) -> HelpScreen:
        """Help for what has the focus on ``screen``, with its keys as they are mapped now."""
        groups = _active_groups(screen)
        listed_ids = {row.id for _, rows in groups for row in rows}
        return cls(_texts(screen.focused or screen), groups, _other_groups(listed_ids, screen.app))

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
        room = max(width - self._KEY - self._name_width - 2, 20)
        lines: list[Content] = []
        for row in self._rows:
            folded = wrap(row.text, room) or [""]
            key = Content(row.key.ljust(self._KEY)).stylize("bold $accent")
            name = Content(row.id.rjust(self._name_width)).stylize("$foreground 55%")
            lines.append(Content.assemble(key, folded[0].ljust(room), "  ", name))
            lines += [Content(" " * self._KEY + rest) for rest in folded[1:]]
        return lines


def _texts(node: DOMNode) -> list[str]:
    """The help of ``node`` and of its ancestors, without duplicates."""
    texts = [ancestor.HELP for ancestor in node.ancestors_with_self if ancestor.HELP]
    return list(dict.fromkeys(texts))


def _active_groups(screen: Screen[object]) -> list[tuple[str, list[_Row]]]:
    """The actions possible on ``screen`` now, nearest place first; Textual's own keys last."""
    actions_by_id = {action.id: (place, action) for place, action in all_actions()}
    keys: dict[str, list[str]] = {}
    textual_keys: dict[str, list[str]] = {}
    for _, binding, enabled, _ in screen.active_bindings.values():
        if enabled and binding.id in actions_by_id:
            keys.setdefault(binding.id, []).append(screen.app.get_key_display(binding))
        elif enabled and binding.description and not binding.system:
            textual_keys.setdefault(binding.description, []).append(screen.app.get_key_display(binding))
    places: dict[str, list[_Row]] = {}
    for name, displays in keys.items():
        place, action = actions_by_id[name]
        places.setdefault(place, []).append(_Row(" ".join(displays), action.help, name))
    groups = [(_title(place), rows) for place, rows in places.items()]
    if textual_keys:
        rows = [
            _Row(" ".join(displays[:2]), f"{text.capitalize()}.") for text, displays in textual_keys.items()
        ]
        groups.append(("Moving about", rows))
    return groups


def _other_groups(listed_ids: Iterable[str], app: App[object]) -> list[tuple[str, list[_Row]]]:
    """Every action whose id is not in ``listed_ids``, so that the help lists them all."""

    def display_keys(action: Action) -> str:
        keys = app._keymap.get(action.id, action.key)  # Textual resolves keys of active bindings only
        return (
            " ".join(app.get_key_display(Binding(key, "")) for key in keys.split(",") if key) or "palette"
        )

    groups: list[tuple[str, list[_Row]]] = []
    for place, actions in ACTIONS.items():
        rows = [
            _Row(display_keys(action), action.help, action.id)
            for action in actions
            if action.id not in listed_ids
        ]
        if rows:
            groups.append((_title(place), rows))
    return groups


def _title(place: str) -> str:
    return _PLACES.get(place, place.capitalize())
