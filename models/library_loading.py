"""Load models with the Hugging Face libraries, offline, silently, one at a time; what the processor can do.

``local_files_only`` at each loading call keeps the load local. `forbid_hubs` covers what no argument
controls: telemetry, tracing, and code paths that ignore the argument.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from models.protocols import ModelError, ModelMissing

_LOADING: Final = threading.Lock()
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


@contextmanager
def loading(folder: Path, what: str) -> Iterator[None]:
    """Context in which a model is loaded from ``folder``; ``what`` names its kind in errors.

    One load at a time per process: the libraries' lazy imports are not thread-safe, and their verbosity
    is global. Their progress bars and load reports would draw over a terminal app's screen, so they are
    off meanwhile and restored afterwards.

    Raises:
        ModelMissing: ``folder`` has no model.
        ModelError: any error of the library, with its message.
    """
    if not (folder / "config.json").is_file() and not (folder / "modules.json").is_file():
        raise ModelMissing(
            f"There is no {what} in {folder}.",
            "Check the path in the settings, or pull a model with “deepthink models pull”.",
        )
    forbid_hubs()
    with _LOADING:
        import_torch()
        from transformers.utils import logging

        verbosity, had_progress_bar = logging.get_verbosity(), logging.is_progress_bar_enabled()
        logging.set_verbosity_error()
        logging.disable_progress_bar()
        try:
            with library_errors(folder, what, "could not be loaded"):
                yield
        finally:
            logging.set_verbosity(verbosity)
            if had_progress_bar:
                logging.enable_progress_bar()


@contextmanager
def library_errors(folder: Path, what: str, failure: str) -> Iterator[None]:
    """Turns errors of the libraries, which have no common base, into a `ModelError` with their message."""
    try:
        yield
    except ModelError:
        raise
    except Exception as error:
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise ModelError(
            f"The {what} in {folder} {failure}: {reason[0]}",
            "Check that the folder is complete; “deepthink models pull” mends a catalogue model.",
        ) from error


def import_torch() -> None:
    """Import torch so that its idle threads sleep instead of spinning.

    Spinning threads compete with a generating language model, or an ingestion, for the same cores: with
    those busy, embedding a query took 470 ms, and 15 ms with sleeping threads. The OpenMP library of torch
    reads the variable once, when it is loaded; it is removed afterwards so that llama.cpp's own copy, which
    has other needs, does not see it.
    """
    if "torch" not in sys.modules:
        with openmp_setting("OMP_WAIT_POLICY", "PASSIVE"):
            importlib.import_module("torch")


@contextmanager
def openmp_setting(name: str, value: str) -> Iterator[None]:
    """Set a variable for the OpenMP of a library that is loaded meanwhile; the user's own settings stay."""
    if {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"} & os.environ.keys():
        yield
        return
    os.environ[name] = value
    try:
        yield
    finally:
        del os.environ[name]


def usable_threads() -> int:
    """Threads worth using: all cores of a small machine, the physical cores of a larger one."""
    if sys.platform == "linux":
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    return cores if cores <= 4 else max(4, cores // 2)


def processor_has_bfloat16() -> bool:
    """Whether the processor supports bfloat16 natively; emulation is slower than single precision."""
    import torch

    capabilities = torch.cpu.get_capabilities()
    return bool(capabilities.get("avx512_bf16") or capabilities.get("amx_bf16"))


def trains_in_bfloat16() -> bool:
    """Whether the training device supports bfloat16: the GPU if there is one, else the processor."""
    import torch

    return bool(torch.cuda.is_bf16_supported()) if torch.cuda.is_available() else processor_has_bfloat16()
