"""Grading: does a passage help to answer? Correct, ambiguous or incorrect, as in CRAG (Yan et al., 2024).

What a step does next hangs on the grades of its passages together: what is correct is refined, what is
incorrect is looked for elsewhere, and where it is ambiguous both are done.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any, Final

from pydantic import BaseModel, create_model

from agent import prompts
from agent.cognition import Grade, PassageGrade
from agent.deps import Deps
from agent.events import Graded, Warned
from agent.session import Session
from agent.state import RELEVANCE, Candidate, RunState

_MODEL_PROBABILITY: Final[dict[Grade, float]] = {"correct": 1.0, "ambiguous": 0.5, "incorrect": 0.0}
_CORRECT: Final = 0.5  # more likely than not to answer
_INCORRECT: Final = 0.05
_TOKENS_A_GRADE = 12  # of the model's answer
_ANSWER_ROOM = 400  # context tokens kept free for the instruction and the answer


def overall(grades: Sequence[Grade]) -> Grade:
    """CRAG's action: correct if any passage is, incorrect if all are or there is none, else ambiguous."""
    if "correct" in grades:
        return "correct"
    return "ambiguous" if "ambiguous" in grades else "incorrect"


class ReaderGrader:
    """The reader's calibrated probability, cut at two round numbers (``lean``).

    Each passage is graded for itself, so that the best of a bad lot is not taken for good.
    """

    @property
    def name(self) -> str:
        """``reader``."""
        return "reader"

    def grade(
        self, session: Session, notebook: Sequence[str], question: str, candidates: Sequence[Candidate]
    ) -> list[PassageGrade]:
        """One for each of ``candidates``, in their order."""
        return [graded(candidate["score"]) for candidate in candidates]


def graded(probability: float) -> PassageGrade:
    """The grade of a probability of answering."""
    if probability >= _CORRECT:
        return PassageGrade("correct", probability)
    return PassageGrade("incorrect" if probability < _INCORRECT else "ambiguous", probability)


class ModelGrader:
    """Asks the model for the grade of each passage, all in one call (``seed``).

    The model gives no probability: correct counts as 1, ambiguous as 0.5, incorrect as 0. A passage that
    does not fit the context any more is ambiguous, and so is everything if no answer can be read.
    """

    @property
    def name(self) -> str:
        """``llm``."""
        return "llm"

    def grade(
        self, session: Session, notebook: Sequence[str], question: str, candidates: Sequence[Candidate]
    ) -> list[PassageGrade]:
        """The model's grades.

        Raises:
            BudgetExhausted, GenerationCancelled, StepSkipped: as `Session.ask` does.
        """
        shown = _fitting(session, notebook, candidates)
        grades: list[Grade] = []
        if shown:
            letters = string.ascii_uppercase[: len(shown)]
            fields: dict[str, Any] = dict.fromkeys(letters, (Grade, ...))
            shape: type[BaseModel] = create_model("Grades", **fields)
            default = shape(**dict.fromkeys(letters, "ambiguous"))
            instruction = prompts.grade(question, shown)
            result = session.ask(
                "grade", notebook, instruction, shape, default, _TOKENS_A_GRADE * len(shown)
            )
            if result.origin == "default":
                session.emit(
                    Warned("The model's grades could not be read: all passages count as ambiguous.")
                )
            grades.extend(result.value.model_dump().values())
        grades.extend(["ambiguous"] * (len(candidates) - len(shown)))
        return [PassageGrade(grade, _MODEL_PROBABILITY[grade]) for grade in grades]


def _fitting(session: Session, notebook: Sequence[str], candidates: Sequence[Candidate]) -> list[str]:
    """The texts of the first candidates, as many as there are letters and room for."""
    room = session.room(notebook, _ANSWER_ROOM)
    shown: list[str] = []
    for candidate in candidates[: len(string.ascii_uppercase)]:
        text = f"{candidate['title']}. {candidate['text']}"
        room -= session.chat.count_tokens(text)
        if room < 0:
            break
        shown.append(text)
    return shown


_FAR_BEHIND = 0.05  # share of the best passage's probability


def grade(state: RunState, deps: Deps) -> dict[str, Any]:
    """Reads plan, position, step, candidates, notebook. Writes candidates (graded, best first) and grade.

    The order of before stands among equals. A passage far behind the best is not kept: a small reader
    is led astray by what merely sounds alike.
    """
    question = state["plan"][state["position"]]["question"]
    candidates = state["candidates"]
    graded = deps.cognition.grader.grade(deps.session, state["notebook"], question, candidates)
    grades = [one.grade for one in graded]
    together = overall(grades)
    deps.session.emit(
        Graded(
            step=state["step"],
            grade=together,
            grader=deps.cognition.grader.name,
            passages=[c["passage_id"] for c in candidates],
            grades=list(grades),
            probabilities=[round(one.probability, 4) for one in graded],
        )
    )
    best = max((one.probability for one in graded), default=0.0)
    marked = [
        Candidate(
            {
                **c,
                "grade": one.grade if one.probability >= _FAR_BEHIND * best else "incorrect",
                "scores": {**c["scores"], RELEVANCE: round(one.probability, 4)},
            }
        )
        for c, one in zip(candidates, graded, strict=True)
    ]
    order = sorted(range(len(marked)), key=lambda i: -graded[i].probability)
    return {"candidates": [marked[i] for i in order], "grade": together}
