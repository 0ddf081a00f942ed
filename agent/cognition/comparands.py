"""Comparands: a question that holds two things against each other needs the same look-up for both.

"Which film came out first, Kadis or Lunar Tide?" asks when each came out. Which of them was first is not
looked up; it follows. Told by English forms alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent.cognition.masking import NAME, WORK, bare, masked, unmasked

_JOINED = r"(?:of|the|in|on|at|to|a|an|for|with|from|by|is|as|de|la)"
_ONE = rf"(?:the )?{NAME}(?:,? (?:{_JOINED} ){{0,3}}{NAME}|['’][sS] {NAME})*"
_TWO = rf"(?P<a>{_ONE}),? and (?:the )?(?P<b>{_ONE})"
_EITHER = rf"(?P<a>{_ONE}) or (?P<b>{_ONE})"
_THINGS = r"(?:(?:the|two|both|of|these) ){0,3}(?:(?!both\b)[a-z-]+ ){0,3}?(?:[a-z-]+[,:]? )?"
_WHICH = re.compile(
    r"^(?:(?:in|of|for|to|from|at) )?(?:which|who|whose|what|are|is|do|did|does|was|were|has)\b",
    re.IGNORECASE,
)
# Which of two things is more so. What is asked of them is `who` and `what` together.
_CHOICES = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"^(?:between|of|out of) {_THINGS}{_TWO}, (?P<what>.+)$",
        rf"^(?P<who>who|what|which(?: one)?) of {_THINGS}{_TWO} (?P<what>.+)$",
        rf"^(?P<what>.+) (?:between|out of) {_THINGS}{_TWO}$",
        rf"^(?P<who>is|was|did|does|has) {_EITHER},? (?P<what>.+)$",
        rf"^(?P<who>is|was|do|does|did|has) (?P<a>{_ONE}) (?P<what>.*\bsame [a-z]+) as (?P<b>{_ONE})$",
        rf"^(?P<who>(?:which|what|who)[a-z ]*), {_EITHER}, (?P<what>.+)$",
        rf"^(?P<what>(?:which|what|who|whose) [a-z ]+?) {_EITHER}$",
        rf"^(?P<what>.+?)[,:;] (?:between )?(?P<a>[^,]+(?:, {NAME})?),? or (?P<b>[^,]+(?:, {NAME})?)$",
    )
)
_BOTH = re.compile(
    rf"^(?P<aux>are|is|were|was|do|does|did|have|has) {_THINGS}(?:(?P<role>[a-z-]+?)s? of {_THINGS})?{_TWO}"
    r",? (?:both )?(?P<what>.+)$",
    re.IGNORECASE,
)
_WHAT_BOTH = re.compile(
    r"^(?P<wh>(?:(?:in|from|of|for|at|on|to|by|with) )?(?:what|which)(?: [a-z-]+){1,4}?) "
    rf"(?P<aux>are|were|do|does|did|have) {_THINGS}{_TWO},? ?(?:both )?(?P<what>.*)$",
    re.IGNORECASE,
)

# "Ansel and Varo are both what?", "What do Ansel and Varo have in common?"
_TWO_ARE = re.compile(
    rf"^(?!wh)(?:both )?{_THINGS}{_TWO},? (?:"
    r"(?:both )?(?:are|were|have|had|shared?) (?:[a-z]+ ){0,4}(?:which|what)\b"
    r"|(?:are|were) both\b|both (?:are|were)\b).*$",
    re.IGNORECASE,
)
_IN_COMMON = re.compile(rf"^what (?:do|does|did) {_THINGS}{_TWO} have in common$", re.IGNORECASE)

_HAS_ROLE = re.compile(
    r"\b(?:has|have|with|whose) (?:the |a |an )?(?P<role>director|author|writer|composer|performer|singer|"
    r"producer|founder|creator|lead singer|screenwriter)s?,? ?(?:who |that )?(?P<pred>.+)$",
    re.IGNORECASE,
)
_WHEN = re.compile(
    r"\b(?P<verb>released|published|founded|formed|established|started|opened|built|created|incorporated|"
    r"launched|completed|discovered|born|died|came out|come out|premiered|aired|begun|constructed|invented|"
    r"organized|organised|made)\b",
    re.IGNORECASE,
)
_VERBS = {"came out": "released", "come out": "released", "aired": "released", "made": "released"}
AGE = re.compile(r"\b(?:older|oldest|younger|youngest|elder|eldest)\b", re.IGNORECASE)
"""Pattern of words that compare ages, of people or of what was founded or released."""

_LIVED = re.compile(r"\blived? (?:longer|longest|more)\b", re.IGNORECASE)
_PEOPLE = re.compile(
    r"^(?:who|which (?:person|man|woman|actor|actress|author|writer|director|filmmaker|film director|"
    r"singer|musician|composer|player|artist|poet|politician|scientist))\b",
    re.IGNORECASE,
)
_WORKS = re.compile(rf"\b(?:{WORK})\b", re.IGNORECASE)
_MORE = re.compile(
    r"\b(?P<verb>[a-z]+) (?:the )?(?:more|most|fewer|fewest) (?P<noun>[a-z][a-z -]*?)"
    r"(?:$| (?:than|in|of)\b)",
    re.IGNORECASE,
)
_HOW = {"taller": "tall", "longer": "long", "larger": "large", "bigger": "big", "higher": "high"}
_HOW |= {"deeper": "deep", "heavier": "heavy", "wider": "wide", "faster": "fast", "smaller": "large"}
_HOW |= {"shorter": "long", "lower": "high"}
_HOW |= {f"{more[:-1]}st": how for more, how in _HOW.items()}
_IS_MORE = re.compile(rf"\b(?:is|was|are|were) (?:the )?(?P<more>{'|'.join(_HOW)})$", re.IGNORECASE)
_MEASURED = re.compile(rf"\b(?:{'|'.join(_HOW)})\b", re.IGNORECASE)
_SAME = re.compile(
    r"\b(?:(?:the |a )?(?:same|common|similar)|shared?(?: the| a)?(?: same)?) "
    r"(?P<attribute>[a-z][a-z ]*?)s?(?: (?:in|of|at) .+)?$"
    r"|\bof (?:the )?same (?P<attribute2>[a-z]+)$",
    re.IGNORECASE,
)
_COMMON = re.compile(r"^(?:have in common|share|in common|common)$", re.IGNORECASE)
_SINGULAR = {"are": "is", "were": "was", "do": "does", "does": "does", "did": "did", "have": "has"}
_MOST = 4


def compared(text: str, before: int = 0) -> list[str]:
    """The look-ups of a question that compares two things, in order; [] for any other.

    Args:
        text: The question with its names masked, without its question mark.
        before: Look-ups that come before these, for the numbers of references.
    """
    found = _chosen(text, before) or _both(text, before) or _what_both(text)
    return found if all(found) and before + len(found) <= _MOST else []


def things(question: str) -> tuple[str, str] | None:
    """The two things of which ``question`` asks which is more so; None where it does not."""
    hidden, named = masked(bare(question))
    found = _choice(hidden)
    return (unmasked(found[1], named), unmasked(found[2], named)) if found else None


def _chosen(text: str, before: int) -> list[str]:
    """Which of two things is more so."""
    found = _choice(text)
    return _for_each(found[0], found[1:], before) if found else []


def _choice(text: str) -> tuple[str, str, str] | None:
    match = next((found for form in _CHOICES if (found := form.match(text))), None)
    if match is None or not all(re.search(NAME, match[one]) for one in "ab"):
        return None
    what = f"{match.groupdict().get('who') or ''} {match['what']}".strip()
    return (what, match["a"], match["b"]) if _WHICH.match(what) else None


def _both(text: str, before: int) -> list[str]:
    """Whether two things are both so, or have something in common."""
    match = _BOTH.match(text)
    if match is None:
        return []
    two = [match["a"], match["b"]]
    what = match["what"]
    role = match["role"]
    if role:
        what = f"have {role}s {what}"
    if _HAS_ROLE.search(what) or _SAME.search(what):
        return _for_each(f"{match['aux']} {what}", two, before)
    aux = _SINGULAR.get(match["aux"].casefold(), match["aux"])
    if aux in {"is", "was"} and not re.match(r"(?:located|from|in|on|at|part|used|found|\w+ed)\b", what):
        return [f"What {aux} {thing}?" for thing in two]
    return [f"{aux.capitalize()} {thing} {what}?" for thing in two]


def _what_both(text: str) -> list[str]:
    """What two things have in common."""
    plain = _IN_COMMON.match(text) or _TWO_ARE.match(text)
    if plain is not None:
        return [f"What is {plain[one]}?" for one in "ab"]
    match = _WHAT_BOTH.match(text)
    if match is None:
        return []
    two = [match["a"], match["b"]]
    if _COMMON.match(match["what"]) or not match["what"]:
        noun = re.sub(r"^.*?\b(?:what|which) ", "", match["wh"], flags=re.IGNORECASE)
        return [f"What is the {noun} of {thing}?" for thing in two]
    aux = _SINGULAR[match["aux"].casefold()]
    return [f"{match['wh']} {aux} {thing} {match['what']}?" for thing in two]


def _for_each(what: str, two: Sequence[str], before: int) -> list[str]:
    by_role = _HAS_ROLE.search(what)
    if by_role is None:
        return [_asked_of(what, thing) for thing in two]
    role = by_role["role"].casefold()
    steps = [f"Who is the {role} of {thing}?" for thing in two]
    people = [f"#{before + number}" for number in range(1, len(two) + 1)]
    return steps + [_asked_of(f"who {by_role['pred']}", person) for person in people]


def _asked_of(what: str, thing: str) -> str:
    """The look-up for one of the things; "" if what is measured of them is not plain."""
    who = "Who" if _PEOPLE.match(what) else "What"
    asked = _attribute(what, thing) or _date(what, thing) or _number(what, thing)
    return asked or ("" if _MEASURED.search(what) else f"{who} is {thing}?")


def _attribute(what: str, thing: str) -> str:
    same = _SAME.search(what)
    if same is None:
        return ""
    attribute = (same["attribute"] or same["attribute2"]).strip()
    attribute = re.sub(r"ie$", "y", attribute)  # the plural's s is off: "nationalitie"
    if "locat" in what or "situated" in what:
        return f"In which {attribute} is {thing} located?"
    return (
        f"Which country is {thing} from?"
        if attribute == "country"
        else f"What is the {attribute} of {thing}?"
    )


def _date(what: str, thing: str) -> str:
    if _LIVED.search(what):
        return f"When was {thing} born and when did {thing} die?"
    when = _WHEN.search(what)
    if when is None:
        if not AGE.search(what):
            return ""
        verb = "born" if _PEOPLE.match(what) else "released" if _WORKS.search(what) else "founded"
        return f"When was {thing} {verb}?"
    verb = when["verb"].casefold()
    return f"When did {thing} die?" if verb == "died" else f"When was {thing} {_VERBS.get(verb, verb)}?"


def _number(what: str, thing: str) -> str:
    more, measured = _MORE.search(what), _IS_MORE.search(what)
    if more:
        if more["verb"] in {"has", "have", "had"}:
            return f"How many {more['noun']} does {thing} have?"
        return f"How many {more['noun']} has {thing} {more['verb']}?"
    return f"How {_HOW[measured['more'].casefold()]} is {thing}?" if measured else ""
