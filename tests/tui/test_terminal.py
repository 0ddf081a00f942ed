"""How text gets onto a terminal, and into a pipe."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.tui import stored
from tests.tui.conftest import Run
from traces.runs import Sessions
from tui.assemble import open_store
from tui.terminal import cells, columns, console, unmarked


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("- **Deployed fleet:** 3,120 units", "Deployed fleet: 3,120 units"),
        ("## Supply", "Supply"),
        ("2 ** 3 is 8, in __init__.py", "2 ** 3 is 8, in __init__.py"),
    ],
)
def test_a_line_of_markdown_is_told_without_its_marks(line: str, told: str) -> None:
    assert unmarked(line) == told


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


def test_in_a_pipe_text_stays_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    console().print("a :smile: [bold]b[/bold]")
    assert capsys.readouterr().out == "a :smile: [bold]b[/bold]\n"


@pytest.mark.parametrize(("width", "shown"), [("40", ["run", "words"]), ("60", ["run", "when", "words"])])
def test_a_narrow_window_does_without_what_can_be_spared(
    width: str, shown: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    table = columns("run", "when", "words", whole=("run", "when"), spare=("when",))
    table.add_row(*cells("q1a2b3c4d5e6", "2026-11-23 05:23", "Who supplies the bearings?"))
    console().print(table)
    head, _, row, *_ = capsys.readouterr().out.splitlines()
    assert head.split() == shown
    assert ("2026-11-23 05:23" in row) == ("when" in shown)


def test_runs_keep_their_status_and_question_in_a_narrow_window(
    deepthink: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = stored.store_run()
    monkeypatch.setenv("COLUMNS", "40")
    head, _, row, *_ = deepthink("runs", "list").out.splitlines()
    assert head.split() == ["run", "status", "question"]
    assert row.split()[:2] == [run_id, "answered"]
    assert row.split()[2:] == stored.QUESTION.split()[: len(row.split()) - 2]
