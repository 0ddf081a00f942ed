"""Two deciders: plain rules, and the language model as judge."""

from __future__ import annotations

import time
from collections.abc import Sequence

from agent import prompts
from agent.decisions.decider import Decision, PolicyState, certain
from agent.session import Session
from agent.state import ACTIONS, Action

_LETTERS = {"CONTINUE": "A", "REVISE": "B", "FINISH": "C"}


class Rules:
    """Follow the plan, revise once if steps found nothing, then finish."""

    name = "rules"

    def decide(self, state: PolicyState, valid: Sequence[Action]) -> Decision:
        """Deterministic: the chosen action has probability one."""
        began = time.perf_counter()
        action, reason = self._pick(state, valid)
        if action not in valid:
            action, reason = valid[0], f"{action} is not possible here"
        latency = (time.perf_counter() - began) * 1000
        return Decision(action, certain(action), self.name, latency, reason)

    def _pick(self, state: PolicyState, valid: Sequence[Action]) -> tuple[Action, str]:
        failed_marks = {f"#{n}" for n, f in enumerate(state.findings, start=1) if not f["found"]}
        blocked = [q for q in state.open_questions if any(mark in q for mark in failed_marks)]
        if blocked and "REVISE" in valid:
            return "REVISE", "an open step needs what an earlier one did not find"
        if state.open_questions:
            open_count = len(state.open_questions)
            return "CONTINUE", f"{open_count} of the plan's steps {'is' if open_count == 1 else 'are'} open"
        missing = len(state.missing)
        if missing and "REVISE" in valid and state.last_action != "REVISE":
            return "REVISE", f"{missing} of {len(state.findings)} steps found nothing"
        if missing:
            return "FINISH", "the plan is done, and asking again brought no more"
        return "FINISH", "every step of the plan has its finding"


class ModelJudge:
    """Asks the run's language model; the probabilities are those of the first token of its answer.

    With ``explain`` it also asks for a justification, as the seed does: a second, longer answer.
    """

    name = "llm"

    def __init__(self, session: Session, *, explain: bool) -> None:
        self._session = session
        self._explain = explain

    def decide(self, state: PolicyState, valid: Sequence[Action]) -> Decision:
        """The most probable valid action; probabilities are renormalised over the valid ones."""
        began = time.perf_counter()
        letters = [_LETTERS[action] for action in ACTIONS]
        choice = self._session.choose("decide", state.notebook, prompts.judge(), letters)
        raw = dict(zip(ACTIONS, choice.probabilities, strict=True))
        total = sum(raw[action] for action in valid)
        probabilities: dict[Action, float] = {
            action: (raw[action] / total if total > 0 else 1 / len(valid)) if action in valid else 0.0
            for action in ACTIONS
        }
        action = max(valid, key=lambda a: probabilities[a])
        justification = ""
        if self._explain:
            instruction = prompts.justify(action)
            justification = self._session.write("justify", state.notebook, instruction, 60).text.strip()
        latency = (time.perf_counter() - began) * 1000
        return Decision(action, probabilities, self.name, latency, justification)
