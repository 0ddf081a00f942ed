"""From texts to examples, a trained network, its int8 file and back, with a network of one layer."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agent.text.terms import terms
from models.boxed_reader.reader import MODEL, SHIPPED, TOKENIZER, BoxedReader
from models.boxed_reader.windows import Windows
from tests.benchmarks.reader.data import (
    VERDICTS,
    Example,
    Pool,
    another_notation,
    context_of,
    exchanged,
    groups_of,
    held_out_articles,
    judged_answers,
    written,
)
from tests.benchmarks.reader.held_out import Claim, Question
from tests.benchmarks.reader.making import UNCALIBRATED, pack
from tests.benchmarks.reader.network import Weights, export, network, recovered
from tests.benchmarks.reader.passages import body, cut, evidence, place, places
from tests.benchmarks.reader.rows import collate, encoded, save
from tests.benchmarks.reader.training import BASE, ROWS, SEEN, TRAINED, train

TABLE = """Prices in euros.

 | Junior | Top stylist
Cut, short | 29 | 48
Cut, long | 41 | 65
"""


def asked(question: str) -> set[str]:
    return set(terms(question))


def test_a_table_becomes_a_passage_with_its_column_heads() -> None:
    [table] = [one for one in cut(TABLE) if one.kind == "table"]
    assert "Cut, long: 41 (Junior), 65 (Top stylist)" in body(table.text, table.kind)
    [table] = cut("| Item | 2022 |\n|---|---|\n| Revenue | 3,418 |")
    assert body(table.text, table.kind) == "Revenue: 3,418 (2022)"


def test_prose_is_evidence_as_it_is() -> None:
    assert evidence("The river flows.\nIt is long.") == "The river flows.\nIt is long."
    assert "65 (Top stylist)" in evidence(TABLE)


def test_of_equal_cells_the_asked_one_is_taken() -> None:
    passage = "North: 12 (2021), 14 (2022)\nSouth: 12 (2022), 14 (2021)"
    found = place("12", asked("South in 2022"), passage)
    assert found is not None
    assert found.span[0] > passage.index("South")


def test_half_a_word_is_no_answer() -> None:
    assert place("art", asked("what"), "the party started") is None
    assert place("art", asked("what"), "the art of it") is not None


def test_the_passage_that_holds_most_of_a_list_is_taken() -> None:
    passages = ["Only apples here.", "There are apples, pears and plums."]
    found = places(["apples", "pears"], asked("which fruit"), passages)
    [(number, spans)] = found.items()
    assert number == 1
    assert [passages[1][start:end] for start, end in spans] == ["apples", "pears"]
    assert places(["figs"], asked("which fruit"), passages) == {}


PASSAGE = "Travel\nFlights are approved by the office manager. Trains need no approval."
GROUPS = [
    [
        Example("who approves flights", PASSAGE, answers=True, spans=((31, 49),)),
        Example("who approves flights", "Leave\nEveryone has 30 days.", answers=False),
    ],
    [Example("Trains need approval.", PASSAGE, verdict="refuted")],
]


@pytest.fixture(scope="module")
def windows() -> Windows:
    from tokenizers import Tokenizer

    return Windows(Tokenizer.from_file(str(SHIPPED / TOKENIZER)))


@pytest.fixture(scope="module")
def weights() -> Weights:
    """Of a network with one narrow layer and the words of the shipped tokenizer."""
    from transformers import BertConfig, BertForSequenceClassification

    shape = BertConfig(
        hidden_size=32, num_hidden_layers=1, num_attention_heads=1, intermediate_size=64, num_labels=1
    )
    state = BertForSequenceClassification(shape).state_dict()
    draw = np.random.default_rng(0)
    return {
        name: value.numpy() + draw.normal(scale=0.01, size=value.shape).astype(np.float32)
        for name, value in state.items()
        if "position_ids" not in name
    }


def test_tokens_of_an_answer_are_found_again(windows: Windows) -> None:
    [(right, wrong), (claim,)] = encoded(GROUPS, windows)
    [[window]] = windows.of([(GROUPS[0][0].text, PASSAGE)])
    [(first, last)] = right.spans
    start, end = window.offsets[first - right.body][0], window.offsets[last - right.body][1]
    assert PASSAGE[start:end] == "the office manager"
    assert (right.answers, wrong.answers, wrong.spans) == (1, 0, ())
    assert (claim.answers, claim.verdict) == (-1, 1)


def test_a_batch_tells_where_answers_may_be_and_what_is_learned(windows: Windows) -> None:
    batch = collate(encoded(GROUPS, windows))
    assert batch["group"].tolist() == [0, 0, 1]
    assert batch["allowed"][:, 0].all()
    assert batch["start"].sum(-1).tolist() == [1, 1, 1]
    assert batch["start"][1, 0] == 1
    assert not (batch["start"].bool() & ~batch["allowed"]).any()


def test_what_is_held_out_is_not_learned_from(tmp_path: Path) -> None:
    folder = tmp_path / "written"
    folder.mkdir()
    (folder / "notes.jsonl").write_text("".join(f'{{"title": "{n}"}}\n' for n in range(20)), "utf-8")
    learned = {one["title"] for one in written(tmp_path, held_out=False)}
    kept = {one["title"] for one in written(tmp_path, held_out=True)}
    assert kept == {"0", "8", "16"}
    assert not learned & kept
    lines = "".join(f'{{"title": "article {n:02}"}}\n' for n in range(15))
    (tmp_path / "squad-2.0-dev.jsonl").write_text(lines, "utf-8")
    assert held_out_articles(tmp_path) == {"article 00", "article 07", "article 14"}


def test_a_wrong_passage_never_holds_the_answer() -> None:
    contexts = [
        context_of({"title": str(n), "context": text, "qas": qas})
        for n, (text, qas) in enumerate(
            [
                ("The fee is 30 euros.", [{"question": "What is the fee?", "answers": ["30 euros"]}]),
                ("The fee of the club is 30 euros.", []),
                ("The fee of the pool is 45 euros.", [{"question": "What is the dress?", "answers": []}]),
            ]
        )
    ]
    made = list(groups_of(Pool(contexts, near=0.0), random.Random(0), wrong=1.0))
    [[right, wrong], [absent]] = made
    assert right.answers is True
    assert [right.passage[start:end] for start, end in right.spans] == ["30 euros"]
    assert wrong.answers is False
    assert "45 euros" in wrong.passage
    assert absent.answers is False


@pytest.mark.parametrize(
    ("claim", "same", "other"),
    [
        ("The fee is 1,200,000 euros.", "The fee is 1.2 million euros.", "The fee is 12,000,000 euros."),
        ("The fee is 3 million euros.", "The fee is 3,000,000 euros.", "The fee is 3 billion euros."),
        ("It ends on 5 March 2024.", "It ends on 2024-03-05.", "It ends on 2024-04-05."),
        ("It lasts 24 months.", "It lasts 2 years.", "It lasts 24 years."),
    ],
)
def test_a_figure_in_another_notation_keeps_its_verdict(claim: str, same: str, other: str) -> None:
    example = Example(claim, claim, verdict="supported")
    changed = (another_notation(example, random.Random(seed)) for seed in range(60))
    made = {(one.text, one.verdict) for one in changed if one}
    assert {(same, "supported"), (other, "refuted")} <= made
    assert {verdict for text, verdict in made if text == same} == {"supported"}


def test_a_name_of_the_passage_in_the_place_of_a_claims_own_refutes_it() -> None:
    claim = Example(
        "The lease with Meyer ends in 2031.", "Meyer until 2031, Hansen 2028.", verdict="supported"
    )
    made = [one for seed in range(20) if (one := exchanged(claim, random.Random(seed)))]
    texts = {"The lease with Hansen ends in 2031.", "The lease with Meyer ends in 2028."}
    assert {(one.text, one.verdict) for one in made} == {(text, "refuted") for text in texts}


def test_an_answer_is_judged_by_the_question_it_is_for() -> None:
    text = "The fee is 30 euros. The deposit is 45 euros."
    qas = [
        {"question": "What is the fee?", "answers": ["30 euros"], "sentence": "It is 30 euros."},
        {"question": "What is the deposit?", "answers": ["45 euros"]},
        {"question": "What is the fine?", "answers": []},
    ]
    contexts = [
        context_of({"title": "Club", "context": text, "qas": qas}),
        context_of({"title": "Pool", "context": "The fee of the pool is low.", "qas": []}),
    ]
    made = {
        (one.text.casefold(), one.verdict)
        for seed in range(40)
        for (one,) in judged_answers(Pool(contexts, near=0.0), random.Random(seed))
    }
    assert ("what is the fee? it is 30 euros.", "supported") in made
    assert ("what is the fee? it is 45 euros.", "refuted") in made
    assert ("what is the deposit? 30 euros", "refuted") in made
    assert ("what is the fine? it is 30 euros.", "neither") in made
    assert not {verdict for text, verdict in made if "fine" in text} - {"neither"}


def test_an_exported_network_scores_as_before_and_comes_back(weights: Weights, tmp_path: Path) -> None:
    import torch

    reader = network(weights).eval()
    state = {name: value.numpy().copy() for name, value in reader.state_dict().items()}
    export(state, tmp_path / MODEL)
    back = recovered(tmp_path / MODEL)
    assert set(back) == set(state)
    for name, value in state.items():
        assert np.abs(back[name] - value).max() <= 0.02 * np.abs(value).max() + 1e-6, name
    pack(tmp_path / MODEL, SHIPPED / TOKENIZER, tmp_path / "out", UNCALIBRATED, {})
    [[(window, score)]] = BoxedReader(tmp_path / "out").scores([("who", PASSAGE)])
    ids = torch.tensor([window.ids])
    with torch.no_grad():
        answers, start, *_ = reader(
            ids, torch.ones_like(ids), (torch.arange(ids.shape[1]) >= window.second)[None].long()
        )
    assert score.answers == pytest.approx(float(answers[0]), abs=0.05)
    assert score.start == pytest.approx(start[0].numpy(), abs=0.1)


def test_training_goes_on_and_ends_by_the_clock(weights: Weights, windows: Windows, tmp_path: Path) -> None:
    from safetensors.numpy import load_file, save_file

    save_file(weights, tmp_path / BASE)
    save(encoded(GROUPS * 20, windows), tmp_path / ROWS)
    train(tmp_path, minutes=0.02)
    trained = load_file(tmp_path / TRAINED)
    assert json.loads((tmp_path / SEEN).read_text())["groups"] > 0
    assert np.abs(trained["classifier.weight"] - weights["classifier.weight"]).max() > 0
    words = "bert.embeddings.word_embeddings.weight"
    assert np.array_equal(trained[words], weights[words])


def test_probabilities_are_fitted_to_what_was_right(windows: Windows) -> None:
    from models.boxed_reader.reader import Score, judgement, reading
    from tests.benchmarks.reader.calibration import ScoredQuestion, calibrated

    draw = np.random.default_rng(0)
    [[window]] = windows.of([("who", PASSAGE)])

    def score(answers: float, support: Any) -> list[tuple[Any, Score]]:
        start, end = np.zeros((2, len(window.ids)), dtype=np.float32)
        if answers > 0:
            start[window.body + 4] = end[window.body + 6] = 5.0
        return [(window, Score(answers, start, end, np.array(support, dtype=np.float32)))]

    asked = Question("who", (PASSAGE, PASSAGE), ("the office manager",), frozenset({0}), "", 0)
    absent = Question("what", (PASSAGE,), (), frozenset(), "", 0)
    manager = PASSAGE.index("the office manager")
    span = (0, manager, manager + len("the office manager"))
    questions = [
        *(
            ScoredQuestion(
                asked,
                (score(2 + draw.normal(), [0, 0, 0]), score(-2 + draw.normal(), [0, 0, 0])),
                {span: score(0, [2, 0, 0])},
            )
            for _ in range(40)
        ),
        *(
            ScoredQuestion(absent, (score(2 + draw.normal(), [0, 0, 0]),), {span: score(0, [0, 2, 0])})
            for _ in range(8)
        ),
    ]
    claims = [
        (Claim("c", PASSAGE, verdict, "", 0), score(0, np.eye(3)[n] + 0.5 * draw.normal(size=3)))
        for _ in range(40)
        for n, verdict in enumerate(VERDICTS)
    ]
    found = calibrated(questions, claims)
    assert reading(PASSAGE, score(3.0, [0, 0, 0]), found).probability > 0.7
    assert reading(PASSAGE, score(-3.0, [0, 0, 0]), found).probability < 0.2
    assert judgement(np.array([3, 0, 0], dtype=np.float32), found).supported > 0.8
    assert found.checked[1] > 0
