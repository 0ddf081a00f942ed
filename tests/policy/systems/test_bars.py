"""Every bar met, missed and not measured, on rows made up for it."""

from __future__ import annotations

import pytest

from policy.evaluation.bars import Bar
from policy.systems.bars import bars
from policy.systems.rows import Row
from policy.systems.summary import summarise
from tests.policy.systems.made import HOTPOT, MODEL, MUSIQUE, WIKI, row, rows

LEADS, ORACLE, SCHEDULES, QUALITY, SECONDS, TOKENS = range(6)


def _bars(made: list[Row]) -> list[Bar]:
    found = bars(summarise(made, 100), MODEL)
    assert len(found) == 6
    return found


def _on(questions: str, n: int = 40, **f1: float) -> list[Row]:
    """Systems by name, with an underscore for what is a blank or a hyphen in it."""
    names = {"learned": "lean learned", "search": "search-and-answer", "guess": "search-and-guess"}
    return [
        one
        for name, value in f1.items()
        for one in rows(names.get(name, name), [value] * n, questions=questions)
    ]


def test_without_rows_of_the_learned_policy_no_bar_is_measured() -> None:
    found = _bars(_on(HOTPOT, shallow=0.1, search=0.1, seed=0.1, oracle=0.1))
    assert [bar.met for bar in found] == [None] * 6
    assert all("not measured" in bar.result for bar in found)


@pytest.mark.parametrize(
    ("hotpot", "wiki", "musique", "expected"),
    [
        ((0.30, 0.40), (0.30, 0.40), (0.50, 0.50), True),  # two of three are enough
        ((0.35, 0.44), (0.35, 0.44), (0.35, 0.44), True),  # both leads are exactly the bar
        ((0.36, 0.40), (0.30, 0.45), (0.30, 0.40), False),  # each of two sets misses one of the two leads
        ((0.50, 0.50), (0.50, 0.50), (0.50, 0.50), False),
    ],
)
def test_the_leads_have_to_be_on_two_sets(
    hotpot: tuple[float, float], wiki: tuple[float, float], musique: tuple[float, float], expected: bool
) -> None:
    made = [
        one
        for questions, (shallow, search) in {HOTPOT: hotpot, WIKI: wiki, MUSIQUE: musique}.items()
        for one in _on(questions, learned=0.5, shallow=shallow, search=search)
    ]
    assert _bars(made)[LEADS].met is expected


def test_the_leads_are_told_for_each_set() -> None:
    made = [
        *_on(HOTPOT, learned=0.5, shallow=0.3, search=0.4),
        *_on(WIKI, n=39, learned=0.5, shallow=0.3, search=0.4),
    ]
    told = _bars(made)[LEADS]
    assert told.met is None
    assert f"{HOTPOT}: +20.0 [+20.0, +20.0] over shallow" in told.result
    assert f"{WIKI}: not measured" in told.result
    assert "musique: not measured" in told.result


def test_two_sets_that_miss_settle_it_and_so_does_one_lead_that_is_too_small() -> None:
    made = [
        *_on(HOTPOT, learned=0.5, shallow=0.5, search=0.5),
        *_on(WIKI, learned=0.5, search=0.5),
    ]
    assert _bars(made)[LEADS].met is False
    # With only one set missed, the others may still do it.
    assert _bars(_on(HOTPOT, learned=0.5, search=0.5))[LEADS].met is None


def test_beside_a_lead_stands_what_of_it_is_not_the_others_abstaining() -> None:
    searched = [row(f"q{i}", "search-and-answer", 0.4, abstained=float(i >= 10)) for i in range(40)]
    made = [*rows("lean learned", [0.5] * 40, abstained=0.0), *searched, *_on(HOTPOT, guess=0.45)]
    told = _bars(made)[LEADS].result
    assert (
        "+10.0 [+10.0, +10.0] over search-and-answer (+10.0 [+10.0, +10.0] on the 10 that both answer)"
        in told
    )
    assert "; +5.0 [+5.0, +5.0] over search-and-guess" in told


@pytest.mark.parametrize(("oracle", "expected"), [(0.4, True), (0.53, True), (0.54, False)])
def test_the_oracle_bar(oracle: float, expected: bool) -> None:
    assert _bars(_on(HOTPOT, learned=0.5, oracle=oracle))[ORACLE].met is expected


def test_the_oracle_bar_is_on_the_multi_hop_sets_together() -> None:
    made = [
        *_on(HOTPOT, n=20, learned=0.5, oracle=0.5),
        *_on(WIKI, n=20, learned=0.5, oracle=0.6),
        *_on("filings", learned=1.0, oracle=0.0),
    ]
    told = _bars(made)[ORACLE]
    assert told.met is False
    assert "-5.0" in told.result
    assert "on multi-hop sets" in told.result


def _scheduled(learned: tuple[float, float], **fixed: tuple[float, float]) -> list[Row]:
    """F1 and steps of each."""
    names = {"one": "lean 1 step", "two": "lean 2 steps", "three": "lean 3 steps"}
    made = rows("lean learned", [learned[0]] * 40, steps=learned[1])
    for name, (f1, steps) in fixed.items():
        made += rows(names[name], [f1] * 40, steps=steps)
    return made


@pytest.mark.parametrize(
    ("learned", "fixed", "expected"),
    [
        ((0.5, 1.5), {"one": (0.3, 1), "two": (0.5, 2), "three": (0.6, 3)}, True),
        ((0.5, 2.5), {"one": (0.3, 1), "two": (0.5, 2), "three": (0.6, 3)}, False),  # the cheapest counts
        ((0.5, 2.5), {"one": (0.3, 1), "two": (0.4, 2), "three": (0.6, 3)}, True),
        ((0.7, 2.5), {"one": (0.3, 1), "three": (0.6, 3)}, True),
        ((0.7, 3.5), {"one": (0.3, 1), "three": (0.6, 3)}, False),  # none is as good: the best stands in
    ],
)
def test_the_bar_against_fixed_steps(
    learned: tuple[float, float], fixed: dict[str, tuple[float, float]], expected: bool
) -> None:
    assert _bars(_scheduled(learned, **fixed))[SCHEDULES].met is expected


def test_fewer_fixed_steps_that_may_be_as_good_leave_the_bar_open() -> None:
    learned = rows("lean learned", [0.6, 0.4] * 20, steps=2.0)
    some = rows("lean 1 step", [0.0, 0.9] * 20, steps=1.0)  # 5 points below, give or take 20
    more = rows("lean 3 steps", [0.6, 0.4] * 20, steps=3.0)
    found = _bars(learned + some + more)[SCHEDULES]
    assert (found.met, found.verdict) == (None, "not settled")
    assert "lean 1 step, the cheapest that is not surely worse" in found.result
    worse = rows("lean 1 step", [0.5, 0.3] * 20, steps=1.0)
    assert _bars(learned + worse + more)[SCHEDULES].verdict == "met"
    as_good = rows("lean 1 step", [0.3, 0.7] * 20, steps=1.0)
    assert _bars(learned + as_good + more)[SCHEDULES].verdict == "missed"
    assert _bars(rows("shallow", [0.5] * 40))[SCHEDULES].verdict == "not measured"


def _beside_seed(n: int = 20, f1: float = 0.4, seconds: float = 35, evaluated: float = 350) -> list[Row]:
    seed = rows("seed", [0.4] * n, seconds=100, evaluated=1000)
    return seed + rows("lean learned", [f1] * n, seconds=seconds, evaluated=evaluated)


def test_the_bars_against_the_seed() -> None:
    assert [bar.met for bar in _bars(_beside_seed())[QUALITY:]] == [True, True, True]
    assert [bar.met for bar in _bars(_beside_seed(f1=0.3))[QUALITY:]] == [False, True, True]
    assert [bar.met for bar in _bars(_beside_seed(seconds=36))[QUALITY:]] == [True, False, True]
    assert [bar.met for bar in _bars(_beside_seed(evaluated=351))[QUALITY:]] == [True, True, False]


def test_too_few_questions_beside_the_seed_are_no_measurement() -> None:
    found = _bars(_beside_seed(n=19))[QUALITY:]
    assert [bar.met for bar in found] == [None] * 3
    assert found[0].result == "not measured: 19 of the 20 questions that it takes"
