"""The reader's network: the published cross-encoder, with heads for answers' words and for claims.

One BERT reads question (or claim) and passage together. From its last layer come

- ``answers``: the published classifier, which was taught on MS MARCO to say whether a passage answers;
- ``start`` and ``end``: a score for every token, where ``[CLS]`` stands for "the answer is not here";
- ``support``: three scores from ``[CLS]``: supported, refuted, neither.

The published weights are there as int8 ONNX only. `recovered` turns such a file back into floats: each
``MatMulInteger`` node is named after its layer, and its weight is ``(q - zero_point) * scale``, transposed.
`export` writes the same form, which the package ships, so training goes on from a shipped reader as well.
Weights of the layers become int8, one scale for each column, with seven bits of the eight: processors
without VNNI add two products in 16 bits, which overflows with all eight (onnxruntime's ``reduce_range``).
The embeddings become uint8. Layer norms, biases and everything that is computed stay in floats.
"""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Weights = dict[str, npt.NDArray[np.float32]]

_HEAD = 32  # numbers of one attention head, in MiniLM of any size
_OUTPUTS: Final = ("answers", "start", "end", "support")
_INPUTS: Final = ("input_ids", "attention_mask", "token_type_ids")
_OPSET = 17


def recovered(model: Path) -> Weights:
    """The float weights of an int8 ONNX file of a BERT, by the names of `network`'s parameters."""
    import onnx
    from onnx import numpy_helper

    graph = onnx.load(str(model)).graph
    stored = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    weights: Weights = {}
    for name, value in stored.items():
        if value.dtype == np.float32 and not name.startswith("/") and not name.endswith("_scale"):
            weights[name] = value
        elif name.endswith("embeddings.weight_quantized"):
            weights[name.removesuffix("_quantized")] = _floats(stored, name.removesuffix("_quantized"))
    for node in graph.node:
        if node.op_type == "MatMulInteger":
            layer = node.name.strip("/").rsplit("/", 1)[0].replace("/", ".")
            weights[f"{layer}.weight"] = _floats(stored, node.input[1].removesuffix("_quantized")).T.copy()
    return weights


def _floats(stored: dict[str, Any], name: str) -> npt.NDArray[np.float32]:
    """A quantised matrix in floats; scale and zero point are one number, or one for each column."""
    zero_point = stored[f"{name}_zero_point"].astype(np.float32)
    whole = (stored[f"{name}_quantized"].astype(np.float32) - zero_point) * stored[f"{name}_scale"]
    return np.asarray(whole, dtype=np.float32)


def network(weights: Weights, *, dropout: float = 0.0, attention: str = "eager") -> Any:
    """The reader's network with ``weights``; heads that they do not hold start small and random.

    ``attention`` is transformers' name of an implementation: torch's fused one is slower on a processor
    with heads as narrow as these.
    """
    import torch
    from torch import nn
    from transformers import BertConfig, BertModel

    words, hidden = weights["bert.embeddings.word_embeddings.weight"].shape
    config = BertConfig(
        vocab_size=words,
        hidden_size=hidden,
        num_hidden_layers=sum(name.endswith("attention.self.query.weight") for name in weights),
        num_attention_heads=hidden // _HEAD,
        intermediate_size=weights["bert.encoder.layer.0.intermediate.dense.weight"].shape[0],
        max_position_embeddings=weights["bert.embeddings.position_embeddings.weight"].shape[0],
        hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=dropout,
    )

    class Reader(nn.Module):  # type: ignore[misc] # torch is Any to mypy
        def __init__(self) -> None:
            super().__init__()
            self.bert = BertModel._from_config(config, attn_implementation=attention)
            self.classifier = nn.Linear(hidden, 1)
            self.spans = nn.Linear(hidden, 2)
            self.claims = nn.Linear(hidden, hidden)
            self.support = nn.Linear(hidden, 3)

        def forward(self, input_ids: Any, attention_mask: Any, token_type_ids: Any) -> Any:
            """Scores: answers ``(B,)``, start and end ``(B, T)``, support ``(B, 3)``."""
            read = self.bert(input_ids, attention_mask, token_type_ids)
            start, end = self.spans(read.last_hidden_state).unbind(-1)
            claim = torch.tanh(self.claims(read.last_hidden_state[:, 0]))
            return self.classifier(read.pooler_output).squeeze(-1), start, end, self.support(claim)

    torch.manual_seed(0)
    reader = Reader()
    held = {name: torch.tensor(value) for name, value in weights.items()}
    missing, _ = reader.load_state_dict(held, strict=False)
    lost = [name for name in missing if name.startswith(("bert.", "classifier."))]
    if lost:
        raise KeyError(f"The weights lack {', '.join(lost)}.")
    return reader


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
            output_names=[*_OUTPUTS],
            dynamic_axes={
                **dict.fromkeys((*_INPUTS, "start", "end"), shape),
                **{name: {0: "batch"} for name in ("answers", "support")},
            },
            opset_version=_OPSET,
            dynamo=False,
        )
