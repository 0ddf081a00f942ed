"""Keeping what a person says of a decision; every screen that shows decisions shares it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, cast

from textual.dom import DOMNode
from textual.message import Message

from traces.labels import Label, Labels
from tui.app.work import in_background

if TYPE_CHECKING:
    from traces.store import Store
    from tui.app.app import DeepthinkApp


class LabelsChanged(Message):
    """The labels of a run as the store has them now.

    Attributes:
        run_id: The run.
        labels: By the decision's order within the run, from 0.
        stored: Decisions of the run that the store holds; those after them are only in the run's events.
    """

    def __init__(self, run_id: str, labels: Mapping[int, Label], stored: int) -> None:
        super().__init__()
        self.run_id = run_id
        self.labels = labels
        self.stored = stored


def load_labels(node: DOMNode, run_id: str) -> None:
    """Read a run's labels in a worker; `LabelsChanged` is posted to ``node``, or `Failed`."""
    _then_told(node, run_id, lambda _labels: None)


def store_label(node: DOMNode, run_id: str, seq: int, action: str) -> None:
    """Store in a worker what a decision should have been; `LabelsChanged` or `Failed` follows.

    Args:
        node: The screen or widget that hears of it.
        run_id: The run.
        seq: The decision's order within the run, from 0.
        action: CONTINUE, REVISE or FINISH.
    """
    _then_told(node, run_id, lambda labels: labels.put(run_id, seq, action))


def drop_label(node: DOMNode, run_id: str, seq: int) -> None:
    """Take a decision's label back in a worker; `LabelsChanged` or `Failed` follows."""
    _then_told(node, run_id, lambda labels: labels.drop(run_id, seq))


def _then_told(node: DOMNode, run_id: str, change: Callable[[Labels], None]) -> None:
    store = cast("DeepthinkApp", node.app).engine.store

    def work() -> Message:
        with store.connect():
            labels = Labels(store)
            change(labels)
            return LabelsChanged(run_id, labels.of_run(run_id), _stored(store, run_id))

    in_background(node, work, group="labels")


def _stored(store: Store, run_id: str) -> int:
    from traces.runs import Runs

    return sum(not row.shadow for row in Runs(store).decisions(run_id))
