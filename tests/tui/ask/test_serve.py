"""`deepthink serve` and `deepthink ask` over its socket, both in this process, on a scripted model."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from models.protocols import ChatOptions, ModelError
from tests.tui.conftest import QUESTION, Answer, Answering, Run
from tests.tui.waiting import PATIENCE, wait
from traces.paths import socket_file
from traces.runs import Runs
from tui.ask import warm
from tui.assemble import open_store


@contextmanager
def serving(minutes: float = 0.0) -> Iterator[threading.Thread]:
    """A server in a thread, which ends with the block."""
    thread = threading.Thread(target=warm.serve, args=(minutes,), daemon=True)
    thread.start()
    wait(socket_file().exists)
    yield thread
    socket_file().unlink(missing_ok=True)
    thread.join(PATIENCE)
    assert not thread.is_alive()


@pytest.fixture
def warmed(library: Path, model: Answer, monkeypatch: pytest.MonkeyPatch) -> Answering:
    """The model of the server, which answers from two documents, and notices soon that it is to end."""
    monkeypatch.setattr(warm, "_POLL_SECONDS", 0.02)
    return model()


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    asked: list[str] = []

    def ask(request: object, *_: object) -> int:
        asked.append(getattr(request, "question", ""))
        return 0

    monkeypatch.setattr("tui.ask.asking.ask", ask)
    return asked


def test_a_server_answers_as_the_command_line_and_is_alone(
    warmed: Answering, alone: list[str], deepthink: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warm, "_LOCK_SECONDS", 0.0)
    with serving():
        assert socket_file().stat().st_mode & 0o777 == 0o600
        with pytest.raises(warm.AlreadyServed):
            warm.serve(0.0)
        answer = json.loads(deepthink("ask", QUESTION, "--json", "--session", "bearings").out)
        piped = deepthink("ask", QUESTION)
        assert deepthink("ask", "Why?", "--session", "nobody", "--continue").code == 2
    assert alone == []
    assert answer["status"] == "answered"
    assert Runs(open_store()).find(answer["run_id"]).answer == answer["answer"]
    assert (piped.code, piped.out.strip()) == (0, answer["answer"])
    assert warmed.closed


def test_a_server_of_other_settings_is_not_used_and_ends_if_its_own_have_changed(
    warmed: Answering, alone: list[str], deepthink: Run
) -> None:
    with serving() as thread:
        deepthink("ask", "Of another model?", "--model", "ollama:another")
        assert (alone, socket_file().exists()) == (["Of another model?"], True)
        deepthink("config", "set", "context_tokens", "4096")
        deepthink("ask", "Of other settings?")
        assert alone == ["Of another model?", "Of other settings?"]
        thread.join(PATIENCE)
        assert not thread.is_alive()


def test_another_user_gets_no_answer(
    warmed: Answering, alone: list[str], deepthink: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving():
        with monkeypatch.context() as patch:
            patch.setattr(warm, "_is_ours", lambda _connection: False)
            deepthink("ask", "Whose?")
        assert alone == ["Whose?"]
        owner = os.getuid()
        with monkeypatch.context() as patch:
            patch.setattr("os.getuid", lambda: owner + 1)
            assert warm._connect() is None


def test_what_fails_in_the_server_is_told(warmed: Answering, alone: list[str], deepthink: Run) -> None:
    def fail(_options: ChatOptions) -> None:
        raise ModelError("The model stumbled.", "Try again.")

    with serving():
        warmed.during = fail
        ran = deepthink("ask", QUESTION)
    assert (ran.code, "The model stumbled." in ran.err, "Try again." in ran.err) == (5, True, True)
    assert alone == []


@pytest.mark.parametrize("before", ["yes", "event"])
def test_a_warning_before_the_run_is_told_and_the_server_still_answers(
    before: str, warmed: Answering, alone: list[str], deepthink: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    send, warning = warm.Lines.send, {"warning": f"In use before {before}."}  # warned of once a process

    def warns(lines: warm.Lines, message: dict[str, object]) -> None:
        if before in message and warning:
            send(lines, warning.copy())
            warning.clear()
        send(lines, message)

    with serving(), monkeypatch.context() as patch:
        patch.setattr(warm.Lines, "send", warns)
        ran = deepthink("ask", QUESTION)
    assert (ran.code, f"before {before}" in ran.err, alone) == (0, True, [])


def test_a_server_that_ends_in_a_run_is_told(
    warmed: Answering, alone: list[str], deepthink: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    send = warm.Lines.send

    def dies(lines: warm.Lines, message: dict[str, object]) -> None:
        send(lines, message)
        if message.get("event") == "NodeStarted":
            raise ConnectionResetError

    with serving(), monkeypatch.context() as patch:
        patch.setattr(warm.Lines, "send", dies)
        ran = deepthink("ask", QUESTION)
    assert (ran.code, "deepthink resume" in ran.err, alone) == (5, True, [])


def test_it_ends_when_nobody_asks_once_loaded(warmed: Answering, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = threading.Event()

    def load(*_models: object) -> None:
        time.sleep(3 * warm._POLL_SECONDS)
        loaded.set()

    monkeypatch.setattr("tui.assemble.warm_up", load)
    thread = threading.Thread(target=warm.serve, args=(0.0001,), daemon=True)
    thread.start()
    thread.join(PATIENCE)
    assert (thread.is_alive(), socket_file().exists(), warmed.closed) == (False, False, True)
    assert loaded.is_set(), "Python may crash if it exits while something is loaded"


def test_only_an_ask_on_a_terminal_starts_one(
    library: Path, alone: list[str], deepthink: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr("subprocess.Popen", lambda command, **_: started.append(command))
    monkeypatch.setenv("DEEPTHINK_WARM_MINUTES", "3")
    deepthink("ask", "In a pipe?")
    assert started == []
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    deepthink("ask", "Of another model?", "--model", "ollama:another")
    assert started == []
    deepthink("ask", "On a terminal?")
    assert [command[-3:] for command in started] == [["serve", "--minutes", "3.0"]]
    monkeypatch.setenv("DEEPTHINK_WARM_MINUTES", "0")
    deepthink("ask", "With none wanted?")
    assert len(started) == 1
