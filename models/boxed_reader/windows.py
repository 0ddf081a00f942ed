"""The input of the reader's network: a question and a passage as tokens, in one or more windows.

Training and inference share this module, so that both have the same input format. A shown passage is a
heading line and a body (`agent.retrieval.passage_text.show`); every window repeats the heading, and answers
are searched among the tokens of the body alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

TOKENS: Final = 320  # of one window: enough for question, heading and a passage of the product
_QUESTION = 112  # tokens of a question, a claim, or a question with its answer; the rest is truncated
_HEADING = 48
_OVERLAP = 64  # body tokens that two neighbouring windows share


@dataclass(frozen=True, slots=True)
class Window:
    """One input of the network."""

    ids: list[int]  # token ids: ``[CLS] question [SEP] heading body [SEP]``
    second: int  # position of the first token of the second segment; ``body``: of the body
    body: int
    offsets: list[tuple[int, int]]  # for each body token its start and end offset in the passage


def answered(question: str, answer: str) -> str:
    """A question with its answer as one claim, supported if the passage gives that answer."""
    return f"{question.rstrip('?？ ')}? {answer}"


class Windows:
    """Splits questions and passages into windows.

    Turns off the padding and truncation of ``tokenizer``, which is that of a BERT.
    """

    def __init__(self, tokenizer: Any) -> None:
        tokenizer.no_padding()
        tokenizer.no_truncation()
        self._tokenizer = tokenizer
        self._cls = int(tokenizer.token_to_id("[CLS]"))
        self._sep = int(tokenizer.token_to_id("[SEP]"))

    def of(self, pairs: Sequence[tuple[str, str]]) -> list[list[Window]]:
        """The windows of each pair of a question (or claim) and a shown passage, at least one each."""
        questions = self._encode([question for question, _ in pairs])
        starts = [passage.find("\n") + 1 for _, passage in pairs]
        headings = self._encode(
            [passage[:start] for (_, passage), start in zip(pairs, starts, strict=True)]
        )
        bodies = self._encode([passage[start:] for (_, passage), start in zip(pairs, starts, strict=True)])
        return [
            list(self._split(question.ids[:_QUESTION], heading.ids[:_HEADING], body, start))
            for question, heading, body, start in zip(questions, headings, bodies, starts, strict=True)
        ]

    def _encode(self, texts: list[str]) -> Any:
        return self._tokenizer.encode_batch(texts, add_special_tokens=False)

    def _split(self, question: list[int], heading: list[int], body: Any, offset: int) -> Iterator[Window]:
        prefix = [self._cls, *question, self._sep]
        room = TOKENS - len(prefix) - len(heading) - 1
        first = 0
        while True:
            last = first + room
            yield Window(
                ids=[*prefix, *heading, *body.ids[first:last], self._sep],
                second=len(prefix),
                body=len(prefix) + len(heading),
                offsets=[(start + offset, end + offset) for start, end in body.offsets[first:last]],
            )
            if last >= len(body.ids):
                return
            first = last - _OVERLAP
