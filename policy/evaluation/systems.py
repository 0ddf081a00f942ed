"""Ways to answer a question: the product, and the simpler systems it has to beat.

The nearest passages in one prompt; search and reader in one prompt; and the loop, in both profiles. All
have the same model and passages, and their citations are checked in the same way, so that a flagged
sentence means the same for all.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from agent import events as ev
from agent import notebook
from agent.budget import Budget, Ledger
from agent.decisions.sources import Policy, Rules
from agent.deps import Cognition, Deps
from agent.profiles import profile
from agent.retrieval.recall import Recall
from agent.run import Request, run, searchable
from agent.session import Session
from agent.state import Candidate, Claim, Evidence, new_state, updated
from agent.steering import Steering
from agent.steps.distil import as_evidence
from agent.steps.reflect import best_excerpt
from agent.steps.rerank import read
from agent.steps.retrieve import candidate, recall
from agent.steps.verify import verify
from agent.text.sentences import sentences
from models.protocols import Chat, ChatOptions, Completer, Embedder, Message, Reader, Usage
from policy.questions import Place
from traces.library import Library
from traces.records import Scope
from traces.store import Store

SHALLOW: Final = "shallow"
GUESS: Final = "search-and-guess"
SEED: Final = "seed"
LEAN: Final = "lean"

_NEAREST = 3  # passages of the seed's baseline
_TOKENS = 128  # of an answer
_TEMPLATE_TOKENS = 48  # generous bound on what a chat template adds
# A small model that may refuse does so on most questions that need several steps. A lead over these systems
# does not come from refusals alone.
_INSTRUCTION: Final = (
    "Answer in one or two short sentences, and put the number of the passage it comes from at the end of "
    "each, like [1]. If the passages do not say it in full, give the answer that they make the most likely."
)


@dataclass(frozen=True, slots=True)
class Parts:
    """What all systems share: model, embedder, reader, passages, budget."""

    chat: Chat  # called at temperature 0
    embedder: Embedder
    reader: Reader
    store: Store
    collections: tuple[str, ...] = ()  # where to search; all if empty
    budget: Budget = field(default_factory=Budget)  # of one question
    learned: Policy | None = None
    """The learned policy, for systems that decide as the product does by default."""
    planner: Completer | None = None
    """The taught planner, for systems that plan as the product does by default."""
    on_event: Callable[[ev.Event], None] = lambda _event: None
    """Called from the thread that answers. A later `NodeStarted` of a step that writes means that the
    answer starts again."""
    cancel: threading.Event | None = None
    """Set to stop, which raises `models.protocols.GenerationCancelled`."""

    def deps(self, cognition: Cognition, depth: int = 50) -> Deps:
        """What the nodes of a run need, for use without a run; ``depth`` is that of `Recall`.

        Raises `EmptyLibrary` or `UnknownCollection` if there is nothing to search.
        """
        library = Library(self.store)
        return Deps(
            session=Session(self.chat, self.budget, self.on_event, Steering(self.cancel)),
            cognition=cognition,
            decider=Rules(),
            library=library,
            recall=Recall(library, self.embedder, depth),
            reader=self.reader,
            collections=searchable(library, self.collections, web=False),
            approve="always",
        )


@dataclass(frozen=True, slots=True)
class Cost(Usage):
    """Cost of an answer: that of all its model calls, their number, and that of its searches."""

    calls: int = 0
    steps: int = 0


@dataclass(frozen=True, slots=True)
class Answered:
    """The result of a system."""

    text: str
    abstained: bool  # whether it says that it does not know
    in_prompt: tuple[Place, ...] = ()  # places of the passages in the prompt, without duplicates
    cited: tuple[Place, ...] = ()  # places of the passages that the answer cites, without duplicates
    sentences: int = 0  # sentences of the answer that make a claim
    flagged: int = 0  # those that their sources do not support
    cost: Cost = field(default_factory=Cost)
    stopped: str = ""  # why the research ended; "" if there was none
    recalled: tuple[Place, ...] | None = None
    """Places of the passages that a run's searches found; None for a system without a run."""
    noted: tuple[Place, ...] | None = None  # places of the passages that its findings cite; None likewise
    first_words: float | None = None
    """Seconds until the first words of an answer were shown; None if none were."""
    first_look: float | None = None
    """Seconds until a run showed what it found first; None if it showed nothing."""


System: TypeAlias = Callable[[str, Parts], Answered]
"""A way to answer a question. Raises `GenerationCancelled`, or another `DeepthinkError`."""


def _places_of(passages: Iterable[Evidence | Candidate]) -> tuple[Place, ...]:
    """Places of the passages, in their order, without duplicates."""
    return tuple(dict.fromkeys(Place(passage["document"], passage["page"]) for passage in passages))


def _nearest_passages(question: str, deps: Deps) -> list[Evidence]:
    hits = deps.recall.search(question, "vector", [Scope(collections=tuple(deps.tools))], _NEAREST)
    return _numbered([candidate(hit) for hit in hits])


def _best_passages(question: str, deps: Deps) -> list[Evidence]:
    """The best of one hybrid search by the reader: as many as a step of a run keeps."""
    candidates = recall(question, deps)
    deps.session.emit(ev.NodeStarted("rerank", 0))
    return _numbered(read(deps.reader, question, candidates)[: deps.evidence_limit])


@dataclass(frozen=True, slots=True)
class OnePrompt:
    """Finds passages in its own way and answers from them in one prompt.

    Passages that do not fit into the context are left out, the lowest first; without any passage the model
    is not called. The answer is verified against its passages by the run's own node.
    """

    find: Callable[[str, Deps], list[Evidence]]  # the passages to answer from, best first, numbered from 1
    depth: int = 50  # of each ranking; see `agent.retrieval.recall.Recall`

    def __call__(self, question: str, parts: Parts) -> Answered:
        """Find, answer, check. Raises `EmptyLibrary` or `UnknownCollection`, and what the model raises."""
        # No finding is needed here, and only the loop withholds answers that the reader doubts.
        cognition = replace(
            profile("lean", parts.reader),
            reflect=lambda _session, _notebook, asked, evidence, _spans: best_excerpt(asked, evidence),
            instant=False,
        )
        deps = parts.deps(cognition, self.depth)
        began = time.monotonic()
        parts.on_event(ev.NodeStarted("retrieve", 0))
        evidence = self._fitting(question, self.find(question, deps), parts.chat)
        draft = ""
        first_words: float | None = None

        def on_event(event: ev.Event) -> None:
            nonlocal first_words
            if first_words is None and isinstance(event, ev.AnswerText):
                first_words = time.monotonic() - began
            parts.on_event(event)

        if evidence:
            parts.on_event(ev.NodeStarted("synthesise", 0))
            prompt = self._prompt(question, evidence)
            draft = _generate(prompt, replace(parts, on_event=on_event), deps.session.ledger)
        parts.on_event(ev.NodeStarted("verify", 0))
        state = updated(new_state(question), {"evidence": evidence, "draft": draft})
        state = updated(state, verify(state, deps))
        claims, abstained, usage = state["claims"], state["status"] != "answered", deps.session.ledger.usage
        cited = {number for claim in claims for number in claim["cites"]}
        return Answered(
            text=state["answer"],
            abstained=abstained,
            in_prompt=_places_of(evidence),
            cited=_places_of(item for item in evidence if item["number"] in cited),
            sentences=len(claims),
            flagged=sum(claim["verdict"] != "supported" for claim in claims),
            cost=Cost(
                usage.evaluated,
                usage.reused,
                usage.generated,
                time.monotonic() - began,
                deps.session.ledger.calls,
                steps=1,
            ),
            first_words=None if abstained else first_words,
        )

    def _prompt(self, question: str, evidence: Sequence[Evidence]) -> list[Message]:
        passages = "\n\n".join(map(notebook.passage, evidence))
        return [
            Message("system", "You answer a question from numbered passages and from nothing else."),
            Message("user", f"PASSAGES:\n{passages}\n\nQUESTION: {question}\n{_INSTRUCTION}"),
        ]

    def _fitting(self, question: str, evidence: list[Evidence], chat: Chat) -> list[Evidence]:
        """As many passages as fit into the context; the first is kept even if the model then refuses."""
        room = chat.context_tokens - _TOKENS - _TEMPLATE_TOKENS
        while len(evidence) > 1:
            prompt = "\n".join(message.content for message in self._prompt(question, evidence))
            if chat.count_tokens(prompt) <= room:
                break
            evidence = evidence[:-1]
        return evidence


def _numbered(candidates: Sequence[Candidate]) -> list[Evidence]:
    return [as_evidence(item, item["text"], number, step=1) for number, item in enumerate(candidates, 1)]


def _generate(messages: Sequence[Message], parts: Parts, ledger: Ledger) -> str:
    def emit(piece: str) -> None:
        parts.on_event(ev.AnswerText(piece))

    options = ChatOptions(max_tokens=_TOKENS, on_text=emit, cancel=parts.cancel)
    reply = parts.chat.generate(messages, options)
    ledger.add(reply.usage)
    complete = sentences(reply.text)
    if reply.finish_reason == "length" and len(complete) > 1:
        return " ".join(complete[:-1])  # the last one is incomplete
    return reply.text.strip()


@dataclass(frozen=True, slots=True)
class Looped:
    """The loop with one of its profiles, deciding for itself when to stop.

    The run is stored like every other, so that it can be opened afterwards.
    """

    profile: str
    decider: str = ""  # ``rules``, ``llm`` or ``learned``; the profile's own if empty
    route: str = "deep"  # of every question; the planner chooses if empty

    def __call__(self, question: str, parts: Parts) -> Answered:
        """Run the question. An ungrounded answer is accepted, flagged as such.

        Raises:
            UnusableQuestion, EmptyLibrary, UnknownCollection, UnknownProfile: before it begins.
            GenerationCancelled: ``parts.cancel`` was set; the run can be resumed.
            DeepthinkError: any other failure of the run.
        """
        request = Request(
            question,
            collections=parts.collections,
            profile=self.profile,
            decider=self.decider,
            budget=parts.budget,
            route=self.route,
            approve="always",
        )
        began = time.monotonic()
        first_words: float | None = None
        first_look: float | None = None
        steps = 0
        recalled: dict[Place, None] = {}
        evidence: list[Evidence] = []
        noted: set[int] = set()
        text, claims, sources = "", list[Claim](), list[Evidence]()
        end: ev.RunFinished | None = None
        for event in run(
            request,
            chat=parts.chat,
            embedder=parts.embedder,
            reader=parts.reader,
            store=parts.store,
            steering=Steering(parts.cancel),
            learned=parts.learned,
            planner=parts.planner,
        ):
            match event:
                case ev.FirstLook() if first_look is None:
                    first_look = time.monotonic() - began
                case ev.StepStarted():
                    steps = max(steps, event.step)
                case ev.Searched():
                    recalled.update(dict.fromkeys(_places_of(event.hits)))
                case ev.EvidenceKept():
                    evidence += event.fresh
                case ev.Noted() if event.note["found"]:
                    noted.update(event.note["cites"])
                case ev.Answered():  # of several answers the last counts
                    text, claims, sources = event.answer, event.sentences, event.sources
                case ev.RunFinished():
                    end = event
                case _:
                    pass
            if first_words is None and isinstance(event, ev.AnswerText | ev.Answered):
                first_words = time.monotonic() - began
            parts.on_event(event)
        seconds = time.monotonic() - began
        return Answered(
            text=text,
            abstained=end is None or end.status != "answered",
            in_prompt=_places_of(evidence),
            cited=_places_of(sources),
            sentences=len(claims),
            flagged=sum(claim["verdict"] != "supported" for claim in claims),
            cost=Cost(end.evaluated, end.reused, end.generated, seconds, end.model_calls, steps)
            if end
            else Cost(seconds=seconds, steps=steps),
            stopped=end.stopped_because if end else "",
            recalled=tuple(recalled),
            noted=_places_of(item for item in evidence if item["number"] in noted),
            first_words=first_words,
            first_look=first_look,
        )


SYSTEMS: Final[Mapping[str, System]] = {
    # One ranking, not fused with another, the baseline of the seed.
    SHALLOW: OnePrompt(_nearest_passages, depth=100),
    GUESS: OnePrompt(_best_passages),
    SEED: Looped(profile="seed"),
    LEAN: Looped(profile="lean", route=""),
}
"""In table order, from simple to complex. ``lean`` is the product with its defaults."""
