"""A run on a terminal or as lines: what is said of each event, in eighty columns, live or replayed."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence

import pytest
from rich.cells import cell_len
from rich.console import Console

from agent import events as ev
from agent.state import Evidence
from tests.tui.parts import LONG, STEP, claim, evidence, finished, note, search, started, whole_run
from tui.run.render import AnimatedRun, PlainRun
from tui.run.words import located, places, preview

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


def _shown(events: list[ev.Event], *, replay: bool, width: int = 80, **how: object) -> str:
    stream = io.StringIO()
    out = Console(file=stream, force_terminal=True, width=width, height=24, highlight=False, **how)  # type: ignore[arg-type]
    with AnimatedRun(out, replay=replay) as screen:
        for event in events:
            screen.take(event)
    return stream.getvalue()


def test_a_replay_reads_as_it_should_in_eighty_columns() -> None:
    text = ESCAPES.sub("", _shown(whole_run(), replay=True))
    lines = [line.rstrip() for line in text.splitlines()]
    assert max(map(cell_len, lines)) <= 80
    for width in (40, 200):
        shown = ESCAPES.sub("", _shown(whole_run(), replay=True, width=width))
        assert max(map(cell_len, shown.splitlines())) <= width
    assert [line[:9].strip() for line in lines if line[:1].strip()] == [
        *("question", "route", "look", "plan", "step 1", "search", "grade", "kept", "finding", "decide"),
        *("answer", "check", "sources", "[1]", "[2]", "done"),
    ]
    assert "          llama.cpp:qwen · profile lean · decisions by rules · no reranker, the" in lines
    assert "route     research in steps: It needs one fact to find another." in lines
    assert "          also: who makes the bearings" in lines
    assert "grade     1 relevant, 2 not relevant (threshold): enough" in lines
    assert "decide    FINISH (llm, 81%): enough is known" in lines
    assert "          reports · annual-report.html · 2025-02-28" in lines
    assert "          Revenue | 26,974" in lines
    assert "done      answered with doubts, 1 min 01 s (llm: enough is known)" in lines
    assert "          1 of 2 sentences is supported by its sources" in lines
    assert "          run abc123def456" in lines
    place = "Annual report 2024 › Item 1A. Risk Factors › A single supplier, p. 12"
    assert f"[1]       {place}" in lines


def test_numbers_stand_only_where_they_are_those_of_the_answer(capsys: pytest.CaptureFixture[str]) -> None:
    """The answer numbers its sources in the order it is read, which nobody knows before."""
    begun = [started(), ev.Planned([STEP], 0, "model"), ev.StepStarted(1, STEP)]
    versions = ev.Contradicted(1, "40 units", 1, "2024-05-01", "30 units", 2, "")
    kept = ev.EvidenceKept(1, [evidence(1)], [2])
    told = _plain([*begun, kept, ev.Noted(note("It is Tolvang."), "rule"), versions], capsys)
    assert [line.partition(":")[0] for line in told[-3:]] == ["kept", "finding", "conflict"]
    assert told[-3].endswith("; 1 passage again")
    assert told[-3].count("; · ") == 1, "a passage is told from the title before it"
    assert told[-1] == "conflict: 40 units (2024-05-01) is followed, 30 units (undated) is superseded"
    assert not re.search(r"\[\d+\]", "\n".join(told))


def test_the_final_answer_stands_there_once_after_a_live_run() -> None:
    text = _shown(whole_run(), replay=False)
    after = text.rsplit("\x1b[2K", 1)[-1]
    assert after.count("Tolvang Ceramics (not supported") <= 1
    assert " ".join(ESCAPES.sub("", text).split()).count("(not supported by the sources)") == 1
    assert "tokens written" in text


def test_without_colour_nothing_is_lost_and_no_question_is_louder_than_the_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    coloured = _shown(whole_run(), replay=True, width=200)
    bold = re.findall(r"\x1b\[1m([^\x1b]*)", coloured)
    assert any("question" in words for words in bold)
    assert not any(LONG in words for words in bold)
    monkeypatch.setenv("NO_COLOR", "1")
    plain = _shown(whole_run(), replay=True, width=200)
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]m", plain), "a colour in spite of NO_COLOR"
    assert re.search(r"\x1b\[[0-9;]*3[0-7]m", coloured)
    assert ESCAPES.sub("", plain) == ESCAPES.sub("", coloured)


def test_a_document_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    evil = evidence(
        1, title="\x1b[2Jgone\x07", excerpt="\x1b]0;owned\x07 [red]x[/red] \x9b31m", section="a\rb"
    )
    for screen in (PlainRun(), PlainRun(replay=True)):
        for event in whole_run(evil):
            screen.take(event)
    told = capsys.readouterr()
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", told.out)
    assert "[red]x[/red]" in told.out
    shown = ESCAPES.sub("", _shown(whole_run(evil), replay=True))
    assert "\x1b" not in shown
    assert "[red]x[/red]" in shown


def test_nothing_moves_while_a_question_is_asked() -> None:
    stream = io.StringIO()
    out = Console(file=stream, force_terminal=True, width=80, height=24)
    with AnimatedRun(out) as screen:
        screen.take(ev.NodeStarted("approve", 0))
        with screen.aside():
            assert stream.getvalue().endswith("\x1b[2K"), "the moving line is gone"
            assert stream.getvalue().rindex("\x1b[?25h") > stream.getvalue().rindex("\x1b[?25l")
            before = stream.getvalue()
            out.print("What now?")
        screen.take(ev.Replied("approve", "", "accept", "person"))
    after = stream.getvalue().removeprefix(before)
    assert after.startswith("What now?\n")
    assert "\x1b[1A" not in after.partition("\n")[2][:40], "what was asked is not wiped away"
    assert "you: accept it as it is" not in after, "they have just typed it"


def test_a_warning_goes_to_stderr_live_and_into_a_replayed_text(capsys: pytest.CaptureFixture[str]) -> None:
    class FromTheFuture(ev.Event):
        """One that is passed over."""

    warned = ev.Warned("The time budget is used up.")
    for screen, out, err in (
        (PlainRun(), "", "Note: The time budget is used up.\n"),
        (PlainRun(replay=True), "note: The time budget is used up.\n", ""),
    ):
        screen.take(warned)
        screen.take(FromTheFuture())
        assert capsys.readouterr() == (out, err)


def _plain(events: Sequence[ev.Event], capsys: pytest.CaptureFixture[str]) -> list[str]:
    with PlainRun(replay=True) as screen:
        for event in events:
            screen.take(event)
    return capsys.readouterr().out.splitlines()


def test_searches_of_a_round_are_one_block_of_distinct_passages(capsys: pytest.CaptureFixture[str]) -> None:
    other = search(2, "c", 0)
    lines = _plain([search(1, "a", 3), search(1, "b", 5), search(1, "b", 1, "reword"), other], capsys)
    assert lines == [
        "search: a (hybrid, in reports: 5 passages) | also: b; from Annual report 2024",
        "search: b (hybrid, in reports: 1 passage) | from Annual report 2024",
        "search: c (hybrid, in reports: nothing found)",
    ], "the last one is shown though nothing followed it"
    asked = _plain([ev.StepStarted(1, STEP), search(1, STEP["question"], 2)], capsys)
    assert asked[-1].startswith("search: the question as asked (hybrid")


def test_of_several_answers_the_last_is_shown_once(capsys: pytest.CaptureFixture[str]) -> None:
    first = ev.Answered("A first draft.", [claim("A first draft.", "not")], [])
    asked = ev.Replied("approve", "What now?", "rewrite", "person")
    last = ev.Answered("A better one [1].", [claim("A better one.")], [])
    assert _plain([started(), first, asked, last, finished()], capsys)[1:] == [
        "check: not fully supported by its sources; you chose: rewrite it from the evidence",
        "answer: A better one [1].",
        "done: answered, 1 min 01 s (llm: enough is known) | 1 of 1 sentence is "
        "supported by its sources; 5 model calls · 2,066 tokens read, 3,448 reused (63%), 126 written; "
        "run abc123def456",
    ]


def test_of_a_withheld_answer_only_its_support_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    first = ev.Answered("The chairman resigned.", [claim("The chairman resigned.", "not")], [])
    withheld = ev.Answered("The answer is withheld.", [], [])
    replied = ev.Replied("approve", "", "stop", "rule")
    text = "\n".join(_plain([first, replied, withheld, finished("rejected")], capsys))
    assert "check: not fully supported by its sources; without asking (approve is never): stop, and" in text
    assert "done: withheld: the sources do not support all of it" in text
    assert "0 of 1 sentence is supported by its sources" in text
    assert "chairman" not in text


def test_a_resumed_run_shows_its_question_and_earlier_answer(capsys: pytest.CaptureFixture[str]) -> None:
    with PlainRun() as screen:
        for event in (started(), search(1, "a", 2), ev.Answered("The answer.", [claim("It.")], [])):
            screen.recall(event)
        screen.take(ev.Resumed("abc123def456", LONG, "approve", "llama.cpp:qwen"))
        screen.take(ev.Replied("approve", "", "accept", "person"))
        screen.take(finished())
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"question: {LONG} | llama.cpp:qwen · resumed at: waiting for you"
    assert lines[1:3] == [
        "check: not fully supported by its sources; you chose: accept it as it is",
        "answer: The answer.",
    ]
    replayed = _plain([started(), ev.Resumed("abc123def456", LONG, "distil", "llama.cpp:qwen")], capsys)
    assert replayed[1] == "resumed: at: picking out what matters"


def test_a_step_without_a_finding_says_what_becomes_of_its_passages(
    capsys: pytest.CaptureFixture[str],
) -> None:
    nothing = ev.Noted({**note(""), "found": False}, "default")
    kept = ev.EvidenceKept(1, [evidence(1)], [])
    begun = [started(), ev.StepStarted(1, STEP)]
    unsure = _plain([*begun, kept, nothing], capsys)[-1]
    assert unsure == "finding: no short answer is certain; the answer is written from the passages kept"
    assert _plain([*begun, nothing], capsys)[-1] == "finding: nothing found"
    graded = ev.Graded(1, "incorrect", "threshold", [1], ["incorrect"], [0.1])
    assert _plain([*begun, graded, kept, nothing], capsys)[-1] == "finding: nothing relevant"
    skipped = [*begun, ev.NodeStarted("retrieve", 1), ev.Steered("skip", ""), nothing]
    assert _plain(skipped, capsys)[-1] == "finding: skipped"


def test_a_heading_that_repeats_a_title_that_was_cut_is_left_out() -> None:
    heading = "Report of the lighthouse keepers for the third quarter of 2025"
    section = f"{heading} › Revenue"
    assert located("Report of the lighthouse …", section, None) == "Report of the lighthouse … › Revenue"
    assert located("Report", section, None) == f"Report › {section}"


def test_sources_of_the_same_title_are_told_apart() -> None:
    def minutes(document: str, date: str = "", collection: str = "club", section: str = "") -> Evidence:
        made = evidence(1, title="Minutes", section=section, page=None, document=document, date=date)
        return {**made, "collection": collection}

    march, june = (
        minutes("a.md", "2025-03-04", section="Roof"),
        minutes("b.md", "2025-06-05", section="Fees"),
    )
    rules = evidence(3, title="Rules", section="", page=None, date="")
    assert places([march, june, march, rules]) == [
        "Minutes › Roof · 2025-03-04",
        "Minutes › Fees · 2025-06-05",
        "Minutes › Roof · 2025-03-04",
        "Rules",
    ]
    assert places([minutes("a.md"), minutes("b.md"), minutes("a.md", collection="old"), june]) == [
        "Minutes · club · a.md",
        "Minutes · club · b.md",
        "Minutes · old · a.md",
        "Minutes › Fees · 2025-06-05",
    ]


def test_a_preview_begins_where_a_passage_is_nearest_to_the_query() -> None:
    rows = [f"Service {number} | {number}" for number in range(40)]
    table = "\n".join(["Service | Cat", *rows, "Waste | 7"])
    assert preview(table, "waste contract", 60) == "… Waste | 7"
    assert preview(table, "contract", 20).startswith("Service | Cat")
    head = "From: Ann\nTo: Carl\nSubject: The roof"
    mail = f"{head}\n\nFrom: the attic it drips.\nThe roof costs 30 euros."
    assert (
        preview(mail, "Who painted Carl's roof?", 60)
        == "From: the attic it drips. The roof costs 30 euros."
    )
