"""Collecting a file of questions without a language model: resumable, told as it goes."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from agent.state import ACTIONS, Action
from models.protocols import Embedder, Reader
from policy.collecting import drawn_decision
from policy.decisions import default_action
from policy.questions import Progress
from tests.benchmarks.collecting.growing import Grower
from tests.benchmarks.multihop import RememberingEmbedder, pool, read_questions
from traces.decisions import Collected, CollectedQuestion, Outcome
from traces.store import Store

EXPLORER = "explorer"
"""Source of a collected decision: the default policy, with exploration."""
_REMEMBERED = 150  # questions after which the embedder's memory is freed
_EPSILON = 0.1  # share of exploration in the recorded behaviour; every action is tried anyway
_SEED = 0  # of the shuffle and of the behaviour


def collect(
    path: Path,
    store: Store,
    embedder: Embedder,
    reader: Reader,
    cancel: threading.Event | None = None,
) -> Iterator[Progress]:
    """Collect a file's questions into ``store``, which holds their paragraphs too; what is there is kept.

    Args:
        path: File of questions, with the paragraphs that support them.
        store: What it holds is kept.
        embedder: Of the paragraphs.
        reader: Of the passages.
        cancel: Set to stop between two questions.
    """
    questions = read_questions(path)
    remembering = RememberingEmbedder(embedder)
    for done, total in pool(questions, store, remembering, cancel):
        yield Progress("paragraphs", done, total)
    collected = Collected(store)
    held = collected.held(questions.name)
    chosen = list(questions.questions)
    random.Random(_SEED).shuffle(chosen)
    todo = [question for question in chosen if question.id not in held]
    total = len(chosen)
    yield Progress("questions", total - len(todo), total)
    grower = Grower(store, questions.name, remembering, reader)
    began = time.monotonic()
    for number, question in enumerate(todo, start=1):
        if cancel is not None and cancel.is_set():
            return
        grown = grower.grow(question)
        rng = random.Random(f"{_SEED} {question.id}")
        collected.put(
            CollectedQuestion(
                dataset=questions.name,
                question_id=question.id,
                question=question.text,
                answers=question.answers,
                passages=[str(number) for number in sorted(question.gold)],
                embedder=embedder.name,
                reranker=reader.name,
                decisions=[
                    drawn_decision(
                        seq, node.path, node.state, node.valid, behaviour(node.valid), EXPLORER, rng
                    )
                    for seq, node in enumerate(grown)
                ],
                outcomes=[Outcome(node.path, "evidence", node.quality, node.detail) for node in grown],
            )
        )
        if number % _REMEMBERED == 0:
            remembering.forget()
        left = (time.monotonic() - began) / number * (len(todo) - number)
        yield Progress("questions", total - len(todo) + number, total, left)


def behaviour(valid: Sequence[Action]) -> dict[Action, float]:
    """The default policy with a share of exploration, spread evenly over what is valid."""
    default = default_action(valid)
    return {
        action: (_EPSILON / len(valid) + (1 - _EPSILON) * (action == default)) if action in valid else 0.0
        for action in ACTIONS
    }
