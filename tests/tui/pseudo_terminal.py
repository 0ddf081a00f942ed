"""A program on a terminal of its own, as a person has it before them."""

from __future__ import annotations

import fcntl
import os
import re
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from tests.tui.waiting import PATIENCE

_ASKED, _ANSWER = b"\x1b[c", b"\x1b[?1;2c"  # what a terminal is: one that draws no pictures
_CONTROLS = re.compile(rb"\x1b\[[0-9;?<>=$]*[a-zA-Z]|\x1b[\]P].*?(?:\x07|\x1b\\)|\x1b.", re.DOTALL)


class Terminal:
    """A program under a pseudo-terminal; what it writes is read as it comes, with the time of it.

    ``began`` is when it was started, by `time.perf_counter`.
    """

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], size: tuple[int, int]
    ) -> None:
        self._master, slave = os.openpty()
        columns, rows = size
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self._lock = threading.Condition()
        self._written = bytearray()
        # Sizes that a shell may have set would go before the terminal's own.
        outer = {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "LINES"}}
        self.began = time.perf_counter()
        self._process = subprocess.Popen(
            command,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**outer, **environment},
            start_new_session=True,
        )
        os.close(slave)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        """Nothing goes on computing after a failure."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self._reader.join(5)
        os.close(self._master)

    def mark(self) -> int:
        """A place in what was written, to look from."""
        with self._lock:
            return len(self._written)

    def press(self, keys: str) -> None:
        """Write keys as a terminal does."""
        os.write(self._master, keys.encode())

    def shows(self, keys: str, *texts: str) -> float:
        """Press keys; the seconds until the texts are written."""
        since, began = self.mark(), time.perf_counter()
        self.press(keys)
        return self.wait_for(*texts, since=since) - began

    def wait_for(self, *texts: str, since: int = 0) -> float:
        """When all of the texts had been written, each within one line and one style; or `TimeoutError`."""
        deadline = time.perf_counter() + PATIENCE
        with self._lock:
            while not all(map(self._shown(since).__contains__, texts)):
                left = deadline - time.perf_counter()
                if left <= 0 or (self._process.poll() is not None and not self._lock.wait(0.2)):
                    raise TimeoutError(f"{texts} never came, but {self._shown(since)[-2000:]!r}")
                self._lock.wait(min(left, 0.5))
            return time.perf_counter()

    def quiet(self, seconds: float) -> None:
        """Wait until the process has used less than 3 % of one core for ``seconds``."""
        deadline = time.perf_counter() + 120
        while time.perf_counter() < deadline:
            before = self.cpu_seconds()
            time.sleep(seconds)
            if self.cpu_seconds() - before < 0.03 * seconds:
                return
        raise TimeoutError("the app never becomes quiet")

    def cpu_seconds(self) -> float:
        """Seconds that all of the process's threads have computed, in user and in system mode."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def resident(self) -> int:
        """Bytes of memory that the process has."""
        pages = int(Path(f"/proc/{self._process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def screen_text(self, since: int) -> str:
        """What was written since a mark, without controls."""
        with self._lock:
            return self._shown(since)

    def code(self) -> int:
        """The exit code, once the process has ended; the terminal has to be as it was."""
        code = self._process.wait(PATIENCE)
        local = termios.tcgetattr(self._master)[3]
        assert local & termios.ECHO
        assert local & termios.ICANON
        return code

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

    def _shown(self, since: int) -> str:
        return _CONTROLS.sub(b"", bytes(self._written[since:])).decode(errors="replace")
