"""Every system is asked every question once: rows on disk, resumed, failures told."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from agent.budget import Budget
from models.protocols import Message, ModelError
from policy.evaluation.evaluating import BadLines, Row, Rows, UnknownSystem, checked, evaluate
from policy.evaluation.systems import Parts
from policy.questions import CaseSet, Progress
from tests.agent.conftest import UnsureReader
from tests.policy.evaluation.working import CASE, WRITTEN, reply
from tests.scripted import HashEmbedder, Plain, Scripted, ScriptedChat
from traces.store import Store

OTHER = replace(CASE, id="2", question="Who supplies the bearings of Orlavane?")
CASES = CaseSet("toy", (CASE, OTHER))
SYSTEMS = ("shallow", "search-and-guess", "lean")


def answers(messages: Sequence[Message]) -> Plain:
    """Whatever is asked: the loop's prompts as elsewhere, the rest in one sentence."""
    try:
        return reply(messages)
    except AssertionError:
        return "Tolvang Ceramics supplies them [1]."


@pytest.fixture
def template(library: Path) -> Path:
    return library


def going(
    store: Store,
    work: Path,
    chat: ScriptedChat,
    cancel: threading.Event | None = None,
    cases: CaseSet = CASES,
    systems: Sequence[str] = SYSTEMS,
) -> tuple[list[Progress], list[Row]]:
    parts = Parts(chat, HashEmbedder(), UnsureReader(), store, (), Budget(revisions=0), cancel=cancel)
    file = work / "rows.jsonl"
    return list(evaluate(cases, systems, parts, Rows(file))), Rows(file).all()


def model(calls: int = 200) -> ScriptedChat:
    replies: list[Scripted] = [answers] * calls
    return ScriptedChat(replies)


def test_every_question_is_put_to_every_system(store: Store, tmp_path: Path) -> None:
    told, rows = going(store, tmp_path, model())
    assert sorted((row.question, row.system) for row in rows) == sorted(
        (case.id, system) for case in CASES.cases for system in SYSTEMS
    )
    assert (told[0].done, told[-1].done, told[-1].total) == (0, 6, 6)
    assert told[-1].seconds_left == 0.0
    assert {row.model for row in rows} == {"scripted"}
    by_system = {row.system: row for row in rows if row.question == "1"}
    assert by_system["shallow"].measures["steps"] == 1.0
    assert by_system["shallow"].answer == WRITTEN
    assert by_system["lean"].answer.startswith("Tolvang Ceramics supplies the bearings")
    assert by_system["lean"].measures["right"] == 1.0


def test_a_stopped_evaluation_goes_on(store: Store, tmp_path: Path) -> None:
    cancel = threading.Event()
    cancel.set()
    told, rows = going(store, tmp_path, model(0), cancel)
    assert not rows
    assert told[-1].done == 0
    _, whole = going(store, tmp_path, model(), systems=("shallow",))
    assert len(whole) == 2
    _, whole = going(store, tmp_path, model(), systems=("shallow", "search-and-guess"))
    assert len(whole) == 4


def test_a_question_that_fails_is_told_and_asked_again_next_time(store: Store, tmp_path: Path) -> None:
    broken = ScriptedChat([ModelError("It broke."), answers, answers])
    told, rows = going(store, tmp_path, broken, systems=("shallow",))
    assert [row.question for row in rows] == ["2"]
    assert told[-1].failed == (f"shallow, {CASE.question}: It broke.",)
    _, rows = going(store, tmp_path, model(), systems=("shallow",))
    assert [row.question for row in rows] == ["2", "1"]


def test_systems_stand_in_the_order_of_the_tables() -> None:
    assert checked(("lean", "shallow")) == ("shallow", "lean")
    assert checked(())[0] == "shallow"
    with pytest.raises(UnknownSystem, match="no system “deep”"):
        checked(("deep",))


def test_a_question_whose_right_answer_is_another_now_is_asked_again(store: Store, tmp_path: Path) -> None:
    going(store, tmp_path, model(), systems=("shallow",))
    mended = replace(CASES, cases=(replace(CASE, answers=("Haldrecht",)), OTHER))
    told, rows = going(store, tmp_path, model(), cases=mended, systems=("shallow",))
    assert (told[0].done, told[-1].done) == (1, 2)
    assert len(rows) == 2
    assert {row.measures["right"] for row in rows if row.question == "1"} == {0.0}


# The rows in their file

ONE = Row("toy", "one", "lean", "small", "Ann", measures={"right": 0.5})
TWO = Row("toy", "two", "lean", "small", "")


def test_what_was_added_is_read_again_but_for_a_last_line_that_was_cut_off(tmp_path: Path) -> None:
    file = tmp_path / "work" / "rows.jsonl"
    rows = Rows(file)
    assert rows.all() == []
    newer = replace(ONE, answer="Bea")
    for row in (ONE, TWO, newer):
        rows.add(row)
    assert rows.all() == Rows(file).all() == [newer, TWO], "the newest of a key counts"
    whole = file.read_bytes()
    file.write_bytes(whole + whole[:20])
    assert Rows(file).all() == [newer, TWO]
    assert file.read_bytes() == whole


@pytest.mark.parametrize("line", ["nothing", "[]", "{}", '{"questions": "toy", "measures": 3}'])
def test_a_damaged_line_is_told_by_its_number(tmp_path: Path, line: str) -> None:
    file = tmp_path / "rows.jsonl"
    Rows(file).add(ONE)
    file.write_text(f"{file.read_text('utf-8')}{line}\n", "utf-8")
    with pytest.raises(BadLines, match=r"Line 2 of rows\.jsonl"):
        Rows(file)
