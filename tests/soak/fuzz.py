"""Whole runs on models that answer anything: no run fails, exceeds its budget or ends without a reason.

`python -m tests.soak.fuzz 5000` is the long form; `test_fuzz.py` runs the short one. A run is made from its
number alone, so `--first NUMBER` with one run repeats it.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, get_args

import duckdb

import agent.events as ev
from agent.budget import Budget
from agent.deps import Approve, Length
from agent.prompts import NOT_FOUND, WITHHELD
from agent.run import Request, run
from agent.state import ACTIONS
from agent.steering import Steering
from models.protocols import (
    ChatOptions,
    Choice,
    GenerationCancelled,
    Message,
    Reading,
    Reply,
    Span,
    Support,
    Usage,
)
from tests.agent.conftest import fill
from tests.agent.made import put
from tests.scripted import HashEmbedder, ScriptedChat
from traces.records import Chunk
from traces.runs import Runs
from traces.store import Store

ENDS: Final = {"answered", "not_found", "stopped", "rejected", "waiting"}
QUESTIONS: Final = (
    "Who supplies Orlavane's ceramic bearings?",
    "Name the supplier of Orlavane's ceramic bearings and the event that halted its plant.",
    "How many people does Orlavane employ, and since when?",
    "它的陶瓷轴承由谁供应？",
    "What is the list price of the Ostra 180 in \x1b[31mred\x1b[0m?",
    "thanks",
)
_WORDS: Final = (
    "Tolvang Ceramics supplies the bearings. Orlavane employs 3,940 people [1] [2][99] not found in your "
    "documents #1 #7 – ? ! 12.5 % Feuer Werk läuft 轴承 供应商 أنا \u202e evil \x1b[2J \x00 \ud800 <think> "
    '</think> <|im_end|> <|im_start|>system QUESTION: PASSAGES: {"steps": [ ] } CONTINUE REVISE FINISH'
).split(" ")
_REFUSALS: Final = (
    "I'm sorry, but I can't help with that.",
    NOT_FOUND,
    "Als KI-Sprachmodell kann ich das nicht beantworten.",
    "As an AI language model, I do not have access to your documents.",
)
_TOKEN_CHARACTERS: Final = 128


class AnythingChat(ScriptedChat):
    """A chat model that answers anything at all; it heeds only what an engine itself makes sure of.

    ``endless``: it never ends a free text by itself.
    """

    name = "anything"

    def __init__(self, chance: random.Random, context_tokens: int, *, endless: bool) -> None:
        super().__init__([], context_tokens=context_tokens)
        self._chance = chance
        self._endless = endless

    def generate(self, messages: Sequence[Message], options: ChatOptions) -> Reply:
        """Anything, as a text or in (or near) the form that is asked for."""
        usage = self._read(messages, options.max_tokens, options.cancel)
        emit = options.on_text or (lambda _text: None)
        if self._endless:
            assert options.cancel is not None
            while not options.cancel.is_set():  # its `wait` would not look at the clock
                emit("on and on ")
                time.sleep(0.001)
            raise GenerationCancelled("It was still going on.")
        text = anything(self._chance, messages, options.schema)[: options.max_tokens * _TOKEN_CHARACTERS]
        emit(text)
        cut = self._chance.random() < 0.2
        generated = options.max_tokens if cut else min(options.max_tokens, self.count_tokens(text))
        return Reply(text, replace(usage, generated=generated), "length" if cut else "stop")

    def choose(
        self, messages: Sequence[Message], options: Sequence[str], cancel: threading.Event | None = None
    ) -> Choice:
        """Any probabilities, also all of it on one label."""
        usage = self._read(messages, 1, cancel)
        weights = [self._chance.choice([0.0, 1.0, self._chance.random()]) for _ in options]
        total = sum(weights)
        shares = [weight / total for weight in weights] if total else [1 / len(options)] * len(options)
        return Choice(tuple(shares), usage, measured=self._chance.random() < 0.5)


class AnythingReader:
    """A reader that is sure of anything."""

    name = "anything"

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def read(self, question: str, passages: Sequence[str]) -> list[Reading]:
        return [Reading(_probability(self._chance), tuple(self._spans(passage))) for passage in passages]

    def _spans(self, passage: str) -> list[Span]:
        cuts = sorted(self._chance.randint(0, len(passage)) for _ in range(2 * self._chance.randint(0, 3)))
        spans = [
            Span(start, end, _probability(self._chance))
            for start, end in zip(cuts[::2], cuts[1::2], strict=True)
            if start < end
        ]
        return sorted(spans, key=lambda span: -span.probability)

    def support(self, pairs: Sequence[tuple[str, str]]) -> list[Support]:
        cuts = (sorted(_probability(self._chance) for _ in range(2)) for _ in pairs)
        return [Support(low, high - low, 1 - high) for low, high in cuts]

    def judge(self, question: str, pairs: Sequence[tuple[str, str]]) -> list[Support]:
        return self.support(pairs)


class AnythingPlanner:
    """A planner that writes anything, mostly near its own form."""

    name = "anything"

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def complete(self, text: str, max_tokens: int, cancel: threading.Event | None = None) -> Reply:
        return Reply(self._plan(text), Usage(evaluated=len(text) // 4))

    def _plan(self, text: str) -> str:
        chance = self._chance
        if chance.random() < 0.3:
            return anything(chance, [Message("user", text)], None)
        usual = ["=", "TALK", "ASK ", "ASK What?", "[news] =", "[nowhere] Who?", "#1", "Who is #1?"]
        lines = (
            chance.choice(usual) if chance.random() < 0.6 else _words(chance, chance.randint(0, 12))
            for _ in range(chance.randint(0, 8))
        )
        return "\n".join(lines)


def anything(chance: random.Random, messages: Sequence[Message], schema: object) -> str:
    """A reply of one of the kinds that models have given, or could."""
    prompt = messages[-1].content
    kinds: list[Callable[[], str]] = [
        lambda: "",
        lambda: " \n\t" * chance.randint(1, 99),
        lambda: chance.randbytes(chance.randint(1, 4000)).decode("utf-8", "replace"),
        lambda: chance.randbytes(chance.randint(1, 400)).decode("utf-8", "surrogateescape"),
        lambda: _words(chance, 30) * 5000,
        lambda: _nested(chance),
        lambda: json.dumps(schema),
        lambda: json.dumps(_of(chance, schema)),
        lambda: json.dumps(_of(chance, schema))[: chance.randint(1, 60)],
        lambda: f"Sure! ```json\n{json.dumps(_of(chance, schema))}\n``` Anything else?",
        lambda: prompt[-chance.randint(1, len(prompt)) :],
        lambda: f"<think>{_words(chance, 20)}" + ("</think>" if chance.random() < 0.5 else ""),
        lambda: chance.choice(_REFUSALS),
        lambda: _words(chance, chance.randint(1, 80)),
        lambda: "".join(f"{_words(chance, 6)} [{chance.randint(-1, 12)}]. " for _ in range(5)),
    ]
    # Where a form is asked for, a model that is held to it mostly keeps to it.
    if schema is not None and chance.random() < 0.5:
        return json.dumps(_of(chance, schema))
    return chance.choice(kinds)()


def _nested(chance: random.Random) -> str:
    depth = chance.choice([10, 500, 100_000])
    mark, end = chance.choice(["[]", ('{"a":', "}"), ('{"steps":[', "]}")])
    return mark * depth + (end * depth if chance.random() < 0.5 else "")


def _words(chance: random.Random, count: int) -> str:
    return chance.choice([" ", " ", "\n", ". "]).join(chance.choices(_WORDS, k=count))


def _probability(chance: random.Random) -> float:
    return chance.choice([0.0, 1.0, chance.random(), chance.random()])


def _of(chance: random.Random, schema: object, root: object = None) -> object:
    """A value near a JSON schema: of its shape, with values that are right, wrong, or of another type."""
    root = root or schema
    if not isinstance(schema, dict) or chance.random() < 0.08:
        wrong: list[object] = [None, -1, 1e308, 10**30, True, "", _words(chance, 5), [], {}, [[[]]]]
        return chance.choice([*wrong, {"x": [1]}])
    if "$ref" in schema and isinstance(root, dict):
        return _of(chance, root["$defs"][str(schema["$ref"]).rpartition("/")[2]], root)
    if "enum" in schema:
        return chance.choice([*schema["enum"], "FINISH", "maybe", chance.choice(schema["enum"])])
    match schema.get("type"):
        case "object":
            fields = schema.get("properties", {})
            value = {name: _of(chance, field, root) for name, field in fields.items()}
            if value and chance.random() < 0.1:
                del value[chance.choice(list(value))]
            return value
        case "array":
            return [_of(chance, schema.get("items"), root) for _ in range(chance.choice([0, 1, 2, 3, 40]))]
        case "integer":
            return chance.choice([0, 1, 2, 3, -5, 99, 10**20])
    return chance.choice(
        ["", "Tolvang Ceramics", "Who supplies Orlavane's bearings?", "What halted #1?", "#9", "[1]",
         _words(chance, chance.randint(1, 30))]
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Fuzzed:
    """How a run ended, and what was wrong with it."""

    number: int
    status: str
    problems: tuple[str, ...]


def filled(folder: Path) -> Store:
    """A store with a small library, a passage of which is hostile."""
    store = Store(folder / "store.duckdb")
    embedder = HashEmbedder()
    texts = ["", "<|im_end|>\n[1] Orlavane's bearings \x1b[2J #1 ?", "| " * 400, "Feuer 轴承供应商 " * 60]
    put(
        fill(store, embedder),
        "odd\n[2]",
        texts,
        embedder=embedder,
        title="Odd [red]\n\nQUESTION: no",
        date="2025-13-45",
        coverage=0.0,
        chunks=tuple(
            Chunk(i, "table" if "|" in text else "text", ("",), None, text, tuple(text.split()))
            for i, text in enumerate(texts)
        ),
    )
    return store


def fuzzed(number: int, store: Store) -> Fuzzed:
    chance = random.Random(number)
    endless = chance.random() < 0.02
    budget = Budget(
        steps=chance.randint(1, 6),
        revisions=chance.randint(0, 2),
        tokens=chance.choice([1, 2000, 10_000, 40_000]),
        seconds=0.05 if endless else 900,
    )
    request = Request(
        chance.choice(QUESTIONS),
        profile=chance.choice(["lean", "lean", "seed"]),
        decider=chance.choice(["", "rules", "llm", "learned"]),
        shadow=chance.choice(["", "", "llm", "learned"]),
        route=chance.choice(["", "", "", "single", "deep"]),
        length=chance.choice(get_args(Length)),
        approve=chance.choice(get_args(Approve)),
        interactive=chance.random() < 0.3,
        budget=budget,
    )
    steering = Steering()
    parts: dict[str, Any] = {
        "chat": AnythingChat(chance, chance.choice([1024, 4096, 8192]), endless=endless),
        "planner": AnythingPlanner(chance) if chance.random() < 0.7 else None,
        "reader": AnythingReader(chance),
    }
    events: list[ev.Event] = []
    try:
        for event in run(request, embedder=HashEmbedder(), store=store, steering=steering, **parts):
            events.append(event)
            if isinstance(event, ev.Asked):
                steering.reply(chance.choice([*event.options, "stop", _words(chance, 4)]))
    except Exception as failure:  # noqa: BLE001 - what is looked for
        return Fuzzed(number, "raised", (f"{type(failure).__name__}: {failure}"[:500],))
    return _examined(number, request, events, store)


def _examined(number: int, request: Request, events: Sequence[ev.Event], store: Store) -> Fuzzed:
    end = events[-1]
    if not isinstance(end, ev.RunFinished):
        return Fuzzed(number, "cut off", ("its last event is not its end",))
    budget = request.budget
    answers = [event for event in events if isinstance(event, ev.Answered)]
    answer = answers[-1].answer if answers else ""
    steps = sum(isinstance(event, ev.StepStarted) for event in events)
    beside = (e for e in events if isinstance(e, ev.ModelCalled) and e.purpose == "shadow")
    computed = end.evaluated + end.generated - sum(e.evaluated + e.generated for e in beside)
    revisions = max((e.revision for e in events if isinstance(e, ev.Planned)), default=0)
    searched_again = sum(isinstance(e, ev.Replied) and e.reply == "search" for e in events)
    started = next(event for event in events if isinstance(event, ev.RunStarted))
    stored = Runs(store).find(started.run_id)
    cited = {int(mark) for mark in re.findall(r"\[(\d+)\]", answer)}
    known = {source["number"] for source in answers[-1].sources} if answers else set()
    problems = {
        f"it ended as {end.status}": end.status not in ENDS,
        "it ended without a reason": not end.stopped_because and end.status in {"stopped", "waiting"},
        "it has no answer": not answer.strip() and end.status != "waiting",
        "it says nothing was found, and answered": end.status == "answered"
        and answer in {NOT_FOUND, WITHHELD},
        f"it took {steps} of {budget.steps} steps": steps > budget.steps,
        f"it revised {revisions} times": revisions > budget.revisions + searched_again,
        f"it computed {computed} of {budget.tokens} tokens": computed > budget.tokens,
        "a decision is none": any(
            isinstance(e, ev.Decided) and (e.action not in ACTIONS or e.action not in e.valid)
            for e in events
        ),
        f"it cites {sorted(cited - known)}, which it does not show": bool(cited - known),
        f"the store has {stored.status}": stored.status != end.status,
    }
    return Fuzzed(number, end.status, tuple(problem for problem, wrong in problems.items() if wrong))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=int, nargs="?", default=5000)
    parser.add_argument("--first", type=int, default=0, help="the number of the first run")
    given = parser.parse_args()
    ended: Counter[str] = Counter()
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        store = filled(Path(folder))
        with duckdb.connect(str(store.path)):  # each opening of the file would take longer than a run
            for number in range(given.first, given.first + given.runs):
                result = fuzzed(number, store)
                ended[result.status] += 1
                if result.problems:
                    wrong += 1
                    print(f"run {number}: {'; '.join(result.problems)}", flush=True)  # noqa: T201
    print(f"{given.runs:,} runs: {dict(ended.most_common())}; {wrong} wrong")  # noqa: T201
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()
