"""The cognitive steps of a collected question: nothing is read by a language model, nothing told by gold.

A good plan is given (the data set's own smaller questions), and a good reader is assumed for the one thing
a plan needs of it: where a held passage states an answer that a later step refers to, that answer is put
in. What the *state* shows of it is what any run would know: the title of the step's best passage.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace

from agent.budget import Budget
from agent.cognition import Finding, Spans
from agent.decisions.sources import Rules
from agent.deps import Deps
from agent.profiles import profile
from agent.retrieval.recall import Recall
from agent.session import Session
from agent.state import RELEVANCE, Evidence, Note, PlanStep, RunState
from agent.steering import Steering
from agent.steps.plan import look_up
from agent.steps.reflect import NOTHING
from agent.text.language import language
from agent.text.names import phrases
from agent.text.terms import terms
from models.protocols import ChatOptions, Choice, Message, ModelError, Reader, Reply
from models.token_estimate import at_most
from tests.benchmarks.multihop import Hop, Question, references
from traces.library import Library

FOUND = 0.5
"""Relevance of a step's best passage from which the step counts as having found something."""


class SilentChat:
    """A `Chat` that counts tokens and says nothing: whoever asks it anything has made a mistake."""

    name = "none"
    context_tokens = 32_768

    def count_tokens(self, text: str) -> int:
        """An estimate, never too low."""
        return at_most(text)

    def generate(self, messages: Sequence[Message], options: ChatOptions) -> Reply:
        """Raises `ModelError`."""
        raise ModelError("A question is collected without a language model.", "Report this.")

    def choose(
        self, messages: Sequence[Message], options: Sequence[str], cancel: threading.Event | None = None
    ) -> Choice:
        """Raises `ModelError`."""
        raise ModelError("A question is collected without a language model.", "Report this.")

    def close(self) -> None:
        """Nothing to free."""


def silent_finding(
    session: Session, notebook: Sequence[str], question: str, evidence: Sequence[Evidence], spans: Spans
) -> Finding:
    """Nothing; what a step found is told by `graded`."""
    return NOTHING


def graded(state: RunState) -> RunState:
    """The state with its last step's finding: its best passage, if that is graded to help."""
    if not state["notes"] or not state["candidates"]:
        return state
    best = max(state["candidates"], key=lambda c: c["scores"][RELEVANCE])
    found = best["scores"][RELEVANCE] >= FOUND
    note = Note({**state["notes"][-1], "found": found, "answer": best["title"] if found else ""})
    return RunState({**state, "notes": [*state["notes"][:-1], note]})


def unread(
    library: Library,
    collection: str,
    recall: Recall,
    reader: Reader,
    budget: Budget,
) -> Deps:
    """What a ``lean`` run over one collection works with, where no language model is there to be asked."""
    session = Session(SilentChat(), budget, lambda _event: None, Steering())
    cognition = replace(profile("lean", reader), reflect=silent_finding)
    return Deps(
        session=session,
        cognition=cognition,
        decider=Rules(),
        library=library,
        recall=recall,
        reader=reader,
        collections=tuple(library.require_collections((collection,))),
    )


def first_plan(question: Question) -> list[PlanStep]:
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
    weak = [note for note in state["notes"] if note.get("relevance", 0.0) < FOUND]
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
