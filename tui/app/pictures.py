"""Pictures in the terminal: the widget that draws them, if the terminal can."""

from __future__ import annotations

import os
import select
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textual.widget import Widget

_QUERY = b"\x1b_Gi=1,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\\x1b[c"  # kitty's protocol, then device attributes
_KITTY = b";OK\x1b\\"
_SIXEL = b"4"  # among the device attributes
_TIMEOUT_SECONDS = 0.5  # nearly every terminal answers within milliseconds


def picture_widget() -> type[Widget] | None:
    """The widget that draws pictures with sixel or kitty's protocol; None if this terminal has neither.

    It queries the terminal, so call it before Textual reads the input.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or not _may_draw(_query_terminal()):
        return None
    # Only now: the import queries the terminal again, and is slow.
    from textual_image.renderable import Image, SixelImage, TGPImage

    if Image not in {SixelImage, TGPImage}:
        return None
    from textual_image import widget

    return widget.Image


def _may_draw(answer: bytes) -> bool:
    attributes = answer.rpartition(b"\x1b[?")[2].removesuffix(b"c").split(b";")
    return _KITTY in answer or _SIXEL in attributes[1:]


def _query_terminal() -> bytes:
    """The terminal's answer up to its device attributes, or what has arrived before the timeout."""
    import termios
    import tty

    keyboard = sys.stdin.fileno()
    saved_attributes = termios.tcgetattr(keyboard)
    answer = b""
    try:
        tty.setcbreak(keyboard)
        os.write(sys.stdout.fileno(), _QUERY)
        deadline = time.monotonic() + _TIMEOUT_SECONDS
        while not answer.endswith(b"c") or b"\x1b[?" not in answer:
            if not select.select([keyboard], [], [], max(deadline - time.monotonic(), 0))[0]:
                break
            answer += os.read(keyboard, 1)
    finally:
        termios.tcsetattr(keyboard, termios.TCSADRAIN, saved_attributes)
    return answer
