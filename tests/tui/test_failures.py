"""Every way to fail: what a person is told, where, and with which exit code."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import typer

from models.protocols import GenerationCancelled, ModelMissing
from tests.tui import stored
from tests.tui.conftest import Run
from traces.errors import DeepthinkError
from traces.paths import log_file
from traces.records import UnknownCollection
from traces.store import StoreBusy
from tui import failures


def _raise(error: BaseException) -> object:
    raise error


class Unread(DeepthinkError):
    title = "Cannot read this file"
    kind = "input"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UnknownCollection("There is no collection “x”.", "Make it."), 2),
        (Unread("a.pdf is empty.", "Check it."), 4),
        (ModelMissing("There is no model.", "Pull it."), 5),
        (StoreBusy("Another process has it.", "Wait."), 6),
        (GenerationCancelled("The answer was cancelled."), 130),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else str(value),
)
def test_an_error_is_told_by_title_message_and_way_out(
    error: DeepthinkError, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert failures.guarded(lambda: _raise(error)) == code
    told = capsys.readouterr()
    assert told.out == ""
    title = "" if error.kind in {"usage", "cancelled"} else f"{error.title}: "
    assert told.err.splitlines() == [
        f"{title}{error.message}",
        *([f"  {error.way_out}"] if error.way_out else []),
    ]


def test_nothing_that_is_told_steers_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    failures.report(
        Unread("a\x1b[2J.md\r is empty.", "Check a\x1b]0;x\x07.md.\nOr b\x9b2J.md."), "c\x1b[H.md"
    )
    failures.warn("d\x1b[2J.md is left out.")
    assert capsys.readouterr().err.splitlines() == [
        "Cannot read this file: c[H.md: a[2J.md is empty.",
        "  Check a]0;x.md.",
        "  Or b2J.md.",
        "Note: d[2J.md is left out.",
    ]


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "/data/x"), 6, "no room left to write /data/x"),
        (PermissionError(errno.EACCES, "Permission denied", "/root/x"), 4, "/root/x: Permission denied"),
        (KeyboardInterrupt(), 130, "Cancelled."),
        (typer.Abort(), 130, "Cancelled."),
        (ZeroDivisionError("division by zero"), 70, "ZeroDivisionError: division by zero"),
    ],
)
def test_what_the_system_says_is_translated_and_a_fault_logged(
    error: BaseException, code: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert failures.guarded(lambda: _raise(error)) == code
    told = capsys.readouterr().err
    assert words in told
    assert "Traceback" not in told
    if code == 70:
        assert str(log_file()) in told
        logged = log_file().read_text(encoding="utf-8")
        assert "Traceback" in logged
        assert "_raise" in logged


def test_a_log_that_cannot_be_written_hides_nothing(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home.parent.mkdir(exist_ok=True)
    home.write_text("a file where the home folder should be")
    assert failures.guarded(lambda: _raise(ZeroDivisionError("division by zero"))) == 70
    assert "--debug" in capsys.readouterr().err


def test_debug_shows_the_traceback(deepthink: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPTHINK_DEBUG", "")  # so that what --debug sets is undone after the test
    *traceback, told, way_out = deepthink("--debug", "runs", "show", "nope").err.splitlines()
    assert "Traceback" in "\n".join(traceback)
    assert told == "No run begins with “nope”."
    assert way_out == "  `deepthink runs list` shows the ids."


def test_the_home_of_somebody_unknown_is_a_path_that_leads_nowhere(no_models: None, deepthink: Run) -> None:
    stored.store_run()
    for arguments, code in (
        ("runs export -o ~nobody-here/run.md", 4),
        ("backup ~nobody-here/run.zip", 4),
        ("traces --store ~nobody-here/store.duckdb list", 4),
        ("traces import ~nobody-here/traces.jsonl", 4),
        ("ask Why? --model ~nobody-here/model.gguf", 5),
        ("models use ~nobody-here/model.gguf", 5),
        ("models use ~nobody-here/reranker", 5),
        ("evaluate ~nobody-here/questions.jsonl", 4),
    ):
        ran = deepthink(*arguments.split())
        assert (ran.code, ran.out) == (code, ""), arguments
        assert "~nobody-here" in ran.err
        assert "/." not in ran.err, "no temporary file"


def test_an_argument_that_is_not_utf_8_says_nothing_against_the_library(deepthink: Run) -> None:
    stored.store_run()
    for arguments in (("show", "\udcff"), ("rate", "last", "good", "--note", "\udcffa")):
        told = deepthink("runs", *arguments).refused()
        assert "UTF-8" in told
        assert "move it away" not in told


@pytest.mark.parametrize(
    "arguments",
    [
        ("ask", "Who?", "--session", ""),
        ("ask", "Who?", "-s", " "),
        ("ask", "Who?", "--session="),
        ("ask", "Who?", "--collection", "facts", "--collection", ""),
        ("ingest", ".", "--description", ""),
        ("runs", "export", "last", "--output", ""),
    ],
)
def test_an_option_without_a_value_is_refused(arguments: tuple[str, ...], deepthink: Run) -> None:
    assert " has no value.\n  Write one, or leave it out." in deepthink(*arguments).refused()


def test_usage_errors_name_the_command_that_helps(deepthink: Run) -> None:
    assert deepthink("library", "search", "--limit", "many", "x").refused().splitlines() == [
        "Invalid value for '--limit' / '-n': it has to be a whole number.",
        "  `deepthink library search --help` shows how.",
    ]
    assert deepthink("ask", "--from").refused().splitlines() == [
        "Option '--from' requires an argument.",
        "  `deepthink ask --help` shows how.",
    ]
    assert "`deepthink library list --help`" in deepthink("library", "list", "--type").refused()
    assert deepthink("ask", "--jsno").err.startswith("There is no option --jsno (similar: --json).\n")
    assert "Did you mean 'ingest'?" in deepthink("ingets").err


@pytest.mark.parametrize("script", ["deepthink", "deepthink-tui"])
def test_ctrl_c_while_modules_are_imported_is_quiet(script: str, tmp_path: Path) -> None:
    # Stands before the real module, and is imported by both scripts.
    tmp_path.joinpath("platformdirs.py").write_text(
        "import os, signal\nos.kill(os.getpid(), signal.SIGINT)"
    )
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    module, _, function = project["scripts"][script].partition(":")
    done = subprocess.run(
        [sys.executable, "-c", f"from {module} import {function}; {function}()"],
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"},
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (failures.EXIT_CODES["cancelled"], b"", b"")


def test_a_closed_pipe_is_nobodys_fault() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "tui", "config"], stdout=writing, stderr=subprocess.PIPE, check=False
        )
    finally:
        os.close(writing)
    assert done.returncode == 1
    assert done.stderr == b""


def test_a_standard_stream_that_is_closed_is_no_fault_of_the_program(no_models: None) -> None:
    line = 'exec "$0" -m tui ask "Why?" <&- >&- 2>&-'
    done = subprocess.run(["/bin/sh", "-c", line, sys.executable], check=False)
    assert done.returncode == failures.EXIT_CODES["model"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_under_stdout_is_told() -> None:
    with Path("/dev/full").open("wb") as full:
        command = [sys.executable, "-m", "tui", "graph"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 6
    assert done.stderr.startswith("The disk is full:")
    assert "Traceback" not in done.stderr
