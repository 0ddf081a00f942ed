"""``deepthink policy``, ``train-policy``, ``collect`` and ``evaluate``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.table import Table
from rich.text import Text
from typer.core import TyperGroup

from agent.decisions.sources import LEARNED
from agent.profiles import decides
from policy.serving.card import sections
from policy.serving.folder import CARD, read, require_base
from policy.serving.manifest import BOX, is_name
from policy.serving.registry import Activation, Registry
from traces.paths import expanded_path, store_file
from tui import completion
from tui.failures import DONE, warn
from tui.options import AsJson, Plain, Yes, confirm
from tui.settings.settings import load
from tui.terminal import cells, clean, columns, console, moment, one_line, print_json

app = typer.Typer(
    help="See and choose learned policies.", invoke_without_command=True, rich_markup_mode=None
)


def _policy_name(help_text: str) -> Any:
    return typer.Argument(metavar="NAME", help=help_text, autocompletion=completion.policies)


@app.callback()
def policy(context: typer.Context, as_json: AsJson = False) -> None:
    """See and choose learned policies; without a command: list them.

    A policy decides after each research step whether to go on, revise the plan or answer. The one in the
    box is active until another is chosen; `deepthink train-policy` makes new ones from your own runs.
    """
    if not context.invoked_subcommand:
        list_policies(as_json=as_json)


@app.command("list")
def list_policies(as_json: AsJson = False) -> None:
    """List policies: the active one, their data, the gate's verdict."""
    registry = Registry()
    policies = registry.listed()
    if as_json:
        print_json(policies)
        return
    out = console()
    _warn_if_damaged(registry)
    if not policies:
        out.print(_NONE)
        return
    table = columns("", "policy", "method", "made", "learned from", "gate", whole=("policy", "made"))
    for policy in policies:
        facts: tuple[object, ...] = (
            "",
            "",
            "",
            Text(f"cannot be used: {clean(policy.problem)}", style="red"),
        )
        if manifest := policy.manifest:
            learned_from = f"{manifest.data.questions:,} questions, {manifest.data.decisions:,} decisions"
            gate = "in the box" if policy.boxed else policy.verdict
            facts = (manifest.method, moment(manifest.created), learned_from, gate)
        table.add_row(*cells("●" if policy.active else "", policy.name, *facts))
    out.print(table)
    _report_decider(registry)


@app.command("show")
def show(
    name: Annotated[str, _policy_name("The active one if none is named.")] = "",
    card: Annotated[bool, typer.Option("--card", help="The model card, as Markdown.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show one policy: its data, its measures, the gate's verdict."""
    registry = Registry()
    _warn_if_damaged(registry)
    folder = registry.find(name) if name else registry.active().folder
    if folder is None:
        console().print(_NONE)
        return
    manifest = read(folder)
    if card:
        sys.stdout.write((folder / CARD).read_text(encoding="utf-8"))
        return
    require_base(manifest)
    if as_json:
        sys.stdout.write(manifest.model_dump_json(indent=2) + "\n")
        return
    out = console()
    title = Text(manifest.name, style="bold")
    title.append(f"  {_status(registry, folder)}", style="not bold")
    out.print(title)
    gate = manifest.gate
    verdict = f"{'passed' if gate.passed else 'not passed'}: {gate.reason}" if gate else "not asked"
    for heading, facts in (("", [("gate", verdict), ("folder", str(folder))]), *sections(manifest)):
        if heading:
            out.print(Text(f"\n{heading}", style="bold"))
        table = Table.grid(padding=(0, 2))
        table.add_column(no_wrap=True)
        table.add_column(overflow="fold")
        for fact, value in facts:
            table.add_row(Text(f"  {clean(fact)}", style="dim"), Text(clean(value)))
        out.print(table)


@app.command("use")
def use(
    name: Annotated[str, _policy_name("Its name, the beginning of it, or box for the shipped one.")],
    force: Annotated[
        bool, typer.Option("--force", help="Even if the gate did not pass it; that is recorded.")
    ] = False,
) -> None:
    """Make a policy the active one, from the next question on.

    Only one that the gate passed, unless --force is given: its rule was fixed before the policy was
    measured, and `policy show` shows both.
    """
    registry = Registry()
    _report_active(registry, registry.use(name, force=force))


@app.command("rollback")
def rollback() -> None:
    """Go back to the policy that was active before."""
    registry = Registry()
    _report_active(registry, registry.rollback())


@app.command("history")
def history(as_json: AsJson = False) -> None:
    """List when each policy became active, and why."""
    registry = Registry()
    _warn_if_damaged(registry)
    entries = registry.history()
    if as_json:
        print_json(entries)
        return
    if not entries:
        console().print("No policy was chosen yet: the one in the box is active.")
        return
    table = columns("when", "policy", "how", "why", whole=("when", "policy"))
    for entry in entries:
        how = f"{entry.how}, forced" if entry.forced else entry.how
        table.add_row(*cells(moment(entry.at), entry.name, how, one_line(entry.reason, 200)))
    console().print(table)


@app.command("remove")
def remove(name: Annotated[str, _policy_name("Its whole name.")], yes: Yes = False) -> None:
    """Delete a policy of your own; the active one and the box stay."""
    registry = Registry()
    registry.removable(name)  # before asking for confirmation
    confirm(f"Delete the policy {name}?", yes)
    registry.remove(name)
    typer.echo(f"Deleted the policy {name}.")


def train_policy(
    method: Annotated[
        Literal["forest", "reward"],
        typer.Option(
            "--method", help="forest (seconds), or an encoder that also reads the text of a state."
        ),
    ] = "reward",
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
    becomes active only if it beats what is active now. Stopped or killed, the same command resumes it.
    """
    from policy.training.course import train
    from policy.training.request import TrainingRequest
    from tui.interrupts import ctrl_c
    from tui.policy.training import show_training

    if name and not is_name(name):
        raise typer.BadParameter(
            f"a policy's name has only small letters, digits, dots and dashes, and is not {BOX}."
        )
    if force and not activate:
        raise typer.BadParameter("--force and --no-activate contradict each other.")
    places = [store_file() if source == "traces" else expanded_path(source) for source in sources or []]
    request = TrainingRequest(
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
        bool, typer.Option("--answers", help="Answer at every state, a model call each.")
    ] = False,
    collections: Annotated[
        list[str] | None, typer.Option("--collection", "-c", metavar="NAME", help="Where to look.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, metavar="N", help="The first N by a fixed shuffle.")
    ] = None,
    epsilon: Annotated[
        float, typer.Option("--epsilon", min=0.0, max=1.0, help="Share of exploration.")
    ] = 0.1,
    seed: Annotated[int, typer.Option("--seed", help="Random seed of shuffle and exploration.")] = 0,
) -> int:
    """Gather decisions to learn a policy from.

    Questions are worked through to the full horizon. What was collected is kept: the same command resumes
    where it was stopped.
    """
    from tui.policy.collecting import collect_own

    return collect_own(questions, collections or [], answers, limit, epsilon, seed)


class _RunByDefault(TyperGroup):
    """Runs an evaluation if the first argument is a set of questions, not a command."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Insert `run` before the name of a set."""
        if args and args[0] not in {*self.commands, "-h", "--help"}:
            args = ["run", *args]
        return super().parse_args(ctx, args)


evaluate_app = typer.Typer(
    help="Compare systems on questions with known answers.",
    cls=_RunByDefault,
    invoke_without_command=True,
    rich_markup_mode=None,
)
_Work = Annotated[
    Path | None,
    typer.Option(
        "--work", metavar="DIR", help="Keeps rows, answers and libraries; the same folder continues them."
    ),
]
_Out = Annotated[Path | None, typer.Option("--out", metavar="FILE.md", help="The tables, as Markdown.")]


@evaluate_app.callback()
def evaluate(context: typer.Context) -> None:
    """Compare whole systems on questions with known answers.

    Begin with `deepthink evaluate sample`. A finished question is kept: the same command continues.
    """
    if not context.invoked_subcommand:
        typer.echo(context.get_help())


@evaluate_app.command("run")
def run(
    sets: Annotated[
        list[str],
        typer.Argument(
            metavar="SET",
            help="JSON lines of question, answer and evidence about your own library; a folder with "
            "documents in docs and questions.jsonl, or of such folders; or sample, the sample library's "
            "questions.",
        ),
    ],
    systems: Annotated[
        str,
        typer.Option(
            "--systems", metavar="A,B", help="closed-book, shallow, search-and-answer, …; all if left out."
        ),
    ] = "",
    models: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            "-m",
            metavar="NAME",
            help="As in ask; from the settings if left out; may be repeated.",
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option("--limit", min=1, metavar="N", help="The first N of each set by a fixed shuffle."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Random seed of the order of questions.")] = 0,
    work: _Work = None,
    out: _Out = None,
) -> int:
    """Ask every system every question, and print the tables.

    A finished question is a row on disk: stopped or killed, the same command continues.
    """
    from tui.policy.evaluating import EvaluationRequest, run_evaluation

    names = tuple(" ".join(name.split()) for name in systems.split(",") if name.strip())
    return run_evaluation(EvaluationRequest(sets, names, models or (), limit, seed, work, out))


@evaluate_app.command("report")
def report(work: _Work = None, out: _Out = None) -> int:
    """Print the tables again, without asking questions."""
    from tui.policy.evaluating import show_tables, tables_file, work_folder

    show_tables(work_folder(work), "deepthink evaluate report", tables_file(out))
    return DONE


@evaluate_app.command("show")
def show_evaluation(
    question: Annotated[str, typer.Argument(metavar="ID", help="Id of the question, or its beginning.")],
    work: _Work = None,
    as_json: AsJson = False,
) -> int:
    """Show one question: every answer, and what it took."""
    from tui.policy.evaluating import show_question

    return show_question(question, work, as_json=as_json)


_NONE = (
    "There is no learned policy, not even in the box: the rules decide. Train one: deepthink train-policy"
)


def _status(registry: Registry, folder: Path) -> str:
    boxed = "in the box" if any(p.boxed and p.folder == folder for p in registry.listed()) else "your own"
    if registry.active().folder != folder:
        return f"{boxed}, not active"
    since = next((entry for entry in registry.history() if entry.name in {folder.name, BOX}), None)
    if since is None:
        return f"{boxed}, active"
    return f"{boxed}, active since {moment(since.at)}{', forced' if since.forced else ''}"


def _report_active(registry: Registry, activation: Activation) -> None:
    name = "The policy in the box" if activation.name == BOX else activation.name
    forced = " It was forced, and that is recorded." if activation.forced else ""
    typer.echo(f"{name} is active now.{forced}")
    _report_decider(registry)


def _report_decider(registry: Registry) -> None:
    """Say if no policy is active, and warn if the settings let something else decide."""
    settings = load()
    if registry.active().folder is None:
        typer.echo("None is active: the rules decide.")
        return
    decider = settings.decider or decides(settings.profile, learned=True)
    if decider != LEARNED:
        setting = f"decider = {decider}" if settings.decider else f"profile = {settings.profile}"
        warn(
            f"The setting {setting} lets {decider} decide: "
            "`deepthink config set decider learned` changes that."
        )


def _warn_if_damaged(registry: Registry) -> None:
    if damage := registry.active().warning:
        warn(damage)
