"""The reader as int8 ONNX: what the package ships, and what `network.recovered` turns back into floats.

Weights of the layers become int8, one scale for each column, with seven bits of the eight: processors
without VNNI add two products in 16 bits, which overflows with all eight (onnxruntime's ``reduce_range``).
The embeddings become uint8. Layer norms, biases and everything that is computed stay in floats.
"""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import Any, Final

from tests.benchmarks.reader.network import Weights, network

OUTPUTS: Final = ("answers", "start", "end", "support")
_INPUTS: Final = ("input_ids", "attention_mask", "token_type_ids")
_OPSET = 17


def export(weights: Weights, target: Path) -> None:
    """Write the reader with ``weights``, named as in `network`, to the ONNX file ``target``."""
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.quantization.shape_inference import quant_pre_process

    with tempfile.TemporaryDirectory() as folder:
        floats, prepared = Path(folder) / "floats.onnx", Path(folder) / "prepared.onnx"
        _write(network(weights), floats)
        quant_pre_process(str(floats), str(prepared), skip_symbolic_shape=True)
        quantize_dynamic(prepared, target, per_channel=True, reduce_range=True, weight_type=QuantType.QInt8)


def _write(reader: Any, target: Path) -> None:
    import torch

    tokens = torch.tensor([[101, 2040, 102, 3000, 3001, 102], [101, 2041, 102, 3000, 102, 0]])
    shape = {0: "batch", 1: "tokens"}
    with warnings.catch_warnings():
        # The newer exporter needs onnxscript, which needs a package that installs nothing but that.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            reader.eval(),
            (tokens, (tokens != 0).long(), torch.zeros_like(tokens)),
            str(target),
            input_names=[*_INPUTS],
            output_names=[*OUTPUTS],
            dynamic_axes={
                **dict.fromkeys((*_INPUTS, "start", "end"), shape),
                **{name: {0: "batch"} for name in ("answers", "support")},
            },
            opset_version=_OPSET,
            dynamo=False,
        )
