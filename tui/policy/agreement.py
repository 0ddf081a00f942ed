"""How often two sources of decisions agree, day by day: a plot, and the same in a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from tui.app.themes import PlotColour, plot_colour
from tui.decisions.strip import percent, source

if TYPE_CHECKING:
    from textual_plotext import PlotextPlot

    from traces.decisions import Agreement

MARKERS = ("●", "▲", "■", "◆", "✚", "○")  # they tell the lines apart where colours do not
_COLOURS = ("primary", "accent", "success", "secondary", "error", "foreground")
_LABELS = 4  # days named beneath the plot
_POINTS = 24  # at most, for each pair: more would be a cloud
_SPANS = ((1, "a point a day"), (7, "a point a week"), (28, "a point for four weeks"))
_NOTHING = """\
No two sources have judged the same state yet. With a second opinion, or with labels of yours, this shows
how often they agree, day by day."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two sources, and how often they agreed on each day on which both judged."""

    first: str
    second: str
    days: tuple[Agreement, ...]

    @property
    def compared(self) -> int:
        """Decisions that both judged."""
        return sum(day.compared for day in self.days)

    @property
    def share(self) -> float:
        """Of them, those in which they agreed."""
        return sum(day.agreed for day in self.days) / self.compared

    @property
    def name(self) -> str:
        """Both, in words."""
        return f"{source(self.first)} and {source(self.second)}"


def pairs(agreement: Sequence[Agreement]) -> list[Pair]:
    """The pairs, those that judged most together first."""
    found: dict[tuple[str, str], list[Agreement]] = {}
    for day in agreement:
        found.setdefault((day.first, day.second), []).append(day)
    listed = [Pair(first, second, tuple(days)) for (first, second), days in found.items()]
    return sorted(listed, key=lambda pair: (-pair.compared, pair.name))


def spans(listed: Sequence[Pair]) -> tuple[int, str]:
    """Days that are taken together for a point, and how that is said."""
    days = [day.day for pair in listed for day in pair.days]
    length = (max(days) - min(days)).days if days else 0
    return next((span for span in _SPANS if length < _POINTS * span[0]), _SPANS[-1])


def points(pair: Pair, first: date, together: int) -> tuple[list[int], list[float]]:
    """Days since ``first``, and percentages of agreement over as many days as are taken together."""
    counted: dict[int, tuple[int, int]] = {}
    for day in pair.days:
        at = (day.day - first).days // together * together
        agreed, compared = counted.get(at, (0, 0))
        counted[at] = agreed + day.agreed, compared + day.compared
    return list(counted), [100 * agreed / compared for agreed, compared in counted.values()]


class AgreementPlot(Vertical):
    """The plot above, the table beneath; a sentence instead of both while there is nothing to compare."""

    DEFAULT_CSS = """
    AgreementPlot { height: auto; }
    AgreementPlot PlotextPlot { height: 14; margin: 1 0 0 0; }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._pairs: list[Pair] = []

    def compose(self) -> ComposeResult:
        """The table; the plot is added with the first figures."""
        yield Static("Agreement", id="title", classes="title")
        yield Static(id="pairs")

    def on_mount(self) -> None:
        self.watch(self.app, "theme", self._draw, init=False)

    def show(self, agreement: Sequence[Agreement]) -> None:
        """Show other figures: `policy.decisions.gathered.Gathered.agreement`."""
        self._pairs = pairs(agreement)
        text = table(self._pairs) if self._pairs else Content.styled(_NOTHING, "$foreground 65%")
        self.query_one("#pairs", Static).update(text)
        title = f"Agreement, {spans(self._pairs)[1]}" if self._pairs else "Agreement"
        self.query_one("#title", Static).update(title)
        plots = self.query("PlotextPlot")
        if self._pairs and not plots:
            from textual_plotext import PlotextPlot

            plot = PlotextPlot()
            plot.theme = "textual-clear"  # the background and the words are the theme's of the app
            self.mount(plot, before="#pairs")
        for shown in plots:
            shown.display = bool(self._pairs)
        self.call_after_refresh(self._draw)

    def _draw(self) -> None:
        for plot in self.query("PlotextPlot").results():
            draw(plot, self._pairs, [plot_colour(self.app, name) for name in _COLOURS])  # type: ignore[arg-type]


def table(listed: Sequence[Pair]) -> Content:
    """Each pair with its marker in the plot, its agreement in all and on the last day."""
    lines = [Content.styled(f"  {'':<18}{'agree':>6}{'compared':>10}  last day", "$foreground 65%")]
    for marker, pair in zip(MARKERS, listed, strict=False):
        last = pair.days[-1]
        told = f"{percent(last.agreed / last.compared)} of {last.compared:,}, {_day(last.day)}"
        lines.append(
            Content(f"{marker} {pair.name:<18}{percent(pair.share):>6}{pair.compared:>10,}  {told}")
        )
    return Content("\n").join(lines)


def draw(plot: PlotextPlot, listed: Sequence[Pair], colours: Sequence[PlotColour]) -> None:
    """Draw the share of agreement over the days, a line for each pair."""
    plt = plot.plt
    plt.clear_data()
    days = sorted({day.day for pair in listed for day in pair.days})
    if not days:
        return
    together, _ = spans(listed)
    for marker, colour, pair in [*zip(MARKERS, colours, listed, strict=False)][::-1]:  # the first is on top
        across, up = points(pair, days[0], together)
        plt.plot(across, up, marker="braille", color=colour)
        plt.scatter(across, up, marker=marker, color=colour)
    plt.frame(False)
    plt.ylim(0, 100)
    plt.yticks([0, 25, 50, 75, 100], ["0%", "25%", "50%", "75%", "100%"])
    span = (days[-1] - days[0]).days
    if span:
        plt.xlim(0, span)
    named = sorted({days[round(n * (len(days) - 1) / (_LABELS - 1))] for n in range(_LABELS)})
    words = [f"{day:%b %Y}" if days[0].year != days[-1].year else _day(day) for day in named]
    plt.xticks([(day - days[0]).days for day in named], words)
    plot.refresh()


def _day(day: date) -> str:
    return f"{day.day} {day:%b}"
