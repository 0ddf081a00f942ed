"""Measures of an answer, computed without a judge, and the stage that lost a wrong one.

`exact_match` and `f1` follow the SQuAD evaluation script (Rajpurkar et al., 2016): lower case, no
punctuation, no articles. `holds` is for answers in prose: does the text contain everything the gold answer
asks for?
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Final, TypeAlias

from policy.evaluation.systems import Answered
from policy.questions import Case, Place
from traces.plain_text import squeezed

Measures: TypeAlias = Mapping[str, float]

STAGES: Final = ("recall", "rerank", "distil", "reading")
"""``recall``: no search found some of the gold evidence. ``rerank``: it was found and not kept.
``distil``: it was kept and not noted. ``reading``: all the evidence was noted.
"""

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_MARK = re.compile(r"\s*\[\d+\]")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3})")


def measured(case: Case, answered: Answered) -> dict[str, float]:
    """All measures of an answer by name; unknown ones are left out.

    ``right`` and ``refused_wrongly`` are known for questions with an answer, ``refused_rightly`` for those
    without, ``wrong`` and ``wrong_supported`` (wrong, and no sentence flagged) for all. In a set with
    several kinds of question, ``right_`` with the kind repeats ``right``. Against the gold places there are
    ``recall`` and ``precision`` of the passages in the prompt, the same of the cited ones, and the shares
    ``recalled`` by a run's searches and ``noted`` by its findings. The rest is the cost.
    """
    claimed = not answered.abstained
    right = claimed and is_right(case, answered.text)
    wrong = claimed and not right
    verdicts = {"wrong": wrong, "wrong_supported": wrong and not answered.flagged}
    if case.answers:
        verdicts |= {"right": right, "refused_wrongly": not claimed}
        verdicts |= {f"right_{case.kind}": right} if case.kind else {}
    else:
        verdicts["refused_rightly"] = not claimed
    if answered.sentences:
        verdicts["flagged"] = answered.flagged > 0
    measures = {name: float(value) for name, value in {**verdicts, **asdict(answered.cost)}.items()}
    measures["abstained"] = float(answered.abstained)
    times = {"first_words": answered.first_words, "first_look": answered.first_look}
    measures |= {name: seconds for name, seconds in times.items() if seconds is not None}
    if case.gold:
        shares = {
            "recall": share(case.gold, answered.in_prompt),
            "precision": _precision(case.gold, answered.in_prompt),
            "citation_recall": share(case.gold, answered.cited),
            "citation_precision": _precision(case.gold, answered.cited),
            "recalled": None if answered.recalled is None else share(case.gold, answered.recalled),
            "noted": None if answered.noted is None else share(case.gold, answered.noted),
        }
        measures |= {name: value for name, value in shares.items() if value is not None}
    return measures


def is_right(case: Case, text: str) -> bool:
    """Whether an answer in prose is right.

    In a set with patterns the text, without citation marks, must match all required and no forbidden
    patterns. Otherwise it must contain an answer and no wrong value. Without a known answer nothing is
    right.
    """
    if not case.answers:
        return False
    if not case.kind:
        return holds(text, case.answers) and not holds(text, case.wrong)
    bare = _MARK.sub("", text)

    def matches(pattern: str) -> bool:
        return re.search(pattern, bare, re.IGNORECASE) is not None

    return all(map(matches, case.required)) and not any(map(matches, case.forbidden))


def share(gold: Sequence[Place], places: Sequence[Place]) -> float:
    """Share of the gold places, 0 to 1, covered by at least one of ``places``."""
    return sum(any(target.covers(place) for place in places) for target in gold) / len(gold)


def _precision(gold: Sequence[Place], places: Sequence[Place]) -> float | None:
    if not places:
        return None
    return sum(any(target.covers(place) for target in gold) for place in places) / len(places)


def lost(measures: Measures) -> str:
    """The first of `STAGES` that lost an answer; "" for a right answer or a right refusal.

    A stage without a measure is skipped. A system without a run has no stage between search and prompt:
    evidence missing from its prompt was lost by its search. Everything else is reading: an answer to an
    unanswerable question, a refusal despite noted evidence.
    """
    if measures.get("right", measures.get("refused_rightly")):
        return ""
    if measures.get("recalled", 1) < 1:
        return "recall"
    if measures.get("recall", 1) < 1:
        return "rerank" if "recalled" in measures else "recall"
    return "distil" if measures.get("noted", 1) < 1 else "reading"


def normalise(text: str) -> str:
    """Lower case, without punctuation, articles and extra white space."""
    bare = "".join(c for c in text.lower() if c not in string.punctuation)
    return squeezed(_ARTICLES.sub(" ", bare))


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
    predicted_words, gold_words = prediction.split(), gold.split()
    if not predicted_words or not gold_words:
        return float(predicted_words == gold_words)
    common = sum((Counter(predicted_words) & Counter(gold_words)).values())
    if common == 0:
        return 0.0
    precision, recall = common / len(predicted_words), common / len(gold_words)
    return 2 * precision * recall / (precision + recall)


def holds(text: str, golds: Sequence[str]) -> bool:
    """True if the text contains every part of one of the gold answers; parts are separated by ``;``.

    Case and thousands separators are ignored. Numbers and words match only as a whole: 26.9 is not in
    126.9, nor Ann in Annual. A yes or no has to open the text.
    """
    flat = squeezed(_THOUSANDS.sub("", text).casefold())
    return any(
        all(_is_in(_THOUSANDS.sub("", part).strip().casefold(), flat) for part in gold.split(";"))
        for gold in golds
    )


def _is_in(part: str, text: str) -> bool:
    if not part:
        return False
    if part in {"yes", "no"}:
        return re.match(rf"\W*{part}\b(?![-'’])", text) is not None
    left = r"(?<![\d.])" if part[0].isdigit() else _word_boundary("<!", part[0])
    right = r"(?!\.?\d)" if part[-1].isdigit() else _word_boundary("!", part[-1])
    return re.search(f"{left}{re.escape(part)}{right}", text) is not None


def _word_boundary(look: str, end: str) -> str:
    """No letter beside the ``end`` of a word; Chinese, Japanese and Korean do not separate words."""
    return rf"(?{look}[^\W\d_\u2e80-\uffff])" if end.lower() != end.upper() else ""
