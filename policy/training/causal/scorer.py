"""A causal policy at work: the logits of three letters at the end of a prompt."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from agent.state import ACTIONS
from policy.decisions.trees import INDEX, Floats, Seen, default_action
from policy.serving.folder import BadPolicy, Manifest
from policy.serving.scorers import Scores
from policy.training.causal import adapters
from policy.training.causal.base import CausalBase, device, load_tokenizer, open_base
from policy.training.causal.prompt import LETTERS, QUESTION, Method, Prompter

_SETTINGS: Final = "causal.json"
_BATCH: Final = {"cpu": 8, "cuda": 64}


class CausalScorer:
    """A `policy.serving.scorers.Scorer`. Thread-safe: one batch at a time.

    Args:
        method: How it was trained.
        base: What was adapted.
        prompter: Of the base's tokenizer.
        model: Base and adapter in one.
        adapter: The adapter's files by name, to be saved again.
    """

    def __init__(
        self, method: Method, base: CausalBase, prompter: Prompter, model: Any, adapter: Mapping[str, bytes]
    ) -> None:
        self._method = method
        self.base = base
        self.prompter = prompter
        self._model = model
        self._adapter = dict(adapter)
        self._using = threading.Lock()

    @property
    def method(self) -> Method:
        """``sft`` or ``dpo``."""
        return self._method

    def score(self, states: Sequence[Seen]) -> Scores:
        """Scores of ``states``, in their order: advantages in log-odds; the sufficiency is the probability
        of FINISH, calibrated by whoever wraps this.
        """
        logits = self.logits([state.text for state in states])
        advantages = np.full_like(logits, -np.inf)
        for row, state in enumerate(states):
            default = logits[row, INDEX[default_action(state.valid)]]
            for action in state.valid:
                advantages[row, INDEX[action]] = logits[row, INDEX[action]] - default
        shares = np.exp(logits - np.logaddexp.reduce(logits, axis=1, keepdims=True))
        return Scores(advantages, shares[:, INDEX["FINISH"]])

    def logits(self, texts: Sequence[str]) -> Floats:
        """Logits of the letters, shape (n, 3), columns as `policy.decisions.trees.INDEX`."""
        prompts = [self.prompter.ids(text) for text in texts]
        found = np.empty((len(texts), len(ACTIONS)))
        # A batch is as slow as its longest prompt, so prompts of like length share one.
        order = sorted(range(len(texts)), key=lambda i: len(prompts[i]))
        size = _BATCH[device()]
        for start in range(0, len(order), size):
            batch = order[start : start + size]
            with self._using:
                found[batch] = self._batch([prompts[i] for i in batch])
        return found

    def save(self, folder: Path) -> None:
        """Write adapter and settings into ``folder``; `load` reads them back."""
        for name, content in self._adapter.items():
            (folder / name).write_bytes(content)
        settings = {
            "method": self._method,
            "question": QUESTION,
            "letters": dict(LETTERS),
            "most_tokens": self.prompter.most,
        }
        (folder / _SETTINGS).write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")

    def _batch(self, prompts: Sequence[Sequence[int]]) -> Floats:
        import torch

        longest = max(map(len, prompts))
        pad = self.prompter.tokenizer.pad_token_id
        ids = [[pad] * (longest - len(prompt)) + list(prompt) for prompt in prompts]
        seen = [[0] * (longest - len(prompt)) + [1] * len(prompt) for prompt in prompts]
        place = self._model.device
        with torch.inference_mode():
            out = self._model(
                input_ids=torch.tensor(ids, device=place),
                attention_mask=torch.tensor(seen, device=place),
                logits_to_keep=1,
                use_cache=False,
            )
        letters = [self.prompter.letters[action] for action in ACTIONS]
        found: Floats = out.logits[:, -1, letters].float().cpu().numpy().astype(np.float64)
        return found


def load(folder: Path, manifest: Manifest, base: Path | None) -> CausalScorer:
    """The causal policy in ``folder``.

    Args:
        folder: As `CausalScorer.save` wrote it.
        manifest: Of the policy.
        base: A GGUF file or a model folder; None for the default one.

    Raises:
        BadPolicy: its prompt is not the one that this version writes.
        ModelMissing, ModelError: the base is missing or cannot be loaded.
    """
    settings = json.loads((folder / _SETTINGS).read_text(encoding="utf-8"))
    if settings["question"] != QUESTION or settings["letters"] != dict(LETTERS):
        raise BadPolicy(
            f"The policy {manifest.name} was trained with another prompt than this version writes.",
            "Train it again: `deepthink train-policy`.",
        )
    return open_adapter(settings["method"], open_base(base), folder, settings["most_tokens"])


def open_adapter(method: Method, base: CausalBase, adapter: Path, most: int) -> CausalScorer:
    """A scorer of a base and an adapter's folder.

    Args:
        method: How the adapter was trained.
        base: What it adapts.
        adapter: Its folder.
        most: Tokens of a state.

    Raises:
        ModelMissing, ModelError: the base cannot be loaded.
    """
    prompter = Prompter(load_tokenizer(base.folder), most)
    model = adapters.merged(base, adapter)
    kept = {name: (adapter / name).read_bytes() for name in (adapters.CONFIG, adapters.WEIGHTS)}
    return CausalScorer(method, base, prompter, model.to(device()).eval(), kept)
