"""A run as it is watched: under a pseudo-terminal, with keys and questions."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.tui.pseudo_terminal import Terminal

pytestmark = pytest.mark.shared_store

ROOT = Path(__file__).parents[3]

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


def test_a_person_steers_a_run_and_answers_it() -> None:
    command = [sys.executable, "-c", PROGRAM, "ask", "Who resigned?"]
    with Terminal(command, {"TERM": "xterm", "PYTHONPATH": str(ROOT)}, (80, 24)) as terminal:
        terminal.wait_for("? keys")
        terminal.shows("?", "skip this step")
        terminal.shows("?\x0f", "paused ·")
        terminal.shows("\x0f", "resumed")
        terminal.shows(
            "\x02When?\r", "also to be found out: When?", "Enter alone: answer as best it can", "> "
        )
        terminal.shows("In May.\r", "heard In May.", "([1] differs)", "a, r, s, t: ")
        terminal.shows("maybe\r", "a, r, s, t: ")
        terminal.shows("A\r", "heard accept", "0 of 1 sentence is supported")
        assert terminal.code() == 9  # answered with doubts


_SLOW = """
from pathlib import Path
from traces.store import Store
with Store(Path("new.duckdb")).connect() as db:
    print(db.execute("SELECT 'draws: ' || current_setting('enable_progress_bar')").fetchone()[0])
"""


def test_duckdb_draws_nothing_over_the_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with Terminal([sys.executable, "-c", _SLOW], {"PYTHONPATH": str(ROOT)}, (80, 24)) as terminal:
        terminal.wait_for("draws: false")
