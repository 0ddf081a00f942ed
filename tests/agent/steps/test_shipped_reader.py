"""The shipped reader's verdicts on claims made to mislead, a set that nothing is trained on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from agent.budget import Budget
from agent.session import Session
from agent.state import Claim
from agent.steps.verify import verify_by_reader
from models.boxed_reader.reader import BoxedReader
from models.protocols import Support
from tests.agent.made import evidence
from tests.scripted import ScriptedChat

pytestmark = pytest.mark.model

_KEPT = 0.72, 0.26  # a floor under what the shipped reader reaches: no later one may fall below it


class _Unasked(BoxedReader):
    """Takes every claim for a likely answer: the test has no questions."""

    def judge(self, question: str, pairs: Sequence[tuple[str, str]]) -> list[Support]:
        return [Support(0.6, 0.2, 0.2) for _ in pairs]


@pytest.fixture(scope="module")
def reader() -> BoxedReader:
    return _Unasked()


@pytest.fixture(scope="module")
def shares(data: Path, reader: BoxedReader) -> tuple[float, float]:
    """Shares of the false claims not called supported, and of the supported ones called so."""
    path = data / "reading" / "support_test.jsonl"
    if not path.is_file():
        pytest.skip(f"{path} is not there")
    session = Session(ScriptedChat([]), Budget(), lambda _event: None)
    right: dict[bool, list[bool]] = {True: [], False: []}
    for line in map(json.loads, path.read_text(encoding="utf-8").splitlines()[::2]):  # that is enough
        kind = "table" if " | " in line["passage"] else "text"
        passage = evidence(1, line["passage"], title="", kind=kind)
        claim = Claim(text=line["claim"], cites=[1], support=0.0, verdict="not", reason="")
        (judged,) = verify_by_reader(reader, session, [""], [claim], [passage])
        wanted = line["label"] == "supported"
        right[wanted].append((judged["verdict"] == "supported") is wanted)
    return sum(right[False]) / len(right[False]), sum(right[True]) / len(right[True])


def test_it_does_not_fall_behind_itself(shares: tuple[float, float]) -> None:
    assert shares[0] >= _KEPT[0], shares
    assert shares[1] >= _KEPT[1], shares


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("A full service costs £110.", "supported"),
        ("The price of a full service is £110.", "supported"),
        ("A full service costs £44.", "not"),
    ],
)
def test_a_price_is_read_with_the_currency_in_the_heading_of_its_column(
    reader: BoxedReader, text: str, verdict: str
) -> None:
    table = "Service | Price (£) | With parts (£) | Warranty months\nFull service | 110 | 150 | 12\n"
    passage = evidence(1, f"{table}Bottom bracket replacement | 44 | 70 | 6", kind="table")
    session = Session(ScriptedChat([]), Budget(), lambda _event: None)
    claim = Claim(text=text, cites=[1], support=0.0, verdict="not", reason="")
    (judged,) = verify_by_reader(reader, session, [""], [claim], [passage])
    assert judged["verdict"] == verdict
