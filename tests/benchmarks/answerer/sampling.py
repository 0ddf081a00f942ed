"""Replies of a model to all questions of many trees at once, the beginnings computed and kept once.

The keys and values of a tree's beginning are shared by all its rows, which attend to them beside their
own: what is kept for a row is its question and reply, so that thousands of rows fit on one GPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from tests.benchmarks.answerer.data import Tree
from tests.benchmarks.answerer.training import beginning_text, question_text

_ATTENTION: Final = "beside_a_beginning"
_REMOVED_EVERY: Final = 8  # tokens; rows that have ended are then left out
_DRAWN_AT_ONCE: Final = 1024  # rows; their probabilities take much memory


@dataclass(frozen=True, slots=True)
class Reply:
    """What was written after a prompt, and whether it was ended in time."""

    text: str
    ended: bool


@dataclass(frozen=True, slots=True)
class _Beginnings:
    """Of ``trees`` beginnings, by layer: keys and values (trees × heads × width × size), and their mask."""

    layers: list[tuple[Any, Any]]
    mask: Any  # trees × width, true where a token is
    lengths: Any  # tokens of each


def replies(
    model: Any, tokenizer: Any, trees: Sequence[Tree], *, copies: int, longest: int
) -> list[list[list[Reply]]]:
    """For each tree and branch the likeliest reply and ``copies`` - 1 drawn ones.

    They have ``longest`` tokens at most. ``model`` is one of transformers, with PEFT's adapter or without.
    The replies are those of separate prompts, but for rounding.
    """
    import torch

    with torch.inference_mode():
        beginnings = _begun(model, tokenizer, trees)
        held = max(len(tree.branches) for tree in trees)
        # Each tree has as many rows; the last question fills up.
        filled = [tree.branches[min(at, len(tree.branches) - 1)] for tree in trees for at in range(held)]
        texts = [question_text(branch) for branch in filled]
        questions = tokenizer(texts, add_special_tokens=False)["input_ids"]
        drawn = _written(model, tokenizer, beginnings, questions, copies, longest)
    size = held * copies
    return [
        [drawn[at * size + branch * copies :][:copies] for branch in range(len(tree.branches))]
        for at, tree in enumerate(trees)
    ]


def _padded(rows: Sequence[Sequence[int]], device: Any) -> tuple[Any, Any]:
    """Tokens and mask, padded on the left."""
    import torch

    width = max(map(len, rows))
    tokens = [[0] * (width - len(row)) + list(row) for row in rows]
    mask = [[False] * (width - len(row)) + [True] * len(row) for row in rows]
    return torch.tensor(tokens, device=device), torch.tensor(mask, device=device)


def _begun(model: Any, tokenizer: Any, trees: Sequence[Tree]) -> _Beginnings:
    """Compute the beginnings, a few at a time."""
    import torch

    coded = [tokenizer(beginning_text(tree), add_special_tokens=False)["input_ids"] for tree in trees]
    tokens, mask = _padded(coded, model.device)
    positions = (mask.cumsum(1) - 1).clamp(min=0)
    parts = []
    for at in range(0, len(trees), 16):
        few = slice(at, at + 16)
        cache = model(
            input_ids=tokens[few],
            attention_mask=mask[few].long(),
            position_ids=positions[few],
            use_cache=True,
            logits_to_keep=1,
        ).past_key_values
        parts.append([(layer.keys, layer.values) for layer in cache.layers])
    layers = [
        (torch.cat([keys for keys, _ in of_layer]), torch.cat([values for _, values in of_layer]))
        for of_layer in zip(*parts, strict=True)
    ]
    return _Beginnings(layers, mask, mask.sum(1))


def _written(
    model: Any,
    tokenizer: Any,
    beginnings: _Beginnings,
    questions: Sequence[Sequence[int]],
    copies: int,
    longest: int,
) -> list[Reply]:
    import torch
    from transformers import DynamicCache

    device, end = model.device, tokenizer.convert_tokens_to_ids("<|im_end|>")
    tokens, own = _padded(questions, device)
    lengths = beginnings.lengths.repeat_interleave(len(questions) // len(beginnings.lengths))
    positions = (lengths[:, None] + own.cumsum(1) - 1).clamp(min=0)
    earlier = torch.ones(tokens.shape[1], tokens.shape[1], dtype=torch.bool, device=device).tril()
    seen = (earlier & own[:, None, :])[:, None]
    cache = DynamicCache()
    core = model.get_base_model() if hasattr(model, "get_base_model") else model
    before = core.config._attn_implementation
    _register(beginnings)
    core.set_attn_implementation(_ATTENTION)
    try:
        logits = core(
            input_ids=tokens,
            attention_mask=seen,
            position_ids=positions,
            past_key_values=cache,
            logits_to_keep=1,
        ).logits[:, -1]
        cache.batch_repeat_interleave(copies)
        own, logits = own.repeat_interleave(copies, 0), logits.repeat_interleave(copies, 0)
        at = (lengths + own[::copies].sum(1)).repeat_interleave(copies)
        rows = torch.arange(len(logits), device=device)
        ended = torch.zeros(len(logits), dtype=torch.bool, device=device)
        written = torch.full((len(logits), longest), end, device=device)
        for place in range(longest):
            sampled = torch.cat([_drawn(some) for some in logits.split(_DRAWN_AT_ONCE)])
            chosen = torch.where(rows % copies == 0, logits.argmax(-1), sampled)
            chosen = torch.where(ended, end, chosen)
            written[rows, place] = chosen
            ended = ended | (chosen == end)
            if ended.all():
                break
            if place % _REMOVED_EVERY == _REMOVED_EVERY - 1:
                kept = _unfinished(ended, len(beginnings.lengths))
                rows, ended, own, at, chosen = (of_row[kept] for of_row in (rows, ended, own, at, chosen))
                cache.batch_select_indices(kept)
            own = torch.cat([own, torch.ones_like(own[:, :1])], 1)
            logits = core(
                input_ids=chosen[:, None],
                attention_mask=own[:, None, None],
                position_ids=at[:, None],
                past_key_values=cache,
                logits_to_keep=1,
            ).logits[:, -1]
            at = at + 1
    finally:
        core.set_attn_implementation(before)
    tokens_of = written.tolist()
    texts = tokenizer.batch_decode(
        [row[: row.index(end)] if end in row else row for row in tokens_of], skip_special_tokens=True
    )
    return [Reply(text.strip(), end in row) for text, row in zip(texts, tokens_of, strict=True)]


def _unfinished(ended: Any, trees: int) -> Any:
    """The rows to go on with, as many of each tree: those that have not ended, and some that have."""
    import torch

    by_tree = ended.view(trees, -1)
    most = int((~by_tree).sum(1).max())
    order = by_tree.int().argsort(dim=1, stable=True)[:, :most]
    return (order + torch.arange(trees, device=ended.device)[:, None] * by_tree.shape[1]).flatten()


def _drawn(logits: Any) -> Any:
    """A token of each row, by its probability."""
    import torch

    noise = torch.empty_like(logits, dtype=torch.float32).exponential_()
    return (logits.float().softmax(-1) / noise).argmax(-1)


def _register(beginnings: _Beginnings) -> None:
    """Let transformers know the attention to these beginnings and to the row's own tokens."""
    import torch
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import sdpa_mask

    hidden = torch.finfo(torch.float32).min
    common_mask = torch.zeros(beginnings.mask.shape, device=beginnings.mask.device)
    common_mask.masked_fill_(~beginnings.mask, hidden)

    def attention(
        module: Any, query: Any, key: Any, value: Any, mask: Any, scaling: float, **_: Any
    ) -> tuple[Any, None]:
        keys, values = beginnings.layers[module.layer_idx]
        trees, heads, width, size = keys.shape
        rows, queries, length, _ = query.shape
        each, group = rows // trees, queries // heads * length

        def gathered(of_rows: Any) -> Any:
            """Rows of a tree beside one another: trees × heads × (rows × group) × size."""
            return of_rows.reshape(trees, each, heads, group, -1).transpose(1, 2).flatten(2, 3)

        grouped = query.reshape(rows, heads, group, size)
        common = gathered(grouped) @ keys.transpose(-1, -2) * scaling + common_mask[:, None, None]
        own = (grouped @ key.transpose(-1, -2) * scaling).view(rows, heads, -1, length, key.shape[2])
        own_mask = torch.zeros_like(mask, dtype=torch.float32).masked_fill(~mask, hidden)
        own = (own + own_mask[:, :, None]).view(rows, heads, group, -1)
        joined = torch.cat([common, gathered(own)], -1).float().softmax(-1).to(value.dtype)
        of_common = joined[..., :width] @ values
        by_row = of_common.view(trees, heads, each, group, size).transpose(1, 2).flatten(0, 1)
        of_own = joined[..., width:].view(trees, heads, each, group, -1).transpose(1, 2)
        mixed = by_row + of_own.reshape(rows, heads, group, -1) @ value
        return mixed.reshape(rows, queries, length, size).transpose(1, 2), None

    AttentionInterface.register(_ATTENTION, attention)
    AttentionMaskInterface.register(_ATTENTION, sdpa_mask)
