"""The boxed planner: a LoRA adapter for Qwen2.5-Coder 0.5B, run by llama.cpp.

`tests.benchmarks.planner` made `adapter.gguf`; `README.md` is its card. The base is downloaded like any
other model. `agent.steps.lookups` defines the text that it reads and writes.
"""

from __future__ import annotations

import threading
from itertools import islice
from pathlib import Path
from typing import Final

from models.catalogue import QWEN_CODER_0_5B
from models.fetch import checked
from models.llama_cpp import picked
from models.llama_cpp.engine import Engine

SHIPPED: Final = Path(__file__).parent / "adapter.gguf"
BASE: Final = QWEN_CODER_0_5B
_CONTEXT: Final = 1024


class BoxedPlanner:
    """The boxed planner, loaded at its first use; ``base`` is the GGUF file of `BASE`. Thread-safe."""

    def __init__(self, base: Path, adapter: Path = SHIPPED) -> None:
        self._base = base
        self._adapter = adapter
        self._lock = threading.Lock()
        self._engine: Engine | None = None

    def ready(self) -> bool:
        return self._engine is not None

    def warm_up(self) -> None:
        self.complete("Question: warm up\nPlan:", 1)

    def complete(self, text: str, max_tokens: int) -> str:
        """The continuation of ``text`` by greedy decoding; "" if it does not fit.

        Raises `ModelError` if the base or the adapter cannot be loaded.
        """
        with self._lock:
            if self._engine is None:
                self._engine = Engine(self._base, context_tokens=_CONTEXT, adapter=self._adapter)
            engine = self._engine
            tokens = engine.tokenize(text, special=False)
            if len(tokens) + max_tokens > engine.context_tokens:
                return ""
            engine.evaluate(tokens)
            output = b""
            for token in islice(picked(engine), max_tokens):
                output += engine.piece(token)
                engine.append(token)
        return output.decode("utf-8", "replace")


def shipped_planner() -> BoxedPlanner | None:
    """The boxed planner, not yet loaded; None if its base is not on this machine.

    Raises `ChecksumMismatch` if the base's file is not the published one.
    """
    base = checked(BASE)
    return BoxedPlanner(base) if base else None
