"""Settings that belong together: what a run may spend, and how the app looks."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from agent.budget import Budget

DESCRIBED = ConfigDict(extra="ignore", use_attribute_docstrings=True)
"""Every field says under it what it is for; `deepthink config` shows that."""

_DEFAULT_BUDGET = Budget()


class BudgetSettings(BaseModel):
    """What one run may spend."""

    model_config = DESCRIBED

    steps: int = Field(default=_DEFAULT_BUDGET.steps, ge=1, le=100)
    """Research steps, over all revisions of the plan."""

    revisions: int = Field(default=_DEFAULT_BUDGET.revisions, ge=0, le=100)
    """Times the plan may be revised."""

    tokens: int = Field(default=_DEFAULT_BUDGET.tokens, ge=1)
    """Tokens the model computes: prompt tokens evaluated and tokens generated."""

    seconds: float = Field(default=_DEFAULT_BUDGET.seconds, gt=0, allow_inf_nan=False)
    """Seconds until the last model call has to end."""


class AppSettings(BaseModel):
    """How the full-screen app looks, and its keys."""

    model_config = DESCRIBED

    theme: Literal["dark", "light", "contrast", "ansi"] = "dark"
    """The app's colours: dark, light, contrast (high), or ansi (the terminal's own)."""

    reduced_motion: bool = False
    """The app holds still: no animation, no smooth scrolling, no blinking cursor."""

    keys: str = ""
    """Remapped keys of the app, like "run.pause=f11, app.runs=alt+r"; the app's help names the actions."""

    @field_validator("keys")
    @classmethod
    def _known_actions(cls, value: str) -> str:
        if value:
            from tui.app.actions import keymap

            keymap(value)
        return value
