"""Backup, restore and forget, as commands; what is forgotten is in no file of the home any more."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from agent import checkpoints
from agent import events as ev
from tests.agent import made
from tests.traces.damage import damage_table
from tests.tui import parts
from tests.tui.conftest import FACTS, QUESTION, Answer, Run
from tests.tui.stored import store_run
from traces import paths
from traces.library import Library
from traces.runs import Runs, Sessions
from traces.store import Store
from tui.assemble import open_store
from tui.library.passage import find_original

pytestmark = pytest.mark.shared_store

PHRASE = "vermilion-aardvark"
SECRET = f"Orlavane buys all of its ceramic bearings from Tolvang Ceramics, says the {PHRASE} memo."


def _files_with(phrase: str, folder: Path) -> set[str]:
    return {
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and phrase.encode() in path.read_bytes()
    }


@pytest.fixture
def secret(folder: Path, home: Path, deepthink: Run) -> Path:
    """The two documents, one of them with a phrase, are in the library, and so is a third."""
    (folder / "supplier.md").write_text(f"# Supply\n\n{SECRET}\n", encoding="utf-8")
    assert deepthink("ingest", str(folder), "-c", "facts").code == 0
    other = folder.parent / "other"
    other.mkdir()
    (other / "supplier.md").write_text("# Office\n\nThe office is in Brevnes.\n", encoding="utf-8")
    assert deepthink("ingest", str(other), "-c", "other").code == 0
    return folder


def test_a_forgotten_document_is_in_no_file_of_the_home(
    secret: Path, home: Path, deepthink: Run, model: Answer
) -> None:
    model(answer=SECRET)
    assert deepthink("ask", QUESTION, "-c", "facts", "--session", "talk").code in {0, 9}
    store = open_store()
    (seen,) = Runs(store).recent()
    assert deepthink("traces", "label", seen.id, "1", "finish", "--note", f"see {PHRASE}").code == 0

    calls = 0

    def stop(_options: object) -> None:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise RuntimeError("as if it was killed")

    model(during=stop)
    deepthink("ask", QUESTION, "-c", "facts")
    (unfinished, _) = Runs(store).recent()
    assert checkpoints.exists(store, unfinished.id)
    model(answer="The office is in Brevnes.")
    deepthink("ask", "Where is the office?", "-c", "other")
    unrelated = Runs(store).recent()[0]

    (document,) = [d for d in Library(store).documents("facts") if d.name == "supplier.md"]
    for place in (
        paths.log_file(),
        paths.scans_dir() / f"{document.sha256}.jsonl",
        paths.originals_dir() / "x" / "supplier.md",
        paths.data_dir() / "training" / "x" / "shares",
        store.path.with_name(f"{store.path.name}.v8"),
    ):
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(SECRET)
    collected = paths.data_dir() / "collected" / "mine.duckdb"
    collected.parent.mkdir()
    shutil.copy(store.path, collected)
    with Store(collected).transaction() as db:  # it has runs, and no documents
        for table in ("vectors", "chunks", "documents"):
            db.execute(f"DELETE FROM {table}")
    held = _files_with(PHRASE, home)
    assert {"data/deepthink.duckdb", f"data/checkpoints/{unfinished.id}.sqlite"} <= {
        name.removesuffix("-wal") for name in held
    }

    done = deepthink("forget", "document", "supplier.md", "-c", "facts", "--yes")
    assert done.code == 0, done.err
    assert "2 runs" in done.out
    assert _files_with(PHRASE, home) == set()
    assert [run.id for run in Runs(open_store()).recent()] == [unrelated.id]
    assert [d.collection for d in Library(open_store()).documents()] == ["facts", "other"]
    assert [session.runs for session in Sessions(open_store()).recent()] == [1]
    assert deepthink("sync").code == 0
    assert _files_with(PHRASE, home) == set(), "its file is still in the folder, and is left out"


_KEPT = made.evidence(1, FACTS["fire.md"], collection="facts", document="fire.md")
_ITS = made.evidence(2, SECRET, collection="facts", document="supplier.md")
_USES: dict[str, list[ev.Event]] = {
    "found only": [],
    "kept": [ev.EvidenceKept(1, [_ITS], [])],
    "shown first": [ev.FirstLook(PHRASE, SECRET, 7, "Memo", None, 0.6)],
    "searched in its words": [ev.Corrected(1, "reword", "in other words", [f"bearings {PHRASE}"])],
    "decided by what it says": [parts.decided(state={"look": {"answer": PHRASE, "span": 0.4}})],
}


def test_of_a_run_that_only_found_a_forgotten_document_the_rest_stays(
    secret: Path, home: Path, deepthink: Run
) -> None:
    (document,) = [d for d in Library(open_store()).documents("facts") if d.name == "supplier.md"]
    its = made.candidate(
        7, SECRET, document_id=document.id, collection="facts", document="supplier.md", title="Supply"
    )
    other = made.candidate(1, FACTS["fire.md"], document_id=0, collection="facts", document="fire.md")
    found = ev.Searched(1, "what halted it?", "hybrid", "", "", [its, other])
    graded = ev.Graded(1, "correct", "reader", [7, 1], ["incorrect", "correct"], [0.1, 0.9])
    kept = ev.EvidenceKept(1, [_KEPT], [])
    lists = ev.NotebookGrew(f"QUESTION: Why?\n\nCOLLECTIONS:\n- facts: 2 documents: Fire; {PHRASE} memo")
    with open_store().transaction() as db:
        db.execute("UPDATE documents SET title = ? WHERE id = ?", [f"{PHRASE} memo", document.id])
    begun = [lists, ev.StepStarted(1, made.step("What halted it?")), found, graded]
    runs = {}
    for name, uses in _USES.items():
        events = [*begun, *uses, kept]
        runs[name] = store_run([(1.0, event) for event in events], session=name)
        store_run(question="And when?", session=name)
    forget = ("forget", "document", "supplier.md", "-c", "facts")
    words = "8 runs that may repeat it, and its passages from 1 other run"
    assert f"Erase supplier.md from facts, and {words}?" in deepthink(*forget).refused()
    assert deepthink(*forget, "--yes").out == f"Erased supplier.md from facts, and {words}.\n"
    assert _files_with(PHRASE, home) == set()
    assert {run.session for run in Runs(open_store()).recent()} == {"found only"}
    assert len(Runs(open_store()).recent()) == 2
    assert "fire.md" in deepthink("runs", "export", runs["found only"]).out
    shown = json.loads(deepthink("runs", "show", runs["found only"], "--json").out)
    assert [hit["document"] for hit in shown["steps"][0]["hits"]] == ["fire.md"]


def test_a_forgotten_run_is_in_no_file_of_the_home(secret: Path, home: Path, deepthink: Run) -> None:
    question = f"{QUESTION} Is it the cobalt-walrus?"
    assert deepthink("ask", question, "-c", "facts", "--session", "talk").code in {0, 9}
    first = Runs(open_store()).find("last")
    store_run(question=question, session=first.session)
    unrelated = store_run()
    assert _files_with("cobalt-walrus", home)
    done = deepthink("forget", "run", first.id, "--yes")
    assert done.code == 0, done.err
    assert _files_with("cobalt-walrus", home) == set()
    assert [run.id for run in Runs(open_store()).recent()] == [unrelated]


def test_forgetting_needs_a_yes_and_one_document_and_names_older_copies(
    secret: Path, deepthink: Run
) -> None:
    store_run([(1.0, ev.EvidenceKept(1, [_ITS], []))])
    forget = ("forget", "document", "supplier.md")
    assert "--collection" in deepthink(*forget, "--yes").refused(), "there are two of that name"
    assert "1 run that may repeat it?" in deepthink(*forget, "-c", "facts").refused()
    assert len(Library(open_store()).documents()) == 3
    damaged = paths.store_file().with_name("deepthink.duckdb.damaged-1")
    damaged.write_text(SECRET)
    assert str(damaged) in deepthink(*forget, "-c", "facts", "--yes").err
    assert damaged.exists()


def test_a_backup_is_written_and_put_back(secret: Path, tmp_path: Path, deepthink: Run) -> None:
    assert f"{tmp_path}: Is a directory" in deepthink("backup", str(tmp_path)).refused(4)
    file = tmp_path / "mine.zip"
    assert deepthink("backup", str(file)).code == 0
    assert deepthink("library", "remove", "facts", "--yes").code == 0
    assert deepthink("restore", str(file)).code == 2, "it needs a yes"
    done = deepthink("restore", str(file), "--yes")
    assert done.code == 0, done.err
    assert "before-restore-" in done.out
    assert len(Library(open_store()).documents("facts")) == 2
    assert deepthink("restore", str(secret / "supplier.md")).code == 4, "it does not ask about such a file"


def test_a_damaged_library_is_rebuilt_from_its_passages_and_files(secret: Path, deepthink: Run) -> None:
    store = open_store()
    assert "not damaged" in deepthink("restore").out
    names = [document.name for document in Library(store).documents()]
    with store.connect() as db:  # large enough for blocks of their own
        db.execute(
            "INSERT INTO chunks SELECT 1000 + i, 1, i, 'text', '', NULL, "
            "array_to_string(list_transform(range(100), lambda n: random()::VARCHAR), ' '), '' "
            "FROM range(2000) t (i)"
        )
    damage_table(store, "chunks")
    told = deepthink("library", "search", "bearings")
    assert (told.code, "deepthink restore" in told.err) == (6, True)
    done = deepthink("restore")
    assert done.code == 0, done.err
    assert "Lost: chunks" in done.out
    after = Library(open_store()).documents()
    assert [document.name for document in after] == names
    assert all(0 < document.chunks < 10 for document in after)


# --- other users of the machine, and the log ----------------------------------------------------------


def test_only_the_user_can_read_what_is_stored(tmp_path: Path, folder: Path) -> None:
    home = tmp_path / "own"
    (home / "data").mkdir(parents=True)
    (home / "data").chmod(0o755)  # as an earlier version made it
    environment = {**os.environ, "DEEPTHINK_HOME": str(home)}
    commands = (["config", "set", "web", "false"], ["traces", "stats"], ["library"])
    program = f"import tui.cli as cli; cli.keep_private(); [cli.run(list(one)) for one in {commands}]"
    subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        check=True,
        capture_output=True,
        cwd=Path(__file__).parents[3],
    )
    modes = {path: path.stat().st_mode & 0o777 for path in home.rglob("*")}
    assert (home / "data" / "deepthink.duckdb") in modes
    assert {path: mode for path, mode in modes.items() if mode & 0o077} == {}


def test_an_attachment_is_copied_out_into_the_home(
    folder: Path, home: Path, deepthink: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    import zipfile

    with zipfile.ZipFile(folder / "papers.zip", "w") as archive:
        archive.writestr("inner.md", f"# Memo\n\nThe {PHRASE} is inside.\n")
    assert deepthink("ingest", str(folder), "-c", "facts").code == 0
    library = Library(open_store())
    (inner,) = [d for d in library.documents("facts") if d.name.endswith("inner.md")]

    class Engine:
        store = open_store()

    address, _ = find_original(Engine(), library.document_passages(inner.id)[0].id)  # type: ignore[arg-type]
    assert address.startswith(paths.originals_dir().as_uri())
    assert paths.originals_dir().stat().st_mode & 0o077 == 0


def test_the_log_of_a_failure_holds_no_words_of_the_question_or_a_document(
    secret: Path, deepthink: Run, model: Answer
) -> None:
    def fail(_options: object) -> None:
        raise ZeroDivisionError(f"near “{SECRET}”")

    model(during=fail)
    assert deepthink("ask", f"{QUESTION} The cobalt-walrus?", "-c", "facts").code == 70
    logged = paths.log_file().read_text(encoding="utf-8")
    assert "ZeroDivisionError" in logged
    assert "cobalt-walrus" not in logged
    assert PHRASE not in logged
