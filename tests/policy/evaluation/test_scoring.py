"""Scoring against hand-worked cases."""

from __future__ import annotations

import pytest

from policy.evaluation.scoring import exact_match, f1, holds, normalise


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
        ("Yes.", ["yes"], 1.0),
        ("yes, both", ["yes"], 0.0),
        ("1,284", ["1284"], 1.0),
        ("AC/DC", ["ACDC"], 1.0),  # punctuation goes without a gap in its place
        ("New-York", ["New York"], 0.0),
        ("The The", [""], 1.0),  # a band of articles: nothing is left of it, as in all the scripts
        ("“Rumours”", ["Rumours"], 0.0),  # only ASCII punctuation goes
        ("Theatre", ["atre"], 0.0),
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
        ("No.", ["no"], 1.0),
        ("no", ["yes"], 0.0),
        ("noanswer", ["no answer"], 0.0),
        ("yes", ["no path through fire"], 0.0),
        ("path through fire", ["No Path Through Fire"], 6 / 7),  # within a name it is a word like others
        ("The The", ["the"], 1.0),  # MuSiQue's script; HotpotQA's gives 0
        ("the", ["red"], 0.0),
        ("New York City", ["NYC", "New York"], 0.8),  # the best alias counts
        ("red red red", ["red red"], 0.8),  # words count as often as both have them
        ("in 1984, on the 4th of July", ["July 4th, 1984"], 2 / 3),  # 6 words, 3 of them right
        ("", [], 0.0),
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
        ("Its Annual Report.", "Ann", False),
        ("Ann's report.", "Ann", True),
        ("The report of Ann", "ann", True),
        ("It was Joanne.", "Anne", False),
        ("It took seven weeks in all.", "7 weeks; seven weeks", False),
        ("The U.S. Army.", "U.S.", True),
        ("总部在柏林的公司", "柏林", True),
        ("公司NVIDIA的总部", "NVIDIA", True),
        ("**No**, they are not.", "no", True),
        ("They are unknown; no source says so.", "no", False),
        ("No-one was.", "no", False),
        ("Nobody knows.", "no", False),
        ("No passage says so.", "no", False),
        ("Yes [1].", "yes", True),
        ("Yesterday.", "yes", False),
    ],
)
def test_holds(text: str, gold: str, expected: bool) -> None:
    assert holds(text, [gold]) is expected
