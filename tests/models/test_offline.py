"""The variables that keep libraries off the network."""

from __future__ import annotations

import os

import pytest

from models.offline import forbid_hubs


@pytest.fixture(autouse=True)
def _restored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", os.environ.copy())


def test_a_persons_own_settings_cannot_open_the_network() -> None:
    os.environ["HF_HUB_OFFLINE"] = "0"
    os.environ["LANGSMITH_TRACING"] = "true"
    forbid_hubs()
    assert os.environ["HF_HUB_OFFLINE"] == "1"
    assert os.environ["TRANSFORMERS_OFFLINE"] == "1"
    assert os.environ["HF_HUB_DISABLE_TELEMETRY"] == "1"
    assert os.environ["DO_NOT_TRACK"] == "1"
    assert os.environ["LANGSMITH_TRACING"] == "false"
    assert os.environ["LANGCHAIN_TRACING_V2"] == "false"


def test_matters_of_taste_stay_the_persons() -> None:
    os.environ.pop("TRANSFORMERS_VERBOSITY", None)
    os.environ["TOKENIZERS_PARALLELISM"] = "true"
    forbid_hubs()
    assert os.environ["TOKENIZERS_PARALLELISM"] == "true"
    assert os.environ["TRANSFORMERS_VERBOSITY"] == "error"
