"""`deepthink mcp` as another program sees it: the SDK's own client, over stdio, on a scripted model."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from tests.agent.decisions.test_sources import Stopping
from tests.tui.conftest import QUESTION
from traces.runs import Runs
from tui import mcp
from tui.assemble import open_store

pytestmark = pytest.mark.shared_store

_SERVE = """
from tests.scripted import HashEmbedder
from tests.agent.conftest import UnsureReader
from tests.tui.conftest import Answering
from tui import assemble, mcp

assemble.open_chat = lambda _settings: Answering()
assemble.open_embedder = lambda _settings: HashEmbedder()
assemble.open_reader = lambda _settings: UnsureReader()
assemble.open_learned = lambda: None
assemble.open_planner = lambda _settings: None
mcp.mcp()
"""


@pytest.fixture
def transport(library: Path) -> Any:
    """Starts the server on a library of two documents."""
    environment = {name: value for name, value in os.environ.items() if name.startswith("DEEPTHINK_")}
    program = StdioServerParameters(
        command=sys.executable,
        args=["-c", _SERVE],
        cwd=Path(__file__).parents[2],
        env={**environment, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    return stdio_client(program)


async def test_the_library_is_listed_searched_read_and_asked(transport: Any) -> None:
    async with Client(transport) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == {"list", "search", "read", "ask"}
        hints = {name: tool.annotations for name, tool in tools.items()}
        assert [name for name, hint in hints.items() if hint and not hint.read_only_hint] == ["ask"]

        async def call(name: str, **arguments: Any) -> Any:
            result = await client.call_tool(name, arguments)
            assert not result.is_error, result.content
            told = result.structured_content
            return told["result"] if set(told) == {"result"} else told

        documents = await call("list")
        assert {document["name"] for document in documents} == {"supplier.md", "fire.md"}
        found = await call("search", query="Who sells ceramic bearings?", limit=2)
        supplier = next(passage for passage in found if passage["document"] == "supplier.md")
        document = await call("read", document_id=supplier["document_id"])
        assert document["name"] == "supplier.md"
        assert "Tolvang Ceramics" in document["text"][0]["text"]
        answer = await call("ask", question=QUESTION)
        assert answer["status"] == "answered"
        assert {source["document"] for source in answer["sources"]} <= {"supplier.md", "fire.md"}
        assert "[1]" in answer["answer"]

        for name, arguments, words in (
            ("list", {"collection": "none"}, "There is no collection"),
            ("read", {"document_id": 99}, "There is no document 99. `list` gives the ids."),
            ("ask", {"question": "?"}, "The question has no words"),
        ):
            result = await client.call_tool(name, arguments)
            assert result.is_error
            assert words in str(result.content[0])


async def test_a_policy_chosen_while_it_serves_decides_the_next_question(
    library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen: list[Stopping | None] = [None, Stopping()]
    monkeypatch.setattr("tui.assemble.open_learned", lambda: chosen.pop(0))
    deciders: list[str] = []
    async with Client(mcp.server()) as client:
        for _ in range(2):
            answer = (await client.call_tool("ask", {"question": QUESTION})).structured_content
            deciders.append(Runs(open_store()).find(answer["run_id"]).decider)
    assert deciders == ["rules", "learned:forest-1"]
