"""Writing the answer: from the model, or from the findings alone where nothing may be asked any more."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Protocol

from agent import prompts
from agent.session import Session
from agent.state import Note, still_missing

_ABSTENTION = re.compile(
    r"not found in (?:your|the) documents"
    r"|\b(?:is|are|was|were) not (?:provided|mentioned|stated|specified|given|included|available)\b"
    r"|\bdo(?:es)? not (?:provide|mention|state|specify|contain|give|say)\b",
    re.IGNORECASE,
)
_PARTIAL = re.compile(r"\b(?:but|while|although|however)\b", re.IGNORECASE)


class Writer(Protocol):
    """Writes the answer with ``[n]`` marks; they are checked afterwards."""

    def write(
        self,
        session: Session,
        notebook: Sequence[str],
        question: str,
        notes: Sequence[Note],
        on_text: Callable[[str], None],
    ) -> str:
        """The answer; at least one note was found."""
        ...


class ModelWriter:
    """Asks the model, which has the whole notebook before it.

    Args:
        max_tokens: Upper bound of the answer.
    """

    def __init__(self, max_tokens: int) -> None:
        self._max_tokens = max_tokens

    def write(
        self,
        session: Session,
        notebook: Sequence[str],
        question: str,
        notes: Sequence[Note],
        on_text: Callable[[str], None],
    ) -> str:
        """The model's answer; the findings if it says nothing."""
        missing = [note["question"] for note in still_missing(notes)]
        instruction = prompts.synthesise(question, missing)
        reply = session.write("synthesise", notebook, instruction, self._max_tokens, on_text)
        return reply.text.strip() or from_findings(notes)


def abstains(sentence: str) -> bool:
    """True if a sentence says, in whatever words, that the evidence holds no answer and nothing else."""
    return _ABSTENTION.search(sentence) is not None and not _PARTIAL.search(sentence)


def from_findings(notes: Sequence[Note]) -> str:
    """The findings one after the other, each with its mark: the answer when the budget is used up."""
    return " ".join(
        f"{note['sentence'].rstrip('.')} {''.join(f'[{n}]' for n in note['cites'])}."
        for note in notes
        if note["found"]
    )
