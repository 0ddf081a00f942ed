"""Separate the thoughts of a model from its answer while the text is streaming.

Thinking models wrap their reasoning in tags that must never reach an answer, a title or a search
query. If a server already separates the two, there is nothing to do here.
"""

from __future__ import annotations

import re

_NAME = "(?:think|thinking|thought|reasoning)"
_LINE = r"(?:^|(?<=\n))[ \t]*"
_OPENING = re.compile(rf"{_LINE}<{_NAME}>", re.IGNORECASE)
_STRAY_CLOSING = re.compile(rf"{_LINE}</{_NAME}>", re.IGNORECASE)
_CLOSING = re.compile(rf"</{_NAME}>", re.IGNORECASE)
_UNFINISHED = re.compile(r"<(?:/?[a-z]{0,9})$", re.IGNORECASE)
_OPENED_AT_END = re.compile(rf"<{_NAME}>\s*$", re.IGNORECASE)


def opens_thinking(prompt: str) -> bool:
    """Whether a rendered prompt ends inside an open think tag, so that the output starts there."""
    return _OPENED_AT_END.search(prompt) is not None


def answer_or_thought(text: str, reasoning: str, *, finished: bool) -> str:
    """The answer, or the reasoning if a model that finished put its answer only there.

    A model that was cut off while thinking has not answered: then the answer stays empty.
    """
    return reasoning if finished and not text.strip() else text


class ThinkSplitter:
    """Splits streamed text into answer and reasoning; ``inside``: the prompt already opened a think tag.

    Tags count only at the start of a line, because an answer may *mention* ``<think>``. After a tag that
    is never closed, everything is reasoning. Before a closing tag that was never opened (a template opened
    it in the prompt), everything is reasoning; parts of it were already emitted, but `answer` is right.
    White space at the start of the answer is dropped.
    """

    def __init__(self, *, inside: bool = False) -> None:
        self._inside = inside
        self._pending = ""
        self._answer: list[str] = []
        self._reasoning: list[str] = []
        self._line_is_blank = True
        self._trim = True

    @property
    def answer(self) -> str:
        """The answer so far."""
        return "".join(self._answer)

    @property
    def reasoning(self) -> str:
        """The reasoning so far, without its tags."""
        return "".join(self._reasoning).strip()

    def feed(self, text: str) -> str:
        """Add the next piece of text; returns the answer text that is now certain."""
        self._pending += text
        return self._drain(final=False)

    def finish(self) -> str:
        """End the text; returns the rest of the answer."""
        return self._drain(final=True)

    def _drain(self, *, final: bool) -> str:
        out: list[str] = []
        progress = True
        while progress:
            progress = self._leave_thought() if self._inside else self._enter_thought(out)
        uncertain = None if final else _UNFINISHED.search(self._pending)
        certain = uncertain.start() if uncertain else len(self._pending)
        if self._inside:
            self._reasoning.append(self._pending[:certain])
        else:
            self._emit(self._pending[:certain], out)
        self._pending = self._pending[certain:]
        return "".join(out)

    def _leave_thought(self) -> bool:
        closing = _CLOSING.search(self._pending)
        if closing is None:
            return False
        self._reasoning.append(self._pending[: closing.start()])
        self._pending = self._pending[closing.end() :]
        self._inside, self._trim, self._line_is_blank = False, True, True
        return True

    def _enter_thought(self, out: list[str]) -> bool:
        opening, stray = self._first(_OPENING), self._first(_STRAY_CLOSING)
        if opening and not (stray and stray.start() < opening.start()):
            self._emit(self._pending[: opening.start()], out)
            self._pending = self._pending[opening.end() :]
            self._inside = True
            return True
        if stray:
            self._reasoning += [*self._answer, self._pending[: stray.start()]]
            self._answer.clear()
            self._pending = self._pending[stray.end() :]
            self._trim, self._line_is_blank = True, True
            return True
        return False

    def _first(self, tag: re.Pattern[str]) -> re.Match[str] | None:
        match = tag.search(self._pending)
        if match and match.start() == 0 and not self._line_is_blank:
            match = tag.search(self._pending, 1)
        return match

    def _emit(self, text: str, out: list[str]) -> None:
        if self._trim:
            text = text.lstrip()
        if not text:
            return
        self._trim = False
        *lines, last = text.split("\n")
        self._line_is_blank = not last.strip() and (bool(lines) or self._line_is_blank)
        self._answer.append(text)
        out.append(text)
