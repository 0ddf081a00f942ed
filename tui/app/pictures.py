"""Pictures in the terminal: the widget that draws them, where the terminal can."""

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
_PATIENCE = 0.5  # seconds; practically every terminal answers within some milliseconds


def picture_widget() -> type[Widget] | None:
    """The widget that draws pictures in this terminal by sixel or kitty's protocol; None if it cannot.

    Asks the terminal, so it must be called before Textual reads the input.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or not _may_draw(_answer()):
        return None
    # The import asks the terminal again, and is not cheap; other terminals are spared both.
    from textual_image.renderable import Image, SixelImage, TGPImage

    if Image not in {SixelImage, TGPImage}:
        return None
    from textual_image import widget

    return widget.Image


def _may_draw(answer: bytes) -> bool:
    attributes = answer.rpartition(b"\x1b[?")[2].removesuffix(b"c").split(b";")
    return _KITTY in answer or _SIXEL in attributes[1:]


def _answer() -> bytes:
    """What the terminal answers, up to its device attributes; what there is of it after a moment."""
    import termios
    import tty

    keyboard = sys.stdin.fileno()
    before = termios.tcgetattr(keyboard)
    answer = b""
    try:
        tty.setcbreak(keyboard)
        os.write(sys.stdout.fileno(), _QUERY)
        deadline = time.monotonic() + _PATIENCE
        while not answer.endswith(b"c") or b"\x1b[?" not in answer:
            if not select.select([keyboard], [], [], max(deadline - time.monotonic(), 0))[0]:
                break
            answer += os.read(keyboard, 1)
    finally:
        termios.tcsetattr(keyboard, termios.TCSADRAIN, before)
    return answer
