"""What is known of a run from its events, and what of the picture each of them changes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len

from agent import events as ev
from tests.tui import parts
from tests.tui.stored import store_run
from traces.runs import Runs
from tui.app.lists import facts, hanging
from tui.ask.prompt import Typed, read
from tui.assemble import open_store
from tui.run.fold import RunFold, answer_as_read, fold_of, stored_events
from tui.runs.replay import Player
from tui.terminal import one_line, padded


def folded(*events: ev.Event) -> RunFold:
    fold = RunFold()
    fold.take_all(events)
    return fold


def test_steps_are_under_way_then_found_nothing_or_skipped() -> None:
    begun = [parts.started(), ev.StepStarted(1, parts.STEP), ev.NodeStarted("retrieve", 1)]
    fold = folded(*begun)
    assert fold.state_of(fold.steps[0]) == "under way"
    fold.take(ev.Noted(parts.note("It is Tolvang."), "rule"))
    assert fold.state_of(fold.steps[0]) == "found"
    nothing = folded(*begun, ev.Noted({**parts.note("Nothing."), "found": False}, "rule"))
    assert nothing.state_of(nothing.steps[0]) == "nothing"
    kept = ev.EvidenceKept(1, [parts.evidence(1)], [])
    unsure = folded(*begun, kept, ev.Noted({**parts.note("Nothing."), "found": False}, "default"))
    assert unsure.state_of(unsure.steps[0]) == "unsure", "the answer may still come from what was kept"
    answered = ev.Answered("It is Tolvang [1].", [parts.claim("It is Tolvang.")], [parts.evidence(1)])
    for missing, state in (([parts.LONG], "unsure"), ([], "found")):
        unsure.take(replace(answered, missing=missing))
        assert unsure.state_of(unsure.steps[0]) == state
    graded = ev.Graded(1, "incorrect", "threshold", [1, 2], ["incorrect", "incorrect"], [0.1, 0.0])
    irrelevant = folded(*begun, graded, kept, ev.Noted({**parts.note("Nothing."), "found": False}, "rule"))
    assert irrelevant.state_of(irrelevant.steps[0]) == "irrelevant", "it is kept, but no answer is likely"
    irrelevant.take(answered)
    assert irrelevant.state_of(irrelevant.steps[0]) == "found"
    skipped = folded(*begun, ev.Steered("skip"))
    assert skipped.state_of(skipped.steps[0]) == "skipped"
    cut_off = folded(*begun, parts.finished("cancelled"))
    assert cut_off.state_of(cut_off.steps[0]) == "open"


def test_a_first_look_is_told_to_programs_beside_an_answer_only() -> None:
    looked = ev.FirstLook("Tolvang", "It is Tolvang.", 1, "Suppliers", None, 0.6)
    for status, is_told in (("answered", True), ("not_found", False), ("rejected", False)):
        told = folded(parts.started(), looked, parts.finished(status)).to_json()["first_look"]
        assert (told is not None) is is_told


def test_an_answer_that_is_written_anew_begins_anew() -> None:
    fold = folded(parts.started(), ev.NodeStarted("synthesise", 0), ev.AnswerText("one"))
    assert fold.text == "one"
    fold.take(ev.NodeStarted("synthesise", 0))
    fold.take(ev.AnswerText("two"))
    assert fold.text == "two"


def test_what_is_asked_is_gone_with_the_reply_the_decision_or_the_end() -> None:
    asked = ev.Asked("decide", "What now?", ["CONTINUE", "FINISH"])
    assert folded(asked).unanswered is asked
    assert folded(asked, ev.Replied("decide", "What now?", "FINISH", "person")).unanswered is None
    assert folded(asked, parts.decided()).unanswered is None
    approve = ev.Asked("approve", "?", ["accept"])
    assert folded(approve, parts.decided()).unanswered is approve
    assert folded(approve, parts.finished()).unanswered is None


def test_the_seconds_stand_still_while_the_run_waits_for_a_person() -> None:
    fold = folded(ev.Heartbeat("plan", 0, 5.0, 0), ev.Steered("pause"), ev.Heartbeat("plan", 0, 9.0, 0))
    assert fold.elapsed == 5.0


def test_the_seconds_of_a_stored_run_are_those_of_work() -> None:
    events = [(60.0, ev.Steered("resume", waited=50.0)), (61.0, parts.decided())]
    store = open_store()
    unfinished, cancelled = (
        Runs(store).find(store_run(events, status=status)) for status in ("running", "cancelled")
    )
    assert fold_of(store, unfinished).elapsed == 11.0
    assert Player(stored_events(store, cancelled)).total == pytest.approx(11.1)


def test_a_question_names_collections_and_files(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_text("x")
    known = frozenset({"facts", "reports"})
    assert read("plain question", known) == Typed("plain question")
    assert read("#facts what is #1? #reports #facts", known) == Typed("what is #1?", ("facts", "reports"))
    assert read(f"sum up @{file} for me@home.org @nowhere", known) == Typed(
        "sum up for me@home.org @nowhere", (), (file,)
    )


def test_wide_characters_count_twice() -> None:
    lines = hanging("1. ", "日本語の文章ですから、ここで折り返します", 23).plain.splitlines()
    assert [cell_len(line) <= 23 for line in lines] == [True, True]
    assert lines[1].startswith("   ")
    assert one_line("日本語の文章", 7) == "日本語…"
    assert (padded("日本", 6), padded("日本語の文章", 6)) == ("日本  ", "日本… ")
    assert [line.plain for line in facts([("名前", "Tolvang")], 30)] == ["名前        Tolvang"]


def test_a_stored_answer_has_the_numbers_that_its_sources_are_shown_with() -> None:
    sources = [parts.evidence(number) for number in (1, 2, 3)]
    answer = "The first [1]. The second [3]. The third [2], as said [3]."
    fold = folded(parts.started(), ev.Answered(answer, [], sources), parts.finished())
    run = Runs(open_store()).find(store_run(answer=answer))
    assert fold.answer == answer_as_read(run)
    assert fold.answer == "The first [1]. The second [2]. The third [3], as said [2]."
    assert answer_as_read(replace(run, status="stopped")) == answer
