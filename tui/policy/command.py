"""``deepthink policy``, ``train-policy``, ``collect`` and ``evaluate``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer
from typer.core import TyperGroup

from tui.options import AsJson, Plain

app = typer.Typer(
    help="See, choose and compare learned policies.", invoke_without_command=True, rich_markup_mode=None
)
_Name = Annotated[
    str, typer.Argument(metavar="NAME", help="Its name, the beginning of it, or box for the shipped one.")
]


@app.callback()
def policy(context: typer.Context, as_json: AsJson = False) -> None:
    """See, choose and compare learned policies; without a command: list them.

    A policy decides after each research step whether to go on, revise the plan or answer. The one in the
    box is active until another is chosen; `deepthink train-policy` makes new ones from your own runs.
    """
    if not context.invoked_subcommand:
        list_policies(as_json=as_json)


@app.command("list")
def list_policies(as_json: AsJson = False) -> None:
    """List policies: the active one, their data, the gate's verdict."""
    from tui.policy.tables import show_list

    show_list(as_json=as_json)


@app.command("show")
def show(
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="The active one if none is named.")] = "",
    card: Annotated[bool, typer.Option("--card", help="The model card, as Markdown.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show one policy: its data, its measures, the gate's verdict."""
    from tui.policy.tables import show as show_one
    from tui.policy.tables import show_card

    if card:
        show_card(name)
    else:
        show_one(name, as_json=as_json)


@app.command("use")
def use(
    name: _Name,
    force: Annotated[
        bool, typer.Option("--force", help="Even if the gate did not pass it; that is recorded.")
    ] = False,
) -> None:
    """Make a policy the active one, from the next question on.

    Only one that the gate has passed, unless --force is given: its rule was stated before the policy was
    measured, and `policy show` tells both.
    """
    from tui.policy.tables import use as activate

    activate(name, force=force)


@app.command("rollback")
def rollback() -> None:
    """Go back to the policy that was active before."""
    from tui.policy.tables import rollback as go_back

    go_back()


@app.command("history")
def history(as_json: AsJson = False) -> None:
    """List when which policy became active, and why."""
    from tui.policy.tables import show_history

    show_history(as_json=as_json)


@app.command("compare")
def compare(
    first: Annotated[str, typer.Argument(metavar="A", help="A policy.")],
    second: Annotated[
        str, typer.Argument(metavar="[B]", help="Another one; the active one if none is named.")
    ] = "",
    sources: Annotated[
        list[str] | None,
        typer.Option(
            "--from",
            metavar="traces|FILE",
            help="Your own traces (the default), collected stores, exports; can be given several times.",
        ),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="All questions: for data that neither was trained on.")
    ] = False,
) -> None:
    """Compare two policies on the same held-out questions.

    Quality, steps and utility of each with the default schedule beside them, the differences with their 95%
    intervals, and how often both decide alike. Your own runs hold one path each: what a policy would have
    done differently is known only where it stops earlier.
    """
    from tui.policy.tables import show_comparison

    files = [Path(source) for source in sources or [] if source != "traces"]
    show_comparison(first, second, files, own="traces" in (sources or ["traces"]), everything=everything)


@app.command("export")
def export(
    name: _Name,
    to: Annotated[
        Path, typer.Option("--to", metavar="FOLDER", help="Where the files go; made if it is not there.")
    ] = Path(),
) -> None:
    """Write one that is a language model as GGUF, with a Modelfile."""
    from tui.policy.tables import export as write_down

    write_down(name, to)


@app.command("remove")
def remove(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its whole name.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Delete a policy of your own; the active one and the box stay."""
    from tui.policy.tables import remove as remove_policy

    remove_policy(name, ask=not yes)


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
    from tui.policy.training import show_training

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


def collect(
    questions: Annotated[
        Path,
        typer.Option(
            "--questions",
            metavar="FILE",
            help='About your own library, a JSON object a line: {"question": …, "answer": …}.',
        ),
    ],
    answers: Annotated[
        bool,
        typer.Option("--answers", help="Answer at every state, a model call each."),
    ] = False,
    collections: Annotated[
        list[str] | None,
        typer.Option("--collection", "-c", metavar="NAME", help="Where to look."),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, metavar="N", help="The first N by a fixed shuffle.")
    ] = None,
    epsilon: Annotated[
        float, typer.Option("--epsilon", min=0.0, max=1.0, help="Share of exploration.")
    ] = 0.1,
    seed: Annotated[int, typer.Option("--seed", help="Of shuffle and exploration.")] = 0,
) -> int:
    """Gather decisions to learn a policy from.

    Questions are worked through to the full horizon. What was collected is kept: the same command goes on
    where it was stopped.
    """
    from tui.policy.collecting import collect_own

    return collect_own(questions, collections or [], answers, limit, epsilon, seed)


class _Asking(TyperGroup):
    """What is not the name of a command is a set of questions, and asked."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Put the command's name before a set's."""
        if args and args[0] not in {*self.commands, "-h", "--help"}:
            args = ["run", *args]
        return super().parse_args(ctx, args)


evaluate_app = typer.Typer(
    help="Compare systems on questions with known answers.",
    cls=_Asking,
    invoke_without_command=True,
    rich_markup_mode=None,
)
_Work = Annotated[
    Path | None,
    typer.Option(
        "--work", metavar="DIR", help="Keeps rows, answers and libraries; the same one goes on with them."
    ),
]
_Systems = Annotated[
    str,
    typer.Option(
        "--systems", metavar="A,B", help="closed-book, shallow, search-and-answer, …; all if left out."
    ),
]


def _named(systems: str) -> tuple[str, ...]:
    return tuple(" ".join(name.split()) for name in systems.split(",") if name.strip())


@evaluate_app.callback()
def evaluate(context: typer.Context) -> None:
    """Hold whole systems against each other on questions whose answers are known.

    Begin with `deepthink evaluate sample`. A finished question is kept: the same command goes on.
    """
    if not context.invoked_subcommand:
        typer.echo(context.get_help())


@evaluate_app.command("run")
def run(
    sets: Annotated[
        list[str],
        typer.Argument(
            metavar="SET",
            help="Files of HotpotQA, 2WikiMultihopQA, MuSiQue or FinanceBench; JSON lines of question, "
            "answer and evidence about your own library; a folder with documents in docs and "
            "questions.jsonl, or of such folders; or sample, the sample library's questions.",
        ),
    ],
    systems: _Systems = "",
    models: Annotated[
        list[str] | None,
        typer.Option(
            "--model", "-m", metavar="NAME", help="As in ask; the settings' if left out; may be repeated."
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option("--limit", min=1, metavar="N", help="The first N of each set by a fixed shuffle."),
    ] = None,
    few: Annotated[
        list[str] | None,
        typer.Option("--few", metavar="SYSTEM=N", help="A slow system, asked N questions of each set."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Of the order of the questions.")] = 0,
    work: _Work = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE.md", help="The tables; JSON goes beside them."),
    ] = None,
) -> int:
    """Ask every system every question, and print the tables.

    A finished question is a row on disk: stopped or killed, the same command goes on.
    """
    from tui.policy.evaluating import Wanted, run_evaluation

    fewer: dict[str, int] = {}
    for pair in few or []:
        system, _, number = pair.rpartition("=")
        if not system or not number.isdecimal() or int(number) < 1:
            raise typer.BadParameter(f"--few {pair}: name a system and a number, as in seed=20.")
        fewer[system] = int(number)
    named = _named(systems)
    return run_evaluation(Wanted(tuple(sets), named, tuple(models or ()), limit, fewer, seed, work, out))


@evaluate_app.command("report")
def report(
    work: _Work = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE.md", help="The tables; JSON goes beside them."),
    ] = None,
) -> int:
    """Print the tables again, without asking anything."""
    from tui.policy.evaluating import show_report

    return show_report(work, out)


@evaluate_app.command("show")
def show_evaluation(
    question: Annotated[str, typer.Argument(metavar="ID", help="Of the question, or how it begins.")],
    work: _Work = None,
    as_json: AsJson = False,
) -> int:
    """Show one question: every answer, and what it took."""
    from tui.policy.evaluating import show_question

    return show_question(question, work, as_json=as_json)
