"""Policies that need no training: what a learned policy has to beat."""

from __future__ import annotations

from collections.abc import Callable

from agent.state import Action
from policy.decisions.trees import Node, default_action


def go_on(node: Node) -> Action:
    """CONTINUE if valid, else REVISE if valid, else FINISH."""
    return next(action for action in ("CONTINUE", "REVISE", "FINISH") if action in node.valid)


def stop(node: Node) -> Action:
    """FINISH; where that is not valid yet (nothing is held), what the default policy does."""
    return "FINISH" if "FINISH" in node.valid else default_action(node.valid)


def plan_done(node: Node) -> Action:
    """The default policy: work the plan off, then finish."""
    return default_action(node.valid)


def rules(node: Node) -> Action:
    """`agent.decisions.judges.Rules`, from a state's features: the state itself is not kept in a tree.

    Rules revises early when an open step refers to a step that found nothing. Features only say that an
    open step refers to an earlier one and that something is missing: the same for all plans in which
    every reference is to the step before, as those of two steps are.
    """
    seen = node.seen.features
    missing, blocked = seen["missing"] > 0, seen["missing"] > 0 and seen["open_references"] > 0
    once_more = missing and not seen["open"] and not seen["revised_last"]
    if "REVISE" in node.valid and (blocked or once_more):
        return "REVISE"
    if "CONTINUE" in node.valid:
        return "CONTINUE"
    return "FINISH" if "FINISH" in node.valid else node.valid[0]


def answer_repeats(node: Node) -> Action:
    """Finish when a finding's answer repeats or a search brought nothing new; until then, work on.

    The training-free rule of TASR (arXiv 2606.13814) without its logit margin, which a tree does not hold.
    """
    seen = node.seen.features
    return stop(node) if seen["answer_repeats"] > 0 or seen["barren"] > 0 else go_on(node)


def repeats_or_plan_done(node: Node) -> Action:
    """`answer_repeats`, and finish when the plan is done."""
    seen = node.seen.features
    return stop(node) if seen["answer_repeats"] > 0 or seen["barren"] > 0 else plan_done(node)


UNTRAINED: dict[str, Callable[[Node], Action]] = {
    "plan done": plan_done,
    "rules": rules,
    "answer repeats": answer_repeats,
    "answer repeats or plan done": repeats_or_plan_done,
}
"""Policies that need no training, by the name they have in a table."""
