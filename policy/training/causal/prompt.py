"""A state as a prompt that one letter answers.

The letters are single tokens of the tokenizers in use (the words CONTINUE, REVISE, FINISH are three each).
A state that is too long loses its end, where the weaker evidence is, never the question that asks for the
letter: a trainer that cuts a sequence at its own limit would silently drop the label.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias

from agent.state import ACTIONS, Action
from models.protocols import ModelError

Method: TypeAlias = Literal["sft", "dpo"]

LETTERS: Final[Mapping[Action, str]] = {action: f" {action[0]}" for action in ACTIONS}
"""What follows the prompt, with the space that belongs to the token."""

QUESTION: Final = "\nContinue (C), revise (R) or finish (F):"
MOST_TOKENS: Final = 160
"""Of the state, by the base's own tokenizer; a third less than `agent.decisions.state_text` allows, as
reading is what costs time here."""


class Prompter:
    """Prompts and letters of one tokenizer.

    Args:
        tokenizer: Of the base; a fast one, which knows where each token came from.
        most: Tokens of a state.

    Raises:
        ModelError: a letter is no single token of its own.
    """

    def __init__(self, tokenizer: Any, most: int = MOST_TOKENS) -> None:
        self.tokenizer = tokenizer
        self.most = most
        self.letters: dict[Action, int] = {}
        for action, letter in LETTERS.items():
            pieces = tokenizer(letter, add_special_tokens=False)["input_ids"]
            if len(pieces) != 1 or pieces[0] in self.letters.values():
                raise ModelError(
                    f"The base's tokenizer splits the letter “{letter.strip()}” into {len(pieces)} tokens.",
                    "Choose another base: SmolLM2 and Qwen2.5 have each letter as one.",
                )
            self.letters[action] = pieces[0]

    def text(self, state: str) -> str:
        """The prompt of a state text, up to where the letter stands."""
        found = self.tokenizer(state, add_special_tokens=False, return_offsets_mapping=True)
        starts = found["offset_mapping"]
        if len(starts) > self.most:
            state = state[: starts[self.most][0]].rstrip()
        return state + QUESTION

    def ids(self, state: str) -> list[int]:
        """The tokens of `text`."""
        tokens: list[int] = self.tokenizer(self.text(state))["input_ids"]
        return tokens
