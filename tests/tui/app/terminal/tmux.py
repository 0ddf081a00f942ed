"""The app in tmux: started, typed into by the registry's keys, read as text and kept as pictures."""

from __future__ import annotations

import io
import os
import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import SVG_EXPORT_THEME
from rich.text import Text

from tui.app.keys import ACTIONS_BY_ID

EXECUTABLE = shutil.which("tmux")
ROWS = 30
_NAMES = {
    "enter": "Enter",
    "escape": "Escape",
    "space": "Space",
    "tab": "Tab",
    "shift+tab": "BTab",
    "backspace": "BSpace",
    "pageup": "PPage",
    "pagedown": "NPage",
    "up": "Up",
    "down": "Down",
    "left": "Left",
    "right": "Right",
    "slash": "/",
}

_FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)


class Tmux:
    """One terminal of 30 rows in a tmux server of its own.

    Args:
        folder: Where the server has its socket.
        columns: Its width.
    """

    def __init__(self, folder: Path, columns: int = 100) -> None:
        assert EXECUTABLE is not None, "tmux is not installed (apt-get install tmux)"
        self._code = folder / "code"
        self._columns = columns
        self._tmux = (EXECUTABLE, "-S", str(folder / "tmux.socket"), "-f", os.devnull)
        size = ("-x", str(columns), "-y", str(ROWS))
        self._do("new-session", "-d", *size, "sh", "-c", "sleep 3600")
        self._do("set-option", "-g", "remain-on-exit", "on")
        self._do("set-option", "-g", "status", "off")
        self._do("resize-window", *size)

    def start(self, command: list[str], environment: Mapping[str, str]) -> None:
        """Run a command in place of the one that ran before."""
        settings = [f"{name}={value}" for name, value in environment.items()]
        sizes = ("-u", "COLUMNS", "-u", "LINES")  # they would go before the terminal's own
        whole = shlex.join(["env", *sizes, "COLORTERM=truecolor", *settings, *command])
        self._code.unlink(missing_ok=True)
        # By the shell: tmux 3.3 does not always hear that a pane's process has ended.
        self._do("respawn-pane", "-k", f"{whole}; echo $? > {shlex.quote(str(self._code))}")

    def press(self, action: str) -> None:
        """Press the first key of an action of the registry."""
        self.key(ACTIONS_BY_ID[action].key.split(",")[0])

    def key(self, key: str) -> None:
        control = re.fullmatch(r"ctrl\+(\w)", key)
        named = f"C-{control[1]}" if control else _NAMES.get(key)
        if named is None and re.fullmatch(r"f\d+", key):
            named = key.upper()
        self._do("send-keys", named or key)

    def type(self, text: str) -> None:
        self._do("send-keys", "-l", text)

    def screen(self) -> str:
        return self._do("capture-pane", "-p")

    def shows(self, *wanted: str | Callable[[str], object], patience: float = 60.0) -> str:
        """The screen, as soon as everything wanted is on it; within ``patience`` seconds or it fails."""
        deadline = time.monotonic() + patience
        while True:
            shown = self.screen()
            missing = [
                part for part in wanted if not (part in shown if isinstance(part, str) else part(shown))
            ]
            if not missing:
                return shown
            assert time.monotonic() < deadline, f"{missing} never came; shown:\n{shown}"
            time.sleep(0.1)

    def ended(self, patience: float = 60.0) -> int:
        """The exit code of what was started, once it has ended."""
        deadline = time.monotonic() + patience
        while not (self._code.exists() and (code := self._code.read_text().strip())):
            assert time.monotonic() < deadline, f"it does not end; shown:\n{self.screen()}"
            time.sleep(0.05)
        return int(code)

    def picture(self, path: Path, title: str) -> None:
        """Keep the screen as an SVG that loads nothing from elsewhere."""
        console = Console(
            record=True,
            width=self._columns,
            file=io.StringIO(),
            color_system="truecolor",
            force_terminal=True,
        )
        # As a whole: a colour holds until tmux names another, over the ends of lines as well.
        coloured = Text.from_ansi(self._do("capture-pane", "-e", "-N", "-p").rstrip("\n"))
        console.print(coloured, no_wrap=True, overflow="crop", crop=True)
        drawn = console.export_svg(title=title, theme=SVG_EXPORT_THEME, unique_id=path.stem)
        drawn = _FONTS.sub("", drawn).replace(
            "Fira Code, monospace", "Fira Code, Consolas, Menlo, monospace"
        )
        path.write_text(drawn, "utf-8")

    def close(self) -> None:
        """End everything that runs in it."""
        subprocess.run([*self._tmux, "kill-server"], check=False, capture_output=True)

    def _do(self, *arguments: str) -> str:
        done = subprocess.run([*self._tmux, *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout
