"""The window that exports a run: its form and its file."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, cast

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, RadioButton, RadioSet, Static

from traces.runs import Runs
from traces.typed_path import existing_path, expanded_path
from tui.app.key_line import KeyLine
from tui.app.keys import bindings
from tui.app.offers import deepthink
from tui.app.work import Failed, in_background
from tui.run.export import Form, file_name, to_document
from tui.terminal import one_line

_FORMS: dict[Form, str] = {
    "md": "Markdown, to read, send or paste",
    "html": "one HTML page, with links to its sources",
    "json": "one JSON object, for programs",
}


class FormButton(RadioButton):
    """A form; a dot marks the chosen one, not colour alone."""

    BUTTON_INNER = " "

    def watch_value(self) -> None:
        """Show the dot, or none."""
        self.BUTTON_INNER = "●" if self.value else " "
        super().watch_value()


class ExportScreen(ModalScreen[None]):
    """Asks for form and file and writes the run; the default file name comes from the question."""

    CSS_PATH = "export.tcss"
    BINDINGS: ClassVar[list[BindingType]] = bindings("export")
    HELP = """\
### Export

**↑ ↓** and **Space** choose the form, **Tab** goes to the file, **Enter** in it (or Ctrl-S) writes. A path
without a folder is in the folder that the app was started in; `~` is your home folder.
"""

    def __init__(self, run_id: str, question: str) -> None:
        super().__init__()
        self._run_id = run_id
        self._question = question
        self._form: Form = "md"
        self._confirmed_path = ""  # an existing file that may be replaced

    def compose(self) -> ComposeResult:
        with Vertical(id="export"):
            yield Static("Export", classes="title")
            yield Static(one_line(self._question), id="export-question", markup=False)
            with RadioSet(id="export-form", compact=True):
                for form, label in _FORMS.items():
                    yield FormButton(label, value=form == self._form, name=form, compact=True)
            yield Input(file_name(self._run_id, self._question, self._form), compact=True)
            yield Static(id="export-note", markup=False)
            yield KeyLine()

    @on(RadioSet.Changed)
    def _change_form(self, event: RadioSet.Changed) -> None:
        path = self.query_one(Input)
        is_default_name = path.value == file_name(self._run_id, self._question, self._form)
        self._form = cast(Form, event.pressed.name)
        if is_default_name:  # a name that the user typed stays
            path.value = file_name(self._run_id, self._question, self._form)

    @on(Input.Changed)
    def _path_changed(self) -> None:
        self._confirmed_path = ""
        self.query_one("#export-note", Static).update("")

    @on(Input.Submitted)
    def action_write(self) -> None:
        """Write the file; replace an existing one only after a second press."""
        path_text = self.query_one(Input).value.strip()
        if not path_text:
            self.query_one("#export-note", Static).update("Type a file name.")
            return
        path = expanded_path(path_text)
        existing = existing_path(path)
        if existing is not None and existing.is_dir():
            path /= file_name(self._run_id, self._question, self._form)
        if existing_path(path) is not None and self._confirmed_path != path_text:
            self._confirmed_path = path_text
            note = f"{path} exists. Press the same key again to replace it."
            self.query_one("#export-note", Static).update(note)
            return
        store, run_id, form = deepthink(self).engine.store, self._run_id, self._form

        def write() -> Path:
            text = to_document(store, Runs(store).find(run_id), form)
            path.write_text(text, encoding="utf-8")
            return path.absolute()

        in_background(self, write, self._announce, group="export")

    def _announce(self, path: Path) -> None:
        self.notify(f"The run is in {path}.", title="Exported", timeout=10, markup=False)
        self.dismiss()

    @on(Failed)
    def _show_failure(self, message: Failed) -> None:
        self.query_one("#export-note", Static).update(f"✗ {message.error.message}")

    def action_close(self) -> None:
        self.dismiss()
