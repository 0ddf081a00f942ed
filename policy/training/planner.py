"""Teaching the planner from corrected plans: the phases and events are those of a policy's training.

The boxed adapter is trained on with what the user says that runs should have looked up. So that it does not
forget what it does well, the plans of other runs are learned beside them as they were, and some of those
that it was made with. A fifth of the user's runs is held out: the new planner is used only if it plans more
of them as the user wants than the present one.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from random import Random
from typing import ClassVar, Final, Literal

from agent.plans import FEWEST, planned, request_of
from agent.steps.plan_text import MOST_TOKENS, Plan, look_up, parse, prompt, reply
from models.boxed_planner.planner import BASE, SHIPPED, BoxedPlanner, own_adapter
from models.fetch.pull import checked
from models.library_loading import forbid_hubs
from models.protocols import Completer, ModelMissing
from policy.serving.folder import Gate
from policy.training.adapters import export, open_base
from policy.training.course import folder
from policy.training.plan_fitting import Lesson, fit, written
from policy.training.progress import (
    CannotTrain,
    DataSheet,
    Emit,
    Finished,
    Watch,
    begin_phase,
)
from traces.library import Library
from traces.paths import store_file
from traces.runs import CorrectedPlans, Run, Runs
from traces.store import Store

NAME: Final = "planner"
_HELD_OUT_EVERY: Final = 5
_KEPT: Final = 5  # plans that are learned as they were, for each corrected one
_TIMES: Final = 10  # that a corrected plan is seen
_RATE: Final = 3e-4
_GROUP, _GROUPS = 3, 2  # lessons that are computed together, and such groups in an optimiser step
_RULE: Final = "more of the held-out plans are as you want them than before"


@dataclass(frozen=True, slots=True)
class PlannerRequest:
    """A training of the planner on the user's own runs; ``force``: it is used whatever the gate says."""

    force: bool = False
    method: Literal["planner"] = "planner"
    sources: tuple[Path, ...] = ()
    resumes: ClassVar[bool] = True  # from its checkpoints


@dataclass(frozen=True, slots=True)
class Lessons:
    """Requests of the user's runs with the plans to learn: corrected by the user, and kept as they were."""

    corrected: list[Lesson]
    kept: list[Lesson]


def train(
    request: PlannerRequest,
    emit: Emit,
    cancel: threading.Event | None = None,
    store: Store | None = None,
) -> None:
    """Train the planner; ``emit`` gets the progress. A stopped training is resumed by the next call.

    Raises:
        CannotTrain: fewer than `FEWEST` plans are corrected.
        ModelMissing: the planner's base is not on this machine.
        TrainingFailed, TrainingCancelled, DeepthinkError: as of a policy's training.
    """
    cancel = cancel or threading.Event()
    begin = partial(begin_phase, emit, cancel, "planner")
    forbid_hubs()
    begin("data", "Reading the plans that you have corrected.")
    lessons = gather(store or Store(store_file()))
    if len(lessons.corrected) < FEWEST:
        raise CannotTrain(
            f"You have corrected {len(lessons.corrected)} plans; {FEWEST} are needed.",
            'Say what your runs should have looked up: `deepthink runs plan RUN "…" "…"`.',
        )
    gguf = checked(BASE)
    if gguf is None:
        raise ModelMissing(
            f"The planner's base {BASE.name} is not on this machine.",
            f"Fetch it: “deepthink models pull {BASE.name}”.",
        )
    learned, held_out = _split(lessons)
    emit(DataSheet(_sheet(lessons, held_out)))

    begin("train", "Training the planner.")
    base = open_base(gguf)
    work = folder() / f"{NAME}-{_digest(learned)}"
    watch = Watch(emit, cancel, [], 0.0)
    trained = fit(
        _shuffled(learned), base, work, onto=SHIPPED, rate=_RATE, groups=_GROUPS, group=_GROUP, watch=watch
    )
    adapter = work / own_adapter().name
    export(trained, gguf, adapter)

    begin("gate", "Planning the held-out questions anew.")
    gate = judge(BoxedPlanner(gguf, SHIPPED, own_adapter()), BoxedPlanner(gguf, adapter), held_out)
    emit(gate)
    if gate.passed or request.force:
        begin("write", "Writing the planner.")
        own_adapter().parent.mkdir(parents=True, exist_ok=True)
        adapter.replace(own_adapter())
        shutil.rmtree(work, ignore_errors=True)
    emit(Finished(NAME, own_adapter().parent, gate.passed or request.force))


def gather(store: Store) -> Lessons:
    """What there is to learn from the runs in a store."""
    corrections = {one.run_id: one.lookups for one in CorrectedPlans(store).all()}
    described = {collection.name: collection.contents for collection in Library(store).collections()}
    runs = Runs(store)

    def lesson(run: Run, lookups: Sequence[tuple[str, str]]) -> Lesson:
        steps = [look_up(question, collection) for collection, question in lookups]
        return request_of(store, run, described), Plan("search", run.standalone or run.question, steps)

    corrected = [lesson(runs.find(run_id), lookups) for run_id, lookups in corrections.items()]
    most = len(corrected) * _KEPT
    others = (
        run for run in runs.search(limit=2 * most) if run.id not in corrections and run.rating != "wrong"
    )
    kept = (lesson(run, lookups) for run in others if (lookups := _taught_plan(store, run.id)))
    return Lessons(corrected, list(islice(kept, most)))


def _taught_plan(store: Store, run_id: str) -> list[tuple[str, str]]:
    """The first plan of a run, if it is the taught planner's."""
    events = Runs(store).events(run_id)
    routed = (event.payload["source"] for event in events if event.kind == "Routed")
    return planned(events) if "planner" in routed else []


def as_wanted(planner: Completer, lesson: Lesson) -> bool:
    """Whether a planner plans as many look-ups as a lesson, in the collections that it names."""
    request, wanted = lesson
    plan = parse(planner.complete(prompt(request), MOST_TOKENS).text, request)
    if plan is None or plan.kind != wanted.kind or len(plan.steps) != len(wanted.steps):
        return False
    named = zip(plan.steps, wanted.steps, strict=True)
    return all(step["tool"] == other["tool"] for step, other in named if other["tool"])


def drop() -> bool:
    """Remove the user's own planner, so that the boxed one plans again; whether there was one."""
    own = own_adapter()
    existed = own.is_file()
    shutil.rmtree(own.parent, ignore_errors=True)
    return existed


def _split(lessons: Lessons) -> tuple[Lessons, Lessons]:
    """Lessons to learn from, and held out."""
    places = _HELD_OUT_EVERY
    held_out = Lessons(lessons.corrected[::places], lessons.kept[::places])
    learned = [
        [one for place, one in enumerate(some) if place % places]
        for some in (lessons.corrected, lessons.kept)
    ]
    return Lessons(*learned), held_out


def _shuffled(lessons: Lessons) -> list[Lesson]:
    draw, corrected = Random(0), lessons.corrected * _TIMES
    rehearsed = written()
    rows = [*corrected, *lessons.kept, *draw.sample(rehearsed, min(len(rehearsed), len(corrected) // 2))]
    draw.shuffle(rows)
    return rows


def _digest(lessons: Lessons) -> str:
    """Identifies the lessons and how they are learned."""
    rows = [prompt(request) + reply(plan, request) for request, plan in (*lessons.corrected, *lessons.kept)]
    key = json.dumps([rows, _TIMES, _RATE])
    return hashlib.sha256(key.encode()).hexdigest()[:16]


def _sheet(lessons: Lessons, held_out: Lessons) -> dict[str, str]:
    return {
        "corrected plans": f"{len(lessons.corrected)}, {len(held_out.corrected)} of them held out",
        "other plans, as they were": f"{len(lessons.kept)}, {len(held_out.kept)} of them held out",
    }


def judge(present: Completer, new: Completer, held_out: Lessons) -> Gate:
    """The verdict on a new planner: it passes if it plans more as wanted than the present one."""
    counts: dict[str, tuple[int, int]] = {}  # as wanted by the present planner and by the new one
    for name, some in (("corrected plans", held_out.corrected), ("other plans", held_out.kept)):
        before, after = (sum(as_wanted(planner, one) for one in some) for planner in (present, new))
        counts[f"{name} as wanted, of {len(some)} held out"] = before, after
    before, after = (sum(column) for column in zip(*counts.values(), strict=True))
    reason = f"{after} of the held-out plans are as you want them, {before} were before."
    measures = {name: f"{was} → {now}" for name, (was, now) in counts.items()}
    return Gate(passed=after > before, reason=reason, rule=_RULE, measures=measures)
