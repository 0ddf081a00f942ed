"""Traces leave a store and come into another: nothing is lost, nothing doubles, nothing wrong comes in."""

from __future__ import annotations

import errno
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.traces.test_mdp_views import ALL, LINE, TREE, finishes, node, stored, told, transitions
from tests.traces.test_runs import NEW
from traces.collected import Collected, CollectedQuestion
from traces.exchange import BadTraces, DifferentTraces, Exported, Form, NoTraces, export, take_in
from traces.exchange_table import COLUMNS
from traces.labels import Labels
from traces.outcomes import Gold, Outcome, Outcomes
from traces.ratings import Ratings
from traces.runs import DecisionRow, Runs
from traces.store import Store, now

NEWEST = 3
FORMS: tuple[Form, ...] = ("parquet", "jsonl")


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
    Outcomes(store).put_gold(run_id, Gold("musique", "2hop__1", ("Ørsted",), ([["A title", 3]],)))
    Outcomes(store).put(
        run_id,
        [Outcome(n.path, "evidence", 1 / 3, {"recall": 1 / 3, "complete": 0.0}) for n in TREE]
        + [Outcome("CR", "answer", 1.0, {"f1": 1.0, "em": 1.0})],
    )
    return run_id


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store, its export, and the export of another: made once, for it takes its time."""
    folder = tmp_path_factory.mktemp("made")
    store, new = Store(folder / "store.duckdb"), Store(folder / "new.duckdb")
    watched(store)
    collected(store)
    Runs(store).begin(NEW)
    watched(new)
    export(store, folder / "t.jsonl", "jsonl")
    export(new, folder / "new.jsonl", "jsonl")
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
    """The rows of an exported JSONL file."""
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def table(file: Path) -> list[Any]:
    """The rows of an exported Parquet file, in their order."""
    with duckdb.connect() as db:
        return db.execute(f"SELECT * FROM read_parquet('{file}')").fetchall()


def rewritten(file: Path, changed: Path, change: Callable[[list[dict[str, Any]]], object]) -> Path:
    """A JSONL file with its rows changed, as another file."""
    found = rows(file)
    change(found)
    changed.write_text("".join(json.dumps(row) + "\n" for row in found), encoding="utf-8")
    return changed


def everything(store: Store) -> dict[str, list[Any]]:
    """All that a store holds of runs."""
    with store.connect() as db:
        return {
            name: db.execute(f"SELECT * FROM {name} ORDER BY ALL").fetchall()
            for name in ("runs", "decisions", "labels", "ratings", "outcomes", "gold", "events")
        }


@pytest.mark.parametrize("form", FORMS)
def test_what_is_exported_imports_elsewhere_without_loss_or_double(
    full: Store, other: Store, tmp_path: Path, form: Form
) -> None:
    file, again = tmp_path / f"traces.{form}", tmp_path / f"again.{form}"
    assert export(full, file, form) == Exported(runs=2, decisions=8, shadows=1)
    took = take_in(other, [file], NEWEST)
    assert (took.runs, took.decisions, took.known, took.older) == (2, 8, 0, 4)
    # What the verifier said is an event there, and a measured outcome here.
    assert (took.labels, took.ratings, took.outcomes, took.gold) == (1, 1, 6, 1)
    export(other, again, form)
    assert (again.read_bytes() == file.read_bytes()) if form == "jsonl" else (table(again) == table(file))
    before = everything(other)
    took = take_in(other, [file, again], NEWEST)
    assert (took.runs, took.decisions, took.known, took.labels, took.outcomes) == (0, 0, 16, 0, 0)
    assert everything(other) == before


def test_an_import_reads_as_the_same_decision_process(full: Store, other: Store, tmp_path: Path) -> None:
    export(full, tmp_path / "t", "parquet")
    take_in(other, [tmp_path / "t"], NEWEST)
    here, there = Runs(full), Runs(other)
    assert len(there.recent()) == 2
    for run in there.recent():
        original = here.find(run.id)
        assert run == replace(original, request={"imported_from": "t"}, session="", superstep=-2)
        assert there.decisions(run.id) == here.decisions(run.id)
        assert finishes(other, run.id) == finishes(full, run.id) != {}
        assert transitions(other, run.id) == transitions(full, run.id)
        assert Labels(other).of_run(run.id) == Labels(full).of_run(run.id)
        assert Ratings(other).of(run.id) == Ratings(full).of(run.id)
        assert Outcomes(other).gold_of(run.id) == Outcomes(full).gold_of(run.id)


def test_what_comes_home_changes_nothing(full: Store, tmp_path: Path) -> None:
    before = everything(full)
    for form in FORMS:
        export(full, tmp_path / "t", form)
        assert take_in(full, [tmp_path / "t"], NEWEST).known == 8
    assert everything(full) == before


def test_halves_that_overlap_make_one_whole(full: Store, other: Store, tmp_path: Path) -> None:
    ids = [run.id for run in Runs(full).recent()] + [watched(full)]
    halves = [tmp_path / "one.parquet", tmp_path / "two.jsonl"]
    export(full, halves[0], "parquet", runs=ids[:3])
    export(full, halves[1], "jsonl", runs=ids[2:])
    export(full, tmp_path / "whole.jsonl", "jsonl")
    took = take_in(other, halves, NEWEST)
    assert (took.runs, took.decisions, took.known) == (3, 12, 4)
    export(other, tmp_path / "again.jsonl", "jsonl")
    assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()


_words = st.text(max_size=12)
_plain = st.dictionaries(
    _words, st.one_of(st.none(), st.integers(-9, 9), _words, st.lists(_words, max_size=2))
)
_share = st.floats(0, 1)


@st.composite
def _decisions(draw: st.DrawFn) -> list[DecisionRow]:
    line: list[DecisionRow] = []
    actions = [*draw(st.lists(st.sampled_from(["CONTINUE", "REVISE"]), max_size=2)), "FINISH"]
    for seq, action in enumerate(actions):
        finish = draw(_share)
        weights = {"CONTINUE": (1 - finish) / 2, "REVISE": (1 - finish) / 2, "FINISH": finish}
        row = replace(
            node(seq, "".join(a[0] for a in actions[:seq]), action),
            state=draw(_plain),
            text=draw(_words),
            features=draw(
                st.dictionaries(_words, st.floats(allow_nan=False, allow_infinity=False), max_size=3)
            ),
            probabilities=weights,
            behaviour_probability=draw(st.floats(0, 1, exclude_min=True)),
            latency_ms=draw(st.floats(0, 1e9)),
            justification=draw(_words),
            state_version=draw(st.integers(1, NEWEST)),
        )
        line += [row, replace(row, shadow=True, source="llm")] if draw(st.booleans()) else [row]
    return line


@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    lines=st.lists(st.tuples(_decisions(), _plain, _share, st.booleans()), min_size=1, max_size=3),
    form=st.sampled_from(FORMS),
)
def test_any_traces_come_back_as_they_were(
    lines: list[tuple[list[DecisionRow], dict[str, Any], float, bool]],
    form: Form,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("stores")
    here, there = Store(folder / "here.duckdb"), Store(folder / "there.duckdb")
    for decisions, request, quality, ended in lines:
        if ended:
            run_id = stored(here, tuple(decisions))
        else:
            run_id = Runs(here).begin(replace(NEW, question=repr(request), request=request))
            Runs(here).record(run_id, [], decisions)
        detail = {name: value for name, value in decisions[0].features.items() if name}
        Outcomes(here).put(run_id, [Outcome(d.path, "evidence", quality, detail) for d in decisions])
    export(here, folder / "one", form)
    take_in(there, [folder / "one"], NEWEST)
    export(there, folder / "two", "jsonl")
    export(here, folder / "one", "jsonl")
    assert (folder / "two").read_bytes() == (folder / "one").read_bytes()
    for run in Runs(there).recent():
        assert Runs(there).decisions(run.id) == Runs(here).decisions(run.id)
        assert Outcomes(there).of_run(run.id) == Outcomes(here).of_run(run.id)


def test_what_was_said_since_comes_with_the_next_export(full: Store, other: Store, tmp_path: Path) -> None:
    file, run_id = tmp_path / "t.parquet", Runs(full).recent()[-1].id
    export(full, file, "parquet")
    take_in(other, [file], NEWEST)
    Labels(full).put(run_id, 1, "REVISE")
    Labels(full).put(run_id, 0, "CONTINUE")
    Ratings(full).rate(run_id, "good")
    Outcomes(full).put(run_id, [Outcome("CR", "answer", 0.5)])
    newer = tmp_path / "newer.parquet"
    export(full, newer, "parquet")
    took = take_in(other, [newer], NEWEST)
    assert (took.decisions, took.labels, took.ratings, took.outcomes) == (0, 2, 1, 1)
    assert Labels(other).of_run(run_id) == Labels(full).of_run(run_id)
    before = everything(other)
    assert take_in(other, [file], NEWEST).labels == 0  # the older export takes nothing back
    assert everything(other) == before


def test_a_run_that_went_on_is_imported_as_it_ended(store: Store, other: Store, tmp_path: Path) -> None:
    runs, file = Runs(store), tmp_path / "t.jsonl"
    run_id = runs.begin(NEW)
    runs.record(run_id, [], LINE[:2])
    export(store, file, "jsonl")
    assert take_in(other, [file], NEWEST).runs == 1
    assert Runs(other).find(run_id).finished is None
    runs.record(run_id, [], LINE[2:])
    with store.transaction() as db:
        db.execute("UPDATE runs SET status = 'answered', finished = ?, seconds = 3.5", [now()])
    export(store, tmp_path / "u.jsonl", "jsonl")
    took = take_in(other, [tmp_path / "u.jsonl"], NEWEST)
    assert (took.runs, took.ended, took.decisions, took.known) == (0, 1, 2, 2)
    assert Runs(other).find(run_id) == replace(runs.find(run_id), request={"imported_from": "t.jsonl"})
    export(other, tmp_path / "v.jsonl", "jsonl")
    assert (tmp_path / "v.jsonl").read_bytes() == (tmp_path / "u.jsonl").read_bytes()
    assert take_in(other, [file], NEWEST).ended == 0
    assert Runs(other).find(run_id).status == "answered"


def test_a_run_that_is_resumed_here_is_not_ended_by_its_own_export(store: Store, tmp_path: Path) -> None:
    run_id = stored(store, LINE)
    export(store, tmp_path / "t.jsonl", "jsonl")
    Runs(store).reopen(run_id)
    take_in(store, [tmp_path / "t.jsonl"], NEWEST)
    assert Runs(store).find(run_id).finished is None


def test_a_question_that_was_collected_on_two_machines_stays_as_it_is_here(
    store: Store, other: Store, tmp_path: Path
) -> None:
    def question(number: int) -> CollectedQuestion:
        outcomes = [Outcome(n.path, "evidence", 0.5, {"recall": 0.5}) for n in TREE]
        return CollectedQuestion("musique", f"{number}", "Why?", ["So"], [], "e", "", TREE, outcomes)

    for number in (1, 2):
        Collected(other).put(question(number))
    Collected(store).put(question(1))
    export(other, tmp_path / "t.parquet", "parquet")
    before = everything(store)
    took = take_in(store, [tmp_path / "t.parquet"], NEWEST)
    assert (took.runs, took.decisions, took.known, took.collected) == (1, 4, 0, 1)
    assert took.outcomes == 4
    for name, held in everything(store).items():
        assert set(before[name]) <= set(held)
    assert take_in(store, [tmp_path / "t.parquet"], NEWEST).known == 4
    assert Collected(store).held("musique") == {"1", "2"}


def test_an_export_is_of_what_was_asked_for(full: Store, tmp_path: Path) -> None:
    file, line = tmp_path / "t.jsonl", Runs(full).recent()[-1]
    assert export(full, file, "jsonl", runs=[line.id]) == Exported(1, 4, 1)
    assert {row["run_id"] for row in rows(file)} == {line.id}
    assert export(full, file, "jsonl", shadows=False) == Exported(2, 7, 0)
    assert export(full, file, "jsonl", since=line.started + timedelta(microseconds=1)) == Exported(1, 4, 0)
    kept = file.read_bytes()
    with pytest.raises(NoTraces, match="No stored decision fits"):
        export(full, file, "jsonl", since=datetime(2999, 1, 1))
    assert file.read_bytes() == kept
    with pytest.raises(NoTraces, match="No decision is stored yet"):
        export(Store(tmp_path / "empty.duckdb"), tmp_path / "none", "parquet")
    assert not (tmp_path / "none").exists()


def test_rows_tell_their_run_and_what_counts_of_their_outcomes(full: Store, tmp_path: Path) -> None:
    export(full, tmp_path / "t.jsonl", "jsonl")
    first, *_rest, last = rows(tmp_path / "t.jsonl")
    assert set(first) == {*COLUMNS, "quality", "quality_source"}
    assert not [name for row in rows(tmp_path / "t.jsonl") for name, value in row.items() if value is None]
    assert (first["question"], first["rating"], first["quality_source"]) == ("Why?", "partly", "")
    assert (last["dataset"], last["question_id"], last["path"]) == ("musique", "2hop__1", "CR")
    assert (last["quality"], last["quality_source"]) == (1.0, "answer")
    assert json.loads(last["outcomes"])[1]["detail"] == {"recall": 1 / 3, "complete": 0.0}


def test_exports_of_many_machines_read_as_one_table(full: Store, other: Store, tmp_path: Path) -> None:
    watched(other)
    export(full, tmp_path / "one.parquet", "parquet")
    export(other, tmp_path / "two.parquet", "parquet")
    with duckdb.connect() as db:
        (count,) = db.execute(
            f"SELECT count(*) FROM read_parquet('{tmp_path}/*.parquet') WHERE NOT shadow"
        ).fetchall()
    assert count == (10,)


def test_a_file_that_cannot_be_written_is_named_and_nothing_is_left(full: Store, tmp_path: Path) -> None:
    missing = tmp_path / "no" / "t.parquet"
    with pytest.raises(FileNotFoundError) as refused:
        export(full, missing, "parquet")
    assert refused.value.filename == str(missing)
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(IsADirectoryError) as taken:
        export(full, folder, "parquet")
    assert taken.value.errno == errno.EISDIR
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no file that is always full")
def test_a_full_disk_is_told_of_the_file_and_not_of_the_library(
    full: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def beside(_target: Path) -> Iterator[Path]:
        draft = tmp_path / "draft"
        draft.symlink_to("/dev/full")
        yield draft

    monkeypatch.setattr("traces.exchange._written_beside", beside)
    with pytest.raises(OSError, match="No space left") as refused:
        export(full, tmp_path / "t.jsonl", "jsonl")
    assert (refused.value.errno, refused.value.filename) == (errno.ENOSPC, str(tmp_path / "t.jsonl"))


def _set(**values: Any) -> Callable[[list[dict[str, Any]]], object]:
    return lambda found: found[0].update(values)


def _json(column: str, **values: Any) -> Callable[[list[dict[str, Any]]], object]:
    return lambda found: found[0].update({column: json.dumps(json.loads(found[0][column]) | values)})


WRONG: dict[str, tuple[Callable[[list[dict[str, Any]]], object], str]] = {
    "of a later version": (_set(state_version=4), "row 1: its state is of version 4; .* knows up to 3"),
    "written by a later version": (_set(format=2), "newer deepthink"),
    "probabilities that do not sum to one": (_json("probabilities", FINISH=0.5), "sum to 1.25, not to 1"),
    "a negative probability": (_json("probabilities", FINISH=-0.25), "probabilities.FINISH: .*greater"),
    "an action without a probability": (
        _set(probabilities='{"CONTINUE": 1.0}'),
        "none for REVISE, FINISH",
    ),
    "an action that was not possible": (
        _set(valid_actions=["FINISH"]),
        "CONTINUE was taken, which was not",
    ),
    "no action that is possible": (_set(valid_actions=[]), "valid_actions: "),
    "a behaviour probability of nothing": (_set(behaviour_probability=0.0), "behaviour_probability: "),
    "a behaviour probability above one": (_set(behaviour_probability=1.5), "behaviour_probability: "),
    "a feature that is no number": (_set(features='{"step": "1"}'), "features.step: .*number"),
    "a feature that is not finite": (_set(features='{"step": NaN}'), "features.step: .*finite"),
    "a state that is no JSON": (_set(state="{"), "state: Invalid JSON"),
    "a state that is no object": (_set(state="[]"), "state: "),
    "a path of other letters": (_set(path="CX"), "“CX” is no path"),
    "a time that is none": (_set(taken="yesterday"), "“yesterday” is no time"),
    "a time that cannot be": (_set(taken="2026-13-01T00:00:00.000000"), "taken: .*month"),
    "an id with a space": (_set(run_id="a b"), "run_id: "),
    "an id that leads to a parent folder": (_set(run_id="../../x"), "run_id: "),
    "an id that leads anywhere": (_set(run_id="/home/u/notes"), "run_id: "),
    "an id of more than a line": (_set(run_id="a\n"), "run_id: "),
    "a label that was not possible": (_set(label="STOP"), "labelled STOP"),
    "half a label": (_set(label="FINISH", label_origin="said"), "half of its label"),
    "half a rating": (_set(rating=""), "half of its rating"),
    "a rating that is none": (_set(rating="splendid"), "rating: "),
    "a quality above one": (
        _set(
            outcomes='[{"source": "answer", "quality": 1.5, "detail": {}, '
            '"measured": "2026-05-04T00:00:00.000000"}]'
        ),
        r"outcomes.0.quality: ",
    ),
    "an outcome by nobody": (_set(outcomes='[{"source": "guess"}]'), "outcomes.0.source: "),
    "a column that is missing": (lambda found: found[0].pop("text"), "row 1: text is missing"),
    "a decision twice": (lambda found: found.append(dict(found[0])), "has decision 1 twice"),
    "two decisions at a path": (
        lambda found: found.append({**found[0], "seq": 9}),
        "two decisions at the path “”",
    ),
    "a second opinion on nothing": (
        lambda found: found.pop(0),
        "second opinion on decision 1, and no decision",
    ),
    "a run told in two ways": (_set(answer="Otherwise."), "told in more than one way"),
    "nothing": (lambda found: found.clear(), "holds no traces"),
}


@pytest.mark.parametrize(("change", "sentence"), WRONG.values(), ids=WRONG)
def test_wrong_traces_are_refused_with_a_sentence_and_nothing_is_imported(
    change: Callable[[list[dict[str, Any]]], object],
    sentence: str,
    made: Path,
    other: Store,
    tmp_path: Path,
) -> None:
    changed = rewritten(made / "t.jsonl", tmp_path / "changed.jsonl", change)
    with pytest.raises(BadTraces, match=sentence) as refused:
        take_in(other, [made / "t.jsonl", changed], NEWEST)  # the good one is not taken either
    assert str(changed) in refused.value.message
    assert not refused.value.message.count("\n")
    assert refused.value.way_out
    assert not other.path.exists()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "holds no traces"),
        (b"PAR1 and then nothing", "cannot be read as exported traces: "),
        (b'{"format": 1}\n{"format"', r"in line \d: unexpected end of data\.$"),
        (b'{"format": "one"}\n', "line 1"),
        (b"[1, 2]\n", "line 1"),
        (b"\xff\xfe\x00", "cannot be read as exported traces: "),
        (b"# a text\n", "cannot be read as exported traces: "),
    ],
)
def test_other_files_are_no_traces(content: bytes, sentence: str, store: Store, tmp_path: Path) -> None:
    file = tmp_path / "what[1].parquet"  # the name says nothing, and is no pattern
    file.write_bytes(content)
    with pytest.raises(BadTraces, match=sentence) as refused:
        take_in(store, [file], NEWEST)
    assert str(file) in refused.value.message
    with pytest.raises(FileNotFoundError):
        take_in(store, [tmp_path / "missing"], NEWEST)


def test_another_table_says_what_it_lacks(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "other.parquet"
    with duckdb.connect() as db:
        db.execute(f"COPY (SELECT 1 AS format, 'a' AS run_id) TO '{file}' (FORMAT parquet)")
    with pytest.raises(BadTraces, match="it lacks question, standalone, dataset"):
        take_in(store, [file], NEWEST)


def test_a_person_may_finish_where_it_was_not_possible(made: Path, other: Store, tmp_path: Path) -> None:
    changed = rewritten(
        made / "t.jsonl",
        tmp_path / "changed.jsonl",
        lambda found: [
            r.update(valid_actions=["CONTINUE"], source="human") for r in found if r["path"] == "CR"
        ],
    )
    assert take_in(other, [changed], NEWEST).decisions == 8


OTHERWISE: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "another decision": (lambda row: row.update(taken=row["started"]), "its decision 1 is another one"),
    "another state": (lambda row: row.update(text="other"), "its decision 1 is another one"),
    "another second opinion": (lambda row: row.update(justification="other"), "is another one"),
    "another seq at the path": (
        lambda row: row.update(seq=row["seq"] + 10),
        "another decision at the path",
    ),
    "another run": (lambda row: row.update(question="Who?"), "another run of this id"),
    "another end": (lambda row: row.update(answer="Else."), "another end of it"),
    "another gold": (
        lambda row: row["answers"] and row.update(answers='["Else"]'),
        "another answer to its question",
    ),
    "another label": (
        lambda row: row["label"] and row.update(label="REVISE"),
        "decision 2 has another label",
    ),
    "another rating": (
        lambda row: row["rating"] and row.update(rating="good"),
        "another rating of the same",
    ),
    "another outcome": (
        lambda row: row.update(outcomes=row["outcomes"].replace("0.333", "0.334")),
        "has another outcome of the same moment",
    ),
}


@pytest.mark.parametrize(("change", "sentence"), OTHERWISE.values(), ids=OTHERWISE)
def test_what_contradicts_the_store_is_refused_and_nothing_changes(
    change: Callable[[dict[str, Any]], object], sentence: str, made: Path, full: Store, tmp_path: Path
) -> None:
    before = everything(full)
    changed = rewritten(
        made / "t.jsonl", tmp_path / "changed.jsonl", lambda found: [change(row) for row in found]
    )
    with pytest.raises(DifferentTraces, match=sentence) as refused:
        take_in(full, [made / "new.jsonl", changed], NEWEST)
    run_id = refused.value.message.split()[1].rstrip(":")
    assert f"`deepthink runs delete {run_id}`" in refused.value.way_out
    assert everything(full) == before


def test_exports_load_as_data_sets(full: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    datasets = pytest.importorskip("datasets")
    export(full, tmp_path / "t.parquet", "parquet")
    export(full, tmp_path / "t.jsonl", "jsonl")
    monkeypatch.setattr("datasets.config.HF_DATASETS_OFFLINE", True)
    loaded = [
        datasets.load_dataset(
            kind, data_files=str(tmp_path / f"t.{form}"), split="train", cache_dir=str(tmp_path / "cache")
        )
        for kind, form in (("parquet", "parquet"), ("json", "jsonl"))
    ]
    assert loaded[0].column_names == loaded[1].column_names
    assert loaded[0].to_list() == loaded[1].to_list()
    assert loaded[0][0]["valid_actions"] == list(ALL)
