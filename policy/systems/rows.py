"""Rows: a finished question of one system and model, a line of JSON each; what is there is not done again.

It is done again where the question, its right answers or its evidence are others by now, or the policy is.
Rows hold ids, the short answer and numbers; no passages. So they can be committed, and another machine goes
on where this one stopped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from policy.lines import KeyedLines


@dataclass(frozen=True, slots=True)
class Row:
    """What became of one question under one system with one model.

    Attributes:
        questions: Name of the set.
        question: Its id there.
        system: As tables call it.
        model: The language model's name.
        short: The answer in as few words as asked for.
        stopped: Why the research ended; "" where there was none.
        lost: The first stage that lost a wrong answer, by `policy.systems.anatomy`; "" for a right one.
        measures: By the names of `policy.systems.metrics`; what is not known is not there.
        case: `policy.systems.cases.Case.digest` of what was asked.
        policy: `policy.manifest.seal` of the policy that decided; "" where none did.
    """

    questions: str
    question: str
    system: str
    model: str
    short: str
    stopped: str = ""
    lost: str = ""
    measures: Mapping[str, float] = field(default_factory=dict)
    case: str = ""
    policy: str = ""

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What there is one row of."""
        return self.questions, self.question, self.system, self.model


class Rows(KeyedLines[Row]):
    """The rows in ``file``."""

    def __init__(self, file: Path) -> None:
        super().__init__(file, Row, lambda row: row.key)
