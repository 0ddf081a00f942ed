"""A run as it is watched: under a pseudo-terminal, with keys and questions."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

PATIENCE = 60.0  # seconds until a test gives up; none waits for it
ROOT = Path(__file__).parents[3]
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\r")

PROGRAM = """
import fcntl, sys, termios, time
import tui.ask.asking, tui.cli
from agent import events as ev
from agent.state import Claim
from tests.scripted import HashEmbedder, ScriptedChat

OPTIONS = {"clarify": [], "approve": ["accept", "rewrite", "search", "stop"]}
CLAIM = Claim(text="The chairman resigned.", cites=[1], support=0.1, verdict="not", reason="[1] differs")

def until(condition):
    # Beats until the condition holds.
    began = time.monotonic()
    while not (held := condition()):
        assert time.monotonic() < began + 60
        time.sleep(0.02)
        yield ev.Heartbeat("distil", 1, 0.5, 7)
    return held

def run(request, *, steering, **_parts):
    yield ev.RunStarted("abc123def456", request.question, "lean", "scripted", "", "", "rules", ["facts"])
    yield ev.NodeStarted("distil", 1)
    yield from until(lambda: steering.paused)
    yield ev.Steered("pause")
    yield from until(lambda: not steering.paused)
    yield ev.Steered("resume")
    added = yield from until(steering.take_added)
    yield ev.Steered("add", added[0])
    for about, options in OPTIONS.items():
        yield ev.Asked(about, "What do you say?", options, [CLAIM] if options else [])
        reply = yield from until(lambda: steering.wait_for_reply(lambda: True))
        yield ev.Replied(about, "What do you say?", reply, "person")
        yield ev.Steered("override", f"heard {reply}")
    yield ev.Answered("The chairman resigned (not supported by the sources) [1].", [CLAIM], [])
    yield ev.RunFinished("answered", "done", 1.0, 1, 1, 1, 1)

tui.ask.asking.agent_run.run = run
tui.assemble.open_chat = lambda _settings: ScriptedChat([])
tui.assemble.open_embedder = lambda _settings: HashEmbedder()
tui.assemble.open_reader = lambda _settings: None
fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # the keys at this terminal are meant for this program
sys.exit(tui.cli.run(sys.argv[1:]))
"""


class Terminal:
    """A program on a terminal of its own, as a person has it before them."""

    def __init__(self, *arguments: str) -> None:
        self._person, program = pty.openpty()
        fcntl.ioctl(program, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self._program = program
        self.child = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *arguments],
            cwd=ROOT,
            env={**os.environ, "TERM": "xterm"},
            stdin=program,
            stdout=program,
            stderr=program,
            start_new_session=True,
        )
        self._seen = ""

    def type(self, keys: str) -> None:
        os.write(self._person, keys.encode())

    def until(self, text: str) -> str:
        """What is shown up to and with ``text``."""
        deadline = time.monotonic() + PATIENCE
        while text not in ESCAPES.sub("", self._seen):
            ready, _, _ = select.select([self._person], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, f"no {text!r} in {ESCAPES.sub('', self._seen)[-2000:]!r}"
            self._seen += os.read(self._person, 65536).decode(errors="replace")
        plain = ESCAPES.sub("", self._seen)
        shown, self._seen = plain[: plain.index(text) + len(text)], plain[plain.index(text) + len(text) :]
        return shown

    def end(self) -> int:
        """The exit code; the terminal has to be as it was."""
        code = self.child.wait(PATIENCE)
        local = termios.tcgetattr(self._program)[3]
        assert local & termios.ECHO
        assert local & termios.ICANON
        return code

    def close(self) -> None:
        self.child.kill()
        self.child.wait()
        os.close(self._person)
        os.close(self._program)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    made = Terminal("ask", "Who resigned?")
    yield made
    made.close()


def test_a_person_steers_a_run_and_answers_it(terminal: Terminal) -> None:
    terminal.until("? keys")
    terminal.type("?")
    terminal.until("skip this step")
    terminal.type("?p")
    terminal.until("paused ·")
    terminal.type("p")
    terminal.until("resumed")
    terminal.type("aWhen?\r")
    terminal.until("also to be found out: When?")
    terminal.until("Enter alone: answer as best it can")
    terminal.until("> ")
    terminal.type("In May.\r")
    terminal.until("heard In May.")
    terminal.until("([1] differs)")
    terminal.until("a, r, s, t: ")
    terminal.type("maybe\r")
    terminal.until("a, r, s, t: ")
    terminal.type("A\r")
    terminal.until("heard accept")
    terminal.until("0 of 1 sentence is supported")
    assert terminal.end() == 9  # answered in part
