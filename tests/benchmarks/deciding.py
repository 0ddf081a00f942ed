"""What one decision takes: rules, the two policies in the box, and the language model they replace."""

from __future__ import annotations

import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agent.budget import Budget
from agent.decisions.decider import Decider, PolicyState
from agent.decisions.judges import ModelJudge, Rules
from agent.session import Session
from agent.state import Action
from models.catalogue import entry
from models.fetch import installed
from policy.serving.learned import Served
from policy.serving.registry import Registry
from tests.benchmarks import library as made
from tests.benchmarks.collecting.growing import Grower
from tests.benchmarks.few import few
from tests.benchmarks.multihop import RememberingEmbedder, pool, read_questions
from tests.benchmarks.process import beside_others
from tests.benchmarks.table import Row, Table
from traces import paths
from traces.store import Store

QUESTIONS: Final = 12
ROUNDS: Final = 10  # of those that are quick
POLICIES: Final = ("boxed-forest", "boxed-reward")
JUDGES: Final = ("qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b")
MILLISECONDS: Final = 60
TIMES: Final = 200
_OPENINGS: Final = 3
_OPEN: Final = """
import sys, time
from models.offline import forbid_hubs
from policy.serving.learned import Served
from policy.serving.registry import Registry
forbid_hubs()
began = time.perf_counter()
Served(Registry().find(sys.argv[1])).decider()
print(time.perf_counter() - began)
"""


@dataclass(frozen=True)
class _State:
    """A state in which something is to be decided, and what may be done."""

    seen: PolicyState
    valid: tuple[Action, ...]


def measure() -> Table:
    """Medians over the same states, after one warm-up."""
    load = beside_others()
    states = _states()
    rows: list[Row] = []
    quick = {"rules": _median(Rules(), states)}
    rows.append(Row("rules", f"{quick['rules']:.3f} ms"))
    for name in POLICIES:
        quick[name] = _median(Served(Registry().find(name)).decider(), states)
        met = quick[name] < MILLISECONDS
        rows.append(Row(name, f"{quick[name]:.2f} ms", f"under {MILLISECONDS} ms", met))
        rows.append(Row(f"{name}: opened in a new process, once", f"{_opened(name):.2f} s"))
    for name in JUDGES:
        if installed(entry(name)) is None:
            rows.append(Row(f"judge {name}", "not on this machine"))
            continue
        rows.extend(_judged(name, states, quick))
    return Table("deciding", "What one decision takes", rows, [*_NOTES, *load])


def _states() -> list[_State]:
    """One state of each question, of all depths, in an order in which no prompt shares its notebook."""
    with tempfile.TemporaryDirectory() as folder:
        questions = read_questions(few("musique_dev", QUESTIONS, Path(folder)))
    embedder = RememberingEmbedder(made.embedder())
    store = Store(paths.store_file())
    for _ in pool(questions, store, embedder):
        pass
    grower = Grower(store, questions.name, embedder, made.reader())
    draw = random.Random(0)
    found: list[_State] = []
    for question in questions.questions:
        grown = [node for node in grower.grow(question) if len(node.valid) > 1]
        node = draw.choice(grown)
        found.append(_State(node.state, node.valid))
    return found


def _median(decider: Decider, states: Sequence[_State]) -> float:
    """Milliseconds of a decision."""
    taken = []
    for number in range(ROUNDS + 1):
        for state in states:
            milliseconds = _timed(decider, state)
            if number:
                taken.append(milliseconds)
    return statistics.median(taken)


def _timed(decider: Decider, state: _State) -> float:
    began = time.perf_counter()
    decider.decide(state.seen, state.valid)
    return (time.perf_counter() - began) * 1000


def _opened(name: str) -> float:
    """Median seconds until a policy is ready, its libraries' imports included."""
    command = [sys.executable, "-c", _OPEN, name]
    return statistics.median(
        float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        for _ in range(_OPENINGS)
    )


def _judged(name: str, states: Sequence[_State], quick: dict[str, float]) -> list[Row]:
    """The judge of a run, of which nothing is read yet; and where the call before has read the notebook."""
    began = time.perf_counter()
    chat = made.chat(name)
    try:
        session = Session(chat, Budget(tokens=10**9, seconds=3600.0), lambda _event: None)
        judge = ModelJudge(session, explain=False)
        session.choose("warm up", [], "Answer with one letter.", ["A", "B", "C"])
        opened = time.perf_counter() - began
        cold: list[float] = []
        warm: list[float] = []
        for state in states:
            cold.append(_timed(judge, state))
            session.choose("another", state.seen.notebook, "Is it enough? Answer A or B.", ["A", "B"])
            warm.append(_timed(judge, state))
    finally:
        chat.close()
    rows = [Row(f"judge {name}: opened and warmed up, once", f"{opened:.2f} s")]
    for what, taken in (("reads the whole notebook", cold), ("only its question is new", warm)):
        median = statistics.median(taken)
        rows.append(Row(f"judge {name}, {what}", f"{median:.0f} ms"))
        for policy in POLICIES:
            times = median / quick[policy]
            barred = policy == POLICIES[0] and name == JUDGES[0]
            rows.append(
                Row(
                    f"judge {name}, {what} / {policy}",
                    f"{times:,.0f} times",
                    f"at least {TIMES}" if barred else "",
                    times >= TIMES if barred else None,
                )
            )
    return rows


_NOTES: Final = [
    f"{QUESTIONS} states, one each of the first {QUESTIONS} MuSiQue dev questions, of any depth, worked "
    "through without a language model (`tests.benchmarks.collecting`) among their own paragraphs; in each "
    f"at least two actions are valid. Medians; {ROUNDS} rounds after a warm-up for those that are quick, "
    "one for the judges. A decision of a policy includes making the state's text and features.",
    "The judge is asked as a run asks it, for one letter after the run's notebook, and gives no reasons. "
    "“Reads the whole notebook”: nothing of it was evaluated before, as where no other step of the run "
    "asks the model. “Only its question is new”: the call before had the same notebook, so all but the "
    "instruction is reused: the least it can take.",
]
