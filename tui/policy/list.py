"""The policies as rows, and the one under the cursor in full."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList, Static

from tui.app.lists import Line, MarkedList, facts, titled
from tui.terminal import clean, one_line

if TYPE_CHECKING:
    from policy.manifest import Manifest
    from policy.registry import Activation, Listed, Registry

GateSaid = Literal["passed", "not passed", "not asked", "unusable"]
Facts = tuple[tuple[str, str], ...]
"""Names and what there is to say of them."""

_GAIN = "utility over the default schedule"
_CHANGES = 8  # of the active policy, told at most
_HOW = {"use": "chosen", "rollback": "rolled back to", "train": "trained"}


@dataclass(frozen=True, slots=True)
class PolicyRow:
    """One policy.

    Attributes:
        name: By which it is chosen; ``box`` for the one that came with this version.
        method: How it was trained; "" if it cannot be used.
        made: When, by this machine's clock.
        questions: It was made from.
        gain: Its utility over the default schedule on held-out questions, with the interval; "" if unknown.
        said: What the gate said of it.
        reason: Why, or why it cannot be used.
        boxed: Whether it came with this version.
        active: Whether it decides where `learned` decides.
        sections: Everything else there is to know, under titles.
    """

    name: str
    method: str
    made: str
    questions: int
    gain: tuple[float, ...]
    said: GateSaid
    reason: str
    boxed: bool
    active: bool
    sections: tuple[tuple[str, Facts], ...] = ()


@dataclass(frozen=True, slots=True)
class Policies:
    """What there is.

    Attributes:
        rows: The box's first, then the newest first.
        warning: What is wrong with the record of the active one; "" if nothing.
        changes: How the active one came to be, the latest first.
    """

    rows: tuple[PolicyRow, ...] = ()
    warning: str = ""
    changes: Facts = field(default=())

    @property
    def active(self) -> PolicyRow | None:
        """The one that decides where `learned` decides."""
        return next((row for row in self.rows if row.active), None)


def read_policies(registry: Registry) -> Policies:
    """Every policy, with what its manifest tells; meant for a worker."""
    found = registry.listed()
    single = sum(one.boxed for one in found) == 1
    return Policies(
        tuple(_row(one, box=one.boxed and single) for one in found),
        registry.active().warning,
        tuple(_change(change) for change in registry.history()[:_CHANGES]),
    )


def figure(value: Any) -> str:
    """A setting or a measure; one with its interval as `difference`."""
    from policy.card import in_words

    if isinstance(value, list | tuple) and len(value) == 3 and all(isinstance(n, float) for n in value):
        return difference(tuple(value))
    return in_words(value)


def difference(interval: tuple[float, ...]) -> str:
    """Estimate, low and high end with their signs."""
    estimate, low, high = (f"{value:+.3f}" for value in interval)
    return f"{estimate} [{low}, {high}]"


def _row(one: Listed, *, box: bool) -> PolicyRow:
    from policy.manifest import BOX

    name, manifest = BOX if box else one.name, one.manifest
    if manifest is None:
        return PolicyRow(name, "", "", 0, (), "unusable", one.problem, one.boxed, one.active)
    gate = manifest.gate
    said: GateSaid = "not asked" if gate is None else "passed" if gate.passed else "not passed"
    reason = gate.reason if gate else "The gate was not asked when it was trained."
    measures: Mapping[str, Any] = {**manifest.metrics, **(gate.measures if gate else {})}
    gain = measures.get(_GAIN)
    return PolicyRow(
        name,
        manifest.method,
        _when(manifest.created),
        manifest.data.questions,
        tuple(gain) if isinstance(gain, list | tuple) and len(gain) == 3 else (),
        said,
        reason,
        one.boxed,
        one.active,
        _sections(manifest),
    )


def _sections(manifest: Manifest) -> tuple[tuple[str, Facts], ...]:
    from policy.card import method_in_words

    data, gate = manifest.data, manifest.gate
    made = [
        ("policy", manifest.name),
        ("method", method_in_words(manifest.method)),
        ("made", _when(manifest.created)),
        ("by", manifest.command or "a command that was not recorded"),
        ("base model", manifest.base.name if manifest.base else "none"),
        ("questions", f"{data.questions:,}{_counted(data.datasets)}"),
        ("decisions", f"{data.decisions:,}{_counted(data.sources)}"),
        ("margin", f"{manifest.rule.margin:g}, temperature {manifest.rule.temperature:g}"),
        ("reads", f"states of version {manifest.state_version}, {len(manifest.features)} numbers of each"),
    ]
    told: list[tuple[str, Facts]] = [
        ("Made from", tuple(made)),
        ("Measured on held-out questions", _facts(manifest.metrics)),
    ]
    if gate is not None:
        told.append(("What the gate measured", (*_facts(gate.measures), ("the rule", gate.rule))))
    told += [("Settings", _facts(manifest.settings)), ("Trained with", _facts(manifest.versions))]
    return tuple((title, facts) for title, facts in told if facts)


def _facts(values: Mapping[str, Any], before: str = "") -> Facts:
    found: list[tuple[str, str]] = []
    for name, value in values.items():
        if isinstance(value, Mapping):
            found += _facts(value, f"{before}{name}, ")
        else:
            found.append((f"{before}{name}", figure(value)))
    return tuple(found)


def _counted(counts: Mapping[str, int]) -> str:
    told = ", ".join(f"{name} {count:,}" for name, count in counts.items())
    return f" ({told})" if told else ""


def _change(change: Activation) -> tuple[str, str]:
    forced = ", although the gate did not pass it" if change.forced else ""
    return _when(change.at), f"{_HOW[change.how]} {change.name}{forced}"


def _when(iso: str) -> str:
    try:
        moment = datetime.fromisoformat(iso)
    except ValueError:
        return iso
    return f"{moment.astimezone():%Y-%m-%d %H:%M}"


GATE: Final = {
    "passed": ("✓ passed", "$success"),
    "not passed": ("✗ not passed", "$error"),
    "not asked": ("– not asked", "$foreground 65%"),
    "unusable": ("✗ unusable", "$error"),
}
"""What the gate said, in a sign and a word."""

_QUIET = "$foreground 65%"
_METHOD, _GAINS, _GATE, _ACTIVE = 8, 8, 14, 8
_NOTHING = """\
There is no policy yet: this version came without one, and none was trained here.

{train} goes to the training. Until there is a policy, {by}."""


class PolicyRows(MarkedList, inherit_bindings=False):
    """The rows; Enter is the screen's, so that it can be remapped."""

    HELP = """\
### Policies

Each was trained, here or by whoever made this version (the *box*). The figure is what it gains over the
default schedule on questions it has not seen; the gate says whether that is enough. One of them is active.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        binding
        for binding in OptionList.BINDINGS
        if not (isinstance(binding, Binding) and binding.key == "enter")
    ]


class PolicyBook(Container):
    """The list, and under it the policy that is under the cursor."""

    DEFAULT_CSS = """
    PolicyBook { layout: vertical; height: 1fr; }
    PolicyBook #head { height: 1; padding: 0 1; color: $foreground 65%; }
    PolicyBook #listed { height: auto; max-height: 8; }
    PolicyBook PolicyRows { max-height: 7; }
    PolicyBook #card { height: 1fr; padding: 0 1; border-top: solid $panel; scrollbar-gutter: stable; }
    PolicyBook #card:focus { border-top: solid $primary; }
    PolicyBook #none { padding: 1 2; color: $foreground 65%; }
    PolicyBook.-none #listed, PolicyBook.-none #card { display: none; }
    PolicyBook #none { display: none; }
    PolicyBook.-none #none { display: block; }
    """

    class Moved(Message):
        """Another policy is under the cursor."""

    def __init__(self) -> None:
        super().__init__()
        self._policies = Policies()

    def compose(self) -> ComposeResult:
        """Heads, rows, the card, and a sentence where there is nothing."""
        with Container(id="listed"):
            yield Static(_heads(), id="head")
            yield PolicyRows(id="policy-rows")
        with VerticalScroll(id="card"):
            yield Static(markup=False)
        yield Static(id="none", markup=False)

    @property
    def row(self) -> PolicyRow | None:
        """The policy under the cursor."""
        chosen = self.query_one(PolicyRows).chosen
        return next((row for row in self._policies.rows if row.name == chosen), None)

    def show(self, policies: Policies, decided_by: str, train: str) -> None:
        """Draw them.

        Args:
            policies: What there is.
            decided_by: Who decides while there is none, in words.
            train: The key of a training.
        """
        self._policies = policies
        self.set_class(not policies.rows, "-none")
        self.query_one("#none", Static).update(_NOTHING.format(train=train, by=decided_by))
        active = policies.active
        lines = [Line(row.name, lambda width, row=row: _line(row, width)) for row in policies.rows]  # type: ignore[misc]
        self.query_one(PolicyRows).show(lines, active.name if active else "")
        self._draw_card()

    def take_focus(self) -> None:
        """The keys go to the list, if there is one."""
        if self._policies.rows:
            self.query_one(PolicyRows).focus()

    def on_resize(self) -> None:
        """Fold the card anew."""
        self.call_after_refresh(self._draw_card)

    @on(OptionList.OptionHighlighted)
    def _moved(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        self.query_one("#card").scroll_home(animate=False)
        self._draw_card()
        self.post_message(self.Moved())

    def _draw_card(self) -> None:
        row = self.row
        card = self.query_one("#card Static", Static)
        width = max(self.query_one("#card").scrollable_content_region.width - 1, 40)
        card.update(Content("\n").join(_card(row, self._policies, width)) if row else "")


def _heads() -> Content:
    return Content(f"  {{:<24}}{'method':<{_METHOD}}{'gain':>{_GAINS}}  {'gate':<{_GATE}}".format("policy"))


def _line(row: PolicyRow, width: int) -> Content:
    """Name, method, gain, gate, and whether it is the active one."""
    room = min(width - _METHOD - _GAINS - 2 - _GATE - _ACTIVE, 24)
    gain = f"{row.gain[0]:+.3f}" if row.gain else "–"
    sign, style = GATE[row.said]
    return Content.assemble(
        (one_line(row.name, room - 1).ljust(room), "bold" if row.active else ""),
        (row.method.ljust(_METHOD), _QUIET),
        f"{gain:>{_GAINS}}  ",
        (sign.ljust(_GATE), style),
        ("● active" if row.active else "", "bold $primary"),
    )


def _card(row: PolicyRow, policies: Policies, width: int) -> list[Content]:
    sign, style = GATE[row.said]
    gain = [("gain", f"{difference(row.gain)} over the default schedule")] if row.gain else []
    gate = sign if row.said == "unusable" else f"{sign[0]} gate {sign[2:]}"
    lines = [
        Content.assemble(
            (clean(row.name), "bold $primary"),
            ("  ● active" if row.active else "", "bold"),
            ("  came with this version" if row.boxed else "", _QUIET),
        ),
        *facts([(gate, row.reason), *gain], width, len(gate) + 2),
    ]
    lines[1] = lines[1].stylize(style, 0, len(gate))
    lines.append(Content(""))
    for title, rows in row.sections:
        lines += titled(title, facts(rows, width))
    if row.active and policies.changes:
        lines += titled("How the active policy came to be", facts(policies.changes, width))
    return lines
