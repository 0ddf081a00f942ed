"""One setting in full, and its editor: a switch, a choice or a line, by its type."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.widgets import Checkbox, Input, OptionList, Static
from textual.widgets.option_list import Option

from tui.app.setting_rows import Row, meaning
from tui.terminal import clean


class _Switch(Checkbox):
    """On and off by its sign and its word, as choices have theirs."""

    def render(self) -> Content:
        """A filled or an empty circle, and the word."""
        return Content("● on" if self.value else "○ off").stylize(self.get_visual_style("toggle--label"))

    def get_content_width(self, container: Size, viewport: Size) -> int:
        """The longer of the two."""
        return len("○ off")


class SettingEditor(VerticalScroll, can_focus=False):
    """Shows what `show` is given; `Changed` and `Typed` tell what a person does to it."""

    DEFAULT_CSS = """
    SettingEditor { height: auto; max-height: 12; padding: 0 1; border-top: solid $panel; }
    SettingEditor > Static { height: auto; }
    SettingEditor > #told { color: $foreground 65%; }
    SettingEditor > Input { height: 1; border: none; padding: 0 1; margin: 1 0 0 0; background: $panel; }
    SettingEditor > Input.-invalid { border: none; }
    SettingEditor > Checkbox { margin: 1 0 0 0; background: $background; padding: 0; }
    SettingEditor > OptionList {
        margin: 1 0 0 0; height: auto; max-height: 6; width: 30; border: none; padding: 0;
        background: $background; background-tint: $background 0%;
    }
    SettingEditor > OptionList:focus { border: none; background-tint: $background 0%; }
    SettingEditor > #wrong { color: $error; }
    """
    HELP: ClassVar[str] = """\
**Enter** takes what was typed, **Escape** leaves the setting as it is. What a value may be stands under it.
"""

    class Changed(Message):
        """A person wants the setting ``key`` to be ``text``."""

        def __init__(self, key: str, text: str) -> None:
            super().__init__()
            self.key = key
            self.text = text

    class Typed(Message):
        """A value is being typed."""

        def __init__(self, key: str, text: str) -> None:
            super().__init__()
            self.key = key
            self.text = text

    def __init__(self) -> None:
        super().__init__(id="editor")
        self.row: Row | None = None

    def compose(self) -> ComposeResult:
        """Name and origin, what it is for, one editor of each kind, what is wrong."""
        yield Static(id="name", markup=False)
        yield Static(id="description", markup=False)
        yield _Switch(id="switch", compact=True)
        yield OptionList(id="choice", compact=True)
        yield Input(id="text", compact=True)
        yield Static(id="wrong", markup=False)
        yield Static(id="told", markup=False)

    def show(self, row: Row | None) -> None:
        """Draw a setting as it is in force."""
        same = row is not None and self.row is not None and row.key == self.row.key
        self.row = row
        self.display = row is not None
        if row is None:
            return
        name = Content(row.key).stylize("bold $primary")
        self.query_one("#name", Static).update(Content.assemble(name, f"  {_origin(row)}"))
        self.query_one("#description", Static).update(clean(row.description))
        fixed = row.layer == "environment"
        told = f"{row.origin} in the environment wins over the file; unset it to change the setting here."
        self.query_one("#told", Static).update(told if fixed else "")
        self.query_one("#told").display = fixed
        if not same:
            self.wrong("")
        switch, line = self.query_one("#switch", Checkbox), self.query_one("#text", Input)
        switch.display = row.kind == "switch" and not fixed
        self.query_one("#choice").display = row.kind == "choice" and not fixed
        line.display = row.kind == "text" and not fixed
        with self.prevent(Checkbox.Changed, Input.Changed):
            if row.kind == "switch":
                switch.value = row.value == "true"
            elif row.kind == "choice":
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
        """Begin: a switch is thrown, a choice opens, a line gets the keys."""
        if self.row is None or self.row.layer == "environment":
            return
        match self.row.kind:
            case "switch":
                self.query_one("#switch", Checkbox).toggle()
            case "choice":
                self.query_one("#choice").focus()
            case _:
                line = self.query_one("#text", Input)
                line.value = self.row.value
                self.screen.set_focus(line)  # at once: what is typed next belongs there

    def wrong(self, words: str) -> None:
        """Say what is wrong with what was typed; nothing if ``words`` is empty."""
        told = self.query_one("#wrong", Static)
        told.update(f"✗ {clean(words)}" if words else "")
        told.display = bool(words)

    @on(Checkbox.Changed)
    def _thrown(self, event: Checkbox.Changed) -> None:
        event.stop()
        self._post("true" if event.value else "false")

    @on(OptionList.OptionHighlighted)
    def _moved(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self._post(str(event.option_id).removeprefix("="))

    @on(Input.Submitted)
    def _taken(self, event: Input.Submitted) -> None:
        event.stop()
        self._post(event.value)

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        if self.row is not None and event.input.has_focus:
            self.post_message(self.Typed(self.row.key, event.value))

    def _post(self, text: str) -> None:
        if self.row is not None:
            self.post_message(self.Changed(self.row.key, text))


def _origin(row: Row) -> str:
    return {"default": "the default", "file": "from the settings file", "flag": "from a flag"}.get(
        row.layer, f"from {row.origin}"
    )
