"""`deepthink policy`, `train-policy`, `train-planner` and `evaluate`, and a run that a policy decides."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from policy.serving import folder as folders
from policy.serving.folder import GAIN, Gate
from policy.serving.registry import Registry, policies_dir
from policy.training import progress
from policy.training.course import TrainingRequest
from tests.policy import made
from tests.policy.made import Preferring, policy
from tests.policy.training.made import collected
from tests.scripted import HashEmbedder
from tests.tui.conftest import QUESTION, Answering, Run
from tests.tui.policy.trained import PASSED, Trainer, judged, learning
from tui.failures import EXIT_CODES
from tui.terminal import moment

A, B, C = (f"forest-20261121-{hour}0000" for hour in (10, 11, 12))
SHIPPED = "forest-20261101-000000"
FAILED = Gate(passed=False, reason="It is slow.", rule="Better.", measures={GAIN: [0.03, 0.01, 0.05]})
NO_GAIN = FAILED.model_copy(
    update={"reason": "27 questions are few.", "measures": {GAIN: [0.0, -0.1, 0.1]}}
)


@pytest.fixture(autouse=True)
def method_forest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Policies are loaded by the stand-in."""
    monkeypatch.setattr(folders, "read_scorer", made.load)


@pytest.fixture
def boxed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A policy is in the box, which finishes whenever it may."""
    monkeypatch.setattr("policy.serving.registry._SHIPPED", tmp_path / "box")
    return policy(tmp_path / "box", SHIPPED)


@pytest.fixture
def own() -> Path:
    """A person has two of their own, of which the gate has passed one; their folder."""
    policy(policies_dir(), A)
    policy(policies_dir(), B, gate=FAILED)
    return policies_dir()


def _plain(text: str) -> str:
    return " ".join(text.split())


# --- the commands ----------------------------------------------------------------------------------------


def test_without_any_policy_the_way_to_one_is_told(deepthink: Run) -> None:
    ran = deepthink("policy")
    assert (ran.code, ran.err) == (0, "")
    assert "deepthink train-policy" in ran.out
    assert "deepthink train-policy" in deepthink("policy", "show").out


@pytest.mark.usefixtures("boxed", "own")
def test_the_list_marks_the_active_one_and_tells_the_gates_word(deepthink: Run) -> None:
    policy(policies_dir(), C, gate=NO_GAIN)
    assert "gate not surely better: 27 questions" in _plain(deepthink("policy", "show", C).out)
    lines = [_plain(line) for line in deepthink("policy", "list").out.splitlines()]
    assert lines.pop(3).endswith("not surely better")
    assert lines[2].startswith(f"● {SHIPPED} forest 2026-11-21 ")
    assert lines[2].endswith("500 questions, 3,000 decisions passed, built in")
    assert lines[3].startswith(f"{B} forest")
    assert lines[3].endswith("not passed")
    assert lines[4].endswith("passed")


@pytest.mark.usefixtures("boxed", "own")
def test_use_and_rollback(deepthink: Run) -> None:
    ran = deepthink("policy", "use", A)
    assert (ran.code, ran.out, ran.err) == (0, f"{A} is active now.\n", "")
    assert Registry().active().name == A
    assert f"{A} your own, active since " in _plain(deepthink("policy", "show").out)
    ran = deepthink("policy", "rollback")
    assert ran.out == "The built-in policy is active now.\n"
    assert "No policy was active before." in deepthink("policy", "rollback").refused()
    shown = _plain(deepthink("policy", "show").out)
    assert "rolled back to box" in shown
    assert f"chosen {A}" in shown
    assert f"made {moment('2026-11-21T20:30:00+00:00')}" in shown


@pytest.mark.usefixtures("boxed")
def test_a_spoiled_folder_is_told_and_leaves_the_active_one(deepthink: Run, own: Path) -> None:
    (own / A / "model.pkl").write_bytes(b"")
    said = "could run a stranger's code"
    for command in (("use", A, "--force"), ("show", A)):
        assert said in deepthink("policy", *command).refused(4)
    assert Registry().active().name == "box"
    assert said in _plain(deepthink("policy", "list").out)


@pytest.mark.usefixtures("boxed", "own")
def test_only_ones_own_can_be_removed_and_only_with_a_yes(deepthink: Run) -> None:
    assert "--yes" in deepthink("policy", "remove", A).refused()
    for stays, *yes in ((SHIPPED,), ("box",), (SHIPPED, "-y"), ("box", "-y")):
        told = deepthink("policy", "remove", stays, *yes).refused()
        assert ("stays" in told, "--yes" in told) == (True, False)
    assert deepthink("policy", "remove", A, "--yes").out == f"Deleted the policy {A}.\n"
    assert not (policies_dir() / A).exists()


# --- a run ------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("boxed", "own", "library")
def test_a_promoted_policy_drives_the_next_question(deepthink: Run) -> None:
    policy(policies_dir(), "late-1", save=Preferring("CONTINUE", 0.2).save)
    for name, steps in (("late-1", 2), (A, 1)):
        assert deepthink("policy", "use", name).code == 0
        answer = json.loads(deepthink("ask", QUESTION, "--json").out)
        assert (answer["decider"], len(answer["steps"])) == (f"learned:{name}", steps)
        assert {d["source"] for d in answer["decisions"]} == {"learned"}


# --- training -------------------------------------------------------------------------------------------


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[TrainingRequest]:
    """Requests that were made; each is answered with a short training."""
    events = [
        progress.Warned("3 runs are left out."),
        *learning(40, 40),
        progress.HeldOut(40, 0.45, 0.41, 2.1),
        *judged(PASSED),
    ]
    return Trainer(events).take_place(monkeypatch).requests


def test_it_shows_data_progress_and_the_gates_word(asked: list[TrainingRequest], deepthink: Run) -> None:
    ran = deepthink("train-policy")
    assert ran.code == 0
    assert asked == [TrainingRequest()]
    lines = [" ".join(line.split()) for line in ran.out.splitlines() if line.strip()]
    del lines[4:11]  # the rest of the data sheet, and what it works out then
    assert lines == [
        "Reading what there is to learn from.",
        "learned from",
        lines[2],  # a rule
        "questions, 2wiki 1,602 to learn from, 398 held out",
        "Training: value.",
        "held-out questions after step 0: value 0.352 with 2.31 steps, default schedule 0.388",
        "Training: value. 1 of 40 loss 0.868, about 35 s left",
        "held-out questions after step 40: value 0.450 with 2.10 steps, default schedule 0.410",
        "Calibrating, and choosing the margin, on held-out questions.",
        "Asking the gate.",
        "Writing the policy.",
        f"The gate: passed. {PASSED.reason}",
        "value-20261121-203000 is in policies/value-20261121-203000",
        "It is active now; `deepthink policy rollback` goes back to the previous one.",
    ]
    assert "3 runs are left out." in ran.err


def test_every_option_arrives(asked: list[TrainingRequest], deepthink: Run, tmp_path: Path) -> None:
    one, other = str(tmp_path / "one.duckdb"), str(tmp_path / "other.parquet")
    deepthink(
        *("train-policy", "--method", "reward", "--from", one, "--from", other, "--base", "some-base"),
        *("--cost", "0.1", "--name", "mine", "--epochs", "2", "--steps", "7", "--seed", "3", "--force"),
    )
    assert asked == [
        TrainingRequest(
            "reward", (Path(one), Path(other)), "some-base", 0.1, "mine", 3, 2.0, 7, activation="force"
        )
    ]
    assert asked[0].command == (
        "deepthink train-policy --method reward --from one.duckdb --from other.parquet --base some-base "
        "--cost 0.1 --name mine --seed 3 --epochs 2 --steps 7"
    )


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--name", "Not A Name"), "small letters"),
        (("--name", "box"), "not box"),
        (("--force", "--no-activate"), "contradict"),
        (("--method", "magic"), "magic"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    arguments: tuple[str, ...], told: str, asked: list[TrainingRequest], deepthink: Run
) -> None:
    assert told in deepthink("train-policy", *arguments).refused()
    assert not asked


def test_too_few_decisions_are_told_with_the_way_to_more(deepthink: Run, tmp_path: Path) -> None:
    ran = deepthink("train-policy", "--from", str(collected(tmp_path / "few.duckdb", 5)))
    assert ran.code == 4
    assert "of 5 questions to learn from" in ran.err
    assert "deepthink collect" in ran.err
    assert Registry().active().name == "box"


def test_a_planner_needs_corrected_plans_and_can_be_dropped(deepthink: Run, library: Path) -> None:
    few = deepthink("train-planner")
    assert few.code == EXIT_CODES["input"]
    assert "0 plans" in few.err
    assert "no planner of your own" in deepthink("train-planner", "--drop").out


# --- evaluating -----------------------------------------------------------------------------------------

SYSTEMS = "shallow,search-and-guess,lean"


@pytest.fixture
def chat(monkeypatch: pytest.MonkeyPatch) -> Answering:
    model = Answering()
    monkeypatch.setattr("tui.policy.evaluating.open_chat", lambda _settings: model)
    monkeypatch.setattr("tui.policy.evaluating.open_embedder", lambda _settings: HashEmbedder())
    return model


@pytest.fixture
def questions(folder: Path, deepthink: Run, tmp_path: Path) -> Path:
    """Questions about two documents of the person's own."""
    assert deepthink("ingest", str(folder), "-c", "facts").code == 0
    asked: list[dict[str, Any]] = [
        {"id": "a", "question": QUESTION, "answer": "Tolvang Ceramics", "evidence": ["supplier.md"]},
        {"id": "b", "question": "Who owns the moon?"},
    ]
    file = tmp_path / "mine.jsonl"
    file.write_text("\n".join(map(json.dumps, asked)), "utf-8")
    return file


def test_from_questions_to_tables_and_again_without_the_model(
    questions: Path, chat: Answering, deepthink: Run, tmp_path: Path
) -> None:
    out = tmp_path / "out" / "table.md"
    first = deepthink("evaluate", str(questions), "--systems", SYSTEMS, "--out", str(out))
    assert (first.code, first.err) == (0, "")
    assert chat.closed
    assert "mine, scripted" in first.out
    for system in SYSTEMS.split(","):
        assert system in first.out
    table = out.read_text("utf-8")
    assert "deepthink evaluate mine.jsonl --systems" in table
    assert str(tmp_path) not in table

    def silent(_options: object) -> None:
        raise AssertionError("it was asked again")

    chat.during = silent
    again = deepthink("evaluate", str(questions), "--systems", SYSTEMS)
    assert again.code == 0
    assert "6 of 6" in again.out
    assert "search-and-guess" in deepthink("evaluate", "report").out
    rows = json.loads(deepthink("evaluate", "report", "--json").out)
    assert {row["system"] for row in rows} == set(SYSTEMS.split(","))
    shown = deepthink("evaluate", "show", "a").out
    assert "search-and-guess" in shown
    assert "Tolvang" in shown
    assert "No finished question is called zzz." in deepthink("evaluate", "show", "zzz").refused()


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["collect", "--questions", "none.jsonl"], 4, "none.jsonl cannot be read"),
        (["evaluate", "sample", "--systems", "deep"], 2, "There is no system “deep”."),
        (["evaluate", "sample", "--limit", "0"], 2, "--limit"),
        (["evaluate", "sample", "--out", "."], 2, "is a folder"),
        (["evaluate", "report", "--out", ".."], 2, "is a folder"),
        (["evaluate", "report", "--out", "t.md", "--json"], 2, "Leave one of them out."),
        (["evaluate", "report"], 2, "There is no finished question yet."),
    ],
)
def test_wrong_input_is_a_sentence(arguments: list[str], code: int, told: str, deepthink: Run) -> None:
    assert told in deepthink(*arguments).refused(code)
