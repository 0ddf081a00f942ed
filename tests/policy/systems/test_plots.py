"""Plots are well-formed, hold every name, and escape what they are given."""

from __future__ import annotations

import math
import re
from xml.etree import ElementTree as ET

import pytest

from policy.evaluation.bootstrap import NOTHING, Interval
from policy.systems.anatomy import STAGES
from policy.systems.plots import HATCHES, HEIGHT, WIDTH, Point, scatter, stacked

_SVG = "{http://www.w3.org/2000/svg}"


def _point(name: str, x: float, y: float, *, strong: bool = False) -> Point:
    return Point(name, Interval(x, x * 0.8, x * 1.2), Interval(y, y - 5, y + 5), strong)


def _texts(svg: str) -> list[str]:
    return [text.text or "" for text in ET.fromstring(svg).iter(f"{_SVG}text")]


def _centres(svg: str) -> list[tuple[float, float]]:
    found = re.findall(r'class="point[^"]*" d="M([\d.]+) ([\d.]+)', svg)
    return [(float(x), float(y)) for x, y in found]


def test_every_point_has_its_name_its_shape_and_its_whiskers() -> None:
    svg = scatter([_point("shallow", 9, 30), _point("lean learned", 40, 45, strong=True)], "s", "F1", "t")
    assert {"shallow", "lean learned", "s", "F1"} <= set(_texts(svg))
    assert svg.count('class="point"') == 1
    assert svg.count('class="point strong"') == 1
    assert svg.count('class="whisker') == 4


def test_more_is_to_the_right_and_up_and_inside() -> None:
    svg = scatter([_point("a", 0, 10), _point("b", 50, 40), _point("c", 9000, 70)], "x", "y", "t")
    centres = _centres(svg)
    assert [x for x, _ in centres] == sorted(x for x, _ in centres)
    assert [y for _, y in centres] == sorted((y for _, y in centres), reverse=True)
    assert all(0 < x < WIDTH and 0 < y < HEIGHT for x, y in centres)


def test_names_of_points_that_lie_close_together_do_not_cover_each_other() -> None:
    svg = scatter([_point(f"system {i}", 40 + i / 10, 50 + i / 10) for i in range(8)], "x", "y", "t")
    labels = [
        (float(one.attrib["x"]), float(one.attrib["y"]))
        for one in ET.fromstring(svg).iter(f"{_SVG}text")
        if (one.text or "").startswith("system")
    ]
    assert len(labels) == 8
    for i, (x, y) in enumerate(labels):
        assert all(abs(x - a) > 50 or abs(y - b) > 10 for a, b in labels[:i])


def test_what_is_not_known_is_not_drawn() -> None:
    assert scatter([Point("a", NOTHING, Interval(1, 0, 2))], "x", "y", "t") == ""
    assert scatter([], "x", "y", "t") == ""
    bare = Point("a", Interval(3, math.nan, math.nan), Interval(50, 40, 60))
    svg = scatter([bare], "x", "y", "t")
    assert "nan" not in svg
    assert svg.count('class="whisker"') == 1


@pytest.mark.parametrize("value", [0.0, 1.0, 250_000.0])
def test_one_point_alone_has_axes(value: float) -> None:
    nowhere = Interval(value, value, value)
    ET.fromstring(scatter([Point("a", nowhere, Interval(0, 0, 0))], "x", "y", "t"))


def test_bars_are_as_long_as_what_is_counted() -> None:
    svg = stacked({"a": {"plan": 10, "reading": 30}, "b": {"plan": 20}}, STAGES, "t", "p")
    found = re.findall(r'height="20" fill="url\(#p(\d)\)"', svg)
    assert found == [str(STAGES.index("plan")), str(STAGES.index("reading")), str(STAGES.index("plan"))]
    widths = [float(one) for one in re.findall(r'width="([\d.]+)" height="20"', svg)]
    assert widths[1] == pytest.approx(3 * widths[0], abs=0.2)
    assert widths[2] == pytest.approx(2 * widths[0], abs=0.2)
    assert {"a", "b", "40", *STAGES} <= set(_texts(svg))
    assert "<title>a: reading 30</title>" in svg


def test_every_stage_has_a_hatching_of_its_own() -> None:
    assert len(set(HATCHES)) == len(HATCHES) == len(STAGES)


def test_nothing_lost_is_no_plot() -> None:
    assert stacked({"a": dict.fromkeys(STAGES, 0)}, STAGES, "t", "p") == ""
    assert stacked({}, STAGES, "t", "p") == ""


def test_names_are_escaped() -> None:
    name = '<script>"&'
    assert name in _texts(scatter([_point(name, 1, 1)], name, name, name))
    assert name in _texts(stacked({name: {"plan": 1}}, STAGES, name, "p"))
