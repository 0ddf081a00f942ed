"""`deepthink ingest` and `deepthink library` on small real files."""

from __future__ import annotations

import json
from pathlib import Path
from zipfile import ZipFile

import pytest

from agent.documents import ingest as ing
from agent.documents.following import sync
from tests.scripted import HashEmbedder
from tests.tui.conftest import Ran, Run
from tests.tui.library.shelf import put
from traces.library import Library
from tui.assemble import open_store
from tui.library.actions import Intake, intake, reread_intake, split_paths
from tui.library.ingesting import show_ingestion
from tui.settings.settings import Settings


def test_reading_a_folder_shows_passages_and_coverage(folder: Path, deepthink: Run) -> None:
    ran = deepthink("ingest", str(folder), "--collection", "facts", "--description", "what  is\nknown")
    assert (ran.code, ran.err) == (0, "")
    rows = [line.split() for line in ran.out.splitlines() if " added " in line and "%" in line]
    assert [row[:4] for row in rows] == [
        ["fire.md", "added", "1", "100.0%"],
        ["supplier.md", "added", "1", "100.0%"],
    ]
    assert ran.out.splitlines()[-1].startswith("2 added in ")
    (collection,) = Library(open_store()).collections()
    assert (collection.name, collection.description) == ("facts", "what is known")


def test_a_file_that_fails_is_told_and_does_not_stop_the_others(folder: Path, deepthink: Run) -> None:
    (folder / "empty.txt").touch()
    (folder / "broken.pdf").write_bytes(bytes(range(256)) * 8)
    for number in range(7):
        (folder / f"{number}.mp4").touch()
    ran = deepthink("ingest", str(folder))
    assert ran.code == 4
    assert ran.out.splitlines()[-1].startswith("2 added, 2 failed in ")
    skipped, *told = ran.err.splitlines()
    assert "3.mp4, 4.mp4 and 2 more (.mp4 is not supported)" in skipped
    assert len(told) == 4, "a sentence and a way out for each"
    assert "broken.pdf" in told[0]
    assert "empty.txt" in told[2]
    assert Library(open_store()).collections()[0].name == "documents"
    listed = deepthink("library", "list").out.splitlines()
    assert listed[-1] == "documents, not read: empty.txt is empty.", "why is kept"
    assert "broken.pdf is a binary file" in listed[-2]
    skipped = "0.mp4, 1.mp4, 2.mp4, 3.mp4, 4.mp4 and 2 more: .mp4 is not supported."
    assert f"documents, not read: {skipped}" in listed
    for number in range(1, 7):
        (folder / f"{number}.mp4").unlink()
    assert "documents, not read: 0.mp4: .mp4 is not supported." in deepthink("library", "list").out
    deepthink("ingest", str(folder), "--exclude", "*.mp4")
    assert ".mp4" not in deepthink("library", "list").out


@pytest.mark.parametrize("command", ["sync", "ingest"])
def test_what_is_quiet_says_only_what_needs_attention(command: str, library: Path, deepthink: Run) -> None:
    arguments = [command, *([str(library), "-c", "facts"] if command == "ingest" else []), "--quiet"]
    (library / "new.md").write_text("The lamp is green.")
    with open_store().transaction() as db:
        db.execute("DELETE FROM vectors")  # as after another embedder was chosen
    assert deepthink(*arguments) == Ran(0, "", "")
    assert "new.md" in deepthink("library", "list").out
    (library / "empty.txt").touch()
    ran = deepthink(*arguments)
    assert (ran.code, ran.out) == (4, "")
    assert "empty.txt" in ran.err


def test_while_another_one_syncs_the_library_is_busy(library: Path, deepthink: Run) -> None:
    (library / "new.md").write_text("The lamp is green.")
    under_way = sync(store=open_store(), embedder=HashEmbedder())
    next(under_way)
    ran = deepthink("sync")
    list(under_way)
    assert (ran.code, ran.out) == (6, "")
    assert "is already syncing the followed folders" in ran.err


def test_a_file_that_takes_long_shows_how_far_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    def embedding(seconds: float) -> str:
        progress = ing.FileProgress("/a.txt", "a.txt", 32, 640, "passages", seconds)
        show_ingestion([ing.FileFound(1), ing.FileStarted("/a.txt", "a.txt"), progress])
        return capsys.readouterr().out

    assert embedding(95.0) == "a.txt 32 of 640 passages, 1 min 35 s left\n"
    assert embedding(3.0) == ""


def test_a_file_is_counted_after_those_inside_it(tmp_path: Path, deepthink: Run) -> None:
    with ZipFile(tmp_path / "papers.zip", "w") as archive:
        for name in ("a.txt", "b.txt"):
            archive.writestr(name, f"The lamp of {name}.")
    lines = deepthink("ingest", str(tmp_path / "papers.zip")).out.splitlines()
    assert lines[:3] == [
        *("1 of 3: papers.zip/a.txt added", "2 of 3: papers.zip/b.txt added"),
        "3 of 3: papers.zip added",
    ]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("/nowhere/at/all",), 4, "/nowhere/at/all does not exist"),
        (("~nobody-here/a",), 4, "~nobody-here/a does not exist"),
        pytest.param(("x" * 300,), 4, "does not exist", id="too long"),
        ((".", "-c", ""), 2, "--collection has no value"),
        ((".", "-c", "a\nb"), 2, "cannot be the name of a collection"),
        ((".", "-c", "web"), 2, "cannot be the name of a collection"),
        ((".", "-c", "all"), 2, "cannot be the name of a collection"),
        ((".", "-c", "x" * 65), 2, "cannot be the name of a collection"),
        ((), 2, "Missing argument"),
        (("",), 4, "The path is empty"),
    ],
)
def test_wrong_input_is_refused(arguments: tuple[str, ...], code: int, words: str, deepthink: Run) -> None:
    assert words in deepthink("ingest", *arguments).refused(code)


def test_an_empty_library_says_how_to_begin(deepthink: Run) -> None:
    for arguments in (("library",), ("library", "list")):
        assert "deepthink ingest PATH" in deepthink(*arguments).out
    assert deepthink("library", "search", "fire").code == 2


@pytest.mark.parametrize("strategy", ["vector", "keyword", "hybrid"])
def test_search_shows_a_person_the_passage_and_a_program_the_score_of_each_stage(
    strategy: str, library: Path, deepthink: Run
) -> None:
    words = ("library", "search", "fire", "at", "Brevnes", "--strategy", strategy, "-n", "1")
    ran = deepthink(*words)
    assert ran.code == 0
    assert ran.out.startswith("1. Fire")
    (hit,) = json.loads(deepthink(*words, "--json").out)
    stages = {"vector": {"vector"}, "keyword": {"keyword"}, "hybrid": {"vector", "keyword", "fused"}}
    assert hit["scores"].keys() >= stages[strategy]
    assert not any(stage in ran.out for stage in hit["scores"])


def test_nothing_found_is_exit_3(library: Path, deepthink: Run) -> None:
    ran = deepthink("library", "search", "zygote", "--strategy", "keyword")
    assert (ran.code, ran.out) == (3, "Nothing found.\n")


def test_removing_asks_first_and_says_so_where_nobody_can_answer(library: Path, deepthink: Run) -> None:
    assert "--yes" in deepthink("library", "remove", "facts", "fire.md").refused()
    told = deepthink("library", "remove", "fire.md", "--yes").refused()
    assert "deepthink library remove COLLECTION DOCUMENT" in told
    removed = deepthink("library", "remove", "facts", "fire.md", "--yes").out
    assert removed.startswith("Removed fire.md from facts. Its file is excluded from the followed folder")
    assert "fire.md" not in deepthink("library", "list").out
    for name in ("facts", "all"):
        assert "facts: 1 document\n" in deepthink("library", "list", "--collection", name).out
    removed = deepthink("library", "remove", "facts", "--yes").out
    assert removed.startswith("Removed facts (1 document). No longer followed: /")
    assert Library(open_store()).collections() == []
    assert (library / "fire.md").exists()


@pytest.mark.parametrize(
    "command", ["ask Why? -c", "sync", "library list -c", "library remove", "library search words -c"]
)
def test_a_mistyped_collection_suggests_the_right_one(command: str, library: Path, deepthink: Run) -> None:
    told = deepthink(*command.split(), "fatcs").refused()
    assert told.endswith("\n  Did you mean “facts”?\n")


@pytest.mark.parametrize("command", ["ask Why?", "library list", "library search words"])
def test_a_mistyped_type_suggests_the_right_one(command: str, library: Path, deepthink: Run) -> None:
    told = deepthink(*command.split(), "--type", "mial").refused()
    assert "Did you mean “mail”? Use an extension, such as xlsx, or one of: html, pdf" in told


@pytest.mark.parametrize(
    "arguments",
    [
        ("library", "list", "facts"),
        ("library", "remove", "facts", "nope", "--yes"),
        ("library", "remove", "facts", ".md", "--yes"),
        ("library", "search", "?"),
    ],
    ids=" ".join,
)
def test_what_is_not_there_is_refused(arguments: tuple[str, ...], library: Path, deepthink: Run) -> None:
    deepthink(*arguments).refused()


def test_only_the_named_folder_is_no_longer_followed(
    folder: Path, deepthink: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert deepthink("ingest", str(folder)).code == 0
    monkeypatch.chdir(folder)
    assert deepthink("library", "unfollow", "").code == 2
    assert str(folder) in deepthink("library", "folders").out
    assert deepthink("library", "unfollow", ".").code == 0
    assert str(folder) not in deepthink("library", "folders").out


def test_dropped_files_are_taken_apart(tmp_path: Path) -> None:
    spaced = tmp_path / "two words.md"
    spaced.touch()
    assert split_paths(str(spaced)) == [str(spaced)], "it stands there just so"
    several = split_paths(r"/a/two\ words.md '/b/it is.pdf' ~/c.txt")
    assert several == ["/a/two words.md", "/b/it is.pdf", "~/c.txt"]
    assert split_paths("/a.md\n\n/b.md\n") == ["/a.md", "/b.md"]
    assert split_paths("file:///a/two%20words.md") == ["/a/two words.md"]
    assert split_paths("/it's.md") == ["/it's.md"]
    assert split_paths("https://example.org/a?b=c") == ["https://example.org/a?b=c"]
    assert split_paths("  ") == []
    for typed in ("~nobody-here/a.md", "x" * 300, "a\0b", "file://["):
        assert split_paths(typed) == [typed]


def test_what_is_read_again_is_what_can_be_found(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("A")
    assert intake([str(tmp_path / "a.md")], Settings(collection="mine")).collection == "mine"
    library = Library(open_store())
    sources = {"a.md": f"{tmp_path}/a.md", "b.md": f"{tmp_path}/b.md", "page": "https://example.org/page"}
    for name, source in sources.items():
        put(library, "c", name, [("", "A")], source=source)
    documents = library.documents("c")
    chosen, missing = reread_intake(documents, Settings())
    assert chosen == Intake((tmp_path / "a.md",), (), "c")
    assert missing == [f"b.md is no longer at {tmp_path / 'b.md'}.", "page is on the web, which is off."]
    assert reread_intake(documents[2:], Settings(web=True)) == (
        Intake((), ("https://example.org/page",), "c"),
        [],
    )
