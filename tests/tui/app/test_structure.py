"""Habits of the app's code that a test can hold."""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import textwrap
from pathlib import Path

import pytest
from textual.message_pump import MessagePump

import tui.app

APP = Path(tui.app.__file__).parent
SCREENS = sorted((APP / "screens").glob("*.py"))
MODULES = sorted(APP.rglob("*.py"))
_LONGEST_SCREEN = 300  # lines
_LONGEST_MODULE = 400
_BEGIN_THREADS = {"work", "live", "ingest_job"}  # each turns what its thread raises into a message


@pytest.mark.parametrize("path", SCREENS, ids=lambda path: path.stem)
def test_a_screen_is_short_and_its_style_sheet_lies_beside_it(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= _LONGEST_SCREEN
    if "CSS_PATH" in text:
        assert path.with_suffix(".tcss").is_file()


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(APP)))
def test_a_module_has_one_idea_and_says_which(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= _LONGEST_MODULE
    assert ast.get_docstring(ast.parse(text))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(APP)))
def test_threads_are_begun_in_one_way_only(path: Path) -> None:
    """So that every worker posts messages, and what it raises is told."""
    if path.stem in _BEGIN_THREADS:
        return
    names = {
        node.attr
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute)
    }
    assert not names & {"run_worker", "call_from_thread", "Thread", "run_in_executor"}


def test_no_attribute_of_ours_is_one_of_textuals_own() -> None:
    """A screen that set ``_running`` was not painted when one came back to it."""
    shared = set()
    for path in MODULES:
        name = ".".join(path.relative_to(APP.parent.parent).with_suffix("").parts).removesuffix(".__init__")
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
