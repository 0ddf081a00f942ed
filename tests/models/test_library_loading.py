"""The variables that keep libraries off the network."""

from __future__ import annotations

import os

import pytest

from models.library_loading import forbid_hubs


def test_the_network_is_closed_and_all_else_is_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = {"HF_HUB_OFFLINE": "0", "LANGSMITH_TRACING": "true", "TOKENIZERS_PARALLELISM": "true"}
    monkeypatch.setattr(os, "environ", theirs)
    forbid_hubs()
    closed = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_HUB_DISABLE_TELEMETRY", "DO_NOT_TRACK")
    assert {theirs[name] for name in closed} == {"1"}
    assert theirs["LANGSMITH_TRACING"] == theirs["LANGCHAIN_TRACING_V2"] == "false"
    assert (theirs["TOKENIZERS_PARALLELISM"], theirs["TRANSFORMERS_VERBOSITY"]) == ("true", "error")
