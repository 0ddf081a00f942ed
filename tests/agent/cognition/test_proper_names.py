"""Names by their capitals."""

from __future__ import annotations

import pytest

from agent.cognition.proper_names import known_names, names, stands
from agent.retrieval.terms import terms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("How much did Orlavane's insurer pay?", ["Orlavane"]),
        ("Calder Bend makes heat pumps. Production rose in May.", ["Calder", "Bend"]),
        ("Production rose.", []),
        ("The plant is in Calder Bend, Ohio.", ["Calder", "Bend", "Ohio"]),
        ("Was it filmed by Mark L. Lester?", ["Mark", "L", "Lester"]),
    ],
)
def test_names(text: str, expected: list[str]) -> None:
    assert names(text) == expected


def test_a_known_name_is_one_where_a_sentence_begins_too() -> None:
    known = known_names(["It is made by Haldrecht."])
    assert known == {"Haldrecht"}
    assert names("Haldrecht makes it.", known) == ["Haldrecht"]
    assert names("Haldrecht makes it.") == []


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("Tolvang", "TOLVANG CERAMICS", True),
        ("Germany", "a German plant", True),
        ("Calder", "the Caldra 160", False),
    ],
)
def test_stands(name: str, text: str, *, expected: bool) -> None:
    assert stands(name, set(terms(text))) is expected
