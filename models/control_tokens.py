"""Control tokens in text: broken up in prompts, and think tags separated from answers while they stream.

An engine that tokenizes a rendered prompt recognises a control token anywhere, even inside a document, so
that a passage could pose as a turn. Thinking models wrap their reasoning in tags that must never reach an
answer, a title or a search query; some servers already separate the two.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

_SHAPES: Final = (
    r"<\|[^<>|\s]{1,40}\|>|<｜[^<>｜]{1,40}｜>"  # ChatML, Llama 3, Phi; DeepSeek
    r"|<(?:start|end)_of_turn>|<</?SYS>>|\[/?INST\]|\[/?(?:AVAILABLE_TOOLS|TOOL_RESULTS|TOOL_CALLS|SYSTEM_PROMPT)\]"
    r"|</?s>|<(?:bos|eos)>"
)

_NAME = "(?:think|thinking|thought|reasoning)"
_TAG = re.compile(rf"<(/?){_NAME}>", re.IGNORECASE)
_PARTIAL_TAG = re.compile(r"(?:</?[a-z]{0,9})?$", re.IGNORECASE)
_LONGEST_TAG = 12
_OPENED_AT_END = re.compile(rf"<{_NAME}>\s*$", re.IGNORECASE)


def control_pattern(texts: Sequence[str] = ()) -> re.Pattern[str]:
    """A pattern for control tokens: those of one model, if known, and those of the usual shapes."""
    model_tokens = sorted((text for text in texts if len(text) > 2), key=len, reverse=True)
    return re.compile("|".join([*map(re.escape, model_tokens), _SHAPES]))


def defused(text: str, pattern: re.Pattern[str]) -> str:
    """``text`` with a space after the first character of each control token."""
    return pattern.sub(lambda match: f"{match[0][0]} {match[0][1:]}", text)


def opens_thinking(prompt: str) -> bool:
    """Whether a rendered prompt ends inside an open think tag, so that the output starts there."""
    return _OPENED_AT_END.search(prompt) is not None


class StreamedAnswer:
    """Collects a streamed text, and passes on its answer without the thoughts.

    Tags count only at the start of a line, because an answer may *mention* ``<think>``. After a tag that
    is never closed, everything is reasoning. Before a closing tag that was never opened (a template opened
    it in the prompt), everything is reasoning; parts of it were already passed on, but `text` is right.
    White space at the start of the answer is dropped.

    Args:
        on_text: Called with each piece of the answer as soon as it is certain.
        inside: Whether the prompt already opened a think tag.
        tags: Whether there may be tags; otherwise the whole text is the answer.

    Attributes:
        text: The answer so far.
        reasoning: The reasoning so far, without its tags.
    """

    def __init__(
        self, on_text: Callable[[str], None] | None = None, *, inside: bool = False, tags: bool = True
    ) -> None:
        self.text = ""
        self.reasoning = ""
        self._on_text = on_text
        self._inside = inside
        self._tags = tags
        self._raw = ""
        self._separate_reasoning = ""

    def add(self, text: str, reasoning: str = "") -> None:
        """Add the next piece, and of the reasoning if the server separates it."""
        self._raw += text
        self._separate_reasoning += reasoning
        self._split(self._raw[: _certain(self._raw)] if self._tags else self._raw)

    def finish(self, *, complete: bool) -> None:
        """End the text; ``complete``: the model ended it by itself.

        Some models then put their answer only into the reasoning. A model that was cut off while thinking
        has not answered: then the answer stays empty.
        """
        self._split(self._raw)
        if complete and not self.text.strip():
            self._become(self.reasoning)

    def _split(self, raw: str) -> None:
        answer, thoughts = _split(raw, self._inside) if self._tags else (raw, "")
        self.reasoning = (self._separate_reasoning or thoughts).strip()
        self._become(answer)

    def _become(self, answer: str) -> None:
        new = answer.removeprefix(self.text)
        self.text = answer
        if new and self._on_text is not None:
            self._on_text(new)


def _certain(text: str) -> int:
    """Where the end of ``text`` begins that may become a tag, with the blanks before it on its line."""
    partial = _PARTIAL_TAG.search(text, max(0, len(text) - _LONGEST_TAG))
    end = partial.start() if partial else len(text)
    return _line_start(text, end)


def _line_start(text: str, position: int) -> int:
    """Where the line of ``position`` begins if only blanks precede it there, else ``position``."""
    start = text.rfind("\n", 0, position) + 1
    return position if text[start:position].strip(" \t") else start


def _next_tag(text: str, inside: bool) -> tuple[int, int, bool] | None:
    """Start and end of the next tag that counts, and whether it closes a thought."""
    for tag in _TAG.finditer(text):
        start = tag.start() if inside else _line_start(text, tag.start())
        begins_line = start == 0 or text[start - 1] == "\n"
        if tag[1] if inside else begins_line:
            return start, tag.end(), bool(tag[1])
    return None


def _split(text: str, inside: bool) -> tuple[str, str]:
    """The answer and the thoughts in ``text``."""
    answer = thoughts = ""
    text = text.lstrip()
    while tag := _next_tag(text, inside):
        start, end, closes = tag
        if inside:
            thoughts += text[:start]
        elif closes:  # what was never opened
            thoughts, answer = thoughts + answer + text[:start], ""
        else:
            answer += text[:start]
        inside = not closes
        text = text[end:] if inside else text[end:].lstrip()
    return (answer, thoughts + text) if inside else (answer + text, thoughts)
