"""One loaded GGUF model and the tokens its KV cache holds, on llama.cpp's C interface.

The C interface is used directly rather than `llama_cpp.Llama` for three reasons: exact counts of what
was evaluated and what was reused, stopping in the middle of a long prompt, and no redirection of the
process's standard error while a terminal app is drawing on it.

On a CPU the result of a prompt depends on the prompt alone, to the last bit, not on what was reused of
earlier ones. llama.cpp computes a token differently alone, in a step of less than `_GRAIN`, and (with
flash attention) in one of less than 64; left alone, greedy answers to one prompt would vary with the
history. So prompts are computed in steps that begin at multiples of `_GRAIN` and are no shorter, without
flash attention, and tokens that were generated are computed again when they return as a prompt. It
costs about a dozen tokens a call.

Two things are set once for the process, before the first model is opened. llama.cpp's log goes to
`logging`, and its last errors are kept for the message of a failed load. Its threads sleep rather than
spin while they wait for each other: a decoding step has several hundred barriers, and if another program
occupies a core, a spinning thread burns its whole time slice at each of them. Measured on two cores, 0.5B,
with two other busy processes: 0.3 tokens/s spinning, 8 to 10 tokens/s with a short spin; on an idle machine
the two are equally fast.
"""

from __future__ import annotations

import atexit
import ctypes
import logging
import os
import sys
import threading
import weakref
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import takewhile
from operator import eq
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from models.library_loading import openmp_setting, usable_threads
from models.llama_cpp.gguf import read_head
from models.protocols import ModelError

Logits = npt.NDArray[np.float32]

_ABORTED = 2
_BATCH = 256  # prompt tokens computed in one step
_CONTROL = 1 << 3
_GRAIN = 8
_HEADROOM = 300 << 20
_THINK_TAGS = frozenset({"<think>", "</think>"})

_log = logging.getLogger("deepthink.llama_cpp")
_LEVEL_CONTINUED = 5
# Errors are raised to the caller as well, so INFO is enough for the log.
_LEVELS = {3: logging.INFO, 4: logging.INFO}
_LEVEL_ERROR = 4
_SHORT_SPIN = "1000"

_lock = threading.RLock()  # llama.cpp may log while it is being set up
_complaints: deque[str] = deque(maxlen=8)
_callbacks: list[Any] = []  # referenced here to stay alive: C has only a pointer


class Aborted(Exception):
    """Raised by `Engine.evaluate` when `Engine.abort` was called meanwhile."""


@dataclass(frozen=True, slots=True)
class _Cache:
    """A copy of the KV cache, about 28 KB for each token of the default model."""

    held: list[int]
    settled: int
    data: Any  # as llama.cpp writes it


class Engine:
    """A loaded model with one sequence in its KV cache.

    Not thread-safe, except for `abort`. `held` is exactly what the KV cache contains, also after an
    abort or a failure.

    Args:
        path: A GGUF file of any architecture llama.cpp knows.
        context_tokens: Size of the KV cache; at most what the model was trained for.
        threads: Threads to compute with; the usable cores if None.
        adapter: A LoRA adapter in GGUF form, for this very model; `adapt` switches it off and on.

    Raises `ModelMissing` if there is no file, `ModelError` if it cannot be loaded.
    """

    def __init__(
        self, path: Path, *, context_tokens: int, threads: int | None = None, adapter: Path | None = None
    ) -> None:
        _refuse_without_memory(path, context_tokens, caches=2 if adapter else 1)
        self._lib: Any = _load_library()
        self.held: list[int] = []
        self._settled = 0  # how many of them were computed as a prompt, in whole grains
        self._aside: _Cache | None = None  # with the adapter if it is off, without it if it is on
        with ExitStack() as held:  # if opening fails, what was opened until then is freed
            self._model = self._load(path)
            held.callback(self._lib.llama_model_free, self._model)
            self._vocab = self._lib.llama_model_get_vocab(self._model)
            trained = int(self._lib.llama_model_n_ctx_train(self._model))
            self.context_tokens = min(context_tokens, trained) if trained > 0 else context_tokens
            self._batch = min(_BATCH, self.context_tokens)
            self._abort_flag = ctypes.create_string_buffer(2)
            self._context = self._open_context(path, threads or usable_threads())
            held.callback(self._lib.llama_free, self._context)
            self._memory = self._lib.llama_get_memory(self._context)
            self._adapter = self._load_adapter(adapter) if adapter else None
            self._adapted = False
            self.adapt(adapter is not None)
            self.vocabulary_size = int(self._lib.llama_vocab_n_tokens(self._vocab))
            self.control_texts, self._shown = self._scan_vocabulary()
            self.close = weakref.finalize(self, held.pop_all().close)
        self.close.atexit = False  # a daemon thread may still be computing while Python exits

    def _load(self, path: Path) -> Any:
        _complaints.clear()
        params = self._lib.llama_model_default_params()
        # The only way at run time to leave out llama.cpp's code for AMX, which crashes if GCC 12 built it
        # (ggml-org/llama.cpp#26954). The Makefile builds without it, which is faster than this.
        if b"AMX_INT8 = 1" in self._lib.llama_print_system_info():
            params.use_extra_bufts = False
        model = self._lib.llama_model_load_from_file(os.fsencode(path), params)
        if not model:
            raise ModelError(
                f"llama.cpp could not load {path.name}: {_last_complaint()}.",
                "The file may be damaged or too new: fetch it again with `deepthink models pull`, "
                "or choose another GGUF file.",
            )
        return model

    def _open_context(self, path: Path, threads: int) -> Any:
        params = self._lib.llama_context_default_params()
        params.n_ctx = self.context_tokens
        params.n_batch = params.n_ubatch = self._batch
        params.n_threads = params.n_threads_batch = threads
        params.no_perf = True
        if not self._lib.llama_supports_gpu_offload():
            params.flash_attn_type = self._lib.LLAMA_FLASH_ATTN_TYPE_DISABLED
        params.swa_full = True  # without it a prefix cannot be reused on sliding-window models
        params.abort_callback = _abort_callback(self._lib)
        params.abort_callback_data = ctypes.addressof(self._abort_flag)
        _complaints.clear()
        context = self._lib.llama_init_from_model(self._model, params)
        if not context:
            raise ModelError(
                f"{path.name} could not be given a context of {self.context_tokens} tokens: "
                f"{_last_complaint('too little memory')}.",
                "Choose a smaller context or a smaller model in the settings.",
            )
        self.context_tokens = int(self._lib.llama_n_ctx(context))
        return context

    def _load_adapter(self, path: Path) -> Any:
        """The adapter, which llama.cpp frees with the model."""
        _complaints.clear()
        adapter = self._lib.llama_adapter_lora_init(self._model, os.fsencode(path))
        if not adapter:
            raise ModelError(
                f"llama.cpp could not load the adapter {path.name}: {_last_complaint()}.",
                "Install deepthink-tui again.",
            )
        return adapter

    def adapt(self, on: bool) -> None:
        """Compute with the adapter, or without it; each keeps what it holds for when it is used again.

        Raises `ModelError` if llama.cpp cannot.
        """
        if on == self._adapted:
            return
        adapters = (self._lib.llama_adapter_lora_p_ctypes * 1)(self._adapter)
        scales = (ctypes.c_float * 1)(1.0)
        if self._lib.llama_set_adapters_lora(self._context, adapters, int(on), scales):
            raise ModelError("llama.cpp could not use the adapter.", "Install deepthink-tui again.")
        self._aside, other = self._copied(), self._aside
        self._keep(0)
        if other is not None:
            self._put_back(other)
        self._adapted = on

    def _copied(self) -> _Cache | None:
        """A copy of what is held; None of nothing."""
        if not self.held:
            return None
        size = self._lib.llama_state_seq_get_size(self._context, 0)
        data = (ctypes.c_uint8 * size)()
        self._lib.llama_state_seq_get_data(self._context, data, size, 0)
        return _Cache(list(self.held), self._settled, data)

    def _put_back(self, cache: _Cache) -> None:
        """Hold what was copied; nothing if llama.cpp does not take it."""
        if self._lib.llama_state_seq_set_data(self._context, cache.data, len(cache.data), 0):
            self.held, self._settled = cache.held, cache.settled

    def _scan_vocabulary(self) -> tuple[list[str], frozenset[int]]:
        """Texts of the control tokens, and the think tags' ids (control tokens in some models)."""
        controls: list[str] = []
        shown: set[int] = set()
        for token in range(self.vocabulary_size):
            if self._lib.llama_vocab_get_attr(self._vocab, token) & _CONTROL:
                text = self._text(token)
                controls.append(text)
                if text in _THINK_TAGS:
                    shown.add(token)
        return controls, frozenset(shown)

    def template(self) -> str | None:
        """The chat template the file carries."""
        text = self._lib.llama_model_chat_template(self._model, None)
        return text.decode("utf-8", "replace") if text else None

    def edge_texts(self) -> tuple[str, str]:
        """Texts of the tokens that begin and end a sequence (empty where there is none)."""
        begin, end = self._lib.llama_vocab_bos(self._vocab), self._lib.llama_vocab_eos(self._vocab)
        return self._text(begin), self._text(end)

    def _text(self, token: int) -> str:
        if token < 0:
            return ""
        text: bytes = self._lib.llama_vocab_get_text(self._vocab, token)
        return text.decode("utf-8", "replace")

    def tokenize(self, text: str, *, special: bool) -> list[int]:
        """Tokens of ``text``; control tokens are recognised only if ``special``."""
        data = text.encode("utf-8", "replace")
        room = len(data) + 2  # more than the tokens of any text
        tokens = (self._lib.llama_token * room)()
        count = self._lib.llama_tokenize(self._vocab, data, len(data), tokens, room, False, special)
        return list(tokens[:count])

    def tokenize_prompt(self, prompt: str) -> list[int]:
        """Tokens of a rendered prompt, with the beginning token if the model wants one."""
        tokens = self.tokenize(prompt, special=True)
        begin = int(self._lib.llama_vocab_bos(self._vocab))
        wanted = bool(self._lib.llama_vocab_get_add_bos(self._vocab)) and begin >= 0
        return [begin, *tokens] if wanted and tokens[:1] != [begin] else tokens

    def piece(self, token: int) -> bytes:
        """The bytes of a token; control tokens have none, except for the think tags."""
        size = 64
        while True:
            buffer = ctypes.create_string_buffer(size)
            count = self._lib.llama_token_to_piece(
                self._vocab, token, buffer, size, 0, token in self._shown
            )
            if count >= 0:
                return buffer.raw[:count]
            size = -count

    def ends(self, token: int) -> bool:
        return bool(self._lib.llama_vocab_is_eog(self._vocab, token))

    def evaluate(self, tokens: Sequence[int]) -> int:
        """Make the KV cache hold exactly ``tokens`` and compute the logits of the last one.

        Returns:
            How many tokens were taken over from what the cache already held.

        Raises:
            Aborted: if `abort` was called; what was computed until then stays usable.
            ModelError: if llama.cpp fails.
        """
        common = sum(takewhile(bool, map(eq, self.held, tokens)))
        usable = min(common, self._settled, len(tokens) - _GRAIN)
        reused = self._keep(max(0, usable) // _GRAIN * _GRAIN)
        for start, end in _steps(reused, len(tokens), self._batch):
            self._decode(tokens[start:end])
            self._settled = end // _GRAIN * _GRAIN
        return reused

    def append(self, token: int) -> None:
        """Compute one more token after what is held; raises what `evaluate` raises."""
        self._decode([token])

    def logits(self) -> Logits:
        """A copy of the logits of the last computed token."""
        pointer = self._lib.llama_get_logits_ith(self._context, -1)
        view: Logits = np.ctypeslib.as_array(pointer, shape=(self.vocabulary_size,))
        return view.copy()

    def abort(self) -> None:
        """Stop the running computation (from another thread) within a fraction of a second."""
        self._abort_flag[0] = b"\x01"

    def rearm(self) -> None:
        """Take an `abort` back, before the next computation."""
        self._abort_flag[0] = b"\x00"

    def grammar(self, text: str) -> Any:
        """A sampler that admits only what the GBNF ``text`` allows; None if it does not compile.

        The caller frees it with `free_sampler`.
        """
        return self._lib.llama_sampler_init_grammar(self._vocab, text.encode("utf-8"), b"root")

    def free_sampler(self, sampler: Any) -> None:
        self._lib.llama_sampler_free(sampler)

    def accept(self, sampler: Any, token: int) -> None:
        """Tell a grammar that ``token`` was chosen; it must be one that `allowed` admits."""
        self._lib.llama_sampler_accept(sampler, token)

    def allowed(self, sampler: Any, tokens: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
        """Which of ``tokens`` a grammar admits next."""
        data = np.zeros(len(tokens), dtype=[("id", np.int32), ("logit", np.float32), ("p", np.float32)])
        data["id"] = tokens
        candidates = self._lib.llama_token_data_array(
            data=data.ctypes.data_as(self._lib.llama_token_data_p),
            size=len(tokens),
            selected=-1,
            sorted=False,
        )
        self._lib.llama_sampler_apply(sampler, ctypes.byref(candidates))
        admitted: npt.NDArray[np.bool_] = np.isfinite(data["logit"])
        return admitted

    def _keep(self, count: int) -> int:
        if count == len(self.held):
            return count
        if not self._lib.llama_memory_seq_rm(self._memory, 0, count, -1):
            # Recurrent models cannot forget a part of what they have read.
            self._lib.llama_memory_clear(self._memory, True)
            count = 0
        del self.held[count:]
        self._settled = min(self._settled, count)
        return count

    def _decode(self, tokens: Sequence[int]) -> None:
        array = (self._lib.llama_token * len(tokens))(*tokens)
        code = self._lib.llama_decode(self._context, self._lib.llama_batch_get_one(array, len(tokens)))
        self.held.extend(tokens)
        if code == 0:
            return
        # Only what llama.cpp kept is held: it drops the step that was not finished.
        held = int(self._lib.llama_memory_seq_pos_max(self._memory, 0)) + 1
        del self.held[max(held, 0) :]
        self._settled = min(self._settled, len(self.held))
        if code == _ABORTED:
            raise Aborted
        raise ModelError(
            f"llama.cpp failed to evaluate {len(tokens)} tokens (code {code}).",
            "Choose a smaller context or another model; `--debug` writes llama.cpp's own log.",
        )


def _steps(start: int, end: int, size: int) -> Iterator[tuple[int, int]]:
    """Cut ``start`` to ``end`` into steps of at most ``size``, the last no shorter than a grain."""
    while start < end:
        stop = min(start + size, end)
        if 0 < end - stop < _GRAIN <= size - _GRAIN:
            stop -= _GRAIN
        yield start, stop
        start = stop


def _abort_callback(lib: Any) -> Any:
    """C's own ``strlen`` as the abort callback.

    llama.cpp asks before each of some hundred operations of a step whether to stop. A Python function
    would have to wait for the interpreter each time, and a busy app would slow the model down by
    orders of magnitude. ``strlen`` of a two-byte buffer is false until a byte is written to it.
    """
    return ctypes.cast(ctypes.CDLL(None).strlen, lib.ggml_abort_callback)


def _refuse_without_memory(path: Path, context_tokens: int, caches: int) -> None:
    head = read_head(path)
    trained = head.trained_context or context_tokens
    needed = head.size + caches * head.kv_bytes(min(context_tokens, trained)) + _HEADROOM
    free = _available_memory()
    if free is not None and needed > free:
        raise ModelError(
            f"{path.name} with {context_tokens} tokens of context needs about "
            f"{needed / 1e9:.1f} GB of memory, but only {free / 1e9:.1f} GB are free.",
            "Choose a smaller model or a smaller context, or close other programs.",
        )


def _available_memory() -> int | None:
    """Bytes of memory that can still be used, where the system says so."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    for line in lines:
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None


def _load_library() -> Any:
    """The low-level llama.cpp bindings, with logging set up for this process."""
    with _lock:
        with openmp_setting("GOMP_SPINCOUNT", _SHORT_SPIN):
            import llama_cpp.llama_cpp as library
        if not _callbacks:
            # The import of the package sets a callback of its own, so ours has to come after it.
            _callbacks.append(library.llama_log_callback(_log_message))
            library.llama_log_set(_callbacks[0], None)
            library.llama_backend_init()
            atexit.register(_close_leftovers)
    return library


def _close_leftovers() -> None:
    """Close two files that the package leaves open after its import; strict runs report open files."""
    package = sys.modules.get("llama_cpp._utils")
    for name in ("outnull_file", "errnull_file"):
        file = getattr(package, name, None)
        if file is not None:
            file.close()


def _last_complaint(otherwise: str = "no reason given") -> str:
    """The earliest, and so most telling, of the recent llama.cpp errors, if there is one."""
    return [*_complaints, otherwise][0]


def _log_message(level: int, text: bytes, _data: object) -> None:
    line = text.decode("utf-8", "replace").strip()
    if not line or level == _LEVEL_CONTINUED:
        return
    if level == _LEVEL_ERROR:
        _complaints.append(line)
    _log.log(_LEVELS.get(level, logging.DEBUG), "%s", line)
