"""The planner that the package ships: a LoRA adapter for Qwen2.5-Coder 0.5B, run by llama.cpp.

`tests.benchmarks.planner` made `adapter.gguf`; `README.md` is its card. The base is fetched like any other
model. What it reads and writes is the text of `agent.steps.lookups`.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Final

from models.catalogue import QWEN_CODER_0_5B
from models.fetch import checked
from models.llama_cpp.engine import Engine

NAME: Final = "boxed-planner"
SHIPPED: Final = Path(__file__).parent / "adapter.gguf"
BASE: Final = QWEN_CODER_0_5B
_CONTEXT: Final = 1024


class BoxedPlanner:
    """The shipped planner, loaded at its first use. Thread-safe.

    Args:
        base: The GGUF file of `BASE`.
    """

    def __init__(self, base: Path, adapter: Path = SHIPPED, threads: int | None = None) -> None:
        self._base = base
        self._adapter = adapter
        self._threads = threads
        self._lock = threading.Lock()
        self._engine: Engine | None = None

    @property
    def name(self) -> str:
        """``boxed-planner``."""
        return NAME

    def ready(self) -> bool:
        """Whether the model is loaded, so that the next call is quick."""
        return self._engine is not None

    def warm_up(self) -> None:
        """Load the model and run it once; meant for a worker thread. Raises `ModelError`."""
        self.complete("Question: warm up\nPlan:", 1)

    def complete(self, text: str, max_tokens: int) -> str:
        """What the model writes after ``text``, the likeliest token each time; "" if it does not fit.

        Raises:
            ModelError: the base or the adapter cannot be loaded.
        """
        with self._lock:
            if self._engine is None:
                self._engine = Engine(
                    self._base, context_tokens=_CONTEXT, threads=self._threads, adapter=self._adapter
                )
            return _continued(self._engine, text, max_tokens)


def shipped_planner() -> BoxedPlanner | None:
    """The shipped planner, not loaded yet; None where its base is not on this machine.

    Raises:
        ChecksumMismatch: what lies there under the base's name is another file.
    """
    base = checked(BASE)
    return BoxedPlanner(base) if base else None


def _continued(engine: Engine, text: str, max_tokens: int) -> str:
    tokens = engine.tokenize(text, special=False)
    if len(tokens) + max_tokens > engine.context_tokens:
        return ""
    engine.evaluate(tokens)
    written = b""
    for _ in range(max_tokens):
        token = int(engine.logits().argmax())
        if engine.ends(token):
            break
        written += engine.piece(token)
        engine.append(token)
    return written.decode("utf-8", "replace")
