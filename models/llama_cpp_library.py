"""llama.cpp's own chatter, led into `logging` instead of onto the terminal.

The library writes to the process's standard error from C; redirecting file descriptors would steal
them from a terminal app that is drawing at that moment. Its logging callback is process-wide, so it is
set once, here, and the last complaints are kept for the message of a failed load.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from typing import Any

_log = logging.getLogger("deepthink.llama_cpp")
_CONTINUED = 5
# Errors are raised to the caller as well, so in the log they need not shout.
_LEVELS = {3: logging.INFO, 4: logging.INFO}
_ERROR = 4

_lock = threading.Lock()
_complaints: deque[str] = deque(maxlen=8)
_callback: Any = None


def load_library() -> Any:
    """The low-level llama.cpp bindings, with their chatter led into `logging`.

    Raises:
        ImportError: if llama-cpp-python is not installed.
    """
    global _callback
    # The package's own import sets its own callback, so ours has to come after it.
    import llama_cpp.llama_cpp as library

    with _lock:
        if _callback is None:
            _callback = library.llama_log_callback(_receive)
            library.llama_log_set(_callback, None)
            library.llama_backend_init()
    return library


def last_complaint() -> str:
    """The most telling of the recent errors llama.cpp reported, or an empty string."""
    with _lock:
        return _complaints[0] if _complaints else ""


def forget_complaints() -> None:
    """Drop what was reported so far, before something that may fail."""
    with _lock:
        _complaints.clear()


def _receive(level: int, text: bytes, _data: object) -> None:
    line = text.decode("utf-8", "replace").strip()
    if not line or level == _CONTINUED:
        return
    if level == _ERROR:
        with _lock:
            _complaints.append(line)
    _log.log(_LEVELS.get(level, logging.DEBUG), "%s", line)
