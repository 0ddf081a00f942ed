"""Folders of tiny BERT models with random weights, for behaviour that needs no trained ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

_WORDS = ("the", "a", "river", "flows", "into", "sea", "bank", "holds", "money", "what", "is")


def write_transformer(folder: Path, seed: int = 0, **config: Any) -> None:
    """A BERT of some thousand parameters; a classifier if ``num_labels`` is given."""
    import torch
    from transformers import (
        BertConfig,
        BertForSequenceClassification,
        BertModel,
        BertTokenizerFast,
    )

    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = folder / "vocab.txt"
    vocabulary.write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *_WORDS]))
    tokenizer = BertTokenizerFast(str(vocabulary), model_max_length=32)
    torch.manual_seed(seed)
    shape = BertConfig(
        vocab_size=len(_WORDS) + 5,
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=8,
        max_position_embeddings=32,
        initializer_range=1.0,
        **config,
    )
    kind = BertForSequenceClassification if "num_labels" in config else BertModel
    kind(shape).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def write_sentence_model(folder: Path, seed: int = 0, modes: Any = "mean", **options: Any) -> None:
    """A sentence-transformers folder without a normalising module."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    encoder = folder.with_name(f"{folder.name}-encoder")
    write_transformer(encoder, seed)
    transformer = Transformer(str(encoder))
    pooling = Pooling(8, pooling_mode=modes)
    SentenceTransformer(modules=[transformer, pooling], device="cpu", **options).save(
        str(folder), create_model_card=False
    )
