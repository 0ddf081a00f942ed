"""What the package taught its default answering model: a LoRA adapter for Qwen2.5-Coder 1.5B.

`tests.benchmarks.answerer` made `adapter.gguf`; `README.md` is its card. With it the model answers from
passages, or says that they hold no answer, after `agent.prompts.TAUGHT`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from models.catalogue import QWEN_CODER_1_5B
from traces.paths import models_dir

SHIPPED: Final = Path(__file__).parent / "adapter.gguf"
BASE: Final = QWEN_CODER_1_5B


def adapter_of(file: Path) -> Path | None:
    """The adapter for a model's file; None where it is another model than the one that was taught."""
    return SHIPPED if file == BASE.location(models_dir()) else None
