"""The short answer stands first where the last step was after it, and nowhere else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent.cognition.comparing import Conclusion
from agent.cognition.leading import answer_first, concluded_first
from agent.state import Note

ASKED = "What currency predated the Euro in the country Signmark is from?"
LAST = "What currency predated the Euro in Finland?"
TOLD = "Signmark competed in Finland [1]. The Finnish markka was the currency of Finland until 2002 [4]."


def _note(question: str, answer: str, *cites: int) -> Note:
    return Note(
        step=1,
        question=question,
        sentence=f"{answer} it is.",
        answer=answer,
        cites=list(cites),
        found=bool(cites),
        revision=0,
    )


FIRST = _note("What is the country Signmark is from?", "Finland", 1)


def test_the_last_findings_answer_comes_first() -> None:
    told = answer_first(ASKED, [FIRST, _note(LAST, "the Finnish markka", 4)], TOLD)
    assert told == f"The Finnish markka [4]. {TOLD}"


def test_what_follows_comes_before_what_the_model_writes() -> None:
    follows = Conclusion("Iran (A) is not the same as Oman (B).", "No", "Iran (A) and Oman (B)", (2, 5))
    written = "A is in Iran [2]. B is in Oman [5]. Therefore, they are in the same country [2]."
    told = concluded_first(follows, written)
    assert told == "No: Iran (A) and Oman (B) [2][5]. A is in Iran [2]. B is in Oman [5]."
    assert concluded_first(replace(follows, answer=""), written) == written
    named = Conclusion("It is A.", "A", "1911 (A) is earlier than 1912 (B)", (2,))
    assert concluded_first(named, "A was built in 1911 [2].") == (
        "A [2]. 1911 (A) is earlier than 1912 (B) [2]. A was built in 1911 [2]."
    )


@pytest.mark.parametrize(
    ("question", "last", "written"),
    [
        # nothing was found at last, or the step was on the way to the answer
        (ASKED, _note(LAST, ""), TOLD),
        (
            "Who is the mother of the director of Losin' It?",
            _note("Who is the director?", "Ann Lee", 2),
            TOLD,
        ),
        # the text begins with it, or has another answer
        (ASKED, _note(LAST, "the Finnish markka", 4), "The Finnish markka was its currency [4]. It ended."),
        (ASKED, _note(LAST, "the Swedish krona", 4), TOLD),
        # a whole sentence, and nothing that has words
        (ASKED, _note(LAST, "The Finnish markka was the currency of Finland until 2002", 4), TOLD),
        (ASKED, _note(LAST, "…", 4), TOLD),
        # more than one thing is asked, or two are held against each other, or reasons
        (f"{LAST[:-1]}, and when did it end?", _note(LAST, "the Finnish markka", 4), TOLD),
        ("Which is older, Ann Lee or Bo Ek?", _note("Which is older, Ann Lee?", "1911", 4), "Old. 1911."),
        ("Why was the plant halted?", _note("Why was the plant halted?", "A fire", 4), "Yes. A fire [4]."),
        ("Tell me of Finland.", _note("Tell me of Finland.", "A land", 4), "Yes. A land [4]."),
    ],
)
def test_elsewhere_the_text_stays_as_it_is(question: str, last: Note, written: str) -> None:
    assert answer_first(question, [FIRST, last], written) == written


def test_without_a_step_or_a_text_there_is_nothing_to_put_first() -> None:
    assert answer_first(ASKED, [], TOLD) == TOLD
    assert answer_first(ASKED, [FIRST, _note(LAST, "the Finnish markka", 4)], "") == ""
