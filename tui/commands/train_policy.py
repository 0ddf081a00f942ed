"""``deepthink train-policy``."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from tui.commands.options import Plain


def train_policy(
    method: Annotated[
        Literal["forest", "reward", "sft", "dpo"],
        typer.Option(
            "--method",
            help="forest (seconds), an encoder by rewards, a causal model by SFT or DPO.",
        ),
    ] = "reward",
    base: Annotated[
        str,
        typer.Option("--base", metavar="MODEL", help="What is adapted: a catalogue name, folder, GGUF."),
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
        str, typer.Option("--name", metavar="NAME", help="Of the policy; method and time if not given.")
    ] = "",
    epochs: Annotated[
        float | None, typer.Option("--epochs", min=0.01, help="Passes over the decisions.")
    ] = None,
    steps: Annotated[
        int | None, typer.Option("--steps", min=1, help="Optimiser steps, in place of passes.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Of everything that is drawn.")] = 0,
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
    becomes active only if it beats what is active now. Stopped or killed, the same command goes on.
    """
    from policy.manifest import BOX, is_name
    from policy.training.course import train
    from policy.training.request import TrainingRequest
    from traces.paths import store_file
    from traces.typed_path import expanded_path
    from tui.interrupts import ctrl_c
    from tui.training_view import show_training

    if name and not is_name(name):
        raise typer.BadParameter(
            f"a policy's name is of small letters, digits, dots and dashes, and not {BOX}."
        )
    if force and not activate:
        raise typer.BadParameter("--force and --no-activate contradict each other.")
    places = [store_file() if one == "traces" else expanded_path(one) for one in sources or []]
    request = TrainingRequest(
        method=method,
        sources=tuple(places),
        base=base,
        cost=cost,
        name=name,
        seed=seed,
        epochs=epochs,
        steps=steps or -1,
        activation="force" if force else "gate" if activate else "never",
    )
    with ctrl_c() as cancel:
        return show_training(train(request, cancel), plain=plain)
