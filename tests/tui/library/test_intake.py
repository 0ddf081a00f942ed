"""What a person names to be read."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from agent.documents.ingest import NothingToIngest
from traces.records import Document
from tui.failures import WrongUsage
from tui.library.actions import Intake, WebOff, intake, reread_intake, split_paths
from tui.settings.settings import Settings


def test_dropped_files_are_taken_apart(tmp_path: Path) -> None:
    spaced = tmp_path / "two words.md"
    spaced.touch()
    assert split_paths(str(spaced)) == [str(spaced)], "it stands there just so"
    assert split_paths(r"/a/two\ words.md '/b/it is.pdf' ~/c.txt") == [
        "/a/two words.md",
        "/b/it is.pdf",
        "~/c.txt",
    ]
    assert split_paths("/a.md\n\n/b.md\n") == ["/a.md", "/b.md"]
    assert split_paths("file:///a/two%20words.md") == ["/a/two words.md"]
    assert split_paths("/it's.md") == ["/it's.md"]
    assert split_paths("https://example.org/a?b=c") == ["https://example.org/a?b=c"]
    assert split_paths("  ") == []


def test_what_can_be_no_path_is_left_as_it_was_typed() -> None:
    assert split_paths("~nobody-here/a.md") == ["~nobody-here/a.md"]
    assert split_paths("x" * 300) == ["x" * 300]
    assert split_paths("a\0b") == ["a\0b"]
    assert split_paths("file://[") == ["file://["]


def test_names_are_sorted_into_paths_and_addresses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a", "a.md"):
        (tmp_path / name).touch()
    chosen = intake(["a.md", "https://example.org"], Settings(web=True), None, " what \n it holds ")
    assert chosen.paths == (Path("a.md"),)
    assert chosen.addresses == ("https://example.org",)
    assert (chosen.collection, chosen.description) == ("documents", "what it holds")
    assert intake(["a"], Settings(collection="mine")).collection == "mine"


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(WebOff):
        intake(["https://example.org"], Settings())
    with pytest.raises(WrongUsage):
        intake(["ftp://example.org"], Settings(web=True))
    with pytest.raises(WrongUsage):
        intake([], Settings(), "/")
    with pytest.raises(NothingToIngest):
        intake(["nowhere.md"], Settings())


def test_what_is_read_again_is_what_can_be_found(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("A")

    sources = {"a.md": f"{tmp_path}/a.md", "b.md": f"{tmp_path}/b.md", "page": "https://example.org/page"}
    rest = {"title": "", "media_type": "", "sha256": "", "bytes": 0, "pages": None, "date": ""}
    rest |= {"coverage": 1.0, "notices": (), "reader": 1, "ingested": datetime.min, "chunks": 1}
    documents = [
        Document(id=1, collection="c", source=source, name=name, **rest)  # type: ignore[arg-type]
        for name, source in sources.items()
    ]
    chosen, missing = reread_intake(documents, Settings())
    assert chosen == Intake((tmp_path / "a.md",), (), "c")
    assert missing == [f"b.md is no longer at {tmp_path / 'b.md'}.", "page is on the web, which is off."]
    assert reread_intake(documents[2:], Settings(web=True)) == (
        Intake((), ("https://example.org/page",), "c"),
        [],
    )
