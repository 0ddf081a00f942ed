"""Training texts as the product shows them, and where an answer stands in them."""

from __future__ import annotations

from agent.text.terms import terms
from tests.benchmarks.reader.passages import body, cut, evidence, place, places

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
