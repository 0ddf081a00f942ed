"""``deepthink runs`` and ``deepthink sessions``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.text import Text

from agent import plans
from traces.paths import expanded_path
from traces.runs import RATINGS, CorrectedPlans, Run, Runs, Sessions
from tui import completion
from tui.assemble import open_store
from tui.failures import WrongUsage
from tui.options import AsJson, Limit, RunId, Yes, confirm, is_alone
from tui.run.export import to_document
from tui.run.fold import answer_as_read, status_key, stored_events
from tui.run.render import AnimatedRun, PlainRun, Renderer
from tui.run.words import UNFINISHED_REASONS, local_time, status
from tui.runs import actions
from tui.settings.settings import warn_if_unusable
from tui.terminal import (
    clean,
    console,
    counted,
    duration,
    is_live,
    one_line,
    print_json,
    shell_word,
    table,
    to_tabulate,
)

app = typer.Typer(invoke_without_command=True)
_Unfinished = Annotated[
    bool, typer.Option("--unfinished", "-u", help="Only what can be resumed, and why it stopped.")
]


@app.callback()
def runs(context: typer.Context, unfinished: _Unfinished = False, as_json: AsJson = False) -> None:
    """Look at earlier runs.

    Without a command, it lists the latest.
    """
    warn_if_unusable()
    if is_alone(context, unfinished=unfinished, json=as_json):
        list_runs(unfinished=unfinished, as_json=as_json)


@app.command("list")
def list_runs(limit: Limit = 20, unfinished: _Unfinished = False, as_json: AsJson = False) -> None:
    """List the latest runs, newest first."""
    if unfinished:
        _list_unfinished(as_json=as_json)
        return
    store = open_store()
    stored = Runs(store)
    recent = actions.as_of_now(store, stored.search(limit=limit))
    summaries = [_as_json(run, doubtful=run.doubtful) for run in recent]
    nothing = 'No run is stored yet. Ask something: deepthink ask "…"'
    if not to_tabulate(summaries, nothing, as_json=as_json):
        return
    out = console()
    rows = [
        (
            run.id,
            local_time(run.started),
            status(run, doubtful=run.doubtful),
            duration(run.seconds) if run.seconds is not None else "",
            one_line(run.question, 120),
        )
        for run in recent
    ]
    headers = ("run", "when", "status", "time", "question")
    out.print(table(headers, rows, right=("time",), whole=("run", "when"), spare=("when", "time")))
    if (count := stored.count()) > len(recent):
        out.print(f"The latest {len(recent):,} of {counted(count, 'run')}; --limit shows more.")


@app.command("show")
def show(
    reference: RunId = "last",
    plain: Annotated[bool, typer.Option("--plain", help="One line per event, no colour.")] = False,
    as_json: AsJson = False,
) -> None:
    """Replay a run in the terminal."""
    if as_json:
        export(reference, "json")
        return
    store = open_store()
    run = actions.find(store, reference)
    state = actions.run_state(store, run)
    live = is_live(plain=plain)
    screen: Renderer = AnimatedRun(console(), replay=True) if live else PlainRun(replay=True)
    with screen:
        for _, event in stored_events(store, run):
            screen.take(event)
    if imported := run.request.get("imported_from"):
        console().print(
            f"Run {run.id} was imported from {clean(str(imported))}: only its "
            f"decisions are known. deepthink traces show {run.id} shows them."
        )
    elif run.status == "waiting":
        console().print(f"Run {run.id} waits for your answer: deepthink resume {run.id}")
    elif state == "going on":
        console().print(f"Run {run.id} is still going on.")
    elif run.finished is None and state:
        console().print(
            f"Run {run.id} has no end: it was cut off. What can be resumed: deepthink runs --unfinished"
        )
    elif run.finished is None:
        console().print(f"Run {run.id} has no end, and nothing is stored from which it could be resumed.")


@app.command("rate")
def rate(
    reference: RunId,
    rating: Annotated[
        Literal["good", "partly", "wrong"] | None,
        typer.Argument(metavar="RATING", help="good, partly or wrong."),
    ] = None,
    note: Annotated[str, typer.Option("--note", metavar="TEXT", help="Why.")] = "",
    drop: Annotated[bool, typer.Option("--drop", help="Remove the rating.")] = False,
) -> None:
    """Say how good the answer of a run is.

    A policy learns from it. A later rating of the same run replaces the earlier one.
    """
    if drop == (rating is not None):
        raise WrongUsage("Say how good the answer is, or --drop.", f"Ratings: {', '.join(RATINGS)}.")
    store = open_store()
    run = actions.find(store, reference)
    actions.rate(store, run.id, rating, note)
    typer.echo(actions.rating_text(run.id, rating))


@app.command("plan")
def plan(
    reference: RunId,
    lookups: Annotated[
        list[str] | None,
        typer.Argument(metavar="LOOK-UP…", help="In order; [COLLECTION] before one prefers a collection."),
    ] = None,
    drop: Annotated[bool, typer.Option("--drop", help="Remove the correction.")] = False,
    as_json: AsJson = False,
) -> None:
    """Say what a run should have looked up.

    Without look-ups, its plan is shown. `deepthink train-planner` learns from corrected plans. #1 in a
    look-up is the result of the first.
    """
    if drop and lookups:
        raise WrongUsage("Give look-ups, or --drop.", "Without both, the plan is shown.")
    if as_json and (drop or lookups):
        raise WrongUsage("--json is for showing a plan.", "Leave it out to correct the plan.")
    store = open_store()
    run = actions.find(store, reference)
    if drop or lookups:
        typer.echo(actions.correct_plan(store, run, lookups or ()))
    elif as_json:
        steps = [
            {"collection": collection, "question": question}
            for collection, question in plans.lookups(store, run.id)
        ]
        is_corrected = CorrectedPlans(store).of(run.id) is not None
        print_json({"run": run.id, "question": run.question, "corrected": is_corrected, "lookups": steps})
    else:
        lines = plans.wanted(store, run.id) or ["It planned no look-up."]
        console().print(Text("\n".join(clean(line) for line in lines)))


@app.command("delete")
def delete(reference: RunId, yes: Yes = False) -> None:
    """Delete a run with all that is stored of it.

    Its decisions, labels and rating go too, and with the last run of a conversation the conversation. The
    library keeps what was read, cached web pages included.
    """
    store = open_store()
    run = actions.find(store, reference)
    actions.check_stopped(store, run.id)
    confirm(f"Delete run {run.id} “{one_line(run.question, 80)}”?", yes)
    typer.echo(actions.delete_run(store, run.id))


@app.command("export")
def export(
    reference: RunId = "last",
    form: Annotated[
        Literal["md", "html", "json"],
        typer.Option("--format", "-f", help="Markdown, one HTML page, or one JSON object."),
    ] = "md",
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Write to a file; - is stdout.")
    ] = Path("-"),
) -> None:
    """Export a run: Markdown, HTML or JSON.

    Question, answer, verdicts, sources with quotes, contradictions, plan, steps, decisions, cost.
    """
    store = open_store()
    run = actions.find(store, reference)
    text = to_document(store, run, form)
    if output == Path("-"):
        sys.stdout.write(text)
    else:
        expanded_path(output).write_text(text, encoding="utf-8")
        typer.echo(actions.export_text(run.id, output))


sessions_app = typer.Typer(invoke_without_command=True)
_SessionReference = Annotated[
    str,
    typer.Argument(
        metavar="SESSION",
        help="Its name, its id (4 characters are enough), or last.",
        autocompletion=completion.sessions,
    ),
]


@sessions_app.callback()
def sessions(context: typer.Context, as_json: AsJson = False) -> None:
    """See, name and delete conversations.

    Without a command, it lists the latest. Every question belongs to one. `deepthink ask --session NAME`
    continues a conversation: a question may refer to earlier ones.
    """
    warn_if_unusable()
    if is_alone(context, json=as_json):
        list_sessions(as_json=as_json)


@sessions_app.command("list")
def list_sessions(limit: Limit = 20, as_json: AsJson = False) -> None:
    """List the sessions, the one used last first."""
    recent = Sessions(open_store()).recent(limit)
    nothing = 'No session is stored yet. Ask something: deepthink ask "…"'
    if not to_tabulate(recent, nothing, as_json=as_json):
        return
    rows = [
        (one.id, one.name, one.runs, local_time(one.latest), one_line(one.first, 120)) for one in recent
    ]
    headers = ("session", "name", "runs", "last used", "began with")
    whole = ("session", "last used")
    console().print(table(headers, rows, right=("runs",), whole=whole, spare=("last used",)))


@sessions_app.command("show")
def show_session(reference: _SessionReference = "last", as_json: AsJson = False) -> None:
    """Show a conversation: questions, answers, runs."""
    store = open_store()
    session, stored = Sessions(store).find(reference), Runs(store)
    runs = stored.of_session(session.id)
    out = console()
    if as_json:
        fields = ("run_id", "question", "status", "answer")
        rows = [_as_json(run, doubtful=stored.is_doubtful(run.id)) for run in runs]
        turns = [{name: row[name] for name in fields} for row in rows]
        print_json({"session": session, "turns": turns})
        return
    out.print(Text(f"session {actions.session_title(session)}", style="bold"))
    for run in runs:
        out.print()
        out.print(Text(f"› {one_line(run.question)}", style="bold"))
        if run.standalone and run.standalone != run.question:
            out.print(Text(f"  taken to ask: {one_line(run.standalone)}", style="dim"))
        out.print(Text(clean(answer_as_read(run)).strip() or _no_answer_text(run)))
        ended = status(run, doubtful=stored.is_doubtful(run.id))
        out.print(Text(f"run {run.id} · {local_time(run.started)} · {ended}", style="dim"))
    if not runs:
        quoted_name = shell_word(clean(session.name) or session.id)
        out.print(f'Nothing was asked in it yet: deepthink ask --session {quoted_name} "…"')


@sessions_app.command("name")
def name(
    reference: _SessionReference,
    new_name: Annotated[str, typer.Argument(metavar="NAME", help="What to call it from now on.")],
) -> None:
    """Give a session a name, or another one."""
    store = open_store()
    session = Sessions(store).find(reference)
    typer.echo(actions.name_session(store, session.id, one_line(new_name)))


@sessions_app.command("delete")
def delete_one_session(reference: _SessionReference, yes: Yes = False) -> None:
    """Delete a session with all its runs.

    The library keeps what was read, cached web pages included.
    """
    store = open_store()
    session = Sessions(store).find(reference)
    runs = actions.check_idle(store, session)
    confirm(f"Delete session {actions.session_title(session)} with {counted(len(runs), 'run')}?", yes)
    typer.echo(actions.delete_session(store, session))


def _as_json(run: Run, *, doubtful: bool = False) -> dict[str, object]:
    return {
        "run_id": run.id,
        "question": run.question,
        "status": status_key(run.status, doubtful=doubtful),
        "answer": answer_as_read(run),
        "started": run.started,
        "seconds": run.seconds,
        "session": run.session,
        "model": run.chat_model,
        "collections": run.collections,
    }


def _list_unfinished(*, as_json: bool) -> None:
    from agent.run import resumable
    from tui.ask.asking import NOTHING

    unfinished = resumable(open_store())
    summaries = [{**_as_json(entry.run), "why": entry.why} for entry in unfinished]
    if not to_tabulate(summaries, NOTHING, as_json=as_json):
        return
    rows = [
        (
            entry.run.id,
            local_time(entry.run.started),
            UNFINISHED_REASONS[entry.why],
            "" if entry.why == "going on" else f"deepthink resume {entry.run.id}",
            one_line(entry.run.question, 120),
        )
        for entry in unfinished
    ]
    headers = ("run", "when", "why", "to go on", "question")
    console().print(table(headers, rows, whole=("run", "when", "to go on"), spare=("run", "when", "why")))


def _no_answer_text(run: Run) -> str:
    if run.finished is None or run.status in {"failed", "cancelled"}:
        return "(no answer yet; deepthink runs --unfinished says whether it can be resumed)"
    return "(no answer)"
