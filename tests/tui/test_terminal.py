"""How text gets onto a terminal, and into a pipe."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.tui import stored
from tests.tui.conftest import Run
from traces.runs import Sessions
from tui.assemble import open_store


@pytest.mark.parametrize(
    "command",
    [
        *("library", "library list", "library search bearings", "sessions"),
        *("sessions show", "runs", "runs --unfinished", "runs show", "policy", "models"),
    ],
)
def test_what_lists_or_shows_does_it_as_json_too(command: str, library: Path, deepthink: Run) -> None:
    stored.store_run(session=Sessions(open_store()).begin("one"))
    ran = deepthink(*command.split(), "--json")
    assert ran.code == 0
    assert json.loads(ran.out) or command in {"runs --unfinished", "policy"}


def test_runs_keep_their_status_and_question_in_a_narrow_window(
    deepthink: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = stored.store_run()
    monkeypatch.setenv("COLUMNS", "40")
    head, _, row, *_ = deepthink("runs", "list").out.splitlines()
    assert head.split() == ["run", "status", "question"]
    assert row.split()[:2] == [run_id, "answered"]
    assert row.split()[2:] == stored.QUESTION.split()[: len(row.split()) - 2]
