"""Trajectories on disk: a question that was worked through is a line of JSON, and not worked through again.

A line holds what finishing at each prefix gives, and what a person wants to see of it. Answers and findings
quote passages: the file is for a work folder, the rows made of it (`policy.systems.rows`) can be given on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from agent.state import ACTIONS, Action
from policy.lines import append, whole_lines
from policy.systems.cases import Place
from policy.trees import Node, Seen, Tree
from traces.errors import DeepthinkError


class BadTrajectories(DeepthinkError):
    """Raised when a file of trajectories holds something else."""

    title = "Not a file of trajectories"
    kind: ClassVar[Literal["input"]] = "input"


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
    valid: tuple[Action, ...]
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
    prefixes: Mapping[str, Prefix]
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


class Trajectories:
    """The trajectories in a file, which grows with each that is added.

    Args:
        file: Need not exist.

    Raises:
        BadTrajectories: a line is none. A last line without its end, as a killed run leaves one, is cut
            off.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._known: dict[tuple[str, str, str], Trajectory] = {}
        for number, line in whole_lines(file):
            trajectory = _read(line, number, file)
            self._known[trajectory.key] = trajectory

    def __contains__(self, key: tuple[str, str, str]) -> bool:
        return key in self._known

    def __len__(self) -> int:
        return len(self._known)

    def get(self, key: tuple[str, str, str]) -> Trajectory:
        """The newest of this key.

        Raises:
            KeyError: there is none.
        """
        return self._known[key]

    def all(self) -> list[Trajectory]:
        """Every trajectory, the newest of each key, in the order in which they came."""
        return list(self._known.values())

    def add(self, trajectory: Trajectory) -> None:
        """Keep ``trajectory``, on disk at once."""
        told = {**asdict(trajectory), "prefixes": [asdict(one) for one in trajectory.prefixes.values()]}
        append(self._file, told)
        self._known[trajectory.key] = trajectory


def _read(line: bytes, number: int, file: Path) -> Trajectory:
    try:
        told = json.loads(line)
        prefixes = {prefix.path: prefix for prefix in map(_prefix, told.pop("prefixes"))}
        return Trajectory(**told, prefixes={"": prefixes.pop(""), **prefixes})
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise BadTrajectories(
            f"Line {number} of {file.name} is no trajectory: {error}.",
            "Remove the line; its question will be worked through again.",
        ) from error


def _prefix(told: dict[str, Any]) -> Prefix:
    passages = told.pop("passages", None)
    valid = tuple(_action(name) for name in told.pop("valid"))
    if not valid:
        raise ValueError("nothing is valid in a state")
    return Prefix(
        **{name: told.pop(name) for name in ("path", "state", "answer", "short")},
        features=_numbers(told.pop("features")),
        measures=_numbers(told.pop("measures")),
        valid=valid,
        rules=_action(told.pop("rules")),
        places=tuple(Place(place["document"], place["page"]) for place in told.pop("places")),
        passages=None if passages is None else tuple(map(int, passages)),
        **told,
    )


def _action(name: str) -> Action:
    for action in ACTIONS:
        if action == name:
            return action
    raise ValueError(f"{name} is no action")


def _numbers(told: Mapping[str, Any]) -> dict[str, float]:
    return {str(name): float(value) for name, value in told.items()}


def _detail(measures: Mapping[str, float]) -> dict[str, float]:
    recall = measures.get("recall")
    return {**measures} if recall is None else {**measures, "complete": float(recall >= 1.0)}
