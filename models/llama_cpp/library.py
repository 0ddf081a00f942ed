"""Loads llama.cpp's library into this process so that it behaves beside a terminal app.

Two things are process-wide and therefore set once, here, before the first model is opened.

Its chatter goes into `logging`. The library writes to standard error from C; redirecting file
descriptors would steal them from an app that is drawing at that moment. The last complaints are kept
for the message of a failed load.

Its threads wait for each other asleep rather than spinning. A step has several hundred meeting points;
where another program holds a core, a spinning thread burns its whole time slice at each of them.
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
_CONTINUED = 5
# Errors are raised to the caller as well, so in the log they need not shout.
_LEVELS = {3: logging.INFO, 4: logging.INFO}
_ERROR = 4
_SHORT_SPIN = "1000"

_lock = threading.RLock()  # llama.cpp may complain while it is being set up
_complaints: deque[str] = deque(maxlen=8)
_callbacks: list[Any] = []  # kept alive: C holds only a pointer


def load_library() -> Any:
    """The low-level llama.cpp bindings, with their chatter set up for this process.

    Raises:
        ImportError: if llama-cpp-python is not installed.
    """
    with _lock:
        library = _imported()
        if not _callbacks:
            # The package's own import set its own callback, so ours has to come after it.
            _callbacks.append(library.llama_log_callback(_receive))
            library.llama_log_set(_callbacks[0], None)
            library.llama_backend_init()
            atexit.register(_close_leftovers)
    return library


def _imported() -> Any:
    """The bindings; the OpenMP library they bring reads the variable once, when it is loaded."""
    given = {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"} & os.environ.keys()
    if not given:
        os.environ["GOMP_SPINCOUNT"] = _SHORT_SPIN
    try:
        import llama_cpp.llama_cpp as library
    finally:
        if not given:
            del os.environ["GOMP_SPINCOUNT"]
    return library


def _close_leftovers() -> None:
    """The package opens two files when it is imported and leaves them open, which strict runs report."""
    package = sys.modules.get("llama_cpp._utils")
    for name in ("outnull_file", "errnull_file"):
        file = getattr(package, name, None)
        if file is not None:
            file.close()


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
