"""Collect with the language model: work questions through to the full horizon, with exploration.

The nodes are the run's own, without checkpoints. FINISH is chosen only where nothing else is possible, so
that what follows each state is seen; what finishing there is worth is known by answering there.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from agent.budget import Budget
from agent.decisions.decider import STATE_VERSION, PolicyState, policy_state, used_up, valid_actions
from agent.decisions.features import features
from agent.decisions.state_text import state_text
from agent.deps import Deps
from agent.profiles import profile
from agent.request import searchable
from agent.retrieval.recall import Recall
from agent.session import Session
from agent.state import ACTIONS, Action, RunState
from agent.steering import Steering
from agent.stepping import begun, finish, planned_step, updated
from models.protocols import Chat, Completer, Embedder, GenerationCancelled, Reader
from policy.evaluation.measures import exact_match, f1, holds
from policy.questions import Case
from traces.collected import Collected, CollectedQuestion
from traces.errors import DeepthinkError
from traces.library import Library
from traces.outcomes import Outcome
from traces.runs import DecisionRow
from traces.store import Store


@dataclass(frozen=True, slots=True)
class CollectingProgress:
    """How far a collection is.

    Attributes:
        doing: ``reading`` the paragraphs of a set, or ``collecting`` its questions.
        states: Collected so far in this go.
        failed: Questions of this go that could not be collected, with why.
    """

    doing: Literal["reading", "collecting"]
    done: int
    total: int
    states: int = 0
    seconds_left: float | None = None
    failed: tuple[str, ...] = ()


HORIZON = "horizon"
"""Source of a decision taken to see what follows: never FINISH while something else is possible."""


@dataclass(frozen=True, slots=True)
class WithModel:
    """What is collected, and how.

    Attributes:
        questions: To ask of the person's own library.
        answers: Answer at every state, a model call each; else only the last state's answer is measured.
        collections: Where to look; all if empty.
        epsilon: Share of exploration: REVISE where the plan would go on, or the other way round.
        budget: Of each case.
    """

    name: str
    questions: Sequence[Case]
    answers: bool = False
    collections: tuple[str, ...] = ()
    epsilon: float = 0.1
    seed: int = 0
    budget: Budget = field(default_factory=Budget)


def collect(
    wanted: WithModel,
    *,
    chat: Chat,
    embedder: Embedder,
    reader: Reader,
    store: Store,
    planner: Completer | None = None,
    cancel: threading.Event | None = None,
) -> Iterator[CollectingProgress]:
    """Work the questions through; what was collected before is kept.

    Where answers are wanted at every state, a question that was answered at the last one only is worked
    through anew. A question that fails is reported and left out.

    Raises:
        EmptyLibrary, UnknownCollection: before the first case.
    """
    library = Library(store)
    collections = searchable(library, wanted.collections, web=False)
    collected = Collected(store)
    held = collected.held(wanted.name, at_every_state=wanted.answers)
    todo = [case for case in wanted.questions if case.id not in held]
    done, total = len(wanted.questions) - len(todo), len(wanted.questions)
    yield CollectingProgress("collecting", done, total)
    states, failed = 0, list[str]()
    began = time.monotonic()
    for number, case in enumerate(todo, start=1):
        if cancel is not None and cancel.is_set():
            return
        session = Session(chat, wanted.budget, lambda _event: None, Steering(cancel))
        cognition = profile("lean", reader, planner)
        deps = Deps(
            session=session,
            cognition=cognition,
            decider=cognition.decider(session),
            library=library,
            recall=Recall(library, embedder),
            reader=reader,
            collections=collections,
            approve="always",
        )
        try:
            decisions, outcomes = _worked(case, wanted, deps)
        except GenerationCancelled:
            return
        except DeepthinkError as error:
            failed.append(f"{case.question}: {error.message}")
        else:
            states += len(decisions)
            collected.put(
                CollectedQuestion(
                    dataset=wanted.name,
                    question_id=case.id,
                    question=case.question,
                    answers=case.answers,
                    passages=(),
                    embedder=embedder.name,
                    reranker=reader.name,
                    decisions=decisions,
                    outcomes=outcomes,
                )
            )
        left = (time.monotonic() - began) / number * (len(todo) - number)
        yield CollectingProgress("collecting", done + number, total, states, left, tuple(failed))


def _worked(case: Case, wanted: WithModel, deps: Deps) -> tuple[list[DecisionRow], list[Outcome]]:
    rng = random.Random(f"{wanted.seed} {case.id}")
    session = deps.session
    state = begun(case.question, deps)
    decisions: list[DecisionRow] = []
    outcomes: list[Outcome] = []
    path = ""
    while True:
        state, stopped = planned_step(state, deps)
        seen = policy_state(state, wanted.budget, session.ledger.tokens_left)
        stopped = stopped or used_up(seen, wanted.budget, out_of_time=session.stop.out_of_time)
        valid: tuple[Action, ...] = ("FINISH",) if stopped else valid_actions(seen)
        probabilities = exploration(valid, wanted.epsilon)
        (action,) = rng.choices(ACTIONS, [probabilities[action] for action in ACTIONS])
        decisions.append(_row(len(decisions), path, seen, valid, action, probabilities))
        if wanted.answers or action == "FINISH":
            with session.beside():  # a run that continues from here has written no answer
                outcomes.append(_answered(path, state, case, deps))
        if action == "FINISH":
            return decisions, outcomes
        path += action[0]
        state = updated(state, {"action": action})


def exploration(valid: Sequence[Action], epsilon: float) -> dict[Action, float]:
    """Work the plan off, then revise; with a share ``epsilon`` the other of the two. FINISH only alone."""
    going = [action for action in ("CONTINUE", "REVISE") if action in valid]
    if not going:
        return {action: float(action == "FINISH") for action in ACTIONS}
    return {
        action: (epsilon / len(going) + (1 - epsilon) * (action == going[0])) if action in going else 0.0
        for action in ACTIONS
    }


def _row(
    seq: int,
    path: str,
    seen: PolicyState,
    valid: tuple[Action, ...],
    action: Action,
    probabilities: dict[Action, float],
) -> DecisionRow:
    return DecisionRow(
        seq=seq,
        step=seen.step,
        state_version=STATE_VERSION,
        state=seen.to_json(),
        valid_actions=valid,
        action=action,
        probabilities={str(one): share for one, share in probabilities.items()},
        behaviour_probability=probabilities[action],
        source=HORIZON,
        latency_ms=0.0,
        path=path,
        text=state_text(seen),
        features=features(seen),
    )


def _answered(path: str, state: RunState, case: Case, deps: Deps) -> Outcome:
    """What an answer from this state is worth: against the known answers, else by the verifier."""
    checked = finish(state, deps)
    answered = checked["status"] == "answered"
    share = checked["share"] if answered else 0.0
    if not case.answers:
        return Outcome(path, "verifier", share, {"supported": share})
    said = [checked["answer"], *(note["answer"] for note in state["notes"] if note["found"])]
    best = max((f1(one, case.answers) for one in said), default=0.0) if answered else 0.0
    exact = max((exact_match(one, case.answers) for one in said), default=0.0) if answered else 0.0
    stated = float(answered and holds(checked["answer"], case.answers))
    # The answer is prose: that it states the right one counts as much as being nothing else.
    detail = {"f1": best, "em": exact, "holds": stated, "supported": share}
    return Outcome(path, "answer", max(best, stated), detail)
