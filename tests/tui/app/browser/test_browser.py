"""The app is served, opened in a browser, and asked a question there."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.tui.app.browser.chromium import EXECUTABLE, chromium
from tui.ask.prompt import PLACEHOLDER

pytestmark = [
    pytest.mark.model,
    pytest.mark.skipif(
        EXECUTABLE is None and not os.environ.get("CI"),
        reason="Chromium is not installed (Debian: apt-get install chromium)",
    ),
]
_PATIENCE = 80.0  # seconds for the model to load and to answer; reached only where something hangs


async def test_a_question_is_answered_in_a_browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "note.md").write_text(
        "# Bearings\n\n2 June 2025\n\nOrlavane buys all of its ceramic bearings from Tolvang Ceramics.",
        encoding="utf-8",
    )
    monkeypatch.setenv("DEEPTHINK_MODEL", "qwen2.5-coder-0.5b")
    ingest = [sys.executable, "-m", "tui", "ingest", str(tmp_path / "note.md"), "-c", "notes"]
    read = await asyncio.to_thread(subprocess.run, ingest, capture_output=True, text=True)
    assert read.returncode == 0, read.stderr

    server = subprocess.Popen(
        [sys.executable, "-m", "tui.app.main", "--serve", "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stdout is not None
        address = server.stdout.readline().split()[-1]
        async with chromium(tmp_path / "profile") as page:
            await page.open(address)
            await page.shows(lambda screen: PLACEHOLDER[:30] in screen, _PATIENCE)
            await page.type("Who makes the ceramic bearings of Orlavane?")  # without a click before
            await page.shows(lambda screen: "ceramic bearings of Orlavane?" in screen, _PATIENCE)
            await page.enter()
            shown = ("Who makes the ceramic bearings", "Tolvang", "[1]", " sentence")
            await page.shows(lambda screen: all(words in screen for words in shown), _PATIENCE)
            assert not page.problems
            assert page.hosts == {urlsplit(address).netloc}
    finally:
        server.send_signal(signal.SIGINT)
        rest, told = await asyncio.to_thread(server.communicate, timeout=60)
    assert (server.returncode, told) == (0, ""), rest
