"""The short form of `tests.soak.fuzz`: some runs on models that answer anything."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from agent.steering import Steering
from tests.soak.fuzz import ENDS, filled, fuzzed
from traces.store import Store

RUNS = 50


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    store = filled(Path(tmp_path_factory.mktemp("fuzz")))
    with duckdb.connect(str(store.path)):
        yield store


def test_no_run_raises_overspends_or_ends_without_an_answer_or_a_reason(library: Store) -> None:
    results = [fuzzed(number, library) for number in range(RUNS)]
    assert [result for result in results if result.problems] == []
    assert {one.status for one in results} == ENDS


def test_what_a_person_adds_holds_no_half_characters() -> None:
    steering = Steering()
    steering.add("Who\ud800 makes \u202ethem?")
    steering.reply("the \ud800first")
    assert steering.take_added() == ["Who makes them?"]
    assert steering.wait_for_reply(lambda: True) == "the first"
