"""The manifest of a policy folder: what the policy is, its origin, and the sha256 of its files."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from traces.errors import DeepthinkError

Method = Literal["forest", "reward"]

FORMAT: Final = 1
BOX: Final = "box"
"""The name that stands for the policy shipped with this version."""

GAIN: Final = "utility over the default schedule"
"""The measure of the gate that says what a policy is worth."""

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_SHA256 = r"[0-9a-f]{64}"
_SEAL = "seal"


class BadPolicy(DeepthinkError):
    """Raised when a policy folder cannot be used; other policies are not affected."""

    title = "This policy cannot be used"
    kind = "input"


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="null")


class Base(_Part):
    """The model that a policy is an adapter of: its catalogue name, and the sha256 of its weights."""

    name: str
    sha256: str = Field(pattern=f"^{_SHA256}$")


class Data(_Part):
    """What a policy was trained on.

    Attributes:
        sha256: Of the examples, independent of the form they were read in.
        questions: How many, held-out ones included.
        decisions: States learned from.
        datasets: Questions by data set.
        sources: States by the source of their quality (answer, evidence, rating, …).
    """

    sha256: str
    questions: int = Field(ge=0)
    decisions: int = Field(ge=0)
    datasets: dict[str, int] = {}
    sources: dict[str, int] = {}


class RuleValues(_Part):
    """The frozen values of `policy.serving.scorers.Rule`."""

    margin: float = Field(allow_inf_nan=False)
    temperature: float = Field(gt=0, allow_inf_nan=False)


class Gate(_Part):
    """The gate's verdict when the policy was made: its rule in words, and the measures judged."""

    passed: bool
    reason: str
    rule: str
    measures: dict[str, Any] = {}


class Manifest(_Part):
    """Everything about a policy but its weights.

    Attributes:
        name: Of the policy and of its folder.
        method: How it was trained, which determines how it is loaded.
        state_version: `agent.decisions.decider.STATE_VERSION` of the states it reads.
        created: ISO 8601, with the zone.
        base: None for a method without a base model.
        features: Names of the numeric features it reads, in column order.
        settings: Of the method, with seeds and the cost of a step.
        metrics: Measured on held-out questions.
        gate: None if it was not judged.
        versions: Of the packages it was trained with.
        command: The command that trained it.
        files: sha256 of each file by its path in the folder, except this manifest.
    """

    name: str
    method: Method
    state_version: int
    created: str
    base: Base | None
    data: Data
    features: list[str]
    rule: RuleValues
    settings: dict[str, Any] = {}
    metrics: dict[str, Any] = {}
    gate: Gate | None = None
    versions: dict[str, str] = {}
    command: str = ""
    files: dict[str, str] = {}
    format: int = FORMAT

    @field_validator("name")
    @classmethod
    def _check_name(cls, value: str) -> str:
        if not is_name(value):
            raise ValueError(
                f"a policy's name is of small letters, digits, dots and dashes, and not “{BOX}”"
            )
        return value


def is_name(text: str) -> bool:
    """Whether a policy may have this name; `BOX` is reserved."""
    return text != BOX and _NAME.fullmatch(text) is not None


def render(manifest: Manifest) -> bytes:
    """The manifest as JSON with a digest of itself, so that changes are noticed.

    Non-finite numbers become null.
    """
    values = json.loads(manifest.model_dump_json())
    values[_SEAL] = seal(values)
    return (json.dumps(values, ensure_ascii=False, indent=2) + "\n").encode()


def seal(values: Mapping[str, Any]) -> str:
    """The digest of a manifest's other values."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def parse(content: bytes) -> Manifest:
    """The manifest in ``content``.

    Raises:
        ValueError, TypeError: it is not byte for byte what `render` writes.
    """
    values = json.loads(content)
    if not isinstance(values, dict):
        raise TypeError("it is not a JSON object")
    values.pop(_SEAL, None)
    if values.get("format") != FORMAT:
        raise ValueError(f"it is of format {values.get('format')}, and this version reads {FORMAT}")
    manifest = Manifest.model_validate(values)
    if render(manifest) != content:
        raise ValueError("it was changed after it was written")
    return manifest
