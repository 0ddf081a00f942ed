"""The models and the store, opened once for the whole app, when first needed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from textual.message import Message

from traces.errors import DeepthinkError
from traces.paths import store_file
from traces.store import Store
from tui.app.work import Failed, failed

if TYPE_CHECKING:
    from models.protocols import Chat, Completer, Embedder, Reader
    from tui.settings.settings import Settings

_VIEW_MODULES = ("tui.run.exchange", "tui.run.panel")  # show a run
_RUN_MODULES = ("langgraph.graph", "agent.graph")  # take seconds to import, so before the first question

_POLL_SECONDS = 0.2

T = TypeVar("T")
EngineState = Literal["cold", "loading", "ready", "missing"]


@dataclass
class EngineChanged(Message):
    """A part of the engine has changed its state.

    The parts are ``settings``, ``model`` and ``embedder``; ``library`` while its passages are embedded;
    ``folders`` while changes in followed folders are read.
    """

    part: str
    state: EngineState
    detail: str  # the model's name, the progress, or what is wrong, in a few words


@dataclass
class Noticed(Message):
    """A warning: an ignored setting, a library in use elsewhere."""

    title: str
    text: str


@dataclass(eq=False)
class _OpenChat:
    """A language model, the settings it was opened with, and the number of current users."""

    chat: Chat
    settings: Mapping[str, object]
    users: int = 0


class Engine:
    """Everything that runs need. Every method may be called from any thread."""

    def __init__(self, tell: Callable[[Message], object] | None = None) -> None:
        self.tell: Callable[[Message], object] = tell or (lambda _message: None)
        self.store = Store(store_file(), on_wait=lambda message: self.tell(Noticed("Library", message)))
        self._lock = threading.RLock()
        self._settings: Settings | None = None
        self._chat: _OpenChat | None = None
        self._open_parts: dict[tuple[str, ...], tuple[list[object], Any]] = {}  # settings: values, instance
        self._embedding = threading.Lock()
        self._warn_once = cache(lambda message: self.tell(Noticed("Settings", message)))
        self.closing = threading.Event()  # set when the app ends: it stops the work in the background
        self._prepared = threading.Event()

    def settings(self) -> Settings:
        """The settings in force; posts their state when they are read. Raises `BadSetting`."""
        with self._lock:
            if self._settings is None:
                from tui.settings.settings import load

                try:
                    self._settings = load(warn=self._warn_once)
                except DeepthinkError as error:
                    self.tell(EngineChanged("settings", "missing", error.title))
                    raise
                self.tell(EngineChanged("settings", "ready", ""))
            return self._settings

    def reload(self) -> Settings:
        """Read the settings again; models that they no longer name are replaced at the next use."""
        with self._lock:
            self._settings = None
            return self.settings()

    @contextmanager
    def chat(self, model: str = "") -> Iterator[Chat]:
        """The language model, perhaps not loaded yet, for as long as it is used. Raises `ModelMissing`.

        ``model`` is a name as in the settings; "" for the current setting. A previous model is closed once
        it is no longer used.
        """
        from models.servers.kinds import KINDS
        from tui import assemble

        settings = self.settings()
        if model:
            settings = settings.model_copy(update={"model": model})
        named = {"model", "context_tokens", "threads", *(f"{kind}_url" for kind in KINDS)}
        values = settings.model_dump(include=named)
        with self._lock:
            previous = self._chat
            if previous is None or values != previous.settings:
                self._chat = _OpenChat(assemble.open_chat(settings), values)
                if previous is not None and not previous.users:
                    previous.chat.close()
            open_chat = self._chat
            assert open_chat is not None
            open_chat.users += 1
        try:
            yield open_chat.chat
        finally:
            with self._lock:
                open_chat.users -= 1
                if not open_chat.users and open_chat is not self._chat:
                    open_chat.chat.close()

    def embedder(self) -> Embedder:
        """The embedder, perhaps not loaded yet. Raises `ModelMissing`."""
        from tui.assemble import open_embedder

        return self._open_once(open_embedder, "embedder", "ollama_url")

    def reader(self) -> Reader:
        """The reader, perhaps not loaded yet. Raises `ModelMissing` if the set reranker is missing."""
        from tui.assemble import open_reader

        return self._open_once(open_reader, "reranker")

    def planner(self) -> Completer | None:
        """The taught planner, perhaps not loaded yet; None if the language model plans."""
        from tui.assemble import open_planner

        return self._open_once(open_planner, "planner")

    def _open_once(self, opener: Callable[[Settings], T], *names: str) -> T:
        """What ``opener`` opens, again if it was None or one of these settings has changed."""
        with self._lock:
            settings = self.settings()
            values = [getattr(settings, name) for name in names]
            opened_with, instance = self._open_parts.get(names, ([], None))
            if instance is None or opened_with != values:
                instance = opener(settings)
                self._open_parts[names] = (values, instance)
            return cast(T, instance)

    def prepare(self) -> None:
        """Load everything that the first question needs, and post each state; for a worker.

        A part that cannot be loaded is reported as missing, not raised: the app can be used without it.
        Without settings, which name the models, none is looked for.
        """
        for module in _VIEW_MODULES:
            import_module(module)
        try:
            self.settings()
        except DeepthinkError:
            return
        for module in _RUN_MODULES:
            import_module(module)
        self._load("model", self._warm_chat)
        has_embedder = self._load("embedder", self._warm_embedder)
        self._prepared.set()
        if has_embedder:
            self.embed_library()

    def keep_in_step(self) -> None:
        """Keep the library in sync with the folders it follows, between answers; for a worker.

        It starts once the models are loaded, and runs until the app ends.
        """
        from agent.documents.following import due

        while not self._prepared.wait(_POLL_SECONDS):
            if self.closing.is_set():
                return
        for collections in due(self.store, self.closing):
            self._let_answer()
            self._sync(collections)

    def _sync(self, collections: Sequence[str]) -> None:
        from agent.documents.following import sync
        from agent.documents.ingest import FileFailed, FileStarted
        from tui import assemble

        def names() -> Iterator[str]:
            name = ""
            for event in sync(
                collections,
                store=self.store,
                embedder=self.embedder(),
                recogniser=assemble.open_recogniser(self.settings()),
                cancel=self.closing,
            ):
                name = event.name if isinstance(event, FileStarted) else name
                if isinstance(event, FileFailed):  # listed with the changes
                    self.tell(Failed(event.error, "", is_shown=True))
                yield name

        self._work_between_answers("folders", names())

    def _work_between_answers(self, part: str, details: Iterator[str]) -> None:
        """Go through ``details``, which does the work, and post each as the part's state."""
        from agent.documents.following import SyncUnderWay
        from models.protocols import GenerationCancelled, ModelMissing

        started = False
        try:
            for detail in details:
                started = True
                self.tell(EngineChanged(part, "loading", detail))
                self._let_answer()
        except GenerationCancelled:
            return
        except (SyncUnderWay, ModelMissing):
            pass  # another process does it, or the missing model is already shown
        except DeepthinkError as error:
            self.tell(failed(error))
        if started:
            self.tell(EngineChanged(part, "ready", ""))

    def _let_answer(self) -> None:
        """Wait while the language model is in use, since it needs the whole processor."""
        while self._chat is not None and self._chat.users and not self.closing.wait(_POLL_SECONDS):
            pass

    def embed_library(self) -> None:
        """Embed the passages that the current embedder has no vectors of, between answers; for a worker.

        It ends if another embedder is chosen: loading that one starts it again.
        """
        from agent.documents.indexing import embed_library
        from traces.library import Library

        embedder = self.embedder()

        def shares() -> Iterator[str]:
            for progress in embed_library(Library(self.store), embedder, cancel=self.closing):
                yield f"{progress.done / progress.total:.0%}"
                if self.embedder() is not embedder:
                    return

        with self._embedding:
            self._work_between_answers("library", shares())

    def _warm_chat(self) -> str:
        from tui.assemble import warm_up

        with self.chat() as chat:
            warm_up(chat)
            return chat.name

    def _warm_embedder(self) -> str:
        from tui.assemble import warm_up

        embedder = self.embedder()
        warm_up(embedder, self.reader(), self.planner())
        return embedder.name

    def _load(self, part: str, load: Callable[[], str]) -> bool:
        """Load a part and post its state; return whether it was loaded."""
        self.tell(EngineChanged(part, "loading", ""))
        try:
            detail = load()
        except DeepthinkError as error:
            self.tell(EngineChanged(part, "missing", error.title))
        except Exception as error:  # noqa: BLE001 - shown, as every failure of a worker
            self.tell(EngineChanged(part, "missing", type(error).__name__))
            self.tell(failed(error))
        else:
            self.tell(EngineChanged(part, "ready", detail))
            return True
        return False
