"""What there is to learn a policy from, in numbers and in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from agent.decisions.decider import STATE_VERSION
from policy.gathered import gathered
from traces.decisions import Traces, count_decisions
from traces.store import Store
from tui.terminal import counted


def numbers(store: Store) -> dict[str, Any]:
    """Everything that is counted, JSON-like."""
    found, process = gathered(store), Traces(store).counts()
    agreement: dict[tuple[str, str], list[int]] = {}
    for day in found.agreement:
        pair = agreement.setdefault((day.first, day.second), [0, 0])
        pair[0] += day.agreed
        pair[1] += day.compared
    return {
        "runs": found.runs,
        "decisions": found.decisions,
        "second_opinions": process.shadows,
        "sources": found.sources,
        "actions": found.actions,
        "state_versions": {str(n): count for n, count in count_decisions(store).versions.items()},
        "labels": found.labels,
        "ratings": found.ratings,
        "qualities": process.qualities,
        "mean_quality": process.mean_quality,
        "transitions": process.transitions,
        "datasets": {
            d.name: {"questions": d.questions, "runs": d.runs, "decisions": d.decisions}
            for d in process.datasets
        },
        "agreement": [
            {"first": first, "second": second, "agreed": agreed, "compared": compared}
            for (first, second), (agreed, compared) in agreement.items()
        ],
        "state_version": STATE_VERSION,
        "usable": found.usable,
        "needed": found.needed,
        "missing": found.missing,
    }


def described(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What is counted, line by line: its name, and the counts in words."""
    beside = f"; {counted(found['second_opinions'], 'second opinion')}" if found["second_opinions"] else ""
    yield "decisions", f"{found['decisions']:,} in {counted(found['runs'], 'run')}{beside}"
    if found["decisions"]:
        yield "taken by", _listed(found["sources"])
        yield "actions", _listed(found["actions"])
        versions = ", ".join(f"{name}: {count:,}" for name, count in found["state_versions"].items())
        yield "state versions", f"{versions} (today's is {found['state_version']})"
        yield "labels", _listed(found["labels"])
        yield "ratings", _listed(found["ratings"])
        yield "quality known", _quality(found)
        yield "transitions", _listed(found["transitions"])
    for name, counts in found["datasets"].items():
        yield name[:15], f"questions {counts['questions']:,}, decisions {counts['decisions']:,}"
    for pair in found["agreement"]:
        share = f"{pair['agreed']:,} of {pair['compared']:,} decisions"
        yield "agreement", f"{pair['first']} and {pair['second']}: {share}"
    enough = f"{found['usable']:,} of {found['needed']:,} decisions with today's state"
    if found["missing"]:
        enough += f"; {found['missing']:,} are missing: ask more questions, or deepthink collect"
    yield "to train from", enough


def _quality(found: Mapping[str, Any]) -> str:
    if not found["qualities"]:
        return "of no state: rate answers (deepthink runs rate), or label decisions"
    states = sum(found["qualities"].values())
    mean = f"{found['mean_quality']:.2f} on average"
    return f"of {counted(states, 'state')}, {mean} ({_listed(found['qualities'])})"


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items()) or "none"
