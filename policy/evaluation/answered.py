"""What a system gives for a question and what it took; and what every system has to work with."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from agent.budget import Budget
from agent.decisions.learned import Policy
from agent.events import Event
from agent.state import Candidate, Evidence, Note
from models.protocols import Chat, Completer, Embedder, Reader
from policy.evaluation.cases import Case, Place
from traces.store import Store


def ignore(_event: Event) -> None:
    """Nobody watches."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The same for every system: model, embedder, reader, passages, budget.

    Attributes:
        chat: Answers the same prompt the same way: see `policy.evaluation.cache`.
        embedder: The library's.
        reader: Reads the passages a search brings.
        store: With the library.
        collections: Where to search; all if empty.
        budget: Of one question.
        learned: The learned policy, for systems that decide as the product does by default.
        planner: The taught planner, for systems that plan as the product does by default.
        on_event: Told what a run tells while it goes on: `agent.events.AnswerText` for each piece of the
            answer as it is written, `NodeStarted` for what is being done. A later `NodeStarted` of what
            writes begins the answer anew. Called from the thread that answers.
        cancel: Set to have the answer given up, with `models.protocols.GenerationCancelled`.
    """

    chat: Chat
    embedder: Embedder
    reader: Reader
    store: Store
    collections: tuple[str, ...] = ()
    budget: Budget = field(default_factory=Budget)
    learned: Policy | None = None
    planner: Completer | None = None
    on_event: Callable[[Event], None] = ignore
    cancel: threading.Event | None = None


@dataclass(frozen=True, slots=True)
class Cost:
    """What an answer took.

    Attributes:
        steps: Searches for something of its own; 0 without a search.
        calls: Of the model.
        evaluated: Prompt tokens that the model computed.
        reused: Prompt tokens that it had computed before.
        generated: Tokens that it wrote.
        seconds: Wall clock; of a reply that came from the cache, what it took when it was made.
    """

    steps: int = 0
    calls: int = 0
    evaluated: int = 0
    reused: int = 0
    generated: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Answered:
    """What a system gave.

    Attributes:
        text: The answer in its own words.
        abstained: Whether it says that it does not know.
        held: Where the passages stand that it answered from, each place once.
        cited: Where those stand that the answer cites, each place once.
        passages: Ids in the library of the passages that it answered from, in their order.
        first_words: Seconds until the first words of an answer were shown; None if none were.
        sentences: Of the answer, that claim something.
        flagged: Those of them that their sources do not support.
        cost: What it took.
        stopped: Why the research ended; "" where there was none.
        traced: How far the gold evidence came, as shares of it from 0 to 1: ``reached`` (among the first
            hundred of a search), ``recalled`` (among what a search brought), ``noted`` (cited by a
            finding). Names are missing where a system has no such stage.
    """

    text: str
    abstained: bool
    held: tuple[Place, ...] = ()
    cited: tuple[Place, ...] = ()
    sentences: int = 0
    flagged: int = 0
    cost: Cost = field(default_factory=Cost)
    stopped: str = ""
    traced: Mapping[str, float] = field(default_factory=dict)
    passages: tuple[int, ...] = ()
    first_words: float | None = None


class System(Protocol):
    """A way of answering."""

    @property
    def name(self) -> str:
        """As tables call it."""
        ...

    def answer(self, case: Case, parts: Parts) -> Answered:
        """Answer one question.

        Raises:
            GenerationCancelled: ``parts.cancel`` was set.
            DeepthinkError: whatever kept it from answering.
        """
        ...


def place_of(passage: Evidence | Candidate) -> Place:
    """Where a passage stands: its document's name and its page, where it has one."""
    return Place(passage["document"], passage["page"])


def places_of(passages: Iterable[Evidence | Candidate]) -> tuple[Place, ...]:
    """Where passages stand, each place once, in their order."""
    return tuple(dict.fromkeys(map(place_of, passages)))


def ids_of(passages: Iterable[Evidence]) -> tuple[int, ...]:
    """What the library calls passages, each once, in their order."""
    return tuple(dict.fromkeys(passage["passage_id"] for passage in passages))


def share(gold: Sequence[Place], places: Iterable[Place]) -> float:
    """Share of the gold places, 0 to 1, that at least one of ``places`` is evidence from.

    Raises:
        ValueError: there are no gold places; then nothing can be said, and 0 or 1 would say something.
    """
    if not gold:
        raise ValueError("there are no gold places to be found")
    held = set(places)
    return sum(any(wanted.covers(place) for place in held) for wanted in gold) / len(gold)


def traced(case: Case, **stages: Iterable[Place]) -> dict[str, float]:
    """The share of the gold places among those of each stage, by its name; nothing without gold places."""
    return {name: share(case.gold, stage) for name, stage in stages.items()} if case.gold else {}


def noted(evidence: Iterable[Evidence], notes: Iterable[Note]) -> tuple[Place, ...]:
    """Where those passages stand that a finding cites, each place once."""
    return places_of(numbered(evidence, (n for note in notes if note["found"] for n in note["cites"])))


def numbered(evidence: Iterable[Evidence], numbers: Iterable[int]) -> list[Evidence]:
    """The passages of these citation numbers."""
    wanted = set(numbers)
    return [item for item in evidence if item["number"] in wanted]
