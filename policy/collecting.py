"""Collect decisions with the language model: run questions to the end of their plans, with exploration.

The nodes are those of a run, without checkpoints. A plan is always followed to its end, so that what
follows each state is observed; answering in a state measures what finishing there is worth. Where every
state is answered, a step that found nothing is also tried further, in each way and on a branch of its own;
below such a branch, and below a revision, it is not, so that a question stays affordable.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace

from agent.decisions.decider import (
    STATE_VERSION,
    is_stuck,
    policy_state,
    used_up,
    valid_actions,
)
from agent.decisions.features import features, state_text
from agent.deps import Deps
from agent.graph import begun, finish, planned_step
from agent.profiles import profile
from agent.session import MemoReader
from agent.state import PLAN_ACTIONS, TRIES, Action, RunState, updated
from models.protocols import GenerationCancelled
from policy.decisions import default_action
from policy.evaluation.measures import exact_match, f1, holds, is_right
from policy.evaluation.systems import Parts
from policy.questions import Case, CaseSet, Progress
from traces.collected import Collected, Gold
from traces.decisions import DecisionRow, Outcome
from traces.errors import DeepthinkError

HORIZON = "horizon"
"""Source of exploratory decisions: the plan to its end, then FINISH; at times REVISE instead."""


def collect(
    cases: CaseSet, parts: Parts, *, answers: bool = False, epsilon: float = 0.1
) -> Iterator[Progress]:
    """Collect the questions that are not in the store yet, which also has the library.

    If every state is to be answered, a question that was answered only in its last state is collected
    again. A question that fails is reported and skipped. With ``answers`` every state is answered, by one
    model call each and the further tries of a step are explored, otherwise only the last one; ``epsilon``
    is the share of exploration: REVISE where the plan is done, or is stuck. Raises `EmptyLibrary` or
    `UnknownCollection` before the first case.
    """
    collected = Collected(parts.store)
    collected_ids = collected.held(cases.name, at_every_state=answers)
    todo = [case for case in cases.cases if case.id not in collected_ids]
    done, total = len(cases.cases) - len(todo), len(cases.cases)
    yield Progress("questions", done, total)
    failed: list[str] = []
    began = time.monotonic()
    for number, case in enumerate(todo, start=1):
        if parts.cancel is not None and parts.cancel.is_set():
            return
        reader = MemoReader(parts.reader)
        deps = replace(parts.deps(profile("lean", reader, parts.planner)), reader=reader)
        rng = random.Random(case.id)
        try:
            decisions, outcomes = _collect_case(case, deps, rng, answers=answers, epsilon=epsilon)
        except GenerationCancelled:
            return
        except DeepthinkError as error:
            failed.append(f"{case.question}: {error.message}")
        else:
            collected.put(
                Gold(cases.name, case.id, case.answers),
                case.question,
                decisions,
                outcomes,
                embedder=parts.embedder.name,
                reranker=parts.reader.name,
            )
        seconds_left = (time.monotonic() - began) / number * (len(todo) - number)
        yield Progress("questions", done + number, total, seconds_left, tuple(failed))


_TRIED = frozenset(action[0] for action in TRIES)


def _collect_case(
    case: Case, deps: Deps, rng: random.Random, *, answers: bool, epsilon: float
) -> tuple[list[DecisionRow], list[Outcome]]:
    """The states of a question, the shorter paths first, and what finishing there is worth.

    None of a question that one look-up answers: its run takes no decision.
    """
    session, budget = deps.session, deps.session.ledger.budget
    decisions: list[DecisionRow] = []
    outcomes: list[Outcome] = []
    begin = begun(case.question, deps)
    frontier = [("", begin)] if begin["route"] == "deep" else []
    while frontier:
        path, state = frontier.pop(0)
        is_tried = not _TRIED.isdisjoint(path)
        with session.beside() if is_tried else nullcontext():  # the plan keeps its budget
            state, stopped = planned_step(state, deps)
        policy_view = policy_state(state, budget, session.ledger.tokens_left)
        stopped = stopped or used_up(policy_view, budget, out_of_time=session.stop.out_of_time)
        valid: tuple[Action, ...] = ("FINISH",) if stopped else valid_actions(policy_view)
        explores = not is_tried and "R" not in path
        if not (answers and explores):
            valid = tuple(action for action in valid if action in PLAN_ACTIONS)
        can_revise = explores and (not policy_view.open_questions or is_stuck(policy_view))
        probabilities = exploration(valid, epsilon if can_revise else 0.0)
        (drawn,) = rng.choices(list(probabilities), list(probabilities.values()))
        decisions.append(
            DecisionRow(
                seq=len(decisions),
                step=policy_view.step,
                state_version=STATE_VERSION,
                state=policy_view.to_json(),
                valid_actions=valid,
                action=drawn,
                probabilities={str(name): share for name, share in probabilities.items()},
                behaviour_probability=probabilities[drawn],
                source=HORIZON,
                latency_ms=0.0,
                path=path,
                text=state_text(policy_view),
                features=features(policy_view),
            )
        )
        if answers or drawn == "FINISH":
            with session.beside():  # a run that continues from here has not answered
                outcomes.append(_measure_answer(path, state, case, deps))
        for action in valid:
            if action == "CONTINUE" or action in TRIES or action == drawn != "FINISH":
                frontier.append((path + action[0], updated(state, {"action": action})))
    return decisions, outcomes


def exploration(valid: Sequence[Action], epsilon: float) -> dict[Action, float]:
    """The default action, or with share ``epsilon`` REVISE."""
    default = default_action(valid)
    share = epsilon if "REVISE" in valid and default != "REVISE" else 0.0
    return {
        action: (1 - share) * (action == default) + share * (action == "REVISE") for action in PLAN_ACTIONS
    }


_MARKED = 0.25
"""What a wrong answer with a mark of doubt is worth, and a refusal of what the documents answer."""


def _measure_answer(path: str, state: RunState, case: Case, deps: Deps) -> Outcome:
    """The quality of an answer from this state: by the known answers, otherwise by the verifier.

    In a set with patterns it is 1 for a right answer or a right refusal, and 0 for a wrong one that is
    shown as supported; elsewhere it is the F1 of the answer.
    """
    result = finish(state, deps)
    answered = result["status"] == "answered"
    share = result["share"] if answered else 0.0
    if case.kind:
        right = is_right(case, result["answer"]) if answered else not case.answers
        marked = not answered or any(claim["verdict"] != "supported" for claim in result["claims"])
        detail = {"right": float(right), "wrong": float(answered and not right), "supported": share}
        return Outcome(path, "answer", 1.0 if right else _MARKED * marked, detail)
    if not case.answers:
        return Outcome(path, "verifier", share, {"supported": share})
    texts = [result["answer"], *(note["answer"] for note in state["notes"] if note["found"])]
    best = max((f1(text, case.answers) for text in texts), default=0.0) if answered else 0.0
    exact = max((exact_match(text, case.answers) for text in texts), default=0.0) if answered else 0.0
    stated = float(answered and holds(result["answer"], case.answers))
    # The answer is prose: containing the gold answer counts as much as consisting of it.
    detail = {"f1": best, "em": exact, "holds": stated, "supported": share}
    return Outcome(path, "answer", max(best, stated), detail)
