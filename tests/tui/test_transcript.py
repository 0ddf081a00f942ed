"""What is said of each event, as plain lines."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from agent import events as ev
from tests.tui.parts import LONG, STEP, claim, evidence, finished, search, started
from tui.render import PlainRun, SilentRun


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
        "search: a (hybrid: 5 passages) | also: b; from Annual report 2024",
        "search: b (hybrid: 1 passage) | from Annual report 2024",
        "search: c (hybrid: nothing found)",
    ], "the last one is shown though nothing followed it"


def test_a_search_in_the_words_of_the_step_does_not_repeat_them(capsys: pytest.CaptureFixture[str]) -> None:
    lines = _plain([ev.StepStarted(1, STEP), search(1, LONG, 1), search(1, "x" * 200, 2)], capsys)
    assert lines[1].startswith("search: as it is asked (hybrid: 2 passages) | also: xxx")
    assert len(lines[1]) < 200


def test_what_was_kept_is_a_line_each_beneath_its_title(capsys: pytest.CaptureFixture[str]) -> None:
    fresh = [
        evidence(1),
        evidence(2, title="The fire", section="The fire", page=None, excerpt="It burnt."),
        evidence(3, section="Revenue", page=None, excerpt="In millions | 2024\nRevenue | 26,974"),
    ]
    assert _plain([ev.EvidenceKept(1, fresh, [7, 8])], capsys) == [
        "kept: Annual report 2024; [1] A single supplier, p. 12: Orlavane buys all of its ceramic compre…; "
        "[3] Revenue: In millions | 2024 Revenue | 26,974; The fire; [2] It burnt.; [7][8] again"
    ]
    assert _plain([ev.EvidenceKept(1, [], [])], capsys) == ["kept: nothing"]


@pytest.mark.parametrize(
    ("sentence", "told"),
    [
        ("Orlavane buys them from Tolvang.", "Tolvang – Orlavane buys them from Tolvang."),
        ("Tolvang supplies them.", "Tolvang supplies them."),
    ],
)
def test_a_first_look_is_marked_as_one_with_its_place(
    sentence: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    looked = ev.FirstLook("Tolvang", sentence, 1, "Annual report", 12, 0.4)
    assert _plain([looked], capsys) == [f"look: first look, still thinking: {told} | Annual report, p. 12"]


def test_of_several_answers_the_last_is_shown_once(capsys: pytest.CaptureFixture[str]) -> None:
    first = ev.Answered("A first draft.", [claim("A first draft.", "not")], [])
    asked = ev.Replied("approve", "What shall become of it?", "rewrite", "person")
    last = ev.Answered("A better one [1].", [claim("A better one.")], [])
    assert _plain([started(), first, asked, last, finished()], capsys)[1:] == [
        "approve: you: rewrite it from the evidence",
        "answer: A better one [1].",
        "done: answered, 1 min 01 s (llm: enough is known) | 1 of 1 sentence is "
        "supported by its sources; 5 model calls · 2,066 tokens read, 3,448 reused (63%), 126 written; "
        "run abc123def456",
    ]


@pytest.mark.parametrize("because", ["", "answered"])
def test_an_end_that_needs_no_reason_has_none(because: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "done: answered, 1 min 01 s | " in _plain([finished(because=because)], capsys)[0]


def test_a_run_that_was_cut_off_shows_the_answer_it_had(capsys: pytest.CaptureFixture[str]) -> None:
    assert _plain([ev.Answered("An answer.", [], [])], capsys) == ["answer: An answer."]


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


@pytest.mark.parametrize(
    ("status", "how"), [("waiting", "waits"), ("cancelled", "can go on"), ("failed", "can go on")]
)
def test_a_run_without_an_end_says_how_to_go_on(
    status: str, how: str, capsys: pytest.CaptureFixture[str]
) -> None:
    told = f"Run abc123def456 {how}: `deepthink resume abc123def456`"
    assert told in _plain([started(), finished(status)], capsys)[-1]
    with SilentRun() as silent:
        silent.take(started())
        silent.take(finished(status))
    assert capsys.readouterr() == ("", f"Note: {told}.\n")


def test_a_resumed_run_shows_its_question_and_the_answer_it_came_to_before(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with PlainRun() as screen:
        screen.recall([started(), search(1, "a", 2), ev.Answered("The answer.", [claim("It.")], [])])
        screen.take(ev.Resumed("abc123def456", LONG, "approve", "llama.cpp:qwen"))
        screen.take(ev.Replied("approve", "", "accept", "person"))
        screen.take(finished())
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"question: {LONG} | llama.cpp:qwen · resumed at: waiting for you"
    assert lines[1:3] == ["approve: you: accept it as it is", "answer: The answer."]
    replayed = _plain([started(), ev.Resumed("abc123def456", LONG, "distil", "llama.cpp:qwen")], capsys)
    assert replayed[1] == "resumed: at: picking out what matters"


def test_a_run_that_was_cancelled_has_no_answer(capsys: pytest.CaptureFixture[str]) -> None:
    first = ev.Answered("The chairman resigned.", [claim("The chairman resigned.", "not")], [])
    assert "chairman" not in "".join(_plain([started(), first, finished("cancelled")], capsys))


PAGES = [
    {"url": "https://example.org/fire", "title": "The fire", "date": "2025-07-22", "cached": False},
    {"url": "https://example.org/x", "title": "", "date": "", "cached": True},
]


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (
            ev.Routed("single", "It asks for one fact.", "llm", "And 2022?", "What was it in 2022?"),
            "route: one search (by llm): It asks for one fact. | read as: What was it in 2022?",
        ),
        (
            ev.Routed("direct", "A greeting.", "rules", "Hi", "Hi"),
            "route: no search: A greeting.",
        ),
        (ev.Replied("clarify", "Which plant?", "Brevnes", "person"), "asked: Which plant? | you: Brevnes"),
        (ev.Replied("clarify", "Which plant?", "", "person"), "asked: Which plant? | you: (nothing)"),
        (ev.Corrected(1, "reword", "in other words", ["a"]), "retry: searching in other words"),
        (
            ev.Corrected(1, "web", "", ["a"], PAGES),
            "retry: searching on the web | The fire · https://example.org/fire · 2025-07-22; "
            "https://example.org/x · kept from before",
        ),
        (ev.Graded(1, "incorrect", "llm", [], [], []), "grade: no passages (llm): not enough"),
        (
            ev.Graded(1, "ambiguous", "llm", [1], ["ambiguous"], [0.5]),
            "grade: 1 ambiguous (llm): not quite enough",
        ),
        (
            ev.Contradicted(1, "26,974", 2, "2025-02-28", "26,914", 1, ""),
            "conflict: 26,974 [2] (2025-02-28) is followed, 26,914 [1] (undated) is superseded",
        ),
        (ev.Steered("pause"), "you: paused"),
        (ev.Steered("finish"), "you: answer now, from what was found"),
        (ev.Steered("skip", "step 2"), "you: given up: step 2"),
        (ev.Steered("add", "When was it?"), "you: also to be found out: When was it?"),
        (ev.Steered("override", "REVISE"), "you: decided: REVISE"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, ev.Event) else "",
)
def test_what_is_said_of(event: ev.Event, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert _plain([event], capsys) == [line]


def test_a_single_search_does_not_repeat_the_question_as_plan_and_step(
    capsys: pytest.CaptureFixture[str],
) -> None:
    routed = ev.Routed("single", "", "rules", LONG, LONG)
    assert len(_plain([routed, ev.Planned([STEP], 0, "rule"), ev.StepStarted(1, STEP)], capsys)) == 1


def test_a_source_shows_the_sentence_that_was_relied_on(capsys: pytest.CaptureFixture[str]) -> None:
    web = evidence(2, document="https://example.org/fire", collection="web", section="", page=None)
    answered = ev.Answered("It burnt [1][2].", [], [evidence(1), web], quotes={"1": "The very sentence."})
    lines = _plain([answered, finished()], capsys)
    assert lines[2:5] == [
        "[1] Annual report 2024 › Item 1A. Risk Factors › A single supplier, p. 12",
        "    reports · annual-report.html · 2025-02-28",
        "    “The very sentence.”",
    ]
    assert lines[5:7] == ["[2] Annual report 2024", "    web · https://example.org/fire · 2025-02-28"]
    assert lines[7].startswith("    “Orlavane buys all")
