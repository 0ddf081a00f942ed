"""How a training goes: the loss, and what the policy is worth on held-out questions, over the steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Static

from tui.app.widgets.plot_colours import PlotColour, plot_colour

if TYPE_CHECKING:
    from textual_plotext import PlotextPlot

    from policy.training.progress import HeldOut
    from tui.app.training_fold import TrainingFold

LEARNED, DEFAULT = "●", "╌"  # they tell the lines apart where colours do not
_LONG = 52  # cells of the longer title
_POINTS = 160  # of the loss, at most: braille has two a cell


class TrainingPlots(Horizontal):
    """Both plots side by side, each as soon as there is something in it."""

    DEFAULT_CSS = """
    TrainingPlots { height: auto; display: none; }
    TrainingPlots Vertical { height: auto; width: 1fr; display: none; }
    TrainingPlots #loss.-shown { padding-right: 2; }
    TrainingPlots.-shown, TrainingPlots Vertical.-shown { display: block; }
    TrainingPlots Static { height: 1; text-wrap: nowrap; text-overflow: ellipsis; }
    TrainingPlots PlotextPlot { height: 9; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._fold: TrainingFold | None = None

    def compose(self) -> ComposeResult:
        """A title each; the plots are added with the first figures."""
        for which in ("loss", "value"):
            with Vertical(id=which):
                yield Static()

    def on_mount(self) -> None:
        """Lines are drawn in the colours of the theme."""
        self.watch(self.app, "theme", self._draw, init=False)

    def show(self, fold: TrainingFold) -> None:
        """Draw what is known by now."""
        self._fold = fold
        there = {"loss": bool(fold.losses), "value": bool(fold.held_out)}
        self.set_class(any(there.values()), "-shown")
        for which, shown in there.items():
            box = self.query_one(f"#{which}")
            box.set_class(shown, "-shown")
            if shown and not box.query("PlotextPlot"):
                from textual_plotext import PlotextPlot

                plot = PlotextPlot()
                plot.theme = "textual-clear"  # the background and the words are the theme's of the app
                box.mount(plot)
        self._draw()

    def on_resize(self) -> None:
        """Titles are as long as there is room."""
        self.call_after_refresh(self._draw)

    def _draw(self) -> None:
        fold = self._fold
        if fold is None:
            return
        primary, quiet = (plot_colour(self.app, name) for name in ("primary", "foreground"))
        if fold.losses:
            step, loss = fold.losses[-1]
            told = Content.assemble(("Loss", "bold"), f"  {loss:.3f} at step {step:,}")
            self.query_one("#loss Static", Static).update(told)
            for plot in self.query("#loss PlotextPlot").results():
                draw_loss(plot, fold.losses, fold.steps, primary)  # type: ignore[arg-type]
        if fold.held_out:
            title = self.query_one("#value Static", Static)
            title.update(_held_out(fold.held_out[-1], short=title.size.width < _LONG))
            for plot in self.query("#value PlotextPlot").results():
                draw_value(plot, fold.held_out, fold.steps, primary, quiet)  # type: ignore[arg-type]


def _held_out(last: HeldOut, *, short: bool) -> Content:
    return Content.assemble(
        ("Held out" if short else "Held-out utility", "bold"),
        (f"  {LEARNED} ", "$primary"),
        f"{'' if short else 'learned '}{last.utility:.3f}",
        (f"  {DEFAULT} default {last.default:.3f}", "$foreground 65%"),
    )


def thinned(points: Sequence[tuple[int, float]], most: int = _POINTS) -> list[tuple[float, float]]:
    """At most ``most`` points: means of neighbours, so that a trend is seen and not every batch."""
    together = -(-len(points) // most)
    groups = [points[at : at + together] for at in range(0, len(points), together or 1)]
    return [(sum(x for x, _ in g) / len(g), sum(y for _, y in g) / len(g)) for g in groups]


def draw_loss(
    plot: PlotextPlot, losses: Sequence[tuple[int, float]], steps: int, colour: PlotColour
) -> None:
    """Draw the loss over the steps."""
    points = thinned(losses)
    plot.plt.clear_data()
    plot.plt.plot([x for x, _ in points], [y for _, y in points], marker="braille", color=colour)
    _axes(plot, [y for _, y in points], steps)


def draw_value(
    plot: PlotextPlot, held_out: Sequence[HeldOut], steps: int, learned: PlotColour, default: PlotColour
) -> None:
    """Draw the utility of the policy as it stands, and the default schedule's beneath or above it."""
    plt = plot.plt
    plt.clear_data()
    across, up = [look.step for look in held_out], [look.utility for look in held_out]
    level = held_out[-1].default
    last = max(steps, *across)
    plt.plot([0, last], [level, level], marker=DEFAULT, color=default)
    plt.plot(across, up, marker="braille", color=learned)
    plt.scatter(across, up, marker=LEARNED, color=learned)
    _axes(plot, [*up, level], last)


def _axes(plot: PlotextPlot, values: Sequence[float], steps: int) -> None:
    plt = plot.plt
    low, high = min(values), max(values)
    room = max((high - low) * 0.1, 0.005)
    low, high = low - room, high + room
    ticks = [low + (high - low) * at / 4 for at in (0, 2, 4)]
    plt.frame(False)
    plt.ylim(low, high)
    plt.yticks(ticks, [f"{tick:.2f}" if high - low > 0.2 else f"{tick:.3f}" for tick in ticks])
    last = max(steps, 1)
    plt.xlim(0, last)
    marks = sorted({0, last // 2, last})
    plt.xticks([float(mark) for mark in marks], [f"{mark:,}" for mark in marks])
    plot.refresh()
