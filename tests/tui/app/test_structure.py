"""Habits of the app's code that a test can hold."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

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
