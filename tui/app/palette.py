"""The command palette: actions of this screen and of others, themes, and stored items."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from textual import on
from textual.actions import parse
from textual.binding import Binding
from textual.command import CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.dom import DOMNode
from textual.fuzzy import Matcher
from textual.screen import Screen
from textual.types import IgnoreReturnCallbackType
from textual.widgets import Input
from textual.worker import Worker, WorkerState

from tui.app.keys import ACTIONS_BY_ID, Action, modes
from tui.app.reach import deepthink
from tui.app.themes import TEXTUAL
from tui.app.work import in_background
from tui.run.words import status
from tui.terminal import one_line

if TYPE_CHECKING:
    from traces.records import Document
    from traces.runs import Session
    from tui.app.app import DeepthinkApp
    from tui.app.base import DeepScreen
    from tui.ask.screen import AskScreen


_AT_ONCE: Final = set(
    "ask.sessions ask.new library.add library.search runs.search runs.unfinished models.file "
    "settings.search".split()
)
"""Actions that the palette performs on another screen; the others need a selection there first."""

_MODES: Final = {"run": "ask", "decisions": "learn", "policy": "learn"}
"""Place to the screen that it is a part of."""

_Offer = tuple[str, str, str, IgnoreReturnCallbackType]  # name, help, words to find it by, what it does
_OTHER_SCREENS_WEIGHT: Final = 0.5  # actions of other screens
_HELP_WEIGHT: Final = 0.5  # words in the help of an action, not in its name
_STORED_SCORE: Final = 0.3  # after the actions that have the words
_LETTERS_WEIGHT: Final = 0.2  # letters here and there in the name of an action, not the words


class Palette(CommandPalette):
    """The window; unlike Textual's, Enter waits for the current search, not the previous one."""

    _pending_search: Worker[Any] | None = None  # the search after which Enter is pressed again

    @on(Input.Submitted)
    def _wait_for_search(self, event: Input.Submitted) -> None:
        searches = (worker for worker in self.workers if worker.node is self and not worker.is_cancelled)
        self._pending_search = next((search for search in searches if not search.is_finished), None)
        if self._pending_search is not None:
            event.stop()
            event.prevent_default()

    @on(Worker.StateChanged)
    async def _submit_after_search(self, event: Worker.StateChanged) -> None:
        if event.worker is self._pending_search and event.state is WorkerState.SUCCESS:
            await self.query_one(Input).action_submit()


def has_words(text: str, query: str) -> bool:
    text = text.casefold()
    return all(word in text for word in query.casefold().split())


def _score(matcher: Matcher, name: str) -> float:
    """How well a name matches: below `_LETTERS_WEIGHT` if it has the letters alone, not the words."""
    score = matcher.match(name)
    return score if has_words(name, matcher.query) else _LETTERS_WEIGHT * score / (1 + score)


class Actions(Provider):
    async def discover(self) -> Hits:
        for name, help_text, _, run in self._actions_here():
            yield DiscoveryHit(name, run, help=help_text)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        weighted_actions = {1.0: self._actions_here(), _OTHER_SCREENS_WEIGHT: self._actions_elsewhere()}
        for weight, actions in weighted_actions.items():
            for name, help_text, words, run in actions:
                score = max(_score(matcher, name), _HELP_WEIGHT * has_words(words, query))
                if score > 0:
                    yield Hit(weight * score, matcher.highlight(name), run, help=help_text)

    def _actions_here(self) -> Iterator[_Offer]:
        app = deepthink(self.screen)
        for action, owner, key in possible(self.screen):
            run = partial(app.run_action, action.does, owner)
            yield f"{action.label}  {key}".strip(), action.help, action.help, run
        for theme, textual_name in TEXTUAL.items():
            name = f"Theme: {theme}{' (in use)' * (textual_name == app.theme)}"
            help_text = f"Change to the {theme} theme."
            yield name, help_text, help_text, partial(take_theme, app, theme)

    def _actions_elsewhere(self) -> Iterator[_Offer]:
        places_here = getattr(self.screen, "PLACES", ())
        app, openings = deepthink(self.screen), {mode: action.label for mode, action in modes()}
        for action in ACTIONS_BY_ID.values():
            mode = _MODES.get(action.place, action.place)
            if mode in openings and action.place not in places_here:
                name = f"{openings[mode]}: {action.label}  {app.key_for(action.id)}"
                run = partial(go, app, mode, action)
                yield name, action.help, f"{action.help} {action.id}", run


def go(app: DeepthinkApp, mode: str, action: Action) -> None:
    """Go to a screen and perform the action, or name its key if it needs a selection first."""
    app.action_mode(mode)
    screen = cast("DeepScreen", app.screen)

    async def act() -> None:
        screen.show_place(action.place)
        owner = next((owner for candidate, owner, _ in possible(screen) if candidate.id == action.id), None)
        if action.id in _AT_ONCE and owner is not None:
            await app.run_action(action.does, owner)
        else:
            app.notify(f"{app.key_for(action.id)}: {action.help}", markup=False)

    screen.call_after_refresh(act)


def possible(screen: Screen[Any]) -> Iterator[tuple[Action, DOMNode, str]]:
    """The actions possible on ``screen`` now, with the node that performs each and its key ("" if none).

    These are the actions with an active key, and all actions of the screen's own places, whatever has the
    focus.
    """
    active: dict[str, tuple[DOMNode, bool, str]] = {}
    for node, binding, enabled, _ in screen.active_bindings.values():
        active.setdefault(binding.id or "", (node, enabled, screen.app.get_key_display(binding)))
    places = getattr(screen, "PLACES", ())
    for action in ACTIONS_BY_ID.values():
        if action.id == "app.palette":
            continue
        if action.id in active:
            node, enabled, key = active[action.id]
            if enabled:
                yield action, node, key
        elif action.place == "app" or action.place in places:
            owner = screen.app if action.place == "app" else _owner(screen, action)
            destination, name, parameters = parse(action.does)
            if owner is not None and (destination or owner.check_action(name, parameters)):
                yield action, owner, ""


def take_theme(app: DeepthinkApp, name: str) -> None:
    """Change to a theme at once, and save it in the settings in the background."""

    def store() -> None:
        from tui.settings.settings import put

        put("app.theme", name)
        app.engine.reload()

    app.theme = TEXTUAL[name]
    in_background(app, store, group="theme")


def _owner(screen: Screen[Any], action: Action) -> DOMNode | None:
    """The node for an action whose key is inactive now: the screen, or a visible widget on it."""
    _, name, _ = parse(action.does)
    if hasattr(screen, f"action_{name}") and _binds(screen, action.id):
        return screen
    return next((node for node in screen.query("*") if node.display and _binds(node, action.id)), None)


def _binds(node: DOMNode, action_id: str) -> bool:
    return any(
        isinstance(binding, Binding) and binding.id == action_id
        for kind in type(node).__mro__
        for binding in kind.__dict__.get("BINDINGS", ())
    )


T = TypeVar("T")
_MAX_HITS = 8  # hits of each kind
_SESSIONS = 1000  # the latest
_MAX_LENGTH = 90


class Stored(Provider):
    """Stored documents, sessions and runs; every word must occur."""

    _reading: asyncio.Task[tuple[list[Document], list[Session]]] | None = None

    def _read(self) -> tuple[list[Document], list[Session]]:
        from traces.library import Library
        from traces.runs import Sessions

        store = deepthink(self.screen).engine.store
        with store.connect():
            return Library(store).documents(), Sessions(store).recent(_SESSIONS)

    async def search(self, query: str) -> Hits:
        from traces.runs import Runs
        from tui.runs.actions import as_of_now
        from tui.runs.list import short_time

        if self._reading is None:
            self._reading = asyncio.create_task(asyncio.to_thread(self._read))
        # Shielded, since each further letter cancels the search before it.
        documents, sessions = await asyncio.shield(self._reading)
        for document in _matching(documents, query, lambda doc: f"{doc.name} {doc.title}"):
            text = f"{document.title or document.name} · {document.collection}"
            yield _hit("Document", document.name, text, partial(self._open_document, document.id))
        for session in _matching(sessions, query, lambda item: f"{item.name} {item.first}"):
            text = f"{session.runs} question{'s' * (session.runs != 1)} · {short_time(session.latest)}"
            name = session.name or session.first
            yield _hit("Conversation", name, text, partial(self._open_session, session.id))
        store = deepthink(self.screen).engine.store
        for run in await asyncio.to_thread(
            lambda: as_of_now(store, Runs(store).search(query, limit=_MAX_HITS))
        ):
            text = f"{status(run, doubtful=run.doubtful)} · {short_time(run.started)}"
            yield _hit("Run", run.question, text, partial(self._open_run, run.id))

    def _open_run(self, run_id: str) -> None:
        from tui.runs.replay import ReplayScreen

        deepthink(self.screen).action_mode("runs")
        self.app.push_screen(ReplayScreen(run_id))

    def _open_session(self, session_id: str) -> None:
        deepthink(self.screen).action_mode("ask")
        cast("AskScreen", self.app.screen).go_to_session(session_id)

    def _open_document(self, document_id: int) -> None:
        deepthink(self.screen).in_library(lambda library: library.open_document(document_id))


def _hit(kind: str, name: str, text: str, run: Callable[[], None]) -> Hit:
    label = f"{kind}: {one_line(name, _MAX_LENGTH)}"
    return Hit(_STORED_SCORE, Content(label), run, text=label, help=one_line(text, _MAX_LENGTH))


def _matching(items: Sequence[T], query: str, text: Callable[[T], str]) -> Sequence[T]:
    return [item for item in items if has_words(text(item), query)][:_MAX_HITS]
