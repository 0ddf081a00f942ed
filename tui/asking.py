"""One question from the settings to the shown answer; `ask` and `demo` share it."""

from __future__ import annotations

import json
import sys
import threading
from contextlib import closing
from typing import Literal

from agent import events as ev
from agent.run import Request, run
from models.local_embedder import LocalEmbedder
from models.protocols import Embedder
from traces.errors import DeepthinkError
from tui.assemble import open_chat, open_embedder, open_reranker, open_store
from tui.interrupts import ctrl_c
from tui.outcome import Outcome
from tui.render import Renderer, SilentRun, renderer
from tui.settings import Settings

Form = Literal["auto", "plain", "json"]


def ask(request: Request, settings: Settings, form: Form = "auto") -> int:
    """Answer a question on stdout; the exit code.

    Args:
        request: The question and how to answer it.
        settings: Which models to use.
        form: ``auto`` moves on a terminal, ``plain`` never does, ``json`` is one object at the end.

    Raises:
        DeepthinkError: whatever kept the question from being answered.
    """
    with closing(open_chat(settings)) as chat:
        embedder, reranker = open_embedder(settings), open_reranker(settings)
        outcome = Outcome()
        screen: Renderer = SilentRun() if form == "json" else renderer(plain=form == "plain")
        warming: threading.Thread | None = None
        try:
            with screen, ctrl_c() as cancel:
                events = run(
                    request,
                    chat=chat,
                    embedder=embedder,
                    reranker=reranker,
                    store=open_store(),
                    cancel=cancel,
                )
                # A closed pipe must end the run before the model is closed under it.
                with closing(events):
                    for event in events:
                        if isinstance(event, ev.RunStarted):
                            warming = _warm_up(embedder)
                        outcome.take(event)
                        screen.take(event)
        finally:
            if warming is not None:
                warming.join()  # an interpreter that ends in the middle of an import may crash
    if form == "json":
        sys.stdout.write(json.dumps(outcome.to_json(), ensure_ascii=False, indent=2) + "\n")
    return outcome.exit_code


def _warm_up(embedder: Embedder) -> threading.Thread:
    """Load the embedder while the language model plans: its library takes seconds to import."""

    def load() -> None:
        try:
            if isinstance(embedder, LocalEmbedder):
                embedder.warm_up()
        except DeepthinkError:
            return  # the run meets the same failure at its first search, and tells it there

    thread = threading.Thread(target=load, name="deepthink-warm-up", daemon=True)
    thread.start()
    return thread
