"""Step ``look``: the question itself is searched and read as it is, before anything is planned.

So a plan can only add to what the question finds by itself, and a first look is shown at once. A follow-up
comes here from ``route``, which has completed it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agent import notebook
from agent.deps import Deps
from agent.events import FirstLook, Planned, Routed
from agent.state import Candidate, RunState, without_marks
from agent.steps.plan_text import look_up
from agent.steps.reflect import likely_span
from agent.steps.rerank import LIKELY, POSSIBLE, read
from agent.steps.retrieve import recall
from agent.text.language import in_latin_script, readable
from agent.text.sentences import sentences
from agent.text.terms import nearest, terms

_FIRST = 8
"""Passages that are read before the others, so that a likely answer among them is shown sooner."""
_CLEARLY = LIKELY - POSSIBLE
"""How much likelier the user's own words must find an answer than what the planner made of them."""


def look(state: RunState, deps: Deps) -> dict[str, Any]:
    """Reads asked, question, turns. Writes looked, notebook, and at times question, route, plan.

    A planner puts the conversation into questions that have nothing to do with it, and leaves out words of
    those that do. Where the user's own words find a likelier answer, they are the question.
    """
    question = state["question"]
    if not deps.cognition.instant:
        return _looked(question, [], deps)
    passages = _search(question, deps)
    for typed, needed, reason in _as_typed(state, _best(passages)):
        typed_passages = read(deps.reader, typed, recall(typed, deps))
        if _best(typed_passages) > needed:
            _show_best(typed, typed_passages, deps)
            deps.session.emit(Routed("single", reason, "reader", state["asked"], typed))
            changed = {"question": typed, "route": "single", "plan": [look_up(typed)]}
            return {**_looked(typed, typed_passages, deps), **changed}
    return _looked(question, passages, deps)


def _as_typed(state: RunState, best: float) -> Iterator[tuple[str, float, str]]:
    """The user's own words in place of a rewritten question; how likely an answer they must find, and why.

    Alone, they must find a clearly likelier one. Where the planner left some of them out of a single
    look-up, they have the question before in brackets if that finds a likelier answer, or if the look-up
    finds no likely one; else the look-up.
    """
    question, asked = state["question"], state["asked"]
    if not state["turns"] or asked == question:
        return
    needed = max(LIKELY, best + _CLEARLY)
    if readable(asked) and needed < 1:
        yield asked, needed, "It is no follow-up."
    # Beside the other question, one of function words alone, such as "and when?", has no terms to lose.
    if state["route"] == "single" and set(terms(f"{asked} {question}")) - set(terms(question)):
        reason = "The rewritten question had lost some of your words."
        yield f"{asked} ({state['turns'][-1]['question']})", best if best >= LIKELY else 0.0, reason
        yield f"{asked} ({question})", 0.0, reason


def _looked(question: str, passages: list[Candidate], deps: Deps) -> dict[str, Any]:
    entries = deps.grown([], notebook.opening(question, deps.described))
    return {"looked": passages[: deps.evidence_limit], "notebook": entries}


def _search(question: str, deps: Deps) -> list[Candidate]:
    """The passages that a question finds, read, best first.

    An answer that is likely is shown at once, else what is nearest to one in the best passage.
    """
    candidates = recall(question, deps)
    if not in_latin_script(question):  # the reader orders them with the keywords; what it marks is a guess
        passages = read(deps.reader, question, candidates)
        _show_nearest(question, passages, deps)
        return passages
    is_shown = _show_answer(read(deps.reader, question, candidates[:_FIRST]), deps)
    passages = read(deps.reader, question, candidates)  # what was read is remembered
    if not is_shown:
        _show_best(question, passages, deps)
    return passages


def _best(passages: list[Candidate]) -> float:
    return max((passage["score"] for passage in passages), default=0.0)


def _show_best(question: str, passages: list[Candidate], deps: Deps) -> None:
    if not _show_answer(passages, deps):
        _show_nearest(question, passages, deps)


def _show_answer(passages: list[Candidate], deps: Deps) -> bool:
    """Show the most probable answer in the likely passages; False if it is not likely."""
    best = likely_span((place, p["score"], p.get("spans", [])) for place, p in enumerate(passages))
    if best is None:
        return False
    _show(passages[best[0]], best[1]["text"], best[1]["unit"], best[1]["probability"], deps)
    return True


def _show_nearest(question: str, passages: list[Candidate], deps: Deps) -> None:
    """Show what the reader marks in the best passage, else its sentence that is nearest to the question."""
    for passage in passages[:1]:
        spans = passage.get("spans", []) if in_latin_script(question) else []
        units = [span["unit"] for span in spans[:1]] or sentences(passage["text"])
        if units:
            _show(passage, "", without_marks(units[nearest(units, question)]), passage["score"], deps)


def _show(passage: Candidate, answer: str, sentence: str, probability: float, deps: Deps) -> None:
    deps.session.emit(
        FirstLook(
            answer=answer,
            sentence=sentence,
            passage_id=passage["passage_id"],
            title=passage["title"],
            page=passage["page"],
            probability=probability,
        )
    )


def single_shot(state: RunState, deps: Deps) -> dict[str, Any]:
    """Reads question, looked, plan. Writes plan: the question itself, in the collection that its look-up
    prefers, unless the best passage of the first look is in another.
    """
    tool = state["plan"][0]["tool"] if len(state["plan"]) == 1 else ""
    if any(passage["collection"] != tool for passage in state["looked"][:1]):
        tool = ""
    step = look_up(state["question"], tool)
    deps.session.emit(Planned([step], 0, state["planned_by"]))
    return {"plan": [step]}
