"""What a row of exported traces must be before anything of it is stored.

Whoever learns from traces trusts them: a probability that is none, an action that could not be taken or a
number that is not finite would teach quietly. So each row is checked whole, and the first that is wrong is
told with its place and its reason.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, Json, ValidationError, model_validator

from traces.run_records import RUN_ID

_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}")
_SLACK = 1e-6  # of a sum of probabilities: what rounding may leave


def _moment(text: str) -> str:
    if not _MOMENT.fullmatch(text):
        raise ValueError(f"“{text}” is no time like 2026-01-31T09:30:00.000000")
    datetime.fromisoformat(text)
    return text


def _path(text: str) -> str:
    if set(text) - set("CRF"):
        raise ValueError(f"“{text}” is no path: it has letters besides C, R and F")
    return text


Moment = Annotated[str, AfterValidator(_moment)]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Share = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=0, le=1)]
Count = Annotated[int, Field(strict=True, ge=0)]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class _Cost(_Strict):
    seconds: Number | None
    model_calls: Count
    evaluated: Count
    reused: Count
    generated: Count


class _Outcome(_Strict):
    source: Literal["answer", "evidence", "verifier"]
    quality: Share
    detail: dict[str, Number]
    measured: Moment


class TraceRow(BaseModel):
    """A row of the table; see `traces.exchange_table` for the columns."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    format: Count
    run_id: Annotated[str, Field(pattern=RUN_ID)]
    question: str
    standalone: str
    dataset: str
    question_id: str
    answers: Json[list[str]] | Literal[""]
    passages: Json[list[Any]] | Literal[""]
    profile: str
    chat_model: str
    embedder: str
    reranker: str
    decider: str
    collections: Json[list[str]]
    status: Annotated[str, Field(min_length=1)]
    stopped_because: str
    answer: str
    started: Moment
    finished: Moment | Literal[""]
    cost: Json[_Cost]
    request: Json[dict[str, Any]]
    rating: Literal["", "good", "partly", "wrong"]
    rating_note: str
    rated: Moment | Literal[""]
    seq: Count
    shadow: bool
    step: Count
    path: Annotated[str, AfterValidator(_path)]
    state_version: Annotated[int, Field(ge=1)]
    text: str
    features: Json[dict[str, Number]]
    state: Json[dict[str, Any]]
    valid_actions: Annotated[list[str], Field(min_length=1)]
    action: str
    probabilities: Json[dict[str, Share]]
    behaviour_probability: Annotated[float, Field(gt=0, le=1)]
    source: Annotated[str, Field(min_length=1)]
    latency_ms: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    justification: str
    taken: Moment
    label: str
    label_origin: Literal["", "override", "teach", "said"]
    label_note: str
    labelled: Moment | Literal[""]
    outcomes: Json[list[_Outcome]]

    @model_validator(mode="after")
    def _fits_together(self) -> TraceRow:
        # A person may end a run wherever they like.
        if self.action not in self.valid_actions and (self.source, self.action) != ("human", "FINISH"):
            raise ValueError(f"{self.action} was taken, which was not possible")
        lacking = [name for name in self.valid_actions if name not in self.probabilities]
        if lacking:
            raise ValueError(f"probabilities has none for {', '.join(lacking)}")
        total = math.fsum(self.probabilities.values())
        if abs(total - 1) > _SLACK:
            raise ValueError(f"probabilities sum to {total:.6g}, not to 1")
        if self.label and self.label not in self.valid_actions:
            raise ValueError(f"it is labelled {self.label}, which was not possible")
        for name, said, moment in (
            ("label", f"{self.label}{self.label_origin}", self.labelled),
            ("rating", self.rating, self.rated),
            ("gold", self.answers, self.passages),
        ):
            if (said == "") != (moment == ""):
                raise ValueError(f"half of its {name} is missing")
        if self.label and not self.label_origin:
            raise ValueError("its label has no origin")
        if self.shadow and (self.label or self.outcomes):
            raise ValueError("a second opinion has neither label nor outcome")
        sources = [outcome.source for outcome in self.outcomes]
        if len(sources) != len(set(sources)):
            raise ValueError("two outcomes are by the same source")
        return self


def fault(row: Mapping[str, Any]) -> str:
    """What is wrong with a row, in a few words; "" if nothing is."""
    missing = [name for name, value in row.items() if value is None]
    if missing:
        return f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing"
    try:
        TraceRow.model_validate(row)
    except ValidationError as wrong:
        first = wrong.errors(include_url=False)[0]
        where = ".".join(
            str(part) for part in first["loc"] if not str(part).startswith(("function-", "json"))
        )
        message = first["msg"].removeprefix("Value error, ")
        return f"{where}: {message}" if where else message
    return ""
