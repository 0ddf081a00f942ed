"""Loading other models after the settings changed, without taking the one away that a run is using."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.app.steering import Steers
from tui.app.work import in_background

if TYPE_CHECKING:
    from tui.app.app import DeepthinkApp


def a_run_goes_on(app: DeepthinkApp) -> bool:
    """Whether a language model is at work for a run in this app."""
    try:
        screens = app.get_screen_stack("ask")
    except KeyError:
        return False
    return any(isinstance(screen, Steers) and screen.live is not None for screen in screens)


def load_anew(app: DeepthinkApp) -> bool:
    """Load what the settings name now; False while a run goes on: then the next question loads it."""
    if a_run_goes_on(app):
        return False
    in_background(app, app.engine.prepare, group="prepare")
    return True
