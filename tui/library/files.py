"""Choosing the files to read, and the collection for them."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rich.style import Style
from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.screen import ModalScreen
from textual.suggester import Suggester, SuggestFromList
from textual.widgets import DirectoryTree, Input, Label, Static, Tree
from textual.widgets._directory_tree import DirEntry
from textual.widgets.tree import TreeNode

from agent.documents.sample_library import is_sample
from agent.documents.sources import why_skipped
from traces.library import Library
from traces.paths import existing_path
from traces.records import Collection
from tui.app.base import KeyLine
from tui.app.failure import way_out
from tui.app.keys import bindings
from tui.app.reach import deepthink
from tui.app.work import Failed, in_background
from tui.library.actions import DEFAULT_COLLECTION, Intake, completions, intake, split_paths
from tui.terminal import one_line

if TYPE_CHECKING:
    from tui.settings.settings import Settings


class _PathSuggester(Suggester):
    """Suggests a path on the disk, while the user types on; a folder's path with its slash is complete."""

    def __init__(self) -> None:
        super().__init__(use_cache=False, case_sensitive=True)

    async def get_suggestion(self, value: str) -> str | None:
        if not value or value.endswith("/") or "://" in value:
            return None
        paths = await asyncio.to_thread(completions, value)
        return next((path for path in paths if path != value), None)


class PathInput(Input):
    """Input for a path, several paths, or an address; Tab accepts the completion."""

    HELP = """\
### The path

A path with `~`, several side by side in quotes, or an address where the web is on. **Tab** or **→** takes
the completion. Files dropped on the terminal are added here.
"""

    def __init__(self, paths: str) -> None:
        placeholder = "A path, several, or an address; or choose below"
        # The line already has text typed in the tree when it gets the focus.
        super().__init__(
            paths, placeholder=placeholder, id="path", suggester=_PathSuggester(), select_on_focus=False
        )

    def on_paste(self, event: events.Paste) -> None:
        event.prevent_default()
        event.stop()
        names = split_paths(event.text)
        self.insert_text_at_cursor(names[0] if len(names) == 1 else shlex.join(names))

    def on_key(self, event: events.Key) -> None:
        """Complete on Tab; without a completion, Tab goes to the next field."""
        if event.key != "tab" or not self.value or self.cursor_position < len(self.value):
            return
        before = self.value
        self.action_cursor_right()
        if self.value != before:
            event.prevent_default()
            event.stop()


class PathTree(DirectoryTree):
    BINDINGS = bindings("file_tree")
    HELP = """\
### The files

What is marked is read, or the file under the cursor; paths in the line above, where letters go, are read
with it. A folder is read as a whole: documents whose files are gone are removed from the collection.
"""
    ICON_NODE = "▸ "
    ICON_NODE_EXPANDED = "▾ "
    ICON_FILE = "  "
    DEFAULT_CSS = """
    PathTree { background: transparent; height: 1fr; padding: 0; }
    PathTree > .directory-tree--folder { text-style: none; color: $primary; }
    PathTree > .directory-tree--extension { text-style: none; }
    """

    class ReadRequested(Message):
        """The user wants to read the marked paths, or the file under the cursor."""

    class Changed(Message):
        """A path was marked or unmarked."""

    def __init__(self, path: Path) -> None:
        self.marked: dict[Path, None] = {}  # in the order of marking
        self.hidden = False
        super().__init__(path, id="tree")
        self.guide_depth = 2
        self.auto_expand = False

    @property
    def under_cursor(self) -> Path | None:
        node = self.cursor_node
        return node.data.path if node is not None and node.data is not None else None

    def filter_paths(self, paths: Iterable[Path]) -> Iterable[Path]:
        return [
            path
            for path in paths
            if (self.hidden or not path.name.startswith((".", "~$")))
            and (self._safe_is_dir(path) or not why_skipped(path))
        ]

    def render_label(self, node: TreeNode[DirEntry], base_style: Style, style: Style) -> Text:
        label = super().render_label(node, base_style, style)
        is_marked = node.data is not None and node.data.path in self.marked
        return Text.assemble(("✓ " if is_marked else "  ", base_style + Style(bold=is_marked)), label)

    def process_label(self, label: str | Text) -> Text:
        """Show the name without markup: files may be named anything, and the root nothing."""
        name = label if isinstance(label, str) else label.plain
        return Text(one_line(name or str(self.path)) or "?")

    def action_mark(self) -> None:
        path = self.under_cursor
        if path is None:
            return
        if path in self.marked:
            del self.marked[path]
        else:
            self.marked[path] = None
        self._clear_line_cache()
        self.refresh()
        self.post_message(self.Changed())

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in {"take", "turn"}:
            node = self.cursor_node
            folder = not self.marked and node is not None and node.allow_expand
            return folder == (action == "turn")
        return super().check_action(action, parameters)

    def action_take(self) -> None:
        self.post_message(self.ReadRequested())

    def action_turn(self) -> None:
        if self.cursor_node is not None:
            self.cursor_node.toggle()

    def action_open(self) -> None:
        if self.cursor_node is not None and self.cursor_node.allow_expand:
            self.cursor_node.expand()

    def action_shut(self) -> None:
        node = self.cursor_node
        if node is not None and node.allow_expand and node.is_expanded and node is not self.root:
            node.collapse()
        else:
            self.action_cursor_parent()

    def action_up(self) -> None:
        self.path = Path(self.path).expanduser().resolve().parent

    def action_hidden(self) -> None:
        self.hidden = not self.hidden
        self.reload()


class FilesScreen(ModalScreen[Intake | None]):
    """Dialog that returns the files to read and their collection; None if cancelled."""

    CSS_PATH = "files.tcss"
    AUTO_FOCUS = "PathTree"
    BINDINGS = bindings("files")
    HELP = PathTree.HELP

    def __init__(self, start: Path, collection: str = "", paths: str = "") -> None:
        super().__init__()
        self._paths = paths  # in the line for paths at first
        self._start = start  # the folder shown first
        self._collection = collection  # proposed, except a sample one; "" for the one in the settings
        self._settings: Settings | None = None

    def compose(self) -> ComposeResult:
        with Vertical(id="files"):
            yield Static("Add documents", classes="title")
            yield PathInput(self._paths)
            yield PathTree(self._start)
            yield Static(id="message", markup=False)
            with Horizontal(classes="field"):
                yield Label("Collection")
                yield Input(id="collection", placeholder=DEFAULT_COLLECTION)
            yield KeyLine()

    def on_mount(self) -> None:
        if self._paths:
            self._to_path_line()
        in_background(self, self._load_collections, self._show_collections, group="collections")

    def _load_collections(self) -> tuple[Settings, list[Collection]]:
        engine = deepthink(self).engine
        return engine.settings(), Library(engine.store).collections()

    def _show_collections(self, loaded: tuple[Settings, list[Collection]]) -> None:
        settings, collections = loaded
        self._settings = settings
        field = self.query_one("#collection", Input)
        field.suggester = SuggestFromList((one.name for one in collections), case_sensitive=False)
        if not field.value:
            own = {collection.name for collection in collections if not is_sample(collection)}
            chosen = self._collection if self._collection in own else settings.collection
            field.value = chosen or DEFAULT_COLLECTION

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "read":
            return isinstance(self.focused, Input)
        return super().check_action(action, parameters)

    def on_key(self, event: events.Key) -> None:
        """Put what is typed in the tree into the line for paths."""
        is_bound = self.active_bindings.keys() & {event.key, *event.aliases}
        if isinstance(self.focused, PathTree) and event.is_printable and event.character and not is_bound:
            event.stop()
            self._to_path_line().insert_text_at_cursor(event.character)

    def on_paste(self, event: events.Paste) -> None:
        """Put what is pasted into the tree there, too."""
        event.stop()
        self._to_path_line().on_paste(event)

    def _to_path_line(self) -> PathInput:
        line = self.query_one(PathInput)
        line.cursor_position = len(line.value)
        self.set_focus(line)  # at once: it gets the next key
        return line

    @on(Tree.NodeHighlighted)
    @on(events.DescendantFocus)
    def _show_what_enter_does(self) -> None:
        self.refresh_bindings()

    @on(Input.Changed, "#path")
    @on(PathTree.Changed)
    def _tell_marked(self) -> None:
        """Tell how many are marked, in place of what was wrong before."""
        self.refresh_bindings()
        marked = len(self.query_one(PathTree).marked)
        also = " and the path above" if self.query_one(PathInput).value.strip() else ""
        self._tell(f"Enter reads what is marked ({marked}){also}." if marked else "")

    @on(Input.Changed, "#path")
    def _show_folder(self, event: Input.Changed) -> None:
        text, tree = event.value, self.query_one(PathTree)
        folder = existing_path(text) if text.endswith("/") else None
        if folder is not None and folder.is_dir() and folder != Path(tree.path):
            tree.path = folder

    @on(PathTree.ReadRequested)
    def action_read(self) -> None:
        names, settings = self._names(), self._settings
        if not names or settings is None:
            self._tell("Mark something to read with the space bar, or type a path.", is_error=True)
            return
        collection = self.query_one("#collection", Input).value.strip()
        work = partial(intake, names, settings, collection or None)
        in_background(self, work, self._accept, group="check", exclusive=True)

    def _accept(self, selection: Intake) -> None:
        self.dismiss(selection)  # not returned: nothing may wait for it here

    @on(Failed)
    def _show_failure(self, message: Failed) -> None:
        if self._settings is not None:  # else the app shows that they could not be read
            message.stop()
            self._tell(f"{message.error.message} {way_out(self, message.error)}", is_error=True)

    def _names(self) -> list[str]:
        """What is typed and marked, else the file under the cursor."""
        text, tree = self.query_one(PathInput).value, self.query_one(PathTree)
        node = tree.cursor_node
        if text.strip() or tree.marked or node is None or node.allow_expand:
            return [*split_paths(text), *map(str, tree.marked)]
        return [str(tree.under_cursor)]

    def _tell(self, message: str, *, is_error: bool = False) -> None:
        line = self.query_one("#message", Static)
        line.update(f"✗ {message}" if is_error else message)
        line.set_class(is_error, "error")
