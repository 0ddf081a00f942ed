"""The picture of a page, for documents that are PDF or scans, where the terminal can show pictures."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.containers import Container
from textual.message import Message
from textual.widget import Widget

from traces.records import Document
from tui.app.work import in_background
from tui.library.original import content_of

if TYPE_CHECKING:
    from PIL.Image import Image

_PICTURED = "-pictured"  # class of a screen with a picture beside its text
_LONGEST_SIDE = 1400  # pixels: enough for half of a large screen


class PagePicture(Container):
    """A picture of one page; hidden where there is none.

    Args:
        widget: Draws pictures in this terminal.
    """

    @dataclass
    class Drawn(Message):
        """The picture of a page is ready; None if the page cannot be drawn."""

        picture: Image | None

    def __init__(self, widget: type[Widget]) -> None:
        super().__init__()
        self._widget = widget
        self._page: tuple[str, int] | None = None

    def compose(self) -> ComposeResult:
        """The picture, empty at first."""
        yield self._widget(id="page")

    def show(self, document: Document | None, page: int | None) -> None:
        """Show a page of a document, counted from 1; nothing where its pages are no pictures."""
        from agent.documents.media_types import BY_TYPE

        kind = BY_TYPE.get(document.media_type) if document is not None else None
        if document is None or kind is None or not kind.has_scans:
            self._page = None
            self.screen.remove_class(_PICTURED)
        elif self._page != (document.source, page or 1):
            self._page = (document.source, page or 1)
            in_background(self, partial(_drawn, *self._page), group="picture", exclusive=True)

    @on(Drawn)
    def _draw(self, message: Drawn) -> None:
        self.screen.set_class(message.picture is not None, _PICTURED)
        if message.picture is not None:
            setattr(self.query_one(self._widget), "image", message.picture)  # noqa: B010 - textual-image's


def _drawn(source: str, page: int) -> PagePicture.Drawn:
    from agent.documents.document import UnreadableDocument
    from agent.documents.formats.pictures import page_picture

    try:
        data = None if "://" in source else content_of(Path(source))
        if data is None:
            return PagePicture.Drawn(None)
        pixels = page_picture(Path(source).name, data, page, _LONGEST_SIDE)
    except UnreadableDocument:  # it has changed since it was read; its passages are still shown
        return PagePicture.Drawn(None)
    from PIL import Image

    return PagePicture.Drawn(Image.fromarray(pixels))
