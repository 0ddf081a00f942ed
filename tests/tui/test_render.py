"""A run on a terminal: eighty columns, with and without colour, moving or not, live or replayed."""

from __future__ import annotations

import io
import re

import pytest
from rich.cells import cell_len
from rich.console import Console

from agent import events as ev
from agent.state import Candidate, Claim, Evidence, Note, PlanStep
from tui import failures
from tui.render import LiveRun, PlainRun
from tui.terminal import clean, duration, one_line, size

LONG = "Which single supplier does Orlavane buy all of its ceramic compressor bearings from, and why?"
STEP = PlanStep(question=LONG, reason="", tool="reports", keywords="", section="")
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


def _evidence(number: int, **changes: object) -> Evidence:
    item = Evidence(
        number=number,
        step=1,
        passage_id=number,
        collection="reports",
        document="annual-report.html",
        title="Annual report 2024",
        date="2025-02-28",
        section="Annual report 2024 › Item 1A. Risk Factors › A single supplier",
        page=12,
        kind="text",
        text="the whole chunk",
        excerpt="Orlavane buys all of its ceramic compressor bearings from Tolvang Ceramics. " * 4,
        score=0.5,
    )
    item.update(changes)  # type: ignore[typeddict-item]
    return item


def _candidate(item: Evidence) -> Candidate:
    return Candidate(
        passage_id=item["passage_id"],
        document_id=1,
        collection=item["collection"],
        document=item["document"],
        title=item["title"],
        date=item["date"],
        section=item["section"],
        page=item["page"],
        kind=item["kind"],
        text=item["text"],
        score=0.5,
        scores={"fused": 0.5},
        grade="",
    )


def _run(first: Evidence | None = None) -> list[ev.Event]:
    first = first or _evidence(1)
    table = _evidence(
        2, kind="table", page=None, section="", excerpt="In millions | 2024\nRevenue | 26,974"
    )
    sentence = "Orlavane buys them from Tolvang Ceramics (not supported by the sources) [1]."
    return [
        ev.RunStarted("abc123def456", LONG, "lean", "llama.cpp:qwen", "minilm", "", "rules", ["reports"]),
        ev.NodeStarted("plan", 0),
        ev.Planned([STEP, STEP], 0, "model"),
        ev.StepStarted(1, STEP),
        ev.NodeStarted("retrieve", 1),
        ev.Searched(1, LONG, "hybrid", "", "reports", "", [_candidate(_evidence(n)) for n in range(9)]),
        ev.Reranked(1, "", [1], [0.5]),
        ev.EvidenceKept(1, [first, table], [7]),
        ev.Noted(
            Note(
                step=1,
                question=LONG,
                sentence="It is Tolvang.",
                answer="",
                cites=[1],
                found=True,
                revision=0,
            ),
            "",
        ),
        ev.Decided(1, 1, {}, ["FINISH"], "FINISH", {"FINISH": 0.81}, "llm", 3.0, "enough is known", 1.0),
        ev.ModelCalled("write", 100, 300, 40, 1.0),
        ev.Heartbeat("synthesise", 1, 3.0, 40),
        ev.AnswerText("Orlavane buys them "),
        ev.AnswerText("from Tolvang Ceramics."),
        ev.Answered(
            sentence,
            [
                Claim(
                    text="Orlavane buys them.",
                    cites=[1],
                    support=0.2,
                    verdict="not",
                    reason="no cited passage says so",
                )
            ],
            [first, table],
        ),
        ev.RunFinished("answered", "llm: enough is known", 61.2, 5, 2066, 3448, 126),
    ]


def _shown(events: list[ev.Event], *, replay: bool, width: int = 80, **how: object) -> str:
    stream = io.StringIO()
    out = Console(file=stream, force_terminal=True, width=width, height=24, highlight=False, **how)  # type: ignore[arg-type]
    with LiveRun(out, replay=replay) as screen:
        for event in events:
            screen.take(event)
    return stream.getvalue()


def test_a_replay_reads_as_it_should_in_eighty_columns() -> None:
    text = ESCAPES.sub("", _shown(_run(), replay=True))
    lines = [line.rstrip() for line in text.splitlines()]
    assert max(map(cell_len, lines)) <= 80
    assert [line[:9].strip() for line in lines if line[:1].strip()] == [
        *("question", "plan", "step 1", "search", "kept", "finding", "decide"),
        *("answer", "sources", "[1]", "[2]", "done"),
    ]
    assert "          llama.cpp:qwen · profile lean · decisions by rules · in reports · no" in lines
    assert "decide    FINISH (llm, 81%): enough is known" in lines
    assert "          reports · annual-report.html · 2025-02-28" in lines
    assert "          Revenue | 26,974" in lines
    assert "done      answered in 1 min 01 s (llm: enough is known)" in lines
    assert "          run abc123def456" in lines
    place = "Annual report 2024 › Item 1A. Risk Factors › A single supplier, p. 12"
    assert f"[1]       {place}" in lines


def test_the_final_answer_stands_there_once_after_a_live_run() -> None:
    text = _shown(_run(), replay=False)
    after = text.rsplit("\x1b[2K", 1)[-1]
    assert after.count("Tolvang Ceramics (not supported") <= 1
    assert " ".join(ESCAPES.sub("", text).split()).count("(not supported by the sources)") == 1
    assert "tokens written" in text


@pytest.mark.parametrize("width", [40, 80, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    text = ESCAPES.sub("", _shown(_run(), replay=True, width=width))
    assert max(map(cell_len, text.splitlines())) <= width


def test_without_colour_nothing_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    coloured = _shown(_run(), replay=True)
    monkeypatch.setenv("NO_COLOR", "1")
    plain = _shown(_run(), replay=True)
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]m", plain), "a colour in spite of NO_COLOR"
    assert re.search(r"\x1b\[[0-9;]*3[0-7]m", coloured)
    assert ESCAPES.sub("", plain) == ESCAPES.sub("", coloured)


def test_a_document_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    evil = _evidence(
        1, title="\x1b[2Jgone\x07", excerpt="\x1b]0;owned\x07 [red]x[/red] \x9b31m", section="a\rb"
    )
    for screen in (PlainRun(), PlainRun(replay=True)):
        for event in _run(evil):
            screen.take(event)
    told = capsys.readouterr()
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", told.out)
    assert "[red]x[/red]" in told.out
    shown = ESCAPES.sub("", _shown(_run(evil), replay=True))
    assert "\x1b" not in shown
    assert "[red]x[/red]" in shown


def test_plain_is_one_line_per_event(capsys: pytest.CaptureFixture[str]) -> None:
    screen = PlainRun()
    shown = []
    for event in _run():
        screen.take(event)
        shown.append(capsys.readouterr().out.count("\n"))
    assert shown == [1, 0, 1, 1, 0, 1, 0, 1, 1, 1, 0, 0, 0, 0, 9, 1]


def test_a_warning_goes_to_stderr_live_and_into_the_text_of_a_replay(
    capsys: pytest.CaptureFixture[str],
) -> None:
    warned = ev.Warned("The time budget is used up.")
    PlainRun().take(warned)
    live = capsys.readouterr()
    PlainRun(replay=True).take(warned)
    replayed = capsys.readouterr()
    assert (live.out, live.err) == ("", "Note: The time budget is used up.\n")
    assert (replayed.out, replayed.err) == ("note: The time budget is used up.\n", "")


def test_an_event_of_a_later_version_is_passed_over(capsys: pytest.CaptureFixture[str]) -> None:
    class FromTheFuture(ev.Event):
        pass

    PlainRun().take(FromTheFuture())
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.04, "0.0 s"), (9.94, "9.9 s"), (59.4, "59 s"), (61, "1 min 01 s"), (3600, "60 min 00 s")],
)
def test_durations(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_small_forms() -> None:
    assert (size(999), size(491_400_064), size(1_117_320_768)) == ("999 bytes", "491 MB", "1.1 GB")
    assert one_line(" a\n b\x1b[1m ", 4) == "a b…"
    assert clean("a\tb\nc\x00") == "a\tb\nc"
    assert failures.DONE == 0
