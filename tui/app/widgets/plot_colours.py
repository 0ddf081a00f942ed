"""The theme's colours as a plot takes them."""

from __future__ import annotations

from typing import Any

from textual.app import App
from textual.color import Color, ColorParseError

PlotColour = tuple[int, int, int] | str


def plot_colour(app: App[Any], name: str) -> PlotColour:
    """A variable of the theme; the terminal's own colour where that has no number, as in the ansi theme."""
    try:
        colour = Color.parse(app.theme_variables[name])
    except ColorParseError:
        return "default"
    return "default" if colour.ansi is not None else colour.rgb
