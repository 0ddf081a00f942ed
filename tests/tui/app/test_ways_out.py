"""What an error advises inside the app: screens and keys, no shell."""

from __future__ import annotations

import pytest

from agent.run import EmptyLibrary
from models.protocols import ModelMissing
from traces.errors import DeepthinkError
from traces.store import StoreError
from tui.app.failure import in_the_app
from tui.assemble import NoModelYet
from tui.library.actions import WebOff
from tui.settings.settings import BadSetting


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (
            NoModelYet(
                "None.", "Choose one:\n  deepthink models pull   the default\n  deepthink models use X"
            ),
            "Fetch one in F7 Models; a file or an Ollama model can be chosen there too.",
        ),
        (
            ModelMissing("It is not here.", "Fetch it: `deepthink models pull all-minilm-l6-v2`."),
            "Fetch it in F7 Models, or choose another one there.",
        ),
        (ModelMissing("It is no embedder.", "Choose bge-small."), "Choose bge-small."),
        (
            EmptyLibrary("Nothing.", "Add some: `deepthink ingest PATH`, or try `deepthink demo`."),
            "Add documents in F3 Library, or read the samples there.",
        ),
        (WebOff("It is off.", "For good: `deepthink config set web true`."), "Turn on web in F8 Settings."),
        (
            BadSetting("Wrong.", "Correct it there, or `deepthink config unset budget.steps`."),
            "Correct it there.",
        ),
        (
            StoreError("Broken.", "Move it away; `deepthink doctor` checks it."),
            "Move it away; F9 Doctor checks it.",
        ),
        (
            DeepthinkError("Away.", "Name another engine: `deepthink config set web_search URL`."),
            "Name another engine: web_search in F8 Settings.",
        ),
        (DeepthinkError("Empty.", 'Ask something, for example: deepthink ask "Who …?"'), "Ask something."),
        (
            DeepthinkError("Long.", "Put it into a file, `deepthink ingest` it, and ask about it."),
            "Put it into a file, read it in F3 Library, and ask about it.",
        ),
        (DeepthinkError("Gone.", "`deepthink sessions` lists them."), "F10 Sessions lists them."),
        (
            DeepthinkError("Old.", "Train a new one: `deepthink train-policy`."),
            "Train a new one: F6 Policy.",
        ),
        (DeepthinkError("None.", "`deepthink traces list` shows the ids."), "F5 Decisions shows the ids."),
        (DeepthinkError("Odd."), ""),
    ],
)
def test_it_names_what_the_app_has(error: DeepthinkError, told: str) -> None:
    assert in_the_app(error, {}) == told


def test_it_names_the_keys_as_they_are_mapped() -> None:
    error = ModelMissing("It is not here.", "Fetch it: `deepthink models pull x`.")
    assert in_the_app(error, {"app.models": "f12"}).startswith("Fetch it in F12 Models")
