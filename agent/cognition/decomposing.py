"""Decomposing: questions whose own form says which look-ups they need, without a model.

A small model copies an example where a question is long, and a clause of a question is a better look-up
than what it makes of it. What has none of these forms is left to the model.
"""

from __future__ import annotations

import re

from agent.cognition.comparands import compared
from agent.cognition.descriptions import chain
from agent.cognition.masking import bare, masked, unmasked
from agent.cognition.proper_names import names
from agent.cognition.relatives import described
from agent.retrieval.terms import terms

_WH = (
    r"(?:(?:for|in|at|to|by|from|of|on|with) )?(?:how|what|which|who|whom|whose|where|when|why)\b"
    r"|(?:was|were|is|are|did|does|do|has|have) (?:that|this|it|they|he|she|the|its|their)\b"
)
# Without "and", a comma before "who" or "in which" begins a relative clause and no question.
_CLAUSE = re.compile(rf",? and (?={_WH})|, (?=(?:what|how)\b)|[?？]\s+(?:and )?(?={_WH})", re.IGNORECASE)
_ASKS = re.compile(rf"^(?:{_WH})", re.IGNORECASE)
_BASIS = re.compile(
    r"^(?:based on|given|according to|considering|in (?:the )?light of|in view of) (?P<basis>.+?), "
    rf"(?=(?:{_WH}))(?P<rest>.+)$",
    re.IGNORECASE,
)
_BEARING = re.compile(
    r"^how (?:do|does|did|might|could|would|will) (?P<what>.+?),? (?:directly )?(?:bear|affect|impact|"
    r"influence|relate|threaten|address|exacerbate|reinforce|weaken|change the position)\b.*$"
    r"|^what (?:do|does|did|might|could|would|will) (?P<means>.+?) mean for\b.*$",
    re.IGNORECASE,
)
_CHANGE = re.compile(
    r"^how (?:did|has|have) (?P<what>.+?) (?:changed?|developed?|evolved?) "
    r"(?:between (?P<a>.+?) and (?P<b>.+)|from (?P<c>.+?) to (?P<d>.+))$",
    re.IGNORECASE,
)
_COMPARED = re.compile(
    r"^(?:was|were|is|are) (?:that|this|it|they) (?P<how>\w+)(?: or \w+)? than (?P<what>.+)$", re.IGNORECASE
)
_MEASURES = {
    "How long was": ("longer", "shorter"),
    "When was": ("earlier", "later", "sooner"),
    "How old was": ("older", "younger"),
    "What was": ("higher", "lower", "larger", "smaller", "more", "less", "greater", "bigger", "fewer"),
}
_THAT = re.compile(r"\b(?:that|this|the same) (?P<noun>[a-z]+)(?P<of>['’]s)?", re.IGNORECASE)
_PERSON = ("person", "man", "woman", "executive", "director", "author")
_IT = re.compile(r"\b(?P<it>it)\b|\b(?P<its>its)\b", re.IGNORECASE)
_YEAR = re.compile(r"^(?:fiscal |financial )?(?:19|20)\d\d$", re.IGNORECASE)
_LEANS = re.compile(r"\b(?:each|they|them|their|these|those|it|its|both)\b", re.IGNORECASE)
_MOST = 4


def decompose(question: str) -> list[str]:
    """The look-ups of a question whose form shows them, in order; [] where it does not.

    A later one may refer to an earlier one's finding as ``#n``.
    """
    text = bare(question)
    return _of_clauses(text) or _of_things(text) or described(text)


def _of_things(text: str) -> list[str]:
    """What a question describes instead of naming it, and what it holds against each other."""
    hidden, named = masked(text)
    steps, rest = chain(hidden)
    steps += compared(rest, len(steps)) or ([f"{_capital(rest)}?"] if steps else [])
    return [unmasked(step, named) for step in steps] if len(steps) <= _MOST else []


def _of_clauses(text: str) -> list[str]:
    """The questions that a question is made of."""
    basis, rest = "", text
    based = _BASIS.match(text)
    if based:
        basis, rest = based["basis"], based["rest"]
    clauses = _clauses(rest)
    steps: list[str] = []
    if basis and not (_IT.search(clauses[0]) or len(clauses) > 1):
        steps.append(f"What does {basis} say?")
    for clause in clauses:
        found = _lookups(_with_basis(clause, basis), steps)
        if steps and any(_LEANS.search(look_up) and not names(look_up) for look_up in found):
            return []  # "how did each change": one look-up, which the model words
        steps += found
    steps = list(dict.fromkeys(steps))
    if not all(_ASKS.match(clause) for clause in clauses):
        return []
    return steps if 2 <= len(steps) <= _MOST else []


def _clauses(text: str) -> list[str]:
    """The questions that ``text`` asks one after the other; an elliptic one stays with the one before."""
    clauses: list[str] = []
    start = 0
    for match in _CLAUSE.finditer(text):
        ahead = _CLAUSE.split(text[match.end() :], maxsplit=1)[0]
        before = text[start : match.start()]
        # "for how long" asks nothing on its own, and "in which" may go on with what stands before it.
        if len(terms(ahead)) < 2 or len(terms(before)) < 2:
            continue
        clauses.append(before.strip(" ,"))
        start = match.end()
    return [*clauses, text[start:].strip(" ,")]


def _lookups(clause: str, before: list[str]) -> list[str]:
    changed = _CHANGE.match(clause)
    if changed:
        ends = [changed["a"] or changed["c"], changed["b"] or changed["d"]]
        return [f"What was {changed['what']}{_at(end)}?" for end in ends]
    bearing = _BEARING.match(clause)
    if bearing:
        return [f"What is said about {bearing['what'] or bearing['means']}?"]
    compared = _COMPARED.match(clause)
    if compared:
        for asks, words in _MEASURES.items():
            if compared["how"].casefold() in words:
                return [f"{asks} {compared['what']}?"]
    return [_capital(f"{_referring(clause, before)}?")]


def _at(end: str) -> str:
    return f" in {end}" if _YEAR.match(end) else f", according to {end}"


def _referring(clause: str, before: list[str]) -> str:
    """``clause`` with "that supplier" as ``#n`` where step n asks which supplier, or who."""

    def reference(match: re.Match[str]) -> str:
        noun = match["noun"].casefold()
        for number in range(len(before), 0, -1):
            asked = before[number - 1].casefold()
            named = re.search(rf"\b(?:which|what)\b(?: \w+){{0,3}} {re.escape(noun)}s?\b", asked)
            who = noun in _PERSON and re.match(r"(?:\w+ )?who", asked)
            if named or who:
                return f"#{number}{match['of'] or ''}"
        return match.group()

    return _THAT.sub(reference, clause)


def _with_basis(clause: str, basis: str) -> str:
    """``clause`` with the basis for its first "it"; unchanged without either."""
    if not basis or _BEARING.match(clause):
        return clause
    return _IT.sub(lambda m: basis if m["it"] else f"{basis}'s", clause, count=1)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
