"""What an exported run says in words; Markdown and HTML share it, each escapes it its own way."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Final, Literal
from urllib.parse import urlsplit

from agent import events as ev
from agent.state import Claim, Evidence
from tui.outcome import Outcome
from tui.terminal import counted, duration

VERDICTS: Final = {"supported": "supported", "partly": "partly supported", "not": "not supported"}
ENDINGS: Final = {
    "answered": "answered",
    "not_found": "not found in your documents",
    "stopped": "stopped before an answer was found",
    "rejected": "withheld: the sources do not support all of it",
    "waiting": "waiting for a person's answer",
    "interrupted": "interrupted",
    "cancelled": "cancelled",
    "failed": "failed",
    "running": "without an end: still going on, or killed",
}
GRADES: Final = {"correct": "relevant", "ambiguous": "maybe relevant", "incorrect": "not relevant"}
"""How a passage was graded, in words."""
_STEERED: Final = {
    "pause": "paused",
    "resume": "resumed",
    "finish": "asked to answer now",
    "skip": "skipped the step",
    "add": "added a step",
    "override": "took the decision",
}
_HEADING = re.compile(r"^#{1,6}\s+(?=\S)")


def paragraphs(text: str) -> list[tuple[Literal["heading", "text"], str]]:
    """An answer's paragraphs and the headings between them, without their marks."""
    found: list[tuple[Literal["heading", "text"], str]] = []
    for block in re.split(r"\n\s*\n", text.strip()):
        lines: list[str] = []
        for line in block.splitlines():
            if not _HEADING.match(line):
                lines.append(line)
                continue
            if lines:
                found.append(("text", "\n".join(lines)))
            found.append(("heading", _HEADING.sub("", line).strip()))
            lines = []
        if lines:
            found.append(("text", "\n".join(lines)))
    return found


def web_address(text: str) -> str:
    """``text`` if it is an address on the web, else ""."""
    try:
        parts = urlsplit(text)
    except ValueError:  # half an IPv6 address, for one
        return ""
    safe = text.isprintable() and not re.search(r"[\s<>\"]", text)
    return text if safe and parts.scheme in {"http", "https"} and parts.hostname else ""


def quote_of(item: Evidence, answered: ev.Answered | None) -> str:
    """The sentence of a source that is nearest to the answer, "" if that is all of its excerpt."""
    quote = answered.quotes.get(str(item["number"]), "") if answered else ""
    return "" if quote.split() == item["excerpt"].split() else quote


def uncited(outcome: Outcome) -> list[Evidence]:
    """The passages that were kept but that the answer does not cite."""
    cited = {item["number"] for item in outcome.answered.sources} if outcome.answered else set()
    return [item for item in outcome.evidence if item["number"] not in cited]


def support(claims: Sequence[Claim]) -> str:
    """How much of an answer its sources support."""
    held = sum(1 for claim in claims if claim["verdict"] == "supported")
    return f"Supported by the sources: {held} of {len(claims)} sentence{'' if len(claims) == 1 else 's'}."


def graded(event: ev.Graded) -> str:
    """How many passages are relevant, may be, or are not."""
    counts = ((said, event.grades.count(grade)) for grade, said in GRADES.items())
    return ", ".join(f"{count} {said}" for said, count in counts if count) or "no passages"


def trail(event: ev.Searched | ev.Graded | ev.Corrected) -> str:
    """What was done in a step to find its passages."""
    match event:
        case ev.Searched():
            place = f", in {event.tool}" if event.tool else ""
            found = f"{len(event.hits)} passage{'' if len(event.hits) == 1 else 's'}"
            return f"searched “{event.query}” ({event.strategy}{place}): {found}"
        case ev.Graded():
            return f"read by {event.grader}: {graded(event)}"
        case ev.Corrected():
            return f"not enough found: {event.detail or event.rung}"


def decision(event: ev.Decided) -> str:
    """CONTINUE, REVISE or FINISH, how sure it was, and why."""
    order = sorted(event.probabilities.items(), key=lambda entry: -entry[1])
    sure = f" ({', '.join(f'{action} {share:.0%}' for action, share in order)})" if order else ""
    why = f": {event.justification}" if event.justification else ""
    return f"after step {event.step}: {event.action} by {event.source}{sure}{why}"


def contradiction(event: ev.Contradicted) -> str:
    """Which of two values was followed, and where both stand."""

    def told(value: str, number: int, date: str) -> str:
        return f"“{value}” [{number}]" + (f", {date}," if date else "")

    followed = told(event.value, event.number, event.date)
    superseded = told(event.superseded, event.superseded_number, event.superseded_date)
    return f"{followed} is followed; {superseded} is superseded".replace(",,", ",")


def stepping_in(outcome: Outcome) -> list[str]:
    """What a person was asked, answered and did."""
    replies = [
        f"{reply.question} → {reply.reply or 'no answer'} ({reply.by}, to {reply.about})"
        for reply in outcome.replies
    ]
    steered = [
        _STEERED.get(event.what, event.what) + (f": {event.detail}" if event.detail else "")
        for event in outcome.steering
    ]
    return [*replies, *steered]


def facts(outcome: Outcome, when: datetime) -> list[tuple[str, str]]:
    """How the run was made, how it ended and what it cost, as labels and values."""
    told: list[tuple[str, str]] = []
    started, routed, finished = outcome.started, outcome.routed, outcome.finished
    told.append(("when", f"{when:%Y-%m-%d %H:%M}"))
    if started is not None:
        told += [
            ("run", started.run_id),
            ("profile", f"{started.profile}, decisions by {started.decider}"),
            ("models", f"{started.chat_model}, {started.embedder}, {started.reranker or 'no reranker'}"),
            ("collections", ", ".join(started.collections)),
        ]
    if routed is not None:
        told.append(("route", f"{routed.route}, by {routed.source}: {routed.reason}"))
    told.append(("ended", ENDINGS.get(outcome.status, outcome.status)))
    if finished is not None:
        told += [
            ("stopped because", finished.stopped_because or "it was done"),
            ("took", duration(finished.seconds)),
            (
                "cost",
                f"{counted(finished.model_calls, 'model call')}; {finished.evaluated:,} tokens read, "
                f"{finished.reused:,} reused, {finished.generated:,} written",
            ),
        ]
    if outcome.resumed:
        told.append(("resumed", "once" if outcome.resumed == 1 else f"{outcome.resumed} times"))
    return told + [("note", message) for message in outcome.warnings]
