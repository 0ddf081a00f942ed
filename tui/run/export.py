"""A stored run as a document: Markdown, an HTML page, or JSON.

Questions, passages and pages may contain anything, including markup: everything that Markdown could
interpret is escaped, control characters are removed, and only web addresses become links.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from html import escape
from importlib.resources import files
from string import Template
from typing import Literal

from agent import events as ev
from agent.state import Claim, Evidence
from traces.runs import Run, StoredEvent
from tui.run import words
from tui.run.fold import Outcome, Step, outcome_of
from tui.run.words import local, place
from tui.terminal import clean, one_line

_SPECIAL = re.compile(r"([\\`*_<>|#~])")
_LIST = re.compile(r"^(\d*)([-+.)])(?=\s)")  # the start of a list item


def to_markdown(outcome: Outcome, when: datetime) -> str:
    """Question, answer with verdicts, sources with quotes, plan, steps, decisions, cost."""
    answered = outcome.answered
    lines = [f"# {_text(outcome.question or 'A run without a beginning')}", ""]
    if outcome.standalone != outcome.question:
        lines += [f"Taken to ask: {_text(outcome.standalone)}", ""]
    if answered is not None:
        lines += _answer(answered.answer)
        if answered.sentences:
            lines += ["## Claims", "", f"{words.support_count(answered.sentences)}.", ""]
            lines += [*(_claim(claim) for claim in answered.sentences), ""]
        if answered.sources:
            lines += ["## Sources", ""]
            lines += [line for item in answered.sources for line in _source(item, outcome)]
    if uncited := words.uncited(outcome):
        lines += ["## Also kept", "", *(line for item in uncited for line in _source(item, outcome))]
    lines += _list_section(
        "Contradictions", (words.contradiction(event).text for event in outcome.contradictions)
    )
    if outcome.plan:
        lines += ["## Plan", ""]
        for number, step in enumerate(outcome.plan, start=1):
            tool = f" ({_text(step['tool'])})" if step["tool"] else ""
            lines.append(f"{number}. {_text(words.step_question(step['question']))}{tool}")
        lines.append("")
    if outcome.steps:
        lines += ["## Steps", "", *(line for step in outcome.steps for line in _step(step)), ""]
    lines += _list_section("Decisions", map(_decision, outcome.decisions))
    lines += _list_section("Stepping in", words.stepping_in(outcome))
    lines += _list_section("Run", (f"{label}: {value}" for label, value in words.facts(outcome, when)))
    return "\n".join(lines).rstrip() + "\n"


def _answer(answer: str) -> list[str]:
    lines: list[str] = []
    for kind, text in words.paragraphs(clean(answer)):
        paragraph = "  \n".join(_text(line) for line in text.splitlines())
        lines += [f"### {paragraph}" if kind == "heading" else paragraph, ""]
    return lines


def _claim(claim: Claim) -> str:
    marks = "".join(f"[{number}]" for number in claim["cites"])
    verdict = words.VERDICTS[claim["verdict"]]
    reason = f" ({_text(claim['reason'])})" if claim["reason"] else ""
    label = verdict if claim["verdict"] == "supported" else f"**{verdict}**"
    return f"- {label}{reason}: {_text(claim['text'])} {marks}".rstrip()


def _source(item: Evidence, outcome: Outcome) -> list[str]:
    address = words.web_address(outcome.address(item))
    document = f"<{address}>" if address else f"`{one_line(item['document']).replace('`', '')}`"
    date = f", {_text(item['date'])}" if item["date"] else ""
    heading = f"**[{item['number']}] {_text(place(item))}** ({_text(item['collection'])}, {document}{date})"
    lines = [heading, ""]
    quote = words.quote_of(item, outcome.answered)
    if quote:
        lines += [f"Quoted: “{_text(quote)}”", ""]
    excerpt = clean(item["excerpt"]).strip().splitlines() or [""]
    return [*lines, *(f"> {_text(line)}  " for line in excerpt), ""]


def _step(step: Step) -> list[str]:
    note = step.note
    marks = "".join(f"[{number}]" for number in note["cites"]) if note and note["found"] else ""
    nothing = "no sure answer" if step.kept else "nothing found"
    sentence = _text(note["sentence"]) if note and note["found"] else nothing
    lines = [f"{step.number}. {_text(step.question)}  ", f"   {sentence} {marks}".rstrip()]
    for event in step.trail:
        lines.append(f"   - {_text(words.as_text(event))}")
        if isinstance(event, ev.Corrected):
            lines += [f"     - {_page(str(page.get('url', '')))}" for page in event.pages]
    return lines


def _decision(event: ev.Decided) -> str:
    """The action, its source, the probabilities and the reason."""
    ranking = sorted(event.probabilities.items(), key=lambda entry: -entry[1])
    shares = f" ({', '.join(f'{action} {share:.0%}' for action, share in ranking)})" if ranking else ""
    reason = f": {event.justification}" if event.justification else ""
    return f"after step {event.step}: {event.action} by {event.source}{shares}{reason}"


def _page(url: str) -> str:
    return f"<{url}>" if words.web_address(url) else _text(url)


def _list_section(heading: str, items: Iterable[str]) -> list[str]:
    lines = [f"- {_text(item)}" for item in items]
    return [f"## {heading}", "", *lines, ""] if lines else []


def _text(text: str) -> str:
    """``text`` in one line, with Markdown escaped."""
    return _LIST.sub(r"\1\\\2", _SPECIAL.sub(r"\\\1", one_line(text)))


_MARK = re.compile(r"\[(\d+)\]")
_SOURCE = re.compile(r'<strong><a href="#source-(\d+)">')


def to_html(outcome: Outcome, when: datetime) -> str:
    """The same as an HTML page, in which each citation links to its source."""
    from markdown_it import MarkdownIt

    cited = outcome.answered.sources if outcome.answered else []
    source_numbers = {item["number"] for item in [*cited, *outcome.evidence]}

    def link(mark: re.Match[str]) -> str:
        return f'<a href="#source-{mark[1]}">{mark[0]}</a>' if int(mark[1]) in source_numbers else mark[0]

    parser = MarkdownIt("commonmark", {"html": False, "xhtmlOut": False}).disable(
        ["link", "image", "reference"]
    )
    body = _MARK.sub(link, parser.render(to_markdown(outcome, when)))
    body = _SOURCE.sub(r'<strong id="source-\1"><a href="#source-\1">', body)
    body = body.replace('<a href="http', '<a rel="noopener noreferrer nofollow" href="http')
    page = Template(files("tui.run").joinpath("run.html").read_text(encoding="utf-8"))
    title = one_line(outcome.question) or "A run without a beginning"
    return page.substitute(title=escape(title), body=body)


Form = Literal["md", "html", "json"]


def to_document(run: Run, stored_events: Sequence[StoredEvent], form: Form) -> str:
    """A run with its events as a document of the given form."""
    outcome = outcome_of(run, stored_events)
    if form == "json":
        return json.dumps(outcome.to_json(), ensure_ascii=False, indent=2) + "\n"
    if form == "html":
        return to_html(outcome, local(run.started))
    return to_markdown(outcome, local(run.started))


def file_name(run_id: str, question: str, form: Form) -> str:
    """A file name from the question's first words and the beginning of the run's id."""
    words = re.findall(r"\w+", one_line(question).casefold())
    short = "-".join(words)[:40].strip("-") or "run"
    return f"{short}-{run_id[:6]}.{form}"
