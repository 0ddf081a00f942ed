"""A training on the command line: data, progress, held-out measures and verdict."""

from __future__ import annotations

import math
from collections.abc import Iterable

from rich.console import Console
from rich.text import Text

from policy.serving.manifest import Gate
from policy.training import progress
from tui import failures
from tui.bars import bar
from tui.terminal import cells, clean, columns, console, duration


def show_training(events: Iterable[progress.TrainingEvent], *, plain: bool = False) -> int:
    """Show a training until it ends; returns the exit code."""
    out = console()
    phase = ""
    with bar(out, plain=plain) as progress_bar:
        for event in events:
            match event:
                case progress.Began():
                    phase = clean(event.message)
                    progress_bar.show(phase)
                case progress.Trained():
                    progress_bar.show(phase, event.step, event.steps, _step_note(event))
                case progress.HeldOut():
                    out.print(Text(_held_out_line(event)))
                case progress.DataSheet():
                    progress_bar.clear()
                    _show_sheet(out, event)
                case progress.Warned():
                    progress_bar.clear()
                    failures.warn(clean(event.message))
                case Gate():
                    progress_bar.clear()
                    _show_verdict(out, event)
                case progress.Finished():
                    progress_bar.clear()
                    _show_result(out, event)
    return failures.DONE


def _step_note(event: progress.Trained) -> str:
    parts = [] if math.isnan(event.loss) else [f"loss {event.loss:.3f}"]
    if not math.isnan(event.seconds_left) and event.step < event.steps:
        parts.append(f"about {duration(event.seconds_left)} left")
    return ", ".join(parts)


def _held_out_line(event: progress.HeldOut) -> str:
    return (
        f"  held-out questions after step {event.step}: value {event.utility:.3f} with {event.steps:.2f} "
        f"steps, default schedule {event.default:.3f}"
    )


def _show_sheet(out: Console, event: progress.DataSheet) -> None:
    table = columns("learned from", "")
    for name, figures in event.rows.items():
        table.add_row(*cells(name, figures))
    out.print()
    out.print(table)
    out.print()


def _show_verdict(out: Console, event: Gate) -> None:
    out.print()
    passed = Text("The gate: passed. " if event.passed else "The gate: not passed. ", style="bold")
    out.print(passed + Text(clean(event.reason), style="not bold"))


def _show_result(out: Console, event: progress.Finished) -> None:
    name = clean(event.name)
    out.print(Text(f"{name} is in {event.folder}"))
    if event.active:
        out.print(Text("It is active now; `deepthink policy rollback` goes back to the previous one."))
    else:
        out.print(Text(f"It is not active. `deepthink policy show {name}` shows more."))
