"""What the app shows, as text."""

from __future__ import annotations

from typing import Any

from textual.app import App
from textual.dom import DOMNode


def text_of(place: DOMNode, selector: str) -> str:
    """What the widget within says."""
    return str(place.query_one(selector).render())


def toasts(app: App[Any]) -> list[str]:
    """The notifications, oldest first."""
    return [toast.message for toast in app._notifications]
