"""Keys of a person's own: read, and refused where the app could not be used with them.

A key that no terminal sends would take an action away, a letter on an action that goes before what has the
focus would take it from the prompt, and a key that another action near by has would do only one of the two.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from textual.keys import KEY_ALIASES, REPLACED_KEYS, Keys, key_to_character

from tui.app.actions.action import Action

_WITHIN: Final[Mapping[str, Sequence[str]]] = {
    "run": ("ask",),
    "prompt": ("ask", "run"),
    "answer": ("ask", "run"),
    "thinking": ("ask", "run"),
    "strip": ("ask", "run", "thinking", "decisions"),
    "search": ("library",),
    "describe": ("library",),
    "file_tree": ("files",),
}
"""Place to what holds it, besides the app, which holds them all."""

_MODIFIERS: Final = {"alt", "ctrl", "hyper", "meta", "shift", "super"}
_NAMED: Final = {key.value.rpartition("+")[2] for key in Keys if not key.value.startswith("<")}
_EDITING: Final = {"backspace", "delete", "left", "right", "home", "end"}
_SAME: Final = {alias: key for key, aliases in KEY_ALIASES.items() for alias in aliases}


def read(text: str, actions: Mapping[str, Sequence[Action]]) -> dict[str, str]:
    """Remapped keys by action id; see `tui.app.actions.keymap`."""
    known = {action.id: action for place in actions.values() for action in place}
    mapped: dict[str, str] = {}
    for pair in filter(None, (part.strip() for part in text.split(","))):
        name, _, key = (part.strip() for part in pair.partition("="))
        if name not in known:
            raise ValueError(f"there is no action “{name}”; the help (F1) lists them")
        if not key:
            raise ValueError(f"“{pair}” names no key; write for example {name}=f11")
        if not _is_key(key):
            raise ValueError(f"“{pair}”: there is no key “{key}”; keys are f11, ctrl+f, slash and the like")
        if known[name].priority and (_printable(key) or key in _EDITING):
            raise ValueError(
                f"“{pair}” would take {key} from the prompt; use a function key, or one with ctrl or alt"
            )
        mapped[name] = f"{mapped[name]},{key}" if name in mapped else key
    _refuse_conflicts(mapped, actions)
    return mapped


def _refuse_conflicts(mapped: Mapping[str, str], actions: Mapping[str, Sequence[Action]]) -> None:
    placed = [(place, action) for place, held in actions.items() for action in held]
    defaults = {action.id: set(_keys(action.key)) for _, action in placed}
    for name, written in mapped.items():
        here = name.partition(".")[0]
        for key in written.split(","):
            for place, action in placed:
                other = action.id
                if _plain(key) not in _keys(mapped.get(other, action.key)) or other == name:
                    continue
                both = defaults[name] & defaults[other]  # the inner of the two has it, as it is meant to
                if _plain(key) not in both and (place in _around(here) or here in _around(place)):
                    raise ValueError(f"“{name}={key}”: {key} is the key of {other}")


def _around(place: str) -> set[str]:
    return {place, "app", *_WITHIN.get(place, ())}


def _keys(written: str) -> Iterator[str]:
    yield from (_plain(key) for key in written.split(",") if key)


def _plain(key: str) -> str:
    """One spelling for each key: "slash" is "/", and terminals send the same for ctrl+i as for tab."""
    return _printable(key) or _SAME.get(key, key)


def _printable(key: str) -> str:
    """The character that a key types, "" if it types none."""
    character = key_to_character(REPLACED_KEYS.get(key, key))
    return character if character is not None and character.isprintable() else ""


def _is_key(key: str) -> bool:
    *modifiers, name = key.split("+") if len(key) > 1 else [key]
    if not set(modifiers) <= _MODIFIERS:
        return False
    types = bool(_printable(name))
    if types and (modifiers == ["shift"] or (modifiers and name != name.lower())):
        return False  # a terminal sends the capital letter alone
    return types or name in _NAMED
