"""Settings: every one with its value and where that comes from, changed in place."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from tui.app.actions import bindings
from tui.app.loading import load_anew
from tui.app.screens.base import DeepScreen
from tui.app.setting_rows import LOADED, Row, SettingChecked, SettingsRead, change, check, meaning, read
from tui.app.themes import TEXTUAL
from tui.app.ways_out import in_the_app
from tui.app.widgets.setting_editor import SettingEditor
from tui.app.work import Failed, in_background
from tui.terminal import one_line

_KEY = 21  # columns
_TITLES = {
    "model": "Models",
    "answer": "Answers",
    "web": "The web",
    "budget": "What one run may spend",
    "app": "This app",
}


class _Rows(OptionList, inherit_bindings=False):
    """The rows; Enter is the screen's, so that it can be remapped."""

    BINDINGS: ClassVar[list[BindingType]] = [
        binding
        for binding in OptionList.BINDINGS
        if not (isinstance(binding, Binding) and binding.key == "enter")
    ]

    class Resized(Message):
        """There is another width to fill."""

    def on_resize(self) -> None:
        """Values are cut to the width there is."""
        self.post_message(self.Resized())


class SettingsScreen(DeepScreen):
    """The list of settings, and the one under the cursor in full with its editor."""

    MODE: ClassVar[str] = "settings"
    PLACES: ClassVar[Sequence[str]] = ("settings",)
    BINDINGS: ClassVar[list[BindingType]] = bindings("settings")
    CSS_PATH = "settings.tcss"
    HELP = """\
### Settings

Everything that can be set, as it is in force. A flag of a command wins over the environment, that over the
settings file, the file over the default. What is changed here is written into the file at once; all else in
it stays. Theme, motion and keys take effect at once, a model with the next question.
"""

    def __init__(self) -> None:
        super().__init__()
        self._rows: Sequence[Row] = ()
        self._shown: list[Row] = []
        self._trouble = ""

    def body(self) -> ComposeResult:
        """Search and list, and the editor under or beside them."""
        with Container(id="sides"):
            with Vertical(id="left"):
                yield Input(placeholder="Search", id="search", compact=True)
                yield Static(id="trouble", classes="error", markup=False)
                yield _Rows(id="rows")
            yield SettingEditor()

    def on_mount(self) -> None:
        """Read them."""
        self.query_one("#rows").focus()
        self.query_one(SettingEditor).show(None)
        self.query_one("#trouble").display = False

    def on_screen_resume(self) -> None:
        """Another screen or program may have changed them."""
        self.action_refresh()

    # --- what is possible ------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What the environment says cannot be changed here, and a default not be unset."""
        row = self._under_cursor()
        in_list = self.query_one("#rows").has_focus
        match action:
            case "edit":
                return row is not None and row.layer != "environment" and in_list
            case "unset":
                return row is not None and row.layer == "file" and in_list
            case "search" | "refresh":
                return in_list
            case "leave":
                return not in_list
            case _:
                return True

    def action_edit(self) -> None:
        """Change the setting under the cursor."""
        self.query_one(SettingEditor).edit()

    def action_unset(self) -> None:
        """Take it out of the file."""
        row = self._under_cursor()
        if row is not None:
            in_background(self, partial(change, self.deepthink.engine, row.key, None), group="change")

    def action_refresh(self) -> None:
        """Read them again; the engine too, where it could not."""
        engine = self.deepthink.engine if self._trouble else None
        in_background(self, partial(read, engine), group="read", exclusive=True)

    def action_search(self) -> None:
        """Go to the search."""
        self.set_focus(self.query_one("#search"))  # at once: what is typed next belongs there

    def action_leave(self) -> None:
        """Back to the list; from the search with all of it."""
        search = self.query_one("#search", Input)
        if search.has_focus:
            search.value = ""
        self.set_focus(self.query_one("#rows"))  # at once: what was typed into the editor is put back
        editor = self.query_one(SettingEditor)
        editor.wrong("")
        editor.show(self._under_cursor())

    # --- what a person does ----------------------------------------------------------------------

    @on(Input.Changed, "#search")
    def _searched(self) -> None:
        self._redraw()

    @on(Input.Submitted, "#search")
    def _found(self) -> None:
        self.query_one("#rows").focus()

    @on(OptionList.OptionHighlighted)
    def _moved(self) -> None:
        self.query_one(SettingEditor).show(self._under_cursor())
        self.refresh_bindings()

    @on(OptionList.OptionSelected)
    def _clicked(self) -> None:
        if self.check_action("edit", ()):
            self.action_edit()

    @on(SettingEditor.Typed)
    def _typed(self, message: SettingEditor.Typed) -> None:
        in_background(self, partial(check, message.key, message.text), group="check", exclusive=True)

    @on(SettingEditor.Changed)
    def _changed(self, message: SettingEditor.Changed) -> None:
        work = partial(change, self.deepthink.engine, message.key, message.text)
        in_background(self, work, group="change")

    # --- what workers tell -----------------------------------------------------------------------

    @on(SettingChecked)
    def _checked(self, message: SettingChecked) -> None:
        editor = self.query_one(SettingEditor)
        if editor.row is not None and editor.row.key == message.key:
            editor.wrong(message.wrong)

    @on(SettingsRead)
    def _read(self, message: SettingsRead) -> None:
        self._rows = message.rows
        if self._trouble:  # nothing of the file was in force
            self._tell("")
            for key in ("app.theme", "app.reduced_motion", "app.keys", "model"):
                self._take_effect(key)
        if message.changed:
            self._take_effect(message.changed)
            self.query_one(SettingEditor).wrong("")
            self.query_one("#rows").focus()
        self._redraw()

    @on(Failed)
    def _failed(self, message: Failed) -> None:
        """The app tells it too; what is shown stays as it was."""
        error = message.error
        keys = self.deepthink.keys
        again = f"{keys.get('settings.refresh', 'r')} reads the file again."
        way_out = in_the_app(error, keys)
        self._tell("\n  ".join(filter(None, (f"✗ {error.message}", way_out, "" if self._rows else again))))
        self._redraw()

    def _take_effect(self, key: str) -> None:
        """What the app itself is made of changes at once; another model is loaded."""
        value = next(row.value for row in self._rows if row.key == key)
        match key:
            case "app.theme":
                self.app.theme = TEXTUAL[value]
            case "app.reduced_motion":
                self.app.animation_level = "none" if value == "true" else "full"
            case "app.keys":
                self.deepthink.take_keys(value)
            case _ if key in LOADED:
                load_anew(self.deepthink)

    # --- drawing ---------------------------------------------------------------------------------

    @on(_Rows.Resized)
    def _resized(self) -> None:
        self._redraw()

    def _tell(self, trouble: str) -> None:
        self._trouble = trouble
        told = self.query_one("#trouble", Static)
        told.update(trouble)
        told.display = bool(trouble)

    def _under_cursor(self) -> Row | None:
        rows = self.query_one("#rows", OptionList)
        at = rows.highlighted
        option = rows.get_option_at_index(at) if at is not None and at < rows.option_count else None
        return next((row for row in self._shown if option is not None and row.key == option.id), None)

    def _redraw(self) -> None:
        words = self.query_one("#search", Input).value.casefold().split()
        rows = self.query_one("#rows", OptionList)
        before = self._under_cursor()
        self._shown = [
            row
            for row in self._rows
            if all(word in f"{row.key} {row.description} {row.value}".casefold() for word in words)
        ]
        width = max(rows.scrollable_content_region.width - 1, 40)
        options: list[Option] = []
        group = ""
        for row in self._shown:
            if row.group != group:
                group = row.group
                title = Content(_TITLES[group]).stylize("bold $primary")
                options.append(Option(title if not options else Content("\n") + title, disabled=True))
            options.append(Option(_line(row, width), id=row.key))
        if self._rows and not options:
            options = [Option(Content("Nothing is called that; Escape shows all."), disabled=True)]
        rows.set_options(options)
        if self._shown:
            kept = (
                before.key
                if before in self._shown or (before and before.key in {r.key for r in self._shown})
                else ""
            )
            rows.highlighted = rows.get_option_index(kept or self._shown[0].key)
        self.query_one(SettingEditor).show(self._under_cursor())
        self.refresh_bindings()


def _line(row: Row, width: int) -> Content:
    """Name, value, and where it comes from unless that is the default."""
    changed = row.layer != "default"
    layer = {"default": "", "file": "file", "environment": "environment", "flag": "flag"}[row.layer]
    room = width - _KEY - 14
    means = meaning(row.key, row.value)
    value = one_line(row.value, room)
    told = one_line(f"({means})" if means else "", max(room - len(value) - 1, 0))
    return Content.assemble(
        (f"{'•' if changed else ' '} {row.key:<{_KEY - 2}} ", "bold" if changed else ""),
        f"{value} " if value else "",
        (told, "$foreground 55%"),
        " " * (room - len(told) - (len(value) + 1 if value else 0)),
        (f" {layer:>12}", "$foreground 65%"),
    )
