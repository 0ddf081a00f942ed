"""A language model of two small layers with random weights, for the tests of trainers and engines."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
from gguf import GGUFWriter, TokenType

WIDTH, HEADS, KV_HEADS, INNER, LAYERS = 64, 4, 2, 96, 2
_END = "<|im_end|>"


def write_tiny(path: Path, architecture: Literal["llama", "qwen2"] = "llama") -> Path:
    """Write the file: a byte-level vocabulary with `` C``, `` R``, `` F`` as tokens."""
    draw = np.random.default_rng(0)
    tokens = ["<|endoftext|>", "<|im_start|>", _END, *_bytes(), "ĠC", "ĠR", "ĠF", "Ġt", "er"]
    writer = GGUFWriter(path, architecture)
    writer.add_name("tiny")
    writer.add_block_count(LAYERS)
    writer.add_context_length(512)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10000.0)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(tokens)
    writer.add_token_types([TokenType.CONTROL] * 3 + [TokenType.NORMAL] * (len(tokens) - 3))
    writer.add_token_merges(["Ġ C", "Ġ R", "Ġ F", "Ġ t", "e r"])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_pad_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_add_bos_token(False)
    kv = WIDTH * KV_HEADS // HEADS
    shapes = {"token_embd.weight": (len(tokens), WIDTH), "output_norm.weight": (WIDTH,)}
    for layer in range(LAYERS):
        shapes |= {
            f"blk.{layer}.attn_norm.weight": (WIDTH,),
            f"blk.{layer}.attn_q.weight": (WIDTH, WIDTH),
            f"blk.{layer}.attn_k.weight": (kv, WIDTH),
            f"blk.{layer}.attn_v.weight": (kv, WIDTH),
            f"blk.{layer}.attn_output.weight": (WIDTH, WIDTH),
            f"blk.{layer}.ffn_norm.weight": (WIDTH,),
            f"blk.{layer}.ffn_gate.weight": (INNER, WIDTH),
            f"blk.{layer}.ffn_up.weight": (INNER, WIDTH),
            f"blk.{layer}.ffn_down.weight": (WIDTH, INNER),
        }
        if architecture == "qwen2":
            shapes |= {f"blk.{layer}.attn_{one}.bias": (kv if one in "kv" else WIDTH,) for one in "qkv"}
    for name, shape in shapes.items():
        weights = np.ones(shape) if "norm" in name else draw.normal(0.0, 0.15, shape)
        kind = np.float32 if len(shape) == 1 else np.float16
        writer.add_tensor(name, weights.astype(kind))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _bytes() -> list[str]:
    """The 256 bytes as GPT-2 writes them: printable ones as they are, the others shifted beyond 255."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in plain]
    letters = {b: chr(b) for b in plain} | {b: chr(256 + n) for n, b in enumerate(others)}
    return [letters[b] for b in range(256)]
