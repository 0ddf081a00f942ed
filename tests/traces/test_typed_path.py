"""Paths as they are typed: nothing that can be typed raises."""

from __future__ import annotations

from pathlib import Path

import pytest

from traces.paths import existing_file, existing_path, expanded_path


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder and the home, with a file in it."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.md").touch()
    return tmp_path


def test_a_home_is_expanded_and_an_unknown_user_is_taken_literally(here: Path) -> None:
    assert expanded_path("~/a.md") == existing_path("~/a.md") == existing_file("~/a.md") == here / "a.md"
    assert expanded_path("a.md") == Path("a.md")
    for typed in ("~nobody-here/a.md", "~no\0body"):
        assert expanded_path(expanded_path(typed)) == expanded_path(typed) == here / typed
    assert existing_path(here) == here
    assert existing_file(here) is None


@pytest.mark.parametrize(
    "typed",
    ["nowhere", "~nobody-here/", pytest.param("x" * 300, id="too long"), "~" + "x" * 9, "a\0b", "~a\0b"],
)
def test_what_leads_nowhere_is_not_there(typed: str) -> None:
    assert existing_path(typed) is existing_file(typed) is None


def test_a_folder_that_may_not_be_entered_holds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_path: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "stat", refused)
    assert existing_path("closed/a.md") is None
