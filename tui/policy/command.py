"""``deepthink policy``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from agent.decisions.sources import LEARNED
from agent.profiles import decides
from policy.serving.card import Facts, sections
from policy.serving.folder import BOX, read, require_base
from policy.serving.registry import Activation, Listed, Registry
from tui import completion
from tui.failures import warn
from tui.options import AsJson, Yes, confirm, is_alone
from tui.policy.actions import CHANGES, change_facts
from tui.settings.settings import load
from tui.terminal import clean, console, moment, print_json, table

app = typer.Typer(invoke_without_command=True)


def _policy_name(help_text: str) -> Any:
    return typer.Argument(metavar="NAME", help=help_text, autocompletion=completion.policies)


@app.callback()
def policy(context: typer.Context, as_json: AsJson = False) -> None:
    """See and choose learned policies.

    Without a command, it lists them. A policy decides after each research step whether to go on, revise
    the plan or answer. The rules do that until a policy is chosen; `deepthink train-policy` makes new ones
    from your own runs.
    """
    if is_alone(context, json=as_json):
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
    headers = ("", "policy", "method", "made", "learned from", "gate")
    out.print(table(headers, map(_row, policies), whole=("policy", "made")))
    _report_decider(registry)


@app.command("show")
def show(
    name: Annotated[str, _policy_name("The active one if none is named.")] = "",
    as_json: AsJson = False,
) -> None:
    """Show one policy: its data, its measures, the gate's verdict.

    Of the active one also how it came to be.
    """
    registry = Registry()
    _warn_if_damaged(registry)
    folder = registry.find(name) if name else registry.active().folder
    if folder is None:
        console().print(_NONE)
        return
    manifest = read(folder)
    require_base(manifest)
    if as_json:
        sys.stdout.write(manifest.model_dump_json(indent=2) + "\n")
        return
    out = console()
    title = Text(manifest.name, style="bold")
    title.append(f"  {_status(registry, folder)}", style="not bold")
    out.print(title)
    gate = manifest.gate
    verdict = f"{gate.verdict}: {gate.reason}" if gate else "not asked"
    parts: list[tuple[str, Facts]] = [
        ("", (("gate", verdict), ("folder", str(folder)))),
        *sections(manifest, moment(manifest.created)),
    ]
    if registry.active().folder == folder:
        parts.append((CHANGES, tuple(change_facts(registry))))
    for heading, facts in (part for part in parts if part[1]):
        if heading:
            out.print(Text(f"\n{heading}", style="bold"))
        grid = Table.grid(padding=(0, 2))
        grid.add_column(no_wrap=True)
        grid.add_column(overflow="fold")
        for fact, value in facts:
            grid.add_row(Text(f"  {clean(fact)}", style="dim"), Text(clean(value)))
        out.print(grid)


@app.command("use")
def use(
    name: Annotated[
        str, _policy_name("Its name, the beginning of it, or box for what decides by default.")
    ],
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


@app.command("remove")
def remove(name: Annotated[str, _policy_name("Its whole name.")], yes: Yes = False) -> None:
    """Delete a policy of your own that is not active."""
    registry = Registry()
    registry.removable(name)  # before asking for confirmation
    confirm(f"Delete the policy {name}?", yes)
    registry.remove(name)
    typer.echo(f"Deleted the policy {name}.")


_NONE = (
    "No learned policy is active: the rules decide. `deepthink policy list` shows which there are, and "
    "`deepthink train-policy` makes one."
)


def _row(policy: Listed) -> tuple[object, ...]:
    name = ("●" if policy.active else "", policy.name)
    if (manifest := policy.manifest) is None:
        return *name, "", "", "", Text(f"cannot be used: {clean(policy.problem)}", style="red")
    learned_from = f"{manifest.data.questions:,} questions, {manifest.data.decisions:,} decisions"
    gate = f"{policy.verdict}, built in" if policy.boxed else policy.verdict
    return *name, manifest.method, moment(manifest.created), learned_from, gate


def _status(registry: Registry, folder: Path) -> str:
    boxed = "built in" if any(p.boxed and p.folder == folder for p in registry.listed()) else "your own"
    if registry.active().folder != folder:
        return f"{boxed}, not active"
    since = next((entry for entry in registry.history() if entry.name in {folder.name, BOX}), None)
    if since is None:
        return f"{boxed}, active"
    return f"{boxed}, active since {moment(since.at)}{', forced' if since.forced else ''}"


def _report_active(registry: Registry, activation: Activation) -> None:
    name = "The built-in policy" if activation.name == BOX else activation.name
    forced = " It was forced, and that is recorded." if activation.forced else ""
    if registry.active().folder is not None:
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
