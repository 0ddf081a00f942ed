"""What can go wrong on the web, in words a person can act on."""

from __future__ import annotations

from traces.errors import DeepthinkError


class WebUnreachable(DeepthinkError):
    """Raised when the web cannot be searched: the network is away, or the engine does not answer."""

    title = "The web cannot be searched"
    kind = "input"


class PageFailed(DeepthinkError):
    """Raised when one page cannot, or must not, be fetched.

    Args:
        message: As for every error.
        way_out: Likewise.
        status: The HTTP status that the site answered with, 0 if it is not that.
    """

    title = "This page cannot be fetched"
    kind = "input"

    def __init__(self, message: str, way_out: str = "", *, status: int = 0) -> None:
        super().__init__(message, way_out)
        self.status = status
