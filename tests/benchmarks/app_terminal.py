"""The app under a pseudo-terminal: what it writes is read as it comes, with the time at which it came."""

from __future__ import annotations

import fcntl
import os
import re
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

COLUMNS, ROWS = 120, 40
_ASKED, _ANSWER = b"\x1b[c", b"\x1b[?1;2c"  # what a terminal is: one that draws no pictures
_CONTROLS = re.compile(rb"\x1b\[[0-9;?<>=$]*[a-zA-Z]|\x1b[\]P].*?(?:\x07|\x1b\\)|\x1b.", re.DOTALL)


class Terminal:
    """One app, its screen 120 × 40; ``began``: when it was run, by `time.perf_counter`."""

    def __init__(self, environment: Mapping[str, str] | None = None, command: tuple[str, ...] = ()) -> None:
        self._master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        app = (str(Path(sys.executable).parent / "deepthink-tui"),)
        self._lock = threading.Condition()
        self._written = bytearray()
        self.began = time.perf_counter()
        self._process = subprocess.Popen(
            command or app,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=_environment(environment or {}),
            start_new_session=True,
        )
        os.close(slave)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *failure: object) -> None:
        """Nothing goes on computing after a measurement that failed."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self._reader.join(5)
        os.close(self._master)

    @property
    def pid(self) -> int:
        """Of the app's process."""
        return self._process.pid

    def mark(self) -> int:
        """A place in what was written, to look from."""
        with self._lock:
            return len(self._written)

    def press(self, keys: str) -> None:
        """Write keys as a terminal does."""
        os.write(self._master, keys.encode())

    def wait_for(self, *texts: str, since: int = 0, patience: float = 60.0) -> float:
        """When all of the texts had been written, each within one line and one style; or `TimeoutError`."""
        wanted = [text.encode() for text in texts]

        def there() -> bool:
            shown = self._shown(since)
            return all(text in shown for text in wanted)

        return self._wait(there, patience, f"{texts} never came")

    def quiet(self, seconds: float, below: float = 0.03, patience: float = 120.0) -> None:
        """Wait until the process has used less than ``below`` of one core for ``seconds``."""
        deadline = time.perf_counter() + patience
        while time.perf_counter() < deadline:
            before = self.cpu_seconds()
            time.sleep(seconds)
            if self.cpu_seconds() - before < below * seconds:
                return
        raise TimeoutError("the app never becomes quiet")

    def cpu_seconds(self) -> float:
        """Seconds that all of the process's threads have computed, in user and in system mode."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def resident(self) -> int:
        """Bytes of memory that the process has."""
        return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def screen_text(self, since: int = 0) -> str:
        """What was written since a mark, without controls: for the message of a failure."""
        with self._lock:
            return self._shown(since).decode(errors="replace")

    def end(self) -> float:
        """Leave by the key for it; the seconds until the process had ended."""
        began = time.perf_counter()
        if self._process.poll() is None:
            self.press("\x11")  # Ctrl-Q
            try:
                self._process.wait(60)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        return time.perf_counter() - began

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._master, 65536)
            except OSError:  # the other end is closed: EIO
                data = b""
            with self._lock:
                asked = self._written.count(_ASKED)
                self._written += data
                if self._written.count(_ASKED) > asked:
                    os.write(self._master, _ANSWER)
                self._lock.notify_all()
            if not data:
                return

    def _shown(self, since: int) -> bytes:
        return _CONTROLS.sub(b"", bytes(self._written[since:]))

    def _wait(self, there: Callable[[], bool], patience: float, complaint: str) -> float:
        deadline = time.perf_counter() + patience
        with self._lock:
            while not there():
                left = deadline - time.perf_counter()
                if left <= 0 or (self._process.poll() is not None and not self._lock.wait(0.2)):
                    raise TimeoutError(complaint)
                self._lock.wait(min(left, 0.5))
            return time.perf_counter()


def _environment(own: Mapping[str, str]) -> dict[str, str]:
    """Without the sizes that a shell may have set: they would go before the terminal's own."""
    outer = {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "LINES"}}
    return {**outer, "TERM": "xterm-256color", "COLORTERM": "truecolor", **own}
