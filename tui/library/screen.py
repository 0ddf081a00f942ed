"""Library: collections, documents and their sections; reading more; trying the search by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import ContentSwitcher, Input, Static, Tree

from traces.records import Collection, Document, Passage
from traces.typed_path import expanded_path
from tui.app.base import DeepScreen
from tui.app.engine import EngineState
from tui.app.keys import bindings
from tui.app.work import in_background
from tui.library.ingest_panel import IngestJob, IngestPanel
from tui.library.intake import Intake, again, checked, pasted
from tui.library.search_panel import SearchPanel
from tui.library.shelves import Details, Shelves
from tui.terminal import one_line

if TYPE_CHECKING:
    from traces.library import Library


@dataclass
class Shelved(Message):
    """The collections there are, the model that made their vectors, and a line on followed folders."""

    collections: Sequence[Collection]
    embedder: str
    followed: str


@dataclass
class Listed(Message):
    """The documents of a collection."""

    collection: str
    documents: Sequence[Document]


@dataclass
class Outlined(Message):
    """The passages of a document."""

    document: int
    passages: Sequence[Passage]


@dataclass
class Changed(Message):
    """The library was changed, as the ``message`` says."""

    message: str


@dataclass
class Named(Message):
    """What is to be read, and a sentence for each document that cannot be."""

    chosen: Intake
    missing: Sequence[str] = ()


_EMPTY = """\
The library is empty.

Press {add} to add documents: files, folders, or an address where the web is on. \
Files that you drop on the window are read as well.

Press {samples} to read the sample library: twelve documents about a company that does not exist."""
_TOLD = 3  # documents that cannot be read again, by name


class LibraryScreen(DeepScreen):
    """What is in the library, and everything that changes it."""

    MODE: ClassVar[str] = "library"
    PLACES = ("library",)
    CSS_PATH = "library.tcss"
    BINDINGS: ClassVar[list[BindingType]] = bindings("library")
    HELP = Shelves.HELP

    def __init__(self) -> None:
        super().__init__()
        self._collections: list[Collection] | None = None  # None until they are known
        self._documents: dict[str, tuple[int, list[Document]]] = {}  # with their collection's generation
        self._embedder = ""
        self._followed: tuple[EngineState, str] | None = None  # the state of the folders
        self._folder = Path.cwd()

    def body(self) -> ComposeResult:
        """The shelves with what is known of them, or the search; beneath, what is being read."""
        with ContentSwitcher(initial="shelves", id="views"):
            with Horizontal(id="shelves"):
                yield Shelves(id="tree")
                yield Details()
            yield SearchPanel(id="search")
        yield Static(id="followed", markup=False)
        yield IngestPanel()

    def on_mount(self) -> None:
        """Show what is read in followed folders as it happens."""
        self.query_one("#followed").display = False
        self.watch(self.app, "engine_states", self._follow)

    def _follow(self, states: dict[str, tuple[EngineState, str]]) -> None:
        now = states.get("folders")
        if now == self._followed:
            return
        self._followed = now
        if now is not None and now[0] == "loading":
            self._tell_followed(f"Reading what has changed: {one_line(now[1], 60)}", "")
        elif now is not None and self.is_current:
            self.action_refresh()

    def _tell_followed(self, message: str, key: str) -> None:
        line = self.query_one("#followed", Static)
        line.update(f"{message} {key.upper()} shows more." if key else message)
        line.display = bool(message)

    @on(events.ScreenResume)
    def action_refresh(self) -> None:
        self._ask(self._list_shelves, "shelves")

    @property
    def _library(self) -> Library:
        from traces.library import Library

        return Library(self.deepthink.engine.store)

    def _list_shelves(self) -> Message:
        from traces.folders import Folders
        from tui.library.embedding import vectors_by
        from tui.library.following import summary

        library, folders = self._library, Folders(self.deepthink.engine.store)
        with library.together():
            return Shelved(library.collections(), vectors_by(library), summary(folders))

    def _list_documents(self, collection: str) -> Message:
        return Listed(collection, self._library.documents(collection))

    def _list_passages(self, document: int) -> Message:
        return Outlined(document, self._library.document_passages(document))

    def _ask(self, work: Callable[[], Message | None], group: str) -> None:
        in_background(self, work, group=group, exclusive=group != "change")

    @property
    def _searching(self) -> bool:
        return self.query_one(ContentSwitcher).current == "search"

    # --- what is there -----------------------------------------------------------------------

    @on(Shelved)
    def _show_shelves(self, message: Shelved) -> None:
        self._collections, self._embedder = list(message.collections), message.embedder
        self.query_one(Shelves).show(message.collections)
        self.query_one("#shelves").set_class(not message.collections, "-empty")
        self.query_one(SearchPanel).offer([collection.name for collection in message.collections])
        if message.collections and self.focused is None:  # the tree was not shown while it was empty
            self.set_focus(self.query_one(Shelves))
        self._tell_followed(message.followed, self.deepthink.key_of("library.changes"))
        self._show_details()
        self.refresh_bindings()

    @on(Shelves.Wanted)
    def _fetch(self, message: Shelves.Wanted) -> None:
        known = self._documents.get(message.collection.name)
        if known is not None and known[0] == message.collection.generation:
            self.query_one(Shelves).fill(message.collection.name, known[1])
            return
        name = message.collection.name
        self._ask(partial(self._list_documents, name), f"documents of {name}")

    @on(Listed)
    def _list(self, message: Listed) -> None:
        generations = {c.name: c.generation for c in self._collections or ()}
        if message.collection not in generations:
            return
        documents = list(message.documents)
        self._documents[message.collection] = (generations[message.collection], documents)
        self.query_one(Shelves).fill(message.collection, documents)
        if isinstance(self.query_one(Shelves).chosen, Collection):
            self._show_details()

    @on(Tree.NodeHighlighted, "#tree")
    def _show_details(self) -> None:
        details, chosen = self.query_one(Details), self.query_one(Shelves).chosen
        self.refresh_bindings()
        if isinstance(chosen, Document):
            details.show_document(chosen)
            self._ask(partial(self._list_passages, chosen.id), "outline")
        elif chosen is not None:
            generation, documents = self._documents.get(chosen.name, (-1, []))
            details.show_collection(chosen, documents, self._embedder)
            if generation != chosen.generation:
                self._ask(partial(self._list_documents, chosen.name), "coverage")
        elif self._collections is not None and not self._collections:
            add, samples = (self.deepthink.key_of(f"library.{name}") for name in ("add", "samples"))
            details.show_nothing(_EMPTY.format(add=add or "a", samples=samples or "t"))

    @on(Outlined)
    def _outline(self, message: Outlined) -> None:
        chosen = self.query_one(Shelves).chosen
        if isinstance(chosen, Document) and chosen.id == message.document:
            self.query_one(Details).show_sections(message.passages)

    @on(Tree.NodeSelected, "#tree")
    def _open_document(self, event: Tree.NodeSelected[Collection | Document]) -> None:
        if not isinstance(event.node.data, Document):
            event.node.toggle()
            return
        self.open_document(event.node.data.id)

    def open_document(self, document: int) -> None:
        """Open a document at its beginning."""
        self._ask(partial(self._first_passage, document), "open")

    def _first_passage(self, document: int) -> Message | None:
        passages = self._library.document_passages(document)
        return Details.Opened(passages[0].id) if passages else None

    @on(Details.Opened)
    @on(SearchPanel.Opened)
    def _open(self, message: Details.Opened | SearchPanel.Opened) -> None:
        from tui.library.passage import PassageScreen

        self.app.push_screen(PassageScreen(message.passage_id))

    # --- reading -----------------------------------------------------------------------------

    def action_add(self) -> None:
        from tui.library.files import FilesScreen

        self.app.push_screen(FilesScreen(self._folder, self.query_one(Shelves).collection), self.read)

    def read(self, chosen: Intake | None) -> None:
        """Read what was chosen; after the reading under way, if there is one."""
        if chosen is None:
            return
        if chosen.paths:
            self._folder = expanded_path(chosen.paths[0]).parent
        self._begin(IngestJob.of(self.deepthink.engine, chosen))

    def action_samples(self) -> None:
        self._begin(IngestJob.of_samples(self.deepthink.engine))

    def _begin(self, job: IngestJob) -> None:
        if not self.query_one(IngestPanel).begin(job):
            self.notify(f"{one_line(job.title, 60)}: read after what is being read now.", markup=False)

    def action_stop(self) -> None:
        self.query_one(IngestPanel).stop()

    @on(IngestPanel.Changed)
    def _look_again(self, message: IngestPanel.Changed) -> None:
        if message.ended and self.app.screen is not self:
            self.notify(f"Reading has ended: {message.ended}.", title="Library", markup=False)
        if message.ended:
            self.tell_ask()
        self.action_refresh()

    @on(events.Paste)
    def _dropped(self, event: events.Paste) -> None:
        collection, engine = self.query_one(Shelves).collection, self.deepthink.engine

        def take() -> Message:
            return Named(checked(pasted(event.text), engine.settings(), collection or None))

        self._ask(take, "change")

    def action_reread(self) -> None:
        chosen = self.query_one(Shelves).chosen
        if chosen is not None:
            self._ask(partial(self._read_again, chosen), "change")

    def _read_again(self, chosen: Collection | Document) -> Message:
        documents = [chosen] if isinstance(chosen, Document) else self._library.documents(chosen.name)
        return Named(*again(documents, self.deepthink.engine.settings()))

    @on(Named)
    def _read_named(self, message: Named) -> None:
        if message.missing:
            more = len(message.missing) - _TOLD
            lines = [*message.missing[:_TOLD], *([f"And {more} more."] if more > 0 else [])]
            lines.append("What the library holds of it stays.")
            self.notify("\n".join(lines), title="Not found any more", severity="warning", markup=False)
        if message.chosen.paths or message.chosen.addresses:
            self.read(message.chosen)

    # --- changing ----------------------------------------------------------------------------

    def action_remove(self) -> None:
        from tui.app.confirm import ConfirmScreen

        chosen = self.query_one(Shelves).chosen
        if isinstance(chosen, Document):
            question = f"Remove {one_line(chosen.name, 60)} from {one_line(chosen.collection)}?"
            passages = f"Its {chosen.chunks:,} passages"
        elif chosen is not None:
            question = f"Remove {one_line(chosen.name)} with its {chosen.documents:,} documents?"
            passages = f"Their {chosen.chunks:,} passages"
        else:
            return
        if self._is_being_read(chosen):
            return
        detail = f"{passages} are no longer found. The files stay where they are."

        def remove() -> None:
            if not self._is_being_read(chosen):  # a reading may have begun meanwhile
                self._ask(partial(self._remove, chosen), "change")

        ConfirmScreen.ask(self, question, detail, "Remove", remove)

    def _remove(self, chosen: Collection | Document) -> Message:
        from agent.folders.sync import forget
        from tui.library.following import LEFT_OUT

        if isinstance(chosen, Document):
            left_out = LEFT_OUT if forget(self.deepthink.engine.store, chosen) else ""
            return Changed(f"Removed {chosen.name} from {chosen.collection}.{left_out}")
        self._library.remove_collection(chosen.name)
        return Changed(f"Removed {chosen.name}.")

    def _is_being_read(self, chosen: Collection | Document) -> bool:
        """Whether the collection is being read into, so that removing it would be undone; warn if so."""
        if isinstance(chosen, Document) or not self.query_one(IngestPanel).is_reading_into(chosen.name):
            return False
        text = f"{one_line(chosen.name, 60)} is being read. Stop that first, or remove it afterwards."
        self.notify(text, severity="warning", markup=False)
        return True

    def action_changes(self) -> None:
        """Show the folders that are followed, and what changed in them."""
        from tui.library.changes import ChangesScreen

        self.app.push_screen(ChangesScreen(), lambda _none: self.action_refresh())

    def action_describe(self) -> None:
        from tui.library.shelves import DescribeScreen

        name = self.query_one(Shelves).collection
        held = next((c.description for c in self._collections or () if c.name == name), "")

        def describe(text: str) -> Message:
            self._library.describe_collection(name, text)
            return Changed(f"{name} is described.")

        def described(text: str | None) -> None:
            if text:
                self._ask(partial(describe, text), "change")

        self.app.push_screen(DescribeScreen(name, held), described)

    @on(Changed)
    def _changed(self, message: Changed) -> None:
        self.notify(one_line(message.message, 120), markup=False)
        self.action_refresh()

    # --- searching ---------------------------------------------------------------------------

    def action_search(self) -> None:
        self.query_one(ContentSwitcher).current = "search"
        self.set_focus(self.query_one("#query", Input))  # at once: what is typed next belongs there
        self.refresh_bindings()

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
        from agent.documents.sample_library import COLLECTIONS

        panel, chosen = self.query_one(IngestPanel), self.query_one(Shelves).chosen
        held = {collection.name for collection in self._collections or () if collection.documents}
        here = not self._searching
        with_chosen = here and chosen is not None
        possible = {
            "add": here,
            "refresh": here,
            "changes": here,
            "reread": with_chosen,
            "remove": with_chosen,
            "describe": with_chosen,
            "samples": here and not panel.running and not held.issuperset(COLLECTIONS),
            "stop": here and panel.running,
            "hide": not here or (panel.has_class("-shown") and not panel.running),
        }
        return possible.get(action, True)
