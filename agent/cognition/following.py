"""Following: a follow-up ("and in 2022?") becomes a question of its own; a new question stays as it is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from agent import prompts
from agent.budget import BudgetExhausted
from agent.cognition.rewriting import one_line
from agent.cognition.surface import Piece, has_cjk, names, periods, pieces
from agent.cognition.talk import content_words, goes_on, is_talk, names_nothing, pointers, without_courtesy
from agent.retrieval.terms import terms
from agent.session import Session
from agent.state import Turn

_SHOWN_TURNS = 3  # the last ones; a small model loses the question over more
_SHOWN_ANSWER = 300  # characters
_LONGEST = 300  # characters of a question, as for any query
_REWRITE_TOKENS = 80
_OPENING = re.compile(r"\A(?:(?:NEW|ALONE):\s*)?(?:(?i:and|but|or)\b,? )?")
_MARK = re.compile(r"\s*\[\d+(?:\s*,\s*\d+)*\]")
_ASKING = frozenset(
    "who whom whose what which when where why how is are was were do does did has have had can".split()
)
_LINKING = frozenset(
    "is are was were do does did has have had will can ist sind war waren est sont es son".split()
)
# What may stand beside a period or a name in a piece that changes nothing else of the question before.
_FRAME = frozenset(
    "and or but also then what how about in for during at of on the same it is was that year fiscal end "
    "with by und oder im jahr in für bei von der die das et en pour de la le y para por con".split()
)
_YEAR_BESIDE = re.compile(
    r"(?:and |what about |how about )?(?:in |for )?the (?:"
    r"(?P<before>year before|(?:previous|prior|preceding) year)|year after|(?:following|next) year)"
)
_PLACED = frozenset("in at from".split())
_POINTING_CJK = re.compile(
    "它|他们|她们|他|她|那个|這個|这个|那些|这些|该|其|上述|前者|后者|呢[?？]?$|それ|その|これ"
)
_YES = re.compile(
    r"\W*(?:yes|yeah|yep|y|right|correct|exactly|ja|genau|oui|sí|si|是|是的|对|對)\W*", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Standalone:
    """A question of its own.

    Attributes:
        changed: False where it is the person's words.
        source: Who changed it: ``rules`` or ``llm``; "" where nobody did.
    """

    question: str
    changed: bool
    source: Literal["rules", "llm", ""]


class Follower(Protocol):
    """Makes a question of its own from a follow-up."""

    def standalone(self, session: Session, question: str, turns: Sequence[Turn]) -> Standalone:
        """The question with what it leaves unsaid; one that leaves nothing unsaid stays as it is.

        Args:
            session: The run's way to its model.
            question: In the person's words.
            turns: The session before it, oldest first.
        """
        ...


class PlainFollower:
    """Model-free: replaces a year or a name of the question before, or puts that question in front."""

    def standalone(self, session: Session, question: str, turns: Sequence[Turn]) -> Standalone:
        """By the rules; what they leave open is asked after the question before it."""
        return _by_rules(question, turns) or _without_model(question, turns)


class ModelFollower:
    """The same rules, and the model for pronouns and whatever else they leave open."""

    def standalone(self, session: Session, question: str, turns: Sequence[Turn]) -> Standalone:
        """The model's one line, if it keeps what the person said and adds only what was said before."""
        clear = _by_rules(question, turns)
        if clear:
            return clear
        shown = [(turn["question"], _shortened(turn["answer"])) for turn in turns[-_SHOWN_TURNS:]]
        try:
            reply = session.write("follow", [], prompts.follow(question, shown), _REWRITE_TOKENS)
        except BudgetExhausted:
            return _without_model(question, turns)
        written = _OPENING.sub("", one_line(reply.text))
        if _is_faithful(written, question, turns):
            return Standalone(written, True, "llm")
        return _without_model(question, turns)


def clarified(question: str, asked: str, reply: str) -> str:
    """One question from an unclear one and what the person replied when asked about it.

    A reply that is a question of its own takes its place; "yes" means what was asked.
    """
    reply = " ".join(reply.split())
    if not reply:
        return question
    words = reply.casefold().split()
    if (words[0] in _ASKING or reply.endswith(("?", "？"))) and len(words) > 2 and not _leans(reply):
        return reply[:_LONGEST]
    meant = asked if _YES.fullmatch(reply) else reply
    bare = question.rstrip(" ?？.!")
    if not bare:
        return meant[:_LONGEST]
    sign = question[len(bare) :].strip()[:1] or "?"
    return f"{bare} ({meant.rstrip(' ?？.!')})"[: _LONGEST - len(sign)] + sign


def _by_rules(question: str, turns: Sequence[Turn]) -> Standalone | None:
    """What the rules are sure of; None where the question leans on the session in some other way."""
    unchanged = Standalone(question, False, "")
    if not turns or is_talk(question):
        return unchanged
    bare = without_courtesy(question)
    swapped = _swapped(turns[-1]["question"], bare)
    if swapped:
        return Standalone(swapped, True, "rules")
    return unchanged if _stands_alone(bare, turns[-1]) else None


def _without_model(question: str, turns: Sequence[Turn]) -> Standalone:
    """The question before, and this one; alone if no word of it points back, since it may be a new one."""
    if not _leans(question):
        return Standalone(question, False, "")
    return Standalone(_joined(turns[-1]["question"], question), True, "rules")


def _leans(question: str) -> bool:
    """True if a word of it points back, or it says nothing by itself."""
    if goes_on(question) or names_nothing(question) or pointers(question):
        return True
    return has_cjk(question) and _POINTING_CJK.search(question.strip()) is not None


def _stands_alone(question: str, last: Turn) -> bool:
    """True if nothing of it points back, as far as its words tell."""
    if goes_on(question) or names_nothing(question):
        return False
    if has_cjk(question):
        return not _leans(question)
    found = pieces(question)
    content = content_words(question)
    named = next((piece.start for piece in found if piece.kind == "name"), None)
    if named is not None:
        pointing = [piece.start for piece in found if piece.text in pointers(question)]
        told = content or any(piece.text.casefold() in _LINKING for piece in found)
        # "What did Tolvang do about its plant?" says whose; "Is that plant in Ohio?" does not say which.
        return bool(told) and all(at > named for at in pointing)
    # Without a name: about something else if it has enough of its own, and nothing of what was said.
    related = set(terms(f"{last['question']} {last['answer']}"))
    return len(content) >= 3 and not pointers(question) and related.isdisjoint(terms(" ".join(content)))


# --- replacing a year or a name --------------------------------------------------------------


def _swapped(last: str, question: str) -> str:
    """The question before with the period or the name of this piece in place of its own; "" if unclear."""
    found = [piece for piece in pieces(question) if piece.kind != "sign"]
    new_periods = [piece for piece in found if piece.kind == "period"]
    new_names = [piece for piece in found if piece.kind == "name"]
    rest = [piece.text.casefold() for piece in found if piece.kind == "word"]
    if has_cjk(question):
        only = re.fullmatch(r"[那和]?(?P<year>(?:19|20)\d\d)年?呢?[?？]?", question.strip())
        return _with_year(last, only["year"]) if only else ""
    if beside := _YEAR_BESIDE.fullmatch(" ".join(rest)):
        years = _PARTS["year"].findall(last)
        step = -1 if beside["before"] else 1
        return _with_year(last, str(int(years[0]) + step)) if years else ""
    if len(new_periods) > 1 or len(new_names) > 1 or not (new_periods or new_names):
        return ""
    result = last
    if new_names:
        result = _with_name(result, new_names[0], found)
    elif not all(word in _FRAME for word in rest):
        return ""
    if new_periods and result:
        result = _with_period(result, new_periods[0].text)
    return result


def _with_name(last: str, name: Piece, piece_words: Sequence[Piece]) -> str:
    """``last`` about ``name`` instead of the one name in it that has the same part."""
    at = piece_words.index(name)
    before = [p.text.casefold() for p in piece_words[:at] if p.kind == "word"]
    after = [p.text.casefold() for p in piece_words[at + 1 :] if p.kind == "word"]
    head = after[0] if after and after[0] not in _FRAME else ""
    if any(word not in _FRAME for word in [*before, *after[bool(head) :]]):
        return ""
    place = next((word for word in reversed(before) if word not in {"the", "about"}), "")
    old = pieces(last)
    candidates = [i for i, piece in enumerate(old) if piece.kind == "name"]
    if head:
        candidates = [i for i in candidates if i + 1 < len(old) and old[i + 1].text.casefold() == head]
    elif place in _PLACED or len(candidates) > 1:
        candidates = [i for i in candidates if place and place in _before(old, i)]
    if len(candidates) != 1:
        return ""
    out = old[candidates[0]]
    if out.text.casefold() == name.text.casefold():
        return ""
    return last[: out.start] + name.text + last[out.end :]


def _before(words: Sequence[Piece], at: int) -> list[str]:
    """The word in front of ``at``, and the one before an article."""
    last_two = [piece.text.casefold() for piece in words[max(0, at - 2) : at]]
    return last_two if last_two[-1:] in (["the"], ["a"]) else last_two[-1:]


_PARTS = {
    "quarter": re.compile(r"\b[QH][1-4]\b", re.IGNORECASE),
    "month": re.compile(r"(?:\d{1,2}\.?\s)?[^\W\d_]{3,}\.?(?:\s\d{1,2}\b(?!\d))?", re.IGNORECASE),
    "year": re.compile(r"(?:1[5-9]|20)\d\d"),
}


def _parts(period: str) -> dict[str, str]:
    """Quarter, month (with its day) and year, as far as ``period`` has them."""
    bare = re.sub(r"\b(?:fiscal|financial|year|FY|of)\b\s?|FY(?=\d)", "", period, flags=re.IGNORECASE)
    found = {name: form.search(bare) for name, form in _PARTS.items()}
    return {name: match.group().strip() for name, match in found.items() if match}


def _with_period(last: str, new: str) -> str:
    """``last`` about the period ``new``; "" where it is about several, or about another kind of period."""
    there = periods(last)
    if not there:
        bare = last.rstrip(" ?.")
        return f"{bare} in {new}{last[len(bare) :].strip()}"
    old, given = _parts(there[0].text), _parts(new)
    if len(there) > 1 or not given or set(old) - set(given) - {"year"} or set(given) - set(old):
        return ""
    replaced = there[0].text
    for part, value in given.items():
        replaced = replaced.replace(old[part], value, 1)
    return last[: there[0].start] + replaced + last[there[0].end :]


def _with_year(last: str, year: str) -> str:
    there = _PARTS["year"].findall(last)
    return last.replace(there[0], year) if len(there) == 1 else ""


# --- what the model wrote --------------------------------------------------------------------


def _is_faithful(written: str, question: str, turns: Sequence[Turn]) -> bool:
    """True if it asks, keeps the names and periods asked about, and names nothing that was never said."""
    if not written or written.endswith((".", "。")) or _folded(written) == _folded(question):
        return False
    if any(_folded(written) == _folded(turn["question"]) for turn in turns):
        return False  # an old question once more
    said = _folded(" ".join([question, *(f"{turn['question']} {turn['answer']}" for turn in turns)]))
    kept = _folded(written)
    own = [*names(question), *(piece.text for piece in periods(question))]
    return all(_folded(name) in kept for name in own) and all(
        _folded(name) in said for name in names(written)
    )


def _joined(last: str, question: str) -> str:
    """The question before, cut where it is long, and this one."""
    room = max(0, _LONGEST - len(question) - 2)
    before = last if len(last) <= room else last[:room].rpartition(" ")[0]
    end = "" if before.endswith(tuple("?.!？。！")) or not before else "?"
    return f"{before}{end} {question}".strip()


def _shortened(answer: str) -> str:
    bare = " ".join(_MARK.sub("", answer).split())
    return bare if len(bare) <= _SHOWN_ANSWER else bare[:_SHOWN_ANSWER].rpartition(" ")[0] + " …"


def _folded(text: str) -> str:
    return " ".join(re.sub(r"[^\w\s]", " ", text.casefold()).split())
