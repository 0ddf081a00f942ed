"""Trajectories on disk: a question that was worked through is a line of JSON, and not worked through again.

A line holds what finishing at each prefix gives, and what a person wants to see of it. Answers and findings
quote passages: the file is for a work folder, the rows made of it (`policy.systems.rows`) can be given on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from annotated_types import MinLen
from pydantic import BeforeValidator, PlainSerializer, TypeAdapter

from agent.state import Action
from policy.lines import KeyedLines
from policy.systems.cases import Place
from policy.trees import Node, Seen, Tree


def _by_path(prefixes: Any) -> dict[str, Prefix]:
    """A line has them as a list; the first state must be among them."""
    found = {prefix.path: prefix for prefix in TypeAdapter(list[Prefix]).validate_python(prefixes)}
    if "" not in found:
        raise ValueError("the first state is missing")
    return found


@dataclass(frozen=True, slots=True)
class Prefix:
    """A state of a trajectory, and what finishing there gives.

    Attributes:
        path: First letters of the actions taken to it; "" for the first decision, after one step.
        state: `agent.encoding.state_text` of it.
        features: `agent.features.features` of it.
        valid: What may be done; FINISH alone where the run stops by itself.
        rules: What `agent.cognition.deciding.Rules` do here.
        measures: `policy.systems.metrics.measured` of the answer that is written here.
        answer: That answer.
        short: In as few words as the question asks for; "" for an abstention.
        stopped: Why the run stops here by itself; "" where it does not.
        question: Of the step that led here; "" where a revision brought none.
        query: What was searched for in it.
        finding: What it found, in a sentence.
        places: What the finding cites.
        passages: As `policy.systems.answered.Answered.passages`; None in a line from before they were kept.
    """

    path: str
    state: str
    features: Mapping[str, float]
    valid: Annotated[tuple[Action, ...], MinLen(1)]
    rules: Action
    measures: Mapping[str, float]
    answer: str
    short: str
    stopped: str = ""
    question: str = ""
    query: str = ""
    finding: str = ""
    places: tuple[Place, ...] = ()
    passages: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Trajectory:
    """A question that was worked through with one model.

    Attributes:
        questions: Name of the set.
        question: Its id there.
        model: The language model's name.
        text: The question in words.
        prefixes: By path; "" is there.
        case: `policy.systems.cases.Case.digest` of what was asked.
    """

    questions: str
    question: str
    model: str
    text: str
    prefixes: Annotated[
        Mapping[str, Prefix],
        BeforeValidator(_by_path),
        PlainSerializer(lambda prefixes: list(prefixes.values()), return_type=list[Prefix]),
    ]
    case: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """What there is one trajectory of."""
        return self.questions, self.question, self.model


def tree(trajectory: Trajectory) -> Tree:
    """The trajectory as what policies are walked on.

    Quality is what they learn from (`policy.collecting.with_model`): the F1 of the short answer, or 1 if
    the whole answer states a right one. Detail is the measures, and ``complete`` where gold is known.
    """
    nodes = {
        path: Node(
            path,
            Seen(prefix.state, prefix.features, prefix.valid),
            max(prefix.measures["f1"], prefix.measures.get("holds", 0.0)),
            "answer",
            _detail(prefix.measures),
        )
        for path, prefix in trajectory.prefixes.items()
    }
    return Tree(
        f"{trajectory.questions}/{trajectory.question}", trajectory.questions, nodes, trajectory.text
    )


class Trajectories(KeyedLines[Trajectory]):
    """The trajectories in ``file``."""

    def __init__(self, file: Path) -> None:
        super().__init__(file, Trajectory, lambda trajectory: trajectory.key)


def _detail(measures: Mapping[str, float]) -> dict[str, float]:
    recall = measures.get("recall")
    return {**measures} if recall is None else {**measures, "complete": float(recall >= 1.0)}
