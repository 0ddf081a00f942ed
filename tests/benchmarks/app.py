"""The full-screen app under a pseudo-terminal, with the real 0.5B model: how soon it answers to a key.

The first frame, keys while a model generates on all cores and a folder is read, the idle app, and a
session of 200 turns among 10,000 stored runs.
"""

from __future__ import annotations

import os
import random
import statistics
import string
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.benchmarks.table import Row, Table
from tests.traces.many_runs import fill
from tests.tui.pseudo_terminal import Terminal
from traces.paths import store_file
from traces.store import Store
from tui.ask.prompt import PLACEHOLDER
from tui.run.words import ENDINGS

_WIDTH, _HEIGHT = 120, 40
_MODEL = "qwen2.5-coder-0.5b"
_STARTS = 9
_KEYS_FOR, _KEY_EVERY = 35.0, 0.15  # seconds
_ASK_KEY, _RUNS_KEY, _SESSIONS_KEY = "\x1bOQ", "\x1bOS", "\x1b[21~"  # F2, F4, F10
_LIBRARY_KEY, _ESCAPE = "\x1bOR", "\x1b"  # F3
_CLEAR = "\x15"  # Ctrl-U deletes the line
_IDLE_FOR = 30.0
_RUNS, _TURNS = 10_000, 200
_FRAME = (PLACEHOLDER[1:30], "Library", "Ask")  # the cursor stands on the placeholder's first letter
_QUESTION = "Compare what the words alpha and beta stand for in every report, year by year."
_BUSY = {"DEEPTHINK_PROFILE": "seed", "DEEPTHINK_LENGTH": "report", "DEEPTHINK_APPROVE": "always"}
_NULL = subprocess.DEVNULL
_MODELS_ALONE = """
from tui.settings.settings import load
from tui.assemble import open_chat, open_embedder
chat, embedder = open_chat(load()), open_embedder(load())
chat.loaded(), embedder.warm_up()
import os
print(int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE"))
"""


def app() -> Table:
    """One table; each part of it on a process of its own."""
    os.environ["DEEPTHINK_MODEL"] = _MODEL
    with _home():
        _store(100)
        rows = [*_first_frames(), *_idle()]
    with _home() as home:
        busy, note = _busy(home)
        rows += busy
    with _home():
        rows += _large()
    notes = [
        f"`deepthink-tui` with {_MODEL}, {_WIDTH} × {_HEIGHT}; times are from the write of a key to the "
        "read of what it shows, the pseudo-terminal's own way included.",
        note,
        "“Over the models” is beside a process that has loaded the same model and embedder alone.",
    ]
    return Table("app", "The full-screen app", rows, notes)


def _app(settings: Mapping[str, str] | None = None) -> Terminal:
    own = {"TERM": "xterm-256color", "COLORTERM": "truecolor", **(settings or {})}
    return Terminal([str(Path(sys.executable).parent / "deepthink-tui")], own, (_WIDTH, _HEIGHT))


def _left(app: Terminal) -> float:
    """Leave by the key for it; the seconds until the app had ended."""
    began = time.perf_counter()
    app.press("\x11")  # Ctrl-Q
    app.code()
    return time.perf_counter() - began


@contextmanager
def _home() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="deepthink-bench-") as home:
        os.environ["DEEPTHINK_HOME"] = home
        yield Path(home)


def _first_frames() -> list[Row]:
    frames, keys, leaving = [], [], []
    for _ in range(_STARTS):
        with _app() as app:
            frames.append(app.wait_for(*_FRAME) - app.began)
            since = app.mark()
            app.press("q")
            keys.append(app.wait_for("q", since=since) - app.began)
            leaving.append(_left(app))
    first, key = statistics.median(frames), statistics.median(keys)
    return [
        Row.at_most(f"first frame, median of {_STARTS}", first, "{:.2f} s", 0.6),
        Row.at_most("a key pressed at once shows", key, "{:.2f} s", 0.6),
        Row("leaving while the models load", f"{statistics.median(leaving):.2f} s"),
    ]


def _idle() -> list[Row]:
    alone = subprocess.run(
        [sys.executable, "-c", _MODELS_ALONE], capture_output=True, text=True, check=True
    )
    with _app() as app:
        app.wait_for(*_FRAME)
        app.quiet(5.0)
        before, began = app.cpu_seconds(), time.perf_counter()
        time.sleep(_IDLE_FOR)
        share = (app.cpu_seconds() - before) / (time.perf_counter() - began)
        over = (app.resident() - int(alone.stdout)) / 1e6
        idle = _latencies(app, _KEYS_FOR / 3)
        left = _left(app)
    return [
        Row.at_most(f"idle, over {_IDLE_FOR:.0f} s", share, "{:.2%} of a core", 0.01),
        Row.at_most("memory over the models, idle", over, "{:.0f} MB", 500),
        _spread("key to screen, idle", idle),
        Row("leaving when the models are loaded", f"{left:.2f} s"),
    ]


def _busy(home: Path) -> tuple[list[Row], str]:
    """Keys while runs go on and a folder is read: by a process beside the app, then by the app itself."""
    _write_reports(home / "first", 12)
    _write_reports(home / "second", 2000)
    ingest = [str(Path(sys.executable).parent / "deepthink"), "ingest"]
    subprocess.run([*ingest, str(home / "first"), "-c", "reports"], check=True, capture_output=True)
    with _app(_BUSY) as app:
        app.wait_for(*_FRAME)
        app.quiet(3.0)
        beside = [*ingest, str(home / "second"), "-c", "more"]
        with subprocess.Popen(beside, stdin=_NULL, stdout=_NULL, stderr=_NULL) as reading:
            try:
                time.sleep(8.0)  # until it computes vectors
                before, began = app.cpu_seconds(), time.perf_counter()
                taken = _latencies(app, _KEYS_FOR, ask=_QUESTION)
                share = (app.cpu_seconds() - before) / (time.perf_counter() - began)
                if reading.poll() is not None:
                    raise RuntimeError("the folder was read before the keys were measured")
            finally:
                reading.kill()
        left = _left(app)
    with _app(_BUSY) as app:
        app.wait_for(*_FRAME)
        app.quiet(3.0)
        # Escape: the run that was left is offered. Shift-Tab: from the tree to the line for a path.
        for key, shown in ((_ESCAPE, ""), (_LIBRARY_KEY, ""), ("a", "Mark"), ("\x1b[Z", "")):
            app.shows(key, shown) if shown else app.press(key)
            time.sleep(1.5)
        app.shows(f"{home / 'second'}/", "Enter reads")
        app.shows("\r", "Reading into")
        time.sleep(3.0)
        app.press(_ASK_KEY)
        time.sleep(1.0)
        within = _latencies(app, _KEYS_FOR, ask=_QUESTION)
        _left(app)
    return [
        _spread("key to screen, while a model generates and a folder is read", taken, bar=0.1),
        Row("leaving in the middle of a run", f"{left:.2f} s"),
        _spread("the same, the folder read by the app itself", within, bar=0.1),
    ], (
        f"Busy: {len(taken)} keys, one every {_KEY_EVERY * 1000:.0f} ms, while runs of the seed profile "
        f"went on (the app took {share:.2f} cores) and `deepthink ingest` read another folder."
    )


def _large() -> list[Row]:
    latest = _store(_RUNS, turns=_TURNS)
    with _app() as app:
        first = app.wait_for(*_FRAME) - app.began
        app.quiet(5.0)
        alone = app.resident()
        runs = app.shows(_RUNS_KEY, "company 999")
        app.press(_ASK_KEY)
        time.sleep(1.0)
        app.shows(_SESSIONS_KEY, f"{_TURNS}")
        time.sleep(1.0)
        opened = app.shows("\r", latest)
        app.quiet(2.0)
        more = (app.resident() - alone) / 1e6
        _left(app)
    return [
        Row.at_most(f"first frame beside {_RUNS:,} runs", first, "{:.2f} s", 0.6),
        Row.at_most(f"the list of {_RUNS:,} runs opens", runs, "{:.2f} s", 1),
        Row.at_most(f"a session of {_TURNS} turns opens", opened, "{:.2f} s", 1),
        Row("memory that both add", f"{more:.0f} MB"),
    ]


def _store(runs: int, turns: int = 0) -> str:
    """A store of runs, the latest ``turns`` of them one session; words of the very last answer."""
    store_file().parent.mkdir(parents=True, exist_ok=True)
    store = Store(store_file())
    fill(store, runs)
    with store.transaction() as db:
        if turns:
            db.execute(
                "UPDATE runs SET session = 'long' WHERE id IN "
                "(SELECT id FROM runs ORDER BY started DESC LIMIT ?)",
                [turns],
            )
            db.execute(
                "INSERT INTO sessions SELECT 'long', '', min(started) FROM runs WHERE session = 'long'"
            )
        (answer,) = db.execute("SELECT answer FROM runs ORDER BY started DESC LIMIT 1").fetchall()[0]
    return str(answer).split()[3]


def _latencies(app: Terminal, seconds: float, ask: str = "") -> list[float]:
    """Seconds from key to screen, one for each key; runs of ``ask`` go on all the while."""
    letters = random.Random(7)
    typed, taken = "", []
    asked = -1
    deadline = time.perf_counter() + seconds
    while time.perf_counter() < deadline:
        if ask and (asked < 0 or any(f"{end} in " in app.screen_text(asked) for end in ENDINGS.values())):
            app.press(_CLEAR)
            time.sleep(1.0)  # text in the same breath would come before it
            asked = app.mark()
            app.shows(ask, ask[-9:])
            app.press("\r")
            typed = ""
            time.sleep(1.0)
        if len(typed) > 50:
            app.press(_CLEAR)
            typed = ""
            time.sleep(1.0)
        key = letters.choice(string.ascii_lowercase.replace(typed[-1:] or " ", ""))
        typed += key
        taken.append(app.shows(key, typed[-4:]))
        time.sleep(max(0.0, _KEY_EVERY - taken[-1]))
    return taken


def _write_reports(folder: Path, count: int) -> None:
    """Files of words, enough of them to keep an embedder at work."""
    words = random.Random(11)
    folder.mkdir()
    vocabulary = [*string.ascii_lowercase, "alpha", "beta", "report", "year", "of", "the", "stands", "for"]
    for number in range(count):
        text = " ".join(words.choices(vocabulary, k=700))
        (folder / f"report-{number}.md").write_text(f"# Report {number}\n\n{text}.\n", "utf-8")


def _spread(what: str, taken: list[float], bar: float = 0.0) -> Row:
    p95 = statistics.quantiles(taken, n=100, method="inclusive")[94]
    spread = {"median": statistics.median(taken), "p95": p95, "most": max(taken)}
    told = ", ".join(f"{name} {seconds * 1000:.0f} ms" for name, seconds in spread.items())
    return Row(what, told, f"p95 {bar * 1000:.0f} ms", p95 <= bar) if bar else Row(what, told)
