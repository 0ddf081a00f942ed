"""Collections and documents as a tree, one of them in detail, and the windows over them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import TypeVar

from rich.style import Style
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static, Tree
from textual.widgets.option_list import Option
from textual.widgets.tree import TreeNode

from agent.documents.reading import BY_TYPE
from traces.folders import Change, Folder, Folders
from traces.records import SECTION_SEPARATOR, Collection, Document, Passage
from tui.app.base import KeyLine
from tui.app.keys import bindings
from tui.app.lists import Drawn, DrawnText, facts
from tui.app.reach import deepthink
from tui.app.work import in_background
from tui.library.actions import change_detail
from tui.library.ingesting import is_low, share
from tui.run.words import local_time
from tui.terminal import clean, one_line, size

_Data = TypeVar("_Data")


class FittedTree(Tree[_Data]):
    """A tree without a root, whose labels end with an ellipsis where there is no room for more."""

    ICON_NODE = "▸ "
    ICON_NODE_EXPANDED = "▾ "
    DEFAULT_CSS = "FittedTree { background: transparent; padding: 0; }"

    def __init__(self, label: str, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(label, id=id)
        self.show_root = False
        self.guide_depth = 2
        self.auto_expand = False

    def render_label(self, node: TreeNode[_Data], base_style: Style, style: Style) -> Text:
        label = super().render_label(node, base_style, style)
        room, parent = self.scrollable_content_region.width, node.parent
        while parent is not None and parent is not self.root:
            room, parent = room - self.guide_depth, parent.parent
        label.truncate(max(room, 1), overflow="ellipsis")
        return label


class Shelves(FittedTree[Collection | Document]):
    """The library as a tree; the documents of a collection are below it while it is open."""

    HELP = """\
### The library

Collections and, once opened, their documents; beside them are the facts about the one under the
cursor. **→** opens and **←** closes a collection, **Enter** on a document opens its text, **Tab** goes to
its sections.
"""
    DEFAULT_CSS = "Shelves { overflow-x: hidden; scrollbar-gutter: stable; }"

    def __init__(self) -> None:
        super().__init__("library", id="tree")
        self._documents: Mapping[str, Sequence[Document]] = {}  # by collection

    @property
    def chosen(self) -> Collection | Document | None:
        if self.last_line < 0:  # counting them lays them out, so that the cursor leaves what was removed
            return None
        return self.cursor_node.data if self.cursor_node is not None else None

    @property
    def collection(self) -> str:
        """The collection under the cursor, or of the document there; "" if there is none."""
        item = self.chosen
        if isinstance(item, Document):
            return item.collection
        return item.name if item is not None else ""

    def show(self, collections: Sequence[Collection], documents: Mapping[str, Sequence[Document]]) -> None:
        """Show collections and their documents; what is open stays open, and the cursor where it is."""
        self._documents = documents
        nodes = {node.data.name: node for node in self.root.children if node.data is not None}
        for name in nodes.keys() - {collection.name for collection in collections}:
            nodes[name].remove()
        for position, collection in enumerate(collections):
            before = position if position < len(self.root.children) else None
            node = nodes.get(collection.name) or self.root.add("", collection, before=before)
            node.data = collection
            node.set_label(Text.assemble(one_line(collection.name), (f"  {collection.documents:,}", "dim")))
            self._fill(node)
        if self.cursor_node is None and self.root.children:
            self.call_after_refresh(self.move_cursor, self.root.children[0])

    @on(Tree.NodeExpanded)
    def _fill_opened(self, event: Tree.NodeExpanded[Collection | Document]) -> None:
        self._fill(event.node)

    def _fill(self, node: TreeNode[Collection | Document]) -> None:
        """Show the documents of a collection while it is open."""
        documents = self._documents.get(node.data.name, ()) if node.data is not None else ()
        if node.is_collapsed or [leaf.data for leaf in node.children] == list(documents):
            return
        item = self.chosen
        node.remove_children()
        leaves: dict[str, TreeNode[Collection | Document]] = {}
        for document in documents:
            low = ("  low", "bold") if is_low(document.coverage) else ""
            label = Text.assemble(one_line(document.name), low)
            leaves[document.source] = node.add_leaf(label, document)
        if isinstance(item, Document) and node.data is not None and item.collection == node.data.name:
            self.call_after_refresh(self.move_cursor, leaves.get(item.source, node))

    def key_right(self) -> None:
        if self.cursor_node is not None and self.cursor_node.allow_expand:
            self.cursor_node.expand()

    def key_left(self) -> None:
        node = self.cursor_node
        if node is None:
            return
        if node.allow_expand:
            node.collapse()
        else:
            self.action_cursor_parent()


Facts = list[tuple[str, str]]

_LABEL = 12  # columns
_MAX_NAMED = 5  # files that could not be read


def collection_facts(
    collection: Collection, documents: Sequence[Document], unread: Sequence[str], embedder: str
) -> Facts:
    """Labels and values of a collection; those that need its documents are left out without them."""
    rows = [("documents", f"{collection.documents:,}"), ("passages", f"{collection.chunks:,}")]
    if unread:
        more = [f"and {len(unread) - _MAX_NAMED} more"] * (len(unread) > _MAX_NAMED)
        rows += zip_longest(["not read"], [*unread[:_MAX_NAMED], *more], fillvalue="")
    if documents:
        mean = sum(document.coverage for document in documents) / len(documents)
        low = sorted((d for d in documents if is_low(d.coverage)), key=lambda d: d.coverage)
        text = f"{mean:.1%} on average"
        if low:
            others = f" and {len(low) - 1} more" if len(low) > 1 else ""
            text += f"; {share(low[0].coverage)} in {one_line(low[0].name)}{others}"
        kinds = Counter(_kind(document) for document in documents)
        rows += [
            ("coverage", text),
            ("kinds", ", ".join(f"{count:,} {kind}" for kind, count in kinds.most_common())),
            ("size", size(sum(document.bytes for document in documents))),
        ]
    return [*rows, ("vectors by", embedder)]


def document_facts(document: Document) -> Facts:
    rows = [("kind", _kind(document)), ("source", clean(document.source)), ("size", size(document.bytes))]
    if document.pages:
        rows.append(("pages", f"{document.pages:,}"))
    people = {"author": document.author, "sender": document.sender}
    rows += [(label, one_line(name)) for label, name in people.items() if name]
    dates = {"date": document.date, "changed": document.changed}
    rows += [(label, clean(day)) for label, day in dates.items() if day]
    coverage = share(document.coverage)
    if is_low(document.coverage):
        coverage += ": the rest of its text is in no passage, and is not found"
    return [*rows, ("passages", f"{document.chunks:,}"), ("coverage", coverage)]


def _kind(document: Document) -> str:
    prefix = "web page, " if "://" in document.source else ""
    media_type = BY_TYPE.get(document.media_type)
    return prefix + (media_type.name if media_type else document.media_type)


class Outline(FittedTree[int]):
    """The sections of a document; each node has the id of its first passage."""

    HELP = """\
### The sections

The headings of the document. **Enter** opens the first passage of a section in the text.
"""
    DEFAULT_CSS = "Outline { height: auto; }"

    def show(self, passages: Sequence[Passage]) -> None:
        """Show the sections of a document, given its passages in order."""
        self.clear()
        counts: Counter[tuple[str, ...]] = Counter()
        for passage in passages:
            path = tuple(passage.section.split(SECTION_SEPARATOR))
            counts.update(path[:depth] for depth in range(1, len(path) + 1))
        nodes: dict[tuple[str, ...], TreeNode[int]] = {(): self.root}
        for passage in passages:
            path = tuple(passage.section.split(SECTION_SEPARATOR))
            for depth in range(1, len(path) + 1):
                heading = path[:depth]
                if heading in nodes:
                    continue
                label = Text(one_line(heading[-1]) or "(without a heading)")
                label.append(f"  {counts[heading]:,}", style="dim")
                has_children = any(len(other) > depth and other[:depth] == heading for other in counts)
                parent = nodes[heading[:-1]]
                nodes[heading] = parent.add(label, passage.id, expand=depth < 2, allow_expand=has_children)
        self.cursor_line = 0


class Details(VerticalScroll, can_focus=False):
    """One pane: a title, facts, notices and, for a document, its sections."""

    DEFAULT_CSS = """
    Details { padding: 0 1; scrollbar-gutter: stable; }
    Details #sections { margin-top: 1; text-style: bold; color: $primary; }
    """

    def compose(self) -> ComposeResult:
        yield DrawnText(id="facts")
        yield Static("Sections", id="sections")
        yield Outline("sections")

    def on_mount(self) -> None:
        self._show_sections(())

    def show_text(self, text: Content) -> None:
        self._show([text], [])

    def show_collection(
        self, collection: Collection, documents: Sequence[Document], unread: Sequence[str], embedder: str
    ) -> None:
        """Show a collection with what is said of its ``unread`` files; both lists may not be loaded yet."""
        title = Content(one_line(collection.name)).stylize("bold $primary")
        holds = Content(one_line(collection.description))
        if not collection.description:
            holds = Content("No description yet; one helps to choose where to search.")
            holds = holds.stylize("$foreground 65%")
        self._show([title, holds], collection_facts(collection, documents, unread, embedder))

    def show_document(
        self, document: Document, passages: Sequence[Passage] = (), language: str = ""
    ) -> None:
        """Show a document with its sections, and its ``language`` if its meaning is not searched."""
        title = Content(one_line(document.title or document.name)).stylize("bold $primary")
        name = Content(one_line(document.name)).stylize("$foreground 65%")
        rows = document_facts(document)
        if language:
            rows.append(("language", f"{language}: found by its words, not by meaning"))
        self._show([title, name], rows, document.notices, passages)

    def _show(
        self,
        header: Sequence[Content],
        rows: Facts,
        notices: Sequence[str] = (),
        passages: Sequence[Passage] = (),
    ) -> None:
        def draw(width: int) -> Content:
            lines = [*header, *([Content("")] if rows else [])]
            lines += facts(rows, max(width, _LABEL + 16), _LABEL)
            lines += [Content.styled(f"! {one_line(notice)}", "$warning") for notice in notices]
            return Content("\n").join(lines)

        self.query_one(DrawnText).update(Drawn(draw))
        self.scroll_home(animate=False)
        self._show_sections(passages)

    def _show_sections(self, passages: Sequence[Passage]) -> None:
        outline = self.query_one(Outline)
        outline.show(passages)
        outline.display = self.query_one("#sections").display = bool(passages)

    @on(Tree.NodeSelected)
    def _open(self, event: Tree.NodeSelected[int]) -> None:
        event.stop()
        if event.node.data is not None:
            from tui.library.passage import PassageScreen

            self.app.push_screen(PassageScreen(event.node.data))


class DescribeScreen(ModalScreen[str]):
    """Dialog that returns a one-line description; "" keeps the present one."""

    BINDINGS = bindings("describe")
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
            yield Static(f"What “{one_line(self._collection)}” holds", classes="title", markup=False)
            yield Input(self._description, placeholder="In one line; helps to choose where to search")
            yield KeyLine()

    @on(Input.Submitted)
    def _submit(self, event: Input.Submitted) -> None:
        self.dismiss(" ".join(event.value.split()))


_SIGNS = {"failed": "✗", "away": "!", "removed": "-", "added": "+"}


class ChangesScreen(ModalScreen[None]):
    BINDINGS = bindings("changes")
    HELP = """\
### Followed folders

At the top are the followed folders. The app reads changes in them while it is open, between answers;
`deepthink sync` reads them at any time. Below are the changes, newest first.
"""
    DEFAULT_CSS = """
    ChangesScreen #changes {
        width: 90%; max-width: 120; height: 85%; background: $surface; border: round $primary; padding: 0 1;
    }
    ChangesScreen OptionList {
        height: auto; max-height: 8; border: none; background: transparent; padding: 0; margin-bottom: 1;
    }
    ChangesScreen OptionList:focus { border: none; }
    """

    def compose(self) -> ComposeResult:
        with Vertical(id="changes"):
            yield Static("Followed folders", classes="title")
            yield OptionList(markup=False)
            with VerticalScroll():
                yield Static("…", id="message", markup=False)
            yield KeyLine()

    def on_mount(self) -> None:
        self._load()

    def _load(self, unfollowed: str = "") -> None:
        """Show the folders and the changes, without a folder that is no longer to be followed."""
        folders = Folders(deepthink(self).engine.store)

        def work() -> tuple[list[Folder], list[Change]]:
            if unfollowed:
                folders.unfollow(unfollowed)
            return folders.followed(), folders.changes()

        in_background(self, work, self._show, group="changes")

    def _show(self, loaded: tuple[list[Folder], list[Change]]) -> None:
        folders, changes = loaded
        folder_list = self.query_one(OptionList)
        folder_list.clear_options()
        for folder in folders:
            exclusions = f", excluding {'  '.join(folder.exclude)}" if folder.exclude else ""
            missing = "" if Path(folder.path).is_dir() else " (missing)"
            line = one_line(f"{folder.collection}: {folder.path}{exclusions}{missing}")
            folder_list.add_option(Option(Content(line), id=folder.path))
        folder_list.display = bool(folders)
        placeholder = "Nothing has changed yet." if folders else "No folder is followed yet."
        lines = [_line(change) for change in changes] or [Content(placeholder)]
        self.query_one("#message", Static).update(Content("\n").join(lines))

    def action_unfollow(self) -> None:
        option = self.query_one(OptionList).highlighted_option
        if option is not None:
            self._load(unfollowed=option.id or "")


def _line(change: Change) -> Content:
    sign = _SIGNS.get(change.outcome, " ")
    name, detail = clean(change.name), one_line(change_detail(change))
    what = f"{sign} {change.outcome:8}{change.collection}  {name}  {detail}".rstrip()
    line = Content(f"{local_time(change.seen)}  {what}")
    style = {"failed": "$error", "away": "$warning"}.get(change.outcome)
    return line.stylize(style) if style else line
