"""What is asked: questions with their answers and with the places where the evidence stands."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """Where a passage stands.

    Attributes:
        document: Its name in the library. In a pooled set every paragraph is a document of its own.
        page: From 1; None where the document has none, or the whole document is meant.
    """

    document: str
    page: int | None = None

    def covers(self, other: Place) -> bool:
        """Whether a passage at ``other`` is evidence from here."""
        return self.document == other.document and self.page in {None, other.page}


@dataclass(frozen=True, slots=True)
class Case:
    """A question to be asked of every system.

    Attributes:
        id: Within its set.
        question: As a person would put it.
        answers: The answer and its aliases; empty where the right answer is that there is none.
        gold: Where the evidence stands, each place once.
        wrong: What no right answer states, such as a figure that was superseded.
    """

    id: str
    question: str
    answers: tuple[str, ...]
    gold: tuple[Place, ...] = ()
    wrong: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """Of everything that a row about it rests on: 12 hex digits."""
        return hashlib.sha256(json.dumps(asdict(self)).encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class CaseSet:
    """A set of questions over one library.

    Attributes:
        name: Of the file that it is from, without its ending.
        cases: In the order in which they are asked.
        collections: Where to search; all if empty.
    """

    name: str
    cases: tuple[Case, ...]
    collections: tuple[str, ...] = ()
