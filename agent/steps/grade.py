"""Grading: does a passage help to answer? Correct, ambiguous or incorrect, as in CRAG (Yan et al., 2024).

What a step does next depends on the grades of all its passages: correct ones are refined; if all are
incorrect, the step searches elsewhere; in between, it does both.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any, Final

from pydantic import BaseModel, create_model

from agent import prompts
from agent.deps import Deps
from agent.events import Graded, Warned
from agent.session import Session
from agent.state import RELEVANCE, Candidate, Grade, RunState, current_step
from agent.steps.rerank import LIKELY

_MODEL_PROBABILITY: Final[dict[Grade, float]] = {"correct": 1.0, "ambiguous": 0.5, "incorrect": 0.0}
_INCORRECT_BELOW: Final = 0.05
_TOKENS_PER_GRADE = 12  # in the model's answer
_ANSWER_ROOM = 400  # context tokens kept free for the instruction and the answer


def overall(grades: Sequence[Grade]) -> Grade:
    """CRAG's action: correct if any passage is, incorrect if all are or there is none, else ambiguous."""
    if "correct" in grades:
        return "correct"
    return "ambiguous" if "ambiguous" in grades else "incorrect"


def grade_by_reader(
    _session: Session, _notebook: Sequence[str], _question: str, candidates: Sequence[Candidate]
) -> list[tuple[Grade, float]]:
    """Grade by two thresholds on the reader's calibrated probability (``lean``)."""
    return [(graded(candidate["score"]), candidate["score"]) for candidate in candidates]


def graded(probability: float) -> Grade:
    """The grade of a passage that answers with ``probability``.

    Each passage is graded on its own, so that the best of a bad lot does not pass for good.
    """
    if probability >= LIKELY:
        return "correct"
    return "incorrect" if probability < _INCORRECT_BELOW else "ambiguous"


def grade_by_model(
    session: Session, notebook: Sequence[str], question: str, candidates: Sequence[Candidate]
) -> list[tuple[Grade, float]]:
    """Ask the model for the grade of each passage, all in one call (``seed``). Raises as `Session.ask`.

    The model gives no probability: correct counts as 1, ambiguous as 0.5, incorrect as 0. A passage that
    no longer fits the context is ambiguous, and so are all if the answer cannot be parsed.
    """
    texts = _texts_that_fit(session, notebook, candidates)
    grades: list[Grade] = []
    if texts:
        letters = string.ascii_uppercase[: len(texts)]
        fields: dict[str, Any] = dict.fromkeys(letters, (Grade, ...))
        shape: type[BaseModel] = create_model("Grades", **fields)
        default = shape(**dict.fromkeys(letters, "ambiguous"))
        instruction, most_tokens = prompts.grade(question, texts), _TOKENS_PER_GRADE * len(texts)
        result = session.ask("grade", notebook, instruction, shape, default, most_tokens)
        if result.origin == "default":
            session.emit(Warned("The model's grades could not be read: all passages count as ambiguous."))
        grades.extend(result.value.model_dump().values())
    grades.extend(["ambiguous"] * (len(candidates) - len(texts)))
    return [(grade, _MODEL_PROBABILITY[grade]) for grade in grades]


def _texts_that_fit(
    session: Session, notebook: Sequence[str], candidates: Sequence[Candidate]
) -> list[str]:
    """The texts of the first candidates, as many as there are letters and context tokens for."""
    room = session.room(notebook, _ANSWER_ROOM)
    texts: list[str] = []
    for candidate in candidates[: len(string.ascii_uppercase)]:
        text = f"{candidate['title']}. {candidate['text']}"
        room -= session.chat.count_tokens(text)
        if room < 0:
            break
        texts.append(text)
    return texts


_MIN_SHARE_OF_BEST = 0.05  # a passage with less of the best one's probability counts as incorrect


def grade(state: RunState, deps: Deps) -> dict[str, Any]:
    """Reads plan, position, step, candidates, notebook. Writes candidates (graded, best first) and grade.

    Ties keep their order. A passage far behind the best counts as incorrect: a small reader is misled by
    passages that merely sound alike.
    """
    question = current_step(state)["question"]
    candidates = state["candidates"]
    results = deps.cognition.grade(deps.session, state["notebook"], question, candidates)
    overall_grade = overall([passage_grade for passage_grade, _ in results])
    deps.session.emit(
        Graded(
            step=state["step"],
            grade=overall_grade,
            grader=deps.cognition.grader,
            passages=[candidate["passage_id"] for candidate in candidates],
            grades=[passage_grade for passage_grade, _ in results],
            probabilities=[round(probability, 4) for _, probability in results],
        )
    )
    best = max((probability for _, probability in results), default=0.0)
    ranked = sorted(zip(candidates, results, strict=True), key=lambda pair: -pair[1][1])
    graded_candidates = [
        Candidate(
            {
                **candidate,
                "grade": passage_grade if probability >= _MIN_SHARE_OF_BEST * best else "incorrect",
                "scores": {**candidate["scores"], RELEVANCE: round(probability, 4)},
            }
        )
        for candidate, (passage_grade, probability) in ranked
    ]
    return {"candidates": graded_candidates, "grade": overall_grade}
