"""Lines that go on under their text, not under the sign before it, and lists of them."""

from __future__ import annotations

from textwrap import wrap

from textual.widgets import OptionList

_NARROWEST = 16
_PADDING = 2  # cells that a list keeps free beside its entries


class HangingList(OptionList):
    """A list whose entries are folded by `hanging`, so they have to be drawn anew for another width.

    An entry always has some cells: Textual cannot draw one without.
    """

    DEFAULT_CSS = "HangingList { min-width: 8; }"

    def __init__(self, *, classes: str | None = None) -> None:
        super().__init__(markup=False, classes=classes)
        self.width = 0
        """Cells an entry has, as it was last drawn."""

    def on_resize(self) -> None:
        """Lines are folded anew."""
        if self.scrollable_content_region.width - _PADDING != self.width:
            self.redraw()

    def redraw(self) -> None:
        """Draw every entry for the width there is now."""
        self.width = self.scrollable_content_region.width - _PADDING
        self.draw()

    def draw(self) -> None:
        """Fold what there is to `width`; there may be nothing yet."""
        raise NotImplementedError


def hanging(lead: str, text: str, width: int) -> str:
    """``lead`` and ``text``, folded to ``width`` cells with its further lines indented by the lead.

    Args:
        lead: What stands before the first line.
        text: One line of text.
        width: Cells; a list that is not laid out yet has none, and is drawn again when it has.
    """
    indent = " " * len(lead)
    room = max(width, len(lead) + _NARROWEST)
    return "\n".join(wrap(text, room, initial_indent=lead, subsequent_indent=indent) or [lead])
