"""How the app looks and which keys it has, read before the first frame.

Only the settings file and the environment are looked at, without checking: the settings proper are loaded,
checked and told about by a worker once the first frame stands.
"""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass

from traces.paths import config_file
from tui.app.themes import TEXTUAL


@dataclass(frozen=True, slots=True)
class Appearance:
    """A theme by Textual's name, whether things move, and remapped keys as they are written."""

    theme: str = "dark"
    reduced_motion: bool = False
    keys: str = ""


def appearance() -> Appearance:
    """What the environment and the file say; the default for what they do not, or not usably."""
    try:
        file = tomllib.loads(config_file().read_text(encoding="utf-8")).get("app", {})
    except (OSError, ValueError):  # told by the worker that loads the settings
        file = {}
    file = file if isinstance(file, dict) else {}

    def value(name: str) -> str:
        return os.environ.get(f"DEEPTHINK_APP_{name.upper()}") or str(file.get(name, ""))

    return Appearance(
        theme=TEXTUAL.get(value("theme"), "dark"),
        reduced_motion=value("reduced_motion").lower() in {"1", "true", "yes", "on"},
        keys=value("keys"),
    )
