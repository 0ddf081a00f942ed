"""Choosing what to read, and the collection it goes to."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, cast

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.screen import ModalScreen
from textual.suggester import SuggestFromList
from textual.widgets import Footer, Input, Label, Static, Tree

from traces.errors import DeepthinkError
from traces.typed_path import existing_path
from tui.app.actions import bindings
from tui.app.widgets.library_paths import PathInput, PathTree
from tui.app.work import in_background
from tui.intake import DEFAULT_COLLECTION, Intake, WebOff, count_readable, intake, pasted
from tui.terminal import one_line

if TYPE_CHECKING:
    from tui.app.app import DeepthinkApp
    from tui.settings import Settings

_MOST = 2000  # files that are counted


class FilesScreen(ModalScreen[Intake | None]):
    """Returns what is to be read and where it goes; None if nothing is.

    Args:
        start: The folder shown first.
        collection: Where it goes if nothing else is said; "" for what is set.
    """

    CSS_PATH = "files.tcss"
    BINDINGS: ClassVar[list[BindingType]] = bindings("files")
    HELP = PathTree.HELP

    class Known(Message):
        """The settings, and the collections there are with their descriptions."""

        def __init__(self, settings: Settings, collections: dict[str, str]) -> None:
            super().__init__()
            self.settings = settings
            self.collections = collections

    class Counted(Message):
        """How many files the choice brings, in words, and the folder that was typed if it is one."""

        def __init__(self, told: str, folder: Path | None) -> None:
            super().__init__()
            self.told = told
            self.folder = folder

    class Checked(Message):
        """The choice can be read, or why not."""

        def __init__(self, choice: Intake | DeepthinkError) -> None:
            super().__init__()
            self.choice = choice

    def __init__(self, start: Path, collection: str = "") -> None:
        super().__init__()
        self._start = start
        self._collection = collection
        self._settings: Settings | None = None
        self._descriptions: dict[str, str] = {}
        self._choice: tuple[str, list[Path], Path | None] | None = None  # that was counted last

    def compose(self) -> ComposeResult:
        """A line for paths, the tree, what the choice brings, and the collection."""
        with Vertical(id="files"):
            yield Static("Add documents", classes="title")
            yield PathInput(id="path", placeholder="A path, several, or an address; or choose below")
            yield PathTree(self._start, id="tree")
            yield Static(id="told", markup=False)
            with Horizontal(classes="field"):
                yield Label("Collection")
                yield Input(id="collection", placeholder=DEFAULT_COLLECTION)
            with Horizontal(classes="field"):
                yield Label("Holds")
                yield Input(id="description", placeholder="In one line, for the planner; may stay empty")
            yield Footer(compact=True, show_command_palette=False)

    def on_mount(self) -> None:
        """Learn what collections there are."""
        self.query_one(PathTree).focus()
        in_background(self, self._know, group="known")

    def _know(self) -> Message:
        from traces.library import Library

        engine = cast("DeepthinkApp", self.app).engine
        collections = Library(engine.store).collections()
        return self.Known(engine.settings(), {c.name: c.description for c in collections})

    @on(Known)
    def _take_known(self, message: Known) -> None:
        self._settings = message.settings
        self._descriptions = message.collections
        field = self.query_one("#collection", Input)
        field.suggester = SuggestFromList(message.collections, case_sensitive=False)
        if not field.value:
            field.value = self._collection or message.settings.collection or DEFAULT_COLLECTION
        self._count()

    @on(Input.Changed, "#collection")
    def _tell_description(self, event: Input.Changed) -> None:
        held = one_line(self._descriptions.get(event.value, ""), 80)
        placeholder = held or "In one line, for the planner; may stay empty"
        self.query_one("#description", Input).placeholder = placeholder

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What Enter does in the tree is the tree's."""
        if action == "read":
            return isinstance(self.focused, Input)
        return super().check_action(action, parameters)

    @on(PathTree.Typed)
    def _typed(self, message: PathTree.Typed) -> None:
        line = self.query_one(PathInput)
        line.cursor_position = len(line.value)
        self.set_focus(line)  # at once: what is typed next belongs there
        if len(message.text) == 1:
            line.insert_text_at_cursor(message.text)
        else:
            line.paste(message.text)

    @on(Input.Changed, "#path")
    @on(PathTree.Changed)
    @on(Tree.NodeHighlighted)
    def _count(self) -> None:
        self.refresh_bindings()  # what Enter does
        text, marked, under = choice = self._what_is_chosen()
        if choice == self._choice:
            return  # what is told of it stands, be it why it cannot be read
        self._choice = choice

        def work() -> Message:
            return self.Counted(*_told(text, marked, under))

        in_background(self, work, group="count", exclusive=True)

    @on(Counted)
    def _tell_count(self, message: Counted) -> None:
        self._tell(message.told)
        tree = self.query_one(PathTree)
        if message.folder is not None and message.folder != Path(tree.path):
            tree.path = message.folder

    @on(PathTree.Taken)
    def action_read(self) -> None:
        """Read what is typed and marked, once it is known that it can be read."""
        names, settings = self._names(), self._settings
        if not names or settings is None:
            self._tell("Mark something to read with the space bar, or write a path.", wrong=True)
            return
        self.workers.cancel_group(self, "count")  # what is told next is what came of this
        self._choice = self._what_is_chosen()  # and it stands, should word of a change come late
        collection = self.query_one("#collection", Input).value.strip()
        description = self.query_one("#description", Input).value

        def work() -> Message:
            try:
                return self.Checked(_checked(names, settings, collection or None, description))
            except DeepthinkError as wrong:
                return self.Checked(wrong)

        in_background(self, work, group="check", exclusive=True)

    @on(Checked)
    def _leave(self, message: Checked) -> None:
        if isinstance(message.choice, DeepthinkError):
            self._tell(_way_out(message.choice), wrong=True)
        else:
            self.dismiss(message.choice)

    def _what_is_chosen(self) -> tuple[str, list[Path], Path | None]:
        text, tree = self.query_one("#path", PathInput).value, self.query_one(PathTree)
        marked = list(tree.marked)
        return text, marked, None if text.strip() or marked else tree.under_cursor

    def _names(self) -> list[str]:
        text, marked, under = self._what_is_chosen()
        if under is None:
            return [*pasted(text), *map(str, marked)]
        node = self.query_one(PathTree).cursor_node
        return [str(under)] if node is not None and not node.allow_expand else []

    def _tell(self, told: str, *, wrong: bool = False) -> None:
        line = self.query_one("#told", Static)
        line.update(f"✗ {told}" if wrong else told)
        line.set_class(wrong, "error")

    def action_close(self) -> None:
        """Read nothing."""
        self.dismiss(None)


def _way_out(wrong: DeepthinkError) -> str:
    """What is wrong, and what to do about it here."""
    if isinstance(wrong, WebOff):
        return f"{wrong.message} Turn it on in the settings (web)."
    return f"{wrong.message} {wrong.way_out}"


def _checked(names: Sequence[str], settings: Settings, collection: str | None, description: str) -> Intake:
    """The same as `intake`; also raises `NothingToIngest` for a path that is not there."""
    from agent.documents.ingest import NothingToIngest

    choice = intake(names, settings, collection, description)
    for path in choice.paths:
        if existing_path(path) is None:
            raise NothingToIngest(f"{one_line(str(path), 60)} does not exist.", "Check the path.")
    return choice


def _told(text: str, marked: Sequence[Path], under: Path | None) -> tuple[str, Path | None]:
    """What the choice brings, in words, and the folder that was typed if it is one."""
    from textual.worker import get_current_worker

    worker = get_current_worker()
    names = [name for name in pasted(text) if "://" not in name]
    addresses = len(pasted(text)) - len(names)
    typed = {name: existing_path(name) for name in names}
    there = [path for path in typed.values() if path is not None]
    folder = there[0] if text.endswith("/") and len(names) == 1 and there and there[0].is_dir() else None
    paths = [*there, *marked] if text.strip() or marked else [under] if under else []
    count, more = count_readable(paths, _MOST, lambda: worker.is_cancelled)
    files = f"{'more than ' if more else ''}{count:,} file{'' if count == 1 else 's'}"
    if text.strip():
        missing = next((name for name, path in typed.items() if path is None), None)
        if missing is not None:
            return f"{one_line(missing, 60)} is not there.", None
        pages = f"{addresses} address{'' if addresses == 1 else 'es'}" if addresses else ""
        told = " and ".join(part for part in (files if paths else "", pages) if part)
        return f"Enter reads {told}{f', the {len(marked)} marked among them' if marked else ''}.", folder
    if marked:
        return f"{len(marked)} marked: Enter reads {files}.", None
    if under is None:
        return "", None
    name = one_line(under.name or str(under), 40)
    if under.is_dir():
        return f"{name} holds {files} that can be read. Space marks it.", None
    return f"Enter reads {name}. Space marks it, to read several.", None
