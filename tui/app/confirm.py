"""A question before something that cannot be undone."""

from __future__ import annotations

from collections.abc import Callable

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.dom import DOMNode
from textual.screen import ModalScreen
from textual.widgets import Button, Static

from tui.app.keys import bindings


class ConfirmScreen(ModalScreen[bool]):
    """Asks, and returns whether the answer was yes; “No” has the initial focus."""

    BINDINGS = bindings("confirm")
    HELP = "A question before something that cannot be undone. Y is yes, N and Escape are no."

    def __init__(self, question: str, detail: str, yes: str) -> None:
        super().__init__()
        self._question = question
        self._detail = detail
        self._yes = yes

    @classmethod
    def ask(cls, node: DOMNode, question: str, detail: str, yes: str, then: Callable[[], object]) -> None:
        """Open the question as a window; call ``then`` after a yes."""

        def after_answer(is_yes: bool | None) -> None:
            if is_yes:
                then()

        node.app.push_screen(cls(question, detail, yes), after_answer)

    def compose(self) -> ComposeResult:
        with Vertical(id="confirm"):
            yield Static(self._question, classes="title", markup=False)
            yield Static(self._detail, id="detail", markup=False)
            with Horizontal(id="choices"):
                yield Button("No (n)", id="no", compact=True)
                yield Button(f"{self._yes} (y)", id="yes", compact=True)

    @on(Button.Pressed)
    def _answer_with_button(self, event: Button.Pressed) -> None:
        self.dismiss(event.button.id == "yes")
