"""The shipped reader's verdicts on claims made to mislead, a set that nothing is trained on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent.cognition.verifying import ReadingVerifier
from agent.session import Session
from agent.state import Claim
from models.protocols import Reader
from tests.agent.evidence import evidence

pytestmark = pytest.mark.model

_REFUSED, _SUPPORTED = 0.85, 0.80  # what must not be called supported, and what must


@pytest.fixture(scope="module")
def reader() -> Reader:
    boxed: Any = pytest.importorskip("models.boxed_reader", reason="the reader is not in this checkout")
    if not (boxed.SHIPPED / boxed.MODEL).is_file():
        pytest.skip("the reader's weights are not in this checkout")
    return boxed.BoxedReader()  # type: ignore[no-any-return]


def test_support(reader: Reader, data: Path, idle_session: Session) -> None:
    path = data / "reading" / "support_test.jsonl"
    if not path.is_file():
        pytest.skip(f"{path} is not there")
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    verifier = ReadingVerifier(reader)
    right: dict[bool, list[bool]] = {True: [], False: []}
    for line in lines:
        kind = "table" if " | " in line["passage"] else "text"
        passage = evidence(1, line["passage"], title="", kind=kind)
        claim = Claim(text=line["claim"], cites=[1], support=0.0, verdict="not", reason="")
        (judged,) = verifier.verify(idle_session, "", [claim], [passage])
        wanted = line["label"] == "supported"
        right[wanted].append((judged["verdict"] == "supported") is wanted)
    shares = {wanted: sum(own) / len(own) for wanted, own in right.items()}
    assert shares[False] >= _REFUSED, shares
    assert shares[True] >= _SUPPORTED, shares
