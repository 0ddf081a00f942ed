"""What is said of each event, as plain lines."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from agent import events as ev
from tests.tui.parts import LONG, claim, finished, search, started
from tui.run.render import PlainRun


def _plain(events: Sequence[ev.Event], capsys: pytest.CaptureFixture[str]) -> list[str]:
    with PlainRun(replay=True) as screen:
        for event in events:
            screen.take(event)
    return capsys.readouterr().out.splitlines()


def test_searches_of_one_round_are_one_block_with_each_passage_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    other = search(2, "c", 0)
    lines = _plain([search(1, "a", 3), search(1, "b", 5), search(1, "b", 1, "reword"), other], capsys)
    assert lines == [
        "search: a (hybrid, in reports: 5 passages) | also: b; from Annual report 2024",
        "search: b (hybrid, in reports: 1 passage) | from Annual report 2024",
        "search: c (hybrid, in reports: nothing found)",
    ], "the last one is shown though nothing followed it"


def test_of_several_answers_the_last_is_shown_once(capsys: pytest.CaptureFixture[str]) -> None:
    first = ev.Answered("A first draft.", [claim("A first draft.", "not")], [])
    asked = ev.Replied("approve", "What now?", "rewrite", "person")
    last = ev.Answered("A better one [1].", [claim("A better one.")], [])
    assert _plain([started(), first, asked, last, finished()], capsys)[1:] == [
        "approve: you: rewrite it from the evidence",
        "answer: A better one [1].",
        "done: answered, 1 min 01 s (llm: enough is known) | 1 of 1 sentence is "
        "supported by its sources; 5 model calls · 2,066 tokens read, 3,448 reused (63%), 126 written; "
        "run abc123def456",
    ]


def test_a_withheld_answer_is_not_shown_but_how_little_of_it_was_supported(
    capsys: pytest.CaptureFixture[str],
) -> None:
    first = ev.Answered("The chairman resigned.", [claim("The chairman resigned.", "not")], [])
    withheld = ev.Answered("The answer is withheld.", [], [])
    replied = ev.Replied("approve", "", "stop", "rule")
    text = "\n".join(_plain([first, replied, withheld, finished("rejected")], capsys))
    assert "approve: as set: stop, and withhold it" in text
    assert "done: withheld: the sources do not support all of it" in text
    assert "0 of 1 sentence is supported by its sources" in text
    assert "chairman" not in text


def test_a_resumed_run_shows_its_question_and_the_answer_it_came_to_before(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with PlainRun() as screen:
        for event in (started(), search(1, "a", 2), ev.Answered("The answer.", [claim("It.")], [])):
            screen.recall(event)
        screen.take(ev.Resumed("abc123def456", LONG, "approve", "llama.cpp:qwen"))
        screen.take(ev.Replied("approve", "", "accept", "person"))
        screen.take(finished())
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"question: {LONG} | llama.cpp:qwen · resumed at: waiting for you"
    assert lines[1:3] == ["approve: you: accept it as it is", "answer: The answer."]
    replayed = _plain([started(), ev.Resumed("abc123def456", LONG, "distil", "llama.cpp:qwen")], capsys)
    assert replayed[1] == "resumed: at: picking out what matters"
