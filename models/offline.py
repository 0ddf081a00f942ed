"""Keeping the model libraries off the network.

``local_files_only`` at each loading call is what keeps a load local. The variables here are for
what no argument reaches: telemetry, tracing, and code paths that forget the argument.
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
    # LangGraph would send every prompt, and with it the person's documents, to a tracing service.
    "LANGSMITH_TRACING": "false",
    "LANGSMITH_TRACING_V2": "false",
    "LANGCHAIN_TRACING": "false",
    "LANGCHAIN_TRACING_V2": "false",
    "WANDB_MODE": "disabled",
}
_DEFAULTED: Final = {
    # Forking after the tokenizers' threads have started prints a warning over the screen.
    "TOKENIZERS_PARALLELISM": "false",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "TRANSFORMERS_VERBOSITY": "error",
}


def forbid_hubs() -> None:
    """Tell every library in this process, and in those it starts, to stay off the network.

    What could carry something off the machine is forced, whatever the person has set for other programs;
    matters of taste are defaults. The libraries read these variables when they are imported, so this is
    called before; it imports nothing itself and may be called again.
    """
    os.environ.update(_FORCED)
    for name, value in _DEFAULTED.items():
        os.environ.setdefault(name, value)
