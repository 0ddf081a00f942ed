"""The trained encoder: states in, scores out, and the folder it is stored in."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from models.library_loading import loading
from models.processor import processor_has_bfloat16
from policy.decisions.trees import INDEX, Floats, Seen, default_action
from policy.serving.scorers import Scores
from policy.training.encoder.rows import Columns, open_tokenizer, padded, token_ids

ADAPTER: Final = "adapter_model.safetensors"
ADAPTER_CONFIG: Final = "adapter_config.json"
HEAD: Final = "head.safetensors"
_HEAD_NAME: Final = "fusion."
_BATCH = 32


class EncoderScorer:
    """A trained encoder. Thread-safe.

    Args:
        base: Folder of the base model.
        columns: How numbers are encoded.
        adapter: Low-rank weights by PEFT's names, relative to the base.
        adapter_config: As PEFT writes it.
        head: Weights of `policy.training.encoder.network.Fusion`.
    """

    method: Final = "reward"

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
            self._outputs = _merged_network(base, columns.width, adapter, adapter_config, head)
            self._tokenizer = open_tokenizer(base)
        self._padding = int(self._tokenizer.token_to_id("[PAD]"))
        self._using = threading.Lock()

    def score(self, states: Sequence[Seen]) -> Scores:
        """Scores of ``states``; the sufficiency is uncalibrated, the wrapper calibrates it.

        Raises:
            KeyError: a state lacks a number the policy was trained on.
        """
        # One call at a time: two would compete for the same cores.
        with self._using:
            outputs = in_batches(self._outputs, states, self._columns, self._tokenizer, self._padding)
        return scores(outputs, states)

    def save(self, folder: Path) -> None:
        """Write adapter and head into ``folder``; the base is not copied."""
        from safetensors.torch import save_file

        save_file(self._adapter, folder / ADAPTER, metadata={"format": "pt"})
        (folder / ADAPTER_CONFIG).write_text(json.dumps(self._adapter_config, indent=2) + "\n", "utf-8")
        import torch

        save_file(
            {
                **{_HEAD_NAME + name: weight for name, weight in self._head.items()},
                **{name: torch.from_numpy(a).contiguous() for name, a in self._columns.arrays().items()},
            },
            folder / HEAD,
            metadata={"features": json.dumps(self._columns.names), "method": self.method},
        )

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the numbers it reads."""
        return self._columns.names


def read(folder: Path, base: Path) -> EncoderScorer:
    """The encoder that `EncoderScorer.save` wrote into ``folder``, with its adapter merged into ``base``.

    Raises:
        ModelMissing: the base is missing.
        ModelError: the base cannot be loaded, or is a different one.
        OSError, ValueError, KeyError: the folder's files are not an encoder's.
    """
    from safetensors import safe_open
    from safetensors.torch import load_file

    with safe_open(folder / HEAD, framework="pt") as file:
        names = json.loads((file.metadata() or {})["features"])
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    head = {n.removeprefix(_HEAD_NAME): a for n, a in arrays.items() if n.startswith(_HEAD_NAME)}
    columns = Columns.from_arrays(
        names, {n: a.numpy() for n, a in arrays.items() if not n.startswith(_HEAD_NAME)}
    )
    config = json.loads((folder / ADAPTER_CONFIG).read_text("utf-8"))
    return EncoderScorer(base, columns, load_file(folder / ADAPTER), config, head)


def scores(outputs: Floats, states: Sequence[Seen]) -> Scores:
    """Outputs as scores: each action's less the default's; minus infinity if not valid.

    Args:
        outputs: Shape (n, 4).
        states: The n states.
    """
    rows = np.full((len(states), len(INDEX)), -np.inf)
    for at, state in enumerate(states):
        default = INDEX[default_action(state.valid)]
        for action in state.valid:
            rows[at, INDEX[action]] = outputs[at, INDEX[action]] - outputs[at, default]
    return Scores(rows, 1.0 / (1.0 + np.exp(-outputs[:, len(INDEX)])))


def in_batches(
    network: Callable[..., Any],
    states: Sequence[Seen],
    columns: Columns,
    tokenizer: Any,
    padding: int,
) -> Floats:
    """The network's outputs, shape (n, 4), in the order of the states; texts are batched by length."""
    import torch

    ids = token_ids(tokenizer, states)
    numbers = torch.from_numpy(columns.encode(states))
    order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
    outputs = np.zeros((len(ids), len(INDEX) + 1))
    with torch.inference_mode():
        for start in range(0, len(order), _BATCH):
            batch = order[start : start + _BATCH]
            inputs = padded([ids[i] for i in batch], padding)
            outputs[batch] = network(**inputs, numbers=numbers[batch]).float().numpy()
    return outputs


def _merged_network(
    base: Path, width: int, adapter: Mapping[str, Any], config: Mapping[str, Any], head: Mapping[str, Any]
) -> Callable[..., Any]:
    """The network for inference, as a function of ids, mask and numbers."""
    import torch

    from policy.training.encoder.network import Fusion, merge, pooled, read_base

    bert = read_base(base).eval()
    merge(bert, adapter, float(config["lora_alpha"]) / float(config["r"]))
    fusion = Fusion(bert.config.hidden_size, width)
    fusion.load_state_dict(head)
    fusion.eval()
    half = processor_has_bfloat16()

    def outputs(input_ids: Any, attention_mask: Any, numbers: Any) -> Any:
        # Only for the text: advantages differ by less than 0.003 from single precision.
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=half):
            hidden = bert(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        return fusion(pooled(hidden.float(), attention_mask), numbers)

    return outputs
