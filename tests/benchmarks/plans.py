"""What a planner's look-ups find: gold passages among the ten best of their searches.

    python -m tests.benchmarks.plans [FILE …] [--limit N] [--work DIR] [--plans FILE] [--name NAME]

Every look-up is searched as it is; "#1" is what the reader finds for the first. With ``--plans`` they come
from a file of ``{question: [look-ups]}``, so that another planner can be compared.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean, median
from typing import Final

from agent.retrieval.recall import Recall, aim
from agent.state import Note
from agent.steps.look import likeliest
from agent.steps.lookups import MOST_TOKENS, PlanRequest, parse, prompt
from agent.steps.queries import resolve
from agent.steps.rerank import read
from agent.steps.retrieve import candidate
from models.boxed_planner import shipped_planner
from models.boxed_reader import BoxedReader
from models.protocols import Reader
from policy.evaluation.measures import share
from policy.evaluation.systems import places_of
from policy.questions import Case, Place, fill, read_set, sets_in
from tests.benchmarks.multihop import RememberingEmbedder, pool, pooled, read_questions
from tests.benchmarks.table import RESULTS
from tests.conftest import DATA
from traces.library import Library
from traces.store import Store
from tui.assemble import open_embedder
from tui.settings.settings import load

TOP: Final = 10
SETS: Final = (
    "multihop/musique_dev.jsonl",
    "multihop/2wikimultihopqa_dev.jsonl",
    "multihop/hotpotqa_dev.jsonl",
    "own",
)


def main() -> None:
    """Plan, search, and write the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.plans", description=__doc__)
    parser.add_argument("sets", nargs="*", default=[str(DATA / name) for name in SETS])
    parser.add_argument("--limit", type=int, default=60, help="questions of each set, shuffled")
    parser.add_argument(
        "--work", type=Path, default=Path("build/plans"), help="libraries, kept between runs"
    )
    parser.add_argument("--plans", type=Path, help="look-ups in place of the planner's")
    parser.add_argument("--name", default="plans", help="of the file of results")
    options = parser.parse_args()
    planned = json.loads(options.plans.read_text(encoding="utf-8")) if options.plans else None
    plan, seconds = _from_file(planned) if planned else _by_planner()
    options.work.mkdir(parents=True, exist_ok=True)
    lines = [
        "| set | questions | look-ups each | gold in their top 10 | with the question's own top 10 |",
        "| --- | --: | --: | --: | --: |",
    ]
    for name in [one for given in options.sets for one in sets_in(given)]:
        lines.append(_measured(name, plan, options.limit, options.work))
        print(lines[-1], flush=True)  # noqa: T201
    if seconds:
        lines += ["", f"A plan takes {median(seconds):.2f} s (median)."]
    text = "\n".join(["# What plans find", "", *lines]) + "\n"
    (RESULTS / f"{options.name}.md").write_text(text, encoding="utf-8")
    sys.stdout.write(text)


def _measured(name: str, plan: Callable[[str], list[str]], limit: int, work: Path) -> str:
    embedder = open_embedder(load())
    published = read_questions(Path(name)) if "multihop" in Path(name).parts else None
    asked = pooled(published) if published else read_set(name)
    store = Store(work / f"{asked.name}.duckdb")
    filled = (
        pool(published, store, RememberingEmbedder(embedder)) if published else fill(asked, store, embedder)
    )
    for _ in filled:
        pass
    library, reader = Library(store), BoxedReader()
    recall = Recall(library, embedder)
    cases = [case for case in asked.first(limit, 0).cases if case.gold]
    found = [_found(case, plan(case.question), library, recall, reader) for case in cases]
    steps, alone, beside = zip(*found, strict=True)
    shares = f"{mean(steps):.2f} | {mean(alone):.3f} | {mean(beside):.3f}"
    return f"| {asked.name} | {len(cases)} | {shares} |"


def _found(
    case: Case, lookups: Sequence[str], library: Library, recall: Recall, reader: Reader
) -> tuple[int, float, float]:
    """Look-ups, the share of gold places in their top ten, and with the question's own top ten."""
    collections = [one.name for one in library.collections()]
    notes: list[Note] = []
    places: list[Place] = []
    for number, lookup in enumerate(lookups, start=1):
        question = resolve(lookup, notes)
        scopes = aim(library, collections, question, "", "", hard=False)
        hits = [candidate(hit) for hit in recall.search(question, "hybrid", scopes, TOP)]
        places += places_of(hits)
        answer = ""
        if any(f"#{number}" in later for later in lookups[number:]):
            best = likeliest(read(reader, question, hits))
            answer = best["spans"][0]["text"] if best else ""
        notes.append(
            Note(
                step=number,
                question=question,
                sentence="",
                answer=answer,
                cites=[],
                found=bool(answer),
                revision=0,
                relevance=0.0,
                sure=True,
            )
        )
    scopes = aim(library, collections, case.question, "", "", hard=False)
    own = places_of(candidate(hit) for hit in recall.search(case.question, "hybrid", scopes, TOP))
    return len(lookups), share(case.gold, places), share(case.gold, [*places, *own])


def _by_planner() -> tuple[Callable[[str], list[str]], list[float]]:
    planner = shipped_planner()
    if planner is None:
        raise SystemExit("the planner's base is not on this machine")
    planner.warm_up()
    seconds: list[float] = []

    def plan(question: str) -> list[str]:
        request = PlanRequest(question)
        began = time.perf_counter()
        made = parse(planner.complete(prompt(request), MOST_TOKENS), request)
        seconds.append(time.perf_counter() - began)
        return [lookup.question for lookup in made.lookups] if made and made.lookups else [question]

    return plan, seconds


def _from_file(planned: dict[str, list[str]]) -> tuple[Callable[[str], list[str]], list[float]]:
    return (lambda question: planned.get(question) or [question]), []


if __name__ == "__main__":
    main()
