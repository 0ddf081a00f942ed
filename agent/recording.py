"""Recording a run: events go to the stream at once, and into the store with each checkpoint.

The events that a node emits become part of the state that it returns, and are stored when the checkpoint
with that state is on disk. So the events of an interrupted node that runs again are stored once. Events
that are not stored yet stay in the state.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, cast

from agent import events as ev
from agent.budget import Ledger
from agent.session import SHADOW
from agent.state import Logged
from models.protocols import Usage
from traces.labels import Label, Origin
from traces.runs import DecisionRow, NewRun, RunEnd, Runs, StoredEvent
from traces.store import StoreBusy

_log = logging.getLogger("deepthink.run")

Stream = queue.SimpleQueue[ev.Event | None]
_STORE_SECONDS = 1.0  # opening the store after every node would take longer than most nodes


class Recorder:
    """The events of one run."""

    def __init__(self, runs: Runs, stream: Stream) -> None:
        self._runs = runs
        self._stream = stream
        self._began = time.monotonic()
        self._local = threading.local()  # parallel nodes collect separately
        self._run_id = ""
        self._events = 0
        self._actions = ""  # first letters of the actions decided on so far
        self._stored = -2  # the last superstep whose events are stored
        self._stored_at = 0.0
        self._unstored: list[Logged] = []  # events of the last checkpoint
        self.waited = 0.0  # seconds so far that are not charged to the run
        self.failure: BaseException | None = None

    @property
    def elapsed(self) -> float:
        """Seconds of the run so far, including those before an interruption."""
        return round(time.monotonic() - self._began, 4)

    def begin(self, started: ev.RunStarted, request: NewRun) -> None:
        """Store the run and its first event."""
        self._run_id = self._runs.begin(request, started.run_id, self._stored_event(0.0, started))
        self._stream.put(started)

    def resume(self, run_id: str, ledger: Ledger) -> None:
        """Continue recording a run, and charge what it has spent so far to the ledger."""
        self._run_id = run_id
        self._runs.reopen(run_id)
        events = self._runs.events(run_id)
        self._events = events[-1].seq + 1 if events else 0
        self._actions = "".join(d.action[0] for d in self._runs.decisions(run_id) if not d.shadow)
        self._stored = self._runs.find(run_id).superstep
        self._began = time.monotonic() - (events[-1].elapsed if events else 0.0)
        for event in events:
            self._replay_event(ledger, event.kind, event.payload)

    def resumed(self, event: ev.Resumed) -> None:
        """Store and pass on the event that the run was resumed."""
        self._runs.record(self._run_id, [self._stored_event(self.elapsed, event)])
        self._stream.put(event)

    def emit(self, event: ev.Event) -> None:
        """Pass an event on; if its kind is stored, the current node collects it."""
        self._stream.put(event)
        self.waited += getattr(event, "waited", 0.0)
        node: tuple[int, list[Logged]] | None = getattr(self._local, "node", None)
        if event.stored and node is not None:
            superstep, collected = node
            collected.append(
                Logged(
                    superstep=superstep,
                    stored=self._stored,
                    elapsed=self.elapsed,
                    kind=event.kind,
                    payload=event.payload(),
                )
            )

    @contextmanager
    def collecting(self, superstep: int) -> Iterator[list[Logged]]:
        """Collect the events that this thread emits inside the context; complete at its end."""
        collected: list[Logged] = []
        self._local.node = superstep, collected
        try:
            yield collected
        finally:
            self._local.node = None

    def checkpointed(self, log: Sequence[Logged]) -> None:
        """Store the new events of a checkpoint, at most once a second.

        Events that must wait, because of that limit or a busy store, are in the next checkpoint too.
        """
        self._unstored = self._not_stored(log)
        if time.monotonic() - self._stored_at >= _STORE_SECONDS:
            self._store_unless_busy()

    def recovered(self, log: Sequence[Logged], ledger: Ledger) -> None:
        """Store the events in the last checkpoint of an interrupted run, and charge their model calls."""
        self._unstored = new = self._not_stored(log)
        if new:
            # The clock continues from there, because waiting time is subtracted from it.
            self._began = time.monotonic() - max(entry["elapsed"] for entry in new)
            for entry in new:
                self._replay_event(ledger, entry["kind"], entry["payload"])
            self._store_unless_busy()

    def _not_stored(self, log: Sequence[Logged]) -> list[Logged]:
        # The state still has the events stored with its last checkpoint.
        return [entry for entry in log if entry["superstep"] > self._stored]

    def _replay_event(self, ledger: Ledger, kind: str, payload: dict[str, Any]) -> None:
        if kind == ev.ModelCalled.kind:
            add = ledger.add_beside if payload["purpose"] == SHADOW else ledger.add
            add(Usage(payload["evaluated"], payload["reused"], payload["generated"], payload["seconds"]))
        self.waited += float(payload.get("waited", 0.0))

    def _store_unless_busy(self) -> None:
        try:
            self._store()
        except StoreBusy:
            _log.info("the store is busy; %d events wait for the next node", len(self._unstored))

    def _store(self) -> None:
        log = self._unstored
        if not log:
            return
        superstep = max(entry["superstep"] for entry in log)
        events = [
            StoredEvent(seq, entry["elapsed"], entry["kind"], entry["payload"])
            for seq, entry in enumerate(log, start=self._events)
        ]
        decisions = [
            cast(ev.Decided, ev.from_stored(event.kind, event.payload))
            for event in events
            if event.kind == ev.Decided.kind
        ]
        numbered = list(enumerate(decisions, start=len(self._actions)))
        actions = self._actions + "".join(event.action[0] for event in decisions)
        rows = [row for seq, event in numbered for row in _rows(event, seq, actions[:seq])]
        labels = [Label(seq, d.action, cast(Origin, d.label)) for seq, d in numbered if d.label]
        self._runs.record(self._run_id, events, rows, superstep=superstep, labels=labels)
        self._stored, self._stored_at, self._unstored = superstep, time.monotonic(), []
        self._events += len(events)
        self._actions = actions

    def end(self, ledger: Ledger, status: str, stopped_because: str, answer: str, question: str) -> None:
        """Emit the last event, and close the run in the store.

        A run that waits for the user or is interrupted is not closed.

        Raises:
            StoreError: The end could not be stored. The run is not closed, and its checkpoint has the rest.
        """
        usage, calls = ledger.usage, ledger.calls
        finished = ev.RunFinished(
            status=status,
            stopped_because=stopped_because,
            seconds=round(max(0.0, self.elapsed - self.waited), 3),
            model_calls=calls,
            evaluated=usage.evaluated,
            reused=usage.reused,
            generated=usage.generated,
        )
        closing = RunEnd(
            status, stopped_because, answer, calls, usage.evaluated, usage.reused, usage.generated, question
        )
        try:
            self._store()
            if status == "waiting":
                self._runs.wait(self._run_id)
            elif status != "interrupted":
                self._runs.record(self._run_id, [self._stored_event(self.elapsed, finished)], end=closing)
        finally:
            self._stream.put(finished)  # even if it could not be stored

    def _stored_event(self, elapsed: float, event: ev.Event) -> StoredEvent:
        self._events += 1
        return StoredEvent(self._events - 1, elapsed, event.kind, event.payload())


def _rows(event: ev.Decided, seq: int, path: str) -> list[DecisionRow]:
    """The decision, and the shadow decision if there is one."""
    row = DecisionRow(
        seq=seq,
        step=event.step,
        state_version=event.state_version,
        state=event.state,
        valid_actions=tuple(event.valid),
        action=event.action,
        probabilities=event.probabilities,
        behaviour_probability=event.behaviour_probability,
        source=event.source,
        latency_ms=event.latency_ms,
        justification=event.justification,
        path=path,
        text=event.text,
        features=event.features,
    )
    return [row, replace(row, **event.shadow, shadow=True)] if event.shadow else [row]
