"""Keep the model libraries off the network.

``local_files_only`` at each loading call keeps the load local. The variables here cover what no
argument controls: telemetry, tracing, and code paths that ignore the argument.
"""

from __future__ import annotations

import os
from typing import Final

_FORCED: Final = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
    # LangGraph would send every prompt, and with it the user's documents, to a tracing service.
    "LANGSMITH_TRACING": "false",
    "LANGSMITH_TRACING_V2": "false",
    "LANGCHAIN_TRACING": "false",
    "LANGCHAIN_TRACING_V2": "false",
    "WANDB_MODE": "disabled",
}
_DEFAULTED: Final = {
    # Forking after the tokenizers' threads have started prints a warning onto the screen.
    "TOKENIZERS_PARALLELISM": "false",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "TRANSFORMERS_VERBOSITY": "error",
}


def forbid_hubs() -> None:
    """Keep every library in this process, and in its child processes, off the network.

    Variables that could leak data are forced, whatever the user has set for other programs; the others are
    defaults. The libraries read these variables when they are imported, so call this before; it imports
    nothing itself and may be called repeatedly.
    """
    os.environ.update(_FORCED)
    for name, value in _DEFAULTED.items():
        os.environ.setdefault(name, value)
