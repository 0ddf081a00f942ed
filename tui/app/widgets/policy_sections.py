"""What stands on the screen of the policy, in words, figures and small bars."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from textual.content import Content

from tui.app.widgets.decision_lines import ORIGINS, SIGNS, bar, percent, source
from tui.app.widgets.policy_data import LEARNED, LLM, RULES, Deciding
from tui.app.widgets.policy_rows import Policies
from tui.terminal import one_line

if TYPE_CHECKING:
    from policy.gathered import Gathered

_QUIET = "$foreground 65%"
_ABOUT, _NAME, _BAR = 13, 20, 9  # cells; with the figures a line has 55
_RATINGS: Mapping[str, str] = {"good": "good", "partly": "good in part", "wrong": "wrong"}
_HOW: Mapping[str, str] = {
    RULES: "the plan is worked off and revised once",
    LLM: "the language model is asked at each step",
}

Line = Content | str


def deciding(who: Deciding, policies: Policies, width: int) -> Content:
    """Who decides, and whose second opinion is kept, a line each; then what is in the way of that."""
    origin = f"as the profile {who.profile} has it" if who.profile else "as set"
    if who.shadow == who.decider:
        beside, why = f"{who.shadow}, which decides anyway", "so there is nothing to compare"
    elif who.shadow:
        beside, why = f"{who.shadow}, recorded and not acted on", ""
    else:
        beside, why = "nobody’s", "with one, agreement can be told"
    lines = [
        _told("decides", f"{who.decider}, {origin}", _how(who.decider, policies), width),
        _told("second opinion", beside, why, width),
    ]
    lines += [
        Content.styled(f"! {variable} in the environment goes before the settings", "$warning")
        for variable in who.fixed.values()
    ]
    if policies.warning:
        lines.append(Content.styled(f"! {one_line(policies.warning)}", "$warning"))
    return Content("\n").join(lines)


def decided_by(who: Deciding, policies: Policies) -> str:
    """Who decides, in a clause."""
    if who.decider == LLM:
        return "the language model decides"
    return "the policy decides" if who.decider == LEARNED and policies.active else "the rules decide"


def _how(decider: str, policies: Policies) -> str:
    if decider != LEARNED:
        return _HOW.get(decider, "")
    return f"the policy {policies.active.name}" if policies.active else "no policy is there: the rules do"


def _told(name: str, value: str, why: str, width: int) -> Content:
    line = Content.assemble((f"{name:<16}", _QUIET), value)
    longer = Content.assemble(line, (f" · {why}", _QUIET)) if why else line
    return longer if longer.cell_length <= width else line


def data(found: Gathered, ask: str) -> Content:
    """What was decided, and what people said of it; ``ask`` is the key that leads to a question."""
    if not found.decisions:
        return _section(
            "What has been gathered",
            [
                "Nothing yet. Whenever a run decides, the state it saw is kept, and later what came of it.",
                "",
                f"Press {ask} and ask something that takes more than one step.",
            ],
        )
    lines: list[Line] = [f"{_counted(found.decisions, 'decision')} in {_counted(found.runs, 'run')}"]
    lines += _bars("taken by", [(source(name), n) for name, n in found.sources.items()])
    lines += _bars("action", [(f"{SIGNS.get(name, ' ')} {name}", n) for name, n in found.actions.items()])
    lines += _bars("labels", [(ORIGINS.get(name, name), n) for name, n in found.labels.items()])
    lines += _bars("ratings", [(_RATINGS.get(name, name), n) for name, n in found.ratings.items()])
    return _section("What has been gathered", lines)


def training(found: Gathered) -> Content:
    """How much there is to learn from, and how to get what is missing."""
    share = min(1.0, found.usable / found.needed)
    lines: list[Line] = [
        Content.assemble(
            bar(share, 24), f" {percent(share)}  {found.usable:,} of {found.needed:,} decisions"
        )
    ]
    if found.missing:
        lines.append(
            f"{_counted(found.missing, 'decision')} missing until a training can be expected to gain."
        )
        if found.usable and found.runs:
            runs = -(-found.missing * found.runs // found.decisions)
            lines.append(_quiet(f"About {_counted(runs, 'run')} more, if they go on like those so far."))
    else:
        lines.append("Enough for a training.")
    older = found.decisions - found.usable
    if older:
        lines.append(_quiet(f"{_counted(older, 'decision')} of an older encoding cannot be learnt from."))
    if not sum(found.labels.values()):
        lines.append(_quiet("No label of yours yet: the screen Decisions takes them."))
    return _section("What your own runs have gathered for it", lines)


def _section(title: str, lines: Iterable[Line]) -> Content:
    return Content("\n").join([Content.styled(title, "bold $primary"), *lines])


def _quiet(text: str) -> Content:
    return Content.styled(text, _QUIET)


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


def _bars(title: str, counts: Sequence[tuple[str, int]]) -> list[Line]:
    """A line for each count, its share of all of them as a bar; one line if all are nothing."""
    total = sum(count for _, count in counts)
    if not total:
        return ["", Content.assemble((f"{title:<{_ABOUT}}", _QUIET), "none yet")]
    lines: list[Line] = [""]
    for place, (name, count) in enumerate(counts):
        about = ("" if place else title).ljust(_ABOUT)
        figures = f"{count:>8,} {percent(count / total)}"
        drawn = bar(count / total, _BAR)
        lines.append(Content.assemble((about, _QUIET), f"{name:<{_NAME}}", drawn, figures))
    return lines
