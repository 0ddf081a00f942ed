"""Library: collections, documents and their sections, adding documents, and searching by hand."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import ContentSwitcher, Input, Tree

from traces.folders import Folders
from traces.library import Library
from traces.paths import expanded_path
from traces.records import Collection, Document, Passage
from tui.app.base import DeepScreen
from tui.app.confirm import ConfirmScreen
from tui.app.engine import EngineState
from tui.app.failure import failure_text
from tui.app.keys import bindings
from tui.app.lists import Notice
from tui.app.work import Failed, in_background
from tui.library import actions
from tui.library.files import FilesScreen
from tui.library.ingest_panel import IngestJob, IngestPanel
from tui.library.search_panel import SearchPanel
from tui.library.shelves import ChangesScreen, DescribeScreen, Details, Shelves
from tui.terminal import counted, one_line

T = TypeVar("T")

_EMPTY = """\
The library is empty.

Press {add} to add documents: files, folders, or an address where the web is on. \
Files that you drop on the window are read as well.

Press {samples} to read the sample library: twelve documents about a company that does not exist."""
_MAX_NAMED = 3  # documents that cannot be read again
_Shelved = tuple[list[Collection], dict[str, list[Document]], dict[str, list[str]], str, str]


class LibraryScreen(DeepScreen):
    MODE = "library"
    PLACES = ("library",)
    CSS_PATH = "library.tcss"
    BINDINGS = bindings("library")
    HELP = Shelves.HELP

    def __init__(self) -> None:
        super().__init__()
        self._collections: list[Collection] | None = None  # None until loaded
        self._has_samples = False  # all of them; asked of the disk, so not for each key
        self._documents: dict[str, list[Document]] = {}  # by collection
        self._unread: dict[str, list[str]] = {}  # why files could not be read, by collection
        self._embedder = ""
        self._shelved: _Shelved | None = None  # all of these as they were read
        self._folder_state: tuple[EngineState, str] | None = None  # of the followed folders
        self._folder = Path.cwd()
        self._ended = ""  # what a reading came to, while it is not told

    def body(self) -> ComposeResult:
        with ContentSwitcher(initial="shelves", id="views"):
            with Horizontal(id="shelves"):
                yield Shelves()
                yield Details()
            yield SearchPanel()
        yield Notice("followed")
        yield IngestPanel()

    def on_mount(self) -> None:
        self.watch(self.app, "engine_states", self._show_folder_state)
        self.follow_store(self.action_refresh)

    def _show_folder_state(self, states: dict[str, tuple[EngineState, str]]) -> None:
        state = states.get("folders")
        if state == self._folder_state:
            return
        self._folder_state = state
        if state is not None and state[0] == "loading":
            self.query_one(Notice).tell(f"Reading what has changed: {one_line(state[1], 60)}")
        elif state is not None and self.is_current:
            self.action_refresh()

    @on(events.ScreenResume)
    def action_refresh(self) -> None:
        self._start(self._list_shelves, self._show_shelves, "shelves")

    @property
    def _library(self) -> Library:
        return Library(self.deepthink.engine.store)

    def _list_shelves(self) -> _Shelved:
        """The collections, their documents and unread files, the embedder, a line on followed folders."""
        library, folders = self._library, Folders(self.deepthink.engine.store)
        with library.together():
            documents: dict[str, list[Document]] = {}
            for document in library.documents():
                documents.setdefault(document.collection, []).append(document)
            collections = library.collections()
            unread = {one.name: actions.unread_files(folders, one.name) for one in collections}
            return collections, documents, unread, actions.vectors_by(library), actions.summary(folders)

    def _start(self, work: Callable[[], T], then: Callable[[T], object], group: str = "change") -> None:
        in_background(self, work, then, group=group, exclusive=group != "change")

    @property
    def _searching(self) -> bool:
        return self.query_one(ContentSwitcher).current == "search"

    # --- the shelves -------------------------------------------------------------------------

    def _show_shelves(self, loaded: _Shelved) -> None:
        from agent.documents.sample_library import COLLECTIONS, is_sample

        collections, self._documents, self._unread, self._embedder, followed = loaded
        key = self.deepthink.key_of("library.changes")
        self.query_one(Notice).tell(f"{followed} {key} shows more." if followed and key else followed)
        self._tell_end()
        if loaded == self._shelved:
            return
        self._shelved = loaded
        self._collections = collections
        self._has_samples = sum(map(is_sample, collections)) == len(COLLECTIONS)
        self.query_one(Shelves).show(collections, self._documents)
        self.query_one("#shelves").set_class(not collections, "-empty")
        if collections and self.focused is None:  # the tree was hidden while it was empty
            self.set_focus(self.query_one(Shelves))
        self.call_after_refresh(self._show_details)  # what is under the cursor may be gone
        self.refresh_bindings()

    @on(Tree.NodeHighlighted, "#tree")
    def _show_details(self) -> None:
        details, item = self.query_one(Details), self.query_one(Shelves).chosen
        self.refresh_bindings()
        if isinstance(item, Document):
            details.show_document(item)
            self._start(partial(self._outline, item.id), partial(self._show_outline, item.id), "outline")
        elif item is not None:
            documents, unread = self._documents.get(item.name, []), self._unread.get(item.name, [])
            details.show_collection(item, documents, unread, self._embedder)
        elif self._collections is not None and not self._collections:
            add, samples = (self.deepthink.key_for(f"library.{name}") for name in ("add", "samples"))
            details.show_text(Content(_EMPTY.format(add=add, samples=samples)))

    @on(Failed)
    def _show_failure(self, message: Failed) -> None:
        self._tell_end()
        if self._collections is None:  # with a library on the screen, the app's message is enough
            self.query_one("#shelves").add_class("-empty")
            self.query_one(Details).show_text(failure_text(self, message.error, "library.refresh"))

    def _outline(self, document: int) -> tuple[list[Passage], str]:
        """The passages of a document, and its language if that is told."""
        from agent.documents.indexing import unknown_language

        passages = self._library.document_passages(document)
        return passages, unknown_language(self._library.embedder() or "", passages)

    def _show_outline(self, document: int, outline: tuple[list[Passage], str]) -> None:
        item = self.query_one(Shelves).chosen
        if isinstance(item, Document) and item.id == document:
            self.query_one(Details).show_document(item, *outline)

    @on(Tree.NodeSelected, "#tree")
    def _open_document(self, event: Tree.NodeSelected[Collection | Document]) -> None:
        if not isinstance(event.node.data, Document):
            event.node.toggle()
            return
        self.open_document(event.node.data.id)

    def open_document(self, document: int) -> None:
        self._start(partial(self._library.document_passages, document), self._open_first, "open")

    def _open_first(self, passages: list[Passage]) -> None:
        from tui.library.passage import PassageScreen

        if passages:
            self.app.push_screen(PassageScreen(passages[0].id))

    # --- reading -----------------------------------------------------------------------------

    def action_add(self, paths: str = "") -> None:
        collection = self.query_one(Shelves).collection
        self.app.push_screen(FilesScreen(self._folder, collection, paths), self.read)

    def read(self, selection: actions.Intake | None) -> None:
        """Read a selection, after the current ingestion if one is running."""
        if selection is None:
            return
        if selection.paths:
            self._folder = expanded_path(selection.paths[0]).parent
        self._begin(IngestJob.of(self.deepthink.engine, selection))

    def action_samples(self) -> None:
        self._begin(IngestJob.of_samples(self.deepthink.engine))

    def _begin(self, job: IngestJob) -> None:
        if not self.query_one(IngestPanel).begin(job):
            self.notify(f"{one_line(job.title, 60)}: read after what is being read now.", markup=False)

    def action_stop(self) -> None:
        self.query_one(IngestPanel).stop()

    @on(IngestPanel.Changed)
    def _refresh_library(self, message: IngestPanel.Changed) -> None:
        if message.ended:
            self._ended = message.ended
            self.tell_ask()
        self.action_refresh()

    def _tell_end(self) -> None:
        """Tell what a reading came to, once the counts beside it are those after it."""
        self.query_one(IngestPanel).redraw()
        if self._ended and self.app.screen is not self:
            self.notify(f"Reading has ended: {self._ended}.", title="Library", markup=False)
        self._ended = ""

    @on(events.Paste)
    def _read_dropped(self, event: events.Paste) -> None:
        collection, engine = self.query_one(Shelves).collection, self.deepthink.engine
        self._start(
            lambda: actions.intake(actions.split_paths(event.text), engine.settings(), collection or None),
            self.read,
        )

    def action_reread(self) -> None:
        item = self.query_one(Shelves).chosen
        if item is not None:
            self._start(partial(self._reread, item), self._read_again)

    def _reread(self, item: Collection | Document) -> tuple[actions.Intake, list[str]]:
        documents = [item] if isinstance(item, Document) else self._library.documents(item.name)
        return actions.reread_intake(documents, self.deepthink.engine.settings())

    def _read_again(self, found: tuple[actions.Intake, list[str]]) -> None:
        selection, missing = found
        if missing:
            more = len(missing) - _MAX_NAMED
            lines = [*missing[:_MAX_NAMED], *([f"And {more} more."] if more > 0 else [])]
            lines.append("What is in the library stays.")
            self.notify("\n".join(lines), title="Not found any more", severity="warning", markup=False)
        if selection.paths or selection.addresses:
            self.read(selection)

    # --- changing ----------------------------------------------------------------------------

    def action_remove(self) -> None:
        item = self.query_one(Shelves).chosen
        if isinstance(item, Document):
            question = f"Remove {one_line(item.name, 60)} from {one_line(item.collection)}?"
            passages = f"Its {counted(item.chunks, 'passage')}"
        elif item is not None:
            question = f"Remove “{one_line(item.name)}” with its {counted(item.documents, 'document')}?"
            passages = f"Their {counted(item.chunks, 'passage')}"
        else:
            return
        if self._is_being_read(item):
            return
        detail = f"{passages} can no longer be found. The files stay where they are."

        def remove_now() -> None:
            if not self._is_being_read(item):  # an ingestion may have begun meanwhile
                self._start(partial(self._remove, item), self._report_change)

        ConfirmScreen.ask(self, question, detail, "Remove", remove_now)

    def _remove(self, item: Collection | Document) -> str:
        place = f" from {item.collection}" if isinstance(item, Document) else ""
        return f"Removed {item.name}{place}.{actions.remove(self.deepthink.engine.store, item)}"

    def _is_being_read(self, item: Collection | Document) -> bool:
        """Whether the collection is being read, which would undo its removal; warn if so."""
        if isinstance(item, Document) or not self.query_one(IngestPanel).is_reading_into(item.name):
            return False
        text = f"{one_line(item.name, 60)} is being read. Stop that first, or remove it afterwards."
        self.notify(text, severity="warning", markup=False)
        return True

    def action_changes(self) -> None:
        self.app.push_screen(ChangesScreen(), lambda _none: self.action_refresh())

    def action_describe(self) -> None:
        name = self.query_one(Shelves).collection
        current = next((c.description for c in self._collections or () if c.name == name), "")

        def describe(text: str) -> str:
            self._library.describe_collection(name, text)
            return f"{name} is described."

        def submit(text: str | None) -> None:
            if text:
                self._start(partial(describe, text), self._report_change)

        self.app.push_screen(DescribeScreen(name, current), submit)

    def _report_change(self, message: str) -> None:
        self.notify(one_line(message, 120), markup=False)
        self.action_refresh()

    # --- searching ---------------------------------------------------------------------------

    def action_search(self) -> None:
        self.query_one(ContentSwitcher).current = "search"
        self.set_focus(self.query_one("#query", Input))  # at once: it gets the next key
        self.refresh_bindings()

    def search_for(self, question: str) -> None:
        self.action_search()
        self.query_one(SearchPanel).search_for(question)

    def action_hide(self) -> None:
        if self._searching:
            self.query_one(ContentSwitcher).current = "shelves"
        else:
            self.query_one(IngestPanel).put_away()
        self.set_focus(self.query_one(Shelves))
        self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if not self.is_mounted:
            return True
        panel, item = self.query_one(IngestPanel), self.query_one(Shelves).chosen
        browsing = not self._searching
        has_item = browsing and item is not None
        possible = {
            "add": browsing,
            "refresh": browsing,
            "changes": browsing,
            "reread": has_item,
            "remove": has_item,
            "describe": has_item,
            "samples": browsing and not panel.running and not self._has_samples,
            "stop": browsing and panel.running,
            "hide": not browsing or (panel.has_class("-shown") and not panel.running),
        }
        return possible.get(action, True)
