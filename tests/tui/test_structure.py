"""Habits of the app's code that a test can hold."""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import re
import textwrap
from pathlib import Path

from textual.message_pump import MessagePump

import tui

ROOT = Path(tui.__file__).parent
MODULES = sorted(ROOT.rglob("*.py"))


def test_no_attribute_of_ours_is_one_of_textuals_own() -> None:
    """A screen that set ``_running`` was not painted when one came back to it."""
    shared = set()
    for path in MODULES:
        name = ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__")
        if path.stem == "__main__":
            continue
        for ours in vars(importlib.import_module(name)).values():
            if isinstance(ours, type) and issubclass(ours, MessagePump) and ours.__module__ == name:
                theirs = [base for base in ours.__mro__ if base.__module__.startswith("textual")]
                taken = {attribute for base in theirs for attribute in _private(base)}
                shared |= {f"{ours.__name__}.{attribute}" for attribute in _private(ours) & taken}
    assert shared == {"DeepthinkApp._return_code", "RowTable._require_update_dimensions"}


@functools.cache
def _private(made: type) -> set[str]:
    """The private attributes that a class's methods set."""
    return {
        node.attr
        for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(made))))
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and node.attr.startswith("_")
    }


def test_styles_of_one_screen_reach_no_other() -> None:
    """Textual keeps the style sheet of every screen that was opened, and applies it to all."""
    texts = {path: path.read_text(encoding="utf-8") for path in MODULES}
    for sheet in ROOT.rglob("*.tcss"):
        for name in re.findall(r"^(?:\.\S+ )?#([\w-]+)", sheet.read_text(encoding="utf-8"), re.MULTILINE):
            folders = {path.parent for path, text in texts.items() if f'id="{name}"' in text}
            assert folders <= {sheet.parent}, f"#{name} in {sheet.name}"
