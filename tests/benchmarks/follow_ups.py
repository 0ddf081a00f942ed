"""What a question finds after others, over the documents of `own`.

    python -m tests.benchmarks.follow_ups [--data DIR] [--work DIR]

`follow_ups.jsonl` has 80 conversations, written by a language model: 40 elliptical follow-ups, 25 changes
of topic and 15 questions that are complete. Each ends in a question with one right file, patterns that its
right passage matches, and the question as a reader without the conversation would need it.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from agent.deps import Deps
from agent.profiles import profile
from agent.state import Candidate, Turn, new_state, updated
from agent.steps.look import look
from agent.steps.plan import TaughtPlanner
from agent.steps.route import route
from policy.evaluation.systems import Parts
from policy.questions import fill, read_set, sets_in
from tests.benchmarks.table import RESULTS, markdown_table
from tests.conftest import DATA
from traces.store import Store
from tui.assemble import open_parts
from tui.settings.settings import load

_CONVERSATIONS = Path(__file__).with_suffix(".jsonl")
_FIRST = 3  # passages among which the evidence counts as found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.follow_ups", description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA / "own", help="where the collections are")
    parser.add_argument("--work", type=Path, default=Path("build/follow_ups"), help="kept between runs")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    parts = Parts(**open_parts(load()), store=Store(options.work / "library.duckdb"))
    for name in sets_in(str(options.data)):
        for _ in fill(read_set(name), parts.store, parts.embedder):
            pass
    assert parts.planner is not None, "the planner's base is not on this machine"
    cognition = replace(profile("lean", parts.reader), planner=TaughtPlanner(parts.planner))
    kept = options.work / "rows.jsonl"  # a run that was killed resumes after its last line
    lines = kept.read_text(encoding="utf-8").splitlines() if kept.exists() else []
    rows: dict[str, dict[str, tuple[bool, bool]]] = dict(map(json.loads, lines))
    found: dict[tuple[str, str], list[tuple[bool, bool]]] = defaultdict(list)
    for line in _CONVERSATIONS.read_text(encoding="utf-8").splitlines():
        conversation = json.loads(line)
        if conversation["id"] not in rows:
            rows[conversation["id"]] = _measure(conversation, parts.deps(cognition))
            with kept.open("a", encoding="utf-8") as out:
                out.write(json.dumps([conversation["id"], rows[conversation["id"]]]) + "\n")
            sys.stderr.write(f"{conversation['id']}\n")
        for how, hits in rows[conversation["id"]].items():
            found[conversation["kind"], how].append(hits)
    table = markdown_table(
        ["question", "searched", "questions", "right file first", f"evidence in the first {_FIRST}"],
        [
            [kind, how, str(len(hits)), *(str(sum(column)) for column in zip(*hits, strict=True))]
            for (kind, how), hits in sorted(found.items())
        ],
    )
    (RESULTS / "follow-ups.md").write_text(f"# Questions after others\n\n{table}", encoding="utf-8")
    sys.stdout.write(table)


def _measure(conversation: dict[str, Any], deps: Deps) -> dict[str, tuple[bool, bool]]:
    """The hits of the question alone, as it should be asked, and after the conversation."""
    turns = [Turn(question=asked, answer=answer) for asked, answer in conversation["history"]]
    state = new_state(conversation["question"], turns)
    state = updated(state, route(state, deps))
    passages = {
        "as typed": look(new_state(conversation["question"]), deps)["looked"],
        "as it should be": look(new_state(conversation["standalone"]), deps)["looked"],
        "after the others": look(state, deps)["looked"] if state["route"] in {"single", "deep"} else [],
    }
    return {how: _hits(conversation, those) for how, those in passages.items()}


def _hits(conversation: dict[str, Any], passages: Sequence[Candidate]) -> tuple[bool, bool]:
    """Whether the first passage is of the right file, and whether one of the first has the evidence."""
    of_file = [one["document"] == conversation["file"] for one in passages]
    has_evidence = (
        right
        and all(re.search(pattern, one["text"], re.IGNORECASE) for pattern in conversation["evidence"])
        for right, one in zip(of_file[:_FIRST], passages, strict=False)
    )
    return any(of_file[:1]), any(has_evidence)


if __name__ == "__main__":
    main()
