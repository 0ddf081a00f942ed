"""A window with the followed folders and their changes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from traces.folders import Change, Folder, Folders
from tui.app.key_line import KeyLine
from tui.app.keys import bindings
from tui.app.offers import deepthink
from tui.app.work import in_background
from tui.library.following import change_detail, change_time
from tui.terminal import clean, one_line

if TYPE_CHECKING:
    from traces.store import Store

_SIGNS = {"failed": "✗", "away": "!", "removed": "-", "added": "+"}


class ChangesScreen(ModalScreen[None]):
    """The followed folders, and the changes in them."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("changes")
    HELP = """\
### Followed folders

At the top are the followed folders. The app reads changes in them while it is open, between answers;
`deepthink sync` reads them at any time. Below are the changes, newest first.
"""
    DEFAULT_CSS = """
    ChangesScreen { align: center middle; }
    ChangesScreen #changes {
        width: 90%; max-width: 120; height: 85%; background: $surface; border: round $primary; padding: 0 1;
    }
    ChangesScreen OptionList {
        height: auto; max-height: 8; border: none; background: transparent; padding: 0; margin-bottom: 1;
    }
    ChangesScreen OptionList:focus { border: none; }
    ChangesScreen VerticalScroll { height: 1fr; }
    ChangesScreen #message { height: auto; }
    """

    class Loaded(Message):
        """The folders and the changes are loaded."""

        def __init__(self, folders: Sequence[Folder], changes: Sequence[Change]) -> None:
            super().__init__()
            self.folders = folders
            self.changes = changes

    def compose(self) -> ComposeResult:
        """Lay out the folders, and the changes below them."""
        with Vertical(id="changes"):
            yield Static("Followed folders", classes="title")
            yield OptionList(markup=False)
            with VerticalScroll():
                yield Static("…", id="message", markup=False)
            yield KeyLine()

    def on_mount(self) -> None:
        """Load the folders and the changes."""
        in_background(self, partial(_load, self._store), group="changes", exclusive=True)

    @property
    def _store(self) -> Store:
        return deepthink(self).engine.store

    @on(Loaded)
    def _show(self, message: Loaded) -> None:
        folder_list = self.query_one(OptionList)
        folder_list.clear_options()
        for folder in message.folders:
            exclusions = f", excluding {'  '.join(folder.exclude)}" if folder.exclude else ""
            missing = "" if Path(folder.path).is_dir() else " (missing)"
            line = one_line(f"{folder.collection}: {folder.path}{exclusions}{missing}")
            folder_list.add_option(Option(Content(line), id=folder.path))
        folder_list.display = bool(message.folders)
        lines = [_line(change) for change in message.changes]
        placeholder = "Nothing has changed yet." if message.folders else "No folder is followed yet."
        self.query_one("#message", Static).update(
            Content("\n").join(lines) if lines else Content(placeholder)
        )

    def action_unfollow(self) -> None:
        """Stop following the folder under the cursor."""
        folder_list = self.query_one(OptionList)
        if folder_list.highlighted is not None:
            path = folder_list.get_option_at_index(folder_list.highlighted).id or ""
            in_background(self, partial(_unfollow, self._store, path), group="changes")

    def action_close(self) -> None:
        """Go back to the library."""
        self.dismiss()


def _load(store: Store) -> ChangesScreen.Loaded:
    folders = Folders(store)
    return ChangesScreen.Loaded(folders.followed(), folders.changes())


def _unfollow(store: Store, path: str) -> ChangesScreen.Loaded:
    Folders(store).unfollow(path)
    return _load(store)


def _line(change: Change) -> Content:
    sign = _SIGNS.get(change.outcome, " ")
    name, detail = clean(change.name), one_line(change_detail(change))
    line = Content(
        f"{change_time(change)}  {sign} {change.outcome:8}{change.collection}  {name}  {detail}".rstrip()
    )
    style = {"failed": "$error", "away": "$warning"}.get(change.outcome)
    return line.stylize(style) if style else line
