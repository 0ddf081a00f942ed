"""The doctor: a row for each thing, a way out for each fault, and nothing is changed."""

from __future__ import annotations

import json
import re
import shutil
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest

from policy.serving.registry import policies_dir
from tests.policy.made import policy
from tests.tui.conftest import Run
from traces import paths
from tui.doctor.findings import _NEEDED

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
    assert rows["library"]["detail"] == "empty"
    assert all(row["way_out"] for row in rows.values() if row["state"] in {"fail", "warn"})
    assert not home.exists(), "looking changes nothing"


def test_the_table_says_the_same(no_models: None, deepthink: Run) -> None:
    ran = deepthink("doctor")
    assert ran.code == 1
    shown = [line.split()[0] for line in ran.out.splitlines()[2:] if line[:1].strip()]
    assert shown.count("fail") == 3
    assert "→ Fetch it: `deepthink models pull bge-small-en`." in ran.out


def test_a_library_is_counted(library: Path, deepthink: Run) -> None:
    row = _rows(deepthink)[1]["library"]
    assert row["state"] == "ok"
    assert row["detail"].startswith("2 documents in 1 collection,")
    assert re.search(r"schema \d+$", row["detail"])


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


def test_an_ollama_that_is_needed_and_away_is_a_failure(
    deepthink: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEEPTHINK_MODEL", "ollama:llama3")
    row = _rows(deepthink)[1]["Ollama"]
    assert row["state"] == "fail"
    assert "llama3" in row["detail"]
    assert "ollama serve" in row["way_out"]


@pytest.mark.parametrize(("model", "state"), [("ollama:llama3", "fail"), ("none", "unknown")])
def test_an_ollama_host_that_is_no_address_is_told(
    deepthink: Run, monkeypatch: pytest.MonkeyPatch, model: str, state: str
) -> None:
    monkeypatch.setenv("DEEPTHINK_MODEL", model)
    monkeypatch.setenv("DEEPTHINK_OLLAMA_URL", "")
    monkeypatch.setenv("OLLAMA_HOST", "http://h:abc")
    row = _rows(deepthink)[1]["Ollama"]
    assert row["state"] == state
    assert "OLLAMA_HOST is 'http://h:abc'" in row["detail"]
    assert "unset it" in row["way_out"]


def test_a_missing_package_is_a_failure(deepthink: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tui.doctor.findings._NEEDED", ["duckdb", "no_such_package"])
    row = _rows(deepthink)[1]["packages"]
    assert (row["state"], row["detail"]) == ("fail", "missing: no_such_package")


def test_paths_names_every_place(deepthink: Run, home: Path) -> None:
    shown = json.loads(deepthink("paths", "--json").out)
    assert set(shown) == {"library", "models", "settings", "probes", "log"}
    assert shown["library"] == str(home / "data" / "deepthink.duckdb")
    assert "(not created yet)" in deepthink("paths").out


def test_every_package_that_is_needed_is_looked_for() -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text(encoding="utf-8"))
    needed = {re.split(r"[\[>=<]", line)[0].lower() for line in project["project"]["dependencies"]}
    found = packages_distributions()
    carriers = {m: {name.lower().replace("_", "-") for name in found.get(m, [])} for m in _NEEDED}
    assert needed <= set().union(*carriers.values())
    superfluous = [module for module, names in carriers.items() if not names & (needed | {"torch"})]
    assert superfluous == [], "no dependency any more, so it must not be missed"


def test_the_licence_and_version_of_each_direct_dependency_are_listed(deepthink: Run) -> None:
    ran = deepthink("doctor", "--licences", "--json")
    listed = {one["name"]: one for one in json.loads(ran.out)}
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    assert set(listed) == {re.match(r"[\w.-]+", one)[0] for one in project["dependencies"]}  # type: ignore[index]
    assert all(one["version"] and one["licence"] for one in listed.values())
    assert "pydantic" in deepthink("doctor", "--licences").out
