"""Choosing the files to read, and the collection for them."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

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

from agent.documents import sample_library
from agent.documents.sources import why_skipped
from traces.library import Library
from traces.paths import existing_path
from tui.app.base import KeyLine
from tui.app.failure import way_out
from tui.app.keys import bindings
from tui.app.offers import deepthink
from tui.app.work import Failed, in_background
from tui.library.actions import (
    DEFAULT_COLLECTION,
    DESCRIPTION_HINT,
    Intake,
    completions,
    intake,
    split_paths,
)
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
        """Add each pasted line as a path."""
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
    """A tree of folders and readable files, which can be marked."""

    BINDINGS = bindings("file_tree")
    HELP = """\
### The files

**Space** marks files and folders, **Enter** reads what is marked, or the file under the cursor; paths in
the line above are read with it. **→** opens a folder and **←** closes it, **Backspace** shows the folder
above, **.** shows or hides hidden files; other letters go to the line above. A folder is read as a
whole: documents whose files are gone are removed from the collection.
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
        """Show the name without markup: file names may hold anything."""
        return Text(one_line(label if isinstance(label, str) else label.plain) or "?")

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


class _Choice(NamedTuple):
    """What is chosen, and what Enter and Space do to it where the focus is."""

    text: str  # in the line for paths
    marked: list[Path]
    highlighted: Path | None  # if there is nothing else
    in_tree: bool
    turns: bool  # whether Enter opens or closes a folder


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
        self._descriptions: dict[str, str] = {}
        self._choice: _Choice | None = None  # as described last

    def compose(self) -> ComposeResult:
        with Vertical(id="files"):
            yield Static("Add documents", classes="title")
            yield PathInput(self._paths)
            yield PathTree(self._start)
            yield Static(id="message", markup=False)
            with Horizontal(classes="field"):
                yield Label("Collection")
                yield Input(id="collection", placeholder=DEFAULT_COLLECTION)
            with Horizontal(classes="field"):
                yield Label("Description")
                yield Input(id="description", placeholder=DESCRIPTION_HINT)
            yield KeyLine()

    def on_mount(self) -> None:
        if self._paths:
            self._to_path_line()
        in_background(self, self._load_collections, self._show_collections, group="collections")

    def _load_collections(self) -> tuple[Settings, dict[str, str]]:
        engine = deepthink(self).engine
        collections = Library(engine.store).collections()
        return engine.settings(), {c.name: c.description for c in collections}

    def _show_collections(self, loaded: tuple[Settings, dict[str, str]]) -> None:
        settings, self._descriptions = loaded
        self._settings = settings
        field = self.query_one("#collection", Input)
        field.suggester = SuggestFromList(self._descriptions, case_sensitive=False)
        if not field.value:
            chosen = "" if self._collection in sample_library.COLLECTIONS else self._collection
            field.value = chosen or settings.collection or DEFAULT_COLLECTION

    @on(Input.Changed, "#collection")
    def _show_description(self, event: Input.Changed) -> None:
        description = one_line(self._descriptions.get(event.value, ""), 80)
        placeholder = description or DESCRIPTION_HINT
        self.query_one("#description", Input).placeholder = placeholder

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

    @on(Input.Changed, "#path")
    @on(PathTree.Changed)
    @on(Tree.NodeHighlighted)
    @on(events.DescendantFocus)
    def _describe(self) -> None:
        self.refresh_bindings()  # what Enter does
        choice = self._selected_paths()
        if choice == self._choice:
            return  # keep the message, which may say why it cannot be read
        self._choice = choice
        self._tell(_enter_hint(choice))

    @on(Input.Changed, "#path")
    def _show_folder(self, event: Input.Changed) -> None:
        """Show the folder that is typed in the tree."""
        text, tree = event.value, self.query_one(PathTree)
        folder = existing_path(text) if text.endswith("/") else None
        if folder is not None and folder.is_dir() and folder != Path(tree.path):
            tree.path = folder

    @on(PathTree.ReadRequested)
    def action_read(self) -> None:
        self._choice = self._selected_paths()  # so that what is told about it stays
        names, settings = self._names(), self._settings
        if not names or settings is None:
            self._tell("Mark something to read with the space bar, or type a path.", is_error=True)
            return
        collection = self.query_one("#collection", Input).value.strip()
        description = self.query_one("#description", Input).value

        def work() -> Intake:
            return intake(names, settings, collection or None, description)

        in_background(self, work, self._accept, group="check", exclusive=True)

    def _accept(self, selection: Intake) -> None:
        self.dismiss(selection)  # not returned: nothing may wait for it here

    @on(Failed)
    def _show_failure(self, message: Failed) -> None:
        if self._settings is not None:  # else the app shows that they could not be read
            message.stop()
            self._tell(f"{message.error.message} {way_out(self, message.error)}", is_error=True)

    def _selected_paths(self) -> _Choice:
        text, tree = self.query_one("#path", PathInput).value, self.query_one(PathTree)
        marked_paths = list(tree.marked)
        highlighted = None if text.strip() or marked_paths else tree.under_cursor
        in_tree = self.focused is tree
        return _Choice(
            text, marked_paths, highlighted, in_tree, in_tree and bool(tree.check_action("turn", ()))
        )

    def _names(self) -> list[str]:
        choice = self._selected_paths()
        if choice.highlighted is None:
            return [*split_paths(choice.text), *map(str, choice.marked)]
        node = self.query_one(PathTree).cursor_node
        return [str(choice.highlighted)] if node is not None and not node.allow_expand else []

    def _tell(self, message: str, *, is_error: bool = False) -> None:
        line = self.query_one("#message", Static)
        line.update(f"✗ {message}" if is_error else message)
        line.set_class(is_error, "error")


def _enter_hint(choice: _Choice) -> str:
    paths = (path for path in split_paths(choice.text) if "://" not in path)
    missing = next((path for path in paths if existing_path(path) is None), None)
    if missing is not None:
        return f"{one_line(missing, 60)} does not exist."
    if choice.marked:
        reads = "it" if len(choice.marked) == 1 else "them"
        also = ", and the path above" if choice.text.strip() else ""
        return f"{len(choice.marked)} marked: Enter reads {reads}{also}."
    if choice.text.strip():
        return "Enter in the line above reads it." if choice.turns else "Enter reads it."
    if choice.highlighted is None:
        return ""
    name = one_line(choice.highlighted.name or str(choice.highlighted), 40)
    if choice.highlighted.is_dir():
        return f"{name}: Space marks it." if choice.in_tree else ""
    return f"Enter reads {name}.{' Space marks it.' * choice.in_tree}"
