"""The doctor: a row for each thing, a way out for each fault, and nothing is changed."""

from __future__ import annotations

import json
import re
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest

from policy.serving.registry import policies_dir
from tests.policy.made import policy
from tests.tui.conftest import Run
from traces import paths

ROWS = [
    *("Python", "packages", "settings", "data folder", "disk space", "language model", "embedder"),
    *("reranker", "planner", "policy", "library", "Ollama", "memory", "cores", "terminal"),
]
_NOBODY = "http://127.0.0.1:1"


@pytest.fixture(autouse=True)
def no_ollama(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPTHINK_OLLAMA_URL", _NOBODY)


def _rows(deepthink: Run) -> tuple[int, dict[str, dict[str, Any]]]:
    ran = deepthink("doctor", "--json")
    report = json.loads(ran.out)
    assert report["ok"] == (ran.code == 0)
    return ran.code, {row["name"]: row for row in report["findings"]}


def test_a_bare_machine(no_models: None, home: Path, deepthink: Run) -> None:
    code, rows = _rows(deepthink)
    assert code == 1
    assert list(rows) == ROWS
    assert {name for name, row in rows.items() if row["state"] == "fail"} == {
        "language model",
        "embedder",
        "reranker",
    }
    assert "deepthink models pull" in rows["language model"]["way_out"]
    assert rows["Ollama"]["state"] == "unknown"
    assert rows["Ollama"]["detail"].endswith("It is optional.")  # as the list of models says it
    assert rows["library"]["detail"] == "empty"
    assert all(row["way_out"] for row in rows.values() if row["state"] in {"fail", "warn"})
    assert not home.exists(), "looking changes nothing"
    table = deepthink("doctor").out
    assert sum(line.startswith("fail ") for line in table.splitlines()) == 3
    assert "→ Fetch it: `deepthink models pull bge-small-en`." in table


def test_a_library_is_counted(library: Path, deepthink: Run) -> None:
    row = _rows(deepthink)[1]["library"]
    assert row["state"] == "ok"
    assert row["detail"].startswith("2 documents in 1 collection,")
    assert re.search(r"schema \d+$", row["detail"])
    lines = deepthink("doctor").out.splitlines()
    assert [line.rstrip() for line in lines] == lines, "a program reads no padding"


def test_a_damaged_library_is_a_failure(deepthink: Run) -> None:
    paths.store_file().parent.mkdir(parents=True)
    paths.store_file().write_bytes(b"not a database" * 1000)
    code, rows = _rows(deepthink)
    assert (code, rows["library"]["state"]) == (1, "fail")
    assert rows["library"]["way_out"]


def test_bad_settings_are_a_failure_and_the_rest_is_still_looked_at(deepthink: Run) -> None:
    paths.config_file().parent.mkdir(parents=True)
    paths.config_file().write_text("context_tokens = 3\n")
    code, rows = _rows(deepthink)
    assert (code, rows["settings"]["state"]) == (1, "fail")
    assert "context_tokens" in rows["settings"]["detail"]
    assert list(rows) == ROWS


def test_a_policy_that_cannot_be_used_is_told_with_a_way_out(deepthink: Run) -> None:
    assert _rows(deepthink)[1]["policy"]["detail"] == "none; rules decide when to stop"
    root = policies_dir()
    folder = policy(root)
    (root / "active.json").write_text(json.dumps({"format": 1, "active": folder.name}))
    row = _rows(deepthink)[1]["policy"]
    assert (row["state"], row["detail"]) == ("ok", folder.name)
    (folder / "forest.safetensors").write_bytes(b"other weights")
    row = _rows(deepthink)[1]["policy"]
    assert row["state"] == "warn"
    assert "but rules decide" in row["detail"]
    assert "deepthink policy use" in row["way_out"]
    shutil.rmtree(folder)
    assert _rows(deepthink)[1]["policy"]["detail"] == f"{folder.name} is missing; rules decide"
    (root / "active.json").write_text("{")
    row = _rows(deepthink)[1]["policy"]
    assert (row["state"], "it is damaged" in row["detail"]) == ("warn", True)


@pytest.mark.parametrize(
    ("model", "host", "state", "words"),
    [
        ("ollama:llama3", "", "fail", "llama3 needs it"),
        ("ollama:llama3", "http://h:abc", "fail", "OLLAMA_HOST is 'http://h:abc'"),
        ("none", "http://h:abc", "unknown", "OLLAMA_HOST is 'http://h:abc'"),
    ],
)
def test_an_ollama_that_is_away_is_a_failure_if_it_is_needed(
    deepthink: Run, monkeypatch: pytest.MonkeyPatch, model: str, host: str, state: str, words: str
) -> None:
    monkeypatch.setenv("DEEPTHINK_MODEL", model)
    if host:
        monkeypatch.setenv("DEEPTHINK_OLLAMA_URL", "")
        monkeypatch.setenv("OLLAMA_HOST", host)
    row = _rows(deepthink)[1]["Ollama"]
    assert (row["state"], words in row["detail"], bool(row["way_out"])) == (state, True, True)


def test_a_missing_package_is_a_failure(deepthink: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tui.doctor.findings.requires", lambda _name: ["duckdb>=1.4", "no-such-package"])
    row = _rows(deepthink)[1]["packages"]
    assert (row["state"], row["detail"]) == ("fail", "missing: no-such-package")


def test_paths_names_every_place(deepthink: Run, home: Path) -> None:
    shown = json.loads(deepthink("paths", "--json").out)
    assert set(shown) == {"library", "models", "settings", "probes", "log"}
    assert shown["library"] == str(home / "data" / "deepthink.duckdb")
    assert "(not created yet)" in deepthink("paths").out


def test_the_licence_and_version_of_each_direct_dependency_are_listed(deepthink: Run) -> None:
    ran = deepthink("doctor", "--licences", "--json")
    listed = {one["name"]: one for one in json.loads(ran.out)}
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    assert set(listed) == {re.match(r"[\w.-]+", one)[0] for one in project["dependencies"]}  # type: ignore[index]
    assert all(one["version"] and one["licence"] for one in listed.values())
    assert "pydantic" in deepthink("doctor", "--licences").out
