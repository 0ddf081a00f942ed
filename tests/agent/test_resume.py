"""A run that is killed, wherever that happens, goes on as if nothing had been."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agent import events as ev
from agent.checkpoints import Recorder
from agent.session import Session
from agent.state import Logged, unstored
from tests.agent.killing import CHECKPOINTED
from traces.runs import NewRun, Runs, StoredEvent
from traces.store import Store

_RUN = NewRun("Why?", "lean", "chat", "embedder", "", "rules", (), "")


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The undisturbed run first, then those that were killed and resumed again and again."""
    command = [sys.executable, "-m", "tests.agent.killing", str(tmp_path_factory.mktemp("killed"))]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2]
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_every_node_of_a_deep_run_was_killed(killed: list[dict[str, Any]]) -> None:
    moments = {moment for run in killed for moment in run["moments"]}
    research = "next_step retrieve rerank grade correct distil reflect decide"
    nodes = f"route look plan {research} synthesise verify".split()
    for node in nodes:
        assert f"{node}: {CHECKPOINTED}" in moments
    assert "retrieve: a search was kept" in moments
    for node in ("plan", "reflect", "decide", "synthesise"):
        assert f"{node}: a reply was kept" in moments


def test_a_resumed_run_is_as_the_undisturbed_one_with_no_more_calls(
    killed: list[dict[str, Any]],
) -> None:
    whole = killed[0]
    assert (whole["status"], whole["seqs"]) == ("answered", list(range(len(whole["seqs"]))))
    acted = [seq for seq, *_, shadow in whole["decisions"] if not shadow]
    shadows = [(seq, source) for seq, _, _, source, shadow in whole["decisions"] if shadow]
    assert shadows == [(seq, "rules") for seq in acted[:-1]], "each that had a choice has its shadow once"
    for run in killed:
        where = f"killed at {run['moments']}"
        for same in ("status", "answer", "decisions", "spent", "calls", "sessions"):
            assert run[same] == whole[same], where
        assert run["seqs"] == list(range(len(run["seqs"]))), where
        assert _settled(run["events"]) == _settled(whole["events"]), where
        assert run["left"] == [] or run["moments"][-1].endswith("the run was closed"), where


def test_the_clock_goes_on_from_the_last_checkpoint_without_what_was_waited_until_then(
    store: Store, idle_session: Session
) -> None:
    runs = Runs(store)
    run_id = runs.begin(_RUN)
    runs.record(run_id, [StoredEvent(0, 7205.0, "Replied", {"waited": 7200.0})], superstep=2)
    recorder = Recorder(runs, queue.SimpleQueue())
    recorder.resume(run_id, idle_session)
    resumed = ev.Steered("resume", waited=1200.0)
    log = [
        Logged(superstep=3, stored=2, elapsed=8410.0, kind=resumed.kind, payload=resumed.payload()),
        Logged(superstep=3, stored=2, elapsed=8411.0, kind="NodeFinished", payload={}),
    ]
    recorder.recovered(log, idle_session)
    assert 11.0 <= recorder.worked(idle_session) < 100.0


@pytest.fixture
def recorder(store: Store) -> Recorder:
    """Of a run whose first events were stored a moment ago: the next ones have to wait."""
    recorder = Recorder(Runs(store), queue.SimpleQueue())
    recorder.begin(ev.RunStarted("", "Why?", "lean", "chat", "embedder", "", "rules", []), _RUN)
    _checkpoint(recorder, "route", superstep=0)
    return recorder


def test_what_waits_for_the_store_is_told_before_what_came_after_it(
    recorder: Recorder, store: Store, idle_session: Session
) -> None:
    log = _checkpoint(recorder, "plan", superstep=1)
    second, first = _emitted(recorder, "b", superstep=2), _emitted(recorder, "a", superstep=2)
    recorder.checkpointed(unstored(log, [*first, *second]))  # in their order in the graph
    recorder.end(idle_session, "failed", "", "", "")
    assert _nodes(store) == ["route", "plan", "a", "b"]


def test_what_waits_for_the_store_outlives_a_round_that_is_cut_off(
    recorder: Recorder, store: Store, idle_session: Session
) -> None:
    _checkpoint(recorder, "plan", superstep=1)
    _emitted(recorder, "a", superstep=2)  # ended beside a search that failed: the round leaves nothing
    with pytest.raises(KeyboardInterrupt), recorder.collecting(2):
        raise KeyboardInterrupt
    recorder.end(idle_session, "cancelled", "", "", "")
    assert _nodes(store) == ["route", "plan"]


def _emitted(recorder: Recorder, node: str, superstep: int) -> list[Logged]:
    with recorder.collecting(superstep) as log:
        recorder.emit(ev.NodeStarted(node, 0))
    return log


def _checkpoint(recorder: Recorder, node: str, superstep: int) -> list[Logged]:
    log = _emitted(recorder, node, superstep)
    recorder.checkpointed(log)
    return log


def _nodes(store: Store) -> list[str]:
    (run,) = Runs(store).recent()
    return [e.payload["node"] for e in Runs(store).events(run.id) if e.kind == ev.NodeStarted.kind]


def _settled(events: list[list[Any]]) -> list[list[Any]]:
    """Searches that ran side by side end in any order; their events are compared in one."""
    kinds = {"Searched", "NodeStarted", "NodeFinished"}
    side_by_side: list[list[Any]] = []
    settled: list[list[Any]] = []
    for event in events:
        kind, payload = event
        if kind == "Searched" or (kind in kinds and payload.get("node") == "retrieve"):
            side_by_side.append(event)
            continue
        settled += sorted(side_by_side, key=json.dumps)
        side_by_side = []
        settled.append(event)
    return settled + side_by_side
