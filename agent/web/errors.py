"""Errors of the web."""

from __future__ import annotations

from traces.errors import DeepthinkError


class WebUnreachable(DeepthinkError):
    """Raised when the web cannot be searched: the network is away, or the engine does not answer."""

    title = "The web cannot be searched"
    kind = "input"


class PageFailed(DeepthinkError):
    """Raised when a page cannot, or must not, be fetched.

    Args:
        message: As for every error.
        way_out: As for every error.
        status: The HTTP status if the site answered with an error, else 0.
    """

    title = "This page cannot be fetched"
    kind = "input"

    def __init__(self, message: str, way_out: str = "", *, status: int = 0) -> None:
        super().__init__(message, way_out)
        self.status = status
