"""The themes: what is written on them can be read, and the settings know them all."""

from __future__ import annotations

from itertools import product
from typing import get_args

import pytest
from textual.color import Color
from textual.theme import BUILTIN_THEMES, Theme

from tui.app.themes import CONTRAST, OURS, TEXTUAL
from tui.settings.settings import AppSettings

_INKS = ("foreground", "primary", "secondary", "accent", "warning", "error", "success")
_READABLE = 4.5  # WCAG 2.1, contrast of text at level AA: https://www.w3.org/TR/WCAG21/#contrast-minimum
_HIGH = 7.0  # level AAA


def _luminance(colour: str) -> float:
    """Relative luminance as WCAG 2.1 defines it."""
    parts = [part / 255 for part in Color.parse(colour).rgb]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrast(one: str, other: str) -> float:
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", OURS, ids=lambda theme: theme.name)
def test_everything_can_be_read_on_it(theme: Theme) -> None:
    least = _HIGH if theme is CONTRAST else _READABLE
    for ink, paper in product(_INKS, ("background", "surface", "panel")):
        assert _contrast(getattr(theme, ink), getattr(theme, paper)) >= least, (ink, paper)


def test_the_settings_and_textual_know_the_same_themes() -> None:
    assert set(get_args(AppSettings.model_fields["theme"].annotation)) == set(TEXTUAL)
    assert set(TEXTUAL.values()) <= {theme.name for theme in OURS} | set(BUILTIN_THEMES)
