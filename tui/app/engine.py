"""The models and the store, opened once for the whole app and only when needed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from textual.message import Message

from traces.errors import DeepthinkError
from traces.paths import store_file
from traces.store import Store
from tui.app.work import failed

if TYPE_CHECKING:
    from models.protocols import Chat, Completer, Embedder, Reader
    from policy.serving.learned import Served
    from tui.settings.settings import Settings

_FIRST = ("tui.run.exchange", "tui.run.panel")  # what shows a run
_THEN = ("langgraph.graph", "agent.graph")  # what works on it: seconds, before somebody waits for them

_POLL_SECONDS = 0.2

T = TypeVar("T")
EngineState = Literal["cold", "loading", "ready", "missing"]


@dataclass
class EngineChanged(Message):
    """A part of the engine is in another state.

    Attributes:
        part: ``settings``, ``model`` or ``embedder``; ``library`` while its passages are embedded anew;
            ``folders`` while what changed in followed ones is read.
        state: Its state.
        detail: The model's name, how far it is, or what is wrong, in a few words.
    """

    part: str
    state: EngineState
    detail: str


@dataclass
class Noticed(Message):
    """A warning that stops nothing: an ignored setting, a library in use elsewhere."""

    title: str
    text: str


@dataclass(eq=False)
class _OpenChat:
    """A language model, the settings it was opened with, and how many use it now."""

    chat: Chat
    made_of: tuple[object, ...]
    users: int = 0


class Engine:
    """What runs need. Every method may be called from any thread.

    Attributes:
        tell: Takes messages about what is loaded.
        closing: To be set when the app ends: work in the background stops.
    """

    def __init__(self, tell: Callable[[Message], object] | None = None) -> None:
        self.tell: Callable[[Message], object] = tell or (lambda _message: None)
        self.store = Store(store_file(), on_wait=lambda message: self.tell(Noticed("Library", message)))
        self._lock = threading.RLock()
        self._settings: Settings | None = None
        self._chat: _OpenChat | None = None
        self._opened: dict[str, tuple[object, Any]] = {}  # part to what it was opened with, and itself
        self._learned: Served | None = None
        self._embedding = threading.Lock()
        self.closing = threading.Event()
        self._prepared = threading.Event()

    def settings(self) -> Settings:
        """The settings in force. Raises `BadSetting`."""
        with self._lock:
            if self._settings is None:
                from tui.settings.settings import load

                self._settings = load(warn=self._doubt)
            return self._settings

    def _doubt(self, message: str) -> None:
        self.tell(Noticed("Settings", message))

    def reload(self) -> Settings:
        """Read the settings again; models that they no longer name are closed at their next use."""
        with self._lock:
            self._settings = None
            return self.settings()

    @contextmanager
    def chat(self, model: str = "") -> Iterator[Chat]:
        """The language model, not necessarily loaded, for as long as it is used. Raises `ModelMissing`.

        ``model`` is named as in the settings; "" for the one that is set. Another one is closed once it is
        no longer used.
        """
        from tui import assemble

        settings = self.settings()
        if model:
            settings = settings.model_copy(update={"model": model})
        made_of = (
            settings.model,
            settings.context_tokens,
            settings.threads,
            settings.ollama_url,
            settings.openai_url,
        )
        with self._lock:
            before = self._chat
            if before is None or made_of != before.made_of:
                self._chat = _OpenChat(assemble.open_chat(settings), made_of)
                if before is not None and not before.users:
                    before.chat.close()
            used = self._chat
            assert used is not None
            used.users += 1
        try:
            yield used.chat
        finally:
            with self._lock:
                used.users -= 1
                if not used.users and used is not self._chat:
                    used.chat.close()

    def embedder(self) -> Embedder:
        """The embedder, not necessarily loaded. Raises `ModelMissing`."""
        from tui.assemble import open_embedder

        settings = self.settings()
        made_of = (settings.embedder, settings.ollama_url)
        return self._kept("embedder", made_of, lambda: open_embedder(settings))

    def reader(self) -> Reader:
        """The reader, not necessarily loaded. Raises `ModelMissing` where a named reranker is not there."""
        from tui.assemble import open_reader

        settings = self.settings()
        return self._kept("reader", settings.reranker, lambda: open_reader(settings))

    def planner(self) -> Completer | None:
        """The taught planner, not necessarily loaded; None where the language model plans."""
        from tui.assemble import open_planner

        settings = self.settings()
        return self._kept("planner", settings.planner, lambda: open_planner(settings))

    def _kept(self, part: str, made_of: object, make: Callable[[], T]) -> T:
        """A part that is opened once, and anew when the settings it is made of have changed."""
        with self._lock:
            if part not in self._opened or self._opened[part][0] != made_of:
                self._opened[part] = (made_of, make())
            kept: T = self._opened[part][1]
            return kept

    def learned(self) -> Served | None:
        """The active learned policy, loaded at its first decision; None where there is none.

        Which one is active is looked up each time: another process may have chosen.
        """
        from tui import assemble

        active = assemble.open_learned()
        with self._lock:
            kept = self._learned
            if kept is None or active is None or kept.failed or kept.made_of != active.made_of:
                self._learned = active
            return self._learned

    def prepare(self) -> None:
        """Load everything that the first question needs, posting each state; for a worker.

        What cannot be loaded is reported as missing, not raised: the app can be used without it.
        """
        for module in _FIRST:
            import_module(module)
        self._load("settings", lambda: self.settings().profile)
        for module in _THEN:
            import_module(module)
        self._load("model", self._warm_chat)
        has_embedder = self._load("embedder", self._warm_embedder)
        self._prepared.set()
        if has_embedder:
            self.embed_library()

    def keep_in_step(self) -> None:
        """Bring the library up to date with the folders it follows, in between answers; for a worker.

        It goes on until the app ends, and begins once the models are loaded.
        """
        from agent.folders.watch import due

        while not self._prepared.wait(_POLL_SECONDS):
            if self.closing.is_set():
                return
        for collections in due(self.store, self.closing):
            self._let_answer()
            self._sync(collections)

    def _sync(self, collections: Sequence[str]) -> None:
        from agent.documents.ingest import FileStarted
        from agent.folders.sync import SyncUnderWay, sync
        from models.protocols import GenerationCancelled, ModelMissing
        from traces.paths import scans_dir
        from tui import assemble

        try:
            for event in sync(
                collections,
                store=self.store,
                embedder=self.embedder(),
                recogniser=assemble.open_recogniser(self.settings()),
                scans=scans_dir(),
                cancel=self.closing,
            ):
                if isinstance(event, FileStarted):
                    self.tell(EngineChanged("folders", "loading", event.name))
                self._let_answer()
        except GenerationCancelled:
            return
        except (SyncUnderWay, ModelMissing):
            pass  # another process does it; a missing model has been shown already
        except DeepthinkError as error:
            self.tell(failed(error))
        self.tell(EngineChanged("folders", "ready", ""))

    def _let_answer(self) -> None:
        """Wait while the language model is in use, which wants the processor for itself."""
        while self._answers() and not self.closing.wait(_POLL_SECONDS):
            pass

    def embed_library(self) -> None:
        """Embed the passages that have no vector by the embedder in use, in between answers; for a worker.

        It ends where another embedder is chosen: whoever loads that one begins anew.
        """
        from agent.documents.embedding import embed_library
        from models.protocols import GenerationCancelled
        from traces.library import Library

        embedder, begun = self.embedder(), False
        with self._embedding:
            try:
                for at in embed_library(Library(self.store), embedder, cancel=self.closing):
                    begun = True
                    self.tell(EngineChanged("library", "loading", f"{at.done / at.total:.0%}"))
                    self._let_answer()
                    if self.embedder() is not embedder:
                        break
            except GenerationCancelled:
                return
            except DeepthinkError as error:
                self.tell(failed(error))
            if begun:
                self.tell(EngineChanged("library", "ready", ""))

    def _answers(self) -> bool:
        """Whether the language model is in use."""
        with self._lock:
            return self._chat is not None and self._chat.users > 0

    def _warm_chat(self) -> str:
        from models.llama_cpp import LlamaCppChat

        with self.chat() as chat:
            if isinstance(chat, LlamaCppChat):
                chat.loaded()
            return chat.name

    def _warm_embedder(self) -> str:
        from models.protocols import Loadable

        embedder = self.embedder()
        parts: tuple[object, ...] = (embedder, self.reader(), self.planner())
        for model in parts:
            if isinstance(model, Loadable):
                model.warm_up()
        return embedder.name

    def _load(self, part: str, load: Callable[[], str]) -> bool:
        """Whether it was loaded; its state is posted either way."""
        self.tell(EngineChanged(part, "loading", ""))
        try:
            detail = load()
        except DeepthinkError as missing:
            self.tell(EngineChanged(part, "missing", missing.title))
        except Exception as error:  # noqa: BLE001 - shown, as every failure of a worker
            self.tell(EngineChanged(part, "missing", type(error).__name__))
            self.tell(failed(error))
        else:
            self.tell(EngineChanged(part, "ready", detail))
            return True
        return False
