"""The themes: dark, light, high contrast, and the terminal's own colours."""

from __future__ import annotations

from typing import Final

from textual.theme import Theme

DARK: Final = Theme(
    name="dark",
    primary="#7aa2f7",
    secondary="#a386dc",
    accent="#e0af68",
    warning="#e0af68",
    error="#f7768e",
    success="#9ece6a",
    foreground="#c8d0e8",
    background="#16171f",
    surface="#1c1e29",
    panel="#252836",
    dark=True,
)
LIGHT: Final = Theme(
    name="light",
    primary="#2f5bb7",
    secondary="#7a4bb0",
    accent="#8a5a00",
    warning="#8a5a00",
    error="#b3253f",
    success="#3a6b1f",
    foreground="#22242e",
    background="#fbfbfd",
    surface="#f1f2f7",
    panel="#e4e6ef",
    dark=False,
    variables={"text-disabled": "auto 55%"},  # of what to type; less is too faint on this background
)
CONTRAST: Final = Theme(
    name="contrast",
    primary="#ffffff",
    secondary="#00ffff",
    accent="#ffff00",
    warning="#ffff00",
    error="#ff8080",
    success="#80ff80",
    foreground="#ffffff",
    background="#000000",
    surface="#000000",
    panel="#1a1a1a",
    dark=True,
    variables={"border": "#ffffff", "border-blurred": "#ffffff", "footer-key-foreground": "#ffff00"},
)

OURS: Final = (DARK, LIGHT, CONTRAST)
TEXTUAL: Final = {"dark": "dark", "light": "light", "contrast": "contrast", "ansi": "ansi-dark"}
"""The name in the settings to Textual's."""
