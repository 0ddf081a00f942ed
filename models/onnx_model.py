"""Networks on ONNX Runtime: opening one with its tokenizer, and running it on one text at a time.

One text at a time, not a batch. The weights are 8-bit, and the scale of what flows between the layers is
taken from everything that is computed together, padding included: in a batch, the score of a passage would
change with its neighbours. From some hundred tokens on a batch is no faster on a CPU either.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from models.processor import usable_threads
from models.protocols import ModelError, ModelMissing

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Encoding, Tokenizer

Outputs = dict[str, npt.NDArray[np.float32]]
"""A network's outputs by name; the batch's axis is gone."""

_PLACES: Final = ("model.onnx", "onnx/model.onnx", "model_quantized.onnx", "onnx/model_quantized.onnx")
_TOKENIZER: Final = "tokenizer.json"
_ERRORS_ONLY: Final = 3


class OnnxModel:
    """A network in a folder with its tokenizer, loaded on first use. Thread-safe.

    Threads run it side by side, so a query waits for nobody's passages.

    Args:
        folder: Holds `onnx_file` and ``tokenizer.json``.
        what: Its kind, for a person: “reranker”.
        tokens: Most tokens of a text, or of a pair together; what is longer is cut, the longer text of a
            pair first.
    """

    def __init__(self, folder: Path, what: str, tokens: int = 512) -> None:
        self.folder = folder
        self._what = what
        self._tokens = tokens
        self._opening = threading.Lock()
        self._opened: tuple[InferenceSession, Tokenizer] | None = None

    def ready(self) -> bool:
        """Whether the network is loaded, so that the next call is quick."""
        return self._opened is not None

    def encode(self, text: str, second: str | None = None) -> Encoding:
        """The tokens of a text, or of a pair, with their offsets.

        Raises:
            ModelMissing: There is no such model in the folder.
            ModelError: It cannot be loaded.
        """
        encoding: Encoding = self._open()[1].encode(text, second)
        return encoding

    def run(self, encoding: Encoding) -> Outputs:
        """The outputs for one text or pair: ``(tokens, n)`` of a layer, ``(n,)`` of a head.

        Raises:
            ModelMissing: There is no such model in the folder.
            ModelError: It cannot be loaded, or fails.
        """
        session, _ = self._open()
        given = {
            "input_ids": encoding.ids,
            "attention_mask": encoding.attention_mask,
            "token_type_ids": encoding.type_ids,
        }
        names = [output.name for output in session.get_outputs()]
        with self._explained("does not run"):
            wanted = {
                one.name: np.asarray([given[one.name]], dtype=np.int64) for one in session.get_inputs()
            }
            found = session.run(names, wanted)
        return {name: array[0] for name, array in zip(names, found, strict=True)}

    def _open(self) -> tuple[InferenceSession, Tokenizer]:
        with self._opening:
            if self._opened is None:
                path = onnx_file(self.folder)
                if path is None or not (self.folder / _TOKENIZER).is_file():
                    raise ModelMissing(
                        f"{self.folder} holds no {self._what}: it takes a model.onnx and a {_TOKENIZER}.",
                        "Check the path in the settings, or pull a model with “deepthink models pull”.",
                    )
                with self._explained("could not be loaded"):
                    self._opened = (_session(path), _tokenizer(self.folder / _TOKENIZER, self._tokens))
            return self._opened

    @contextmanager
    def _explained(self, failed: str) -> Iterator[None]:
        """Turns what the libraries raise, which has no common base, into a `ModelError`."""
        try:
            yield
        except Exception as error:
            reason = str(error).strip().splitlines() or [type(error).__name__]
            raise ModelError(
                f"The {self._what} in {self.folder} {failed}: {reason[0]}",
                "Check that the folder is complete; “deepthink models pull” mends a catalogue model.",
            ) from error


def onnx_file(folder: Path) -> Path | None:
    """The network in ``folder``, where exporters put it; None if there is none."""
    return next((folder / place for place in _PLACES if (folder / place).is_file()), None)


def _session(path: Path) -> InferenceSession:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.intra_op_num_threads = usable_threads()
    options.inter_op_num_threads = 1
    # Threads that spin while they wait would take the processor from a language model that writes.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = _ERRORS_ONLY  # warnings would be drawn over the app's screen
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def _tokenizer(path: Path, tokens: int) -> Tokenizer:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.enable_truncation(tokens, strategy="longest_first")
    tokenizer.no_padding()
    return tokenizer
