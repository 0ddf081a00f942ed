"""Why a learned policy decided as it did, in plain words.

What is answered, what the last search brought, how sure it is, and whether that leaves the plan.

The words are made from the state and the scores. They say what the policy saw and expected, not how it
weighed it: a forest has no sentence inside.
"""

from __future__ import annotations

from agent.decisions.decider import PolicyState
from agent.state import Action
from policy.trees import default_action

_NUMBERS = "none one two three four five six seven eight nine ten".split()
_HELPS = 0.5  # the grader's probability from which a passage is said to help
_ASKED = 60  # characters of a sub-question that are quoted


def reason(state: PolicyState, valid: tuple[Action, ...], action: Action, sufficient: float) -> str:
    """One line.

    Args:
        state: What the policy saw.
        valid: What it could have done.
        action: What it does.
        sufficient: The calibrated probability that all the evidence is held.
    """
    facts = [part for part in (_answered(state), _missing(state), _searched(state)) if part]
    sure = f"{sufficient:.0%} sure that the evidence is complete"
    return f"{', '.join(facts)}; {sure}{_departure(valid, action)}"


def _answered(state: PolicyState) -> str:
    answered = sum(bool(finding["found"]) for finding in state.findings)
    asked = answered + len(state.missing) + len(state.open_questions)
    if asked == 0:
        return ""
    if asked == 1:
        return "the one sub-question is answered" if answered else "the one sub-question is unanswered"
    if answered == asked:
        return (
            "both sub-questions answered" if asked == 2 else f"all {_number(asked)} sub-questions answered"
        )
    return f"{_number(answered)} of {_number(asked)} sub-questions answered"


def _missing(state: PolicyState) -> str:
    if not state.missing:
        return ""
    asked = state.missing[-1]
    short = asked if len(asked) <= _ASKED else f"{asked[: _ASKED - 1].rstrip()}…"
    return f"nothing found on “{short}”"


def _searched(state: PolicyState) -> str:
    if state.step == 0:
        return "nothing searched yet"
    if state.barren > 1:
        return f"the last {_number(state.barren)} searches brought nothing new"
    if state.fresh == 0:
        return "the last search brought nothing new"
    found = "one new passage" if state.fresh == 1 else f"{_number(state.fresh)} new passages"
    helping = sum(score >= _HELPS for score in state.scores)
    return f"the last search brought {found}{'' if helping else ', none that clearly helps'}"


def _departure(valid: tuple[Action, ...], action: Action) -> str:
    default = default_action(valid)
    if action == default or len(valid) == 1:
        return ""
    if action == "FINISH":
        return ", so the rest of the plan is left out"
    if default == "FINISH":
        return ", so it asks anew before it answers"
    return ", so it plans anew instead of going on"


def _number(count: int) -> str:
    return _NUMBERS[count] if 0 <= count < len(_NUMBERS) else str(count)
