"""``deepthink traces``."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from agent.decisions.decider import OLDEST_VERSION, STATE_VERSION
from agent.state import ACTIONS
from policy.decisions import usable
from policy.training.material import NEEDED
from traces import parquet
from traces.collected import Collected
from traces.decisions import DecisionRow, Label, Labels, Traces, TraceSummary, count_decisions
from traces.parquet import take_in
from traces.paths import expanded_path
from traces.runs import Ratings, Run, Runs
from traces.store import Store
from tui.assemble import open_store
from tui.failures import WrongUsage
from tui.options import AsJson, Limit, RunId, is_alone
from tui.policy.actions import enough
from tui.run.fold import status_key
from tui.run.words import local_time, status
from tui.runs.actions import find, newest_stopped
from tui.terminal import clean, console, counted, one_line, print_json, table, to_tabulate

app = typer.Typer(invoke_without_command=True)
_ACTIONS = ", ".join(ACTIONS).lower()


@app.callback()
def traces(
    context: typer.Context,
    store: Annotated[
        Path | None,
        typer.Option("--store", metavar="FILE", help="A collected store, instead of your own runs."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """See, label and exchange the decisions that runs took.

    Without a command, it lists the latest. Every decision is stored as a step of a Markov decision
    process: the state as the decider saw it, the possible actions, the one taken, and its outcome.
    `deepthink train-policy` learns from them.
    """
    context.obj = store
    if is_alone(context, json=as_json):
        list_traces(context, as_json=as_json)


@app.command("list")
def list_traces(
    context: typer.Context,
    limit: Limit = 20,
    as_json: AsJson = False,
) -> None:
    """List the runs that decided something, newest first."""
    store = open_traces_store(context.obj)
    runs = Traces(store).latest(limit)
    if not to_tabulate(runs, f"No decision is stored yet. {_why_none(store)}", as_json=as_json):
        return
    rows = [
        (
            run.id,
            local_time(run.started),
            f"{run.decisions}{' in a tree' if run.tree else ''}",
            ", ".join(run.sources),
            run.labels or "",
            run.rating,
            _quality_range(run),
            one_line(f"{run.dataset}: {run.question}" if run.dataset else run.question, 120),
        )
        for run in runs
    ]
    headers = ("run", "when", "decisions", "by", "labels", "rating", "quality", "question")
    spare = ("when", "labels", "rating", "quality", "by")
    console().print(table(headers, rows, right=("labels",), whole=("run", "when"), spare=spare))


@app.command("show")
def show(
    context: typer.Context,
    reference: RunId = "last",
    state: Annotated[bool, typer.Option("--state", help="Each state too, as text and as numbers.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show the decisions of a run, and their outcomes."""
    store = open_traces_store(context.obj)
    with store.connect():  # open the store once for all queries
        run = find_run(store, reference)
        decisions, doubtful = Runs(store).decisions(run.id), Runs(store).is_doubtful(run.id)
        labels = Labels(store).of_run(run.id)
        rating = Ratings(store).of(run.id)
        gold, qualities = Collected(store).gold(run.id), Traces(store).qualities(run.id)
    if as_json:
        rows = [_as_json(d, labels.get(d.seq), qualities.get(d.path, {}), state=state) for d in decisions]
        print_json(
            {
                "run_id": run.id,
                "question": run.question,
                "status": status_key(run.status, doubtful=doubtful),
                "rating": rating.rating if rating else "",
                "gold": asdict(gold) if gold else None,
                "decisions": rows,
            }
        )
        return
    out = console()
    out.print(Text(one_line(run.question), style="bold"))
    facts = [f"run {run.id}", local_time(run.started), status(run, doubtful=doubtful)]
    facts += [f"rated {rating.rating}"] if rating else []
    facts += [f"{gold.dataset} {gold.question_id}"] if gold else []
    facts += [f"imported from {run.request['imported_from']}"] if "imported_from" in run.request else []
    out.print(Text(clean(" · ".join(facts)), style="dim"))
    if gold:
        out.print(Text(clean(f"right: {' / '.join(gold.answers)}"), style="dim"))
    if not decisions:
        out.print("It took no decisions.")
    for row in decisions:
        if row.shadow:
            out.print(Text(clean(f"    second opinion: {_choice(row)}"), style="dim"))
            continue
        out.print()
        out.print(Text(clean(f"{row.seq + 1:>2}  after step {row.step}: {_choice(row)}"), style="bold"))
        for line in _details(row, labels.get(row.seq), qualities.get(row.path, {})):
            out.print(Text(clean(f"    {line}")))
        if state:
            texts = row.text.splitlines() or ["(no text: the state is of an earlier version)"]
            numbers = ", ".join(f"{name} {value:g}" for name, value in row.features.items())
            for line in (*texts, numbers or "(no numbers)"):
                out.print(Text(clean(f"    │ {line}"), style="dim"))


@app.command("label")
def label(
    context: typer.Context,
    reference: RunId,
    number: Annotated[int, typer.Argument(metavar="DECISION", min=1, help="Its number in `traces show`.")],
    action: Annotated[
        str | None, typer.Argument(metavar="ACTION", help=f"What was right: {_ACTIONS}.")
    ] = None,
    note: Annotated[str, typer.Option("--note", metavar="TEXT", help="Why.")] = "",
    drop: Annotated[bool, typer.Option("--drop", help="Remove the label.")] = False,
) -> None:
    """Say what a decision should have been.

    A later label of the same decision replaces the earlier one.
    """
    if drop == (action is not None):
        raise WrongUsage("Say what the decision should have been, or --drop.", f"Actions: {_ACTIONS}.")
    store = open_traces_store(context.obj)
    run = find_run(store, reference)
    if action is None:
        Labels(store).drop(run.id, number - 1)
        typer.echo(f"Decision {number} of run {run.id} has no label now.")
        return
    Labels(store).put(run.id, number - 1, action.upper(), note=note)
    typer.echo(f"Decision {number} of run {run.id} should have been {action.upper()}.")


@app.command("stats")
def stats(context: typer.Context, as_json: AsJson = False) -> None:
    """Count what there is to learn from."""
    store = open_traces_store(context.obj)
    counts = count_decisions(store)
    decisions, ready = sum(counts.sources.values()), usable(counts)
    missing = {kind: max(0, needed - ready) for kind, needed in NEEDED.items()}
    if as_json:
        training = {"state_version": STATE_VERSION, "usable": ready, "needed": NEEDED, "missing": missing}
        print_json({**asdict(counts), "decisions": decisions, **training})
        return
    second = f"; {counted(counts.shadows, 'second opinion')}" if counts.shadows else ""
    lines = [("decisions", f"{decisions:,} in {counted(counts.runs, 'run')}{second}")]
    if not counts.runs:
        lines = [("decisions", f"none yet. {_why_none(store)}")]
    if decisions:
        versions = ", ".join(f"{version}: {count:,}" for version, count in counts.versions.items())
        quality = "of no state: rate answers (deepthink runs rate), or label decisions"
        if counts.qualities:
            states = counted(sum(counts.qualities.values()), "state")
            sources = _join_counts(counts.qualities)
            quality = f"of {states}, {counts.mean_quality:.2f} on average ({sources})"
        lines += [
            ("taken by", _join_counts(counts.sources)),
            ("actions", _join_counts(counts.actions)),
            ("state versions", f"{versions} (today's is {STATE_VERSION}, read from {OLDEST_VERSION} on)"),
            ("labels", _join_counts(counts.origins)),
            ("ratings", _join_counts(counts.ratings)),
            ("quality known", quality),
            ("transitions", _join_counts(counts.transitions)),
        ]
    for dataset in counts.datasets:
        about = f"questions {dataset.questions:,}, decisions {dataset.decisions:,}"
        lines.append((dataset.name[:15], about))
    more = " More come from questions that you ask, or deepthink collect." if any(missing.values()) else ""
    for name, line in [*lines, ("to train from", enough(counts) + more)]:
        console().print(Text(f"{name:<16}", style="bold").append(clean(line), style="not bold"))


def _why_none(store: Store) -> str:
    if runs := Runs(store).count():
        so_far = f"{counted(runs, 'run')} so far, with nothing to decide"
        return f"{so_far}: a question that needs several look-ups brings decisions."
    return 'Ask something: deepthink ask "…"'


def _join_counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items()) or "none"


@app.command("export")
def export(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE.parquet", help="Replaced if it is there.")],
) -> None:
    """Write decisions as Parquet, a row each, to train elsewhere.

    Labels, ratings and outcomes come along. Exports of many machines read as one table.
    """
    target = expanded_path(file)
    if target.suffix.lower() != ".parquet":
        raise WrongUsage(
            f"{file} does not end in .parquet: traces are exported as Parquet.", "Name FILE.parquet."
        )
    summary = parquet.export(open_traces_store(context.obj), target)
    shadow_note = f", {counted(summary.shadows, 'second opinion')} among them" if summary.shadows else ""
    typer.echo(
        f"{counted(summary.decisions, 'decision')} of {counted(summary.runs, 'run')}{shadow_note}: {file}."
    )


@app.command("import")
def import_traces(
    context: typer.Context,
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="Written by `traces export`.")],
) -> None:
    """Import decisions from other machines, all or none.

    Existing runs stay as they are. Of labels, ratings and outcomes, the newer counts.
    """
    result = take_in(
        open_traces_store(context.obj),
        [expanded_path(file) for file in files],
        newest=STATE_VERSION,
        oldest=OLDEST_VERSION,
    )
    typer.echo(f"{counted(result.decisions, 'decision')} of {counted(result.runs, 'new run')} imported.")
    news = ((result.labels, "label"), (result.ratings, "rating"), (result.outcomes, "outcome"))
    if any(count for count, _ in news):
        kinds = ", ".join(counted(count, noun) for count, noun in news if count)
        typer.echo(f"New or newer: {kinds}.")
    if result.known:
        typer.echo(f"There already: {counted(result.known, 'decision')}.")
    if result.older:
        typer.echo(
            f"Of a state version older than {OLDEST_VERSION}: {counted(result.older, 'decision')}. "
            "They are kept, but no policy learns from them."
        )


def open_traces_store(path: Path | None) -> Store:
    """The user's store, or the collected store at ``path``; raises `FileNotFoundError`, creates none."""
    if path is None:
        return open_store()
    place = expanded_path(path)
    if not place.is_file():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    return Store(place, named=True)


def find_run(store: Store, reference: str) -> Run:
    """The run with this id or prefix; ``last`` is the newest with decisions that is not going on.

    Raises `UnknownRun`.
    """
    runs = Runs(store)
    deciding = Traces(store).latest() if reference == "last" else []
    if not deciding:
        return find(store, reference)
    return newest_stopped(store, (runs.find(run.id) for run in deciding))


def _quality_range(run: TraceSummary) -> str:
    if run.lowest is None or run.highest is None:
        return ""
    lowest = f"{run.lowest:.2f}–" if run.lowest != run.highest else ""
    return f"{lowest}{run.highest:.2f} {', '.join(run.quality_sources)}"


def _choice(row: DecisionRow) -> str:
    details = f", {row.latency_ms:.1f} ms"
    if len(row.valid_actions) > 1:
        shares = ", ".join(f"{name} {row.probabilities.get(name, 0.0):.2f}" for name in row.valid_actions)
        details += f" ({shares})"
    elif row.valid_actions:
        details += f" (only {row.valid_actions[0]} was possible)"
    return f"{row.action} by {row.source}{details}"


def _details(row: DecisionRow, label: Label | None, qualities: Mapping[str, float]) -> Iterator[str]:
    yield f"path {row.path or '(start)'}, state version {row.state_version}"
    if row.behaviour_probability < 1:
        yield f"taken with probability {row.behaviour_probability:.3f}"
    if row.justification:
        yield f"why: {one_line(row.justification)}"
    if label is not None:
        note = f": {one_line(label.note)}" if label.note else ""
        yield f"label: {label.action} ({label.origin}){note}"
    if qualities:
        shares = ", ".join(f"{value:.2f} by {name}" for name, value in qualities.items())
        yield f"finishing here is worth {shares}"


def _as_json(
    row: DecisionRow, label: Label | None, qualities: Mapping[str, float], *, state: bool
) -> dict[str, Any]:
    fields = asdict(row)
    if not state:
        for name in ("state", "text", "features"):
            del fields[name]
    if row.shadow:
        return fields
    label_fields = {"action": label.action, "origin": label.origin, "note": label.note} if label else None
    return {**fields, "label": label_fields, "qualities": dict(qualities)}
