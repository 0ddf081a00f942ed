"""The base of every error that a person may see.

An error carries a title (what kind of trouble), a message (what happened, with the names involved)
and a way out (what to do next). Packages subclass it beside the code that raises it; only the
terminal front turns one into text and an exit code.
"""

from __future__ import annotations

from typing import ClassVar, Literal

ErrorKind = Literal["usage", "input", "model", "store", "cancelled", "internal"]


class DeepthinkError(Exception):
    """Raised, always as a subclass, when a person can understand and act on the failure.

    Args:
        message: One sentence that says what happened, with the names involved.
        way_out: One sentence that says what to do next.
    """

    title: ClassVar[str] = "Something went wrong"
    kind: ClassVar[ErrorKind] = "internal"

    def __init__(self, message: str, way_out: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.way_out = way_out
