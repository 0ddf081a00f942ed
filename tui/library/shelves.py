"""Collections and documents: as rows, and one of them in full."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Input, Static, Tree
from textual.widgets.tree import TreeNode

from agent.documents.media_types import BY_TYPE
from traces.records import SECTION_SEPARATOR, Collection, Document, Passage
from tui.app.key_line import KeyLine
from tui.app.keys import bindings
from tui.app.lists import facts
from tui.library.ingesting import is_low, share
from tui.terminal import clean, one_line, size


class Shelves(Tree[Collection | Document]):
    """The library as a tree; what a collection holds is asked for when it is opened."""

    HELP = """\
### The library

Collections and, once one is opened, their documents; beside them the facts about the one under the
cursor. **→** opens and **←** shuts a collection, **Enter** on a document opens its text, **Tab** goes to
its sections.
"""
    ICON_NODE = "▸ "
    ICON_NODE_EXPANDED = "▾ "
    DEFAULT_CSS = """
    Shelves { background: transparent; padding: 0; overflow-x: hidden; scrollbar-gutter: stable; }
    Shelves:focus { background-tint: transparent; }
    """

    @dataclass
    class Wanted(Message):
        """The documents of a collection are to be shown."""

        collection: Collection

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__("library", id=id)
        self.show_root = False
        self.guide_depth = 2
        self.auto_expand = False
        self._listed: dict[str, list[tuple[int, str]]] = {}  # the documents shown of each collection

    @property
    def chosen(self) -> Collection | Document | None:
        """What is under the cursor."""
        return self.cursor_node.data if self.cursor_node is not None else None

    @property
    def collection(self) -> str:
        """The collection under the cursor, or of the document there; "" if there is none."""
        chosen = self.chosen
        if isinstance(chosen, Document):
            return chosen.collection
        return chosen.name if chosen is not None else ""

    def show(self, collections: Sequence[Collection]) -> None:
        """Show these collections; those that were open stay so, and are asked for again if they changed."""
        known = {node.data.name: node for node in self.root.children if node.data is not None}
        wanted = {collection.name: collection for collection in collections}
        for name, node in known.items():
            if name not in wanted:
                node.remove()
                self._listed.pop(name, None)
        for position, collection in enumerate(collections):
            before = position if position < len(self.root.children) else None
            node = known.get(collection.name) or self.root.add("", collection, before=before)
            changed = isinstance(node.data, Collection) and node.data.generation != collection.generation
            node.data = collection
            label = Text(one_line(collection.name))
            label.append(f"  {collection.documents:,}", style="dim")
            node.set_label(label)
            if node.is_expanded and changed:
                self.post_message(self.Wanted(collection))
        if self.cursor_node is None and self.root.children:
            self.call_after_refresh(self.move_cursor, self.root.children[0])

    def fill(self, name: str, documents: Sequence[Document]) -> None:
        """Show the documents of a collection, the cursor where it was; nothing while it is shut."""
        node = next((node for node in self.root.children if node.data and node.data.name == name), None)
        if node is None or node.is_collapsed:
            return
        chosen = self.chosen
        within = isinstance(chosen, Document) and chosen.collection == name
        same = [(document.id, document.sha256) for document in documents]
        if self._listed.get(name) == same:
            return
        self._listed[name] = same
        node.remove_children()
        again: TreeNode[Collection | Document] | None = None
        for document in documents:
            label = Text(one_line(document.name))
            if is_low(document.coverage):
                label.append("  low", style="bold")
            leaf = node.add_leaf(label, document)
            if isinstance(chosen, Document) and within and chosen.source == document.source:
                again = leaf
        if within:
            self.call_after_refresh(self.move_cursor, again or node)

    @on(Tree.NodeExpanded)
    def _expanded(self, event: Tree.NodeExpanded[Collection | Document]) -> None:
        if isinstance(event.node.data, Collection):
            self.post_message(self.Wanted(event.node.data))

    def key_right(self) -> None:
        """Open the collection under the cursor."""
        if self.cursor_node is not None and self.cursor_node.allow_expand:
            self.cursor_node.expand()

    def key_left(self) -> None:
        """Shut the collection the cursor is in."""
        node = self.cursor_node
        if node is None:
            return
        if node.allow_expand:
            node.collapse()
        else:
            self.action_cursor_parent()


Facts = list[tuple[str, str]]

_LABEL = 12  # columns


def of_collection(collection: Collection, documents: Sequence[Document], embedder: str) -> Facts:
    """Labels and values; what only the documents tell is left out while there are none."""
    rows = [("documents", f"{collection.documents:,}"), ("passages", f"{collection.chunks:,}")]
    if documents:
        mean = sum(document.coverage for document in documents) / len(documents)
        low = sorted((d for d in documents if is_low(d.coverage)), key=lambda d: d.coverage)
        text = f"{mean:.1%} on average"
        if low:
            others = f" and {len(low) - 1} more" if len(low) > 1 else ""
            text += f"; {share(low[0].coverage)} in {one_line(low[0].name)}{others}"
        counted = Counter(_kind(document) for document in documents)
        rows += [
            ("coverage", text),
            ("kinds", ", ".join(f"{count:,} {kind}" for kind, count in counted.most_common())),
            ("size", size(sum(document.bytes for document in documents))),
        ]
    return [*rows, ("vectors by", embedder)]


def of_document(document: Document) -> Facts:
    """Labels and values."""
    rows = [("kind", _kind(document)), ("source", clean(document.source)), ("size", size(document.bytes))]
    if document.pages:
        rows.append(("pages", f"{document.pages:,}"))
    people = {"author": document.author, "sender": document.sender}
    rows += [(label, one_line(name)) for label, name in people.items() if name]
    dates = {"date": document.date, "changed": document.changed}
    rows += [(label, clean(day)) for label, day in dates.items() if day]
    covered = share(document.coverage)
    if is_low(document.coverage):
        covered += ": the rest of its text is in no passage, and is not found"
    return [*rows, ("passages", f"{document.chunks:,}"), ("coverage", covered)]


def _kind(document: Document) -> str:
    page = "web page, " if "://" in document.source else ""
    known = BY_TYPE.get(document.media_type)
    return page + (known.name if known else document.media_type)


class Outline(Tree[int]):
    """The sections of a document; each knows its first passage."""

    HELP = """\
### The sections

The headings of the document. **Enter** opens the first passage of a section in the text.
"""
    ICON_NODE = "▸ "
    ICON_NODE_EXPANDED = "▾ "
    DEFAULT_CSS = """
    Outline { background: transparent; height: auto; padding: 0; }
    Outline:focus { background-tint: transparent; }
    """

    def __init__(self) -> None:
        super().__init__("sections")
        self.show_root = False
        self.guide_depth = 2
        self.auto_expand = False

    def show(self, passages: Sequence[Passage]) -> None:
        """Show the sections of these passages, which are a document in its order."""
        self.clear()
        counts: Counter[tuple[str, ...]] = Counter()
        for passage in passages:
            path = tuple(passage.section.split(SECTION_SEPARATOR))
            counts.update(path[:depth] for depth in range(1, len(path) + 1))
        nodes: dict[tuple[str, ...], TreeNode[int]] = {(): self.root}
        for passage in passages:
            path = tuple(passage.section.split(SECTION_SEPARATOR))
            for depth in range(1, len(path) + 1):
                here = path[:depth]
                if here in nodes:
                    continue
                label = Text(one_line(here[-1]) or "(without a heading)")
                label.append(f"  {counts[here]:,}", style="dim")
                deeper = any(len(other) > depth and other[:depth] == here for other in counts)
                parent = nodes[here[:-1]]
                nodes[here] = parent.add(label, passage.id, expand=depth < 2, allow_expand=deeper)
        self.cursor_line = 0


class FactSheet(Static):
    """A title, labels with their values side by side, and notices."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, markup=False)
        self._above: Sequence[Content] = ()
        self._facts: Facts = []
        self._notices: Sequence[str] = ()

    def show(self, above: Sequence[Content], facts: Facts, notices: Sequence[str] = ()) -> None:
        """Show these."""
        self._above, self._facts, self._notices = above, facts, notices
        self.on_resize()

    def on_resize(self) -> None:
        lines = [*self._above, *([Content("")] if self._facts else [])]
        lines += facts(self._facts, max(self.content_size.width, _LABEL + 16), _LABEL)
        lines += [Content.styled(f"! {one_line(notice)}", "$warning") for notice in self._notices]
        self.update(Content("\n").join(lines))


class Details(VerticalScroll, can_focus=False):
    """One pane: a title, facts, notices and, for a document, its sections."""

    DEFAULT_CSS = """
    Details { padding: 0 1; scrollbar-gutter: stable; }
    Details Static { height: auto; }
    Details #sections { margin-top: 1; text-style: bold; color: $primary; }
    """

    @dataclass
    class Opened(Message):
        """A passage is to be opened."""

        passage_id: int

    def compose(self) -> ComposeResult:
        yield FactSheet(id="facts")
        yield Static("Sections", id="sections")
        yield Outline()

    def on_mount(self) -> None:
        self.show_sections(())

    def show_nothing(self, text: str) -> None:
        """Nothing is chosen, or there is nothing."""
        self._show([Content(text)], [])

    def show_collection(self, collection: Collection, documents: Sequence[Document], embedder: str) -> None:
        """Show a collection; ``documents`` may come later."""
        title = Content(one_line(collection.name)).stylize("bold $primary")
        holds = Content(one_line(collection.description))
        if not collection.description:
            holds = Content("No description yet; searches go by it.").stylize("$foreground 65%")
        self._show([title, holds], of_collection(collection, documents, embedder))

    def show_document(self, document: Document) -> None:
        """Show a document, whose sections come later."""
        title = Content(one_line(document.title or document.name)).stylize("bold $primary")
        name = Content(one_line(document.name)).stylize("$foreground 65%")
        self._show([title, name], of_document(document), document.notices)

    def _show(self, above: Sequence[Content], facts: Facts, notices: Sequence[str] = ()) -> None:
        self.query_one(FactSheet).show(above, facts, notices)
        self.scroll_home(animate=False)
        self.show_sections(())

    def show_sections(self, passages: Sequence[Passage]) -> None:
        """Show a document's sections, or hide them if there are none."""
        outline = self.query_one(Outline)
        outline.show(passages)
        outline.display = self.query_one("#sections").display = bool(passages)

    @on(Tree.NodeSelected)
    def _open(self, event: Tree.NodeSelected[int]) -> None:
        event.stop()
        if event.node.data is not None:
            self.post_message(self.Opened(event.node.data))


class DescribeScreen(ModalScreen[str]):
    """Returns the description, in one line; "" leaves the one there is."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("describe")
    HELP = "What the collection holds, in one line: the planner reads it to know where to search."
    DEFAULT_CSS = """
    DescribeScreen #describe {
        width: 90%; max-width: 90; height: auto; background: $surface; border: round $primary; padding: 0 1;
    }
    DescribeScreen Input { margin: 1 0; }
    """

    def __init__(self, collection: str, description: str) -> None:
        super().__init__()
        self._collection = collection
        self._description = description

    def compose(self) -> ComposeResult:
        with Vertical(id="describe"):
            yield Static(f"What {one_line(self._collection)} holds", classes="title", markup=False)
            yield Input(self._description, placeholder="In one line, for the planner")
            yield KeyLine()

    @on(Input.Submitted)
    def _keep(self, event: Input.Submitted) -> None:
        self.dismiss(" ".join(event.value.split()))

    def action_close(self) -> None:
        self.dismiss("")
