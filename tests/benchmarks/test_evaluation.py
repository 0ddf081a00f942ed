"""What the README says of the evaluation is what its rows say."""

from __future__ import annotations

from policy.systems.rows import Row, Rows
from tests.benchmarks.evaluation import README, ROWS, SETS, with_digest


def test_the_readme_has_the_table_of_the_committed_rows() -> None:
    text = README.read_text("utf-8")
    assert with_digest(text, Rows(ROWS).all()) == text


def test_a_table_is_made_from_rows() -> None:
    rows = [
        Row(SETS[0], str(n), system, "llama.cpp:m", "", measures={"f1": f1, "em": f1, "steps": 2.0})
        for n in range(2)
        for system, f1 in (("shallow", 0.0), ("lean learned", 0.5))
    ]
    made = with_digest(
        "a\n<!-- evaluation: made by tests.benchmarks.evaluation -->x<!-- /evaluation -->\nb", rows
    )
    assert "| lean learned | 50.0 (2) | 2.0 | – | – |" in made
    assert "+50.0 [+50.0, +50.0] over shallow" in made
    assert made.startswith("a\n")
    assert made.endswith("\nb")
