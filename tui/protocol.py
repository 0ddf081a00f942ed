"""The whole protocol of the policies in one go: collect, train, judge, evaluate. Each part is resumable."""

from __future__ import annotations

import hashlib
import random
import threading
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from rich.text import Text

from policy.collecting.model_free import ModelFree, collect
from policy.evaluation import judges, report
from policy.evaluation.keeping import Keeping
from policy.evaluation.protocol import Policies, Scope, Settings, evaluate, leave_one_out
from policy.folder import open_policy, read
from policy.manifest import Method
from policy.reading import load_trees
from policy.registry import Registry, base_of
from policy.rule import Rule
from policy.scorers import Scorer
from policy.training.course import train
from policy.training.material import Material, gather
from policy.training.request import TrainingRequest
from policy.trees import Tree
from traces.errors import DeepthinkError
from traces.store import Store
from tui import failures
from tui.assemble import open_chat, open_embedder, open_reranker
from tui.collecting import watch_collecting
from tui.interrupts import ctrl_c
from tui.settings import load
from tui.terminal import console
from tui.training_view import show_training


class NoProtocolData(DeepthinkError):
    """Raised when a folder holds no question sets with a train and a dev file."""

    title = "Nothing to evaluate on"
    kind = "usage"


@dataclass(frozen=True, slots=True)
class Protocol:
    """What the protocol is run with.

    Attributes:
        data: Folder with ``NAME_train.jsonl`` and ``NAME_dev.jsonl`` of each set.
        work: Where everything on the way is kept, so that the same command goes on.
        methods: What is trained.
        judges: Language models that judge as well, by name.
        judge_questions: How many of the test questions they judge, drawn by the seed.
        limit: Questions of each file; None for all.
        cost: Of a step.
        seed: Of everything that is drawn.
        out: The Markdown; the JSON goes beside it.
        command: As it was typed.
    """

    data: Path
    work: Path
    methods: tuple[Method, ...]
    judges: tuple[str, ...]
    judge_questions: int
    limit: int | None
    cost: float
    seed: int
    out: Path
    command: str


def run_protocol(wanted: Protocol) -> int:
    """Run it; the exit code.

    Raises:
        NoProtocolData: the folder has no such files.
        ModelMissing: a model is not on this machine.
    """
    train_files, test_files = _files(wanted.data)
    with ctrl_c() as cancel:
        training = [_collected(file, wanted, cancel) for file in train_files]
        testing = [_collected(file, wanted, cancel) for file in test_files]
        if cancel.is_set():
            return failures.EXIT_CODES["cancelled"]
        for method in wanted.methods:
            _trained(method, training, wanted, cancel)
        test = [tree for store in testing for tree in load_trees(Store(store)).trees]
        material = gather(training, wanted.work / "imported")
        judged = [_judged(name, test, wanted) for name in wanted.judges]
    policies = _policies(wanted)
    _say("Walking every policy over every question.")
    settings = Settings(cost=wanted.cost)
    results = evaluate(material.training, material.validation, test, policies, judged, settings)
    _say("Leaving one set out at a time.")
    results = replace(results, left_out=_left_out(material, test, wanted, settings))
    came = report.circumstances(wanted.command, _notes(material, test, wanted))
    report.keep(results, [name for name in wanted.methods if name in policies], came, wanted.out)
    _say(f"Written: {wanted.out}")
    return failures.DONE


def _files(data: Path) -> tuple[list[Path], list[Path]]:
    train_files = [path for path in sorted(data.glob("*_train.jsonl")) if _dev(path).is_file()]
    if not train_files:
        raise NoProtocolData(
            f"{data} has no NAME_train.jsonl with a NAME_dev.jsonl beside it.",
            "Name a folder with HotpotQA, 2WikiMultihopQA or MuSiQue files.",
        )
    return train_files, [_dev(path) for path in train_files]


def _dev(path: Path) -> Path:
    return path.with_name(path.name.replace("_train", "_dev"))


def _collected(file: Path, wanted: Protocol, cancel: threading.Event) -> Path:
    place = wanted.work / "collected" / f"{file.stem}.duckdb"
    settings = load()
    free = ModelFree(file, wanted.limit, seed=wanted.seed)
    events = collect(free, Store(place), open_embedder(settings), open_reranker(settings), cancel)
    watch_collecting(file.stem, events)
    return place


def _trained(method: Method, training: Sequence[Path], wanted: Protocol, cancel: threading.Event) -> None:
    registry = Registry(wanted.work / "policies")
    if any(one.name == method for one in registry.listed()):
        _say(f"{method} is trained already.")
        return
    _say(f"Training {method}.")
    request = TrainingRequest(
        method=method,
        sources=tuple(training),
        cost=wanted.cost,
        name=method,
        seed=wanted.seed,
        activation="never",
    )
    show_training(train(request, cancel, registry))


def _judged(name: str, test: Sequence[Tree], wanted: Protocol) -> judges.Judge:
    shuffled = list(test)
    random.Random(wanted.seed).shuffle(shuffled)
    some = shuffled[: wanted.judge_questions]
    file = wanted.work / "judgements.jsonl"
    with closing(open_chat(load({"model": name}))) as chat:
        _say(f"{chat.name} judges {len(some)} questions.")
        judges.ask(some, chat, file)
        return judges.Judge(judges.read(file), chat.name)


def _policies(wanted: Protocol) -> Policies:
    registry = Registry(wanted.work / "policies")
    found: dict[str, tuple[Scorer, Rule]] = {}
    for method in wanted.methods:
        folder = registry.find(method)
        scorer, rule, manifest = open_policy(folder, base_of(read(folder)))
        digest = hashlib.sha256("".join(sorted(manifest.files.values())).encode()).hexdigest()[:12]
        found[method] = (Keeping(scorer, wanted.work / "scores" / f"{method}-{digest}.npz"), rule)
    return found


def _left_out(
    material: Material, test: Sequence[Tree], wanted: Protocol, settings: Settings
) -> list[Scope]:
    """The forest alone: the others take as long as their training, three times over."""
    from policy import forest
    from policy.improvement import improved
    from policy.training.freezing import freeze

    def fit(_set: str, training: Sequence[Tree], validation: Sequence[Tree]) -> Policies:
        made = improved(training, wanted.cost, seed=wanted.seed)
        frozen = freeze(forest.fit(made, seed=wanted.seed), validation, wanted.cost)
        return {"forest": (frozen.scorer, frozen.rule)}

    return leave_one_out(material.training, material.validation, test, fit, settings)


def _notes(material: Material, test: Sequence[Tree], wanted: Protocol) -> list[str]:
    judged = f"; judges saw {wanted.judge_questions} test questions" if wanted.judges else ""
    return [
        f"{len(material.training):,} training questions, {len(material.validation):,} for thresholds, "
        f"{len(test):,} test questions, seed {wanted.seed}{judged}.",
        "The pooled setting: all paragraphs of a file in one library. The data sets' own smaller questions "
        "are the plan, which flatters “plan done” most of all.",
        "Quality is that of the gold evidence held: 1 for all of it, at most 0.5 for a part.",
    ]


def _say(message: str) -> None:
    console().print(Text(message))
