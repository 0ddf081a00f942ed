"""Folders of tiny ONNX networks with random weights and a tokenizer of a few words."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

_WORDS = "[PAD] [UNK] [CLS] [SEP] the a river sea bank money what is :".split()


def write_embedder(folder: Path, pooling: str = "cls_token", prompts: dict[str, str] | None = None) -> None:
    """A network whose layer is the embedding of each token, with the files of sentence-transformers."""
    _write(folder, outputs=0)
    (folder / "1_Pooling").mkdir(exist_ok=True)
    config = {"word_embedding_dimension": 8, f"pooling_mode_{pooling}": True, "include_prompt": True}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(config))
    (folder / "config_sentence_transformers.json").write_text(json.dumps({"prompts": prompts or {}}))


def write_reranker(folder: Path, outputs: int = 1) -> None:
    """A network with ``outputs`` scores for a pair, from the mean of its tokens."""
    _write(folder, outputs=outputs)


def _write(folder: Path, outputs: int) -> None:
    from onnx import TensorProto, helper, numpy_helper, save

    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(0)
    weights = [numpy_helper.from_array(random.normal(size=(len(_WORDS), 8)).astype(np.float32), "words")]
    nodes = [helper.make_node("Gather", ["words", "input_ids"], ["layer"])]
    told: str = "layer"
    shape: list[str | int] = ["batch", "tokens", 8]
    if outputs:
        head = random.normal(size=(8, outputs)).astype(np.float32)
        weights.append(numpy_helper.from_array(head, "head"))
        weights.append(numpy_helper.from_array(np.array([1]), "axes"))
        nodes.append(helper.make_node("ReduceMean", ["layer", "axes"], ["mean"], keepdims=0))
        nodes.append(helper.make_node("MatMul", ["mean", "head"], ["logits"]))
        told, shape = "logits", ["batch", outputs]
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "tokens"])],
        [helper.make_tensor_value_info(told, TensorProto.FLOAT, shape)],
        weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    save(model, str(folder / "model.onnx"))
    _tokenizer(folder / "tokenizer.json")


def _tokenizer(path: Path) -> None:
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace
    from tokenizers.processors import TemplateProcessing

    tokenizer = Tokenizer(
        WordLevel({word: number for number, word in enumerate(_WORDS)}, unk_token="[UNK]")
    )
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    tokenizer.enable_padding(length=64)  # as some published files have it
    tokenizer.save(str(path))
