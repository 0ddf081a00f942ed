"""Decisions of published questions without a language model: every path of CONTINUE and REVISE.

Nothing is told by gold. Each step is the run's own (`agent.graph`) over the real library. A good plan is
given (the data set's own smaller questions), and a good reader is assumed for the one thing a plan needs of
it: where a held passage states an answer that a later step refers to, that answer is put in. What the
*state* shows of it is what any run would know: the title of the step's best passage. FINISH's quality at a
state is that of the evidence held there.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from agent.decisions.decider import PolicyState, policy_state, valid_actions
from agent.graph import research_step
from agent.profiles import profile
from agent.retrieval.recall import Hit, Recall, Strategy
from agent.session import MemoReader
from agent.state import ACTIONS, RELEVANCE, Action, Evidence, Note, PlanStep, RunState, new_state
from agent.steps.lookups import look_up
from agent.steps.queries import references
from agent.steps.reflect import NOTHING
from agent.text.language import language
from agent.text.names import phrases
from agent.text.terms import terms
from models.protocols import Embedder, Reader
from policy.collecting import drawn_decision
from policy.decisions import default_action
from policy.evaluation.systems import Parts
from policy.questions import Progress
from tests.benchmarks.multihop import Hop, Question, pool, read_questions
from tests.scripted import ScriptedChat
from traces.decisions import Collected, CollectedQuestion, Outcome
from traces.library import Library
from traces.records import Scope
from traces.store import Store

EXPLORER = "explorer"
"""Source of a collected decision: the default policy, with exploration."""
_EPSILON = 0.1  # share of exploration in the recorded behaviour; every action is tried anyway
_SEED = 0  # of the shuffle and of the behaviour
_PARTIAL = 0.5  # the most that part of the gold evidence is worth
_FOUND = 0.5  # relevance of a step's best passage from which the step counts as having found something


def collect(path: Path, store: Store, embedder: Embedder, reader: Reader) -> Iterator[Progress]:
    """Collect a file's questions into ``store``, which gets their paragraphs too; what is there is kept."""
    questions = read_questions(path)
    for done, total in pool(questions, store, embedder):
        yield Progress("paragraphs", done, total)
    collected = Collected(store)
    held = collected.held(questions.name)
    chosen = list(questions.questions)
    random.Random(_SEED).shuffle(chosen)
    todo = [question for question in chosen if question.id not in held]
    total = len(chosen)
    yield Progress("questions", total - len(todo), total)
    grower = Grower(store, questions.name, embedder, reader)
    began = time.monotonic()
    for number, question in enumerate(todo, start=1):
        grown = grower.grow(question)
        rng = random.Random(f"{_SEED} {question.id}")
        collected.put(
            CollectedQuestion(
                dataset=questions.name,
                question_id=question.id,
                question=question.text,
                answers=question.answers,
                passages=[str(number) for number in sorted(question.gold)],
                embedder=embedder.name,
                reranker=reader.name,
                decisions=[
                    drawn_decision(
                        seq, node.path, node.state, node.valid, behaviour(node.valid), EXPLORER, rng
                    )
                    for seq, node in enumerate(grown)
                ],
                outcomes=[Outcome(node.path, "evidence", node.quality, node.detail) for node in grown],
            )
        )
        left = (time.monotonic() - began) / number * (len(todo) - number)
        yield Progress("questions", total - len(todo) + number, total, left)


def behaviour(valid: Sequence[Action]) -> dict[Action, float]:
    """The default policy with a share of exploration, spread evenly over what is valid."""
    default = default_action(valid)
    return {
        action: (_EPSILON / len(valid) + (1 - _EPSILON) * (action == default)) if action in valid else 0.0
        for action in ACTIONS
    }


@dataclass(frozen=True, slots=True)
class Grown:
    """A state of a grown tree."""

    path: str  # first letters of the actions that led to it
    state: PolicyState
    valid: tuple[Action, ...]
    quality: float  # of finishing here; see `evidence_quality`
    detail: Mapping[str, float]  # ``complete``, ``recall``, ``answer`` (whether the evidence contains it)


class _RememberingRecall(Recall):
    """`Recall` that makes no search twice: the paths of a tree make the same searches again."""

    def __init__(self, library: Library, embedder: Embedder) -> None:
        super().__init__(library, embedder)
        self._searched: dict[object, list[Hit]] = {}

    def search(
        self, query: str, strategy: Strategy, scopes: Sequence[Scope], limit: int, *, keywords: str = ""
    ) -> list[Hit]:
        key = (query, strategy, tuple(scopes), limit, keywords)
        if key not in self._searched:
            self._searched[key] = super().search(query, strategy, scopes, limit, keywords=keywords)
        return self._searched[key]

    def forget(self) -> None:
        self._searched = {}


class Grower:
    """Grows trees over one collection, made by `tests.benchmarks.multihop.pool`."""

    def __init__(self, store: Store, collection: str, embedder: Embedder, reader: Reader) -> None:
        parts = Parts(ScriptedChat([]), embedder, reader, store, (collection,))
        # What a step found is told by `graded`: no language model is there to be asked.
        silent = replace(profile("lean", reader), reflect=lambda *_: NOTHING)
        self._store = store
        self._budget = parts.budget
        self._recall = _RememberingRecall(Library(store), embedder)
        self._reader = reader
        self._deps = replace(parts.deps(silent), recall=self._recall)

    def grow(self, question: Question) -> list[Grown]:
        """The states of a question, the shorter paths first."""
        self._recall.forget()
        self._deps = replace(self._deps, reader=MemoReader(self._reader))
        grown: list[Grown] = []
        with self._store.connect():  # one opening for all its searches
            begun = RunState({**new_state(question.text), "plan": _first_plan(question)})
            frontier = [("", self._step(begun, question))]
            while frontier:
                path, state = frontier.pop(0)
                node = self._seen(path, state, question)
                grown.append(node)
                if "CONTINUE" in node.valid:
                    taken = RunState({**state, "action": "CONTINUE"})
                    frontier.append((f"{path}C", self._step(taken, question)))
                if "REVISE" in node.valid:
                    taken = revised(RunState({**state, "action": "REVISE"}), question)
                    frontier.append((f"{path}R", self._step(taken, question)))
        return grown

    def _step(self, state: RunState, question: Question) -> RunState:
        return graded(research_step(resolved(state, question), self._deps))

    def _seen(self, path: str, state: RunState, question: Question) -> Grown:
        seen = policy_state(state, self._budget, self._budget.tokens)
        # As in a run, which stops by itself after steps that found nothing.
        spent = seen.barren >= self._budget.barren
        quality, detail = evidence_quality(state, question)
        return Grown(path, seen, ("FINISH",) if spent else valid_actions(seen), quality, detail)


def evidence_quality(state: RunState, question: Question) -> tuple[float, dict[str, float]]:
    """What finishing is worth by gold evidence: 1 if all of it is held, else up to a half.

    A part counts as the share of gold passages held, or as 1 if the evidence contains the answer: the gold
    passages need not be the only way to it.
    """
    held = {int(e["document"]) for e in state["evidence"]}  # the pool names a paragraph by its position
    recall = len(question.gold & held) / len(question.gold) if question.gold else 0.0
    text = " ".join(f"{e['title']} {e['text']}" for e in state["evidence"]).casefold()
    answer = float(any(a.casefold() in text for a in question.answers if len(a) > 3))
    complete = float(bool(question.gold) and recall == 1.0)
    quality = 1.0 if complete else _PARTIAL * max(recall, answer)
    return quality, {"complete": complete, "recall": recall, "answer": answer}


def graded(state: RunState) -> RunState:
    """The state with its last step's finding: its best passage, if that is graded to help."""
    if not state["notes"] or not state["candidates"]:
        return state
    best = max(state["candidates"], key=lambda c: c["scores"][RELEVANCE])
    found = best["scores"][RELEVANCE] >= _FOUND
    note = Note({**state["notes"][-1], "found": found, "answer": best["title"] if found else ""})
    return RunState({**state, "notes": [*state["notes"][:-1], note]})


def _first_plan(question: Question) -> list[PlanStep]:
    """The data set's smaller questions, else the question itself, and then with what it finds."""
    steps = [hop.question for hop in question.hops]
    return [look_up(one) for one in steps or [question.text, f"{question.text} #1"]]


def resolved(state: RunState, question: Question) -> RunState:
    """The state with the references of its next step put in.

    ``#n`` becomes the answer of the n-th smaller question where a held passage states it, as a reader would
    have found it; else the title of the best passage that was found for it, as one would have guessed.
    """
    position = state["position"] + 1
    if position >= len(state["plan"]):
        return state
    step = state["plan"][position]
    text = step["question"]
    for number in references(text):
        text = text.replace(f"#{number}", _answer(number, state, question))
    plan = [*state["plan"]]
    plan[position] = PlanStep({**step, "question": " ".join(text.split())})
    return RunState({**state, "plan": plan})


def revised(state: RunState, question: Question) -> RunState:
    """The state with another search put before what is left of the plan, as REVISE asks for it.

    The first of these that was not made yet: the names of a step that found nothing fitting, on their own,
    the weakest first; each name of the question that no held passage is about; the whole question with
    the best passage's title; the whole question.
    """
    done = state["plan"][: state["position"] + 1]
    rest = state["plan"][state["position"] + 1 :]
    made = {" ".join(note["question"].split()).casefold() for note in state["notes"]}
    searches = (search for search in _revisions(state, question) if search.casefold() not in made)
    search = next(searches, question.text)
    return RunState({**state, "plan": [*done, look_up(search), *rest], "revisions": state["revisions"] + 1})


def _revisions(state: RunState, question: Question) -> Iterator[str]:
    weak = [note for note in state["notes"] if note.get("relevance", 0.0) < _FOUND]
    for note in sorted(weak, key=lambda note: note.get("relevance", 0.0)):
        named = " ".join(_names(note["question"]))
        if named:
            yield named
    titles = [set(terms(e["title"])) for e in state["evidence"]]
    for name in _names(question.text):
        if not any(title.issuperset(terms(name)) for title in titles):
            yield name
    asked = question.text.casefold()
    for item in _strongest(state["evidence"])[:3]:
        if item["title"].casefold() not in asked:
            yield f"{question.text} {item['title']}"
    yield question.text


def _answer(number: int, state: RunState, question: Question) -> str:
    hop = question.hops[number - 1] if number <= len(question.hops) else Hop("", "")
    stated = hop.answer.casefold()
    if stated and any(stated in f"{e['title']} {e['text']}".casefold() for e in state["evidence"]):
        return hop.answer
    asked = question.text.casefold()
    best = [e for e in _strongest(state["evidence"]) if e["title"].casefold() not in asked]
    return best[0]["title"] if best else ""


def _strongest(evidence: Sequence[Evidence]) -> list[Evidence]:
    return sorted(evidence, key=lambda item: -item.get("relevance", 0.0))


def _names(text: str) -> list[str]:
    return phrases(text, language(text))
