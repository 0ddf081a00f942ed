"""Which model files were found to be the published ones: each is hashed once, and that is kept beside it.

What is kept of a file are its size, its time of change and the sha256 it was compared with. It holds as
long as all three are as they were, so a file that was put there by hand, or changed since, is hashed anew.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from models.catalogue import ModelFile

Stamps = dict[str, list[int | str]]
"""By the file's path within the model's folder: bytes, nanoseconds since 1970, sha256."""

_KEPT: Final = ".checked.json"


def stamps(folder: Path, files: Sequence[ModelFile]) -> Stamps:
    """What would be kept of ``files`` if they are right. Raises `OSError` if one cannot be looked at."""
    seen = {file: (folder / file.path).stat() for file in files}
    return {file.path: [at.st_size, at.st_mtime_ns, file.sha256] for file, at in seen.items()}


def recall(folder: Path) -> Stamps:
    """What was kept of the files in a model's folder; nothing if that cannot be read."""
    try:
        kept = json.loads((folder / _KEPT).read_text(encoding="utf-8"))
    except (OSError, ValueError):  # none yet, or cut off while it was written: hashing makes it good
        return {}
    return kept if isinstance(kept, dict) else {}


def keep(folder: Path, checked: Mapping[str, Sequence[int | str]]) -> None:
    """Keep that the files in a model's folder are the published ones.

    A folder that cannot be written to stays as it is, and its files are hashed at each start: a second a
    gigabyte is less than it takes to answer, and going by the size would trust whoever filled the folder.
    A pull by somebody who may write there ends that.
    """
    try:
        (folder / _KEPT).write_text(json.dumps(checked, indent=1), encoding="utf-8")
    except OSError:
        return
