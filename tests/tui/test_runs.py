"""`deepthink runs`: what ran can be listed, shown again and written down."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.tui.conftest import QUESTION, Answer, Run


@pytest.fixture
def ran(library: Path, model: Answer, deepthink: Run) -> str:
    """One run is stored; what it showed."""
    model()
    return deepthink("ask", QUESTION).out


def test_a_replay_shows_what_the_run_showed(ran: str, deepthink: Run) -> None:
    assert deepthink("runs", "show").out == ran
    assert deepthink("runs", "show", "last", "--plain").out == ran
    run_id = ran.rsplit("run ", maxsplit=1)[-1].strip()
    assert deepthink("runs", "show", run_id[:5]).out == ran


def test_the_list_names_the_run(ran: str, deepthink: Run) -> None:
    for arguments in (("runs",), ("runs", "list", "-n", "1")):
        listed = deepthink(*arguments).out
        assert ran.rsplit("run ", maxsplit=1)[-1].strip() in listed
        assert "answered" in listed
        assert QUESTION in listed


def test_export_to_markdown_holds_everything(ran: str, deepthink: Run, tmp_path: Path) -> None:
    text = deepthink("runs", "export").out
    assert text.startswith(f"# {QUESTION}\n\nOrlavane buys its ceramic bearings from Tolvang Ceramics [")
    headings = [line for line in text.splitlines() if line.startswith("## ")]
    assert headings == ["## Sources", "## Plan", "## Findings", "## Decisions", "## Run"]
    assert "> A fire at the Brevnes plant of Tolvang Ceramics halted production in May." in text
    assert "CONTINUE, by rules" in text
    assert "4 model calls" in text
    file = tmp_path / "run.md"
    assert deepthink("runs", "export", "last", "-o", str(file)).code == 0
    assert file.read_text(encoding="utf-8") == text


def test_export_to_json_is_what_ask_gives(library: Path, model: Answer, deepthink: Run) -> None:
    model()
    asked = json.loads(deepthink("ask", QUESTION, "--json").out)
    assert json.loads(deepthink("runs", "export", "--format", "json").out) == asked


def test_document_text_is_no_markdown(library: Path, model: Answer, deepthink: Run) -> None:
    (library / "evil.md").write_text(
        "# *Bold* <b>\n\nOrlavane buys `all` of its *ceramic* bearings | here.\n"
    )
    deepthink("ingest", str(library), "-c", "facts")
    model()
    deepthink("ask", QUESTION)
    text = deepthink("runs", "export").out
    assert "<b>" not in text


@pytest.mark.parametrize("command", ["show", "export"])
def test_an_unknown_run_is_wrong_usage(command: str, deepthink: Run) -> None:
    for wanted in ("last", "zzz"):
        ran = deepthink("runs", command, wanted)
        assert (ran.code, ran.out) == (2, "")
        assert len(ran.err.splitlines()) == 2


def test_no_run_yet(deepthink: Run) -> None:
    assert "deepthink ask" in deepthink("runs").out


def test_an_export_that_cannot_be_written_names_the_file(ran: str, deepthink: Run, tmp_path: Path) -> None:
    missing = tmp_path / "not" / "there.md"
    refused = deepthink("runs", "export", "-o", str(missing))
    assert refused.code == 4
    assert str(missing) in refused.err
    assert "Traceback" not in refused.err
