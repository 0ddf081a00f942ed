"""A question over a library of five passages, and a scripted model that answers each kind of prompt."""

from __future__ import annotations

from collections.abc import Sequence

from agent.budget import Budget
from models.protocols import Chat, Message
from policy.evaluation.systems import Parts
from policy.questions import Case, Place
from tests.scripted import HashEmbedder, Plain, Scripted, ScriptedChat, WordReader
from traces.store import Store

CASE = Case(
    "1",
    "Who supplies Orlavane's bearings and what halted its plant?",
    ("Tolvang Ceramics",),
    (Place("annual-report"), Place("fire")),
)
STEPS = ["Who supplies Orlavane's ceramic bearings?", "What halted production at the plant of #1?"]
AGAIN = "Which fire halted the Brevnes plant of Tolvang Ceramics?"
WRITTEN = "Tolvang Ceramics supplies the bearings [1]."
READER = WordReader(dict.fromkeys((CASE.question, STEPS[0]), ("Tolvang Ceramics", 0.5)))
"""Marks the supplier, unsurely, and never what halted the plant."""


def reply(messages: Sequence[Message]) -> Plain:
    """What the model says: it finds the supplier, and revises to `AGAIN`."""
    asked = messages[-1].content.rpartition("\n\n")[2]
    if asked.startswith("Split the QUESTION"):
        return {"steps": STEPS}
    if asked.startswith("Still missing"):
        return {"steps": [AGAIN]}
    if asked.startswith(f"QUESTION: {STEPS[0]}"):
        return "Tolvang Ceramics"
    if messages[-1].content.startswith("PASSAGES:"):
        return WRITTEN
    raise AssertionError(f"an unexpected prompt: {asked!r}")


def replying(calls: int) -> ScriptedChat:
    """A model that is asked so many times, no more and no less."""
    replies: list[Scripted] = [reply] * calls
    return ScriptedChat(replies)


def parts(chat: Chat, store: Store, budget: Budget) -> Parts:
    return Parts(chat, HashEmbedder(), READER, store, (), budget)
