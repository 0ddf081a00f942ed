"""A trajectory's prefixes are what runs would have given that finish there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from agent.budget import Budget
from agent.decisions.decider import Decision, PolicyState, certain
from agent.prompts import NOT_FOUND
from agent.state import Action
from models.protocols import ContextOverflow
from policy.decisions.trees import Node, Seen
from policy.evaluation.cache import CachedChat
from policy.evaluation.cases import Place
from policy.evaluation.looped import Looped
from policy.judging.walking import Decide
from policy.serving.scorers import Rule, Scores
from tests.agent.conftest import fill
from tests.benchmarks.trajectories import Trajectory, by_policy, tree, work
from tests.policy.evaluation.working import AGAIN, CASE, STEPS, WRITTEN, first_words, parts, reply, replying
from tests.scripted import HashEmbedder, Scripted, ScriptedChat
from traces.runs import Runs
from traces.store import Store

NO_REVISION = Budget(revisions=0)
WORDS: dict[str, Action] = {"C": "CONTINUE", "R": "REVISE"}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(tmp_path / "store.duckdb")
    fill(store, HashEmbedder())
    return store


def _worked(
    store: Store, calls: int, budget: Budget = NO_REVISION, leaving: Sequence[Decide] = ()
) -> Trajectory:
    with replying(calls) as chat:
        return work(CASE, parts(chat, store, budget), leaving, questions="toy", shorten=first_words)


class Following:
    """A policy that takes the actions of a path, then finishes."""

    name = "learned"
    warning = ""

    def __init__(self, path: str) -> None:
        self._actions: list[Action] = [*(WORDS[letter] for letter in path), "FINISH"]

    def decider(self) -> Following:
        return self

    def decide(self, state: PolicyState, valid: Sequence[Action]) -> Decision:
        action = self._actions.pop(0)
        return Decision(action, certain(action), "learned", 0.0)


def revise_at_once(node: Node) -> Action:
    """Revises before the plan is done."""
    return "REVISE" if node.path == "" else "FINISH"


def test_every_prefix_is_answered_and_measured(store: Store) -> None:
    worked = _worked(store, 4)  # a plan, a finding, two answers
    assert worked.key == ("toy", "1", "scripted")
    assert list(worked.prefixes) == ["", "C"]
    first, last = worked.prefixes.values()
    assert (first.question, first.finding[:8], first.places) == (
        STEPS[0],
        "Orlavane",
        (Place("annual-report"),),
    )
    assert (last.question, last.finding, last.places) == (
        "What halted production at the plant of Tolvang Ceramics?",
        "",
        (),
    )
    assert (first.answer, last.answer) == (WRITTEN, WRITTEN)
    assert (first.short, last.short) == ("Tolvang Ceramics", "Tolvang Ceramics")
    assert first.valid == ("CONTINUE", "FINISH")
    assert last.valid == ("FINISH",)
    # The question finds the other passage by itself.
    assert [p.measures["recall"] for p in (first, last)] == [1.0, 1.0]
    assert [p.measures["noted"] for p in (first, last)] == [0.5, 0.5]
    assert [p.measures["reached"] for p in (first, last)] == [1.0, 1.0]  # of five passages in all
    assert [p.measures["steps"] for p in (first, last)] == [1, 2]


def test_a_prefix_costs_its_research_and_its_own_answer(store: Store) -> None:
    first, last = _worked(store, 4).prefixes.values()
    assert first.measures["calls"] == last.measures["calls"] == 3
    assert first.measures["generated"] == last.measures["generated"]


REVISABLE = Budget(revisions=1)


@pytest.fixture(scope="module")
def branched(tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, Trajectory]:
    """A trajectory of which two paths are known, and the store that it was worked on."""
    store = Store(tmp_path_factory.mktemp("branched") / "store.duckdb")
    fill(store, HashEmbedder())
    # A plan and a finding, a revision on either path, four answers.
    return store, _worked(store, 8, REVISABLE, [revise_at_once])


@pytest.mark.parametrize("path", ["", "C", "CR", "R"])
def test_a_prefix_is_what_a_run_gives_that_finishes_there(
    branched: tuple[Store, Trajectory], path: str
) -> None:
    store, worked = branched
    assert list(worked.prefixes) == ["", "C", "R", "CR"]
    replayed = worked.prefixes[path]
    with replying(int(replayed.measures["calls"])) as chat:
        live = Looped("live", "lean", "learned", Following(path), first_words)
        answered = live.answer(CASE, parts(chat, store, REVISABLE))
    assert answered.text == replayed.answer
    assert answered.short == replayed.short
    told = {
        "steps": answered.cost.steps,
        "calls": answered.cost.calls,
        "generated": answered.cost.generated,
    }
    assert {name: replayed.measures[name] for name in told} == told
    read = replayed.measures["evaluated"] + replayed.measures["reused"]
    assert read == answered.cost.evaluated + answered.cost.reused
    assert replayed.measures["recall"] == 1.0
    assert answered.traced == {name: replayed.measures[name] for name in ("recalled", "noted")}
    decided = Runs(store).decisions(Runs(store).find("last").id)[-1]
    assert (decided.path, decided.text) == (path, replayed.state)
    # On a branch a little more of the prompt was known than in a run of its own: a finding.
    assert decided.features == pytest.approx(replayed.features, abs=0.0 if path != "R" else 0.001)
    if not replayed.stopped:
        assert tuple(decided.valid_actions) == replayed.valid


def test_a_decider_that_leaves_the_chain_is_worked_on(store: Store) -> None:
    worked = _worked(store, 6, Budget(revisions=1, steps=2), [revise_at_once])
    assert list(worked.prefixes) == ["", "C", "R"]
    assert worked.prefixes["R"].question == AGAIN
    assert worked.prefixes["R"].measures["calls"] == 4  # plan, finding, revision, answer


def test_rules_that_leave_the_chain_are_worked_on(store: Store) -> None:
    # The first step finds nothing, the second needs it: the rules revise where the plan would go on.
    script: list[Scripted] = [
        ("Split the QUESTION", {"steps": STEPS}),
        (STEPS[0], {"source": 0, "answer": ""}),
        ("Still missing", {"steps": [AGAIN]}),
        *[("PASSAGES:", NOT_FOUND)] * 3,
    ]
    with ScriptedChat(script) as chat:
        budget = Budget(revisions=1, steps=2)
        worked = work(CASE, parts(chat, store, budget), questions="toy", shorten=first_words)
    assert worked.prefixes[""].rules == "REVISE"
    assert list(worked.prefixes) == ["", "C", "R"]
    assert {p.short for p in worked.prefixes.values()} == {""}
    assert all(p.measures["abstained_wrongly"] for p in worked.prefixes.values())


def test_a_budget_that_runs_out_ends_the_path(store: Store) -> None:
    full = ContextOverflow("The prompt is too long.", "Ask something shorter.")
    with ScriptedChat([reply, reply, full, reply, reply, reply]) as chat:
        worked = work(CASE, parts(chat, store, Budget()), questions="toy", shorten=first_words)
    assert list(worked.prefixes) == ["", "C", "CR"]
    last = worked.prefixes["CR"]
    assert (last.valid, last.stopped) == (("FINISH",), "context")
    assert (last.question, last.query, last.finding) == ("", "", "")
    assert last.answer.startswith(WRITTEN)


def test_a_budget_without_room_for_a_plan_leaves_what_the_question_finds_by_itself(store: Store) -> None:
    worked = _worked(store, 0, Budget(tokens=200))
    assert all(prefix.answer.endswith("Tolvang Ceramics [1].") for prefix in worked.prefixes.values())


def test_two_barren_steps_end_the_path(store: Store) -> None:
    worked = _worked(store, 6, Budget(revisions=3, barren=1))
    assert list(worked.prefixes) == ["", "C", "CR"]
    assert worked.prefixes["CR"].stopped == "no new evidence in 1 steps"
    assert worked.prefixes["CR"].valid == ("FINISH",)


def test_what_comes_from_the_cache_costs_what_it_cost(store: Store, tmp_path: Path) -> None:
    with replying(4) as chat:
        cached = CachedChat(chat, tmp_path / "replies.jsonl")
        first = work(CASE, parts(cached, store, NO_REVISION), questions="toy", shorten=first_words)
    with replying(0) as chat:
        cached = CachedChat(chat, tmp_path / "replies.jsonl")
        again = work(CASE, parts(cached, store, NO_REVISION), questions="toy", shorten=first_words)

    def timeless(worked: Trajectory) -> Trajectory:
        return replace(
            worked,
            prefixes={
                path: replace(prefix, measures={**prefix.measures, "seconds": 0.0})
                for path, prefix in worked.prefixes.items()
            },
        )

    assert timeless(first) == timeless(again)


def test_a_tree_has_the_quality_that_policies_learn_from(store: Store) -> None:
    worked = _worked(store, 4)
    measures = {**worked.prefixes[""].measures, "f1": 0.4, "holds": 0.0, "recall": 0.5}
    wrong = replace(worked.prefixes[""], measures=measures)
    made = tree(replace(worked, prefixes={**worked.prefixes, "": wrong}))
    assert made.question == "toy/1"
    assert made.dataset == "toy"
    assert [node.quality for node in made.nodes.values()] == [0.4, 1.0]
    assert [node.detail["complete"] for node in made.nodes.values()] == [0.0, 1.0]
    assert made.root.seen == Seen(wrong.state, wrong.features, wrong.valid)


def test_an_invalid_action_is_refused(store: Store) -> None:
    with pytest.raises(ValueError, match="not valid at ''"), ScriptedChat([reply] * 9) as chat:
        work(
            CASE,
            parts(chat, store, NO_REVISION),
            [lambda _node: "REVISE"],
            questions="toy",
            shorten=first_words,
        )


def test_a_learned_policy_is_asked_state_by_state() -> None:
    class Revising:
        method = "forest"

        def score(self, states: Sequence[Seen]) -> Scores:
            assert len(states) == 1
            return Scores(np.array([[0.0, 0.3, -0.1]]), np.array([0.5]))

    state = Node("", Seen("", {}, ("CONTINUE", "REVISE", "FINISH")), None)
    assert by_policy(Revising(), Rule(0.2, 1.0))(state) == "REVISE"
    assert by_policy(Revising(), Rule(0.4, 1.0))(state) == "CONTINUE"
