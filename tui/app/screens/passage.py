"""A passage in its document, the sentence that supports an answer marked in it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, cast

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Footer, Input, Static

from traces.records import Document, Passage
from tui.app.actions import bindings
from tui.app.widgets.library_text import DocumentText
from tui.app.work import in_background
from tui.terminal import clean, one_line

if TYPE_CHECKING:
    from tui.app.app import DeepthinkApp
    from tui.app.widgets.evidence import Passage as Found

_GONE = (
    "This passage is no longer in the library: its document was removed, or read again and cut otherwise."
)


_DESKTOP = {"DISPLAY", "WAYLAND_DISPLAY", "TEXTUAL_DRIVER"}  # one of them where a file can be opened


class PassageScreen(ModalScreen[None]):
    """Opens a passage where it stands.

    Args:
        passage_id: The stored passage.
        quote: The sentence or table row to mark in it.
        collection: Where it was found; shown where the passage itself is gone.
        number: The number it is cited by; 0 if it is not cited.
        title: Of its document, likewise.
        section: Likewise.
        text: Likewise: the passage as the run kept it.
    """

    CSS_PATH = "passage.tcss"
    BINDINGS: ClassVar[list[BindingType]] = bindings("passage")
    HELP = DocumentText.HELP

    class Opened(Message):
        """The document is here: its passages, none if it is gone, and which of them is the wanted one."""

        def __init__(self, document: Document | None, passages: Sequence[Passage], at: int) -> None:
            super().__init__()
            self.document = document
            self.passages = passages
            self.at = at

    def __init__(
        self,
        passage_id: int,
        quote: str = "",
        collection: str = "",
        number: int = 0,
        *,
        title: str = "",
        section: str = "",
        text: str = "",
    ) -> None:
        super().__init__()
        self._wanted = passage_id
        self._quote = quote
        self._number = number
        self._kept = Passage(passage_id, 0, collection, "", title, "", section, None, 0, "text", text)
        self._document: Document | None = None
        self._count = 0

    @classmethod
    def of(cls, passage: Found) -> PassageScreen:
        """For a passage of a run; as the run kept it where the library no longer has it."""
        return cls(
            passage.passage_id,
            quote=passage.quote,
            collection=passage.collection,
            number=passage.number,
            title=passage.title,
            section=passage.section,
            text=passage.text,
        )

    def compose(self) -> ComposeResult:
        """Where it stands, the document, and the words to find."""
        label = f"cited as [{self._number}]" if self._number else "the passage"
        with Vertical(id="passage"):
            yield Static("…", id="heading", classes="title", markup=False)
            yield Static(id="place", markup=False)
            yield Static(id="gone", markup=False)
            yield DocumentText(label, self._quote)
            yield Input(id="words", placeholder="Words to find; Enter, ↓ and ↑ go from one to the next")
            yield Footer(compact=True, show_command_palette=False)

    def on_mount(self) -> None:
        """Fetch the document."""
        self.query_one("#gone").display = False
        self.query_one("#words").display = False
        self.query_one(DocumentText).focus()
        in_background(self, self._fetch, group="passage", exclusive=True)

    def _fetch(self) -> Message:
        from traces.library import Library

        library = Library(cast("DeepthinkApp", self.app).engine.store)
        with library.together():
            found = library.passages([self._wanted])
            if not found:
                return self.Opened(None, (), 0)
            passages = library.document_passages(found[0].document_id)
            documents = library.documents(found[0].collection)
        document = next((d for d in documents if d.id == found[0].document_id), None)
        at = next((i for i, passage in enumerate(passages) if passage.id == self._wanted), 0)
        return self.Opened(document, passages, at)

    @on(Opened)
    def _show(self, message: Opened) -> None:
        passages = message.passages
        self._document = message.document
        if not passages:
            kept = " What the run kept of it:" if self._kept.text else ""
            gone = self.query_one("#gone", Static)
            gone.update(f"{_GONE}{kept}")
            gone.display = True
            passages = (self._kept,) if self._kept.text else ()
            heading = one_line(self._kept.title) or "A passage that is gone"
            self.query_one("#heading", Static).update(heading)
        self._count = len(passages)
        self.query_one(DocumentText).open(passages, message.at)

    @on(DocumentText.Moved)
    def _tell_place(self) -> None:
        text = self.query_one(DocumentText)
        passage, document = text.passage, self._document
        if passage is None:
            return
        self.query_one("#heading", Static).update(one_line(passage.title or passage.document))
        source = document.source if document else ""
        name = source if "://" in source else passage.document
        facts = [passage.collection, clean(name), passage.date]
        if passage.page:
            of = f" of {document.pages}" if document and document.pages else ""
            facts.append(f"p. {passage.page}{of}")
        if document:
            facts.append(f"passage {text.current + 1:,} of {self._count:,}")
        place = Content(" · ".join(one_line(fact) for fact in facts if fact))
        if passage.section:
            place = Content("\n").join([place, Content(one_line(passage.section))])
        self.query_one("#place", Static).update(place)

    @on(Input.Changed, "#words")
    def _look(self, event: Input.Changed) -> None:
        self._find(event.value, 0)

    @on(Input.Submitted, "#words")
    def _look_on(self, event: Input.Submitted) -> None:
        self._find(event.value, 1)

    def _find(self, words: str, by: int) -> None:
        found = self.query_one(DocumentText).find(words, by)
        passages = "passage" if found == 1 else "passages"
        self.query_one("#words", Input).border_subtitle = f"{found or 'no'} {passages}" if words else ""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """The places found are gone through only while words are looked for."""
        finding = self.is_mounted and self.query_one("#words").display
        if action == "found":
            return bool(finding)
        return not (finding and action in {"passage", "copy", "original", "find", "leave"})

    def action_passage(self, by: int) -> None:
        """Go to the next passage, or the one before."""
        text = self.query_one(DocumentText)
        text.go_to(text.current + by)

    def action_find(self) -> None:
        """Ask for the words."""
        words = self.query_one("#words", Input)
        words.display = True
        self.set_focus(words)  # at once: what is typed next belongs there
        self.refresh_bindings()

    def action_found(self, by: int) -> None:
        """Go to the next passage that holds the words."""
        self._find(self.query_one("#words", Input).value, by)

    def action_copy(self) -> None:
        """Put the current passage on the clipboard."""
        passage = self.query_one(DocumentText).passage
        if passage is not None:
            self.app.copy_to_clipboard(clean(passage.text))
            self.notify("Copied.")

    def action_original(self) -> None:
        """Open the document itself, a PDF at the page; where nothing can show it, say where it is."""
        document, passage = self._document, self.query_one(DocumentText).passage
        if document is None or passage is None:
            return
        source, page = document.source, f", p. {passage.page}" if passage.page else ""
        if "://" not in source and not Path(source).exists():
            self.notify(f"The file is no longer there: {source}", severity="warning", markup=False)
        elif sys.platform == "linux" and not {"DISPLAY", "WAYLAND_DISPLAY", "TEXTUAL_DRIVER"} & {
            *os.environ
        }:
            self.app.copy_to_clipboard(source)
            self.notify(f"{source}{page} (copied: there is no desktop to open it)", markup=False)
        else:
            at = f"#page={passage.page}" if passage.page else ""
            self.app.open_url(source if "://" in source else Path(source).as_uri() + at)

    def action_leave(self) -> None:
        """Back to the screen beneath."""
        self.dismiss()

    def action_close(self) -> None:
        """Stop finding; if nothing is looked for, back to the screen beneath."""
        words = self.query_one("#words", Input)
        if not words.display:
            self.dismiss()
            return
        words.display = False
        words.value = ""
        self.set_focus(self.query_one(DocumentText))
        self.refresh_bindings()
