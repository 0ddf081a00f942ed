"""Plots as inline SVG, for a page that needs nothing else.

Nothing is told by colour alone: a point has a shape and its name beside it, a stage of a bar a hatching and
its count. Colours come from the page's style sheet, which knows light and dark.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from policy.evaluation.bootstrap import Interval

WIDTH: Final = 720
HEIGHT: Final = 440
SHAPES: Final = ("circle", "square", "diamond", "triangle", "cross", "plus", "wedge")
HATCHES: Final = ("solid", "rising", "dots", "falling", "bars", "grid", "hollow")
"""One for each of `policy.systems.anatomy.STAGES`."""

_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 18, 14, 46
_LETTER, _LINE = 7.0, 13.0  # the room that a letter of a label takes in a wide font
_RADIUS = 5.0
_BAR, _GAP, _NAME = 20, 8, 190


@dataclass(frozen=True, slots=True)
class Point:
    """One system in a plot.

    Attributes:
        name: Written beside it.
        x: What it takes, from 0 on.
        y: What it gives.
        strong: Whether it is drawn as what the plot is about.
    """

    name: str
    x: Interval
    y: Interval
    strong: bool = False


@dataclass(frozen=True, slots=True)
class _Box:
    left: float
    top: float
    right: float
    bottom: float

    def overlap(self, other: _Box) -> float:
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.bottom, other.bottom) - max(self.top, other.top)
        return max(0.0, width) * max(0.0, height)


@dataclass(frozen=True, slots=True)
class _Axes:
    """From values to pixels: x by log(1 + x), so that nothing spent has its place too; y as it is."""

    x_low: float
    x_high: float
    y_low: float
    y_high: float

    def x(self, value: float) -> float:
        low, high = math.log1p(self.x_low), math.log1p(self.x_high)
        return _LEFT + (math.log1p(max(value, 0.0)) - low) / (high - low) * (WIDTH - _LEFT - _RIGHT)

    def y(self, value: float) -> float:
        share = (value - self.y_low) / (self.y_high - self.y_low)
        return HEIGHT - _BOTTOM - share * (HEIGHT - _TOP - _BOTTOM)


def scatter(points: Sequence[Point], x: str, y: str, title: str) -> str:
    """Points with intervals as whiskers, x on a logarithmic scale.

    Args:
        points: Those for which nothing is known are left out.
        x: Name of what they take.
        y: Name of what they give.
        title: Read out where the plot is not seen.

    Returns:
        An ``svg`` element; "" where there are no points.
    """
    known = [one for one in points if not math.isnan(one.x.estimate + one.y.estimate)]
    if not known:
        return ""
    axes = _axes(known)
    centres = [(axes.x(one.x.estimate), axes.y(one.y.estimate)) for one in known]
    labels = _labels([one.name for one in known], centres)
    lines = [_opening(WIDTH, HEIGHT, title), *_grid(axes, x, y)]
    lines += [line for one in known for line in _whiskers(one, axes)]
    for i, (one, (cx, cy), box) in enumerate(zip(known, centres, labels, strict=True)):
        strength = " strong" if one.strong else ""
        shape = SHAPES[0] if one.strong else SHAPES[i % len(SHAPES)]  # filled, unlike all others
        told = f"{one.name}: {x} {one.x.estimate:,.4g}, {y} {one.y.estimate:,.3g}"
        lines += [
            *_leader(cx, cy, box),
            f'<path class="point{strength}" d="{_shape(shape, cx, cy)}">'
            f"<title>{escape(told)}</title></path>",
            f'<text class="label{strength}" x="{box.left:.1f}" y="{box.bottom - 3:.1f}">'
            f"{escape(one.name)}</text>",
        ]
    return "\n".join([*lines, "</svg>"])


def stacked(bars: Mapping[str, Mapping[str, int]], stages: Sequence[str], title: str, prefix: str) -> str:
    """Counts by stage as one bar a system, all to the same scale.

    Args:
        bars: By system: counts by stage.
        stages: In the order in which they are drawn; each has a hatching of its own.
        title: Read out where the plot is not seen.
        prefix: Of the ids of the hatchings, which have to be unique on a page.

    Returns:
        An ``svg`` element; "" where nothing is counted.
    """
    longest = max((sum(counts.values()) for counts in bars.values()), default=0)
    if not longest:
        return ""
    scale = (WIDTH - _NAME - 50) / longest
    legend = _legend(stages, prefix)
    top = 16 + _LINE * 1.7 * (1 + max(row for _, row, _ in _legend_places(stages)))
    height = top + len(bars) * (_BAR + _GAP)
    lines = [_opening(WIDTH, height, title), *_patterns(stages, prefix), *legend]
    for i, (system, counts) in enumerate(bars.items()):
        y, x = top + i * (_BAR + _GAP), float(_NAME)
        lines.append(f'<text class="label end" x="{_NAME - 8}" y="{y + 14:.1f}">{escape(system)}</text>')
        for k, stage in enumerate(stages):
            width = counts.get(stage, 0) * scale
            if width:
                lines += _segment(system, stage, counts[stage], (x, y, width), f"{prefix}{k}")
                x += width
        lines.append(f'<text class="tick" x="{x + 6:.1f}" y="{y + 14:.1f}">{sum(counts.values())}</text>')
    return "\n".join([*lines, "</svg>"])


def _segment(
    system: str, stage: str, count: int, at: tuple[float, float, float], pattern: str
) -> Iterable[str]:
    x, y, width = at
    told = escape(f"{system}: {stage} {count}")
    yield (
        f'<rect class="segment" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{_BAR}" '
        f'fill="url(#{escape(pattern)})"><title>{told}</title></rect>'
    )
    plate = len(str(count)) * 7 + 6
    if width >= plate + 2:
        middle = x + width / 2
        yield (
            f'<rect class="plate" x="{middle - plate / 2:.1f}" y="{y + 3:.1f}" width="{plate}" '
            f'height="{_BAR - 6}" rx="2"/>'
        )
        yield f'<text class="count" x="{middle:.1f}" y="{y + 14:.1f}">{count}</text>'


def _opening(width: float, height: float, title: str) -> str:
    return (
        f'<svg viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="{escape(title)}" '
        'xmlns="http://www.w3.org/2000/svg">'
    )


def _axes(points: Sequence[Point]) -> _Axes:
    lows = [min(_known(one.x.low), one.x.estimate) for one in points]
    highs = [max(_known(one.x.high), one.x.estimate) for one in points]
    tops = [max(_known(one.y.high), one.y.estimate) for one in points]
    bottoms = [min(_known(one.y.low), one.y.estimate) for one in points]
    x_low = math.expm1(math.log1p(max(min(lows), 0.0)) * 0.97)
    x_high = max(math.expm1(math.log1p(max(highs)) * 1.04), x_low + 1)
    margin = max((max(tops) - min(bottoms)) * 0.06, 1.0)
    return _Axes(x_low, x_high, min(bottoms) - margin, max(tops) + margin)


def _known(value: float) -> float:
    return 0.0 if math.isnan(value) else value


def _grid(axes: _Axes, x: str, y: str) -> Iterable[str]:
    floor, right = HEIGHT - _BOTTOM, WIDTH - _RIGHT
    for value in _linear(axes.y_low, axes.y_high):
        at = axes.y(value)
        yield f'<line class="grid" x1="{_LEFT}" x2="{right}" y1="{at:.1f}" y2="{at:.1f}"/>'
        yield f'<text class="tick end" x="{_LEFT - 6}" y="{at + 4:.1f}">{value:g}</text>'
    for value in _logarithmic(axes):
        at = axes.x(value)
        yield f'<line class="grid" x1="{at:.1f}" x2="{at:.1f}" y1="{_TOP}" y2="{floor}"/>'
        yield f'<text class="tick middle" x="{at:.1f}" y="{floor + 16}">{value:,.0f}</text>'
    yield f'<path class="axis" d="M{_LEFT} {_TOP}V{floor}H{right}"/>'
    yield f'<text class="axis-name end" x="{right}" y="{HEIGHT - 8}">{escape(x)}</text>'
    turned = f"translate(14 {(_TOP + floor) / 2:.0f}) rotate(-90)"
    yield f'<text class="axis-name middle" transform="{turned}">{escape(y)}</text>'


def _linear(low: float, high: float) -> list[float]:
    """Round values, three to eight of them."""
    raw = (high - low) / 7
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * m for m in (1, 2, 5, 10) if power * m >= raw)
    return [i * step for i in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _logarithmic(axes: _Axes) -> list[float]:
    """1, 2, 5, 10, … with 0, as many as have room."""
    powers = range(8)
    values = [0.0, *(m * 10.0**power for power in powers for m in (1, 2, 5))]
    kept: list[float] = []
    for value in values:
        inside = axes.x_low <= value <= axes.x_high
        if inside and (not kept or axes.x(value) - axes.x(kept[-1]) >= 46):
            kept.append(value)
    return kept


def _whiskers(point: Point, axes: _Axes) -> Iterable[str]:
    x, y = axes.x(point.x.estimate), axes.y(point.y.estimate)
    strength = " strong" if point.strong else ""
    if not math.isnan(point.x.low + point.x.high):
        left, right = axes.x(point.x.low), axes.x(point.x.high)
        yield f'<path class="whisker{strength}" d="M{left:.1f} {y:.1f}H{right:.1f}"/>'
    if not math.isnan(point.y.low + point.y.high):
        low, high = axes.y(point.y.low), axes.y(point.y.high)
        yield f'<path class="whisker{strength}" d="M{x:.1f} {low:.1f}V{high:.1f}"/>'


def _labels(names: Sequence[str], centres: Sequence[tuple[float, float]]) -> list[_Box]:
    """A place for each name that covers as little as can be of points and of other names; greedy."""
    placed: list[_Box] = []
    for i, (name, (x, y)) in enumerate(zip(names, centres, strict=True)):
        width = len(name) * _LETTER
        # Beside another system's point a name would be taken for its own.
        marks = [_Box(a - 13, b - 13, a + 13, b + 13) for k, (a, b) in enumerate(centres) if k != i]
        best = min(
            _candidates(x, y, width),
            key=lambda at: (
                sum(at[1].overlap(other) for other in placed) * 4
                + sum(at[1].overlap(mark) for mark in marks) * 2
                + at[0]
            ),
        )
        placed.append(best[1])
    return placed


def _candidates(x: float, y: float, width: float) -> Iterable[tuple[float, _Box]]:
    """Boxes about a point that lie inside the plot, each with how much farther off it is, in pixels."""
    for distance in (9.0, 20.0, 32.0, 46.0, 62.0, 80.0, 100.0):
        for degrees in (0, 180, 45, 315, 135, 225, 90, 270):
            across, up = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
            edge, middle = x + across * distance, y - up * distance
            left = edge - width * (0.0 if across > 0.1 else (1.0 if across < -0.1 else 0.5))
            box = _Box(left, middle - _LINE / 2, left + width, middle + _LINE / 2)
            inside = box.left > _LEFT and box.right < WIDTH - 4
            if inside and box.top > 2 and box.bottom < HEIGHT - _BOTTOM:
                yield distance, box
    left = min(max(x + 9, _LEFT), WIDTH - 4 - width)
    yield 1e6, _Box(left, y - _LINE / 2, left + width, y + _LINE / 2)


def _leader(x: float, y: float, box: _Box) -> Iterable[str]:
    """A line from a point to a name that stands away from it."""
    to_x, to_y = min(max(x, box.left), box.right), min(max(y, box.top + 2), box.bottom - 2)
    if math.hypot(to_x - x, to_y - y) > 14:
        yield f'<path class="leader" d="M{x:.1f} {y:.1f}L{to_x:.1f} {to_y:.1f}"/>'


def _shape(shape: str, x: float, y: float) -> str:
    r = _RADIUS
    outlines = {
        "circle": f"m{-r} 0a{r} {r} 0 1 0 {2 * r} 0a{r} {r} 0 1 0 {-2 * r} 0z",
        "square": f"m{-r} {-r}h{2 * r}v{2 * r}h{-2 * r}z",
        "diamond": f"m0 {-r - 1}l{r + 1} {r + 1}l{-r - 1} {r + 1}l{-r - 1} {-r - 1}z",
        "triangle": f"m0 {-r - 1}l{r + 1} {2 * r}h{-2 * r - 2}z",
        "cross": f"m{-r} {-r}l{2 * r} {2 * r}m0 {-2 * r}l{-2 * r} {2 * r}",
        "plus": f"m{-r - 1} 0h{2 * r + 2}m{-r - 1} {-r - 1}v{2 * r + 2}",
        "wedge": f"m{-r - 1} {-r + 1}h{2 * r + 2}l{-r - 1} {2 * r}z",
    }
    return f"M{x:.1f} {y:.1f}{outlines[shape]}"


def _legend_places(stages: Sequence[str]) -> list[tuple[float, int, str]]:
    """Where each stage is named: x, line, name."""
    places, x, line = [], 8.0, 0
    for stage in stages:
        width = 30 + len(stage) * _LETTER + 14
        if x + width > WIDTH:
            x, line = 8.0, line + 1
        places.append((x, line, stage))
        x += width
    return places


def _legend(stages: Sequence[str], prefix: str) -> list[str]:
    lines = []
    for k, (x, line, stage) in enumerate(_legend_places(stages)):
        y = 4 + line * _LINE * 1.7
        lines += [
            f'<rect class="segment" x="{x:.1f}" y="{y:.1f}" width="24" height="14" '
            f'fill="url(#{escape(prefix)}{k})"/>',
            f'<text class="label" x="{x + 30:.1f}" y="{y + 11:.1f}">{escape(stage)}</text>',
        ]
    return lines


def _patterns(stages: Sequence[str], prefix: str) -> Iterable[str]:
    inside = {
        "solid": "",
        "rising": '<path class="hatch" d="M-2 2L2 -2M0 8L8 0M6 10L10 6"/>',
        "dots": '<circle class="dot" cx="4" cy="4" r="1.7"/>',
        "falling": '<path class="hatch" d="M-2 6L2 10M0 0L8 8M6 -2L10 2"/>',
        "bars": '<path class="hatch" d="M4 0V8"/>',
        "grid": '<path class="hatch" d="M4 0V8M0 4H8"/>',
        "hollow": "",
    }
    yield "<defs>"
    for k in range(len(stages)):
        hatch = HATCHES[k % len(HATCHES)]
        yield (
            f'<pattern id="{escape(prefix)}{k}" width="8" height="8" patternUnits="userSpaceOnUse">'
            f'<rect class="stage{k % len(HATCHES)}" width="8" height="8"/>{inside[hatch]}</pattern>'
        )
    yield "</defs>"
