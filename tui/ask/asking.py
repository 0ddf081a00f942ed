"""Answer one question on the command line: `ask`, `demo` and `resume`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, suppress
from functools import partial

from agent import events as ev
from agent import run as agent_run
from agent.deps import Approve
from agent.retrieval.filters import filters_of
from agent.run import Request, resumable
from models.catalogue import entry
from models.fetch.pull import installed
from models.protocols import ModelMissing
from models.servers.kinds import split
from traces.errors import DeepthinkError
from traces.records import ALL_COLLECTIONS
from traces.runs import Run, Runs, Sessions, SeveralSessions, UnknownSession
from tui import failures
from tui.ask.terminal import AskOptions, Form, conclude, follow, is_interactive
from tui.assemble import open_parts, open_store, run_parts, warm_up
from tui.interrupts import ctrl_c
from tui.library.actions import embed_few
from tui.options import collections_of
from tui.settings.settings import Settings, load
from tui.terminal import console, size

_LLAMA_CPP = "llama.cpp:"
NOTHING = "There is nothing to resume."


def choose(reference: str) -> Run | str:
    """The run to resume, or a sentence that says why there is none.

    ``reference`` is an id or a prefix of it; ``last`` or "" is the newest unfinished. Raises `UnknownRun`.
    """
    store = open_store()
    if reference not in {"", "last"}:
        return Runs(store).find(reference)
    unfinished = resumable(store)
    stopped = next((entry.run for entry in unfinished if entry.why != "going on"), None)
    if stopped is not None or not unfinished:
        return stopped or NOTHING
    return f"{NOTHING[:-1]}: run {unfinished[0].run.id} is still going on in another process."


def model_of(run: Run) -> str | None:
    """The language model that a run began with, as settings name it; None if it is not available."""
    if split(run.chat_model)[0]:
        return run.chat_model
    name = run.chat_model.removeprefix(_LLAMA_CPP)
    try:
        return name if installed(entry(name)) else None
    except ModelMissing:  # the user's own file: only its stem is stored
        return None


def web_of(run: Run) -> bool:
    """Whether the run was started with web search."""
    return bool(run.request.get("web"))


def request_of(typed: AskOptions, settings: Settings, *, interactive: bool) -> Request:
    """The request for a question with its options. Raises as `session_of`, and `BadFilter`.

    ``interactive``: whether the user can answer questions of the run.
    """
    session, session_name = session_of(typed.session, go_on=typed.go_on)
    return Request(
        question=typed.question,
        collections=scope_of(session, settings, typed.collections),
        profile=settings.profile,
        decider=settings.decider,
        shadow=settings.shadow,
        budget=settings.budget,
        length=settings.length,
        approve=settings.approve or ("ask" if interactive else "always"),
        interactive=interactive,
        session=session,
        session_name=session_name,
        filters=filters_of(typed.filters),
    )


def session_of(name: str | None, *, go_on: bool) -> tuple[str, str]:
    """The id and the new name of a question's session; one of them is "", both for a new unnamed session.

    Nothing is created here: the question may still be refused. ``name`` is a name or an id, of which four
    digits are enough; ``go_on`` takes the latest session. Raises `UnknownSession` if there is none to
    continue, and `SeveralSessions` if several ids have this prefix.
    """
    sessions = Sessions(open_store())
    if go_on or name == "last":
        return sessions.find("last").id, ""
    if not name:
        return "", ""
    try:
        return sessions.find(name).id, ""
    except SeveralSessions:
        raise
    except UnknownSession:
        return "", name


def scope_of(session: str, settings: Settings, named: Sequence[str] = ()) -> tuple[str, ...]:
    """Where a session's next question searches, as ``named`` in it or before; everywhere if empty."""
    last = Runs(open_store()).of_session(session)[-1:] if session and not named else []
    so_far = last[0].request.get("collections") or (ALL_COLLECTIONS,) if last else ()
    return collections_of(named or so_far, settings)


def ask(request: Request, settings: Settings, form: Form = "auto") -> int:
    """Answer a question on stdout and return the exit code. Raises `DeepthinkError`.

    The form ``auto`` is animated on a terminal; in a pipe it writes the answer to stdout and progress to
    stderr. ``quiet`` omits the progress, ``plain`` writes lines, ``json`` one object at the end.
    """
    return _answer(partial(agent_run.run, request), settings, form)


def resume(run_id: str, settings: Settings, form: Form = "auto", approve: Approve | None = None) -> int:
    """Resume an unfinished run, show it as `ask` does, and return the exit code. Raises `DeepthinkError`.

    ``approve``: what to do with an answer that is not grounded; None for the run's own setting.
    """
    agent_run.stopped(open_store(), run_id)  # fail before a model is loaded
    begin = partial(agent_run.resume, run_id, interactive=is_interactive(form), approve=approve)
    return _answer(begin, settings, form)


def _answer(begin: Callable[..., Generator[ev.Event]], settings: Settings, form: Form) -> int:
    """Call ``begin`` with the models, the store and the web, show its events, and return the exit code."""
    store, parts = open_store(), open_parts(settings)
    with closing(parts["chat"]):
        embed_few(store, parts["embedder"])
        load = partial(_warm_up, parts["embedder"], parts["reader"])
        fold = follow(store, form, partial(begin, **run_parts(parts, store, settings)), warm_up=load)
    return conclude(fold, store, form)


def _warm_up(*models: object) -> threading.Thread:
    """Load the embedder and the reader while the language model plans."""

    def load() -> None:
        with suppress(DeepthinkError):  # the run fails in the same way at its first search, and reports it
            warm_up(*models)

    thread = threading.Thread(target=load, name="deepthink-warm-up", daemon=True)
    thread.start()
    return thread


def demonstrate(form: Form) -> int:
    """Fetch models, read the sample library, ask its question. The exit code, 0 for a partial answer."""
    from agent.documents import sample_library
    from tui.assemble import default_entries, open_embedder
    from tui.library.actions import read_samples
    from tui.library.ingesting import show_ingestion
    from tui.models.pulling import pull_models

    settings, out = load(), console()
    missing = [entry for entry in default_entries(settings) if installed(entry) is None]
    if missing:
        total = size(sum(entry.size for entry in missing))
        out.print(f"Fetching what is missing to answer offline from now on: {total}, once.")
        pull_models(missing)
    store, embedder = open_store(), open_embedder(settings)
    for collection in sample_library.COLLECTIONS:
        out.print(f"Reading the sample library, collection {collection}:")
        with ctrl_c() as cancel:
            code = show_ingestion(read_samples(collection, store, embedder, cancel))
        if code != failures.DONE:
            return code
    out.print()
    options = AskOptions(sample_library.demo_question(), tuple(sample_library.COLLECTIONS))
    code = ask(request_of(options, settings, interactive=is_interactive(form)), settings, form)
    return failures.DONE if code == failures.PARTLY else code
