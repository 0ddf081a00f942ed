"""What the reader's network is given: a question and a passage as tokens, in one or more windows.

Training and run time share this module, so that the network is asked in the form it was taught in. A shown
passage is a heading line and a body (`agent.retrieval.passage_text.show`); every window repeats the
heading, and an answer is looked for among the tokens of the body alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

TOKENS: Final = 320  # of one window: question, heading and a product-sized passage fit
_QUESTION = 112  # tokens of a question, a claim, or a question with its answer; the rest is cut
_HEADING = 48
_OVERLAP = 64  # body tokens that two neighbouring windows share


@dataclass(frozen=True, slots=True)
class Window:
    """One input of the network.

    Attributes:
        ids: Token ids: ``[CLS] question [SEP] heading body [SEP]``.
        second: Position of the first token of the second segment; ``body``: of the body.
        offsets: For each body token its first and its last character's end in the passage.
    """

    ids: list[int]
    second: int
    body: int
    offsets: list[tuple[int, int]]


def answered(question: str, answer: str) -> str:
    """A question with an answer to it, as one claim: supported if the passage gives that answer to it."""
    return f"{question.rstrip('?？ ')}? {answer}"


class Windows:
    """Cuts questions and passages into windows of at most ``tokens`` tokens.

    The padding and truncation of ``tokenizer``, of a BERT, are turned off.
    """

    def __init__(self, tokenizer: Any, tokens: int = TOKENS) -> None:
        tokenizer.no_padding()
        tokenizer.no_truncation()
        self._tokenizer = tokenizer
        self._cls = int(tokenizer.token_to_id("[CLS]"))
        self._sep = int(tokenizer.token_to_id("[SEP]"))
        self._tokens = tokens

    def of(self, pairs: Sequence[tuple[str, str]]) -> list[list[Window]]:
        """The windows of each pair of a question (or claim) and a shown passage, at least one each."""
        asked = self._encoded([question for question, _ in pairs])
        cuts = [passage.find("\n") + 1 for _, passage in pairs]
        headings = self._encoded([passage[:cut] for (_, passage), cut in zip(pairs, cuts, strict=True)])
        bodies = self._encoded([passage[cut:] for (_, passage), cut in zip(pairs, cuts, strict=True)])
        return [
            list(self._cut(question.ids[:_QUESTION], heading.ids[:_HEADING], body, cut))
            for question, heading, body, cut in zip(asked, headings, bodies, cuts, strict=True)
        ]

    def _encoded(self, texts: list[str]) -> Any:
        return self._tokenizer.encode_batch(texts, add_special_tokens=False)

    def _cut(self, question: list[int], heading: list[int], body: Any, moved: int) -> Iterator[Window]:
        before = [self._cls, *question, self._sep]
        room = self._tokens - len(before) - len(heading) - 1
        first = 0
        while True:
            last = first + room
            yield Window(
                ids=[*before, *heading, *body.ids[first:last], self._sep],
                second=len(before),
                body=len(before) + len(heading),
                offsets=[(start + moved, end + moved) for start, end in body.offsets[first:last]],
            )
            if last >= len(body.ids):
                return
            first = last - _OVERLAP
