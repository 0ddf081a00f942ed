"""How text gets onto a terminal, and into a pipe."""

from __future__ import annotations

import pytest

from tests.tui import stored
from tests.tui.conftest import Run
from tui.terminal import cells, columns, console


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
