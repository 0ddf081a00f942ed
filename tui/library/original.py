"""The original of a passage: opened by the system's own program, a PDF at the page."""

from __future__ import annotations

import os
import sys
import tempfile
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from textual.app import App
from textual.dom import DOMNode
from textual.message import Message

from traces.paths import originals_dir
from tui.app.offers import deepthink
from tui.app.work import in_background

if TYPE_CHECKING:
    from agent.documents.document import ParsedDocument
    from tui.app.engine import Engine

_DESKTOP = ("DISPLAY", "WAYLAND_DISPLAY", "TEXTUAL_DRIVER")  # one of them where a file can be opened


class OriginalFound(Message):
    """What is to be opened, and where in it the passage is.

    Attributes:
        address: Of a page of the web, or of a file; "" if there is none any more.
        place: The source and the place in it, in words.
    """

    def __init__(self, address: str, place: str) -> None:
        super().__init__()
        self.address = address
        self.place = place


def open_original(node: DOMNode, passage_id: int) -> None:
    """Look for the original of a passage; the app opens what is found."""
    find = partial(find_original, deepthink(node).engine, passage_id)
    in_background(node.app, find, group="original", exclusive=True)


def find_original(engine: Engine, passage_id: int) -> OriginalFound:
    """The original of a passage; one that lies in another file is copied out of it first.

    Raises:
        UnreadableDocument: the file that it lies in cannot be read any more.
    """
    from agent.documents.media_types import BY_TYPE, PDF
    from traces.library import Library

    library = Library(engine.store)
    with library.together():
        passages = library.passages([passage_id])
        held = library.documents(passages[0].collection) if passages else []
    document = next((one for one in held if one.id == passages[0].document_id), None)
    if document is None:
        return OriginalFound("", "This passage is no longer in the library.")
    passage, source = passages[0], document.source
    group = BY_TYPE[document.media_type].group if document.media_type in BY_TYPE else ""
    place = source
    if passage.page:
        place += f", slide {passage.page}" if group == "slides" else f", p. {passage.page}"
    elif passage.section:
        place += f", {passage.section}"
    page = f"#page={passage.page}" if passage.page and document.media_type == PDF else ""
    if "://" in source:
        return OriginalFound(source + page, place)
    path = Path(source) if Path(source).exists() else _copied_out(Path(source))
    if path is None:
        return OriginalFound("", f"The file is no longer there: {source}")
    return OriginalFound(path.as_uri() + page, place)


def show(app: App[Any], found: OriginalFound) -> None:
    """Open what was found; where nothing can show it, say where it is."""
    if not found.address:
        app.notify(found.place, severity="warning", markup=False)
    elif sys.platform == "linux" and not any(name in os.environ for name in _DESKTOP):
        app.copy_to_clipboard(found.address)
        app.notify(f"{found.place} (copied: there is no desktop to open it)", markup=False)
    else:
        app.open_url(found.address)
        app.notify(f"Opening {found.place}", markup=False)


def content_of(source: Path) -> bytes | None:
    """The content of a file, an attachment, a message of a mailbox or a file of an archive; None if gone.

    Raises:
        UnreadableDocument: The file that it lies in cannot be read any more.
    """
    from agent.documents.reading import read

    if source.is_file():
        return source.read_bytes()
    outer = next((path for path in source.parents if path.is_file()), None)
    return _content(read(outer), source.relative_to(outer).as_posix()) if outer else None


def _copied_out(source: Path) -> Path | None:
    """A copy of a file that lies in another; None if it is gone."""
    content = content_of(source)
    if content is None:
        return None
    originals_dir().mkdir(mode=0o700, parents=True, exist_ok=True)
    copy = Path(tempfile.mkdtemp(dir=originals_dir()), source.name)
    copy.write_bytes(content)
    copy.chmod(0o400)  # what is written into it would be lost
    return copy


def _content(outer: ParsedDocument, inner: str) -> bytes | None:
    """The bytes of a file inside another, by its path there."""
    from agent.documents.reading import read_bytes

    for enclosed in outer.enclosed:
        if inner == enclosed.name:
            return enclosed.content()
        if inner.startswith(f"{enclosed.name}/"):
            name = PurePosixPath(enclosed.name).name
            return _content(read_bytes(name, enclosed.content()), inner.removeprefix(f"{enclosed.name}/"))
    return None
