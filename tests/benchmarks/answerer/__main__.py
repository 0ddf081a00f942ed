"""Make and measure the adapter: ``make DATA …``, ``prefer DATA …`` and ``evaluate DATA`` after the name."""

from __future__ import annotations

import argparse
import random
import sys
from pathlib import Path
from typing import Final

from models.boxed_answerer import BASE, SHIPPED
from models.library_loading import forbid_hubs
from models.llama_cpp.chat import LlamaCppChat
from policy.training.adapters import export, open_base
from tests.benchmarks.answerer.blending import blend
from tests.benchmarks.answerer.data import facts, hops, real, real_trees, written_trees
from tests.benchmarks.answerer.evaluation import answers_table, outcomes
from tests.benchmarks.answerer.preferring import SECONDS as PREFERRING_SECONDS
from tests.benchmarks.answerer.preferring import prefer, trees_to_prefer
from tests.benchmarks.answerer.sentences import completed, writer
from tests.benchmarks.answerer.training import RATE, SECONDS, train
from tests.benchmarks.reader.data import written
from tests.benchmarks.table import refilled
from traces.paths import models_dir

_CONTEXT: Final = 4096  # tokens
_SETS: Final = 24
_SEEDS: Final = 4  # draws of the written passages


def main() -> None:
    """Read the command line and do it."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.answerer", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("make", help="train and export an adapter")
    preferring = commands.add_parser("prefer", help="teach an adapter by its own replies; needs a GPU")
    evaluating = commands.add_parser("evaluate", help="measure an adapter and write its card")
    for command in (making, preferring, evaluating):
        command.add_argument("data", type=Path, help="folder of the data to read")
        command.add_argument("--base", type=Path, default=BASE.location(models_dir()))
    for command in (making, preferring):
        command.add_argument("--multihop", type=Path, required=True, help="folder of the multi-hop files")
        command.add_argument("--work", type=Path, required=True, help="folder of what training keeps")
        command.add_argument("--out", type=Path, default=SHIPPED, help="where the adapter goes")
    making.add_argument("--blend", type=Path, help="an exported adapter to take the mean with")
    making.add_argument("--seconds", type=float, default=SECONDS, help="of training")
    making.add_argument("--rate", type=float, default=RATE, help="of learning, at its highest")
    preferring.add_argument("--seconds", type=float, default=PREFERRING_SECONDS, help="of training")
    for command in (preferring, evaluating):
        command.add_argument("--adapter", type=Path, default=SHIPPED)
    evaluating.add_argument("--sets", type=int, default=_SETS, help="of passages held out, of each kind")
    given = parser.parse_args()
    forbid_hubs()
    if given.command == "make":
        _make(given)
    elif given.command == "prefer":
        _prefer(given)
    else:
        _evaluate(given)


def _make(given: argparse.Namespace) -> None:
    given.work.mkdir(parents=True, exist_ok=True)
    base = open_base(given.base)
    examples = written(given.data, held_out=False)
    lacking = [*real(given.data, held_out=False), *facts(given.data), *hops(given.multihop)]
    found = completed(lacking, examples, writer(base), given.work / "texts.jsonl")
    trees = real_trees(found)
    for seed in range(_SEEDS):
        trees += written_trees(given.data, held_out=False, english=True, seed=seed)
        for again in range(2):  # there are few
            trees += written_trees(given.data, held_out=False, english=False, seed=2 * seed + again)
    random.Random(0).shuffle(trees)
    adapter = train(trees, base, given.work, seconds=given.seconds, rate=given.rate)
    export(adapter, given.base, given.out)
    if given.blend:
        blend(given.blend, given.out, given.out)


def _prefer(given: argparse.Namespace) -> None:
    trees = trees_to_prefer(given.data, given.multihop)
    adapter = prefer(trees, open_base(given.base), given.adapter, given.work, seconds=given.seconds)
    export(adapter, given.base, given.out)


def _evaluate(given: argparse.Namespace) -> None:
    chat = LlamaCppChat(given.base, name=BASE.name, context_tokens=_CONTEXT, adapter=given.adapter).taught
    assert chat is not None  # it has an adapter
    english, others = (
        written_trees(given.data, held_out=True, english=english) for english in (True, False)
    )
    sets = {
        "Written passages in English:": english,
        "Written passages in other languages:": others,
        "Real tables and texts:": real_trees(real(given.data, held_out=True)),
    }
    figures = "\n".join(
        f"{title}\n\n{answers_table(outcomes(chat, trees[: given.sets]))}" for title, trees in sets.items()
    )
    card = given.adapter.with_name("README.md")
    page = SHIPPED.with_name("README.md").read_text(encoding="utf-8")
    card.write_text(refilled(page, "figures", figures), encoding="utf-8")
    sys.stdout.write(figures)


if __name__ == "__main__":
    main()
