"""The models as rows under their roles, and the one under the cursor in full."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import ClassVar, Final

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from tui.app.model_rows import ROLES, ModelRow, Role
from tui.terminal import clean, one_line, size

TITLES: Final[Mapping[Role, str]] = {
    "chat": "Language models",
    "embedder": "Embedders, which turn text into vectors",
    "reranker": "Rerankers, which order the passages",
}
_WHAT: Final = 18  # columns of what was measured


class ModelList(OptionList, inherit_bindings=False):
    """The rows; Enter is the screen's, so that it can be remapped."""

    DEFAULT_CSS = """
    ModelList { height: 1fr; border: none; padding: 0; background: $background; scrollbar-gutter: stable; }
    ModelList:focus { border: none; background-tint: $background 0%; }
    ModelList > .option-list--option-highlighted, ModelList:focus > .option-list--option-highlighted {
        background: $panel; color: $foreground; text-style: none;
    }
    ModelList > .option-list--option-disabled { color: $foreground; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        binding
        for binding in OptionList.BINDINGS
        if not (isinstance(binding, Binding) and binding.key == "enter")
    ]

    def __init__(self) -> None:
        super().__init__(id="rows")
        self._rows: Sequence[ModelRow] = ()

    @property
    def row(self) -> ModelRow | None:
        """The model under the cursor."""
        at = self.highlighted
        if at is None or at >= self.option_count:
            return None
        wanted = self.get_option_at_index(at).id
        return next((row for row in self._rows if _id(row) == wanted), None)

    def show(self, rows: Sequence[ModelRow]) -> None:
        """Draw them, the cursor where it was, at first on the language model in use."""
        before = self.row
        self._rows = rows
        self._redraw(before)

    def go_to(self, role: Role, name: str) -> None:
        """Put the cursor on a model, if it is there."""
        wanted = next((row for row in self._rows if (row.role, row.name) == (role, name)), None)
        if wanted is not None:
            self.highlighted = self.get_option_index(_id(wanted))

    def on_resize(self) -> None:
        """Draw them in another width."""
        self._redraw(self.row)

    def _redraw(self, before: ModelRow | None) -> None:
        width = max(self.scrollable_content_region.width - 1, 40)
        options: list[Option] = []
        for role in ROLES:
            rows = [row for row in self._rows if row.role == role]
            if not rows:
                continue
            title = Content(TITLES[role]).stylize("bold $primary")
            options.append(Option(Content("\n") + title if options else title, disabled=True))
            options += [Option(_line(row, width), id=_id(row)) for row in rows]
        self.set_options(options)
        if self._rows:
            at = before and next((row for row in self._rows if _id(row) == _id(before)), None)
            at = at or next((row for row in self._rows if row.used), self._rows[0])
            self.highlighted = self.get_option_index(_id(at))


class ModelDetail(Static):
    """What a model is, where it lies, and what was measured."""

    DEFAULT_CSS = """
    ModelDetail { height: auto; }
    """

    def __init__(self) -> None:
        super().__init__(id="detail", markup=False)
        self._row: ModelRow | None = None

    def show(self, row: ModelRow | None) -> None:
        """Draw one model."""
        self._row = row
        self._redraw()

    def on_resize(self) -> None:
        """Fold it anew."""
        self._redraw()

    def _redraw(self) -> None:
        row = self._row
        if row is None:
            self.update("")
            return
        lines = [
            Content.assemble((row.label, "bold $primary"), "  ", _state(row)),
            Content(clean(row.about)),
        ]
        room = max(self.content_size.width - _WHAT, 20)
        for what, told in row.probe.items():
            first, *rest = wrap(told, room) or [""]
            lines.append(Content.assemble((what.ljust(_WHAT), "$foreground 65%"), first))
            lines += [Content(" " * _WHAT + line) for line in rest]
        if row.role == "chat" and not row.probe:
            lines.append(Content("Not measured yet.").stylize("$foreground 65%"))
        self.update(Content("\n").join(lines))


def _line(row: ModelRow, width: int) -> Content:
    """Whether it is here, name, what it weighs, whether it is in use."""
    room = width - 26
    name = one_line(row.label, room).ljust(room)
    sign, style = ("✓", "$success") if row.here else ("–", "$foreground 55%")
    weight = size(row.size) if row.size else ""
    return Content.assemble(
        (f"{sign} ", style),
        (name, "bold" if row.used else "" if row.here else "$foreground 65%"),
        (f"{weight:>9}  ", ""),
        (
            f"{'▸ ' * row.used}{'not here' if not row.here else 'in use' if row.used else ''}",
            "bold $primary" if row.used else "$foreground 55%",
        ),
    )


def _state(row: ModelRow) -> str:
    if not row.here:
        return "the settings name it, and it is not on this machine" if row.used else "not on this machine"
    return "here, in use" if row.used else "here"


def _id(row: ModelRow) -> str:
    return f"{row.role} {row.name}"
