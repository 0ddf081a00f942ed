"""Trajectories for tests, made by hand."""

from __future__ import annotations

from agent.state import Action
from policy.evaluation.cases import Place
from tests.benchmarks.trajectories import Prefix, Trajectory

GO: tuple[Action, ...] = ("CONTINUE", "REVISE", "FINISH")
DONE: tuple[Action, ...] = ("REVISE", "FINISH")
END: tuple[Action, ...] = ("FINISH",)


def prefix(path: str, valid: tuple[Action, ...], rules: Action, f1: float, recall: float) -> Prefix:
    """A prefix whose text is its path; it holds all that was found, and took a call and a second a step."""
    steps = 1.0 + len(path)
    measures = {"em": float(f1 == 1), "f1": f1, "holds": 0.0, "recall": recall, "recalled": recall}
    cost = {"steps": steps, "calls": steps + 2, "seconds": steps, "evaluated": 100 * steps}
    return Prefix(
        path=path,
        state=f"state {path}",
        features={"step": steps, "missing": 0.0},
        valid=valid,
        rules=rules,
        measures={**measures, **cost},
        answer=f"An answer at {path}.",
        short=f"short {path}",
        stopped="" if len(valid) > 1 else "step budget",
        question="Who?",
        query="who",
        finding="It was Ann.",
        places=(Place("annual-report", 3), Place("7")),
    )


def trajectory(question: str, *prefixes: Prefix, model: str = "small") -> Trajectory:
    """Of the set ``toy``."""
    return Trajectory("toy", question, model, f"What is {question}?", {one.path: one for one in prefixes})


def long(question: str = "long", model: str = "small") -> Trajectory:
    """A plan of three steps, then a revision; the evidence is whole at the second, the answer right there
    and wrong afterwards. The rules revise at the second state, and then finish."""
    return trajectory(
        question,
        prefix("", GO, "CONTINUE", 0.2, 0.5),
        prefix("C", GO, "REVISE", 1.0, 1.0),
        prefix("CC", DONE, "FINISH", 0.4, 1.0),
        prefix("CR", DONE, "FINISH", 0.8, 1.0),
        prefix("CCR", END, "FINISH", 0.0, 1.0),
        model=model,
    )


def short(question: str = "short", model: str = "small") -> Trajectory:
    """One step, after which nothing else is possible; half of the evidence is held."""
    return trajectory(question, prefix("", END, "FINISH", 0.0, 0.5), model=model)
