"""Separates what a model thinks from what it answers, while the text is still arriving.

Thinking models wrap their reasoning in tags that must never reach an answer, a title or a search
query. Where a server already separates the two this finds nothing to do.
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
    """Whether a rendered prompt ends inside an opened think tag, so that the answer starts there."""
    return _OPENED_AT_END.search(prompt) is not None


def answer_or_thought(text: str, reasoning: str, *, finished: bool) -> str:
    """The answer, or the reasoning where a model that finished put its answer only there.

    A model that was cut off while it thought has not answered: then the answer stays empty.
    """
    return reasoning if finished and not text.strip() else text


class ThinkSplitter:
    """Splits a stream of text into answer and reasoning; ``inside``: the prompt already opened a think tag.

    Tags count only at the start of a line, because an answer may well *mention* ``<think>``. A tag
    that is never closed makes everything after it reasoning. A closing tag that was never opened (a
    template opened it in the prompt) makes everything before it reasoning; pieces of that were already
    handed out, but `answer` is right. White space at the start of the answer is dropped.
    """

    def __init__(self, *, inside: bool = False) -> None:
        self._inside = inside
        self._held = ""
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
        """Take the next piece of text; returns the answer text that is now certain."""
        self._held += text
        return self._drain(final=False)

    def finish(self) -> str:
        """The text is complete; returns the last of the answer text."""
        return self._drain(final=True)

    def _drain(self, *, final: bool) -> str:
        out: list[str] = []
        progress = True
        while progress:
            progress = self._leave_thought() if self._inside else self._enter_thought(out)
        uncertain = None if final else _UNFINISHED.search(self._held)
        certain = uncertain.start() if uncertain else len(self._held)
        if self._inside:
            self._reasoning.append(self._held[:certain])
        else:
            self._emit(self._held[:certain], out)
        self._held = self._held[certain:]
        return "".join(out)

    def _leave_thought(self) -> bool:
        closing = _CLOSING.search(self._held)
        if closing is None:
            return False
        self._reasoning.append(self._held[: closing.start()])
        self._held = self._held[closing.end() :]
        self._inside, self._trim, self._line_is_blank = False, True, True
        return True

    def _enter_thought(self, out: list[str]) -> bool:
        opening, stray = self._first(_OPENING), self._first(_STRAY_CLOSING)
        if opening and not (stray and stray.start() < opening.start()):
            self._emit(self._held[: opening.start()], out)
            self._held = self._held[opening.end() :]
            self._inside = True
            return True
        if stray:
            self._reasoning += [*self._answer, self._held[: stray.start()]]
            self._answer.clear()
            self._held = self._held[stray.end() :]
            self._trim, self._line_is_blank = True, True
            return True
        return False

    def _first(self, tag: re.Pattern[str]) -> re.Match[str] | None:
        match = tag.search(self._held)
        if match and match.start() == 0 and not self._line_is_blank:
            match = tag.search(self._held, 1)
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
