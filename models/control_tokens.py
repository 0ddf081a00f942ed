"""Break up the control tokens of chat templates in text, so that a passage cannot pose as a turn.

An engine that tokenizes a rendered prompt recognises such a token anywhere, even inside a document.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

_SHAPES: Final = (
    r"<\|[^<>|\s]{1,40}\|>|<｜[^<>｜]{1,40}｜>"  # ChatML, Llama 3, Phi; DeepSeek
    r"|<(?:start|end)_of_turn>|<</?SYS>>|\[/?INST\]|\[/?(?:AVAILABLE_TOOLS|TOOL_RESULTS|TOOL_CALLS|SYSTEM_PROMPT)\]"
    r"|</?s>|<(?:bos|eos)>"
)


def control_pattern(texts: Sequence[str] = ()) -> re.Pattern[str]:
    """A pattern for control tokens: those of one model, and those of the usual shapes.

    Args:
        texts: The model's control tokens, if known.
    """
    model_tokens = sorted((text for text in texts if len(text) > 2), key=len, reverse=True)
    return re.compile("|".join([*map(re.escape, model_tokens), _SHAPES]))


def defused(text: str, pattern: re.Pattern[str]) -> str:
    """``text`` with a space after the first character of each control token."""
    return pattern.sub(lambda match: f"{match[0][0]} {match[0][1:]}", text)
