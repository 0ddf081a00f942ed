"""A run as a Markdown document, for a person to keep, send or paste."""

from __future__ import annotations

import re
from datetime import datetime

from agent.state import Evidence
from tui.outcome import Outcome, Step
from tui.terminal import clean, duration, one_line
from tui.transcript import place

_SPECIAL = re.compile(r"([\\`*_<>|#])")


def to_markdown(outcome: Outcome, when: datetime) -> str:
    """Question, answer, sources with quotes, plan, findings, decisions, cost."""
    started, finished, answered = outcome.started, outcome.finished, outcome.answered
    lines = [f"# {_text(started.question if started else 'A run without a beginning')}", ""]
    if answered is not None:
        lines += [_text(answered.answer), ""]
        flagged = [sentence["text"] for sentence in answered.sentences if sentence["verdict"] != "supported"]
        if flagged:
            lines += ["Not supported by the sources:", "", *(f"- {_text(text)}" for text in flagged), ""]
        if answered.sources:
            lines += ["## Sources", "", *(line for item in answered.sources for line in _source(item))]
    if outcome.plan:
        lines += ["## Plan", ""]
        for number, step in enumerate(outcome.plan, start=1):
            tool = f" ({_text(step['tool'])})" if step["tool"] else ""
            lines.append(f"{number}. {_text(step['question'])}{tool}")
        lines.append("")
    if outcome.steps:
        lines += ["## Findings", "", *(line for step in outcome.steps for line in _finding(step)), ""]
    if outcome.decisions:
        lines += ["## Decisions", ""]
        for made in outcome.decisions:
            why = f": {_text(made.justification)}" if made.justification else ""
            lines.append(f"- after step {made.step}: {made.action}, by {made.source}{why}")
        lines.append("")
    lines += ["## Run", ""]
    if started is not None:
        lines += [
            f"- {when:%Y-%m-%d %H:%M}, run `{started.run_id}`, profile {started.profile}",
            f"- models: {_text(started.chat_model)}, {_text(started.embedder)}, "
            f"{_text(started.reranker) or 'no reranker'}",
            f"- collections: {', '.join(map(_text, started.collections))}",
        ]
    if finished is not None:
        lines += [
            f"- {finished.status.replace('_', ' ')} in {duration(finished.seconds)}; stopped because: "
            f"{_text(finished.stopped_because) or 'it was done'}",
            f"- {finished.model_calls} model calls; {finished.evaluated:,} tokens read, "
            f"{finished.reused:,} reused, {finished.generated:,} written",
        ]
    lines += [f"- note: {_text(message)}" for message in outcome.warnings]
    return "\n".join(lines).rstrip() + "\n"


def _source(item: Evidence) -> list[str]:
    date = f", {item['date']}" if item["date"] else ""
    excerpt = clean(item["excerpt"]).strip().splitlines() or [""]
    quoted = [f"> {_text(line)}  " for line in excerpt]
    where = f"{_text(item['collection'])}, `{one_line(item['document'])}`{date}"
    return [f"**[{item['number']}] {_text(place(item))}** ({where})", "", *quoted, ""]


def _finding(step: Step) -> list[str]:
    note = step.note
    marks = "".join(f"[{number}]" for number in note["cites"]) if note and note["found"] else ""
    sentence = _text(note["sentence"]) if note and note["found"] else "nothing found"
    return [
        f"{step.number}. {_text(step.question)}  ",
        f"   {sentence} {marks}".rstrip()
        + f" (searched “{_text(step.query)}”, {step.strategy or 'not searched'})",
    ]


def _text(text: str) -> str:
    """One line in which nothing is taken for Markdown."""
    return _SPECIAL.sub(r"\\\1", one_line(text))
