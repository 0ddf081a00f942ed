"""A line for paths that completes them, and a tree of the files that can be read."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from rich.style import Style
from rich.text import Text
from textual import events
from textual.binding import BindingType
from textual.message import Message
from textual.suggester import Suggester
from textual.widgets import DirectoryTree, Input
from textual.widgets._directory_tree import DirEntry
from textual.widgets.tree import TreeNode

from agent.documents.reading import SUFFIXES
from traces.typed_path import existing_path
from tui.app.actions import bindings
from tui.intake import pasted
from tui.terminal import one_line


def completion(value: str) -> str | None:
    """``value`` with its last part completed to the first file or folder that begins so."""
    if not value or "://" in value:
        return None
    head, slash, begun = value.rpartition("/")
    folder = existing_path(f"{head}{slash}" or ".")
    if folder is None:
        return None
    try:
        names = sorted(
            f"{entry.name}/" if entry.is_dir() else entry.name
            for entry in folder.iterdir()
            if entry.name.startswith(begun)
            and (begun.startswith(".") or not entry.name.startswith("."))
            and (entry.is_dir() or entry.suffix.casefold() in SUFFIXES)
        )
    except OSError:
        return None
    found = next((name for name in names if name != begun), None)
    return f"{head}{slash}{found}" if found else None


class _Completing(Suggester):
    """Looks at the disk, beside what is typed."""

    def __init__(self) -> None:
        super().__init__(use_cache=False, case_sensitive=True)

    async def get_suggestion(self, value: str) -> str | None:
        return await asyncio.to_thread(completion, value)


class PathInput(Input):
    """Takes a path, several, or an address; Tab takes the completion where there is one."""

    HELP = """\
### The path

A path with `~`, several side by side in quotes, or an address where the web is on. **Tab** or **→** takes
the completion. Files that are dropped on the terminal arrive here.
"""

    def __init__(self, *, placeholder: str = "", id: str | None = None) -> None:  # noqa: A002 - Textual's name
        # What was typed in the tree is there already when the line gets the keys.
        super().__init__(placeholder=placeholder, id=id, suggester=_Completing(), select_on_focus=False)

    def on_paste(self, event: events.Paste) -> None:
        """Several lines are several paths."""
        event.prevent_default()
        event.stop()
        self.paste(event.text)

    def paste(self, text: str) -> None:
        """Add paths as they were pasted."""
        names = pasted(text)
        self.insert_text_at_cursor(names[0] if len(names) == 1 else shlex.join(names))

    def on_key(self, event: events.Key) -> None:
        """Tab completes; where there is nothing to complete it goes on to the next field."""
        if event.key != "tab" or not self.value or self.cursor_position < len(self.value):
            return
        before = self.value
        self.action_cursor_right()
        if self.value != before:
            event.prevent_default()
            event.stop()


class PathTree(DirectoryTree):
    """Folders and the files in them that can be read; some of them are marked.

    Attributes:
        marked: What was marked, in the order of marking.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("file_tree")
    HELP = """\
### The files

**Space** marks files and folders, **Enter** reads what is marked, or the file under the cursor; what stands
in the line above is read with it. **→** opens a folder and **←** shuts it, **Backspace** shows the folder
above, **.** shows or hides hidden files; other letters go to the line above. A folder is read whole: what
was read from it before and is gone now is removed from the collection.
"""
    ICON_NODE = "▸ "
    ICON_NODE_EXPANDED = "▾ "
    ICON_FILE = "  "
    DEFAULT_CSS = """
    PathTree { background: transparent; height: 1fr; padding: 0; }
    PathTree:focus { background-tint: transparent; }
    PathTree > .directory-tree--folder { text-style: none; color: $primary; }
    PathTree > .directory-tree--extension { text-style: none; }
    """

    class Taken(Message):
        """What is marked, or the file under the cursor, is to be read."""

    class Changed(Message):
        """Something was marked, or its mark taken away."""

    @dataclass
    class Typed(Message):
        """A path begins to be typed, or was pasted; the line for paths takes it."""

        text: str

    def __init__(self, path: Path, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        self.marked: dict[Path, None] = {}
        self.hidden = False
        super().__init__(path, id=id)
        self.guide_depth = 2
        self.auto_expand = False

    @property
    def under_cursor(self) -> Path | None:
        """The file or folder under the cursor."""
        node = self.cursor_node
        return node.data.path if node is not None and node.data is not None else None

    def filter_paths(self, paths: Iterable[Path]) -> Iterable[Path]:
        """What can be read, and folders."""
        return [
            path
            for path in paths
            if (self.hidden or not path.name.startswith((".", "~$")))
            and (path.suffix.casefold() in SUFFIXES or self._safe_is_dir(path))
        ]

    def render_label(self, node: TreeNode[DirEntry], base_style: Style, style: Style) -> Text:
        """A mark before what is marked."""
        label = super().render_label(node, base_style, style)
        marked = node.data is not None and node.data.path in self.marked
        return Text.assemble(("✓ " if marked else "  ", base_style + Style(bold=marked)), label)

    def process_label(self, label: str | Text) -> Text:
        """A name as it stands: file names may hold anything."""
        return Text(one_line(label if isinstance(label, str) else label.plain) or "?")

    def action_mark(self) -> None:
        """Mark, or take the mark away, and go on to the next."""
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
        self.action_cursor_down()

    def on_key(self, event: events.Key) -> None:
        """Pass on what is typed and does nothing here."""
        bound = self.screen.active_bindings
        if event.character and event.is_printable and not bound.keys() & {event.key, *event.aliases}:
            event.stop()
            event.prevent_default()
            self.post_message(self.Typed(event.character))

    def on_paste(self, event: events.Paste) -> None:
        """Pass it on."""
        event.stop()
        self.post_message(self.Typed(event.text))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Enter reads, but opens a folder as long as nothing is marked."""
        if action in {"take", "turn"}:
            node = self.cursor_node
            folder = not self.marked and node is not None and node.allow_expand
            return folder == (action == "turn")
        return super().check_action(action, parameters)

    def action_take(self) -> None:
        """Read what is marked or the file under the cursor."""
        self.post_message(self.Taken())

    def action_turn(self) -> None:
        """Open the folder under the cursor, or shut it."""
        if self.cursor_node is not None:
            self.cursor_node.toggle()

    def action_open(self) -> None:
        """Open the folder under the cursor."""
        if self.cursor_node is not None and self.cursor_node.allow_expand:
            self.cursor_node.expand()

    def action_shut(self) -> None:
        """Shut the folder under the cursor, or go to the one it is in."""
        node = self.cursor_node
        if node is not None and node.allow_expand and node.is_expanded and node is not self.root:
            node.collapse()
        else:
            self.action_cursor_parent()

    def action_up(self) -> None:
        """Show the folder above."""
        self.path = Path(self.path).expanduser().resolve().parent

    def action_hidden(self) -> None:
        """Show or hide hidden files."""
        self.hidden = not self.hidden
        self.reload()
