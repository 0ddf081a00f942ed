"""The first five minutes: models, a small library, and a question that takes two steps."""

from __future__ import annotations

from agent.documents import sample_library
from models.fetch import installed
from tui import failures, samples
from tui.asking import Form, ask, request
from tui.assemble import default_entries, open_embedder, open_store
from tui.ingesting import show_ingestion
from tui.interrupts import ctrl_c
from tui.pulling import pull_models
from tui.settings import Settings, load
from tui.terminal import console, size


def demonstrate(form: Form) -> int:
    """Make sure of models and sample library, then ask its demo question.

    Returns:
        The exit code of `ask`; 0 for an answer in part.
    """
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
    wanted = request(question.question, settings, form, collections=question.collections)
    code = ask(wanted, settings, form)
    return failures.DONE if code == failures.PARTLY else code


def _read_samples(settings: Settings) -> int:
    """Bring both sample collections up to date; silent about what is already read."""
    out = console()
    store, embedder = open_store(), open_embedder(settings)
    for collection in samples.COLLECTIONS:
        out.print(f"Reading the sample library, collection {collection}:")
        with ctrl_c() as cancel:
            code = show_ingestion(samples.read(collection, store, embedder, cancel))
        if code != failures.DONE:
            return code
    return failures.DONE
