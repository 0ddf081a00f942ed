"""Messages from the app to its screens, and from one screen to another."""

from __future__ import annotations

from textual.message import Message


class AlreadyHere(Message):
    """The key of a screen was pressed on that screen: be where one types."""


class StoreChanged(Message):
    """What a screen tells of settings, collections or runs is to be read again."""
