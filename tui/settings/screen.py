"""Settings: each with its value and its origin, edited in place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len
from textual import events, on
from textual.app import ComposeResult
from textual.containers import Container, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Input, OptionList, Static

from tui.app.base import DeepScreen
from tui.app.failure import way_out
from tui.app.keys import bindings
from tui.app.lists import Line, MarkedList, Notice, ScreenRows, hanging, heading
from tui.app.themes import TEXTUAL
from tui.app.work import Failed, in_background
from tui.run.live import load_anew
from tui.terminal import clean, one_line

if TYPE_CHECKING:
    from tui.app.engine import Engine
    from tui.settings.settings import Entry

_TITLES: Final = {
    "model": "Models",
    "answer": "Answers",
    "web": "The web",
    "budget": "What one run may spend",
    "app": "This app",
    "run": "Advanced: how a run plans and decides",
}
_OF_RUN: Final = {"planner", "profile", "decider", "shadow"}
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


def _meaning(key: str, value: str) -> str:
    """An explanation of ``value``; "" if it explains itself."""
    return _MEANS.get((key, value), "" if value else "empty")


def _group(key: str) -> str:
    from tui.settings.settings import OF_MODELS

    first, dot, _ = key.partition(".")
    if dot:
        return first
    if key in _OF_RUN:
        return "run"
    return "model" if key in OF_MODELS else "web" if key.startswith("web") else "answer"


def _read(engine: Engine) -> list[Entry]:
    """All settings, by group; the engine reads them too. Raises `BadSetting`."""
    from tui.settings.settings import entries

    engine.reload()
    rows, error = entries(warn=lambda _message: None)  # the engine has warned
    if error is not None:
        raise error
    return sorted(rows, key=lambda entry: list(_TITLES).index(_group(entry.key)))


def _change(engine: Engine, key: str, text: str | None) -> list[Entry] | str:
    """Write a setting, or remove it from the file if ``text`` is None, and reload the engine.

    Returns all settings, or why ``text`` cannot be the value. Raises `BadSetting` for the file.
    """
    from tui.settings.settings import BadSetting, drop, parse_value, put

    if text is None:
        drop(key)
    else:
        try:
            parse_value(key, text)
        except BadSetting as error:
            return error.message
        put(key, text)
    return _read(engine)


_LABEL = 22  # columns


class Choice(MarkedList):
    BINDINGS = bindings("choice")
    NARROWEST = 8


class SettingsScreen(DeepScreen):
    MODE = "settings"
    PLACES = ("settings",)
    BINDINGS = bindings("settings")
    CSS_PATH = "settings.tcss"
    AUTO_FOCUS = "#rows"
    HELP = """\
### Settings

All settings in force. A flag of a command wins over the environment, the environment over the settings
file, the file over the default. A change here is written to the file at once; everything else in it stays.
What is typed into a line is taken with **Enter**, and dropped when you go elsewhere. Theme, motion and keys
take effect at once, a model with the next question.
"""

    def __init__(self) -> None:
        super().__init__()
        self._rows: Sequence[Entry] = ()
        self._error_text = ""
        self._typed = ""  # the name of the setting whose line has text that Enter has not taken

    def body(self) -> ComposeResult:
        with Container(id="sides"):
            with Vertical(id="left"):
                yield Input(placeholder="Search", id="search", compact=True)
                yield Notice("trouble")
                yield ScreenRows(id="rows")
            with VerticalScroll(id="editor", can_focus=False):
                yield Static(id="name", markup=False)
                yield Static(id="description", markup=False)
                yield Choice(id="choice")
                yield Input(id="text", compact=True)
                yield Notice("message")

    def on_mount(self) -> None:
        self._show_setting()

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
        """Start editing: toggle a switch, open a choice, focus a line."""
        row = self._under_cursor()
        if row is None or row.layer == "environment":
            return
        if isinstance(row.value, bool):
            self._change(row.key, "false" if row.value else "true")
        elif row.choices:
            self.query_one("#choice").focus()
        else:
            self.set_focus(self.query_one("#text"))  # at once: it gets the next key

    def action_unset(self) -> None:
        row = self._under_cursor()
        if row is not None:
            self._change(row.key, None)

    @on(events.ScreenResume)
    def look_again(self) -> None:
        work = partial(_read, self.deepthink.engine)
        in_background(self, work, self._show_settings, group="read", exclusive=True)

    def action_refresh(self) -> None:
        self.look_again()

    def action_search(self) -> None:
        self.set_focus(self.query_one("#search"))  # at once: it gets the next key

    def action_leave(self) -> None:
        """Go back to the list; from the search or the list itself, also clear the search."""
        search, rows = self.query_one("#search", Input), self.query_one("#rows")
        if search.has_focus or rows.has_focus:
            search.value = ""
        self.set_focus(rows)  # at once: it gets the next key

    @on(events.ScreenSuspend)
    def _leave_editor(self) -> None:
        """Leave the editor if another screen is shown, not for a window over this one."""
        if self.app.current_mode != self.MODE and not self.query_one("#search").has_focus:
            self.set_focus(self.query_one("#rows"))

    @on(events.DescendantFocus, "#rows, #search")
    def _end_editing(self) -> None:
        """Show the setting as it is; say so if something else was typed."""
        if self._typed:
            self.notify(f"{self._typed}: not changed, since only Enter takes what is typed.")
        self._typed = ""
        self._show_setting()

    # --- events of widgets -----------------------------------------------------------------------

    @on(Input.Submitted, "#search")
    def _focus_rows(self) -> None:
        self.set_focus(self.query_one("#rows"))  # at once: a second Enter belongs to the row

    @on(OptionList.OptionHighlighted, "#rows")
    def _show_highlighted(self) -> None:
        self._show_setting()
        self.refresh_bindings()

    @on(OptionList.OptionSelected, "#rows")
    def _edit_clicked(self) -> None:
        if self.check_action("edit", ()):
            self.action_edit()

    @on(OptionList.OptionSelected, "#choice")
    def _take_choice(self, event: OptionList.OptionSelected) -> None:
        if (row := self._under_cursor()) is not None:
            self._change(row.key, row.choices[event.option_index])

    @on(Input.Submitted, "#text")
    def _take_text(self, event: Input.Submitted) -> None:
        self._typed = ""
        row = self._under_cursor()
        if row is not None and event.value == row.text and not row.problem:
            self.set_focus(self.query_one("#rows"))  # nothing to write: it may be a default
        elif row is not None:
            self._change(row.key, event.value)

    @on(Input.Changed, "#text")
    def _take_typing(self) -> None:
        row = self._under_cursor()
        self._typed = row.label if row is not None else ""
        self._tell("message", "")

    # --- work ------------------------------------------------------------------------------------

    def _change(self, key: str, text: str | None) -> None:
        work = partial(_change, self.deepthink.engine, key, text)
        in_background(self, work, partial(self._show_change, key), group="change")

    def _show_change(self, key: str, result: list[Entry] | str) -> None:
        row = self._under_cursor()
        if isinstance(result, list):
            self._show_settings(result)
            self._take_effect(key)
            self.set_focus(self.query_one("#rows"))
        elif row is not None and row.key == key:
            self._tell("message", f"✗ {clean(result)}")

    def _show_settings(self, rows: Sequence[Entry]) -> None:
        self._rows = rows
        if self._error_text:  # the file was not in force
            self._error_text = ""
            self._tell("trouble", "")
            for key in ("app.theme", "app.reduced_motion", "app.keys"):
                self._take_effect(key)
        self._redraw()

    @on(Failed)
    def _show_failure(self, message: Failed) -> None:
        """Show the failure, and keep the settings."""
        message.is_shown = self.is_current
        error = message.error
        hint = f"{self.deepthink.key_for('settings.refresh')} reads the file again."
        parts = (f"✗ {error.message}", way_out(self, error), "" if self._rows else hint)
        self._error_text = "\n  ".join(filter(None, parts))
        self._tell("trouble", self._error_text)
        self._redraw()

    def _take_effect(self, key: str) -> None:
        """Apply settings of the app at once, and load another model."""
        value = next(row.text for row in self._rows if row.key == key)
        match key:
            case "app.theme":
                self.app.theme = TEXTUAL[value]
            case "app.reduced_motion":
                self.app.animation_level = "none" if value == "true" else "full"
            case "app.keys":
                self.deepthink.take_keys(value)
            case _ if _group(key) == "model" and key != "reranker":
                load_anew(self)

    # --- drawing ---------------------------------------------------------------------------------

    def _tell(self, where: str, text: str) -> None:
        self.query_one(f"#{where}", Notice).tell(text)

    def _show_setting(self) -> None:
        row = self._under_cursor()
        self.query_one("#editor").display = row is not None
        if row is None:
            return
        origins = {"default": "the default", "file": "from the settings file"}
        origin = origins.get(row.layer, f"from {row.origin}")
        if row.problem:
            origin = f"the default, since the value {origin} is not valid"
        name = Content.assemble((row.label, "bold $primary"), f"  {row.key}, {origin}")
        self.query_one("#name", Static).update(name)
        self.query_one("#description", Static).update(clean(row.description))
        is_fixed = row.layer == "environment"
        fixed = f"{row.origin} in the environment wins over the file; unset it to change the setting here."
        problem = f"✗ {clean(row.problem)}" if row.problem else ""
        self._tell("message", "\n".join(filter(None, [problem, fixed if is_fixed else ""])))
        choice, line = self.query_one(Choice), self.query_one("#text", Input)
        choice.display = bool(row.choices) and not is_fixed
        line.display = not row.choices and not is_fixed
        if row.choices:
            signs = {True: "●", False: "○"}
            texts = [
                f"{signs[value == row.text]} {value or _meaning(row.key, value)}" for value in row.choices
            ]
            choice.show([Line(text, partial(hanging, "", text)) for text in texts])
            choice.highlighted = list(row.choices).index(row.text)
        elif self.focused is not line:  # the line itself hears later that it lost the focus
            with self.prevent(Input.Changed):
                line.value = row.text

    def _under_cursor(self) -> Entry | None:
        key = self.query_one(ScreenRows).chosen
        return next((row for row in self._rows if row.key == key), None)

    @on(Input.Changed, "#search")
    def _redraw(self) -> None:
        words = self.query_one("#search", Input).value.casefold().split()
        lines: list[Line] = []
        group = ""
        for row in self._rows:
            if not all(
                word in f"{row.label} {row.key} {row.description} {row.text}".casefold() for word in words
            ):
                continue
            if _group(row.key) != group:
                group = _group(row.key)
                lines.append(heading(_TITLES[group], first=not lines))
            lines.append(Line(row.key, partial(_line, row)))
        if self._rows and not lines:
            lines = [Line("", lambda _width: Content("No setting matches; Escape shows all."))]
        self.query_one(ScreenRows).show(lines)
        self._show_setting()
        self.refresh_bindings()


def _line(row: Entry, width: int) -> Content:
    changed = row.layer != "default"
    room = width - _LABEL - 14
    value = one_line(row.text, room)
    explanation = _meaning(row.key, row.text)
    explained = one_line(f"({explanation})" if explanation else "", max(room - cell_len(value) - 1, 0))
    return Content.assemble(
        (f"{'•' if changed else ' '} {row.label:<{_LABEL - 2}} ", "bold" if changed else ""),
        f"{value} " if value else "",
        (explained, "$foreground 55%"),
        " " * (room - cell_len(explained) - (cell_len(value) + 1 if value else 0)),
        (f" {('not valid' if row.problem else row.layer) if changed else '':>12}", "$foreground 65%"),
    )
