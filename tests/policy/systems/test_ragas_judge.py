"""RAGAS's metrics with a scripted judge, by hand; what a judge may do wrong; without the package."""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import pytest
from pydantic import BaseModel

from models.protocols import GenerationCancelled, Reply, Usage
from models.scripted import HashEmbedder, Scripted, ScriptedChat
from policy.systems import ragas_judge
from policy.systems.answers import Answer
from policy.systems.ragas_judge import (
    FAITHFULNESS,
    METRICS,
    PRECISION,
    RECALL,
    RELEVANCY,
    Judge,
    NotGiven,
    RagasMissing,
    applies,
    ragas_metrics,
    require_ragas,
)

ANSWER = Answer(
    "toy",
    "1",
    "shallow",
    "m",
    "Who supplies the bearings of Orlavane?",
    ("Tolvang Ceramics",),
    "Tolvang Ceramics supplies them [1]. It is in Brevnes [2] (not supported by the sources).",
    ("Weather. It rained.", "Annual report. Tolvang Ceramics supplies Orlavane.", "Fire. A kiln burned."),
)
needs_ragas = pytest.mark.skipif(find_spec("ragas") is None, reason="the optional package ragas")


class Line(BaseModel):
    statement: str
    verdict: int


class Lines(BaseModel):
    lines: list[Line]


GOOD = {"lines": [{"statement": "a", "verdict": 1}, {"statement": "b", "verdict": 0}]}


def test_the_judge_is_held_to_the_shape_and_to_verdicts_of_0_or_1() -> None:
    with ScriptedChat([("Judge it.", GOOD)]) as chat:
        assert Judge(chat).generate("Judge it.", Lines) == Lines.model_validate(GOOD)
    options = chat.calls[0].options
    assert options.temperature == 0
    assert options.schema is not None
    assert options.schema["$defs"]["Line"]["properties"]["verdict"]["enum"] == [0, 1]
    assert "enum" not in options.schema["$defs"]["Line"]["properties"]["statement"]


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("I think so.", "not of the wanted shape"),
        ({"lines": [{"statement": "a"}]}, "not of the wanted shape"),
        ({"lines": [{"statement": "a", "verdict": 7}]}, "neither 0 nor 1"),
        (Reply('{"lines": [', Usage(), "length"), "no end within 1024 tokens"),
    ],
)
def test_what_cannot_be_used_is_no_judgement(said: Scripted, why: str) -> None:
    with ScriptedChat([said]) as chat, pytest.raises(NotGiven, match=why):
        Judge(chat).generate("Judge it.", Lines)


def test_a_prompt_that_does_not_fit_is_no_judgement() -> None:
    chat = ScriptedChat([GOOD], context_tokens=1030)
    with pytest.raises(NotGiven, match="did not fit"):
        Judge(chat).generate("word " * 10, Lines)


def test_a_judge_is_stopped() -> None:
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(GenerationCancelled):
        Judge(ScriptedChat([GOOD]), cancel).generate("Judge it.", Lines)


def test_a_metric_is_asked_only_of_what_it_says_something_of() -> None:
    def asked(answer: Answer) -> list[str]:
        return [metric for metric in METRICS if applies(metric, answer)]

    assert asked(ANSWER) == [FAITHFULNESS, RELEVANCY, PRECISION, RECALL]
    assert asked(replace(ANSWER, passages=())) == [RELEVANCY]
    assert asked(replace(ANSWER, gold=())) == [FAITHFULNESS, RELEVANCY]
    assert asked(replace(ANSWER, text=" [1]")) == [PRECISION, RECALL]


def test_without_the_package_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ragas_judge, "find_spec", lambda _name: None)
    for tried in (require_ragas, lambda: ragas_metrics(ScriptedChat([]), HashEmbedder())):
        with pytest.raises(RagasMissing) as told:
            tried()
        assert "pip install 'deepthink-tui[ragas]'" in told.value.way_out


def test_a_package_that_cannot_be_imported_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ragas_judge, "find_spec", lambda _name: object())
    for name in ("ragas", "ragas.embeddings", "ragas.embeddings.base"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(RagasMissing, match="cannot be imported"):
        ragas_metrics(ScriptedChat([]), HashEmbedder())


def scored(metric: str, replies: list[Scripted], **changes: Any) -> float:
    """One metric of `ANSWER`; every reply is used up."""
    with ScriptedChat(replies) as chat:
        return ragas_metrics(chat, HashEmbedder())[metric](replace(ANSWER, **changes))


def verdicts(*given: int) -> Mapping[str, Any]:
    return {"statements": [{"statement": "a", "reason": "r", "verdict": one} for one in given]}


@needs_ragas
def test_faithfulness_is_the_share_of_statements_that_the_passages_support() -> None:
    two: Scripted = ("Tolvang Ceramics supplies them. It is in Brevnes.", {"statements": ["a", "b"]})
    assert scored(FAITHFULNESS, [two, verdicts(1, 0)]) == 0.5
    assert scored(FAITHFULNESS, [two, ("It rained", verdicts(1, 1, 1, 0))]) == 0.75


@needs_ragas
def test_an_answer_without_statements_has_no_faithfulness() -> None:
    with pytest.raises(NotGiven, match="nothing to give a verdict on"):
        scored(FAITHFULNESS, [{"statements": []}])


@needs_ragas
def test_relevancy_is_the_likeness_of_the_questions() -> None:
    same = {"question": ANSWER.asked, "noncommittal": 0}
    assert scored(RELEVANCY, [same]) == pytest.approx(1.0)
    assert scored(RELEVANCY, [{**same, "noncommittal": 1}]) == 0.0
    embedder = HashEmbedder()
    other = "What burned in Brevnes?"
    cosine = float(embedder.embed_query(ANSWER.asked) @ embedder.embed_query(other))
    assert scored(RELEVANCY, [{"question": other, "noncommittal": 0}]) == pytest.approx(cosine)


@needs_ragas
def test_context_precision_is_the_mean_precision_at_the_useful_passages() -> None:
    def useful(*given: int) -> list[Scripted]:
        return [{"reason": "r", "verdict": one} for one in given]

    assert scored(PRECISION, useful(0, 1, 1)) == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert scored(PRECISION, useful(1, 0, 0)) == pytest.approx(1.0)
    assert scored(PRECISION, useful(0, 0, 0)) == 0.0


@needs_ragas
def test_context_recall_is_the_share_of_the_gold_answer_that_the_passages_hold() -> None:
    def held(*given: int) -> Scripted:
        lines = [{"statement": "a", "reason": "r", "attributed": one} for one in given]
        return "Tolvang Ceramics", {"classifications": lines}

    assert scored(RECALL, [held(1)]) == 1.0
    assert scored(RECALL, [held(1, 0, 0)]) == pytest.approx(1 / 3)
    with pytest.raises(NotGiven):
        scored(RECALL, [held()])


@needs_ragas
def test_nothing_is_sent_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    def no(*_arguments: object) -> None:
        raise AssertionError("it wants the network")

    monkeypatch.setattr(socket.socket, "connect", no)
    monkeypatch.setattr(socket, "getaddrinfo", no)
    assert scored(RELEVANCY, [{"question": ANSWER.asked, "noncommittal": 0}]) == pytest.approx(1.0)
    from ragas._analytics import do_not_track

    assert do_not_track()
