"""Collections and, once one is opened, its documents."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text
from textual import on
from textual.message import Message
from textual.widgets import Tree
from textual.widgets.tree import TreeNode

from traces.records import Collection, Document
from tui.ingest_fold import is_low
from tui.terminal import one_line


class Shelves(Tree[Collection | Document]):
    """The library as a tree; what a collection holds is asked for when it is opened."""

    HELP = """\
### The library

Collections and, once one is opened, their documents; beside them what is known of the one under the
cursor. **→** opens and **←** shuts a collection, **Enter** on a document opens its text, **Tab** goes to
its sections.
"""
    ICON_NODE = "▸ "
    ICON_NODE_EXPANDED = "▾ "
    DEFAULT_CSS = """
    Shelves { background: transparent; padding: 0; overflow-x: hidden; scrollbar-gutter: stable; }
    Shelves:focus { background-tint: transparent; }
    """

    class Wanted(Message):
        """The documents of a collection are to be shown."""

        def __init__(self, collection: Collection) -> None:
            super().__init__()
            self.collection = collection

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
