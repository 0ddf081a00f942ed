"""Packing the box: copies of trained policies that come with the package, the first of them active.

``python -m policy.packing POLICIES BOX METHOD …``, as `make box` calls it.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from policy.folder import copied
from policy.registry import ACTIVE


def pack(policies: Path, box: Path, methods: Sequence[str]) -> None:
    """Make ``box`` anew of ``methods``, each called ``boxed-METHOD``.

    Args:
        policies: Folder of trained policies, each called by its method.
        box: What was in it is gone afterwards.
        methods: The first is active where a person has chosen none.

    Raises:
        BadPolicy: a policy is not whole.
        CannotWritePolicy: there is no room.
    """
    fresh = box.with_name(f".{box.name}")
    shutil.rmtree(fresh, ignore_errors=True)
    packed = [copied(policies / method, fresh, f"boxed-{method}").name for method in methods]
    (fresh / ACTIVE).write_text(json.dumps({"active": packed[0]}) + "\n", encoding="utf-8")
    shutil.rmtree(box, ignore_errors=True)
    fresh.rename(box)


if __name__ == "__main__":
    pack(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
