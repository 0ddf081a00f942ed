"""The first five minutes: models, a small library, and a question that takes two steps."""

from __future__ import annotations

import threading
from collections.abc import Iterator

from agent.documents import ingest as ing
from agent.documents import sample_library
from models.fetch import installed
from models.protocols import Embedder
from traces.store import Store
from tui import failures
from tui.ask.asking import ask, request_of
from tui.ask.terminal import Form, is_interactive
from tui.ask.warm import AskOptions
from tui.assemble import default_entries, open_embedder, open_store
from tui.interrupts import ctrl_c
from tui.library.ingesting import show_ingestion
from tui.models.pulling import pull_models
from tui.settings.settings import Settings, load
from tui.terminal import console, size


def read(
    collection: str, store: Store, embedder: Embedder, cancel: threading.Event | None = None
) -> Iterator[ing.IngestEvent]:
    """Bring one sample collection up to date; documents already read stay unchanged.

    Raises what `agent.documents.ingest.ingest` raises.
    """
    yield from ing.ingest(
        [sample_library.root() / collection],
        collection=collection,
        description=sample_library.COLLECTIONS[collection],
        store=store,
        embedder=embedder,
        cancel=cancel,
    )


def demonstrate(form: Form) -> int:
    """Fetch models, read the sample library, ask its question. The exit code, 0 for a partial answer."""
    settings = load()
    out = console()
    missing = [entry for entry in default_entries(settings) if installed(entry) is None]
    if missing:
        total = size(sum(entry.size for entry in missing))
        out.print(f"Fetching what is missing to answer offline from now on: {total}, once.")
        pull_models(missing)
    code = _read_samples(settings)
    if code != failures.DONE:
        return code
    question = sample_library.demo_question()
    out.print()
    typed = AskOptions(question.question, question.collections)
    code = ask(request_of(typed, settings, interactive=is_interactive(form)), settings, form)
    return failures.DONE if code == failures.PARTLY else code


def _read_samples(settings: Settings) -> int:
    """Bring both sample collections up to date, and return the exit code."""
    out = console()
    store, embedder = open_store(), open_embedder(settings)
    for collection in sample_library.COLLECTIONS:
        out.print(f"Reading the sample library, collection {collection}:")
        with ctrl_c() as cancel:
            code = show_ingestion(read(collection, store, embedder, cancel))
        if code != failures.DONE:
            return code
    return failures.DONE
