"""Whether a terminal can show pictures: asked before the app reads its input."""

from __future__ import annotations

import fcntl
import os
import struct
import subprocess
import sys
import termios

import pytest

_PROGRAM = """
import sys
from tui.app.main import picture_widget
widget, typed = picture_widget()
print(widget and widget.__module__, "textual_image" in sys.modules, typed, file=sys.stderr)
"""
_KITTY = b"\x1b_Gi=1;OK\x1b\\"


def _found(answers: dict[bytes, bytes]) -> str:
    """What is found in a terminal that gives these answers."""
    terminal, keyboard = os.openpty()
    fcntl.ioctl(keyboard, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 1200, 800))
    with subprocess.Popen(
        [sys.executable, "-c", _PROGRAM], stdin=keyboard, stdout=keyboard, stderr=subprocess.PIPE
    ) as process:
        os.close(keyboard)
        asked = b""
        try:
            while True:
                asked += os.read(terminal, 1)
                for query, answer in answers.items():
                    if asked.endswith(query):
                        os.write(terminal, answer)
        except OSError:  # EIO: the process has ended
            os.close(terminal)
        assert process.stderr is not None
        return process.stderr.read().decode().strip()


@pytest.mark.parametrize(
    ("answers", "found"),
    [
        ({b"\x1b[c": b"\x1b[?62;4;22c"}, "textual_image.widget.sixel True"),
        ({b"\x1b[c": b"\x1b[?62;22c", b"AAAA\x1b\\": _KITTY}, "textual_image.widget True"),
        ({b"\x1b[c": b"Wh\x1b[?62;22cy?"}, "None False Wh"),
        ({b"\x1b[c": b"Why?"}, "None False Why?"),
    ],
    ids=["sixel", "kitty", "neither", "mute"],
)
def test_a_terminal_is_asked_what_it_can_show_and_what_is_typed_meanwhile_is_kept(
    answers: dict[bytes, bytes], found: str
) -> None:
    assert _found(answers) == found
