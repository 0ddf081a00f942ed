"""Scores from letters, and the scorer's folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from policy.decisions.returns import Examples
from policy.decisions.trees import INDEX
from policy.serving.folder import BadPolicy, Base, Data, Manifest, RuleValues
from policy.training.causal import adapters
from policy.training.causal.base import load_tokenizer, open_base
from policy.training.causal.prompt import QUESTION, Prompter
from policy.training.causal.scorer import CausalScorer, load
from tests.policy.training.causal.warned import by_the_old_name

pytestmark = by_the_old_name


@pytest.fixture
def scorer(tiny: Path, tmp_path: Path) -> CausalScorer:
    """The tiny base with an adapter that was pushed away from doing nothing."""
    return pushed(tiny, tmp_path / "adapter")


def pushed(tiny: Path, folder: Path) -> CausalScorer:
    """A scorer whose adapter is random, not the nothing that a fresh one is."""
    import torch

    base = open_base(tiny)
    model = adapters.fresh(base, seed=0)
    torch.manual_seed(1)
    for name, weight in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weight, std=0.1)
    adapters.write(model, base, folder)
    kept = {name: (folder / name).read_bytes() for name in (adapters.CONFIG, adapters.WEIGHTS)}
    exact = adapters.merged(base, folder, exact=True).eval()
    return CausalScorer("dpo", base, Prompter(load_tokenizer(base.folder), 160), exact, kept)


def test_the_default_action_is_the_zero_and_what_is_not_valid_is_out(
    scorer: CausalScorer, examples: Examples
) -> None:
    scores = scorer.score(examples.states)
    assert scores.advantages.shape == (30, 3)
    assert np.all(scores.advantages[:, INDEX["CONTINUE"]] == 0.0)
    closed = [i for i, state in enumerate(examples.states) if "REVISE" not in state.valid]
    assert np.all(np.isneginf(scores.advantages[closed, INDEX["REVISE"]]))
    assert np.all((scores.sufficiency > 0) & (scores.sufficiency < 1))


def test_a_batch_scores_as_its_states_alone_do(scorer: CausalScorer, examples: Examples) -> None:
    states = [replace(s, text=s.text + " and more" * (i % 7)) for i, s in enumerate(examples.states[:12])]
    together = scorer.score(states)
    for row, state in enumerate(states):
        alone = scorer.score([state])
        assert alone.advantages[0] == pytest.approx(together.advantages[row], abs=1e-3)
        assert alone.sufficiency[0] == pytest.approx(together.sufficiency[row], abs=1e-3)
    assert scorer.score([]).advantages.shape == (0, 3)


def test_saved_and_loaded_it_scores_the_same(
    scorer: CausalScorer, examples: Examples, tiny: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "policy"
    folder.mkdir()
    scorer.save(folder)
    assert {path.suffix for path in folder.iterdir()} == {".json", ".safetensors"}
    assert str(tmp_path) not in "".join(p.read_text() for p in folder.glob("*.json"))
    again = load(folder, _manifest(), tiny)
    assert again.method == "dpo"
    # The loaded one may compute in 16 bits, where this machine is faster at that.
    assert again.logits(["question: 1"])[0] == pytest.approx(scorer.logits(["question: 1"])[0], abs=0.1)


def test_a_policy_of_another_prompt_is_refused(scorer: CausalScorer, tiny: Path, tmp_path: Path) -> None:
    scorer.save(tmp_path)
    settings = tmp_path / "causal.json"
    settings.write_text(settings.read_text().replace("Continue (C)", "Go on (C)"))
    with pytest.raises(BadPolicy, match="another prompt"):
        load(tmp_path, _manifest(), tiny)


def test_a_long_state_loses_its_end_and_never_the_question_for_the_letter(tiny: Path) -> None:
    prompter = Prompter(load_tokenizer(open_base(tiny).folder), most=20)
    short, long = prompter.text("a b c"), prompter.text("a b c " * 100)
    assert short == "a b c" + QUESTION
    assert long.endswith(QUESTION)
    assert len(prompter.ids("a b c " * 100)) <= 20 + len(prompter.tokenizer(QUESTION)["input_ids"])


def _manifest() -> Manifest:
    return Manifest(
        name="dpo-1",
        method="dpo",
        state_version=3,
        created="2026-01-01T00:00:00+00:00",
        base=Base(name="tiny", sha256="0" * 64),
        data=Data(sha256="0" * 64, questions=1, decisions=1),
        features=[],
        rule=RuleValues(margin=0.0, temperature=1.0),
    )
