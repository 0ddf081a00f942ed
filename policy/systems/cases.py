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
        kind: What kind of question it is, in a set that is judged by patterns; else "".
        required: Regular expressions, ignoring case: a right answer matches all of them.
        forbidden: Regular expressions, ignoring case: a right answer matches none of them.
    """

    id: str
    question: str
    answers: tuple[str, ...]
    gold: tuple[Place, ...] = ()
    wrong: tuple[str, ...] = ()
    kind: str = ""
    required: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()

    @property
    def by_patterns(self) -> bool:
        """Whether the whole answer is judged by patterns, and not a short form of it by words."""
        return bool(self.kind)

    @property
    def digest(self) -> str:
        """Of everything that a row about it rests on: 12 hex digits."""
        fields = asdict(self)
        if not self.by_patterns:  # rows from before there were patterns stay valid
            for name in ("kind", "required", "forbidden"):
                del fields[name]
        return hashlib.sha256(json.dumps(fields).encode()).hexdigest()[:12]


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
