"""Names by their capitals."""

from __future__ import annotations

import pytest
from agent.cognition.proper_names import names


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
