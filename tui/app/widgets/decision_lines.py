"""How one decision reads: its action, a bar for each probability, who took it, what others say of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from textual.content import Content

from agent import events as ev
from agent.state import ACTIONS
from traces.labels import Label
from tui.terminal import duration, one_line

Form = Literal["compact", "stacked", "inline"]
"""Two lines; a line for each probability; all probabilities in one line."""

SIGNS: Final[Mapping[str, str]] = {"CONTINUE": "→", "REVISE": "↻", "FINISH": "■"}
ORIGINS: Final[Mapping[str, str]] = {
    "override": "you stepped in",
    "teach": "asked in teach mode",
    "said": "said afterwards",
}
"""How a label came to be, in words."""

CURSOR: Final = "▸"
NOT_POSSIBLE: Final = "–"
_QUIET: Final = "$foreground 65%"
_TRACK: Final = "on $foreground 12%"
_EIGHTHS: Final = " ▏▎▍▌▋▊▉█"
_HEIGHTS: Final = " ▁▂▃▄▅▆▇█"
_LABEL_COLUMN: Final = 10
_INDENT: Final = 4


@dataclass(frozen=True, slots=True)
class Row:
    """What one row of the strip tells.

    Attributes:
        decided: The decision; the question for one where the run waits for it.
        label: The person's.
    """

    decided: ev.Decided | ev.Asked
    label: Label | None = None

    @property
    def valid(self) -> Sequence[str]:
        """The actions that are possible here."""
        if isinstance(self.decided, ev.Asked):
            return self.decided.options
        return self.decided.valid or ACTIONS


def action(name: str) -> Content:
    """An action by its sign and its name."""
    return Content.styled(f"{SIGNS.get(name, '?')} {name}", "bold")


def source(name: str) -> str:
    """Who decided, in words."""
    return {"human": "you", "budget": "the budget"}.get(name, name)


def bar(share: float, width: int, *, strong: bool = True) -> Content:
    """A share from 0 to 1 as blocks, an eighth of a cell fine, on a quiet track ``width`` cells long."""
    eighths = round(max(0.0, min(1.0, share)) * width * 8)
    if share > 0:
        eighths = max(1, eighths)
    blocks = "█" * (eighths // 8) + (_EIGHTHS[eighths % 8] if eighths % 8 else "")
    colour = "$primary" if strong else "$primary 55%"
    return Content.styled(blocks.ljust(width), f"{colour} {_TRACK}")


def percent(share: float) -> str:
    """A share as four characters: never 100 where it is not all, never 0 where it is something."""
    whole = round(share * 100)
    if whole == 100 and share < 1:
        whole = 99
    return " <1%" if whole == 0 and share > 0 else f"{whole:>3}%"


def took(milliseconds: float) -> str:
    """How long a decision took; "" for one that nobody had to think about."""
    if milliseconds <= 0:
        return ""
    if milliseconds >= 1000:
        return duration(milliseconds / 1000)
    if milliseconds >= 10:
        return f"{milliseconds:.0f} ms"
    return f"{milliseconds:.1f} ms" if milliseconds >= 0.1 else "< 0.1 ms"


def row(told: Row, form: Form, width: int, *, marked: bool) -> Content:
    """A row of the strip.

    Args:
        told: What it tells.
        form: How much room there is.
        width: Cells in a line.
        marked: Whether the cursor is on it.
    """
    mark = f"{CURSOR} " if marked else "  "
    lines = _compact(told, width) if form == "compact" else _full(told, form, width)
    margin = " " * (_INDENT if form == "compact" else _INDENT + 2)
    first, *rest = lines
    return Content("\n").join(
        [Content.assemble((mark, "bold $accent"), first), *(margin + x for x in rest)]
    )


def opinion(shadow: Mapping[str, Any], taken: str) -> str:
    """Whether a second source agrees, by a sign and in words."""
    would = str(shadow.get("action", ""))
    by = source(str(shadow.get("source", "")))
    return f"= {by} agrees" if would == taken else f"≠ {by}: {would}"


def judgement(label: Label, taken: str) -> str:
    """What a person says of a decision."""
    return "✎ you: right" if label.action == taken else f"✎ you: {label.action}"


def _compact(told: Row, width: int) -> list[Content]:
    decided = told.decided
    if isinstance(decided, ev.Asked):
        first = Content.assemble(
            ("? ", "bold $accent"), "your turn · suggested ", action(decided.suggested)
        )
        return [first, _small_bars(told)]
    parts = [Content(f"{decided.step} "), action(decided.action), Content(f"  {source(decided.source)}")]
    if decided.shadow:
        would = str(decided.shadow.get("action", ""))
        agrees = would == decided.action
        by = source(str(decided.shadow.get("source", "")))
        parts.append(
            Content.styled(f"  {'=' if agrees else '≠'} {by}{'' if agrees else f' {would}'}", _QUIET)
        )
    second = _small_bars(told)
    if told.label:
        said = "✎ right" if told.label.action == decided.action else f"✎ {told.label.action}"
        second += Content.styled(f"  {said}", "bold $accent")
    return [Content("").join(parts).truncate(width - 2, ellipsis=True), second]


def _small_bars(told: Row) -> Content:
    pieces = []
    for name in ACTIONS:
        if name in told.valid:
            share = told.decided.probabilities.get(name, 0.0)
            height = _HEIGHTS[max(1, round(share * 8))] if share > 0 else _HEIGHTS[0]
            pieces.append(Content.assemble(name[0], (height, "$primary"), percent(share)))
        else:
            pieces.append(Content.styled(f"{name[0]} {NOT_POSSIBLE}   ", _QUIET))
    return Content("  ").join(pieces)


def _full(told: Row, form: Form, width: int) -> list[Content]:
    decided = told.decided
    room = width - _INDENT - 2
    bars = _stacked(told, room) if form == "stacked" else [_inline(told, room)]
    if isinstance(decided, ev.Asked):
        first = Content.assemble(
            (" ?  ", "bold $accent"), one_line(decided.question), "  suggested: ", action(decided.suggested)
        )
        return [first, *bars]
    by = " in ".join(filter(None, (f"by {source(decided.source)}", took(decided.latency_ms))))
    first = Content.assemble(
        f"{decided.step:>2}  ", action(decided.action), (f"  {by}, after step {decided.step}", _QUIET)
    )
    lines = [first.truncate(width - 2, ellipsis=True), *bars]
    if decided.justification:
        lines.append(Content.styled(one_line(decided.justification, room), "italic"))
    said = []
    if decided.shadow:
        share = _share(decided.shadow)
        said.append(Content(f"{opinion(decided.shadow, decided.action)}{share}"))
    if told.label:
        why = ORIGINS.get(told.label.origin, told.label.origin)
        said.append(Content.styled(f"{judgement(told.label, decided.action)} ({why})", "bold $accent"))
    if form == "inline" and said:
        return [*lines, Content("   ").join(said).truncate(room, ellipsis=True)]
    return [*lines, *(line.truncate(room, ellipsis=True) for line in said), Content("")]


def _share(shadow: Mapping[str, Any]) -> str:
    """How probable a second source holds its own action; "" where it does not hesitate."""
    share = float(shadow.get("probabilities", {}).get(shadow.get("action"), 1.0))
    return f", {percent(share).strip()}" if share < 1 else ""


def _stacked(told: Row, room: int) -> list[Content]:
    return [_bar_line(told, name, room) for name in ACTIONS]


def _bar_line(told: Row, name: str, room: int) -> Content:
    """One action with its bar and its number, in a line of ``room`` cells at most."""
    key = f"{list(SIGNS).index(name) + 1} " if isinstance(told.decided, ev.Asked) else ""
    label = f"{key}{name}".ljust(_LABEL_COLUMN + len(key))
    if name not in told.valid:
        return Content.styled(f"{label}{NOT_POSSIBLE} not possible", _QUIET)
    share = told.decided.probabilities.get(name, 0.0)
    taken = told.decided.suggested if isinstance(told.decided, ev.Asked) else told.decided.action
    width = max(4, min(32, room - len(label) - 6))
    return Content.assemble(
        (label, "bold" if name == taken else ""),
        bar(share, width, strong=name == taken),
        f" {percent(share)}",
    )


def _inline(told: Row, room: int) -> Content:
    each = (room - 4) // len(ACTIONS)
    pieces = []
    for number, name in enumerate(ACTIONS, start=1):
        key = f"{number} " if isinstance(told.decided, ev.Asked) else ""
        label = f"{key}{name:<9}"
        if name not in told.valid:
            pieces.append(Content.styled(f"{label}{NOT_POSSIBLE}".ljust(each), _QUIET))
            continue
        share = told.decided.probabilities.get(name, 0.0)
        taken = told.decided.suggested if isinstance(told.decided, ev.Asked) else told.decided.action
        width = max(3, min(14, each - len(label) - 5))
        piece = Content.assemble(
            (label, "bold" if name == taken else ""),
            bar(share, width, strong=name == taken),
            f" {percent(share)}",
        )
        pieces.append(piece.pad_right(each - piece.cell_length))
    return Content("  ").join(pieces)
