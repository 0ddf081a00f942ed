"""``deepthink train-policy`` and ``train-planner``: data, progress, held-out measures and verdict."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Annotated, Literal

import typer
from rich.text import Text

from policy.serving.folder import BOX, Gate, is_name
from policy.training import course, planner, progress
from traces.paths import expanded_path, store_file
from tui import failures
from tui.bars import bar
from tui.interrupts import ctrl_c
from tui.options import Plain
from tui.terminal import clean, console, duration, table


def train_policy(
    method: Annotated[
        Literal["forest", "reward"],
        typer.Option(
            "--method", help="forest (seconds), or an encoder that also reads the text of a state."
        ),
    ] = course.DEFAULT,
    base: Annotated[
        str,
        typer.Option("--base", metavar="MODEL", help="The model to adapt: a catalogue name or a folder."),
    ] = "",
    sources: Annotated[
        list[str] | None,
        typer.Option(
            "--from",
            metavar="traces|FILE",
            help="Your own traces (the default), collected stores, exports; can be given several times.",
        ),
    ] = None,
    cost: Annotated[
        float, typer.Option("--cost", min=0.0, max=1.0, help="What a step costs, in quality.")
    ] = 0.05,
    name: Annotated[
        str, typer.Option("--name", metavar="NAME", help="Name of the policy; by default method and time.")
    ] = "",
    epochs: Annotated[
        float | None, typer.Option("--epochs", min=0.01, help="Passes over the decisions.")
    ] = None,
    steps: Annotated[
        int | None, typer.Option("--steps", min=1, help="Optimiser steps, in place of passes.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Random seed.")] = 0,
    activate: Annotated[
        bool, typer.Option("--activate/--no-activate", help="Make it active if the gate passes it.")
    ] = True,
    force: Annotated[
        bool, typer.Option("--force", help="Make it active whatever the gate says; that is recorded.")
    ] = False,
    plain: Plain = False,
) -> int:
    """Train a policy that decides when to go on, revise or finish.

    It learns from your own runs or from collected questions, is judged on questions it has not seen, and
    becomes active only if it beats what is active now. If the training of an encoder is stopped or killed,
    the same command resumes it.
    """
    if name and not is_name(name):
        raise typer.BadParameter(
            f"a policy's name has only small letters, digits, dots and dashes, and is not {BOX}."
        )
    if force and not activate:
        raise typer.BadParameter("--force and --no-activate contradict each other.")
    places = [store_file() if source == "traces" else expanded_path(source) for source in sources or []]
    request = course.TrainingRequest(
        method=method,
        sources=tuple(places),
        base=base,
        cost=cost,
        name=name,
        seed=seed,
        epochs=epochs,
        steps=steps,
        activation="force" if force else "gate" if activate else "never",
    )
    with ctrl_c() as cancel:
        return show_training(partial(course.train, request, cancel=cancel), plain=plain)


def train_planner(
    force: Annotated[bool, typer.Option("--force", help="Use it whatever the gate says.")] = False,
    drop: Annotated[
        bool, typer.Option("--drop", help="Remove your own planner: the built-in one plans again.")
    ] = False,
    plain: Plain = False,
) -> int:
    """Train the planner on the plans that you have corrected.

    `deepthink runs plan` corrects a plan, and so does the app. The built-in planner is trained on with
    them, and used only if it then plans more held-out questions as you want. Stopped or killed, the same
    command resumes it.
    """
    if drop:
        had_one = planner.drop()
        typer.echo("The built-in planner plans again." if had_one else "You have no planner of your own.")
        return failures.DONE
    with ctrl_c() as cancel:
        train = partial(planner.train, planner.PlannerRequest(force=force), cancel=cancel)
        return show_training(train, _planner_status, plain=plain)


def _policy_status(event: progress.Finished) -> str:
    if event.active:
        return "It is active now; `deepthink policy rollback` goes back to the previous one."
    return f"It is not active. `deepthink policy show {clean(event.name)}` shows more."


def _planner_status(event: progress.Finished) -> str:
    if event.active:
        return "It plans from the next question on; `deepthink train-planner --drop` takes it out again."
    return "It is not used. `deepthink train-planner --force` uses it all the same."


def show_training(
    train: Callable[[progress.Emit], None],
    status: Callable[[progress.Finished], str] = _policy_status,
    *,
    plain: bool = False,
) -> int:
    """Train and show it; returns the exit code. ``status`` words what became of the result."""
    out = console()
    phase = ""
    with bar(out, plain=plain) as progress_bar:

        def show(event: progress.TrainingEvent) -> None:
            nonlocal phase
            if not isinstance(event, progress.Began | progress.Trained | progress.HeldOut):
                progress_bar.clear()
            match event:
                case progress.Began():
                    phase = clean(event.message)
                    progress_bar.show(phase)
                case progress.Trained():
                    notes = [] if math.isnan(event.loss) else [f"loss {event.loss:.3f}"]
                    if not math.isnan(event.seconds_left) and event.step < event.steps:
                        notes.append(f"about {duration(event.seconds_left)} left")
                    progress_bar.show(phase, event.step, event.steps, ", ".join(notes))
                case progress.HeldOut():
                    line = (
                        f"  held-out questions after step {event.step}: value {event.utility:.3f} with "
                        f"{event.steps:.2f} steps, default schedule {event.default:.3f}"
                    )
                    out.print(Text(line))
                case progress.DataSheet():
                    out.print("", table(("learned from", ""), event.rows.items()), "", sep="\n")
                case progress.Warned():
                    failures.warn(clean(event.message))
                case Gate():
                    passed = f"The gate: {'passed' if event.passed else 'not passed'}. "
                    reason = Text(clean(event.reason), style="not bold")
                    out.print("", Text(passed, style="bold") + reason, sep="\n")
                case progress.Finished():
                    place = Text(f"{clean(event.name)} is in {event.folder}")
                    out.print(place, Text(status(event)), sep="\n")

        train(show)
    return failures.DONE
