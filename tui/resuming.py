"""Which run to resume, with which model, and whether with the web."""

from __future__ import annotations

from agent.run import resumable
from models.catalogue import entry
from models.fetch import installed
from models.protocols import ModelMissing
from traces.runs import Run, Runs
from tui.assemble import OLLAMA, open_store

_LLAMA_CPP = "llama.cpp:"
NOTHING = "There is nothing to resume."
GOING_ON = "There is nothing to resume: run {} is still going on in another process."


def choose(wanted: str) -> Run | str:
    """The run to resume, or why there is none, in a sentence.

    Args:
        wanted: A run's id, the beginning of it, or ``last``; "" for the newest that can be resumed.

    Raises:
        UnknownRun: there is no such run.
    """
    store = open_store()
    if wanted:
        return Runs(store).find(wanted)
    found = resumable(store)
    stopped = [entry.run for entry in found if entry.why != "going on"]
    if stopped:
        return stopped[0]
    return GOING_ON.format(found[0].run.id) if found else NOTHING


def model_of(run: Run) -> str | None:
    """The language model that a run began with, as settings name it; None if it is not to be had."""
    if run.chat_model.startswith(OLLAMA):
        return run.chat_model
    name = run.chat_model.removeprefix(_LLAMA_CPP)
    try:
        return name if installed(entry(name)) else None
    except ModelMissing:  # a file of the person's own, of which only the stem is known
        return None


def web_of(run: Run) -> bool | None:
    """Whether a run may search the web, as it was asked; None if an older version did not store that."""
    stored = run.request.get("web")
    return stored if isinstance(stored, bool) else None
