"""What an action is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Action:
    """Something a person can do.

    Attributes:
        id: For remapping, ``place.what``.
        key: Keys as Textual calls them, separated by commas; "" for what only the palette offers.
        does: Textual's action, its arguments included.
        label: One to three words, for the footer.
        help: What it does, in one sentence.
        shown: Whether the footer has it.
        priority: Whether it goes before what has the focus (the prompt takes most keys).
    """

    id: str
    key: str
    does: str
    label: str
    help: str
    shown: bool = True
    priority: bool = False
