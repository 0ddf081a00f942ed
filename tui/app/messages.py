"""Messages from the app to its screens."""

from __future__ import annotations

from textual.message import Message


class AlreadyHere(Message):
    """The key of a screen was pressed on that screen: be where one types."""
