"""Learned policies: listed, shown, chosen, compared, exported."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.table import Table
from rich.text import Text

from agent.decisions.learned import LEARNED
from agent.profiles import decides
from policy.card import in_words, method_in_words
from policy.folder import CARD, Manifest, check_base, open_policy, read
from policy.manifest import BOX
from policy.registry import Activation, Listed, Registry, base_of
from traces.typed_path import expanded_path
from tui.failures import WrongUsage, warn
from tui.settings.settings import load
from tui.terminal import cells, clean, columns, console, one_line, print_json

if TYPE_CHECKING:
    from policy.comparing import Comparison
    from policy.gate import Opponent

_NONE = (
    "There is no learned policy, not even in the box: the rules decide. Train one: deepthink train-policy"
)
_CAUSAL = frozenset({"sft", "dpo"})


def show_list(*, as_json: bool = False) -> None:
    """One line per policy, the box's first, the active one marked."""
    registry = Registry()
    found = registry.listed()
    if as_json:
        print_json(found)
        return
    out = console()
    _tell_damage(registry)
    if not found:
        out.print(_NONE)
        return
    table = columns("", "policy", "method", "made", "learned from", "gate", whole=("policy", "made"))
    for policy in found:
        table.add_row(*cells("●" if policy.active else "", policy.name, *_columns(policy)))
    out.print(table)
    _tell_who_decides(registry)


def show(wanted: str, *, as_json: bool = False) -> None:
    """One policy: where it stands, what it was made from, what was measured, what the gate said.

    Raises:
        UnknownPolicy: it is not there.
        BadPolicy: it cannot be used.
    """
    registry = Registry()
    _tell_damage(registry)
    folder = _wanted(registry, wanted)
    if folder is None:
        console().print(_NONE)
        return
    manifest = read(folder)
    check_base(manifest, base_of(manifest))
    if as_json:
        sys.stdout.write(manifest.model_dump_json(indent=2) + "\n")
        return
    out = console()
    title = Text(manifest.name, style="bold")
    title.append(f"  {_standing(registry, folder)}", style="not bold")
    out.print(title)
    out.print(_pairs(dict(_facts(manifest, folder))))
    for heading, values in (("settings", manifest.settings), ("held-out questions", manifest.metrics)):
        if values:
            out.print(Text(f"\n{heading}", style="bold"))
            out.print(_pairs(_flat(values)))
    out.print(Text("\ngate", style="bold"))
    out.print(_pairs(dict(_gate(manifest))))


def show_card(wanted: str) -> None:
    """The model card as it is. Raises as `show`."""
    folder = _wanted(Registry(), wanted)
    if folder is None:
        console().print(_NONE)
        return
    read(folder)
    sys.stdout.write((folder / CARD).read_text(encoding="utf-8"))


def show_history(*, as_json: bool = False) -> None:
    """When which policy became active, the latest first."""
    registry = Registry()
    _tell_damage(registry)
    found = registry.history()
    if as_json:
        print_json(found)
        return
    if not found:
        console().print("No policy was chosen yet: the one in the box is active.")
        return
    table = columns("when", "policy", "how", "why", whole=("when", "policy"))
    for entry in found:
        how = f"{entry.how}, forced" if entry.forced else entry.how
        table.add_row(*cells(_when(entry.at), entry.name, how, one_line(entry.reason, 200)))
    console().print(table)


def use(wanted: str, *, force: bool) -> None:
    """Make a policy the active one. Raises what `Registry.use` raises; the active one stays as it is."""
    registry = Registry()
    done = registry.use(wanted, force=force)
    _told(done)
    _tell_who_decides(registry)


def rollback() -> None:
    """Go back to the policy that was active before. Raises what `Registry.rollback` raises."""
    registry = Registry()
    _told(registry.rollback())
    _tell_who_decides(registry)


def remove(name: str, *, ask: bool) -> None:
    """Delete a policy, having asked if ``ask``.

    Raises:
        UnknownPolicy: it is not there, or it is active or in the box.
        WrongUsage: nobody is there to be asked.
    """
    registry = Registry()
    registry.removable(name)  # before a yes is asked for
    if ask:
        if not sys.stdin.isatty():
            raise WrongUsage(f"Deleting the policy {name} needs a yes.", "Add --yes.")
        typer.confirm(f"Delete the policy {name}?", abort=True)
    typer.echo(f"Deleted the policy {registry.remove(name)}.")


def export(wanted: str, to: Path) -> None:
    """Write a causal policy as GGUF with a Modelfile.

    Raises:
        UnknownPolicy, BadPolicy: it is not there, or cannot be used.
        WrongUsage: it is no language model.
        ModelError, OSError: it cannot be written.
    """
    folder = Registry().find(wanted)
    manifest = read(folder)
    if manifest.method not in _CAUSAL:
        raise WrongUsage(
            f"{manifest.name} is no language model but {method_in_words(manifest.method)}.",
            f"Its folder can be copied as it is: {folder}",
        )
    base = base_of(manifest)
    check_base(manifest, base)
    from policy.causal.export import export_gguf, modelfile

    to = expanded_path(to)
    to.mkdir(parents=True, exist_ok=True)
    gguf = export_gguf(folder, base, to / f"{manifest.name}.gguf")
    (to / "Modelfile").write_text(modelfile(gguf.name), encoding="utf-8")
    typer.echo(f"{manifest.name} is in {gguf}.")
    typer.echo(f"For Ollama: ollama create {manifest.name} -f {to / 'Modelfile'}")


def show_comparison(first: str, second: str, files: Sequence[Path], *, own: bool, everything: bool) -> None:
    """Two policies on the same questions.

    Args:
        first: A policy.
        second: Another; the active one if empty.
        files: Collected stores and exports.
        own: The person's own traces as well.
        everything: All questions, not only the held-out ones.

    Raises:
        UnknownPolicy, BadPolicy: one of them is not there or cannot be used.
        NoSuchSource, NothingToCompare, BadTraces, StoreError: there are no questions.
    """
    from policy.comparing import compare, questions
    from policy.returns import COST
    from tui.assemble import open_store

    registry = Registry()
    one = _opened(registry, first)
    two = _opened(registry, second or registry.active().name)
    trees = questions(files, open_store() if own else None, everything=everything)
    cost = float(one[1].settings.get("cost", COST))
    _show(compare(one[0], two[0], trees, cost))


def _show(found: Comparison) -> None:
    out = console()
    known = min(worth.known for worth in found.worth)
    asked = "1 question" if found.questions == 1 else f"{found.questions:,} questions"
    line = f"{asked}, a step costs {found.cost:g}"
    if known < found.questions:
        line += f"; the outcome of {known:,} is known for all of them, the rest was never tried"
    out.print(line)
    table = columns("", "quality", "complete", "steps", "utility", "known", right=("known",))
    for worth in found.worth:
        means = (f"{i.estimate:.3f}" for i in (worth.quality, worth.complete, worth.steps, worth.utility))
        table.add_row(*cells(worth.name, *(m.replace("nan", "–") for m in means), f"{worth.known:,}"))
    out.print(table)
    one, two = found.worth[0].name, found.worth[1].name
    out.print(Text(f"\n{one} less {two}, with 95% intervals", style="bold"))
    differences = {"utility": found.utility, "quality": found.quality, "steps": found.steps}
    told = {
        name: str(value).replace("+nan [+nan, +nan]", "not known") for name, value in differences.items()
    }
    share = (
        f"{found.agreement:.1%} of {found.states:,} states with a choice" if found.states else "no choice"
    )
    out.print(_pairs({**told, "agreement": share}))


def _opened(registry: Registry, name: str) -> tuple[Opponent, Manifest]:
    from policy.gate import Opponent

    folder = registry.find(name)
    scorer, rule, manifest = open_policy(folder, base_of(read(folder)))
    return Opponent(manifest.name, scorer, rule), manifest


def _wanted(registry: Registry, name: str) -> Path | None:
    return registry.find(name) if name else registry.active().folder


def _columns(policy: Listed) -> tuple[object, ...]:
    if policy.manifest is None:
        return ("", "", "", Text(f"cannot be used: {clean(policy.problem)}", style="red"))
    manifest = policy.manifest
    gate = manifest.gate
    verdict = "not asked" if gate is None else "passed" if gate.passed else "not passed"
    return (
        manifest.method,
        _when(manifest.created),
        f"{manifest.data.questions:,} questions, {manifest.data.decisions:,} decisions",
        "in the box" if policy.boxed else verdict,
    )


def _standing(registry: Registry, folder: Path) -> str:
    boxed = "in the box" if any(p.boxed and p.folder == folder for p in registry.listed()) else "your own"
    if registry.active().folder != folder:
        return f"{boxed}, not active"
    since = next((entry for entry in registry.history() if entry.name in {folder.name, BOX}), None)
    if since is None:
        return f"{boxed}, active"
    return f"{boxed}, active since {_when(since.at)}{', forced' if since.forced else ''}"


def _facts(manifest: Manifest, folder: Path) -> Iterator[tuple[str, str]]:
    yield "method", method_in_words(manifest.method)
    yield "made", f"{_when(manifest.created)}{f' by {manifest.command}' if manifest.command else ''}"
    yield "base", manifest.base.name if manifest.base else "none"
    yield "learned from", f"{manifest.data.questions:,} questions, {manifest.data.decisions:,} decisions"
    if manifest.data.datasets:
        yield "data sets", ", ".join(f"{name} {n:,}" for name, n in manifest.data.datasets.items())
    if manifest.data.sources:
        yield "quality from", ", ".join(f"{name} {n:,}" for name, n in manifest.data.sources.items())
    yield "reads", f"state version {manifest.state_version}, {len(manifest.features)} features"
    yield "margin", f"{manifest.rule.margin:g}, temperature {manifest.rule.temperature:g}"
    yield "folder", str(folder)


def _gate(manifest: Manifest) -> Iterator[tuple[str, str]]:
    gate = manifest.gate
    if gate is None:
        yield "verdict", "it was not asked"
        return
    yield "verdict", f"{'passed' if gate.passed else 'not passed'}: {gate.reason}"
    yield "rule", gate.rule
    yield from _flat(gate.measures).items()


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            found.update(_flat(value, f"{prefix}{name}, "))
        else:
            found[f"{prefix}{name}"] = in_words(value)
    return found


def _pairs(values: Mapping[str, str]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in values.items():
        table.add_row(Text(f"  {clean(name)}", style="dim"), Text(clean(value)))
    return table


def _told(done: Activation) -> None:
    name = "The policy in the box" if done.name == BOX else done.name
    forced = " It was forced, and that is recorded." if done.forced else ""
    typer.echo(f"{name} is active now.{forced}")


def _tell_who_decides(registry: Registry) -> None:
    """A note where the settings have something else decide."""
    settings = load()
    if registry.active().folder is None:
        typer.echo("None is active: the rules decide.")
        return
    who = settings.decider or decides(settings.profile, learned=True)
    if who != LEARNED:
        setting = f"decider = {who}" if settings.decider else f"profile = {settings.profile}"
        warn(
            f"The setting {setting} has {who} decide: `deepthink config set decider learned` changes that."
        )


def _tell_damage(registry: Registry) -> None:
    damage = registry.active().warning
    if damage:
        warn(damage)


def _when(moment: str) -> str:
    """By this machine's clock."""
    try:
        return f"{datetime.fromisoformat(moment).astimezone():%Y-%m-%d %H:%M}"
    except ValueError:
        return one_line(moment, 20)
