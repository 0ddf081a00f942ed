"""Followed folders in the app: a window with the folders and what changed in them."""

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
from tui.library.following import described, when
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

    class Listed(Message):
        """The folders and the changes are loaded."""

        def __init__(self, folders: Sequence[Folder], changes: Sequence[Change]) -> None:
            super().__init__()
            self.folders = folders
            self.changes = changes

    def compose(self) -> ComposeResult:
        """The folders, and beneath them the changes."""
        with Vertical(id="changes"):
            yield Static("Followed folders", classes="title")
            yield OptionList(markup=False)
            with VerticalScroll():
                yield Static("…", id="message", markup=False)
            yield KeyLine()

    def on_mount(self) -> None:
        """Fetch them."""
        in_background(self, partial(_listed, self._store), group="changes", exclusive=True)

    @property
    def _store(self) -> Store:
        return deepthink(self).engine.store

    @on(Listed)
    def _show(self, message: Listed) -> None:
        choices = self.query_one(OptionList)
        choices.clear_options()
        for folder in message.folders:
            left_out = f", excluding {'  '.join(folder.exclude)}" if folder.exclude else ""
            there = "" if Path(folder.path).is_dir() else " (missing)"
            line = one_line(f"{folder.collection}: {folder.path}{left_out}{there}")
            choices.add_option(Option(Content(line), id=folder.path))
        choices.display = bool(message.folders)
        lines = [_line(change) for change in message.changes]
        none = "Nothing has changed yet." if message.folders else "No folder is followed yet."
        self.query_one("#message", Static).update(Content("\n").join(lines) if lines else Content(none))

    def action_unfollow(self) -> None:
        """Stop following the folder under the cursor."""
        choices = self.query_one(OptionList)
        if choices.highlighted is not None:
            path = choices.get_option_at_index(choices.highlighted).id or ""
            in_background(self, partial(_unfollowed, self._store, path), group="changes")

    def action_close(self) -> None:
        """Back to the library."""
        self.dismiss()


def _listed(store: Store) -> ChangesScreen.Listed:
    folders = Folders(store)
    return ChangesScreen.Listed(folders.followed(), folders.changes())


def _unfollowed(store: Store, path: str) -> ChangesScreen.Listed:
    Folders(store).unfollow(path)
    return _listed(store)


def _line(change: Change) -> Content:
    sign = _SIGNS.get(change.outcome, " ")
    name, detail = clean(change.name), one_line(described(change))
    line = Content(
        f"{when(change)}  {sign} {change.outcome:8}{change.collection}  {name}  {detail}".rstrip()
    )
    style = {"failed": "$error", "away": "$warning"}.get(change.outcome)
    return line.stylize(style) if style else line
