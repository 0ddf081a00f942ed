"""`manifest.json`: what the reader's files are, and how its scores become probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter, ValidationError

from models.protocols import ModelError

FILE: Final = "manifest.json"


@dataclass(frozen=True, slots=True)
class Calibration:
    """Weights of logistic regressions on the network's scores, fitted on held-out articles (Platt, 1999).

    Attributes:
        answers: Of the classifier's logit and of the spans' log-odds against "not here", and the intercept:
            gives the log-odds that the passage answers.
        span: Of the log-odds of a span's share and of those log-odds, and the intercept: gives the log-odds
            that the span is right.
        support: What each of the three verdicts' scores is multiplied by, and what is then added.
        checked: Of the log-odds that a span is right and of those that the passage supports it as the
            question's answer, and the intercept: gives the log-odds that a span so checked is right.
    """

    answers: tuple[float, float, float]
    span: tuple[float, float, float]
    support: tuple[float, tuple[float, float, float]]
    checked: tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Manifest:
    """The sha256 of each file beside the manifest, and the calibration of the model among them."""

    files: dict[str, str]
    calibration: Calibration


def read_manifest(folder: Path) -> Manifest:
    """The manifest in ``folder``.

    Raises:
        ModelError: it is not there, or not what it should be.
    """
    try:
        return TypeAdapter(Manifest).validate_json((folder / FILE).read_bytes())
    except (OSError, ValidationError) as error:
        raise ModelError(
            f"The reader's manifest in {folder} cannot be read: {error}", "Install deepthink-tui again."
        ) from error
