"""What the app shows, as text."""

from __future__ import annotations

from typing import Any

from textual.app import App
from textual.dom import DOMNode
from textual.widgets._footer import FooterKey


def text_of(place: DOMNode, selector: str) -> str:
    """What the widget within says."""
    return str(place.query_one(selector).render())


def toasts(app: App[Any]) -> list[str]:
    """The notifications, oldest first."""
    return [toast.message for toast in app._notifications]


def shown_keys(app: App[Any]) -> set[str]:
    """What the key lines in view say, also those of a screen under a window."""
    return {
        key.description for screen in app.screen_stack for key in screen.query(FooterKey) if key.visible
    }
