"""A run as a Markdown document, for a person to keep, send or paste."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime

from agent import events as ev
from agent.state import Claim, Evidence
from tui import wording
from tui.blocks import place
from tui.outcome import Outcome, Step
from tui.terminal import clean, one_line

_SPECIAL = re.compile(r"([\\`*_<>|#~])")
_LIST = re.compile(r"^(\d*)([-+.)])(?=\s)")  # what would begin one


def to_markdown(outcome: Outcome, when: datetime) -> str:
    """Question, answer with verdicts, sources with quotes, plan, steps, decisions, cost."""
    answered = outcome.answered
    lines = [f"# {_text(outcome.question or 'A run without a beginning')}", ""]
    if outcome.standalone != outcome.question:
        lines += [f"Taken to ask: {_text(outcome.standalone)}", ""]
    if answered is not None:
        lines += _answer(answered.answer)
        if answered.sentences:
            lines += ["## Claims", "", wording.support(answered.sentences), ""]
            lines += [*(_claim(claim) for claim in answered.sentences), ""]
        if answered.sources:
            lines += ["## Sources", ""]
            lines += [line for item in answered.sources for line in _source(item, outcome)]
    if uncited := wording.uncited(outcome):
        lines += ["## Also kept", "", *(line for item in uncited for line in _source(item, outcome))]
    lines += _listed("Contradictions", map(wording.contradiction, outcome.contradictions))
    if outcome.plan:
        lines += ["## Plan", ""]
        for number, step in enumerate(outcome.plan, start=1):
            tool = f" ({_text(step['tool'])})" if step["tool"] else ""
            lines.append(f"{number}. {_text(step['question'])}{tool}")
        lines.append("")
    if outcome.steps:
        lines += ["## Steps", "", *(line for step in outcome.steps for line in _step(step)), ""]
    lines += _listed("Decisions", map(wording.decision, outcome.decisions))
    lines += _listed("Stepping in", wording.stepping_in(outcome))
    lines += _listed("Run", (f"{label}: {value}" for label, value in wording.facts(outcome, when)))
    return "\n".join(lines).rstrip() + "\n"


def _answer(answer: str) -> list[str]:
    lines: list[str] = []
    for kind, text in wording.paragraphs(clean(answer)):
        broken = "  \n".join(_text(line) for line in text.splitlines())
        lines += [f"### {broken}" if kind == "heading" else broken, ""]
    return lines


def _claim(claim: Claim) -> str:
    marks = "".join(f"[{number}]" for number in claim["cites"])
    verdict = wording.VERDICTS[claim["verdict"]]
    why = f" ({_text(claim['reason'])})" if claim["reason"] else ""
    label = verdict if claim["verdict"] == "supported" else f"**{verdict}**"
    return f"- {label}{why}: {_text(claim['text'])} {marks}".rstrip()


def _source(item: Evidence, outcome: Outcome) -> list[str]:
    address = wording.web_address(outcome.address(item))
    document = f"<{address}>" if address else f"`{one_line(item['document']).replace('`', '')}`"
    date = f", {_text(item['date'])}" if item["date"] else ""
    heading = f"**[{item['number']}] {_text(place(item))}** ({_text(item['collection'])}, {document}{date})"
    lines = [heading, ""]
    quote = wording.quote_of(item, outcome.answered)
    if quote:
        lines += [f"Quoted: “{_text(quote)}”", ""]
    excerpt = clean(item["excerpt"]).strip().splitlines() or [""]
    return [*lines, *(f"> {_text(line)}  " for line in excerpt), ""]


def _step(step: Step) -> list[str]:
    note = step.note
    marks = "".join(f"[{number}]" for number in note["cites"]) if note and note["found"] else ""
    sentence = _text(note["sentence"]) if note and note["found"] else "nothing found"
    lines = [f"{step.number}. {_text(step.question)}  ", f"   {sentence} {marks}".rstrip()]
    for event in step.trail:
        lines.append(f"   - {_text(wording.trail(event))}")
        if isinstance(event, ev.Corrected):
            lines += [f"     - {_page(str(page.get('url', '')))}" for page in event.pages]
    return lines


def _page(url: str) -> str:
    return f"<{url}>" if wording.web_address(url) else _text(url)


def _listed(heading: str, items: Iterable[str]) -> list[str]:
    listed = [f"- {_text(item)}" for item in items]
    return [f"## {heading}", "", *listed, ""] if listed else []


def _text(text: str) -> str:
    """One line in which nothing is taken for Markdown."""
    return _LIST.sub(r"\1\\\2", _SPECIAL.sub(r"\\\1", one_line(text)))
