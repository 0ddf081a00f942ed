"""Dates of birth and death are read where a passage gives them, and nowhere else."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from agent.cognition import lifetimes
from agent.state import Evidence
from tests.agent.evidence import evidence
from tests.conftest import DATA


def _about(title: str, text: str, number: int = 1) -> Evidence:
    return evidence(number, text, title=title)


HANSON = _about("Curtis Hanson", "Curtis Lee Hanson (March 24, 1945 – September 20, 2016) was a director.")


@pytest.mark.parametrize(
    ("question", "date"),
    [
        ("When was Curtis Hanson born?", "March 24, 1945"),
        ("When did Curtis Hanson die?", "September 20, 2016"),
        ("What year did Curtis Hanson die?", "2016"),
        ("In which year was Curtis Hanson born?", "1945"),
        ("What is the date of death of Curtis Hanson?", "September 20, 2016"),
        ("What was the year of birth of Curtis Hanson?", "1945"),
    ],
)
def test_a_date_is_read_as_it_was_asked_for(question: str, date: str) -> None:
    told = lifetimes.read(question, [HANSON])
    assert told is not None
    assert (told.date, told.number) == (date, 1)
    assert told.sentence == "Curtis Lee Hanson (March 24, 1945 – September 20, 2016)"


@pytest.mark.parametrize(
    ("text", "born", "died"),
    [
        ("Ann Lee (born 29 October 1948) is a writer.", "29 October 1948", None),
        ("Ann Lee (born Ann Maria Ek; 29 October 1948) is a writer.", "29 October 1948", None),
        ("Ann Lee (died 17 August 1545) was lord of the manor.", None, "17 August 1545"),
        ("Ann Lee( 30 January 188225 May 1974) was an actress.", "30 January 1882", "25 May 1974"),
        ("Ann Lee (c. 1850 – 1902) was a painter.", "1850", "1902"),
        (
            'Ann Lee ("Annie") (4 November 1891 in Rome - 22 May 1961) wrote.',
            "4 November 1891",
            "22 May 1961",
        ),
        ("Ann Lee is a writer (born 1948, as she says).", None, None),
        ("Ann Lee is a writer.", None, None),
    ],
)
def test_the_forms_in_which_passages_give_them(text: str, born: str | None, died: str | None) -> None:
    for question, date in (("When was Ann Lee born?", born), ("When did Ann Lee die?", died)):
        told = lifetimes.read(question, [_about("Ann Lee", text)])
        assert (told.date if told else None) == date


@pytest.mark.parametrize(
    "question",
    [
        "Where was Curtis Hanson born?",
        "When was Losin' It released?",
        "When did Curtis Hanson die his hair?",
        "When was Curtis Hanson born and when did Curtis Hanson die?",
        "When was Pauline Hanson born?",
        "When was born?",
    ],
)
def test_other_questions_and_other_people_are_not_read(question: str) -> None:
    assert lifetimes.read(question, [HANSON]) is None


def test_two_people_of_one_name_are_not_told_apart() -> None:
    other = _about("Curtis Hanson (chef)", "Curtis Hanson (1901 – 1950) was a chef.", 2)
    assert lifetimes.read("When did Curtis Hanson die?", [HANSON, other]) is None
    same = _about("Hanson's films", "Curtis Hanson (1945 – September 20, 2016) made nine.", 2)
    assert lifetimes.read("When did Curtis Hanson die?", [HANSON, same]) is not None


@pytest.mark.skipif(not DATA.is_dir(), reason="the shared data is not here")
def test_the_train_files_dates_are_read_and_none_of_them_wrong() -> None:
    read, wrong, asked = 0, [], 0
    for line in (DATA / "multihop" / "2wikimultihopqa_train.jsonl").read_text("utf-8").splitlines():
        case: dict[str, Any] = json.loads(line)
        passages = [
            _about(title, " ".join(told), number) for number, (title, told) in enumerate(case["context"], 1)
        ]
        for subject, relation, date in case["evidences"]:
            if relation not in ("date of birth", "date of death"):
                continue
            asked += 1
            question = f"When was {subject} born?" if "birth" in relation else f"When did {subject} die?"
            found = lifetimes.read(question, passages)
            if found is not None:
                read += 1
                if re.findall(r"\d{4}", found.date) != re.findall(r"\d{4}", date):
                    wrong.append((question, found.date, date))
    assert (read, asked) == (211, 216)
    assert not wrong
