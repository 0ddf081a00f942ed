"""Fetching models and showing progress."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from rich.console import Console
from rich.text import Text

from models.catalogue import ModelEntry
from models.fetch.files import ChecksumMismatch, PullProgress
from models.fetch.pull import checked, pull, shared_sources
from tui.bars import Bar, bar
from tui.interrupts import ctrl_c
from tui.terminal import clean, console, size

PHASES = {
    "waiting": "another process is fetching it",
    "fetching": "fetching",
    "checking": "checking the sha256",
    "done": "in place",
}


def pull_models(entries: Sequence[ModelEntry], *, recheck: bool = False) -> None:
    """Fetch each of ``entries`` that is missing or not the published file; report those already here.

    Raises what `models.fetch.pull.pull` raises; Ctrl-C keeps what was fetched and raises `PullCancelled`.
    """
    out = console()
    with ctrl_c() as cancel, shared_sources() as sources, bar(out, in_bytes=True) as display:
        for entry in entries:
            with suppress(ChecksumMismatch):  # then it is fetched, as if it were missing
                if not recheck and checked(entry, cancel=cancel) is not None:
                    out.print(f"{entry.name} is already here.")
                    continue
            show_progress = partial(_show_progress, out, display)
            pull(entry, progress=show_progress, cancel=cancel, recheck=recheck, sources=sources)
            display.clear()
            out.print(f"{entry.name}: {size(entry.size)} in place, sha256 as the catalogue lists it.")


def _show_progress(out: Console, display: Bar, progress: PullProgress) -> None:
    if progress.given_up:
        out.print(Text(f"{progress.model}: {clean(progress.given_up)}", style="dim"))
    source = f"from {progress.source}" if progress.phase == "fetching" and progress.source else ""
    total = None if progress.phase == "waiting" else progress.total
    display.show(f"{progress.model}: {PHASES[progress.phase]}", progress.done, total, source)
