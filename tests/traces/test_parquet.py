"""Traces leave a store and come into another: nothing is lost, nothing doubles, nothing wrong comes in."""

from __future__ import annotations

import errno
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.traces.test_decisions import LINE, TREE, stored, told
from tests.traces.test_runs import NEW, measure
from traces.collected import Collected, Gold, write_gold
from traces.decisions import Labels, Outcome
from traces.parquet import BadTraces, Exported, Imported, export, take_in
from traces.runs import Ratings, Runs
from traces.store import Store, now

NEWEST = 3


def _take_in(store: Store, files: list[Path]) -> Imported:
    return take_in(store, files, newest=NEWEST, oldest=NEWEST)


def watched(store: Store) -> str:
    """A run with whatever a person may add to it; returns its id."""
    decided = ("Decided", None)
    run_id = stored(store, LINE, told(decided, decided, decided, ("Answered", 0.75)))
    Labels(store).put(run_id, 1, "FINISH", note="“enough”,\nI'd say")
    Ratings(store).rate(run_id, "partly", "ä\t'")
    return run_id


def collected(store: Store) -> str:
    """A tree with outcomes and gold; returns its id."""
    run_id = stored(
        store, tuple(replace(n, state_version=3, features={"step": 1.0, "best": 1e-7}) for n in TREE)
    )
    with store.transaction() as db:
        write_gold(db, run_id, Gold("musique", "2hop__1", ("Ørsted",), ([["A title", 3]],)))
    measure(
        store,
        run_id,
        *(Outcome(n.path, "evidence", 1 / 3, {"recall": 1 / 3, "complete": 0.0}) for n in TREE),
        Outcome("CR", "answer", 1.0, {"f1": 1.0, "em": 1.0}),
    )
    return run_id


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store and its export: made once, for it takes its time."""
    folder = tmp_path_factory.mktemp("made")
    store = Store(folder / "store.duckdb")
    watched(store)
    collected(store)
    Runs(store).begin(NEW)
    export(store, folder / "t.parquet")
    return folder


@pytest.fixture
def full(made: Path, tmp_path: Path) -> Store:
    """A store with a watched run, a collected tree, and a run without decisions."""
    shutil.copy(made / "store.duckdb", tmp_path / "full.duckdb")
    return Store(tmp_path / "full.duckdb")


@pytest.fixture
def other(tmp_path: Path) -> Store:
    """An empty store elsewhere."""
    return Store(tmp_path / "elsewhere" / "store.duckdb")


def rows(file: Path) -> list[dict[str, Any]]:
    """The rows of an export."""
    with duckdb.connect() as db:
        found = db.execute("FROM read_parquet(?)", [str(file)])
        names = [column[0] for column in found.description or []]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def same(one: Path, other: Path) -> bool:
    """Whether two exports tell the same, but for where a run was imported from."""
    return [{**row, "request": ""} for row in rows(one)] == [{**row, "request": ""} for row in rows(other)]


def changed(file: Path, to: Path, change: str) -> Path:
    """An export after a statement of SQL was run on it, as another file."""
    with duckdb.connect() as db:
        db.execute("CREATE TABLE t AS FROM read_parquet(?)", [str(file)])
        db.execute(change)
        db.execute(f"COPY t TO '{to}' (FORMAT parquet)")
    return to


def everything(store: Store) -> dict[str, list[Any]]:
    """All that a store holds of runs."""
    tables = ("runs", "decisions", "labels", "ratings", "outcomes", "gold", "events")
    return {name: store.rows(f"FROM {name} ORDER BY ALL") for name in tables}


def test_an_export_comes_in_elsewhere_whole_and_once(full: Store, other: Store, tmp_path: Path) -> None:
    file, again = tmp_path / "traces[1].parquet", tmp_path / "again.parquet"  # the name is no pattern
    before = everything(full)
    assert export(full, file) == Exported(runs=2, decisions=8, shadows=1)
    assert _take_in(full, [file]).known == 8
    assert everything(full) == before
    took = _take_in(other, [file])
    assert (took.runs, took.decisions, took.known, took.older) == (2, 8, 0, 4)
    # What the verifier said is an event there, and a measured outcome here.
    assert (took.labels, took.ratings, took.outcomes, took.gold) == (1, 1, 6, 1)
    export(other, again)
    assert same(file, again)
    before = everything(other)
    took = _take_in(other, [file, again])
    assert (took.runs, took.decisions, took.known, took.labels, took.outcomes) == (0, 0, 16, 0, 0)
    assert everything(other) == before


def test_what_was_said_since_comes_with_the_next_export(full: Store, other: Store, tmp_path: Path) -> None:
    file, run_id = tmp_path / "t.parquet", Runs(full).recent()[-1].id
    export(full, file)
    _take_in(other, [file])
    Labels(full).put(run_id, 1, "REVISE")
    Labels(full).put(run_id, 0, "CONTINUE")
    Ratings(full).rate(run_id, "good")
    measure(full, run_id, Outcome("CR", "answer", 0.5))
    newer = tmp_path / "newer.parquet"
    export(full, newer)
    took = _take_in(other, [newer])
    assert (took.decisions, took.labels, took.ratings, took.outcomes) == (0, 2, 1, 1)
    assert Labels(other).of_run(run_id) == Labels(full).of_run(run_id)
    before = everything(other)
    assert _take_in(other, [file]).labels == 0  # the older export takes nothing back
    assert everything(other) == before


def test_a_run_that_went_on_is_imported_as_it_ended(store: Store, other: Store, tmp_path: Path) -> None:
    runs, file = Runs(store), tmp_path / "t.parquet"
    run_id = runs.begin(NEW)
    runs.record(run_id, [], LINE[:2])
    export(store, file)
    assert _take_in(other, [file]).runs == 1
    assert Runs(other).find(run_id).finished is None
    runs.record(run_id, [], LINE[2:])
    with store.transaction() as db:
        db.execute("UPDATE runs SET status = 'answered', finished = ?, seconds = 3.5", [now()])
    export(store, tmp_path / "u.parquet")
    _take_in(other, [tmp_path / "u.parquet"])
    assert Runs(other).find(run_id) == replace(runs.find(run_id), request={"imported_from": "u.parquet"})
    assert Runs(other).decisions(run_id) == runs.decisions(run_id)
    _take_in(other, [file])
    assert Runs(other).find(run_id).status == "answered"


def test_a_run_that_is_resumed_here_is_not_ended_by_its_own_export(store: Store, tmp_path: Path) -> None:
    run_id = stored(store, LINE)
    export(store, tmp_path / "t.parquet")
    Runs(store).reopen(run_id)
    _take_in(store, [tmp_path / "t.parquet"])
    assert Runs(store).find(run_id).finished is None


def test_a_question_collected_twice_stays_as_it_is_here(store: Store, other: Store, tmp_path: Path) -> None:
    def collect(into: Store, number: int) -> None:
        outcomes = [Outcome(n.path, "evidence", 0.5, {"recall": 0.5}) for n in TREE]
        gold = Gold("musique", f"{number}", ["So"])
        Collected(into).put(gold, "Why?", TREE, outcomes, embedder="e", reranker="")

    for number in (1, 2):
        collect(other, number)
    collect(store, 1)
    export(other, tmp_path / "t.parquet")
    before = everything(store)
    took = _take_in(store, [tmp_path / "t.parquet"])
    assert (took.runs, took.decisions, took.known) == (1, 4, 0)
    assert took.outcomes == 4
    for name, held in everything(store).items():
        assert set(before[name]) <= set(held)
    assert Collected(store).held("musique") == {"1", "2"}


def test_a_file_that_cannot_be_written_is_named_and_nothing_is_left(full: Store, tmp_path: Path) -> None:
    missing = tmp_path / "no" / "t.parquet"
    with pytest.raises(FileNotFoundError) as refused:
        export(full, missing)
    assert refused.value.filename == str(missing)
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(IsADirectoryError) as taken:
        export(full, folder)
    assert taken.value.errno == errno.EISDIR
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


WRONG = {
    "of a later version": ("state_version = 4", "later version"),
    "probabilities that do not sum to one": ("probabilities = '{\"FINISH\": 0.5}'", "sum to 1"),
    "a negative probability": ('probabilities = \'{"FINISH": 1.5, "REVISE": -0.5}\'', "sum to 1"),
    "an action that was not possible": ("valid_actions = '[\"REVISE\"]'", "was not possible"),
    "a behaviour probability of nothing": ("behaviour_probability = 0", "behaviour probability"),
    "a behaviour probability above one": ("behaviour_probability = 1.5", "behaviour probability"),
    "a feature that is no number": ('features = \'{"step": "x"}\'', "cannot be read"),
    "a feature that is not finite": ("features = '{\"step\": 1e999}'", "finite|cannot be read"),
    "a state that is no JSON": ("state = '{'", "cannot be read"),
    "a state that is no object": ("state = '[]'", "not a JSON object"),
    "a path of other letters": ("path = 'CX'", "letters that are no"),
    "an id that leads to a parent folder": ("run_id = '../../x'", "its id is not valid"),
    "an id of more than a line": ("run_id = 'a' || chr(10)", "its id is not valid"),
    "a label that was not possible": ("label = 'STOP'", "label was not possible"),
    "a rating that is none": ("rating = 'splendid'", "rating is not valid"),
    "no text": ("text = NULL", "is missing"),
    "a decision twice": ("seq = 0, shadow = false", "occurs twice"),
}


@pytest.mark.parametrize(("change", "sentence"), WRONG.values(), ids=WRONG)
def test_wrong_traces_are_refused_with_a_sentence_and_nothing_is_imported(
    change: str, sentence: str, made: Path, other: Store, tmp_path: Path
) -> None:
    wrong = changed(
        made / "t.parquet", tmp_path / "changed.parquet", f"UPDATE t SET {change} WHERE NOT shadow"
    )
    with pytest.raises(BadTraces, match=sentence) as refused:
        _take_in(other, [made / "t.parquet", wrong])  # the good one is not taken either
    assert str(wrong) in refused.value.message
    assert not refused.value.message.count("\n")
    assert refused.value.way_out
    assert not other.path.exists()


@pytest.mark.parametrize("content", [b"", b"PAR1 and then nothing", b"{}\n"])
def test_other_files_are_no_traces(content: bytes, store: Store, tmp_path: Path) -> None:
    file = tmp_path / "what[1].parquet"  # the name is no pattern
    file.write_bytes(content)
    with pytest.raises(BadTraces, match="cannot be read as exported traces: ") as refused:
        _take_in(store, [file])
    assert str(file) in refused.value.message
    with pytest.raises(FileNotFoundError):
        _take_in(store, [tmp_path / "missing"])


def test_a_person_may_finish_where_it_was_not_possible(made: Path, other: Store, tmp_path: Path) -> None:
    change = "UPDATE t SET valid_actions = '[\"CONTINUE\"]', source = 'human' WHERE path = 'CR'"
    file = changed(made / "t.parquet", tmp_path / "changed.parquet", change)
    assert _take_in(other, [file]).decisions == 8
