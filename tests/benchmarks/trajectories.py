"""Full-length trajectories: a question worked through once, with an answer written at every prefix.

A run that is told to stop shows nothing of what would have followed. So the ``lean`` loop goes on here
until only FINISH is possible, and what finishing would have given is known by answering at each state.
Every stopping rule is then scored exactly by replaying prefixes: finishing earlier needs nothing that was
not observed.

All research is done before the first answer is written, and all answers, the longest prefix first, before
the first is shortened. So what an engine keeps of a prompt serves the research as in a run of its own, and
what a prefix took is what a run that finishes there takes, but for the tokens of the notebook that only a
longer prefix evaluated, and that it then reuses: those of its last finding, or of its evidence where no
step had asked the model.

On disk a question that was worked through is a line of JSON, and not worked through again. Answers and
findings quote passages: the file is for a work folder, the rows made of it can be given on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from annotated_types import MinLen
from pydantic import BeforeValidator, PlainSerializer, TypeAdapter

from agent.decisions.decider import policy_state, used_up, valid_actions
from agent.decisions.judges import Rules
from agent.deps import Deps
from agent.profiles import profile
from agent.request import searchable
from agent.session import Session
from agent.state import Action, Note, RunState
from agent.stepping import begun, finish, planned_step, updated
from models.protocols import Usage
from policy.decisions.trees import Node, Seen, Tree
from policy.evaluation.answered import Answered, Cost, Parts, ids_of, noted, numbered, places_of, traced
from policy.evaluation.cache import clock
from policy.evaluation.cases import Case, Place
from policy.evaluation.metrics import measured
from policy.evaluation.plain import WatchedRecall
from policy.evaluation.rows import KeyedLines
from policy.evaluation.shortening import Shorten, short_form
from policy.evaluation.shortening import shorten as shorten_by_model
from policy.judging.walking import Decide
from policy.serving.learned import seen as as_seen
from policy.serving.scorers import Rule, Scorer
from tests.benchmarks.untrained import go_on
from traces.library import Library


def _by_path(prefixes: Any) -> dict[str, Prefix]:
    """A line has them as a list; the first state must be among them."""
    found = {prefix.path: prefix for prefix in TypeAdapter(list[Prefix]).validate_python(prefixes)}
    if "" not in found:
        raise ValueError("the first state is missing")
    return found


@dataclass(frozen=True, slots=True)
class Prefix:
    """A state of a trajectory, and what finishing there gives.

    Attributes:
        path: First letters of the actions taken to it; "" for the first decision, after one step.
        state: `agent.decisions.state_text.state_text` of it.
        features: `agent.decisions.features.features` of it.
        valid: What may be done; FINISH alone where the run stops by itself.
        rules: What `agent.decisions.judges.Rules` do here.
        measures: `policy.evaluation.metrics.measured` of the answer that is written here.
        answer: That answer.
        short: In as few words as the question asks for; "" for an abstention.
        stopped: Why the run stops here by itself; "" where it does not.
        question: Of the step that led here; "" where a revision brought none.
        query: What was searched for in it.
        finding: What it found, in a sentence.
        places: What the finding cites.
        passages: As `Answered.passages`; None in a line from before they were kept.
    """

    path: str
    state: str
    features: Mapping[str, float]
    valid: Annotated[tuple[Action, ...], MinLen(1)]
    rules: Action
    measures: Mapping[str, float]
    answer: str
    short: str
    stopped: str = ""
    question: str = ""
    query: str = ""
    finding: str = ""
    places: tuple[Place, ...] = ()
    passages: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Trajectory:
    """A question that was worked through with one model.

    Attributes:
        questions: Name of the set.
        question: Its id there.
        model: The language model's name.
        text: The question in words.
        prefixes: By path; "" is there.
        case: `policy.evaluation.cases.Case.digest` of what was asked.
    """

    questions: str
    question: str
    model: str
    text: str
    prefixes: Annotated[
        Mapping[str, Prefix],
        BeforeValidator(_by_path),
        PlainSerializer(lambda prefixes: list(prefixes.values()), return_type=list[Prefix]),
    ]
    case: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """What there is one trajectory of."""
        return self.questions, self.question, self.model


def tree(trajectory: Trajectory) -> Tree:
    """The trajectory as what policies are walked on.

    Quality is what they learn from (`policy.collecting.with_model`): the F1 of the short answer, or 1 if
    the whole answer states a right one. Detail is the measures, and ``complete`` where gold is known.
    """
    nodes = {
        path: Node(
            path,
            Seen(prefix.state, prefix.features, prefix.valid),
            max(prefix.measures["f1"], prefix.measures.get("holds", 0.0)),
            "answer",
            _detail(prefix.measures),
        )
        for path, prefix in trajectory.prefixes.items()
    }
    return Tree(
        f"{trajectory.questions}/{trajectory.question}", trajectory.questions, nodes, trajectory.text
    )


class Trajectories(KeyedLines[Trajectory]):
    """The trajectories in ``file``."""

    def __init__(self, file: Path) -> None:
        super().__init__(file, Trajectory, lambda trajectory: trajectory.key)


def _detail(measures: Mapping[str, float]) -> dict[str, float]:
    recall = measures.get("recall")
    return {**measures} if recall is None else {**measures, "complete": float(recall >= 1.0)}


def by_policy(scorer: Scorer, rule: Rule) -> Decide:
    """A learned policy that is asked state by state, as a run asks it."""

    def decide(node: Node) -> Action:
        return rule.action(node.valid, scorer.score([node.seen]).advantages[0])

    return decide


def work(
    case: Case,
    parts: Parts,
    leaving: Sequence[Decide] = (),
    *,
    questions: str,
    shorten: Shorten = shorten_by_model,
) -> Trajectory:
    """Work a question through to the end, and along the paths of deciders that leave this chain.

    The chain is CONTINUE where it is valid, else REVISE, until only FINISH is. The rules, who revise before
    a plan is done, are always walked.

    Args:
        case: The question.
        parts: What to work with. Answers that are not grounded are accepted, flagged as they are.
        leaving: Whose walks have to be known too. Each is asked about the states as they become known, and
            where it leaves them the run is worked on from there.
        questions: Name of the set.
        shorten: Makes the short answers; not charged.

    Raises:
        EmptyLibrary, UnknownCollection: there is nothing to search.
        ModelError: the model fails.
        ValueError: a decider chose what is not valid.
    """
    working = _Working(case, parts)
    working.follow(go_on)
    for decide in (working.rules, *leaving):
        working.follow(decide)
    answers = working.answers()
    prefixes: dict[str, Prefix] = {}
    for path, answered in answers.items():
        short = "" if answered.abstained else short_form(case, answered.text, parts.chat, shorten)
        prefixes[path] = working.prefix(path, replace(answered, short=short))
    in_order = {path: prefixes[path] for path in sorted(prefixes, key=lambda path: (len(path), path))}
    return Trajectory(questions, case.id, parts.chat.name, case.question, in_order, case.digest)


@dataclass(frozen=True, slots=True)
class _Spent:
    """What the research took so far."""

    calls: int = 0
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class _Reached:
    """A state on the way: the run as it stands, and all that the path to it took and saw."""

    node: Node
    run: RunState
    rules: Action
    stopped: str
    note: Note | None
    spent: _Spent
    first: frozenset[Place]  # where the first hundred hits of its searches stand
    recalled: frozenset[Place]  # where those stand that the searches brought


class _Working:
    """A question under work."""

    def __init__(self, case: Case, parts: Parts) -> None:
        self._case = case
        self._parts = parts
        library = Library(parts.store)
        cognition = profile("lean", parts.reader, parts.planner)
        session = self._session(_Spent())
        self._recall = WatchedRecall(library, parts.embedder)
        self._deps = Deps(
            session=session,
            cognition=cognition,
            decider=cognition.decider(session),
            library=library,
            recall=self._recall,
            reader=parts.reader,
            collections=searchable(library, parts.collections, web=False),
            approve="always",
        )
        self._known: dict[str, _Reached] = {}
        began = clock(parts.chat)
        state = begun(case.question, self._deps)
        spent = _Spent(session.ledger.calls, session.ledger.usage, clock(parts.chat) - began)
        self._step("", state, None, spent)

    def rules(self, node: Node) -> Action:
        """What the rules do, from the whole state: a tree holds less of it."""
        return self._known[node.path].rules

    def follow(self, decide: Decide) -> None:
        """Walk with ``decide`` until it finishes, or does not know, working on where nothing is known."""
        at = self._known[""]
        while (action := decide(at.node)) is not None and action != "FINISH":
            if action not in at.node.valid:
                raise ValueError(f"{action} is not valid at {at.node.path!r}: {at.node.valid}")
            path = at.node.path + action[0]
            if path not in self._known:
                self._step(path, updated(at.run, {"action": action}), at, at.spent)
            at = self._known[path]

    def answers(self) -> dict[str, Answered]:
        """What finishing gives at each state, not yet shortened."""
        # Paths that share their beginning one after the other, the longer ones first: each prompt is then
        # the beginning of the one before it, and little of it has to be read again.
        return {path: self._answered(self._known[path]) for path in sorted(self._known, reverse=True)}

    def prefix(self, path: str, answered: Answered) -> Prefix:
        """A state as it is kept."""
        at = self._known[path]
        note = at.note
        return Prefix(
            path=path,
            state=at.node.seen.text,
            features=at.node.seen.features,
            valid=at.node.valid,
            rules=at.rules,
            measures=measured(self._case, answered),
            answer=answered.text,
            short=answered.short,
            stopped=at.stopped,
            question=note["question"] if note else "",
            query=at.run["query"] if note else "",
            finding=note["sentence"] if note else "",
            places=places_of(numbered(at.run["evidence"], note["cites"]) if note else ()),
            passages=answered.passages,
        )

    def _step(self, path: str, state: RunState, before: _Reached | None, spent: _Spent) -> None:
        """One research step, after the plan that it needs; a budget that runs out in it ends the path."""
        deps = replace(self._deps, session=self._session(spent))
        self._recall.made = []
        began, notes = clock(self._parts.chat), len(state["notes"])
        state, stopped = planned_step(state, deps)
        ledger = deps.session.ledger
        spent = _Spent(ledger.calls, ledger.usage, spent.seconds + clock(self._parts.chat) - began)
        seen = policy_state(state, self._parts.budget, ledger.tokens_left)
        stopped = stopped or used_up(
            seen, self._parts.budget, out_of_time=spent.seconds >= self._parts.budget.seconds
        )
        valid: tuple[Action, ...] = ("FINISH",) if stopped else valid_actions(seen)
        self._known[path] = _Reached(
            node=Node(path, as_seen(seen, valid), None),
            run=state,
            rules=Rules().decide(seen, valid).action,
            stopped=stopped,
            note=next(iter(state["notes"][notes:]), None),
            spent=spent,
            first=self._recall.first() | (before.first if before else frozenset()),
            recalled=self._recall.brought() | (before.recalled if before else frozenset()),
        )

    def _answered(self, at: _Reached) -> Answered:
        deps = replace(self._deps, session=self._session(at.spent))
        began = clock(self._parts.chat)
        state = finish(at.run, deps)
        ledger, claims = deps.session.ledger, state["claims"]
        return Answered(
            text=state["answer"],
            short="",
            abstained=state["status"] != "answered",
            held=places_of(state["evidence"]),
            cited=places_of(numbered(state["evidence"], (n for claim in claims for n in claim["cites"]))),
            sentences=len(claims),
            flagged=sum(claim["verdict"] != "supported" for claim in claims),
            cost=Cost(
                steps=state["step"],
                calls=ledger.calls,
                evaluated=ledger.usage.evaluated,
                reused=ledger.usage.reused,
                generated=ledger.usage.generated,
                seconds=at.spent.seconds + clock(self._parts.chat) - began,
            ),
            stopped=at.stopped,
            traced=traced(
                self._case,
                reached=at.first,
                recalled=at.recalled,
                noted=noted(state["evidence"], state["notes"]),
            ),
            passages=ids_of(state["evidence"]),
        )

    def _session(self, spent: _Spent) -> Session:
        """A way to the model whose budget is what a run has left that took this path alone."""
        session = Session(self._parts.chat, self._parts.budget, lambda _event: None)
        session.ledger.calls, session.ledger.usage = spent.calls, spent.usage
        session.stop.extend(-spent.seconds)
        return session
