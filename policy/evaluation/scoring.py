"""Scoring an answer against gold, without a judge.

`exact_match` and `f1` follow the normalisation of the SQuAD evaluation script (Rajpurkar et al., 2016),
which HotpotQA, 2WikiMultihopQA and MuSiQue use too: lower case, no punctuation, no articles. Their scripts
differ in two cases of F1: only MuSiQue's gives "yes indeed" a share of "yes", and only MuSiQue's gives 1 to
two texts of which nothing is left. Here the first is 0 and the second 1. No gold answer that is left empty,
and no yes or no in MuSiQue's dev file, makes that a difference.
`holds` is for answers in prose: does the text contain everything the gold answer asks for?
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence

_ARTICLES = re.compile(r"\b(a|an|the)\b")
NO_SOURCE = r"(?!\s+(?:passages?|evidence|information|sources?|documents?|findings?|text|mention|such)\b)"
"""What must not follow a "no" that answers: "No passage says it" answers nothing."""
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3})")


def normalise(text: str) -> str:
    """Lower case, without punctuation, articles and surplus white space."""
    bare = "".join(c for c in text.lower() if c not in string.punctuation)
    return " ".join(_ARTICLES.sub(" ", bare).split())


def exact_match(prediction: str, golds: Sequence[str]) -> float:
    """1.0 if the prediction equals one of the gold answers after normalisation, else 0.0."""
    return float(any(normalise(prediction) == normalise(gold) for gold in golds))


def f1(prediction: str, golds: Sequence[str]) -> float:
    """The best token F1 against any of the gold answers.

    A yes, no or "noanswer" on either side counts only if both sides are the same, as in HotpotQA's script.
    """
    return max((_f1(normalise(prediction), normalise(gold)) for gold in golds), default=0.0)


def _f1(prediction: str, gold: str) -> float:
    special = {"yes", "no", "noanswer"}
    if prediction != gold and (prediction in special or gold in special):
        return 0.0
    have, want = prediction.split(), gold.split()
    if not have or not want:
        return float(have == want)
    same = sum((Counter(have) & Counter(want)).values())
    if same == 0:
        return 0.0
    precision, recall = same / len(have), same / len(want)
    return 2 * precision * recall / (precision + recall)


def holds(text: str, golds: Sequence[str]) -> bool:
    """True if the text contains every part of one of the gold answers; parts are separated by ``;``.

    Case and thousands separators do not matter; a number only matches a whole number, so that 26.9
    is not found in 126.9, and a word whole words, so that Ann is not found in Annual. A yes or no has to
    open the text, which may hold a "no" anywhere, and "No passage says it" is none.
    """
    flat = " ".join(_THOUSANDS.sub("", text).casefold().split())
    return any(
        all(_stands_in(_THOUSANDS.sub("", part).strip().casefold(), flat) for part in gold.split(";"))
        for gold in golds
    )


def _stands_in(part: str, text: str) -> bool:
    if not part:
        return False
    if part in {"yes", "no"}:
        return re.match(rf"\W*{part}\b(?![-'’]){NO_SOURCE}", text) is not None
    left = r"(?<![\d.])" if part[0].isdigit() else _beyond("<!", part[0])
    right = r"(?!\.?\d)" if part[-1].isdigit() else _beyond("!", part[-1])
    return re.search(f"{left}{re.escape(part)}{right}", text) is not None


def _beyond(look: str, end: str) -> str:
    """That no letter goes on beside the ``end`` of a word; Chinese, Japanese and Korean leave no gaps."""
    return rf"(?{look}[^\W\d_\u2e80-\uffff])" if end.lower() != end.upper() else ""
