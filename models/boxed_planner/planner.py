"""The boxed planner: a LoRA adapter for Qwen2.5-Coder 0.5B, run by llama.cpp.

`tests.benchmarks.planner` made `adapter.gguf`; `README.md` is its card. The base is downloaded like any
other model. `agent.steps.plan_text` defines the text that it reads and writes.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Final

from models.catalogue import QWEN_CODER_0_5B
from models.fetch.pull import checked
from models.llama_cpp.chat import LlamaCppChat
from models.protocols import ContextOverflow, Reply, Usage
from traces.paths import data_dir

SHIPPED: Final = Path(__file__).parent / "adapter.gguf"
BASE: Final = QWEN_CODER_0_5B
_CONTEXT: Final = 1024


class BoxedPlanner:
    """The boxed planner, loaded at its first use; ``base`` is the GGUF file of `BASE`. Thread-safe.

    The adapter in the file ``own`` is used instead of ``adapter`` from the moment that it is there.
    """

    def __init__(self, base: Path, adapter: Path = SHIPPED, own: Path | None = None) -> None:
        self._base = base
        self._adapter = adapter
        self._own = own
        self._lock = threading.Lock()
        self._model: LlamaCppChat | None = None
        self._version = 0  # of the adapter that is used

    def warm_up(self) -> None:
        self.complete("Question: warm up\nPlan:", 1)

    def complete(self, text: str, max_tokens: int, cancel: threading.Event | None = None) -> Reply:
        """The continuation of ``text`` by greedy decoding; "" if it does not fit.

        Raises `ModelError` if the base or the adapter cannot be loaded, `GenerationCancelled`.
        """
        try:
            return self._current().complete(text, max_tokens, cancel)
        except ContextOverflow:
            return Reply("", Usage())

    def _current(self) -> LlamaCppChat:
        version = self._own.stat().st_mtime_ns if self._own and self._own.is_file() else 0
        with self._lock:
            if self._model is None or version != self._version:
                adapter = self._own if self._own and version else self._adapter
                model = LlamaCppChat(
                    self._base, name="the planner", context_tokens=_CONTEXT, adapter=adapter
                )
                self._model, self._version = model.taught, version
            assert self._model is not None
            return self._model


def own_adapter() -> Path:
    """Where the adapter is that was trained on the user's corrected plans, if there is one."""
    return data_dir() / "planner" / SHIPPED.name


def installed_planner() -> BoxedPlanner | None:
    """The user's own planner or the boxed one, not yet loaded; None if its base is not on this machine.

    Raises `ChecksumMismatch` if the base's file is not the published one.
    """
    base = checked(BASE)
    return BoxedPlanner(base, own=own_adapter()) if base else None
