"""What the planner learns from, and that an adapter computes in llama.cpp what it computes in PyTorch."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from agent.steps.plan_text import Plan, PlanRequest, look_up, parse, prompt, reply
from models.boxed_planner.planner import BoxedPlanner
from models.llama_cpp.engine import Engine
from models.protocols import ModelError
from policy.training.adapters import WEIGHTS, Base, export, load_tokenizer, load_weights
from policy.training.plan_fitting import fit
from tests.benchmarks.planner.data import HELD_OUT_EVERY, Example, examples, natural
from tests.benchmarks.planner.evaluation import figures, written
from tests.tiny_model import write_tiny


def test_every_plan_to_learn_is_read_back_and_none_is_of_a_question_that_is_held_out(data: Path) -> None:
    made = examples(data / "reading", data / "multihop")
    odd = [one for one in made if not _same(one)]
    assert len(made) > 3_000
    assert len(odd) / len(made) < 0.005  # two spaces in a question, or a repeated look-up
    held_out = {_asked(one) for one in natural(data / "reading" / "plans", held_out=True)}
    assert len(held_out) > 2_000 // HELD_OUT_EVERY
    assert not held_out & {_asked(one) for one in made}


def _same(one: Example) -> bool:
    return parse(reply(one.plan, one.request), one.request) == one.plan


def _asked(one: Example) -> tuple[object, ...]:
    return one.request.question, tuple(one.request.history), tuple(one.request.findings)


pytestmark = pytest.mark.filterwarnings(  # PEFT asks transformers by the old name
    "ignore:`is_gradient_checkpointing` is deprecated:FutureWarning"
)


def _example(number: int) -> Example:
    request = PlanRequest(f"rent {number} and fee {number}")
    steps = [look_up(f"rent {number}"), look_up(f"fee {number}")]
    return Example("multi", request, Plan("search", request.question, steps))


EXAMPLES = [_example(number) for number in range(72)]
LESSONS = [(one.request, one.plan) for one in EXAMPLES]


@pytest.fixture(scope="module")
def adapter(base: Base, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fit(LESSONS, base, tmp_path_factory.mktemp("work"))


def test_llama_cpp_computes_what_pytorch_computes(base: Base, adapter: Path, tmp_path: Path) -> None:
    import torch
    from peft import PeftModel

    export(adapter, base.gguf, tmp_path / "adapter.gguf")
    tokenizer = load_tokenizer(base.folder)
    exact = load_weights(base.folder, exact=True)
    model = PeftModel.from_pretrained(exact, str(adapter)).merge_and_unload().eval()
    adapted = Engine(base.gguf, context_tokens=256, threads=1, adapter=tmp_path / "adapter.gguf")
    plain = Engine(base.gguf, context_tokens=256, threads=1)
    for example in EXAMPLES[:3]:
        ids = tokenizer(prompt(example.request), add_special_tokens=False)["input_ids"]
        assert adapted.tokenize(prompt(example.request), special=False) == ids
        with torch.inference_mode():
            wanted = model(torch.tensor([ids])).logits[0, -1].float().numpy()
        for engine in (adapted, plain):
            engine.evaluate(ids)
        adapted.adapt(False)
        adapted.evaluate(ids)
        assert np.array_equal(adapted.logits(), plain.logits())
        adapted.adapt(True)
        adapted.evaluate(ids)
        apart = np.abs(adapted.logits() - wanted).max()
        assert apart < 0.2 * np.abs(plain.logits() - wanted).max()


def test_a_finished_training_is_not_done_again(base: Base, adapter: Path) -> None:
    written_at = (adapter / WEIGHTS).stat().st_mtime_ns
    assert fit(LESSONS, base, adapter.parent) == adapter
    assert (adapter / WEIGHTS).stat().st_mtime_ns == written_at


def test_a_planner_is_measured_by_kind_of_question(base: Base, adapter: Path, tmp_path: Path) -> None:
    export(adapter, base.gguf, tmp_path / "adapter.gguf")
    measured = figures(written(BoxedPlanner(base.gguf, tmp_path / "adapter.gguf"), EXAMPLES[:2]))
    assert measured["all"]["questions"] == measured["multi"]["questions"] == 2


def test_an_adapter_for_another_kind_of_model_is_refused(adapter: Path, tmp_path: Path) -> None:
    other = write_tiny(tmp_path / "llama.gguf")
    with pytest.raises(ModelError, match="llama"):
        export(adapter, other, tmp_path / "adapter.gguf")
    (tmp_path / "broken.gguf").write_bytes(b"GGUF")
    with pytest.raises(ModelError, match=r"broken\.gguf"):
        Engine(other, context_tokens=64, adapter=tmp_path / "broken.gguf")
