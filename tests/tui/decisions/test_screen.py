"""The decisions on the screen Learn: what a row says, which run is shown, and what the keys do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Static

from agent import events as ev
from agent.decisions.decider import OLDEST_VERSION, PolicyState
from tests.tui.conftest import Picture, looks
from tests.tui.parts import decided, shadow
from tests.tui.seen import shown_keys, text_of, toasts
from tests.tui.stored import store_run
from tests.tui.waiting import comes, until
from traces.decisions import Label, Labels
from traces.runs import NewRun, Runs, StoredEvent
from traces.store import Store
from tui.app.app import DeepthinkApp
from tui.assemble import open_store
from tui.decisions.pane import DecisionDetail, detail
from tui.decisions.strip import DecisionStrip, Row, drawn
from tui.learn.screen import LearnScreen


@pytest.mark.usefixtures("utc")
@looks("80x24-dark", "120x40-light")
def test_a_run(picture: Picture) -> None:
    store_decided(open_store(), question="Who supplies it?", at=datetime(2026, 3, 13))
    store_decided(open_store(), labels={0: "FINISH"})
    Runs(open_store()).begin(NewRun("Decides nothing?", "lean", "small", "minilm", "", "rules", ()))

    async def before(pilot: Pilot[Any]) -> None:
        screen = await opened(pilot)
        await until(pilot, lambda: screen.query_one(DecisionStrip).option_count == len(TAKEN))
        await pilot.press("home", "down")
        await pilot.pause()

    picture(before)


def test_a_row_shows_every_probability() -> None:
    last = decided("FINISH", (0, 0, 1), step=2, shadow=shadow("FINISH", (0, 0, 1)))
    assert "…" not in drawn(Row(last), 41).plain, "beside a run, 110 columns leave it so many"
    tried = decided("ASK", (0, 0, 0), valid=["CONTINUE", "FINISH", "MORE", "ASK"], source="human")
    asking = replace(tried, probabilities={**tried.probabilities, "ASK": 1.0})
    assert drawn(Row(asking), 60).plain.splitlines() == [
        " 1  » ASK  you",
        "    continue   0% revise    – finish   0%",
        "    more   0% ask 100%",
    ]


QUESTION = "Name the supplier of Orlavane's ceramic bearings and the event that halted its plant."
SEEN = PolicyState(
    question=QUESTION,
    step=1,
    steps_left=6,
    revisions_left=2,
    tokens_left=0.83,
    plan_done=1,
    open_questions=["What halted production at the plant of #1?", "Who owns that plant?"],
    last_action="",
    query="supplier of Orlavane ceramic bearings",
    fresh=2,
    again=1,
    barren=0,
    top_score=0.871,
    scores=[0.91, 0.4],
    grade="correct",
    corrections=1,
    findings=[{"question": "Who supplies the bearings?", "answer": "Tolvang Ceramics", "found": True}],
    missing=[],
    evidence=[
        {"title": "Supply", "excerpt": "Orlavane buys all of its ceramic bearings from Tolvang Ceramics."},
        {"title": "Fire", "excerpt": "A fire at the Brevnes plant halted production in May."},
    ],
)


def seen(**changed: Any) -> dict[str, Any]:
    """The state after the first step."""
    return replace(SEEN, **changed).to_json()


NOTHING_FOUND = [
    *SEEN.findings,
    {"question": "What halted production at the plant?", "answer": "", "found": False},
]
TAKEN = (
    decided(
        "CONTINUE",
        (0.62, 0.3, 0.08),
        source="llm",
        latency_ms=1412.0,
        justification="Two of the plan's steps are open.",
        state=seen(),
        shadow={**shadow("CONTINUE", (1, 0, 0), "rules"), "latency_ms": 0.2},
    ),
    decided(
        "REVISE",
        (0.24, 0.55, 0.21),
        step=2,
        source="llm",
        latency_ms=1630.0,
        justification="The second search brought nothing about the plant, and the third step leans on it: "
        "what is left has to be planned anew.",
        state=seen(step=2, steps_left=5, plan_done=2, findings=NOTHING_FOUND, barren=1, grade="incorrect"),
        shadow={**shadow("CONTINUE", (1, 0, 0), "rules"), "justification": "1 of the plan's steps is open"},
    ),
    decided(
        "CONTINUE",
        (1, 0, 0),
        step=3,
        source="human",
        latency_ms=4200.0,
        justification="as you decided",
        valid=["CONTINUE", "FINISH"],
        state=seen(step=3, steps_left=4, revisions_left=0, last_action="REVISE"),
        shadow=shadow("FINISH", (0.2, 0, 0.8), "llm"),
        label="teach",
    ),
    decided(
        "FINISH",
        (0, 0, 1),
        step=4,
        source="budget",
        latency_ms=0.0,
        justification="no new evidence in 2 steps",
        valid=["FINISH"],
        state=seen(step=4, steps_left=3, barren=2, fresh=0, again=3),
    ),
)


def store_decided(
    store: Store,
    taken: Sequence[ev.Decided] = TAKEN,
    *,
    question: str = QUESTION,
    labels: Mapping[int, str] | None = None,
    at: datetime = datetime(2026, 3, 14, 12),
) -> str:
    """Store a run that took these decisions; returns its id."""
    run_id = store_run([(1.0, event) for event in taken], question=question, store=store)
    for seq, action in (labels or {}).items():
        Labels(store).put(run_id, seq, action)
    with store.connect() as db:
        db.execute("UPDATE runs SET started = ?, finished = ? WHERE id = ?", [at, at, run_id])
    return run_id


async def opened(pilot: Pilot[Any]) -> LearnScreen:
    """The screen Learn, once its decisions are read."""
    await pilot.press("f5")
    screen = await comes(pilot, LearnScreen)
    message = screen.query_one("#message", Static)
    await until(pilot, lambda: "Reading" not in str(message.content) or not message.display)
    return screen


def rows(screen: LearnScreen) -> str:
    return "\n".join(str(option.prompt) for option in screen.query_one(DecisionStrip).options)


def behind(screen: LearnScreen) -> str:
    return str(screen.query_one(DecisionDetail).query_one(Static).content)


def said(strip: DecisionStrip) -> str:
    """What the person says of the decision under the cursor; "" if nothing."""
    label = strip.current.label if strip.current else None
    return label.action if label else ""


async def test_labels_are_stored_and_taken_back(app: DeepthinkApp) -> None:
    run_id = store_decided(app.engine.store)
    labels = Labels(app.engine.store)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        strip = screen.query_one(DecisionStrip)
        await until(pilot, lambda: strip.option_count == len(TAKEN))
        assert screen.focused is strip
        assert strip.highlighted == 3, "the last"
        await pilot.press("home")
        await until(pilot, lambda: "Remove label" not in shown_keys(app))
        for key, action in (("1", "CONTINUE"), ("2", "REVISE"), ("3", "FINISH"), ("c", "CONTINUE"),
                            ("r", "REVISE"), ("f", "FINISH")):  # fmt: skip
            await pilot.press(key)
            await until(pilot, lambda: said(strip) == action)  # noqa: B023
            assert labels.of_run(run_id)[0].action == action
        assert "✎ you: FINISH" in behind(screen)
        await until(pilot, lambda: "Remove label" in shown_keys(app))
        await pilot.press("backspace")
        await until(pilot, lambda: not said(strip))
        assert 0 not in labels.of_run(run_id)
        assert "Your label" not in behind(screen)
        await pilot.press("end", "up")
        assert "✎ you: right" in rows(screen), "an event brought it"
        await pilot.press("backspace")
        await until(pilot, lambda: "✎" not in rows(screen))
        for place, possible in (("end", {"finish"}), ("up", {"continue", "finish"})):
            await pilot.press(place)
            keys = {f"Should {action}" for action in possible}
            await until(pilot, lambda: {one for one in shown_keys(app) if "Should" in one} == keys)  # noqa: B023
        await pilot.press("end", "1", "r", "3")
        await until(pilot, lambda: said(strip) == "FINISH")
        assert toasts(app) == ["Labelled FINISH."]


async def test_runs_that_come_and_go_meanwhile_are_seen_on_return(app: DeepthinkApp) -> None:
    store, at = app.engine.store, datetime(2026, 3, 14, 12)

    def add(*hours: int) -> list[str]:
        return [
            store_decided(store, TAKEN[:1], question=f"Question {n}?", at=at + timedelta(hours=n))
            for n in hours
        ]

    ids = add(0, 1, 2)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        await pilot.press("left_square_bracket")
        await until(pilot, lambda: "Question 1?" in text_of(screen, "#run"))
        await pilot.press("f2")
        add(3)
        Runs(store).delete(ids[0])
        await pilot.press("f5")
        await until(pilot, lambda: "run 3 of 3" in text_of(screen, "#run"))
        assert "Question 1?" in text_of(screen, "#run"), "the person had gone there"
        for n in (2, 3):
            await pilot.press("right_square_bracket")
            await until(pilot, lambda: f"Question {n}?" in text_of(screen, "#run"))  # noqa: B023


async def test_a_run_that_goes_on_is_followed(app: DeepthinkApp) -> None:
    store = app.engine.store
    store_decided(store, question="An older one?", at=datetime(2026, 3, 13))
    runs = Runs(store)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        await until(pilot, lambda: "An older one?" in text_of(screen, "#run"))
        live = store_decided(store, TAKEN[:1])
        await until(pilot, lambda: QUESTION in text_of(screen, "#run"))
        strip = screen.query_one(DecisionStrip)
        assert strip.option_count == 1
        event = TAKEN[1]
        runs.record(live, [StoredEvent(9, 2.0, event.kind, event.payload())])
        await until(pilot, lambda: strip.option_count == 2)
        assert strip.highlighted == 1, "the cursor follows the run"
        await pilot.press("home")
        runs.record(live, [StoredEvent(10, 3.0, event.kind, event.payload())])
        await until(pilot, lambda: strip.option_count == 3)
        assert strip.highlighted == 0, "it was moved"


def test_the_detail_holds_what_was_said_and_skipped() -> None:
    lines = "\n".join(
        line.plain for line in detail(Row(TAKEN[1], Label(1, "FINISH", "said", "it was there")), 60)
    )
    assert "it was there" in lines
    assert "#1" not in lines, "a reference in a plan is put in words"
    assert max(len(line) for line in lines.splitlines()) <= 60
    skipped = {"question": "Who owns that plant?", "answer": "", "found": False, "skipped": True}
    state = seen(step=2, plan_done=2, findings=[*NOTHING_FOUND, skipped])
    found = "\n".join(line.plain for line in detail(Row(decided("FINISH", (0, 0, 1), state=state)), 120))
    assert "~ Who owns that plant?: skipped" in found
    assert "~ What halted production at the plant?: no short answer is certain" in found


def test_a_state_of_another_encoding_is_told_as_far_as_it_goes() -> None:
    known = {"question": "Who?", "step": 2}
    old = decided("FINISH", (0, 0, 1), state_version=OLDEST_VERSION - 1, state=known, valid=[])
    lines = "\n".join(line.plain for line in detail(Row(old), 80))
    assert f"version {OLDEST_VERSION - 1}, too old to learn from" in lines
    assert "Who?" in lines
    assert "left" not in lines
    bare = "\n".join(line.plain for line in detail(Row(decided("FINISH", (0, 0, 1))), 80))
    assert "Its state is not stored." in bare
