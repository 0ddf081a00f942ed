"""One question from the settings to the shown answer; `ask`, `demo` and `resume` share it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from functools import partial
from typing import Any

from agent import events as ev
from agent import run as agent_run
from agent.run import Approve, Request, resumable
from models.catalogue import entry
from models.fetch import installed
from models.protocols import Embedder, Loadable, ModelMissing, Reader
from traces.errors import DeepthinkError
from traces.records import NO_FILTERS, Filters
from traces.runs import Run, Runs
from traces.sessions import Sessions, SeveralSessions, UnknownSession
from tui.ask.terminal import Form, Route, Watch, is_interactive
from tui.ask.warm import AskOptions
from tui.assemble import (
    OLLAMA,
    OPENAI,
    open_chat,
    open_embedder,
    open_learned,
    open_planner,
    open_reader,
    open_store,
    open_web,
)
from tui.library import embedding
from tui.options import filters_from
from tui.run.fold import outcome_of
from tui.settings.settings import Settings
from tui.terminal import print_json

_LLAMA_CPP = "llama.cpp:"
NOTHING = "There is nothing to resume."
GOING_ON = "There is nothing to resume: run {} is still going on in another process."


def choose(wanted: str) -> Run | str:
    """The run to resume, or why there is none, in a sentence.

    ``wanted`` is its id, the beginning of it, or ``last``; "" for the newest. Raises `UnknownRun`.
    """
    store = open_store()
    if wanted:
        return Runs(store).find(wanted)
    unfinished = resumable(store)
    stopped = [entry.run for entry in unfinished if entry.why != "going on"]
    if stopped:
        return stopped[0]
    return GOING_ON.format(unfinished[0].run.id) if unfinished else NOTHING


def model_of(run: Run) -> str | None:
    """The language model that a run began with, as settings name it; None if it is not available."""
    if run.chat_model.startswith((OLLAMA, OPENAI)):
        return run.chat_model
    name = run.chat_model.removeprefix(_LLAMA_CPP)
    try:
        return name if installed(entry(name)) else None
    except ModelMissing:  # a file of the person's own, of which only the stem is known
        return None


def web_of(run: Run) -> bool:
    """Whether a run may search the web, as it was asked."""
    return bool(run.request.get("web"))


def request(
    question: str,
    settings: Settings,
    *,
    interactive: bool,
    collections: Sequence[str] = (),
    route: Route = "",
    session: tuple[str, str] = ("", ""),
    filters: Filters = NO_FILTERS,
) -> Request:
    """What a run is asked to do under these settings.

    ``interactive``: whether a person can answer questions of the run; ``session`` is of `session_of`.
    """
    session_id, session_name = session
    return Request(
        question=question,
        collections=tuple(collections),
        profile=settings.profile,
        decider=settings.decider,
        shadow=settings.shadow,
        budget=settings.run_budget(),
        route=route,
        length=settings.length,
        approve=settings.approve or ("ask" if interactive else "always"),
        interactive=interactive,
        session=session_id,
        session_name=session_name,
        filters=filters,
    )


def request_of(typed: AskOptions, settings: Settings, *, interactive: bool) -> Request:
    """What a run is asked to do by a question as it was typed. Raises as `session_of`, and `BadFilter`."""
    return request(
        typed.question,
        settings,
        interactive=interactive,
        collections=typed.collections,
        route=typed.route,
        session=session_of(typed.session, go_on=typed.go_on),
        filters=filters_from(typed.sender, typed.after, typed.before, typed.kind, typed.folder),
    )


def session_of(name: str | None, *, go_on: bool) -> tuple[str, str]:
    """The id of a question's session and "", or "" and the name of one to begin; both "" for a new one.

    Nothing is begun here: the question may yet be refused.

    Args:
        name: Name, or id (four digits of it do).
        go_on: Whether to use the latest session.

    Raises:
        UnknownSession: there is none to continue.
        SeveralSessions: several ids begin so.
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


def ask(request: Request, settings: Settings, form: Form = "auto") -> int:
    """Answer a question on stdout; the exit code. Raises `DeepthinkError`.

    Of the forms, ``auto`` moves on a terminal, and in a pipe writes the answer to stdout and progress to
    stderr; ``quiet`` leaves the progress out, ``plain`` writes lines, ``json`` one object at the end.
    """
    return _answer(partial(agent_run.run, request), settings, form)


def resume(run_id: str, settings: Settings, form: Form = "auto", approve: Approve | None = None) -> int:
    """Resume an unfinished run, and show it as `ask` does; the exit code. Raises `DeepthinkError`.

    ``approve``: what becomes of an answer that is not grounded; None for what the run was begun with.
    """
    agent_run.stopped(open_store(), run_id)  # no model is asked for in vain
    begin = partial(agent_run.resume, run_id, interactive=is_interactive(form), approve=approve)
    return _answer(begin, settings, form)


def _answer(begin: Callable[..., Generator[ev.Event]], settings: Settings, form: Form) -> int:
    """Show what ``begin`` yields, given the models, the store, the web and the person's wheel."""
    store = open_store()
    watch = Watch(store, form)
    with closing(open_chat(settings)) as chat:
        embedder, reader = open_embedder(settings), open_reader(settings)
        embedding.before(store, embedder)
        parts: dict[str, Any] = {
            "chat": chat,
            "embedder": embedder,
            "reader": reader,
            "store": store,
            "web": open_web(settings, store, embedder),
            "learned": open_learned(),
            "planner": open_planner(settings),
        }
        watch.follow(partial(begin, **parts), partial(_warm_up, (embedder, reader)))
    if form == "json":
        runs = Runs(store)  # they also know what came before the run was resumed
        print_json(outcome_of(runs.find(watch.run_id), runs.events(watch.run_id)).to_json())
    elif form != "quiet":
        watch.tell_nearest()
    return watch.outcome.exit_code


def _warm_up(models: Sequence[Embedder | Reader]) -> threading.Thread:
    """Load the embedder and the reader while the language model plans."""

    def load() -> None:
        try:
            for model in models:
                if isinstance(model, Loadable):
                    model.warm_up()
        except DeepthinkError:
            return  # the run meets the same failure at its first search, and reports it there

    thread = threading.Thread(target=load, name="deepthink-warm-up", daemon=True)
    thread.start()
    return thread
