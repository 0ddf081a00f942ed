"""Reads the hostile files of a folder one after the other; a process of its own, with limits of its own.

`python -m tests.soak.reading FOLDER` prints a line of JSON for each file. The system ends the process where
a file takes more memory or processor time than it may.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from pathlib import Path

from agent.documents.chunking import chunk
from agent.documents.document import UnreadableDocument
from agent.documents.reading import read
from traces.plain_text import UNSAFE

MOST_MEMORY = 4 << 30  # bytes of address space, with the libraries
MOST_SECONDS = 60  # of processor time, for one file


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    for path in sorted(Path(sys.argv[1]).iterdir()):
        used = sum(os.times()[:2])
        resource.setrlimit(resource.RLIMIT_CPU, (int(used) + MOST_SECONDS, resource.RLIM_INFINITY))
        outcome = {"name": path.name, **_read(path)}
        outcome["seconds"] = round(sum(os.times()[:2]) - used, 2)
        outcome["peak_mb"] = _peak_mb()
        print(json.dumps(outcome), flush=True)  # noqa: T201 - what the test reads


def _peak_mb() -> int:
    """The most memory this process has used; `getrusage` would begin with that of its parent."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) // 1024


def _read(path: Path) -> dict[str, object]:
    try:
        document = read(path)
    except UnreadableDocument as refused:
        return {"refused": refused.message}
    passages = [piece.text for piece in chunk(document)]
    shown = "\n".join([document.title, document.author, *passages])
    return {
        "title": document.title,
        "inside": [enclosed.name for enclosed in document.enclosed],
        "unsafe": sorted({hex(ord(sign)) for sign in UNSAFE.findall(shown)}),
        "text": shown[:20_000],
    }


if __name__ == "__main__":
    main()
