"""The registry: names that last, keys that do not collide, somebody who does each action, remapping."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from functools import cache
from itertools import product

import pytest
from textual.actions import parse
from textual.binding import Binding
from textual.dom import DOMNode
from textual.screen import Screen

import tui
from tests.tui.conftest import MakeApp
from tests.tui.seen import toasts
from tui.app.app import DeepthinkApp
from tui.app.help import HelpScreen
from tui.app.keys import ACTIONS, ACTIONS_BY_ID, keymap
from tui.ask.screen import AskScreen


@cache
def _classes() -> list[type[DOMNode]]:
    """Everything of the app that can have keys."""
    classes: list[type[DOMNode]] = [DeepthinkApp]
    for module in pkgutil.walk_packages(tui.__path__, "tui."):
        if not module.name.endswith("__main__"):
            for _, kind in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
                if issubclass(kind, DOMNode) and kind.__module__ == module.name:
                    classes.append(kind)
    return classes


def _places(kind: type[DOMNode]) -> set[str]:
    """The places whose actions are bound on a class."""
    bound = kind.__dict__.get("BINDINGS", ())
    ids = [binding.id for binding in bound if isinstance(binding, Binding) and binding.id]
    return {name.partition(".")[0] for name in ids}


def _owners(place: str) -> list[type[DOMNode]]:
    return [kind for kind in _classes() if place in _places(kind)]


_EVERY = ACTIONS_BY_ID.values()
_SCREENS = [kind for kind in _classes() if issubclass(kind, Screen) and _places(kind)]


def test_each_is_done_by_a_class() -> None:
    assert sum(map(len, ACTIONS.values())) == len(ACTIONS_BY_ID), "names are unique"
    for place, actions in ACTIONS.items():
        owners = _owners(place)
        assert owners, f"nobody has the keys of {place}"
        for owner, action in product(owners, actions):
            destination, name, _ = parse(action.does)
            does = {"app": DeepthinkApp, "screen": AskScreen}.get(destination, owner)
            assert hasattr(does, f"action_{name}"), f"{action.id}: {does.__name__} has no action_{name}"


@pytest.mark.parametrize("screen", _SCREENS, ids=lambda kind: kind.__name__)
def test_no_two_keys_of_a_screen_collide(screen: type[Screen[object]]) -> None:
    bound = {"app", *_places(screen)}
    by_key: dict[str, set[str]] = {}
    for place in bound:
        for action in ACTIONS[place]:
            for key in filter(None, action.key.split(",")):
                by_key.setdefault(key, set()).add(action.does.removeprefix("app."))
    assert {key: does for key, does in by_key.items() if len(does) > 1} == {}
    assert set(getattr(screen, "PLACES", ())) <= set(ACTIONS)


def test_remapped_keys_are_read() -> None:
    assert keymap("") == {}
    assert keymap(" run.pause=f11 , app.runs = alt+r ") == {"run.pause": "f11", "app.runs": "alt+r"}
    assert keymap("app.help=f1,app.help=f11") == {"app.help": "f1,f11"}
    assert keymap("runs.search=/, library.stop=z, run.skip=ctrl+u")
    swapped = "run.pause=ctrl+g, run.skip=ctrl+o"
    assert set(keymap(swapped)) == {"run.pause", "run.skip"}


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ("run.nope=f11", "there is no action “run.nope”"),
        ("run.pause", "names no key"),
        ("run.pause=blurb", "no key arrives as “blurb”"),
        ("run.pause=ctrl+", "no key arrives as"),
        ("runs.open=shift+a", "no key arrives as"),
        ("app.runs=alt+f", "no key arrives as “alt\\+f”"),
        ("run.pause=a", "would take a from the prompt"),
        ("app.runs=backspace", "would take backspace from the prompt"),
        ("app.runs=ctrl+q", "ctrl\\+q is the key of app.quit"),
        ("app.runs=enter", "enter is the key of"),
        ("app.runs=ctrl+m", "ctrl\\+m is the key of"),
        ("app.runs=ctrl+g", "ctrl\\+g is the key of run.skip"),
        ("runs.open=/", "/ is the key of runs.search"),
        ("app.runs=f11, app.models=f11", "f11 is the key of app.models"),
    ],
)
def test_keys_that_would_break_the_app_are_refused(written: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        keymap(written)


def test_the_keys_as_they_are_could_be_written_down() -> None:
    for action in _EVERY:
        for key in filter(None, action.key.split(",")):
            assert keymap(f"{action.id}={key}") == {action.id: key}


@pytest.mark.usefixtures("bare")
async def test_a_remapped_key_works_and_the_one_before_does_not(make_app: MakeApp) -> None:
    app = make_app(keys="app.help=f11, help.close=ctrl+g")
    async with app.run_test(size=(80, 24)) as pilot:
        assert app.key_of("app.help") == "f11"
        for key, helps in (("f1", False), ("f11", True), ("escape", True), ("ctrl+g", False)):
            await pilot.press(key)
            assert isinstance(app.screen, HelpScreen) is helps


@pytest.mark.usefixtures("bare")
async def test_keys_that_cannot_be_used_are_told_and_the_others_stay(make_app: MakeApp) -> None:
    app = make_app(keys="nope=f12")
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        (told,) = toasts(app)
        assert "there is no action “nope”" in told
        await pilot.press("f1")
        assert isinstance(app.screen, HelpScreen)
