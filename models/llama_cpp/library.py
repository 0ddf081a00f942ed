"""Loads llama.cpp's library into this process so that it does not disturb a terminal app.

Two things are process-wide and therefore set once, here, before the first model is opened.

Its log goes to `logging`. The library writes to standard error from C; redirecting file descriptors
would take them away from an app that is drawing at that moment. The last errors are kept for the message
of a failed load.

Its threads sleep rather than spin while they wait for each other. A decoding step has several hundred
barriers; if another program occupies a core, a spinning thread burns its whole time slice at each of them.
Measured on two cores, 0.5B, with two other busy processes: 0.3 tokens/s spinning, 8 to 10 tokens/s
with a short spin; on an idle machine the two are equally fast.
"""

from __future__ import annotations

import atexit
import logging
import os
import sys
import threading
from collections import deque
from typing import Any

_log = logging.getLogger("deepthink.llama_cpp")
_LEVEL_CONTINUED = 5
# Errors are raised to the caller as well, so INFO is enough for the log.
_LEVELS = {3: logging.INFO, 4: logging.INFO}
_LEVEL_ERROR = 4
_SHORT_SPIN = "1000"

_lock = threading.RLock()  # llama.cpp may log while it is being set up
_complaints: deque[str] = deque(maxlen=8)
_callbacks: list[Any] = []  # referenced here to stay alive: C has only a pointer


def load_library() -> Any:
    """The low-level llama.cpp bindings, with logging set up for this process.

    Raises:
        ImportError: if llama-cpp-python is not installed.
    """
    with _lock:
        library = _import_bindings()
        if not _callbacks:
            # The import of the package sets a callback of its own, so ours has to come after it.
            _callbacks.append(library.llama_log_callback(_log_message))
            library.llama_log_set(_callbacks[0], None)
            library.llama_backend_init()
            atexit.register(_close_leftovers)
    return library


def _import_bindings() -> Any:
    """Import the bindings; their OpenMP library reads the variable once, when it is loaded."""
    configured = {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"} & os.environ.keys()
    if not configured:
        os.environ["GOMP_SPINCOUNT"] = _SHORT_SPIN
    try:
        import llama_cpp.llama_cpp as library
    finally:
        if not configured:
            del os.environ["GOMP_SPINCOUNT"]
    return library


def _close_leftovers() -> None:
    """Close two files that the package leaves open after its import; strict runs report open files."""
    package = sys.modules.get("llama_cpp._utils")
    for name in ("outnull_file", "errnull_file"):
        file = getattr(package, name, None)
        if file is not None:
            file.close()


def last_complaint() -> str:
    """The earliest, and so most telling, of the recent llama.cpp errors; "" if there is none."""
    with _lock:
        return _complaints[0] if _complaints else ""


def forget_complaints() -> None:
    """Clear the recent errors, before something that may fail."""
    with _lock:
        _complaints.clear()


def _log_message(level: int, text: bytes, _data: object) -> None:
    line = text.decode("utf-8", "replace").strip()
    if not line or level == _LEVEL_CONTINUED:
        return
    if level == _LEVEL_ERROR:
        with _lock:
            _complaints.append(line)
    _log.log(_LEVELS.get(level, logging.DEBUG), "%s", line)
