"""What BENCHMARKS.md says of the evaluation is what its rows say."""

from __future__ import annotations

from pathlib import Path

from policy.evaluation.rows import Row, Rows
from tests.benchmarks.evaluation import PAGE, ROWS, SETS, digest, merge, with_digest


def test_the_readme_has_the_table_of_the_committed_rows() -> None:
    text = PAGE.read_text("utf-8")
    assert with_digest(text, Rows(ROWS).all()) == text


def test_committed_rows_go_on_and_give_way_to_those_of_the_work_folder(tmp_path: Path) -> None:
    committed, work = Rows(tmp_path / "committed.jsonl"), Rows(tmp_path / "work" / "rows.jsonl")
    for rows, question, answer in (
        (committed, "a", "old"),
        (committed, "b", "kept"),
        (work, "a", "new"),
        (work, "c", "own"),
    ):
        rows.add(Row("s", question, "shallow", "m", answer))
    merge(tmp_path / "committed.jsonl", tmp_path / "work" / "rows.jsonl")
    found = Rows(tmp_path / "work" / "rows.jsonl").all()
    assert {row.question: row.answer for row in found} == {"a": "new", "b": "kept", "c": "own"}


def test_the_seed_stands_beside_the_others_on_its_own_questions() -> None:
    def made(question: str, system: str, seconds: float) -> Row:
        return Row(SETS[0], question, system, "m", "", measures={"f1": 0.0, "em": 0.0, "seconds": seconds})

    text = digest([made("a", "seed", 90), made("a", "lean learned", 20), made("b", "lean learned", 40)])
    assert "| lean learned | 0.0 (2) | – | – | 30 |" in text
    _, _, beside = text.partition("m, the questions that seed was asked")
    assert "| seed | 0.0 (1) | – | – | 90 |\n| lean learned | 0.0 (1) | – | – | 20 |" in beside


def test_a_table_is_made_from_rows() -> None:
    rows = [
        Row(
            SETS[0],
            str(n),
            system,
            "llama.cpp:m",
            "",
            measures={"f1": f1, "em": f1, "steps": 2.0, "abstained": 0.0},
        )
        for n in range(2)
        for system, f1 in (("shallow", 0.0), ("lean learned", 0.5))
    ]
    made = with_digest(
        "a\n<!-- evaluation: made by tests.benchmarks.evaluation -->x<!-- /evaluation -->\nb", rows
    )
    assert "| lean learned | 50.0 (2) | 2.0 | – | – |" in made
    assert "- +50.0 [+50.0, +50.0] to `shallow` on 2 questions; +50.0 [+50.0, +50.0] on the 2 that" in made
    assert made.startswith("a\n")
    assert made.endswith("\nb")


def test_the_default_model_is_told_of_first() -> None:
    names = ("llama.cpp:another", "llama.cpp:qwen2.5-coder-0.5b", "llama.cpp:qwen2.5-coder-1.5b")
    rows = [
        Row(SETS[0], "a", system, model, "", measures={"f1": 0.0, "em": 0.0, "steps": 1.0})
        for model in names
        for system in ("seed", "lean learned")
    ]
    lines = digest(rows).splitlines()
    heads = [line.partition(",")[0] for line in lines if line.startswith(("qwen", "another"))]
    assert heads == [name.partition(":")[2] for name in reversed(names) for _ in range(2)]
