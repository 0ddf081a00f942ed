"""How text gets onto a terminal, and into a pipe."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.traces.test_parquet import watched
from tests.tui import stored
from tests.tui.conftest import Run
from traces.decisions import Labels
from traces.runs import Sessions
from tui.assemble import open_store
from tui.terminal import shell_word


def test_what_lists_or_shows_does_it_as_json_too(library: Path, deepthink: Run) -> None:
    stored.store_run(session=Sessions(open_store()).begin("one"))
    empty = ("runs --unfinished", "policy", "traces")
    for command in (
        *("library", "library list", "library search bearings", "library formats", "models", "config"),
        *("sessions", "sessions show", "runs", "runs show", *empty),
    ):
        ran = deepthink(*command.split(), "--json")
        assert (ran.code, bool(json.loads(ran.out))) == (0, command not in empty), command


def test_what_was_asked_seen_and_answered_cannot_steer_the_terminal(deepthink: Run) -> None:
    store = open_store()
    run_id = watched(store)
    session = Sessions(store).begin()
    with store.transaction() as db:
        db.execute("UPDATE decisions SET text = ?, justification = ?", [stored.EVIL, stored.EVIL])
        db.execute("UPDATE runs SET session = $1, question = $2, answer = $2", [session, stored.EVIL])
    Labels(store).put(run_id, 0, "FINISH", note=stored.EVIL)
    for command in ("traces", "traces show --state", "sessions", "sessions show", "runs"):
        out = deepthink(*command.split()).out
        assert "gotcha" in out, command
        assert "\x1b" not in out, command


def test_runs_keep_their_status_in_a_narrow_window(deepthink: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run_id = stored.store_run()
    monkeypatch.setenv("COLUMNS", "40")
    head, _, row, *_ = deepthink("runs", "list").out.splitlines()
    assert head.split() == ["run", "status", "question"]
    assert row.split()[:2] == [run_id, "answered"]
    assert row.split()[2:] == stored.QUESTION.split()[: len(row.split()) - 2]


def test_a_word_of_a_command_survives_the_shell() -> None:
    words = ["plain", "two words", "it's", "a$b's", "it's `ls`", '"it\'s"', "it's!", "a\\'b"]
    line = " ".join(["printf '%s\\n'", *map(shell_word, words)])
    printed = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=True)
    assert printed.stdout.splitlines() == words
    assert shell_word("the theatre's") == '"the theatre\'s"', "it can be read"
