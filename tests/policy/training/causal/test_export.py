"""The exported file computes what the policy computes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.protocols import ModelError
from policy.decisions.trees import Floats
from policy.training.causal.base import open_base
from policy.training.causal.export import export_gguf, modelfile
from policy.training.causal.prompt import QUESTION
from policy.training.causal.scorer import CausalScorer
from tests.policy.training.causal.test_scorer import pushed
from tests.policy.training.causal.warned import by_the_old_name

pytestmark = by_the_old_name

STATES = [
    f"question: who won in {1900 + n}?\nstep {n}, 2 left; plan 1 of 2\n0.{n} Title: text" for n in range(10)
]


def test_llama_cpp_reads_the_letters_as_pytorch_does(tiny: Path, tmp_path: Path) -> None:
    scorer = pushed(tiny, tmp_path / "adapter")
    out = export_gguf(tmp_path / "adapter", tiny, tmp_path / "policy.gguf")
    ours, theirs = scorer.logits(STATES), llama_cpp_logits(out, scorer, STATES)
    assert theirs == pytest.approx(ours, abs=0.3)
    # The adapter is in it: the base alone says something else.
    base = llama_cpp_logits(tiny, scorer, STATES)
    assert np.abs(base - ours).max() > 3 * np.abs(theirs - ours).max()


def test_what_the_adapter_left_alone_goes_over_as_it_is(tiny: Path, tmp_path: Path) -> None:
    from gguf import GGUFReader

    pushed(tiny, tmp_path / "adapter")
    out = export_gguf(tmp_path / "adapter", tiny, tmp_path / "policy.gguf")
    before, after = GGUFReader(tiny), GGUFReader(out)
    assert [t.name for t in after.tensors] == [t.name for t in before.tensors]
    kept = {t.name: t for t in after.tensors}
    for tensor in before.tensors:
        if "norm" in tensor.name or "embd" in tensor.name:
            assert np.array_equal(tensor.data, kept[tensor.name].data)
            assert tensor.tensor_type == kept[tensor.name].tensor_type
        else:
            assert kept[tensor.name].tensor_type.name == "F16"
    tokens = "tokenizer.ggml.tokens"
    assert after.fields[tokens].contents() == before.fields[tokens].contents()
    assert not list(tmp_path.glob("*.unfinished"))


def test_a_base_that_never_was_a_gguf_file_cannot_be_exported(tiny: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="needs the GGUF file"):
        export_gguf(tmp_path, open_base(tiny).folder, tmp_path / "policy.gguf")


def test_the_modelfile_asks_for_one_letter_after_the_state() -> None:
    written = modelfile("policy.gguf")
    assert "FROM ./policy.gguf\n" in written
    assert f'TEMPLATE """{{{{ .Prompt }}}}{QUESTION}"""' in written
    assert "PARAMETER num_predict 1\n" in written


def llama_cpp_logits(file: Path, scorer: CausalScorer, states: list[str]) -> Floats:
    """The letters' logits as llama.cpp computes them, from the prompts' own text."""
    from models.llama_cpp.library import load_library

    load_library()
    import llama_cpp

    model: Any = llama_cpp.Llama(str(file), n_ctx=512, n_threads=1, verbose=False)
    letters = list(scorer.prompter.letters.values())
    rows = []
    for state in states:
        prompt = scorer.prompter.text(state)
        tokens = model.tokenize(prompt.encode(), add_bos=False)
        assert tokens == scorer.prompter.ids(state)
        model.reset()
        model.eval(tokens)
        logits = np.ctypeslib.as_array(model._ctx.get_logits(), shape=(model.n_vocab(),))
        rows.append(logits[letters].astype(np.float64))
    model.close()
    return np.array(rows)
