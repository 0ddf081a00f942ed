"""Runs, conversations and documents in the command palette, found by their words."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar, cast

from textual.command import Hit, Hits, Provider
from textual.content import Content

from tui.app.offers import Deepthink, deepthink
from tui.app.palette import has_words
from tui.terminal import one_line

if TYPE_CHECKING:
    from traces.records import Document
    from traces.sessions import Session
    from tui.ask.screen import AskScreen
    from tui.library.screen import LibraryScreen

T = TypeVar("T")
_EACH = 8  # hits of each kind
_SESSIONS = 1000  # the latest ones
_LONG = 90
_SCORE = 0.3  # behind the actions that fit


class Stored(Provider):
    """Hits in the store; each of the words must occur."""

    async def startup(self) -> None:
        """Read the names of documents and conversations once."""
        self._documents, self._sessions = await asyncio.to_thread(self._read)

    def _read(self) -> tuple[list[Document], list[Session]]:
        from traces.library import Library
        from traces.sessions import Sessions

        store = self._app.engine.store
        with store.connect():
            return Library(store).documents(), Sessions(store).recent(_SESSIONS)

    @property
    def _app(self) -> Deepthink:
        return deepthink(self.screen)

    async def search(self, query: str) -> Hits:
        """The documents, conversations and runs that have the words."""
        from traces.runs import Runs
        from tui.runs.list import when

        for document in _fitting(self._documents, query, lambda one: f"{one.name} {one.title}"):
            told = f"{document.title or document.name} · {document.collection}"
            yield _hit("Document", document.name, told, partial(self._open_document, document.id))
        for session in _fitting(self._sessions, query, lambda one: f"{one.name} {one.first}"):
            told = f"{session.runs} question{'s' * (session.runs != 1)} · {when(session.latest)}"
            name = session.name or session.first
            yield _hit("Conversation", name, told, partial(self._open_session, session.id))
        find = partial(Runs(self._app.engine.store).search, query, limit=_EACH)
        for run in await asyncio.to_thread(find):
            told = f"{run.status} · {when(run.started)}"
            yield _hit("Run", run.question, told, partial(self._open_run, run.id))

    def _open_run(self, run_id: str) -> None:
        from tui.runs.replay import ReplayScreen

        self._app.action_mode("runs")
        self.app.push_screen(ReplayScreen(run_id))

    def _open_session(self, session_id: str) -> None:
        self._app.action_mode("ask")
        cast("AskScreen", self.app.screen).go_to_session(session_id)

    def _open_document(self, document_id: int) -> None:
        self._app.action_mode("library")
        screen = cast("LibraryScreen", self.app.screen)
        screen.call_after_refresh(screen.open_document, document_id)  # it may be shown for the first time


def _hit(kind: str, name: str, told: str, run: Callable[[], None]) -> Hit:
    shown = f"{kind}: {one_line(name, _LONG)}"
    return Hit(_SCORE, Content(shown), run, text=shown, help=one_line(told, _LONG))


def _fitting(items: Sequence[T], query: str, text: Callable[[T], str]) -> Sequence[T]:
    """The first of those whose text has every word of the query."""
    return [item for item in items if has_words(text(item), query)][:_EACH]
