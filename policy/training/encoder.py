"""The encoder: MiniLM with an adapter reads the state's text, and the state's numbers are fused late.

It gives a reward for each action, and says whether the evidence suffices.

A tree can split a number at a threshold; a linear layer on the raw number cannot. Piecewise linear encoding
adds the thresholds: each number is standardised, and has a column per quantile bin that rises from 0 to 1
within the bin (Gorishniy et al., 2203.05556).
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from transformers import BertConfig, BertModel, BertPreTrainedModel

from agent.state import PLAN_ACTIONS, Action
from models.library_loading import loading, processor_has_bfloat16
from policy.decisions import INDEX, Floats, Seen, default_columns, valid_columns
from policy.serving.scorers import Scores
from policy.training.forest import table

Numbers: TypeAlias = npt.NDArray[np.float32]

ADAPTER: Final = "adapter_model.safetensors"
ADAPTER_CONFIG: Final = "adapter_config.json"
HEAD: Final = "head.safetensors"
TOKENS: Final = 192
"""Maximum length of a text; truncation removes the weakest evidence (`agent.decisions.features`)."""
BINS: Final = 8
_HEAD_NAME: Final = "fusion."
_COLUMNS: Final = ("mean", "std", "edges")
_BATCH = 32
_CLIP = 4.0  # standard deviations: values further out carry no more information
_HIDDEN = 96
_DROPOUT = 0.1


@dataclass(frozen=True, slots=True)
class Columns:
    """How k named numbers become the inputs of a network."""

    names: tuple[str, ...]
    mean: Numbers  # shape (k,)
    std: Numbers  # shape (k,), nowhere zero
    edges: Numbers  # shape (k, BINS + 1): quantiles of each
    actions: tuple[Action, ...] = PLAN_ACTIONS
    """With an input and an output each: those of the plan, and the tries that were learned."""

    @classmethod
    def of(cls, states: Sequence[Seen], tries: Sequence[Action] = ()) -> Columns:
        """Fit to the training states; the names are those of the first state's numbers."""
        names = tuple(states[0].features)
        numbers = table(states, names)
        std = numbers.std(axis=0)
        edges = np.quantile(numbers, np.linspace(0.0, 1.0, BINS + 1), axis=0).T
        return cls(
            names,
            numbers.mean(axis=0).astype(np.float32),
            np.where(std > 0, std, 1.0).astype(np.float32),
            edges.astype(np.float32),
            (*PLAN_ACTIONS, *tries),
        )

    @property
    def width(self) -> int:
        """Number of inputs per state."""
        return len(self.names) * (1 + BINS) + len(self.actions)

    @property
    def indices(self) -> list[int]:
        """The column of each action in arrays of values."""
        return [INDEX[action] for action in self.actions]

    def encode(self, states: Sequence[Seen]) -> Numbers:
        """Shape (n, width): standardised numbers, their ramps, and which actions are valid.

        Raises `KeyError` if a state lacks one of the numbers.
        """
        numbers = table(states, self.names)
        standardised = np.clip((numbers - self.mean) / self.std, -_CLIP, _CLIP)
        low, high = self.edges[:, :-1], self.edges[:, 1:]
        widths = np.where(high > low, high - low, 1.0)
        values = numbers[:, :, None]
        # If many states share a value, its bins have no width; the ramp is a step then.
        ramps = np.where(high > low, np.clip((values - low) / widths, 0.0, 1.0), values >= high)
        return np.concatenate(
            [standardised, ramps.reshape(len(states), -1), valid_columns(states)[:, self.indices]], axis=1
        ).astype(np.float32)


class Fusion(nn.Module):  # type: ignore[misc]
    """Text vector and numbers in, values of the actions and a sufficiency logit out.

    The numbers also have a direct path to the outputs, past the layers shared with the text.
    """

    def __init__(self, text: int, width: int, actions: int) -> None:
        """For a text vector of length ``text`` and encoded numbers of `Columns.width`."""
        super().__init__()
        self.read = nn.Sequential(nn.LayerNorm(text), nn.Linear(text, _HIDDEN))
        self.count = nn.Sequential(nn.Linear(width, _HIDDEN), nn.GELU(), nn.Dropout(_DROPOUT))
        self.join = nn.Sequential(
            nn.Linear(2 * _HIDDEN, _HIDDEN),
            nn.GELU(),
            nn.Dropout(_DROPOUT),
            nn.Linear(_HIDDEN, actions + 1),
        )
        self.direct = nn.Linear(width, actions + 1)

    def forward(self, text: Tensor, numbers: Tensor) -> Tensor:
        """Shape (n, actions + 1): the actions in the order of `Columns.actions`, then sufficiency."""
        joined: Tensor = self.join(torch.cat([self.read(text), self.count(numbers)], dim=-1))
        return joined + self.direct(numbers)


class FusedEncoder(BertPreTrainedModel):  # type: ignore[misc]
    """BERT and `Fusion`, in the form that the trainers of transformers and TRL expect."""

    def __init__(self, config: BertConfig) -> None:
        """From the base's, with ``fused_width`` and ``fused_actions``: `Fusion`'s width and actions."""
        super().__init__(config)
        self.bert = BertModel(config, add_pooling_layer=False)
        self.fusion = Fusion(config.hidden_size, config.fused_width, config.fused_actions)
        self.post_init()

    def forward(self, input_ids: Tensor, attention_mask: Tensor, numbers: Tensor) -> Any:
        """As `Fusion.forward`, for ids and mask of shape (n, tokens) and numbers of shape (n, width)."""
        hidden = self.bert(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        return self.fusion(pooled(hidden, attention_mask), numbers)


def pooled(hidden: Tensor, attention_mask: Tensor) -> Tensor:
    """The mean over the tokens, as in the training of the base."""
    mask = attention_mask.unsqueeze(-1).to(hidden.dtype)
    return (hidden * mask).sum(dim=1) / mask.sum(dim=1)


def build_untrained(base: Path, columns: Columns) -> FusedEncoder:
    """The base's weights with an untrained head; seed torch before."""
    config = BertConfig.from_pretrained(str(base), local_files_only=True)
    config.fused_width, config.fused_actions = columns.width, len(columns.actions)
    config.num_labels = 1  # RewardTrainer checks this; the network does not use it
    config._name_or_path = str(base)  # otherwise a name on the hub, which PEFT would look up
    model = FusedEncoder(config)
    model.bert = read_base(base)
    for layer in model.fusion.modules():
        if isinstance(layer, nn.Linear):
            layer.reset_parameters()  # the base's own initialisation is too small for inputs this wide
    for last in (model.fusion.join[-1], model.fusion.direct):
        nn.init.zeros_(last.weight)  # no action beats the default before training
        nn.init.zeros_(last.bias)
    return model


def read_base(base: Path) -> Any:
    """The base model, in single precision."""
    return BertModel.from_pretrained(
        str(base), add_pooling_layer=False, local_files_only=True, dtype=torch.float32
    )


def merge(bert: Any, adapter: Mapping[str, Tensor], scale: float) -> None:
    """Add a low-rank adapter to ``bert``, in place: W + scale · B A (Hu et al., 2106.09685).

    The adapter is as PEFT stores it, relative to ``bert``, and ``scale`` PEFT's ``lora_alpha / r``. Raises
    `KeyError` or `RuntimeError` if it belongs to another base.
    """
    weights = dict(bert.named_parameters())
    with torch.no_grad():
        for name, a in adapter.items():
            if ".lora_A." in name:
                b = adapter[name.replace(".lora_A.", ".lora_B.")]
                target = name.removeprefix("base_model.model.").replace(".lora_A.", ".")
                weights[target].add_(scale * (b @ a))


def open_tokenizer(base: Path) -> Any:
    """The base's tokenizer, truncating to `TOKENS`; its methods are thread-safe."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(base / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(TOKENS)
    return tokenizer


def token_ids(tokenizer: Any, states: Sequence[Seen]) -> list[list[int]]:
    """Token ids of each state's text, including special tokens."""
    return [list(e.ids) for e in tokenizer.encode_batch([s.text for s in states])]


def padded(ids: Sequence[Sequence[int]], padding: int, multiple: int = 1) -> dict[str, Any]:
    """``input_ids`` and ``attention_mask`` of shape (n, longest), rounded up to a ``multiple``."""
    longest = -(-max(len(i) for i in ids) // multiple) * multiple
    texts = [torch.tensor([*tokens, *[padding] * (longest - len(tokens))]) for tokens in ids]
    lengths = torch.tensor([len(tokens) for tokens in ids])
    mask = torch.arange(longest)[None, :] < lengths[:, None]
    return {"input_ids": torch.stack(texts), "attention_mask": mask.long()}


def network_scores(
    network: Callable[..., Any], states: Sequence[Seen], columns: Columns, tokenizer: Any
) -> Scores:
    """The scores by a ``network`` that gives outputs of shape (n, actions + 1) for ids, mask and numbers.

    The texts are batched by length.
    """
    ids = token_ids(tokenizer, states)
    numbers = torch.from_numpy(columns.encode(states))
    padding = tokenizer.token_to_id("[PAD]")
    order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
    outputs = np.zeros((len(ids), len(columns.actions) + 1))
    with torch.inference_mode():
        for start in range(0, len(order), _BATCH):
            batch = order[start : start + _BATCH]
            inputs = padded([ids[i] for i in batch], padding)
            outputs[batch] = network(**inputs, numbers=numbers[batch]).float().numpy()
    return scores(outputs, states, columns.indices)


def scores(outputs: Floats, states: Sequence[Seen], indices: Sequence[int]) -> Scores:
    """Outputs of shape (n, actions + 1) as scores of the n states.

    An advantage is the action's output less the default's; an action without an output is never best.
    """
    values = np.full((len(states), len(INDEX)), -np.inf)
    values[:, indices] = outputs[:, :-1]
    base = values[np.arange(len(states)), default_columns(states)]
    advantages = np.where(valid_columns(states), values - base[:, None], -np.inf)
    return Scores(advantages, 1.0 / (1.0 + np.exp(-outputs[:, -1])))


class EncoderScorer:
    """A trained encoder. Thread-safe.

    The adapter has low-rank weights by PEFT's names, relative to the base; the head is that of `Fusion`.
    """

    def __init__(
        self,
        base: Path,
        columns: Columns,
        adapter: Mapping[str, Any],
        adapter_config: Mapping[str, Any],
        head: Mapping[str, Any],
    ) -> None:
        self._columns = columns
        self._adapter = dict(adapter)
        self._adapter_config = dict(adapter_config)
        self._head = dict(head)
        with loading(base, "base model of the policy"):
            self._bert = read_base(base).eval()
            merge(self._bert, adapter, float(adapter_config["lora_alpha"]) / float(adapter_config["r"]))
            size = self._bert.config.hidden_size
            self._fusion = Fusion(size, columns.width, len(columns.actions)).eval()
            self._fusion.load_state_dict(head)
            self._tokenizer = open_tokenizer(base)
        self._half = processor_has_bfloat16()
        self._using = threading.Lock()

    def score(self, states: Sequence[Seen]) -> Scores:
        """Scores of ``states``, with an uncalibrated sufficiency.

        Raises `KeyError` if a state lacks a number that the policy was trained on.
        """
        # One call at a time: two would compete for the same cores.
        with self._using:
            return network_scores(self._outputs, states, self._columns, self._tokenizer)

    def _outputs(self, input_ids: Any, attention_mask: Any, numbers: Any) -> Any:
        # Only for the text: advantages differ by less than 0.003 from single precision.
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self._half):
            hidden = self._bert(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        return self._fusion(pooled(hidden.float(), attention_mask), numbers)

    def save(self, folder: Path) -> None:
        """Write adapter and head into ``folder``; the base is not copied."""
        from safetensors.torch import save_file

        save_file(self._adapter, folder / ADAPTER, metadata={"format": "pt"})
        (folder / ADAPTER_CONFIG).write_text(json.dumps(self._adapter_config, indent=2) + "\n", "utf-8")
        arrays = {part: torch.from_numpy(getattr(self._columns, part)) for part in _COLUMNS}
        save_file(
            {
                **{_HEAD_NAME + name: weight for name, weight in self._head.items()},
                **{f"columns.{part}": array.contiguous() for part, array in arrays.items()},
            },
            folder / HEAD,
            metadata={
                "features": json.dumps(self._columns.names),
                "actions": json.dumps(self._columns.actions),
                "method": "reward",
            },
        )


def read(folder: Path, base: Path) -> EncoderScorer:
    """The encoder that `EncoderScorer.save` wrote into ``folder``, with its adapter merged into ``base``.

    Raises `ModelMissing` or `ModelError` if the base cannot be loaded, and `OSError`, `ValueError` or
    `KeyError` if the folder's files are not an encoder's.
    """
    from safetensors import safe_open
    from safetensors.torch import load_file

    with safe_open(folder / HEAD, framework="pt") as file:
        metadata = file.metadata() or {}
        names = json.loads(metadata["features"])
        # Older ones know the actions of the plan alone.
        actions = json.loads(metadata["actions"]) if "actions" in metadata else PLAN_ACTIONS
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    head = {n.removeprefix(_HEAD_NAME): a for n, a in arrays.items() if n.startswith(_HEAD_NAME)}
    mean, std, edges = (arrays[f"columns.{part}"].numpy() for part in _COLUMNS)
    columns = Columns(tuple(names), mean, std, edges, tuple(actions))
    config = json.loads((folder / ADAPTER_CONFIG).read_text("utf-8"))
    return EncoderScorer(base, columns, load_file(folder / ADAPTER), config, head)
