"""Paths as they are typed: nothing that can be typed raises."""

from __future__ import annotations

from pathlib import Path

import pytest

from traces.typed_path import existing_file, existing_path, expanded_path


def test_a_home_is_expanded_and_who_is_not_known_stands_for_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    assert expanded_path("~/a.md") == tmp_path / "home" / "a.md"
    assert expanded_path("a.md") == Path("a.md")
    assert expanded_path("~nobody-here/a.md") == tmp_path / "~nobody-here" / "a.md"
    assert expanded_path("~no\0body") == tmp_path / "~no\0body"
    again = expanded_path(expanded_path("~nobody-here/a.md"))
    assert again == tmp_path / "~nobody-here" / "a.md", "expanded twice it is the same"


@pytest.mark.parametrize(
    "typed",
    ["nowhere", "~nobody-here/", pytest.param("x" * 300, id="too long"), "~" + "x" * 9, "a\0b", "~a\0b"],
)
def test_what_leads_nowhere_is_not_there(typed: str) -> None:
    assert existing_path(typed) is None


def test_what_is_there_is_given_back_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "a.md").touch()
    assert existing_path("~/a.md") == tmp_path / "a.md"
    assert existing_path(tmp_path) == tmp_path


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "a.md").touch()
    assert existing_file(tmp_path / "a.md") == tmp_path / "a.md"
    assert existing_file(tmp_path) is None
    assert existing_file("x" * 300) is None


def test_a_folder_that_may_not_be_entered_holds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_path: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "stat", refused)
    assert existing_path("closed/a.md") is None
