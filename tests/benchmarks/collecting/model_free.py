"""Collecting a file of questions without a language model: resumable, told as it goes."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agent.decisions.decider import STATE_VERSION
from agent.state import ACTIONS, Action
from models.protocols import Embedder, Reader
from policy.collecting import CollectingProgress
from policy.decisions.trees import default_action
from tests.benchmarks.collecting.growing import Grower, Grown
from tests.benchmarks.multihop import Question, QuestionSet, RememberingEmbedder, pool, read_questions
from traces.outcomes import Collected, CollectedQuestion, Outcome
from traces.runs import DecisionRow
from traces.store import Store

EXPLORER = "explorer"
"""Source of a collected decision: the default policy, with exploration."""
_REMEMBERED = 150  # questions after which the embedder's memory is freed


@dataclass(frozen=True, slots=True)
class ModelFree:
    """What is collected, and how.

    Attributes:
        path: File of questions, with the paragraphs that support them.
        limit: The first so many questions by a fixed shuffle; None for all.
        epsilon: Share of exploration in the recorded behaviour; every action is tried anyway.
        seed: Of the shuffle and of the behaviour.
    """

    path: Path
    limit: int | None = None
    epsilon: float = 0.1
    seed: int = 0
    questions: QuestionSet = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "questions", read_questions(self.path))

    @property
    def chosen(self) -> list[Question]:
        """The questions that are collected, in their order."""
        shuffled = list(self.questions.questions)
        random.Random(self.seed).shuffle(shuffled)
        return shuffled[: self.limit]


def collect(
    wanted: ModelFree,
    store: Store,
    embedder: Embedder,
    reader: Reader,
    cancel: threading.Event | None = None,
) -> Iterator[CollectingProgress]:
    """Collect the questions into ``store``, which holds their paragraphs too; what is there is kept."""
    questions = wanted.questions
    remembering = RememberingEmbedder(embedder)
    for done, total in pool(questions, store, remembering, cancel):
        yield CollectingProgress("reading", done, total)
    collected = Collected(store)
    held = collected.held(questions.name)
    todo = [question for question in wanted.chosen if question.id not in held]
    total, states = len(wanted.chosen), 0
    yield CollectingProgress("collecting", total - len(todo), total)
    grower = Grower(store, questions.name, remembering, reader)
    began = time.monotonic()
    for number, question in enumerate(todo, start=1):
        if cancel is not None and cancel.is_set():
            return
        grown = grower.grow(question)
        states += len(grown)
        name = reader.name
        collected.put(_stored(question, questions.name, grown, embedder.name, name, wanted))
        if number % _REMEMBERED == 0:
            remembering.forget()
        left = (time.monotonic() - began) / number * (len(todo) - number)
        yield CollectingProgress("collecting", total - len(todo) + number, total, states, left)


def _stored(
    question: Question,
    dataset: str,
    grown: Sequence[Grown],
    embedder: str,
    reranker: str,
    wanted: ModelFree,
) -> CollectedQuestion:
    rng = random.Random(f"{wanted.seed} {question.id}")
    return CollectedQuestion(
        dataset=dataset,
        question_id=question.id,
        question=question.text,
        answers=question.answers,
        passages=[str(number) for number in sorted(question.gold)],
        embedder=embedder,
        reranker=reranker,
        decisions=[_row(seq, node, wanted.epsilon, rng) for seq, node in enumerate(grown)],
        outcomes=[Outcome(g.path, "evidence", g.quality, g.detail) for g in grown],
    )


def _row(seq: int, grown: Grown, epsilon: float, rng: random.Random) -> DecisionRow:
    probabilities = behaviour(grown.valid, epsilon)
    (action,) = rng.choices(ACTIONS, [probabilities[action] for action in ACTIONS])
    return DecisionRow(
        seq=seq,
        step=grown.state.step,
        state_version=STATE_VERSION,
        state=grown.state.to_json(),
        valid_actions=grown.valid,
        action=action,
        probabilities={str(one): share for one, share in probabilities.items()},
        behaviour_probability=probabilities[action],
        source=EXPLORER,
        latency_ms=0.0,
        path=grown.path,
        text=grown.text,
        features=grown.features,
    )


def behaviour(valid: Sequence[Action], epsilon: float) -> dict[Action, float]:
    """The default policy with a share ``epsilon`` of exploration, spread evenly over what is valid."""
    default = default_action(valid)
    return {
        action: (epsilon / len(valid) + (1 - epsilon) * (action == default)) if action in valid else 0.0
        for action in ACTIONS
    }
