"""The whole protocol of the policies in one go: collect, train, judge, evaluate. Each part is resumable."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from rich.text import Text

from policy.collecting.model_free import ModelFree, collect
from policy.evaluation import command
from policy.evaluation.protocol import Settings
from policy.manifest import Method
from policy.registry import Registry
from policy.training.course import train
from policy.training.material import gather
from policy.training.request import TrainingRequest
from traces.errors import DeepthinkError
from traces.store import Store
from tui import failures
from tui.assemble import open_chat, open_embedder, open_reader
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
        judge_questions: How many test questions of each set they judge.
        few: How many test questions of each set a slow method is evaluated on, by method.
        limit: Questions of each file; None for all.
        cost: Of a step.
        seed: Of collecting and training; what the bootstrap draws by stands in the table.
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
    few: Mapping[Method, int] = field(default_factory=dict)


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
        learned_from = gather(training, wanted.work).sha256
        for method in wanted.methods:
            _trained(method, training, learned_from, wanted, cancel)
    # From here on Ctrl-C interrupts at once: what was judged and scored is kept as it comes.
    judgements = wanted.work / "judgements.jsonl"
    for name in wanted.judges:
        _judged(name, testing, judgements, wanted)
    policies = {method: str(wanted.work / "policies" / method) for method in wanted.methods}
    command.table(
        command.Wanted(
            training,
            testing,
            list(policies.values()),
            judgements if wanted.judges else None,
            wanted.work / "scores",
            wanted.out,
            few={policies[method]: number for method, number in wanted.few.items()},
            settings=Settings(cost=wanted.cost),
        ),
        wanted.command,
        _say,
    )
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
    events = collect(free, Store(place), open_embedder(settings), open_reader(settings), cancel)
    watch_collecting(file.stem, events)
    return place


def _trained(
    method: Method, training: Sequence[Path], learned_from: str, wanted: Protocol, cancel: threading.Event
) -> None:
    """Unless it is trained already: on these questions, at this cost, from this seed."""
    registry = Registry(wanted.work / "policies")
    held = next((one for one in registry.listed() if one.name == method and not one.boxed), None)
    if held is not None:
        known = held.manifest
        same = {"cost": wanted.cost, "seed": wanted.seed}.items()
        if known and known.data.sha256 == learned_from and same <= known.settings.items():
            _say(f"{method} is trained already.")
            return
        registry.remove(method)
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


def _judged(name: str, testing: Sequence[Path], judgements: Path, wanted: Protocol) -> None:
    """What was judged before is kept; the same questions whichever the model."""
    with closing(open_chat(load({"model": name}))) as chat:
        _say(f"{chat.name} judges {wanted.judge_questions} questions of each set.")
        command.judge(testing, chat, wanted.judge_questions, judgements, lambda _judgement: None)


def _say(message: str) -> None:
    console().print(Text(message))
