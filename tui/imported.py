"""A run that came without its events, as an imported one does: what its row and decisions tell of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace

from agent import events as ev
from traces.runs import DecisionRow, Run, Runs, StoredEvent


def stored_or_told(runs: Runs, run: Run) -> list[StoredEvent]:
    """The events of a run; for one that came without, those that `told_by` makes of the rest of it.

    When its decisions were taken is not known: all but its end are at 0 seconds.
    """
    stored = runs.events(run.id)
    if stored:
        return stored
    told = told_by(run, runs.decisions(run.id))
    return [
        StoredEvent(
            seq, event.seconds if isinstance(event, ev.RunFinished) else 0.0, event.kind, event.payload()
        )
        for seq, event in enumerate(told)
    ]


def told_by(run: Run, decisions: Sequence[DecisionRow]) -> list[ev.Event]:
    """Its beginning, its decisions, its answer without sources, and its end if it has one.

    Args:
        run: As it is stored.
        decisions: `traces.runs.Runs.decisions`, in order, second opinions behind what was done.
    """
    told: list[ev.Event] = [
        ev.RunStarted(
            run.id,
            run.question,
            run.profile,
            run.chat_model,
            run.embedder,
            run.reranker,
            run.decider,
            list(run.collections),
            run.session,
        )
    ]
    for row in decisions:
        taken = _decided(row)
        last = told[-1]
        if row.shadow and isinstance(last, ev.Decided):
            told[-1] = replace(last, shadow=_second_opinion(taken))
        elif not row.shadow:
            told.append(taken)
    if run.answer:
        told.append(ev.Answered(run.answer, [], []))
    if run.finished is not None:
        seconds = run.seconds or 0.0
        tokens = run.evaluated, run.reused, run.generated
        told.append(ev.RunFinished(run.status, run.stopped_because, seconds, run.model_calls, *tokens))
    return told


def _decided(row: DecisionRow) -> ev.Decided:
    return ev.Decided(
        step=row.step,
        state_version=row.state_version,
        state=dict(row.state),
        valid=list(row.valid_actions),
        action=row.action,
        probabilities=dict(row.probabilities),
        source=row.source,
        latency_ms=row.latency_ms,
        justification=row.justification,
        behaviour_probability=row.behaviour_probability,
        text=row.text,
        features=dict(row.features),
    )


_SHADOW = ("action", "probabilities", "source", "latency_ms", "justification", "behaviour_probability")


def _second_opinion(other: ev.Decided) -> dict[str, object]:
    told = asdict(other)
    return {name: told[name] for name in _SHADOW}
