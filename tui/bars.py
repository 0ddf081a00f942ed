"""Bars of what takes long and can be counted: a description, the bar, how many of how many, a word more."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn


def bars(out: Console) -> Progress:
    """Bars that are gone when all is done; each task has a field ``said``, dim behind its count."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn("{task.fields[said]}", style="dim"),
        console=out,
        transient=True,
    )
