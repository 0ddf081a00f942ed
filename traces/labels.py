"""Labels: what a decision should have been according to a person. One per decision; the last one counts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from traces.errors import DeepthinkError
from traces.store import Queries, columns, insert, now

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Origin = Literal["override", "teach", "said"]
"""How a label originated: a person stepped in, was asked in teach mode, or gave it afterwards."""


class UnknownDecision(DeepthinkError, title="Unknown decision", kind="usage"):
    """Raised when a label is given to a decision that is not in the store, or not yet."""


class ImpossibleLabel(DeepthinkError, title="That action was not possible", kind="usage"):
    """Raised when a label names an action that could not have been taken."""


@dataclass(frozen=True, slots=True)
class Label:
    """The action that a decision should have been; ``seq`` is the decision's order within its run."""

    seq: int
    action: str
    origin: Origin = "said"
    note: str = ""
    labelled: datetime = field(default_factory=now)


class Labels(Queries):
    """Queries on labels."""

    def put(self, run_id: str, seq: int, action: str, origin: Origin = "said", note: str = "") -> None:
        """Label a decision; an earlier label of it is replaced.

        Raises `UnknownDecision` if it is not stored, or not yet, in a run in progress, and
        `ImpossibleLabel` if the action could not have been taken then.
        """
        with self._store.transaction() as db:
            valid = _valid_actions(db, run_id, seq)
            if action not in valid:
                raise ImpossibleLabel(
                    f"{action} was not possible at decision {seq + 1} of run {run_id}.",
                    f"Possible: {', '.join(valid)}.",
                )
            write_labels(db, run_id, [Label(seq, action, origin, note)])

    def drop(self, run_id: str, seq: int) -> None:
        """Remove a decision's label, if it has one. Raises `UnknownDecision`."""
        with self._store.transaction() as db:
            _valid_actions(db, run_id, seq)
            db.execute("DELETE FROM labels WHERE run_id = ? AND seq = ?", [run_id, seq])

    def of_run(self, run_id: str) -> dict[int, Label]:
        """The labels of a run's decisions, by their order within the run."""
        labels = self._store.records(Label, "FROM labels WHERE run_id = ? ORDER BY seq", [run_id])
        return {label.seq: label for label in labels}


def _valid_actions(db: DuckDBPyConnection, run_id: str, seq: int) -> list[str]:
    """The actions that were valid for a decision. Raises `UnknownDecision`."""
    row = db.execute(
        "SELECT valid_actions FROM decisions WHERE run_id = ? AND seq = ? AND NOT shadow", [run_id, seq]
    ).fetchone()
    if row is None:
        running = db.execute("SELECT 1 FROM runs WHERE id = ? AND finished IS NULL", [run_id]).fetchone()
        raise UnknownDecision(
            f"Run {run_id} has no stored decision {seq + 1}.",
            f"`deepthink traces show {run_id}` lists its decisions"
            + ("; one in progress is stored at the next step." if running else "."),
        )
    valid: list[str] = json.loads(row[0])
    return valid


def write_labels(db: DuckDBPyConnection, run_id: str, labels: Sequence[Label]) -> None:
    """Store labels within a running transaction, replacing earlier ones."""
    insert(db, "labels", [{"run_id": run_id, **columns(label)} for label in labels], replace=True)
