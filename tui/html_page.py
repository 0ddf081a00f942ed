"""A run as one HTML page that needs nothing else: no script, no style sheet, no picture from elsewhere.

Questions, passages and pages may hold anything, markup included: the template escapes whatever it is
given, control characters are left out, and only addresses on the web become links.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files

from agent import events as ev
from agent.state import Claim, Evidence
from tui import wording
from tui.blocks import place
from tui.outcome import Outcome
from tui.terminal import clean, duration

_MARK = re.compile(r"\[(\d+)\]")


@dataclass(frozen=True, slots=True)
class Spent:
    """What all rounds of a node took."""

    node: str
    rounds: int
    seconds: float
    read: int
    written: int


def to_html(outcome: Outcome, when: datetime) -> str:
    """Question, answer with links to its sources, verdicts, sources, plan, steps, decisions, cost."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: clean(value) if type(value) is str else value,
    )
    template = environment.from_string(files("tui").joinpath("run.html.jinja").read_text(encoding="utf-8"))
    cited = outcome.answered.sources if outcome.answered else []
    known = {item["number"] for item in [*cited, *outcome.evidence]}
    return template.render(
        run=outcome,
        wording=wording,
        paragraphs=wording.paragraphs(outcome.answered.answer) if outcome.answered else [],
        facts=wording.facts(outcome, when),
        spent=_spent(outcome),
        actions=sorted({action for made in outcome.decisions for action in made.probabilities}),
        uncited=wording.uncited(outcome),
        pieces=lambda text: list(_pieces(text, known)),
        passage=_passage,
        is_correction=lambda event: isinstance(event, ev.Corrected),
        marks=_marks,
        place=place,
        duration=duration,
    )


def _pieces(text: str, known: set[int]) -> Iterator[tuple[str, int]]:
    """``text`` cut at its marks: words with 0, or a mark with the number of the source it names."""
    end = 0
    for mark in _MARK.finditer(text):
        if int(mark.group(1)) in known:
            yield text[end : mark.start()], 0
            yield mark.group(), int(mark.group(1))
            end = mark.end()
    yield text[end:], 0


def _passage(item: Evidence, quote: str) -> tuple[str, str, str]:
    """The passage as what precedes the quoted sentence, that sentence, and the rest.

    Everything precedes a sentence that does not stand in it word for word.
    """
    wanted = quote.strip() or item["excerpt"].strip()
    before, found, after = item["text"].partition(wanted) if wanted else (item["text"], "", "")
    return before, found, after


def _marks(claim: Claim) -> str:
    return "".join(f"[{number}]" for number in claim["cites"])


def _spent(outcome: Outcome) -> list[Spent]:
    """One entry for each node, in the order they first ended."""
    names = dict.fromkeys(node.node for node in outcome.nodes)
    rounds = {name: [node for node in outcome.nodes if node.node == name] for name in names}
    return [
        Spent(
            name,
            len(ended),
            sum(node.seconds for node in ended),
            sum(node.evaluated for node in ended),
            sum(node.generated for node in ended),
        )
        for name, ended in rounds.items()
    ]
