"""The doctor in the app: rows as they are found, the sum of them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.worker import get_current_worker

from models.protocols import ModelMissing
from tests.tui.conftest import Picture, looks
from tests.tui.seen import text_of, toasts
from tests.tui.waiting import until
from traces.paths import config_file
from tui.app.app import Appearance, DeepthinkApp
from tui.doctor.findings import Finding

pytestmark = pytest.mark.usefixtures("bare")

FOUND = [
    Finding("Python", "ok", "3.11.9 on Linux x86_64"),
    Finding("packages", "ok", "all 33 are installed"),
    Finding("settings", "ok", "all defaults, no file"),
    Finding("disk space", "warn", "1.2 GB free", "Models take about 2.0 GB; free some."),
    Finding(
        "language model",
        "fail",
        "qwen2.5-coder-1.5b (1.1 GB) is not on this machine, and neither is any other model that could "
        "answer in its place.",
        "Choose one:\n  deepthink models pull   the default (1.1 GB) and embedder\n  "
        "deepthink models use PATH.gguf   any GGUF file on this machine",
    ),
    Finding("library", "ok", "12 documents in 2 collections, 3 MB, schema 5", "Add documents: F3."),
    Finding("Ollama", "unknown", "nothing answers at http://127.0.0.1:11434; it is not needed"),
]


class _Doctor:
    """Finds what it is told to find, and waits in the middle as long as it is held."""

    def __init__(self) -> None:
        self.found = list(FOUND)
        self.go = threading.Event()
        self.go.set()
        self.asked = 0
        self.terminal = ""

    def findings(self, terminal: str = "") -> Iterator[Finding]:
        self.asked += 1
        yield from self.found[:3]
        while not self.go.wait(0.01):
            if get_current_worker().is_cancelled:
                return
        yield from self.found[3:]
        yield Finding("terminal", "ok", self.terminal or terminal)


@pytest.fixture
def doctor(monkeypatch: pytest.MonkeyPatch) -> _Doctor:
    """Nothing of this machine is looked at."""
    made = _Doctor()
    monkeypatch.setattr("tui.doctor.findings.findings", made.findings)
    return made


def _lines(app: DeepthinkApp) -> list[str]:
    return text_of(app.screen, "Findings Static").splitlines()


async def test_findings_appear_as_they_are_made(doctor: _Doctor, app: DeepthinkApp) -> None:
    doctor.go.clear()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("f9")
        await until(pilot, lambda: text_of(app.screen, "#sum") == "… checking: 3 done")
        assert len(_lines(app)) == 3
        await pilot.press("r")  # not while it examines
        doctor.go.set()
        await until(pilot, lambda: "✗ 1 thing keeps deepthink from" in text_of(app.screen, "#sum"))
        assert doctor.asked == 1
        lines = _lines(app)
        assert "".join("".join(lines).split()).count("anyothermodelthatcouldanswer") == 1
        assert all(len(line) <= 78 for line in lines)
        assert lines[-1].split("terminal")[1].strip().startswith("80 columns, ")
        for number, summary in ((3, "✓ All good"), (4, "! It works; 1 could be better")):
            doctor.found = FOUND[:number]
            await pilot.press("r")
            await until(pilot, lambda: text_of(app.screen, "#sum") == summary)  # noqa: B023 - at once
        missing = ModelMissing("It is not here.", "Fetch it: `deepthink models pull it`.")
        doctor.found = [
            Finding("embedder", "fail", missing.message, missing.way_out, missing),
            Finding("planner", "warn", "not here", "Fetch it: `deepthink models pull planner`."),
        ]
        await pilot.press("r")
        await until(pilot, lambda: "✗ 1 thing" in text_of(app.screen, "#sum"))
        found = " ".join(" ".join(_lines(app)).split())
        assert "→ Fetch it in F7 Models, or choose another one there. !" in found
        assert "→ Fetch it: F7 Models." in found


async def test_it_checks_anew_whenever_it_is_shown_again(doctor: _Doctor, app: DeepthinkApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        for number, summary in ((3, "✓ All good"), (4, "! It works; 1 could be better")):
            doctor.found = FOUND[:number]
            await pilot.press("f2", "f9")
            await until(pilot, lambda: text_of(app.screen, "#sum") == summary)  # noqa: B023 - at once
        await pilot.press("f1", "escape")
        await pilot.pause()
        assert doctor.asked == 2, "not after a window over it"


async def test_with_mended_settings_the_head_no_longer_says_that_they_are_broken(doctor: _Doctor) -> None:
    config_file().parent.mkdir(parents=True)
    config_file().write_text("context_tokens = 3\nno_such = 1\n")
    app = DeepthinkApp(look=Appearance(reduced_motion=True))
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: app.engine_states.get("settings", ("",))[0] == "missing")
        told = [toast for toast in toasts(app) if "no_such" in toast]
        assert len(told) == 1, "once, although the settings are read for each part"
        assert "model" not in app.engine_states, "nobody looks for a model without settings"
        doctor.found = [Finding("settings", "fail", "context_tokens has to be at least 1024")]
        await pilot.press("f9")
        await until(pilot, lambda: "✗ 1 thing" in text_of(app.screen, "#sum"))
        assert text_of(app.screen, "#engine") == "✗ settings"
        config_file().unlink()
        doctor.found = FOUND[:3]
        await pilot.press("r")
        await until(pilot, lambda: text_of(app.screen, "#engine") == "✓ scripted")
        assert text_of(app.screen, "#sum") == "✓ All good"


@looks("120x40-light")
def test_the_doctor(doctor: _Doctor, picture: Picture) -> None:
    async def show(pilot: Pilot[Any]) -> None:
        await pilot.press("f9")
        await until(pilot, lambda: "✗" in text_of(pilot.app.screen, "#sum"))

    doctor.terminal = "as wide as it is"
    picture(show)
