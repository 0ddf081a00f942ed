"""A person's first session with the real 0.5B model, from the first start to a run that is resumed."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from agent.documents import sample_library
from tests.tui.app.terminal.tmux import EXECUTABLE, Tmux
from traces.paths import store_file
from tui.ask.prompt import PLACEHOLDER

pytestmark = [
    pytest.mark.model,
    pytest.mark.skipif(
        EXECUTABLE is None and not os.environ.get("CI"),
        reason="tmux is not installed (apt-get install tmux)",
    ),
]
_LONG = 300.0  # seconds for what a model does; reached only where something hangs
_DOCUMENTS = (
    "reports/annual-report-2024.html",
    "newsroom/2025-04-14-memo-bearing-allocation.txt",
    "newsroom/2025-06-02-tolvang-restart.md",
    "newsroom/2025-07-24-board-note.md",
)
_FIRST = (
    "Which single supplier does Orlavane buy all of its ceramic compressor bearings from, what halted "
    "production at that supplier's plant in 2025, and for how long?"
)
_SECOND = (
    "Who is president of Orlavane's Industrial Heat segment according to the annual report, and to which "
    "new position did the board appoint that person in July 2025?"
)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Tmux]:
    tmux = Tmux(tmp_path)
    yield tmux
    tmux.close()


def _answered(screen: str) -> bool:
    return "✓ answered ·" in screen or "! answered" in screen


def test_from_the_first_start_to_a_run_that_is_resumed(terminal: Tmux, tmp_path: Path, home: Path) -> None:
    person = tmp_path / "person"
    documents = person / "orlavane"
    for name in _DOCUMENTS:
        (documents / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(sample_library.root() / name, documents / name)
    environment = {
        "HOME": str(person),
        "DEEPTHINK_HOME": str(home),
        "DEEPTHINK_MODELS": os.environ["DEEPTHINK_MODELS"],
        "DEEPTHINK_MODEL": "qwen2.5-coder-0.5b",
        "DEEPTHINK_RERANKER": "none",  # the reader alone orders what is found
        "DEEPTHINK_LENGTH": "brief",
        "DEEPTHINK_APPROVE": "always",  # so small a model may write what its sources do not support
    }
    command = [str(Path(sys.executable).parent / "deepthink-tui")]

    # The first start, and a folder of one's own.
    terminal.start(command, environment)
    terminal.shows("▸ 2  Documents")
    terminal.press("welcome.files")
    terminal.shows("▸ orlavane")
    terminal.key("shift+tab")  # from the tree to the line for a path
    terminal.shows(
        "esc Cancel", lambda screen: " Mark " not in screen
    )  # the footer: the line has the focus
    terminal.type(f"{documents}/")
    terminal.shows(f"{documents.name}/")
    terminal.press("file_tree.take")
    terminal.shows("✓ 2  Documents", "4 in the library", patience=_LONG)
    terminal.press("welcome.next")
    terminal.shows(PLACEHOLDER[:30], "documents  4 documents")

    # A question, its answer, and the passage behind a citation.
    terminal.type(_FIRST)
    terminal.press("prompt.send")
    terminal.shows("step 1 of", patience=_LONG)
    terminal.press("ask.panel")
    terminal.shows("Plan", "Evidence", "Decisions")
    terminal.press("ask.panel")
    terminal.shows(_answered, "by their sources", patience=_LONG)
    terminal.press("ask.citations")
    terminal.shows("l Plan")  # the footer: the answer has the focus
    terminal.press("answer.open")
    terminal.shows("cited as [1]", "“")
    terminal.press("passage.close")
    terminal.shows(lambda screen: "cited as" not in screen)  # a key right after Escape belongs to it
    terminal.press("ask.panel")
    terminal.shows("Plan", "Evidence", "Decisions", "✓ 2.")
    terminal.key("shift+tab")  # from the plan to the names of the tabs
    terminal.key("right")
    terminal.shows("ORLAVANE THERMAL")  # the evidence

    # What a decision should have been.
    terminal.press("app.learn")
    terminal.shows("CONTINUE", "rules")
    terminal.key("up")  # from the last one, which the cursor is at
    terminal.press("strip.finish")
    terminal.shows("✎")

    # Leaving in the middle of a run, and going on with it; its next decision is the person's.
    terminal.press("app.ask")
    terminal.press("ask.panel")
    terminal.shows(PLACEHOLDER[:30])
    terminal.type(_SECOND)
    terminal.press("prompt.send")
    terminal.shows("step 1 of", patience=_LONG)
    terminal.press("app.quit")
    assert terminal.ended() == 0
    terminal.start(command, environment)
    terminal.shows("A run was interrupted", "Industrial Heat")
    terminal.press("ask.unfinished")
    terminal.shows("‹unfinished›", "r resumes it")
    terminal.press("runs.resume")
    terminal.shows("step 1 of", patience=_LONG)
    terminal.press("run.decide")
    terminal.shows("What next?", "3 answer now", patience=_LONG)
    terminal.key("3")
    terminal.key("enter")
    terminal.shows(_answered, lambda screen: "as you decided" in " ".join(screen.split()), patience=_LONG)
    terminal.press("app.quit")
    assert terminal.ended() == 0

    with duckdb.connect(str(store_file()), read_only=True) as store:
        assert store.execute("SELECT status FROM runs").fetchall() == [("answered",)] * 2
        (human,) = store.execute("SELECT list(action) FROM decisions WHERE source = 'human'").fetchall()
        assert human == (["FINISH"],)
        labels = store.execute("SELECT action FROM labels WHERE origin = 'said'").fetchall()
        assert labels == [("FINISH",)]
