"""Judges: what they are shown, that nothing is asked twice, and what their judgements decide."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from agent.prompts import judge as instruction
from agent.state import Action
from models.protocols import ModelError
from models.scripted import ScriptedChat
from policy.evaluation.judges import Judge, Judgement, Judgements, digest
from policy.lines import BadLines
from policy.trees import Tree
from tests.policy.trees import node

ALL: tuple[Action, ...] = ("CONTINUE", "REVISE", "FINISH")


def tree(question: str = "q") -> Tree:
    """Three states, two of which leave a choice."""
    nodes = [
        node("", ("CONTINUE", "FINISH"), 0.2),
        node("C", ALL, 1.0),
        node("CR", ("FINISH",), 1.0),
        node("CC", ("FINISH",), 1.0),
    ]
    return Tree(question, "toy", {n.path: n for n in nodes})


def test_a_judge_is_shown_the_state_and_asked_the_runs_question(tmp_path: Path) -> None:
    chat = ScriptedChat([{"A": 3, "C": 1}, {"B": 1, "C": 3}])
    told: list[Judgement] = []
    file = tmp_path / "deep" / "judged.jsonl"
    assert Judgements(file).ask([tree()], chat, told.append) == 2
    chat.assert_consumed()
    assert chat.calls[1].messages[-1].content == f"C\n\n{instruction()}"
    assert chat.calls[1].labels == ("A", "B", "C")
    assert told == Judgements(file).all()
    assert told[0].probabilities == (0.75, 0.0, 0.25)
    assert told[0].milliseconds >= 0


def test_nothing_is_asked_twice_and_a_killed_line_is_asked_again(tmp_path: Path) -> None:
    file = tmp_path / "judged.jsonl"
    with pytest.raises(ModelError):
        Judgements(file).ask([tree()], ScriptedChat([{"A": 1}, ModelError("gone")]))
    assert len(Judgements(file)) == 1
    with file.open("a") as out:
        out.write('{"question": "q", "path": "C", "sta')
    assert len(Judgements(file)) == 1
    assert Judgements(file).ask([tree()], ScriptedChat([{"C": 1}])) == 1
    assert [j.path for j in Judgements(file).all()] == ["", "C"]
    assert Judgements(file).ask([tree()], ScriptedChat([])) == 0


def test_only_the_way_it_would_take_without_finishing_is_judged(tmp_path: Path) -> None:
    nodes = [
        node("", ("CONTINUE",), 0.0),
        node("C", ALL, 0.2),
        node("CC", ("REVISE", "FINISH"), 0.2),
        node("CR", ("CONTINUE", "FINISH"), 0.2),
        node("CRC", ("FINISH",), 1.0),
        node("CCR", ("FINISH",), 1.0),
    ]
    whole = Tree("q", "toy", {n.path: n for n in nodes})
    file = tmp_path / "judged.jsonl"
    assert Judgements(file).ask([whole], ScriptedChat([{"B": 2, "A": 1, "C": 9}, {"A": 1, "C": 9}])) == 2
    found = Judgements(file).all()
    assert [j.path for j in found] == ["C", "CR"]
    judge = Judge(found, found[0].model)
    biases = judge.biases([whole])
    assert all(not judge.outcomes([whole], bias).unknown for bias in [*biases, -99.0, 99.0])
    assert judge.outcomes([whole], -99.0).walks[0].path == "CRC"


def test_what_was_judged_is_known_without_reading_the_file_again(tmp_path: Path) -> None:
    file = tmp_path / "judged.jsonl"
    file.write_text("".join(json.dumps(asdict(one)) + "\n" for one in judgements("other")))
    kept = Judgements(file)
    chat = ScriptedChat([{"A": 1}, {"C": 1}])
    assert kept.ask([tree()], chat) == 2
    file.unlink()
    assert kept.ask([tree()], chat) == 0
    assert kept.of("other") == judgements("other")
    assert kept.all() == [*judgements("other"), *kept.of(chat.name)]
    assert [one.path for one in kept.of(chat.name)] == ["", "C"]


def test_a_state_with_another_text_is_asked_anew(tmp_path: Path) -> None:
    file = tmp_path / "judged.jsonl"
    Judgements(file).ask([tree()], ScriptedChat([{"A": 1}, {"C": 1}]))
    rows = [json.loads(line) | {"state": "other"} for line in file.read_text().splitlines()]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert Judgements(file).ask([tree()], ScriptedChat([{"A": 1}, {"C": 1}])) == 2


@pytest.mark.parametrize(
    "line", ["nonsense", "[]", '{"question": "q"}', '{"probabilities": [1, 2]}', '{"probabilities": 3}']
)
def test_a_file_of_something_else_is_refused(tmp_path: Path, line: str) -> None:
    file = tmp_path / "judged.jsonl"
    file.write_text(line + "\n")
    with pytest.raises(BadLines, match=r"Line 1 of judged\.jsonl"):
        Judgements(file)


def test_probabilities_that_do_not_sum_to_one_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "judged.jsonl"
    row = {"question": "q", "path": "", "state": "s", "model": "m", "milliseconds": 1.0}
    file.write_text(json.dumps({**row, "probabilities": [0.5, 0.1, 0.1]}) + "\n")
    with pytest.raises(BadLines, match="sum to one"):
        Judgements(file)


def judgements(model: str = "m") -> list[Judgement]:
    """Of both states with a choice: hardly finishing at the first, nearly so at the second."""
    nodes = tree().nodes
    return [
        Judgement("q", "", digest(nodes[""]), model, (0.6, 0.3, 0.1), 2_000.0),
        Judgement("q", "C", digest(nodes["C"]), model, (0.1, 0.5, 0.4), 3_000.0),
    ]


def test_a_judge_at_its_natural_point_and_swept() -> None:
    judge = Judge([*judgements(), *judgements("other")], "m")
    assert judge.milliseconds == 2_500.0
    assert judge.outcomes([tree()]).walks[0].path == "CR"
    assert judge.outcomes([tree()], 0.5).walks[0].path == "C"
    assert judge.outcomes([tree()], 5.0).walks[0].path == ""
    assert judge.outcomes([tree()]).name == "judge m"
    biases = judge.biases([tree()])
    assert biases == sorted(biases)
    lengths = [len(judge.outcomes([tree()], bias).walks[0].path) for bias in biases]
    assert lengths == sorted(lengths, reverse=True)


def test_a_judge_that_was_not_asked_is_not_known() -> None:
    judge = Judge(judgements()[:1], "m")
    assert judge.outcomes([tree(), tree("unasked")]).unknown == 2
    assert Judge([], "m").biases([tree()]) == []
