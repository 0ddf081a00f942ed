"""Writing the answer: from the model, or from the findings alone where nothing may be asked any more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from agent import prompts
from agent.session import Session
from agent.state import Note


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
        missing = [note["question"] for note in notes if not note["found"]]
        instruction = prompts.synthesise(question, missing)
        reply = session.write("synthesise", notebook, instruction, self._max_tokens, on_text)
        return reply.text.strip() or from_findings(notes)


def from_findings(notes: Sequence[Note]) -> str:
    """The findings one after the other, each with its mark: the answer when the budget is used up."""
    return " ".join(
        f"{note['sentence'].rstrip('.')} {''.join(f'[{n}]' for n in note['cites'])}."
        for note in notes
        if note["found"]
    )
