"""Scoring against hand-worked cases."""

from __future__ import annotations

import pytest

from policy.scoring import exact_match, f1, holds, normalise


def test_normalise() -> None:
    assert normalise("The  U.S. Army's An-2!") == "us armys an2"


@pytest.mark.parametrize(
    ("prediction", "golds", "expected"),
    [
        ("The Beatles", ["beatles"], 1.0),
        ("Beatles", ["Stones", "The Beatles"], 1.0),
        ("a beatle", ["beatles"], 0.0),
        ("", [""], 1.0),
        ("", ["x"], 0.0),
        ("x", [], 0.0),
    ],
)
def test_exact_match(prediction: str, golds: list[str], expected: float) -> None:
    assert exact_match(prediction, golds) == expected


@pytest.mark.parametrize(
    ("prediction", "golds", "expected"),
    [
        ("the red house", ["red house"], 1.0),
        ("red house", ["red"], 2 / 3),
        ("red red", ["red"], 2 / 3),
        ("blue", ["red"], 0.0),
        ("yes", ["yes"], 1.0),
        ("yes indeed", ["yes"], 0.0),
        ("no", ["no way"], 0.0),
        ("", ["red"], 0.0),
        ("", [""], 1.0),
        ("red", ["blue", "red"], 1.0),
    ],
)
def test_f1(prediction: str, golds: list[str], expected: float) -> None:
    assert f1(prediction, golds) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("text", "gold", "expected"),
    [
        ("Tolvang Ceramics; a fire; seven weeks.", "Tolvang Ceramics; fire; seven weeks", True),
        ("Revenue was $26,974 million.", "26974", True),
        ("Revenue was 126.9.", "26.9", False),
        ("Revenue was 26.95.", "26.9", False),
        ("It was 26.9.", "26.9", True),
        ("Nothing.", "", False),
    ],
)
def test_holds(text: str, gold: str, expected: bool) -> None:
    assert holds(text, [gold]) is expected
