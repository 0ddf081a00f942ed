"""From stores and policy folders to the table: what the command of the protocol does, in two parts.

Judging takes hours and is kept line by line; scores are kept too. Both go on where they were cut off.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal

from models.protocols import Chat
from policy import forest
from policy.evaluation.judges import Judge, Judgement, Judgements
from policy.evaluation.keeping import Keeping
from policy.evaluation.protocol import (
    Policies,
    Results,
    Settings,
    decision_ms,
    evaluate,
    leave_one_out,
)
from policy.evaluation.report import circumstances, keep
from policy.evaluation.walking import score
from policy.folder import open_policy
from policy.folder import read as read_manifest
from policy.improvement import improved
from policy.manifest import Manifest
from policy.reading import distinct
from policy.registry import Registry, base_of
from policy.rule import Rule
from policy.scorers import Scorer
from policy.sources import trees_of
from policy.splits import split
from policy.training.freezing import freeze
from policy.trees import Tree
from traces.errors import DeepthinkError


class CannotEvaluate(DeepthinkError):
    """Raised when what is given cannot be evaluated."""

    title = "This cannot be evaluated"
    kind: ClassVar[Literal["input"]] = "input"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What goes into the table.

    Attributes:
        training: Collected stores of training questions; one in five of these is for validation, the same
            ones as in training.
        test: Collected stores of test questions.
        policies: Names of trained policies, or folders.
        judgements: What language models said; None for no judges.
        few: How many questions of each data set a slow policy is evaluated on, by its name or folder.
        work: Where scores are kept.
        out: The Markdown; the JSON is written beside it.
        settings: Cost and bootstrap.
    """

    training: Sequence[Path]
    test: Sequence[Path]
    policies: Sequence[str]
    judgements: Path | None
    work: Path
    out: Path
    few: Mapping[str, int] = field(default_factory=dict)
    settings: Settings = field(default_factory=Settings)


def judge(
    stores: Sequence[Path], chat: Chat, questions: int, file: Path, told: Callable[[Judgement], None]
) -> int:
    """Have ``chat`` judge so many questions of each data set; the same ones whichever the model.

    Raises:
        NoSuchSource: a store is not there.
        CannotEvaluate: the stores hold nothing to evaluate on.
        BadLines: ``file`` holds something else.
        ModelError: the model fails; what was judged before is kept.
    """
    return Judgements(file).ask(chosen(_trees(stores), questions), chat, told)


def chosen(trees: Sequence[Tree], questions: int) -> list[Tree]:
    """So many of each data set, by the digest of their ids, so that more of them contain the fewer."""
    taken: Counter[str] = Counter()
    found = []
    for tree in sorted(trees, key=lambda one: hashlib.sha256(one.question.encode()).digest()):
        if taken[tree.dataset] < questions:
            taken[tree.dataset] += 1
            found.append(tree)
    return found


def table(wanted: Wanted, command: str, told: Callable[[str], None]) -> Results:
    """Run the whole protocol and write its tables.

    Args:
        wanted: What goes into them.
        command: That was given, for the record.
        told: Called with what is begun.

    Raises:
        NoSuchSource: a store is not there.
        CannotEvaluate: the stores hold nothing to evaluate on.
        BadPolicy: a policy cannot be opened.
        UnknownPolicy: there is none of a name.
        BadLines: the judgements cannot be read.
    """
    told("Reading the questions")
    training, validation = split(_trees(wanted.training))
    test = _unseen(_trees(wanted.test), [*training, *validation])
    policies, milliseconds, only = _scored(wanted, validation, test, told)
    settings, judges = wanted.settings, _judges(wanted.judgements)
    told("Walking")
    try:
        results = evaluate(training, validation, test, policies, judges, settings, milliseconds, only)
        left_out = []
        if len({tree.dataset for tree in test}) > 1:
            told("Leaving out one data set at a time")
            left_out = leave_one_out(training, validation, test, _fit(settings.cost), settings)
    except ValueError as error:
        raise CannotEvaluate(str(error), "Collect more: “deepthink collect --help”.") from error
    whole = Results(results.settings, results.scopes, left_out)
    notes = [f"Learned from {_sets(training)}; thresholds on {_sets(validation)}; tested on {_sets(test)}."]
    wanted.out.parent.mkdir(parents=True, exist_ok=True)
    keep(whole, list(policies), circumstances(command, notes), wanted.out)
    return whole


def _scored(
    wanted: Wanted, validation: Sequence[Tree], test: Sequence[Tree], told: Callable[[str], None]
) -> tuple[Policies, dict[str, float], dict[str, set[str]]]:
    """The policies with their scores kept, their milliseconds, and what slow ones are asked of only."""
    policies: dict[str, tuple[Scorer, Rule]] = {}
    milliseconds: dict[str, float] = {}
    only: dict[str, set[str]] = {}
    for name in wanted.policies:
        scorer, rule, manifest = _opened(name)
        called = manifest.method if manifest.method not in policies else manifest.name
        told(f"Scoring with {called} ({manifest.name})")
        milliseconds[called] = decision_ms(scorer, test)
        policies[called] = (Keeping(scorer, _kept(wanted.work, manifest)), rule)
        if name in wanted.few:
            some = [*chosen(test, wanted.few[name]), *chosen(validation, wanted.few[name])]
            only[called] = {tree.question for tree in some}
        for trees in (validation, test):
            score(trees, policies[called][0], only.get(called))
    return policies, milliseconds, only


def _fit(cost: float) -> Callable[[Sequence[Tree], Sequence[Tree]], Policies]:
    """The forest, which takes seconds."""
    return lambda training, validation: {"forest": refitted(training, validation, cost)}


def refitted(training: Sequence[Tree], validation: Sequence[Tree], cost: float) -> tuple[Scorer, Rule]:
    """A forest, trained and frozen as `deepthink train-policy` does it."""
    frozen = freeze(forest.fit(improved(training, cost), seed=0), validation, cost)
    return frozen.scorer, frozen.rule


def _trees(stores: Sequence[Path]) -> list[Tree]:
    found = [tree for store in stores for tree in trees_of(store)]
    measured = [tree for tree in distinct(found) if any(n.quality is not None for n in tree.nodes.values())]
    if not measured:
        raise CannotEvaluate(
            "There is no question whose outcome is known.", "Collect some: “deepthink collect --help”."
        )
    return measured


def _unseen(trees: Sequence[Tree], learned: Sequence[Tree]) -> list[Tree]:
    """Those that nothing was learned from, in these words or under this name."""
    ids, words = {tree.question for tree in learned}, {_words(tree) for tree in learned if tree.text}
    unseen = [tree for tree in trees if tree.question not in ids and _words(tree) not in words]
    if not unseen:
        raise CannotEvaluate(
            "Every test question is a training question too.", "Give stores of other questions to test on."
        )
    return unseen


def _words(tree: Tree) -> str:
    return " ".join(tree.text.split()).casefold()


def _opened(name: str) -> tuple[Scorer, Rule, Manifest]:
    folder = Path(name) if Path(name).is_dir() else Registry().find(name)
    return open_policy(folder, base_of(read_manifest(folder)))


def _kept(work: Path, manifest: Manifest) -> Path:
    """Named after the weights too: a policy of the same name may be another one."""
    weights = hashlib.sha256(repr(sorted(manifest.files.items())).encode()).hexdigest()[:12]
    return work / f"{manifest.name}-{weights}.npz"


def _judges(file: Path | None) -> list[Judge]:
    said = Judgements(file).all() if file else []
    return [Judge(said, model) for model in dict.fromkeys(one.model for one in said)]


def _sets(trees: Sequence[Tree]) -> str:
    counted = sorted(Counter(tree.dataset for tree in trees).items())
    return f"{len(trees)} questions ({', '.join(f'{n} {name}' for name, n in counted)})"
