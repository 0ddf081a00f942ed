"""A stored run as a document: Markdown, an HTML page, or JSON.

Questions, passages and pages may contain anything, including markup: everything that Markdown could
interpret is escaped, control characters are removed, and only web addresses become links.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from html import escape
from importlib.resources import files
from itertools import groupby
from string import Template
from typing import Literal
from urllib.parse import urlsplit

from agent import events as ev
from agent.state import VERDICTS, Claim, Evidence, citation_marks
from traces.runs import Run
from traces.store import Store
from tui.run import words
from tui.run.fold import MARK, RunFold, Step, StepState, fold_of
from tui.run.words import place
from tui.terminal import clean, one_line

_SPECIAL = re.compile(r"([\\`*_<>|#~])")
_HEADING = re.compile(r"^#{1,6}\s+(?=\S)")
_LIST = re.compile(r"^(\d*)([-+.)])(?=\s)")  # the start of a list item


def to_markdown(fold: RunFold, when: datetime) -> str:
    """Question, answer with verdicts, sources with quotes, plan, steps, decisions, cost."""
    answered = fold.answered
    lines = [f"# {_text(fold.question or 'A run without a beginning')}", ""]
    if fold.standalone != fold.question:
        lines += [f"Taken to ask: {_text(fold.standalone)}", ""]
    if answered is not None:
        lines += _answer(answered.answer)
        if answered.sentences:
            lines += ["## Claims", "", f"{words.support_count(answered.sentences)}.", ""]
            lines += [*(_claim(claim) for claim in answered.sentences), ""]
        if answered.sources:
            lines += ["## Sources", ""]
            lines += [line for item in answered.sources for line in _source(item, fold)]
    if fold.withheld is not None:
        lines += ["## Withheld answer", "", "Your documents do not support all of it.", ""]
        lines += _answer(fold.withheld.answer)
        lines += [*(_claim(claim) for claim in fold.withheld.sentences), ""]
    if uncited := words.uncited(fold):
        lines += ["## Also kept", "", *(line for item in uncited for line in _source(item, fold))]
    titles = {item["number"]: item["title"] for item in fold.evidence}
    contradictions = (words.contradiction(event, titles).text for event in fold.every(ev.Contradicted))
    lines += _list_section("Contradictions", contradictions)
    if fold.plan:
        steps = (f"{n}. {_text(words.plan_step(step))}" for n, step in enumerate(fold.plan, start=1))
        lines += ["## Plan", "", *steps, ""]
    if fold.steps:
        found = (line for step in fold.steps for line in _step(step, fold.state_of(step)))
        lines += ["## Steps", "", *found, ""]
    lines += _list_section("Decisions", map(_decision, fold.decisions))
    lines += _list_section("Stepping in", words.stepping_in(fold))
    lines += _list_section("Run", (f"{label}: {value}" for label, value in words.facts(fold, when)))
    return "\n".join(lines).rstrip() + "\n"


def _answer(answer: str) -> list[str]:
    lines: list[str] = []
    for is_heading, text in paragraphs(clean(answer)):
        paragraph = "  \n".join(_text(line) for line in text.splitlines())
        lines += [f"### {paragraph}" if is_heading else paragraph, ""]
    return lines


def paragraphs(text: str) -> Iterator[tuple[bool, str]]:
    """An answer's paragraphs, and the headings between them (True) without their ``#``."""
    for block in re.split(r"\n\s*\n", text.strip()):
        for heading, lines in groupby(block.splitlines(), _HEADING.match):  # each heading by itself
            text = "\n".join(lines)
            yield (True, _HEADING.sub("", text).strip()) if heading else (False, text)


def web_address(text: str) -> str:
    """``text`` if it is a web address, else ""."""
    try:
        parts = urlsplit(text)
    except ValueError:  # for example, an incomplete IPv6 address
        return ""
    safe = text.isprintable() and not re.search(r"[\s<>\"]", text)
    return text if safe and parts.scheme in {"http", "https"} and parts.hostname else ""


def _claim(claim: Claim) -> str:
    verdict = VERDICTS[claim["verdict"]]
    reason = f" ({_text(claim['reason'])})" if claim["reason"] else ""
    label = verdict if claim["verdict"] == "supported" else f"**{verdict}**"
    return f"- {label}{reason}: {_text(claim['text'])} {citation_marks(claim['cites'])}".rstrip()


def _source(item: Evidence, fold: RunFold) -> list[str]:
    address = web_address(fold.address(item))
    document = f"<{address}>" if address else f"`{one_line(item['document']).replace('`', '')}`"
    date = f", {_text(item['date'])}" if item["date"] else ""
    heading = f"**[{item['number']}] {_text(place(item))}** ({_text(item['collection'])}, {document}{date})"
    lines = [heading, ""]
    quote = fold.quote(item)
    if quote and quote.split() != item["excerpt"].split():
        lines += [f"Quoted: “{_text(quote)}”", ""]
    excerpt = clean(item["excerpt"]).strip().splitlines() or [""]
    return [*lines, *(f"> {_text(line)}  " for line in excerpt), ""]


def _step(step: Step, state: StepState) -> list[str]:
    finding = words.FROM_PASSAGES if state == "found" else words.STEP_ENDINGS.get(state, "not finished")
    if step.note and step.note["found"]:
        finding = f"{_text(step.note['sentence'])} {citation_marks(step.note['cites'])}".rstrip()
    lines = [f"{step.number}. {_text(words.step_question(step.question))}  ", f"   {finding}"]
    for event in step.trail:
        lines.append(f"   - {_text(words.as_text(event))}")
        if isinstance(event, ev.Corrected):
            lines += [f"     - {_page(str(page.get('url', '')))}" for page in event.pages]
    return lines


def _decision(event: ev.Decided) -> str:
    ranking = sorted(event.probabilities.items(), key=lambda entry: -entry[1])
    shares = f" ({', '.join(f'{action} {share:.0%}' for action, share in ranking)})" if ranking else ""
    reason = f": {event.justification}" if event.justification else ""
    return f"after step {event.step}: {event.action} by {event.source}{shares}{reason}"


def _page(url: str) -> str:
    return f"<{url}>" if web_address(url) else _text(url)


def _list_section(heading: str, items: Iterable[str]) -> list[str]:
    lines = [f"- {_text(item)}" for item in items]
    return [f"## {heading}", "", *lines, ""] if lines else []


def _text(text: str) -> str:
    """``text`` in one line, with Markdown escaped."""
    return _LIST.sub(r"\1\\\2", _SPECIAL.sub(r"\\\1", one_line(text)))


_SOURCE = re.compile(r'<strong><a href="#source-(\d+)">')


def to_html(fold: RunFold, when: datetime) -> str:
    """The same as an HTML page, in which each citation links to its source."""
    from markdown_it import MarkdownIt

    cited = fold.answered.sources if fold.answered else []
    source_numbers = {item["number"] for item in [*cited, *fold.evidence]}

    def link(mark: re.Match[str]) -> str:
        return f'<a href="#source-{mark[1]}">{mark[0]}</a>' if int(mark[1]) in source_numbers else mark[0]

    parser = MarkdownIt("commonmark", {"html": False, "xhtmlOut": False}).disable(
        ["link", "image", "reference"]
    )
    body = MARK.sub(link, parser.render(to_markdown(fold, when)))
    body = _SOURCE.sub(r'<strong id="source-\1"><a href="#source-\1">', body)
    body = body.replace('<a href="http', '<a rel="noopener noreferrer nofollow" href="http')
    page = Template(files("tui.run").joinpath("run.html").read_text(encoding="utf-8"))
    title = one_line(fold.question) or "A run without a beginning"
    return page.substitute(title=escape(title), body=body)


Form = Literal["md", "html", "json"]


def to_document(store: Store, run: Run, form: Form) -> str:
    fold = fold_of(store, run, urls=True)
    match form:
        case "json":
            return json.dumps(fold.to_json(), ensure_ascii=False, indent=2) + "\n"
        case "html":
            return to_html(fold, run.started)
        case "md":
            return to_markdown(fold, run.started)


def file_name(run_id: str, question: str, form: Form) -> str:
    """A file name from the question's first words and the beginning of the run's id."""
    words = re.findall(r"\w+", one_line(question).casefold())
    short = "-".join(words)[:40].strip("-") or "run"
    return f"{short}-{run_id[:6]}.{form}"
