"""The systems without a loop: what a deep run has to beat, on the same model and passages.

The bare model; the nearest passages in one prompt; the whole funnel in one prompt, with and without leave
to find nothing; and a search that is graded and corrected (CRAG, Yan et al., 2024), in the same prompt.
Their citations are checked as a run's are, so that a flagged sentence means the same for all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Final

from agent.budget import Ledger
from agent.deps import Deps
from agent.events import AnswerText, Event, NodeStarted
from agent.profiles import profile
from agent.prompts import NOT_FOUND
from agent.request import searchable
from agent.retrieval.recall import Hit, Recall, Strategy, aim
from agent.retrieval.sections import last_heading
from agent.session import Session
from agent.state import Candidate, Evidence, RunState, new_state
from agent.steering import Steering
from agent.stepping import research_step, updated
from agent.steps.look import single_shot
from agent.steps.reflect import ExtractiveReflector
from agent.steps.rerank import read
from agent.steps.retrieve import candidate
from agent.steps.verify import verify
from agent.text.sentences import sentences
from models.protocols import Chat, ChatOptions, Embedder, Message
from policy.evaluation.answered import Answered, Cost, Parts, System, ids_of, places_of, share
from policy.evaluation.cache import clock
from policy.evaluation.cases import Case, Place
from policy.evaluation.shortening import UNKNOWN, says_nothing
from traces.library import Library
from traces.records import Scope

FIRST = 100
"""As many hits of a search are looked at to tell whether it asked for the gold evidence at all."""


@dataclass(frozen=True, slots=True)
class Made:
    """A search, and what it brought."""

    query: str
    strategy: Strategy
    scopes: tuple[Scope, ...]
    keywords: str
    hits: Sequence[Hit]


class WatchedRecall(Recall):
    """`Recall` that knows the searches since ``made`` was emptied, and what they brought.

    Args:
        library: Where the passages are.
        embedder: The model that made the library's vectors.
        depth: How many passages each ranking contributes to a fusion.
    """

    def __init__(self, library: Library, embedder: Embedder, depth: int = 50) -> None:
        super().__init__(library, embedder, depth)
        self.made: list[Made] = []

    def search(
        self,
        query: str,
        strategy: Strategy,
        scopes: Sequence[Scope],
        limit: int,
        *,
        keywords: str = "",
    ) -> list[Hit]:
        """As `Recall` does."""
        hits = super().search(query, strategy, scopes, limit, keywords=keywords)
        self.made.append(Made(query, strategy, tuple(scopes), keywords, hits))
        return hits

    def brought(self) -> frozenset[Place]:
        """Where the hits stand."""
        return _standing(hit for made in self.made for hit in made.hits)

    def first(self) -> frozenset[Place]:
        """Where the `FIRST` hits of the same searches stand: they are made again, unwatched."""
        return _standing(
            hit
            for made in self.made
            for hit in super(WatchedRecall, self).search(
                made.query, made.strategy, made.scopes, FIRST, keywords=made.keywords
            )
        )


def _standing(hits: Iterable[Hit]) -> frozenset[Place]:
    return frozenset(Place(hit.passage.document, hit.passage.page) for hit in hits)


_NEAREST = 3  # passages of the seed's baseline
_TOKENS = 128  # of an answer
_TEMPLATE_TOKENS = 48  # what a chat template adds to the text, generously
_MAY_REFUSE = f"If the passages do not hold the answer, write only: {NOT_FOUND}"
_MUST_ANSWER = "If the passages do not say it in full, give the answer that they make the most likely."


class ClosedBook:
    """``closed-book``: the model alone, from what it learned by heart."""

    name: ClassVar[str] = "closed-book"

    def answer(self, case: Case, parts: Parts) -> Answered:
        """One prompt with nothing but the question. Raises what the model raises."""
        ledger = Ledger(parts.budget)
        began = clock(parts.chat)
        parts.on_event(NodeStarted("answer_directly", 0))
        text = _written(_from_memory(case.question), parts, ledger)
        seconds = clock(parts.chat) - began
        return Answered(text, says_nothing(text), cost=_cost(ledger, 0, seconds))


class OnePrompt(ABC):
    """Finds passages in its own way and answers from them in one prompt.

    A passage that the context has no room for is left out, the lowest first; without any passage the model
    is not asked. The answer's sentences are held against their passages by the run's own node.
    """

    name: ClassVar[str]
    depth: ClassVar[int] = 50  # of each ranking; see `agent.retrieval.recall.Recall`
    otherwise: ClassVar[str] = _MAY_REFUSE  # what to write where the passages do not hold the answer

    def answer(self, case: Case, parts: Parts) -> Answered:
        """Find, answer, check.

        Raises:
            EmptyLibrary, UnknownCollection: there is nothing to search.
            GenerationCancelled: ``parts.cancel`` was set.
            ModelError: the model fails.
        """
        library = Library(parts.store)
        recall = WatchedRecall(library, parts.embedder, self.depth)
        session = Session(parts.chat, parts.budget, parts.on_event, Steering(parts.cancel))
        cognition = profile("lean", parts.reader)
        deps = Deps(
            session=session,
            # The step's finding is not used: nothing need be asked for it. The answer stands as it is
            # written: that the reader withholds one is the loop's own.
            cognition=replace(cognition, reflector=ExtractiveReflector(), instant=False),
            decider=cognition.decider(session),
            library=library,
            recall=recall,
            reader=parts.reader,
            collections=searchable(library, parts.collections, web=False),
            approve="always",
        )
        began = clock(parts.chat)
        parts.on_event(NodeStarted("retrieve", 0))
        evidence = self._fitting(case.question, self.found(case.question, deps), parts.chat)
        draft = ""
        first_words: float | None = None

        def written(event: Event) -> None:
            nonlocal first_words
            if first_words is None and isinstance(event, AnswerText):
                first_words = clock(parts.chat) - began
            parts.on_event(event)

        if evidence:
            parts.on_event(NodeStarted("synthesise", 0))
            writing = replace(parts, on_event=written)
            draft = _written(self._prompt(case.question, evidence), writing, session.ledger)
        parts.on_event(NodeStarted("verify", 0))
        state = updated(new_state(case.question), {"evidence": evidence, "draft": draft})
        state = updated(state, verify(state, deps))
        seconds = clock(parts.chat) - began
        answered = _answered(case, state, recall, _cost(session.ledger, 1, seconds))
        return answered if answered.abstained else replace(answered, first_words=first_words)

    @abstractmethod
    def found(self, question: str, deps: Deps) -> list[Evidence]:
        """The passages to answer from, best first, numbered from 1."""

    def _prompt(self, question: str, evidence: Sequence[Evidence]) -> list[Message]:
        shown = "\n\n".join(map(_shown, evidence))
        wanted = (
            "Answer in one or two short sentences, and put the number of the passage it comes from at the "
            f"end of each, like [1]. {self.otherwise}"
        )
        return [
            Message("system", "You answer a question from numbered passages and from nothing else."),
            Message("user", f"PASSAGES:\n{shown}\n\nQUESTION: {question}\n{wanted}"),
        ]

    def _fitting(self, question: str, evidence: list[Evidence], chat: Chat) -> list[Evidence]:
        """As many passages as the context has room for; the first stays, and is refused by the model."""
        room = chat.context_tokens - _TOKENS - _TEMPLATE_TOKENS
        while len(evidence) > 1:
            prompt = "\n".join(message.content for message in self._prompt(question, evidence))
            if chat.count_tokens(prompt) <= room:
                break
            evidence = evidence[:-1]
        return evidence


class Shallow(OnePrompt):
    """``shallow``: the passages nearest to the question by their vectors, the seed's baseline."""

    name = "shallow"
    depth = FIRST  # one ranking, which nothing is fused with

    def found(self, question: str, deps: Deps) -> list[Evidence]:
        """The three nearest passages, whole."""
        hits = deps.recall.search(question, "vector", [Scope(collections=tuple(deps.tools))], _NEAREST)
        return _numbered([candidate(hit) for hit in hits])


class SearchAndAnswer(OnePrompt):
    """``search-and-answer``: hybrid recall and the reader's ranking once; the strong plain baseline."""

    name = "search-and-answer"

    def found(self, question: str, deps: Deps) -> list[Evidence]:
        """The best passages, whole: as many as a step of a run keeps."""
        scopes = aim(deps.library, deps.tools, question, "", "", hard=False)
        found = [candidate(hit) for hit in deps.recall.search(question, "hybrid", scopes, deps.recalled)]
        if found:
            deps.session.emit(NodeStarted("rerank", 0))
            found = read(deps.reader, question, found)
        return _numbered(found[: deps.kept])


class SearchAndGuess(SearchAndAnswer):
    """``search-and-guess``: ``search-and-answer`` without leave to find nothing.

    A small model that may refuse does so on most questions of several steps, and so scores nothing on them.
    What of a lead over it comes from that alone, the lead over this one tells.
    """

    name = "search-and-guess"
    otherwise = _MUST_ANSWER


class Crag(OnePrompt):
    """``crag``: one step of a run, with its grading and its ladder of corrections."""

    name = "crag"

    def found(self, question: str, deps: Deps) -> list[Evidence]:
        """The step's evidence, cut down to what matters."""
        state = new_state(question)
        return research_step(updated(state, single_shot(state, deps)), deps)["evidence"]


PLAIN: Final[tuple[System, ...]] = (
    ClosedBook(),
    Shallow(),
    SearchAndAnswer(),
    SearchAndGuess(),
    Crag(),
)
"""In the order of a table, each with more to it than the one before."""


def _numbered(found: Sequence[Candidate]) -> list[Evidence]:
    return [
        Evidence(
            number=number,
            step=1,
            passage_id=one["passage_id"],
            collection=one["collection"],
            document=one["document"],
            title=one["title"],
            date=one["date"],
            section=one["section"],
            page=one["page"],
            kind=one["kind"],
            text=one["text"],
            excerpt=one["text"],
            score=one["score"],
        )
        for number, one in enumerate(found, start=1)
    ]


def _from_memory(question: str) -> list[Message]:
    wanted = f"Answer in one or two short sentences. If you do not know, write only: {UNKNOWN}."
    return [
        Message("system", "You answer questions from what you know."),
        Message("user", f"QUESTION: {question}\n{wanted}"),
    ]


def _shown(item: Evidence) -> str:
    """A passage as the notebook of a run shows it, with the text before where it stands."""
    place = dict.fromkeys((item["title"], last_heading(item["section"]), item["date"]))
    where = ", ".join(part for part in place if part)
    if item["kind"] == "table":
        return f"[{item['number']}] {where}:\n{item['excerpt']}"
    return f"[{item['number']}] {item['excerpt']} ({where})"


def _written(messages: Sequence[Message], parts: Parts, ledger: Ledger) -> str:
    def tell(piece: str) -> None:
        parts.on_event(AnswerText(piece))

    options = ChatOptions(max_tokens=_TOKENS, on_text=tell, cancel=parts.cancel)
    reply = parts.chat.generate(messages, options)
    ledger.add(reply.usage)
    said = sentences(reply.text)
    if reply.finish_reason == "length" and len(said) > 1:
        return " ".join(said[:-1])  # the limit cut the last one off
    return reply.text.strip()


def _answered(case: Case, state: RunState, recall: WatchedRecall, cost: Cost) -> Answered:
    evidence, claims = state["evidence"], state["claims"]
    cited = {number for claim in claims for number in claim["cites"]}
    traced = (
        {"reached": share(case.gold, recall.first()), "recalled": share(case.gold, recall.brought())}
        if case.gold
        else {}
    )
    return Answered(
        text=state["answer"],
        abstained=state["status"] != "answered",
        held=places_of(evidence),
        cited=places_of(item for item in evidence if item["number"] in cited),
        sentences=len(claims),
        flagged=sum(claim["verdict"] != "supported" for claim in claims),
        cost=cost,
        traced=traced,
        passages=ids_of(evidence),
    )


def _cost(ledger: Ledger, steps: int, seconds: float) -> Cost:
    used = ledger.usage
    return Cost(steps, ledger.calls, used.evaluated, used.reused, used.generated, seconds)
