"""`deepthink compare` from end to end on a scripted model."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path

import pytest

from agent.prompts import NOT_FOUND
from models.protocols import ChatOptions, ModelUnreachable
from tests.tui.conftest import QUESTION, Answer, Run, ctrl_c_at
from traces.runs import Runs
from tui import failures
from tui.assemble import open_store

THREE = ["shallow", "search-and-guess", "lean"]


def test_the_answers_follow_each_other_as_lines(library: Path, model: Answer, deepthink: Run) -> None:
    used = model()
    ran = deepthink("compare", QUESTION)
    assert (ran.code, ran.err) == (0, "")
    assert "\x1b" not in ran.out
    opening, *answers, table = ran.out.split("\n\n")
    assert opening == f"question: {QUESTION} | scripted · in facts"
    assert [answer.splitlines()[0] for answer in answers] == [f"system: {name}" for name in THREE]
    for answer in answers:
        lines = answer.splitlines()
        assert sum("buys its ceramic bearings from Tolvang Ceramics [" in line for line in lines) == 1
        assert {line for line in lines if line.startswith("[")} in (
            {"[1] Supply", "[2] Fire"},
            {"[1] Fire", "[2] Supply"},
        )
    assert "step 1: Who supplies the ceramic bearings?" in answers[2]
    assert f"run: {Runs(open_store()).find('last').id}" in answers[2]
    rows = [line.split() for line in table.splitlines()[2:]]
    assert [row[:2] for row in rows] == [[name, "answered"] for name in THREE]
    assert rows[0][3:5] == ["1", "1"], "a step, a model call"
    assert used.closed


def test_json_is_one_object_with_every_system(library: Path, model: Answer, deepthink: Run) -> None:
    calls: list[int] = []
    model(during=lambda options: calls.append(options.max_tokens))
    systems = "search-and-guess, lean,search-and-guess"
    ran = deepthink("compare", QUESTION, "--json", "-c", "facts", "--systems", systems)
    assert (ran.code, ran.err) == (0, "")
    told = json.loads(ran.out)
    assert (told["question"], told["model"], told["collections"]) == (QUESTION, "scripted", ["facts"])
    guess, lean = told["systems"]
    assert [one["system"] for one in told["systems"]] == ["search-and-guess", "lean"]
    assert (guess["status"], guess["steps"]) == ("answered", 1)
    assert [source["document"] for source in guess["sources"]] == ["supplier.md", "fire.md"]
    assert guess["sources"][0]["quote"].startswith("Orlavane buys all")
    assert [sentence["flagged"] for sentence in guess["sentences"]] == [False, False]
    assert lean["steps"] == 2
    assert Runs(open_store()).find(lean["run_id"]).question == QUESTION
    assert all(one["error"] is None for one in told["systems"])
    used = [one["usage"]["model_calls"] for one in told["systems"]]
    assert used[0] == 1
    assert used[1] >= 3
    assert (calls[0], sum(used)) == (1, len(calls) - 1), "nobody is charged for the loading"


def test_a_flagged_answer_says_so(library: Path, model: Answer, deepthink: Run) -> None:
    model(answer="Tolvang Ceramics supplies the bearings [1]. The chairman resigned in anger [2].")
    ran = deepthink("compare", QUESTION, "--systems", "shallow")
    assert ran.code == 0
    assert "flagged: 1 of 2 sentences is supported by its sources" in ran.out
    assert "(not supported by the sources)" in ran.out
    assert ran.out.splitlines()[-1].endswith("1 of 2")


def test_what_none_of_them_finds_exits_with_3(library: Path, model: Answer, deepthink: Run) -> None:
    model(finds=False, answer=NOT_FOUND)
    ran = deepthink("compare", "What is the list price?", "--plain")
    assert ran.code == failures.NOT_FOUND
    assert ran.out.count("abstained: it says that it does not know") == 3


def test_a_system_that_fails_does_not_hide_the_others(library: Path, model: Answer, deepthink: Run) -> None:
    calls: list[ChatOptions] = []

    def down(options: ChatOptions) -> None:
        calls.append(options)
        if len(calls) in {2, 3}:  # the first loads the model
            raise ModelUnreachable("No Ollama server answers.", "Start it with `ollama serve`.")

    model(during=down)
    ran = deepthink("compare", QUESTION)
    assert ran.code == 5
    assert ran.out.count("failed: The model server does not answer\n") == 2
    assert ran.out.count("answer: Orlavane buys") == 1
    assert ran.err.splitlines() == [
        "The model server does not answer: shallow, search-and-guess: No Ollama server answers.",
        "  Start it with `ollama serve`.",
    ]
    calls.clear()
    told = json.loads(deepthink("compare", QUESTION, "--json").out)["systems"]
    assert [one["status"] for one in told] == ["failed", "failed", "answered"]
    assert told[0]["error"]["message"] == "No Ollama server answers."


@pytest.mark.parametrize("system", ["shallow", "lean"])
def test_ctrl_c_stops_in_order(library: Path, model: Answer, deepthink: Run, system: str) -> None:
    before = signal.getsignal(signal.SIGINT)
    used = model(during=ctrl_c_at(2))  # the first loads the model
    ran = deepthink("compare", QUESTION, "--systems", f"{system},search-and-guess")
    assert ran.code == 130
    assert ran.err == "Cancelled.\n"
    assert f"system: {system}\ncancelled" in ran.out
    assert "system: search-and-guess" not in ran.out
    assert re.search(r"search-and-guess +not asked", ran.out)
    if system == "lean":
        assert f"`deepthink resume {Runs(open_store()).find('last').id}`" in ran.out
    assert signal.getsignal(signal.SIGINT) is before
    assert used.closed


@pytest.mark.parametrize(
    ("systems", "words"),
    [("shallow,deep", "There is no system “deep”."), (",", "--systems names no system.")],
)
def test_an_unknown_system_is_wrong_usage(systems: str, words: str, deepthink: Run) -> None:
    assert words in deepthink("compare", QUESTION, "--systems", systems).refused()


def test_the_figures_of_a_narrow_window_are_whole(
    library: Path, model: Answer, deepthink: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    model()
    monkeypatch.setenv("COLUMNS", "80")
    table = deepthink("compare", QUESTION, "--systems", "search-and-guess").out.split("\n\n")[-1]
    head, line, row = table.splitlines()
    assert max(map(len, (head, line, row))) <= 80
    assert head.split() == ["system", "answer", "seconds", "steps", "calls", "read", "sources", "flagged"]
    assert row.split()[:2] == ["search-and-guess", "answered"]
