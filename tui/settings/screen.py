"""Settings: each with its value and its origin, edited in place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final, Literal, get_args, get_origin

from rich.cells import cell_len
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from tui.app.base import DeepScreen
from tui.app.failure import in_the_app
from tui.app.keys import bindings
from tui.app.lists import Line, ScreenRows, heading
from tui.app.themes import TEXTUAL
from tui.app.work import Failed, in_background
from tui.run.live import load_anew
from tui.terminal import clean, one_line

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from tui.app.engine import Engine
    from tui.settings.settings import Layer


Kind = Literal["switch", "choice", "text"]

GROUPS: Final = ("model", "answer", "web", "budget", "app")
_OF_MODEL: Final = frozenset(
    "model embedder reranker ollama_url openai_url openai_confirmed context_tokens threads".split()
)
LOADED: Final = _OF_MODEL - {"reranker"}
"""Settings that require loading another model."""
_MEANS: Final[Mapping[tuple[str, str], str]] = {
    ("ollama_url", ""): "from OLLAMA_HOST",
    ("openai_url", ""): "no such server",
    ("openai_confirmed", ""): "no other machine",
    ("threads", "0"): "chosen from the machine",
    ("decider", ""): "from the profile",
    ("collection", ""): "documents; all searched",
    ("approve", ""): "ask on a terminal",
    ("shadow", ""): "off",
    ("web_contact", ""): "none",
    ("app.keys", ""): "none remapped",
}
"""Explanations of values that do not explain themselves."""


@dataclass(frozen=True, slots=True)
class Row:
    """One setting.

    Attributes:
        value: As on the command line; "" if it is empty.
        layer: Where the value comes from.
        origin: The environment variable or the file; "" for a default.
        choices: All possible values, if they are few.
    """

    key: str
    group: str
    value: str
    layer: Layer
    origin: str
    description: str
    kind: Kind
    choices: Sequence[str] = ()


def meaning(key: str, value: str) -> str:
    """An explanation of ``value``; "" if it explains itself."""
    return _MEANS.get((key, value), "" if value else "empty")


@dataclass
class SettingsRead(Message):
    """All settings in force; ``changed`` is the key that was just written, "" if none was."""

    rows: Sequence[Row]
    changed: str = ""


@dataclass
class SettingRefused(Message):
    """A text cannot be the value of a setting; ``reason`` is a sentence."""

    key: str
    reason: str


def read(engine: Engine | None = None) -> SettingsRead:
    """Read all settings; an ``engine`` reloads them too. Raises `BadSetting`."""
    if engine is not None:
        engine.reload()
    return SettingsRead(_rows())


def change(engine: Engine, key: str, text: str | None) -> Message:
    """Write a setting, or remove it from the file if ``text`` is None, and reload the engine.

    Raises:
        BadSetting: the file cannot be read or written.
    """
    from tui.settings.file import drop, put
    from tui.settings.settings import BadSetting, parse_value

    if text is None:
        drop(key)
    else:
        try:
            parse_value(key, text)
        except BadSetting as error:
            return SettingRefused(key, error.message)
        put(key, text)
    engine.reload()
    return SettingsRead(_rows(), key)


def _rows() -> list[Row]:
    from tui.settings.settings import entries

    rows = []
    for entry in entries():
        kind, choices = _kind(entry.key)
        value = str(entry.value).lower() if isinstance(entry.value, bool) else str(entry.value)
        rows.append(
            Row(
                entry.key,
                _group(entry.key),
                value,
                entry.layer,
                entry.origin,
                entry.description,
                kind,
                choices,
            )
        )
    return sorted(rows, key=lambda row: GROUPS.index(row.group))


def _group(key: str) -> str:
    first, dot, _ = key.partition(".")
    if dot:
        return first
    return "model" if key in _OF_MODEL else "web" if key.startswith("web") else "answer"


def _kind(key: str) -> tuple[Kind, Sequence[str]]:
    annotation = _field(key).annotation
    if annotation is bool:
        return "switch", ("true", "false")
    if get_origin(annotation) is Literal:
        return "choice", get_args(annotation)
    return "text", ()


def _field(key: str) -> FieldInfo:
    from tui.settings.settings import Settings

    shape = Settings
    *groups, name = key.split(".")
    for group in groups:
        shape = shape.model_fields[group].annotation  # type: ignore[assignment]
    return shape.model_fields[name]


class SettingEditor(VerticalScroll, can_focus=False):
    """Shows and edits a setting; posts `Changed` with the new text."""

    DEFAULT_CSS = """
    SettingEditor { height: auto; max-height: 12; padding: 0 1; border-top: solid $panel; }
    SettingEditor > Static { height: auto; }
    SettingEditor > #message { color: $foreground 65%; }
    SettingEditor > Input { height: 1; border: none; padding: 0 1; margin: 1 0 0 0; background: $panel; }
    SettingEditor > Input.-invalid { border: none; }
    SettingEditor > OptionList {
        margin: 1 0 0 0; height: auto; max-height: 6; width: 30; border: none; padding: 0;
        background: $background; background-tint: $background 0%;
    }
    SettingEditor > OptionList:focus { border: none; background-tint: $background 0%; }
    SettingEditor > #wrong { color: $error; }
    """
    HELP: ClassVar[str] = """\
**Enter** saves the typed value, **Escape** keeps the old one. The possible values are listed below.
"""

    @dataclass
    class Changed(Message):
        """The user sets ``key`` to ``text``."""

        key: str
        text: str

    def __init__(self) -> None:
        super().__init__(id="editor")
        self.row: Row | None = None

    def compose(self) -> ComposeResult:
        yield Static(id="name", markup=False)
        yield Static(id="description", markup=False)
        yield OptionList(id="choice", compact=True)
        yield Input(id="text", compact=True)
        yield Static(id="wrong", markup=False)
        yield Static(id="message", markup=False)

    def show(self, row: Row | None) -> None:
        """Show a setting, and ways to edit it."""
        same = row is not None and self.row is not None and row.key == self.row.key
        self.row = row
        self.display = row is not None
        if row is None:
            return
        name = Content(row.key).stylize("bold $primary")
        self.query_one("#name", Static).update(Content.assemble(name, f"  {_origin(row)}"))
        self.query_one("#description", Static).update(clean(row.description))
        is_fixed = row.layer == "environment"
        text = f"{row.origin} in the environment wins over the file; unset it to change the setting here."
        self.query_one("#message", Static).update(text if is_fixed else "")
        self.query_one("#message").display = is_fixed
        if not same:
            self.show_error("")
        line = self.query_one("#text", Input)
        self.query_one("#choice").display = row.kind != "text" and not is_fixed
        line.display = row.kind == "text" and not is_fixed
        with self.prevent(Input.Changed):
            if row.kind != "text":
                self._offer(row)
            elif not line.has_focus:
                line.value = row.value

    def _offer(self, row: Row) -> None:
        choice = self.query_one("#choice", OptionList)
        choice.set_options(
            Option(
                Content(f"{'●' if value == row.value else '○'} {value or meaning(row.key, value)}"),
                id=f"={value}",
            )
            for value in row.choices
        )
        choice.highlighted = list(row.choices).index(row.value)

    def edit(self) -> None:
        """Start editing: toggle a switch, open a choice, focus a line."""
        if self.row is None or self.row.layer == "environment":
            return
        match self.row.kind:
            case "switch":
                self._post("false" if self.row.value == "true" else "true")
            case "choice":
                self.query_one("#choice").focus()
            case _:
                line = self.query_one("#text", Input)
                line.value = self.row.value
                self.screen.set_focus(line)  # at once: it gets the next key

    def show_error(self, message: str) -> None:
        """Show what is wrong with the typed text; "" clears it."""
        line = self.query_one("#wrong", Static)
        line.update(f"✗ {clean(message)}" if message else "")
        line.display = bool(message)

    @on(OptionList.OptionHighlighted)
    def _ignore_highlight(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()

    @on(OptionList.OptionSelected)
    def _post_choice(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self._post(str(event.option_id).removeprefix("="))

    @on(Input.Submitted)
    def _post_line(self, event: Input.Submitted) -> None:
        event.stop()
        self._post(event.value)

    @on(Input.Changed)
    def _clear_error(self, event: Input.Changed) -> None:
        event.stop()
        self.show_error("")

    def _post(self, text: str) -> None:
        if self.row is not None:
            self.post_message(self.Changed(self.row.key, text))


def _origin(row: Row) -> str:
    return {"default": "the default", "file": "from the settings file", "flag": "from a flag"}.get(
        row.layer, f"from {row.origin}"
    )


_KEY = 21  # columns
_TITLES = {
    "model": "Models",
    "answer": "Answers",
    "web": "The web",
    "budget": "What one run may spend",
    "app": "This app",
}


class SettingsScreen(DeepScreen):
    """The list of settings, and an editor for the one under the cursor."""

    MODE: ClassVar[str] = "settings"
    PLACES: ClassVar[Sequence[str]] = ("settings",)
    BINDINGS: ClassVar[list[BindingType]] = bindings("settings")
    CSS_PATH = "settings.tcss"
    HELP = """\
### Settings

All settings in force. A flag of a command wins over the environment, the environment over the settings
file, the file over the default. A change here is written to the file at once; everything else in it stays.
Theme, motion and keys take effect at once, a model with the next question.
"""

    def __init__(self) -> None:
        super().__init__()
        self._rows: Sequence[Row] = ()
        self._error_text = ""

    def body(self) -> ComposeResult:
        with Container(id="sides"):
            with Vertical(id="left"):
                yield Input(placeholder="Search", id="search", compact=True)
                yield Static(id="trouble", classes="error", markup=False)
                yield ScreenRows(id="rows")
            yield SettingEditor()

    def on_mount(self) -> None:
        self.query_one("#rows").focus()
        self.query_one(SettingEditor).show(None)
        self.query_one("#trouble").display = False

    def on_screen_resume(self) -> None:
        self.action_refresh()

    # --- what is possible ------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if not self.is_mounted:  # the key line of the screen before may ask
            return True
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
                return not in_list or bool(self.query_one("#search", Input).value)
            case _:
                return True

    def action_edit(self) -> None:
        self.query_one(SettingEditor).edit()

    def action_unset(self) -> None:
        row = self._under_cursor()
        if row is not None:
            in_background(self, partial(change, self.deepthink.engine, row.key, None), group="change")

    def action_refresh(self) -> None:
        """Read the settings again; the engine too, if they could not be read before."""
        engine = self.deepthink.engine if self._error_text else None
        in_background(self, partial(read, engine), group="read", exclusive=True)

    def action_search(self) -> None:
        self.set_focus(self.query_one("#search"))  # at once: it gets the next key

    def action_leave(self) -> None:
        """Go back to the list; from the search or the list itself, also clear the search."""
        search, rows = self.query_one("#search", Input), self.query_one("#rows")
        if search.has_focus or rows.has_focus:
            search.value = ""
        self.set_focus(self.query_one("#rows"))  # at once, so that the editor can restore the value
        editor = self.query_one(SettingEditor)
        editor.show_error("")
        editor.show(self._under_cursor())

    # --- events of widgets -----------------------------------------------------------------------

    @on(Input.Changed, "#search")
    def _filter_rows(self) -> None:
        self._redraw()

    @on(Input.Submitted, "#search")
    def _focus_rows(self) -> None:
        self.set_focus(self.query_one("#rows"))  # at once: a second Enter belongs to the row

    @on(OptionList.OptionHighlighted)
    def _show_highlighted(self) -> None:
        self.query_one(SettingEditor).show(self._under_cursor())
        self.refresh_bindings()

    @on(OptionList.OptionSelected)
    def _edit_clicked(self) -> None:
        if self.check_action("edit", ()):
            self.action_edit()

    @on(SettingEditor.Changed)
    def _write_change(self, message: SettingEditor.Changed) -> None:
        work = partial(change, self.deepthink.engine, message.key, message.text)
        in_background(self, work, group="change")

    # --- messages of workers -----------------------------------------------------------------------

    @on(SettingRefused)
    def _show_refusal(self, message: SettingRefused) -> None:
        editor = self.query_one(SettingEditor)
        if editor.row is not None and editor.row.key == message.key:
            editor.show_error(message.reason)

    @on(SettingsRead)
    def _show_settings(self, message: SettingsRead) -> None:
        self._rows = message.rows
        if self._error_text:  # the file was not in force
            self._tell("")
            for key in ("app.theme", "app.reduced_motion", "app.keys", "model"):
                self._take_effect(key)
        if message.changed:
            self._take_effect(message.changed)
            self.query_one(SettingEditor).show_error("")
            self.query_one("#rows").focus()
        self._redraw()

    @on(Failed)
    def _show_failure(self, message: Failed) -> None:
        """Show the failure, and keep the settings; the app shows it too."""
        error = message.error
        keys = self.deepthink.keys
        hint = f"{keys.get('settings.refresh', 'r')} reads the file again."
        way_out = in_the_app(error, keys)
        self._tell("\n  ".join(filter(None, (f"✗ {error.message}", way_out, "" if self._rows else hint))))
        self._redraw()

    def _take_effect(self, key: str) -> None:
        """Apply settings of the app at once, and load another model."""
        value = next(row.value for row in self._rows if row.key == key)
        match key:
            case "app.theme":
                self.app.theme = TEXTUAL[value]
            case "app.reduced_motion":
                self.app.animation_level = "none" if value == "true" else "full"
            case "app.keys":
                self.deepthink.take_keys(value)
            case _ if key in LOADED:
                load_anew(self)

    # --- drawing ---------------------------------------------------------------------------------

    def _tell(self, error_text: str) -> None:
        self._error_text = error_text
        view = self.query_one("#trouble", Static)
        view.update(error_text)
        view.display = bool(error_text)

    def _under_cursor(self) -> Row | None:
        key = self.query_one(ScreenRows).chosen
        return next((row for row in self._rows if row.key == key), None)

    def _redraw(self) -> None:
        words = self.query_one("#search", Input).value.casefold().split()
        lines: list[Line] = []
        group = ""
        for row in self._rows:
            if not all(word in f"{row.key} {row.description} {row.value}".casefold() for word in words):
                continue
            if row.group != group:
                group = row.group
                lines.append(heading(_TITLES[group], first=not lines))
            lines.append(Line(row.key, partial(_line, row)))
        if self._rows and not lines:
            lines = [Line("", lambda _width: Content("No setting matches; Escape shows all."))]
        self.query_one(ScreenRows).show(lines)
        self.query_one(SettingEditor).show(self._under_cursor())
        self.refresh_bindings()


def _line(row: Row, width: int) -> Content:
    """Name and value, and the layer unless it is the default."""
    changed = row.layer != "default"
    layer = {"default": "", "file": "file", "environment": "environment", "flag": "flag"}[row.layer]
    room = width - _KEY - 14
    explanation = meaning(row.key, row.value)
    value = one_line(row.value, room)
    text = one_line(f"({explanation})" if explanation else "", max(room - cell_len(value) - 1, 0))
    return Content.assemble(
        (f"{'•' if changed else ' '} {row.key:<{_KEY - 2}} ", "bold" if changed else ""),
        f"{value} " if value else "",
        (text, "$foreground 55%"),
        " " * (room - cell_len(text) - (cell_len(value) + 1 if value else 0)),
        (f" {layer:>12}", "$foreground 65%"),
    )
