"""Followed folders: a sync of what is unchanged, a file found after it was saved, a renamed folder."""

from __future__ import annotations

import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Final

from agent.documents import following
from agent.documents.ingest import FileDone, ingest
from agent.retrieval.recall import Recall
from models.protocols import Embedder
from tests.agent.documents.ingesting import Counting
from tests.benchmarks.process import beside_others
from tests.benchmarks.table import Row, Table
from tests.scripted import HashEmbedder
from traces.library import Library
from traces.records import Scope
from tui.app.engine import Engine

_FILES: Final = 1_000
_RENAMED: Final = 200
_QUIET: Final = 2.0  # bars, in seconds
_FOUND: Final = 5.0
_WORD: Final = "quartzite"


def sync() -> Table:
    load = beside_others()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "notes")
        for number in range(_FILES):
            file = folder / f"part {number // _RENAMED}" / f"note {number}.md"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"# Note {number}\n\nThe lamp of house {number} has the code {7 * number}.\n")
        engine = _Engine()
        store, model = engine.store, engine.embedder()
        list(ingest([folder], collection="notes", store=store, embedder=model, follow=True))
        time.sleep(_QUIET)  # what was written within the tick of its reading is hashed once more
        list(following.sync(store=store, embedder=model))
        began, worked = time.monotonic(), time.process_time()
        list(following.sync(store=store, embedder=model))
        unchanged, worked = time.monotonic() - began, time.process_time() - worked
        (folder / "part 0").rename(folder / "renamed")
        counting = Counting()
        began = time.monotonic()
        events = list(following.sync(store=store, embedder=counting))
        moving = time.monotonic() - began
        outcomes = Counter(event.outcome for event in events if isinstance(event, FileDone))
        found = _until_found(engine, folder / "part 1" / f"note {_RENAMED}.md")
    return Table(
        "sync",
        "Followed folders",
        [
            Row(
                f"{_FILES:,} unchanged files: sync",
                f"{unchanged:.2f} s ({worked:.2f} s of processor)",
                "2 s",
                unchanged <= _QUIET,
            ),
            Row.at_most("a changed file: until it can be found", found, "{:.1f} s", _FOUND),
            Row(
                f"a folder renamed with {_RENAMED} files: passages embedded again",
                f"{len(counting.texts)} ({outcomes['moved']} moved in {moving:.1f} s)",
                "0",
                not counting.texts and outcomes["moved"] == _RENAMED,
            ),
        ],
        [
            "In one process, with hashed words for vectors, so that no model counts. The changed file "
            "is searched for by keyword from the end of its writing on, while the app's worker watches.",
            *load,
        ],
    )


class _Engine(Engine):
    """The app's, with an embedder that takes no time."""

    def embedder(self) -> Embedder:
        return HashEmbedder()


def _until_found(engine: Engine, file: Path) -> float:
    """Seconds until what is written into a file is found, the app's worker at work."""
    engine._prepared.set()  # the models that answer are not loaded
    worker = threading.Thread(target=engine.keep_in_step)
    worker.start()
    try:
        time.sleep(2 * _FOUND)  # until the first look is over
        file.write_text(f"# Note\n\nThe lamp is made of {_WORD}.\n")
        began = time.monotonic()
        recall = Recall(Library(engine.store), engine.embedder())
        while (
            not any(_WORD in hit.passage.text for hit in recall.search(_WORD, "keyword", [Scope()], 1))
            and time.monotonic() - began < 10 * _FOUND
        ):
            time.sleep(0.1)
        return time.monotonic() - began
    finally:
        engine.closing.set()
        worker.join()
