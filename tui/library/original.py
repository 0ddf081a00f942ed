"""Opening the original of a passage with the system's own program, a PDF at the page."""

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

_DESKTOP = ("DISPLAY", "WAYLAND_DISPLAY", "TEXTUAL_DRIVER")  # one is set where a file can be opened


class OriginalFound(Message):
    """The original to open, and where in it the passage is.

    Attributes:
        address: URL of a web page or a file; "" if it is gone.
        place: The source with page or section; a sentence if the original is gone.
    """

    def __init__(self, address: str, place: str) -> None:
        super().__init__()
        self.address = address
        self.place = place


def open_original(node: DOMNode, passage_id: int) -> None:
    """Find the original of a passage in the background; the app then opens it."""
    find = partial(find_original, deepthink(node).engine, passage_id)
    in_background(node.app, find, group="original", exclusive=True)


def find_original(engine: Engine, passage_id: int) -> OriginalFound:
    """Find the original of a passage; if it is inside another file, extract a copy.

    Raises:
        UnreadableDocument: the enclosing file can no longer be read.
    """
    from agent.documents.media_types import BY_TYPE, PDF
    from traces.library import Library

    library = Library(engine.store)
    with library.together():
        passages = library.passages([passage_id])
        documents = library.documents(passages[0].collection) if passages else []
    document = next((candidate for candidate in documents if candidate.id == passages[0].document_id), None)
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
    path = Path(source) if Path(source).exists() else _extract_copy(Path(source))
    if path is None:
        return OriginalFound("", f"The file is no longer there: {source}")
    return OriginalFound(path.as_uri() + page, place)


def show(app: App[Any], original: OriginalFound) -> None:
    """Open an original; without a desktop, copy its address and say where it is."""
    if not original.address:
        app.notify(original.place, severity="warning", markup=False)
    elif sys.platform == "linux" and not any(name in os.environ for name in _DESKTOP):
        app.copy_to_clipboard(original.address)
        app.notify(f"{original.place} (copied: there is no desktop to open it)", markup=False)
    else:
        app.open_url(original.address)
        app.notify(f"Opening {original.place}", markup=False)


def content_of(source: Path) -> bytes | None:
    """The content of a file, an attachment, a message of a mailbox or a file of an archive; None if gone.

    Raises:
        UnreadableDocument: the enclosing file can no longer be read.
    """
    from agent.documents.reading import read

    if source.is_file():
        return source.read_bytes()
    outer = next((path for path in source.parents if path.is_file()), None)
    return _enclosed_content(read(outer), source.relative_to(outer).as_posix()) if outer else None


def _extract_copy(source: Path) -> Path | None:
    """Extract a file inside another to a temporary folder; None if it is gone."""
    content = content_of(source)
    if content is None:
        return None
    originals_dir().mkdir(mode=0o700, parents=True, exist_ok=True)
    copy = Path(tempfile.mkdtemp(dir=originals_dir()), source.name)
    copy.write_bytes(content)
    copy.chmod(0o400)  # read-only: changes to it would be lost
    return copy


def _enclosed_content(outer: ParsedDocument, inner: str) -> bytes | None:
    """The bytes of a file inside another, by its path there; None if there is no such file."""
    from agent.documents.reading import read_bytes

    for enclosed in outer.enclosed:
        if inner == enclosed.name:
            return enclosed.content()
        if inner.startswith(f"{enclosed.name}/"):
            name = PurePosixPath(enclosed.name).name
            return _enclosed_content(
                read_bytes(name, enclosed.content()), inner.removeprefix(f"{enclosed.name}/")
            )
    return None
