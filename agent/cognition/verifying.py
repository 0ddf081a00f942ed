"""Verification: each sentence of an answer against the passages it cites."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Literal, Protocol

from pydantic import BaseModel

from agent import prompts
from agent.budget import BudgetExhausted
from agent.cognition import comparing, proper_names, quantities, tables
from agent.cognition.cells import misread
from agent.cognition.support import (
    content,
    joint_support,
    latin,
    missing_numbers,
    place,
    share_held,
    understood,
    units,
)
from agent.retrieval.terms import terms
from agent.session import Session
from agent.state import Claim, Evidence, Verdict

_SUPPORTED = 0.55  # share of a sentence's content its passages must hold to be supported
_PARTLY = 0.35  # and to be partly so
_GROUNDED = 0.75  # share of an answer that must be supported for it to be grounded
_WEIGHT: dict[Verdict, float] = {"supported": 1.0, "partly": 0.5, "not": 0.0}
# Measured on the train files: of 787 true sentences of HotpotQA and MuSiQue with numbers 99.9 % pass, of
# 359 in which another number of the same passage took the right one's place 15 %; of sentences that join
# two facts 96 %. Of 2,635 true sentences with names 98 % pass, of 914 with another name of the passage 6 %.
_PLACED = 0.5  # of the best unit's share, in the unit that holds the number or name
_NUMBER_CONTEXT = 3  # terms beside a number that say what it measures
_NAME_CONTEXT = 4  # and beside a name; a sentence of fewer tells nothing by where its name stands
_CLAUSE = re.compile(
    r"[,;:()]\s|\s(?:and|but|while|whereas|which|who|with|after|before|from|to)\s", re.IGNORECASE
)
_NEGATION = re.compile(
    r"(?:\b(?:not|no|never|neither|nor|without|cannot)\b|n['’]t\b)\s+"
    r"(?:yet |be |been |a |an |the |any |only )*([^\W_]+)",
    re.IGNORECASE,
)


class Verifier(Protocol):
    """Says of each sentence whether its passages support it."""

    @property
    def name(self) -> str:
        """Names the verifier in a record."""
        ...

    def verify(
        self, session: Session, question: str, claims: Sequence[Claim], evidence: Sequence[Evidence]
    ) -> list[Claim]:
        """The claims with verdict and reason filled."""
        ...


def share(claims: Sequence[Claim]) -> float:
    """How much of an answer is supported, 0 to 1: a sentence counts 1, one that is partly so half.

    0 without claims: nothing said is nothing supported.
    """
    return sum(_WEIGHT[claim["verdict"]] for claim in claims) / len(claims) if claims else 0.0


def grounded(claims: Sequence[Claim], evidence: Sequence[Evidence]) -> bool:
    """Whether an answer can be relied on as it stands.

    It can if no sentence is unsupported and at least three quarters of it are supported (`share`): one
    sentence of two may be partly so, the only one may not. Never without evidence or without claims.
    """
    return (
        bool(claims)
        and bool(evidence)
        and all(claim["verdict"] != "not" for claim in claims)
        and share(claims) >= _GROUNDED
    )


class PlainVerifier:
    """Model-free: numbers, names, table rows and columns, negation, and shared content."""

    @property
    def name(self) -> str:
        """``plain``."""
        return "plain"

    def verify(
        self, session: Session, question: str, claims: Sequence[Claim], evidence: Sequence[Evidence]
    ) -> list[Claim]:
        """The claims judged; what stands in no passage is never supported."""
        by_number = {item["number"]: item for item in evidence}
        known = proper_names.known_names([question, *(item["text"] for item in evidence)])
        judged: list[Claim] = []
        for claim in claims:
            cited = [by_number[n] for n in claim["cites"] if n in by_number]
            verdict, reason = self.judge(claim["text"], cited, known, evidence)
            judged.append(Claim({**claim, "verdict": verdict, "reason": reason}))
        return [_with_comparison(claim, judged) for claim in judged]

    def judge(
        self,
        text: str,
        cited: Sequence[Evidence],
        known: set[str],
        evidence: Sequence[Evidence] = (),
    ) -> tuple[Verdict, str]:
        """Verdict and reason for one sentence.

        Args:
            text: Without marks.
            cited: Its passages.
            known: Words that are names wherever they stand (`agent.cognition.proper_names.known_names`).
            evidence: All the run's, which tells what the library is about.
        """
        if not cited:
            return "not", "nothing is cited"
        where = _listed(cited)
        if missing := missing_numbers(text, cited):
            some = len(missing) < len(quantities.quantities(text))
            return ("partly" if some else "not"), f"{missing[0]} does not stand in {where}"
        held = {term for item in cited for term in terms(content(item))}
        named = proper_names.names(text, known)
        missed = [name for name in named if not proper_names.stands(name, held)]
        meant = set().union(*(understood(missed, item, evidence) for item in cited)) if missed else set()
        if absent := [name for name in missed if name not in meant]:
            some = 2 * len(absent) < len(named)
            return ("partly" if some else "not"), f"{where} does not mention {' '.join(absent)}"
        if wrong := misread(text, cited) or _misplaced(text, cited):
            return "not", wrong
        if stray := _stray_name(text, named, cited):
            return "partly", f"{where} does not say this of {stray}"
        return self._compared(text, cited, where)

    def _compared(self, text: str, cited: Sequence[Evidence], where: str) -> tuple[Verdict, str]:
        parts = [unit for item in cited for unit in units(item)]
        best = max(parts, key=lambda unit: share_held(text, [unit]), default="")
        overlap = joint_support(text, cited)
        if _other_script(text, cited):
            # Words cannot be compared across scripts; that all names and numbers stand there can.
            sure = bool(quantities.quantities(text))
            return ("supported", "") if sure else ("partly", f"{where} is in another language")
        if overlap < _PARTLY:
            return "not", f"{where} does not say this"
        if denied := (_negated(text) - _negated(best)) & set(terms(best)):
            return "partly", f"{where} does not say “not” of “{_word(text, denied)}”"
        if denied := (_negated(best) - _negated(text)) & set(terms(text)):
            return "partly", f"{where} says “not” of “{_word(best, denied)}”"
        if overlap < _SUPPORTED:
            return "partly", f"{where} says only part of this"
        return "supported", ""


def _with_comparison(claim: Claim, claims: Sequence[Claim]) -> Claim:
    """A sentence that compares what others state is judged by their values, and rests on their passages."""
    others = [other for other in claims if other is not claim and other["verdict"] == "supported"]
    told = comparing.judge(claim["text"], others)
    if told is None:
        return claim
    right, why, cites = told
    return Claim(
        {
            **claim,
            "cites": cites,
            "verdict": "supported" if right else "not",
            "reason": "" if right else why,
        }
    )


def _misplaced(text: str, cited: Sequence[Evidence]) -> str:
    """Why a number of ``text`` belongs to something else in its passage; "" if it does not.

    A number must stand where the words beside it are said: in the sentence or row of its passage that
    shares most with them, or in one that shares nearly as much.
    """
    around = quantities.quantities(" ".join(place(item) for item in cited))
    for wanted in quantities.quantities(text):
        if quantities.stands(wanted, around):
            continue
        beside = _beside(text, wanted.shown, _place_terms(cited), _NUMBER_CONTEXT)
        held = [
            [(terms(unit), quantities.stands(wanted, quantities.quantities(unit))) for unit in units(item)]
            for item in cited
        ]
        if not _placed(beside, held):
            return f"{wanted.shown} is said of something else in {_listed(cited)}"
    return ""


def _stray_name(text: str, named: Sequence[str], cited: Sequence[Evidence]) -> str:
    """The name of ``text`` that stands only where its passages speak of something else; "" if none does."""
    around = _place_terms(cited)
    all_names = around | {term for name in named for term in terms(name)}
    for name in named:
        if proper_names.stands(name, around):
            continue
        held = [
            [(found, proper_names.stands(name, set(found))) for found in map(terms, units(item))]
            for item in cited
        ]
        # Once with the names beside it, once without: "Ann Lee" stands beside "Lee" wherever she stands.
        for left_out in (around, all_names):
            beside = _beside(text, name, left_out, _NAME_CONTEXT)
            if len(beside) >= _NAME_CONTEXT and not _placed(beside, held):
                return name
    return ""


def _beside(text: str, wanted: str, around: set[str], least: int) -> set[str]:
    """The terms of the clause of ``text`` that holds ``wanted``, and of as many more as make ``least``."""
    cuts = [0, *(match.end() for match in _CLAUSE.finditer(text)), len(text)]
    clauses = [text[start:end] for start, end in itertools.pairwise(cuts)]
    standing = re.compile(rf"(?<![\w.,]){re.escape(wanted)}(?![^\W_]|[.,]\d)")
    first = last = next((i for i, clause in enumerate(clauses) if standing.search(clause)), 0)
    while True:
        found = set(terms(" ".join(clauses[first : last + 1]))) - set(terms(wanted)) - around
        if len(found) >= least or (first == 0 and last == len(clauses) - 1):
            return found
        first, last = (first - 1, last) if first else (first, last + 1)


def _placed(beside: set[str], held: Sequence[Sequence[tuple[list[str], bool]]]) -> bool:
    """True if one passage has what is looked for where it shares most, or nearly most, with ``beside``."""
    for parts in held:
        shared = [(len(beside.intersection(unit)), has) for unit, has in parts]
        if not any(has for _, has in shared):
            continue
        best = max(count for count, _ in shared)
        if max(count for count, has in shared if has) >= _PLACED * best:
            return True
    return False


def _place_terms(cited: Sequence[Evidence]) -> set[str]:
    """What a whole passage is about: where it stands, and a table's caption and header line."""
    heads = [" ".join(tables.parts(item["text"])[0]) for item in cited if item["kind"] == "table"]
    return {term for text in (*map(place, cited), *heads) for term in terms(text)}


def _negated(text: str) -> set[str]:
    """The terms that a negation stands before."""
    return {term for word in _NEGATION.findall(text) for term in terms(word)}


def _word(text: str, among: set[str]) -> str:
    return next((w for w in re.findall(r"[^\W_]+", text) if among.intersection(terms(w))), "")


def _listed(cited: Sequence[Evidence]) -> str:
    return " and ".join(f"[{item['number']}]" for item in cited)


def _other_script(text: str, cited: Sequence[Evidence]) -> bool:
    """True if the sentence is in Latin letters and its passages are mostly not, or the other way round."""
    return latin(text) != latin(" ".join(item["text"] for item in cited))


class _Verdicts(BaseModel):
    verdicts: list[Literal["supported", "partly", "not"]]


class ModelVerifier:
    """Asks the model about all sentences in one call, as the seed's groundedness check does.

    What code can know is not asked: a sentence without a citation, or with a number that stands in none
    of its passages, is not supported whatever the model says. Where the model cannot be asked any more,
    the plain verifier's word stands.

    Args:
        plain: Says what code can know.
    """

    def __init__(self, plain: PlainVerifier | None = None) -> None:
        self._plain = plain or PlainVerifier()

    @property
    def name(self) -> str:
        """``model``."""
        return "model"

    def verify(
        self, session: Session, question: str, claims: Sequence[Claim], evidence: Sequence[Evidence]
    ) -> list[Claim]:
        """The claims with the model's verdicts; those it gave none for keep the plain verifier's."""
        plain = self._plain.verify(session, question, claims, evidence)
        by_number = {item["number"]: item for item in evidence}
        pairs = [
            (claim["text"], [by_number[n] for n in claim["cites"] if n in by_number]) for claim in claims
        ]
        if not any(cited for _, cited in pairs):
            return plain
        try:
            result = session.ask(
                "verify", [], prompts.verify(question, pairs), _Verdicts, _Verdicts(verdicts=[]), 96
            )
        except BudgetExhausted:
            return plain
        told = result.value.verdicts
        if len(told) != len(claims):
            return plain
        return [
            claim if _known(claim["text"], cited) else _as_told(claim, verdict, _listed(cited))
            for claim, verdict, (_, cited) in zip(plain, told, pairs, strict=True)
        ]


def _known(text: str, cited: Sequence[Evidence]) -> bool:
    return not cited or bool(missing_numbers(text, cited))


def _as_told(claim: Claim, verdict: Verdict, where: str) -> Claim:
    reasons = {
        "supported": "",
        "partly": f"{where} says only part of this",
        "not": f"{where} does not say this",
    }
    reason = claim["reason"] if verdict == claim["verdict"] else reasons[verdict]
    return Claim({**claim, "verdict": verdict, "reason": reason})
