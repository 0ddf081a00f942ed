"""Single keys: read from a pseudo-terminal that is afterwards as it was, and what each does to the run."""

from __future__ import annotations

import io
import os
import pty
import queue
import signal
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from agent import events as ev
from agent.steering import Steering
from tests.tui.waiting import PATIENCE, wait
from tui.app.keys import ACTIONS_BY_ID
from tui.run.keyboard import KEYS, Keyboard, Wheel
from tui.run.render import AnimatedRun

ROOT = Path(__file__).parents[3]


class Terminal:
    """Both ends of a pseudo-terminal, and the keys that were read from it."""

    def __init__(self) -> None:
        self.person, self.program = pty.openpty()
        self.read: queue.Queue[str] = queue.Queue()
        self.keyboard = Keyboard(self.read.put, self.program, self.program)

    def type(self, text: str) -> None:
        os.write(self.person, text.encode())

    def keys(self, count: int) -> str:
        return "".join(self.read.get(timeout=PATIENCE) for _ in range(count))

    @property
    def modes(self) -> tuple[bool, bool]:
        """Whether it waits for Enter, and echoes."""
        local = termios.tcgetattr(self.program)[3]
        return bool(local & termios.ICANON), bool(local & termios.ECHO)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    made = Terminal()
    yield made
    os.close(made.person)
    os.close(made.program)


def test_arrows_and_the_like_are_no_keys(terminal: Terminal) -> None:
    with terminal.keyboard:
        terminal.type("\x1b[A\x1bOP\x1b[1;5Dx")
        assert terminal.keys(1) == "x"
        terminal.type("\x1b")
        assert terminal.keys(1) == "\x1b"


def test_the_terminal_is_put_back_after_an_exception(terminal: Terminal) -> None:
    with pytest.raises(ZeroDivisionError), terminal.keyboard:
        raise ZeroDivisionError
    assert terminal.modes == (True, True)


def test_in_the_background_the_terminal_is_left_alone_until_it_is_in_front_again(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_front = False
    monkeypatch.setattr(Keyboard, "_in_foreground", lambda _self: in_front)
    with terminal.keyboard:
        assert terminal.modes == (True, True)
        in_front = True
        wait(lambda: terminal.modes == (False, False))
        terminal.type("p")
        assert terminal.keys(1) == "p"


_PROGRAM = """
import time
from tests.tui.waiting import PATIENCE, wait
from tui.run.keyboard import Keyboard

with Keyboard(lambda key: print(f"key {key}", flush=True), 0, 0):
    print("begun", flush=True)
    time.sleep(60)
"""


def test_stopped_it_gives_the_terminal_back_and_continued_it_takes_it_again() -> None:
    """Ctrl-Z and fg, then an end by SIGTERM, as a shell would see them."""
    person, program = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-c", _PROGRAM],
        stdin=program,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        process_group=0,  # one that has a parent in its session, else it cannot be stopped
    )
    assert child.stdout is not None

    def until_it_echoes(wanted: bool) -> None:
        wait(lambda: bool(termios.tcgetattr(program)[3] & termios.ECHO) is wanted)

    try:
        assert child.stdout.readline() == "begun\n"
        until_it_echoes(False)
        child.send_signal(signal.SIGTSTP)
        _, status = os.waitpid(child.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        until_it_echoes(True)
        child.send_signal(signal.SIGCONT)
        until_it_echoes(False)
        os.write(person, b"p")
        assert child.stdout.readline() == "key p\n"
        child.send_signal(signal.SIGTERM)
        assert child.wait(PATIENCE) == -signal.SIGTERM
        until_it_echoes(True)
    finally:
        child.kill()
        child.wait()
        child.stdout.close()
        os.close(person)
        os.close(program)


_STEERING = ("pause", "finish", "skip", "add", "decide")


@pytest.fixture
def steering() -> Steering:
    return Steering()


@pytest.fixture
def wheel(steering: Steering) -> Wheel:
    return Wheel(steering)


def _type(wheel: Wheel, text: str) -> None:
    for key in text:
        wheel.press(key)


def test_the_run_is_steered_by_the_keys_of_the_app(wheel: Wheel, steering: Steering) -> None:
    keys = {
        name: chr(ord(ACTIONS_BY_ID[f"run.{name}"].key.removeprefix("ctrl+")) - 96) for name in _STEERING
    }
    wheel.press(keys["pause"])
    assert (steering.paused, wheel.notice) == (True, "pausing after this step")
    assert wheel.hints[0].startswith("^O resume")
    wheel.press(keys["pause"])
    assert (steering.paused, wheel.notice) == (False, "resumed")
    _type(wheel, keys["finish"] + keys["skip"])
    assert (steering.finishing, steering.skipping) == (True, True)
    wheel.press(keys["decide"])
    assert "r revise" in wheel.prompt
    _type(wheel, "\x1b" + keys["add"])
    assert "add a step" in wheel.prompt
    shown = {f"^{ACTIONS_BY_ID[f'run.{name}'].key[-1].upper()}" for name in _STEERING}
    assert shown < KEYS.keys()


def test_no_search_is_cut_short_while_the_answer_is_written(wheel: Wheel, steering: Steering) -> None:
    with AnimatedRun(Console(file=io.StringIO()), replay=True, wheel=wheel) as screen:
        screen.take(ev.NodeStarted("synthesise", 0))
        wheel.press("\x0e")
    assert not steering.finishing
    assert wheel.notice


def test_a_step_is_typed_corrected_and_added(wheel: Wheel, steering: Steering) -> None:
    _type(wheel, "\x02Who paid qp\x7f\x7fit\x15When was pàid?")
    assert "Esc" in wheel.prompt
    assert wheel.prompt.endswith("When was pàid?▏")
    assert not steering.paused
    _type(wheel, "\x01\r")
    assert steering.take_added() == ["When was pàid?"]
    assert (wheel.prompt, wheel.notice) == ("", "added to the plan")


@pytest.mark.parametrize("typed", ["\x02What?\x1b", "\x02\r", "\x02  \n", "\x04\x1b"])
def test_nothing_is_added_or_decided_by_escape_or_without_words(
    typed: str, wheel: Wheel, steering: Steering
) -> None:
    _type(wheel, typed)
    assert (steering.take_added(), steering.take_override(), wheel.prompt) == ([], None, "")


@pytest.mark.parametrize(
    ("key", "action"),
    [("c", "CONTINUE"), ("R", "REVISE"), ("f", "FINISH"), ("m", "MORE"), ("w", "WORDS"), ("a", "ASK")],
)
def test_d_decides(key: str, action: str, wheel: Wheel, steering: Steering) -> None:
    wheel.press("\x04")
    assert "r revise" in wheel.prompt
    assert "m read more passages · w search in other words · a ask the model" in wheel.prompt
    wheel.press(key)
    assert steering.take_override() == action
    assert not steering.finishing
    assert wheel.notice == f"the next decision is {action}"


def test_what_is_typed_cannot_steer_the_terminal(wheel: Wheel) -> None:
    _type(wheel, "\x02\x9b31m\x07x")
    assert wheel.prompt.endswith(" 31mx▏")
