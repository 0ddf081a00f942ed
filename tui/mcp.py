"""``deepthink mcp``: the library for other programs on this machine, over MCP (Model Context Protocol).

No tool changes a document. A question is stored as a run, as on the command line.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final

from traces.errors import DeepthinkError
from traces.records import ALL_COLLECTIONS

if TYPE_CHECKING:
    from mcp.server import MCPServer

_INSTRUCTIONS: Final = """\
The user's own documents, on this machine. `list` shows what there is, `search` finds passages at once,
`read` gives a document's text in order, `ask` researches a question and answers it with citations, which
takes from seconds to minutes."""
_SOURCE: Final = ("number", "collection", "document", "title", "section", "page", "date", "url", "quote")


def mcp() -> None:
    """Serve the library to editors and assistants, over MCP.

    The protocol runs on stdin and stdout; its tools are list, search, read and ask. No document is changed.
    """
    server().run("stdio")


def server() -> MCPServer[Any]:
    """The server with its tools; models load at their first use."""
    from mcp.server import MCPServer
    from mcp_types import ToolAnnotations

    mcp_server: MCPServer[Any] = MCPServer("deepthink", instructions=_INSTRUCTIONS, log_level="WARNING")
    tools, read_only = _Tools(), ToolAnnotations(read_only_hint=True, open_world_hint=False)
    mcp_server.add_tool(tools.list_documents, name="list", annotations=read_only)
    mcp_server.add_tool(tools.search, name="search", annotations=read_only)
    mcp_server.add_tool(tools.read, name="read", annotations=read_only)
    stores_a_run = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)
    mcp_server.add_tool(tools.ask, name="ask", annotations=stores_a_run)
    return mcp_server


class _Tools:
    """The tools; the client's model reads their docstrings."""

    def __init__(self) -> None:
        from tui import assemble
        from tui.settings.settings import load

        self._settings = load()
        self._store = assemble.open_store()
        self._asking = threading.Lock()

    @cached_property
    def _embedder(self) -> Any:
        from tui import assemble

        return assemble.open_embedder(self._settings)

    @cached_property
    def _models(self) -> dict[str, Any]:
        """The parts of a run; they stay in memory for the next question."""
        from tui import assemble

        parts = assemble.open_parts(self._settings)
        return {**parts, "embedder": self._embedder, "store": self._store}

    def list_documents(self, collection: str = "") -> list[dict[str, Any]]:
        """List the documents of a collection, or of all collections."""
        from traces.library import Library

        library = Library(self._store)
        with _tool_errors():
            if collection:
                library.require_collections([collection])
            return [
                {
                    "document_id": document.id,
                    "collection": document.collection,
                    "name": document.name,
                    "title": document.title,
                    "date": document.date,
                    "pages": document.pages,
                    "passages": document.chunks,
                }
                for document in library.documents(collection or None)
            ]

    def search(
        self, query: str, collections: list[str] | None = None, limit: int = 5
    ) -> list[dict[str, Any]]:
        """Find the passages that fit a query best, by meaning and by words, without a language model.

        ``collections`` are names of collections; all are searched without it. ``limit`` is 1 to 50.
        """
        from agent.retrieval.recall import Recall
        from traces.library import Library
        from tui.library.actions import as_json_object, scope_of

        library = Library(self._store)
        with _tool_errors():
            scope = scope_of(library, collections or [])
            recall = Recall(library, self._embedder)
            hits = recall.search(" ".join(query.split()), "hybrid", [scope], min(max(limit, 1), 50))
        return [as_json_object(hit) for hit in hits]

    def read(self, document_id: int, first: int = 0, count: int = 20) -> dict[str, Any]:
        """Read a document's passages in order: ``count`` of them from number ``first`` on (0 is the first).

        `list` and `search` give the document_id.
        """
        from traces.library import Library
        from traces.records import UnknownDocument

        with _tool_errors():
            passages = Library(self._store).document_passages(document_id)
            if not passages:
                raise UnknownDocument(f"There is no document {document_id}.", "`list` gives the ids.")
        page = passages[max(first, 0) : max(first, 0) + max(count, 1)]
        return {
            "document_id": document_id,
            "name": passages[0].document,
            "title": passages[0].title,
            "passages": len(passages),
            "text": [
                {
                    "number": passage.position,
                    "section": passage.section,
                    "page": passage.page,
                    "text": passage.text,
                }
                for passage in page
            ],
        }

    async def ask(self, question: str, collections: list[str] | None = None) -> dict[str, Any]:
        """Research a question in the documents and answer it; each [n] in the answer is one of its sources.

        ``status`` is "answered", or "not_found" if the documents do not say. ``missing`` is what they leave
        open. ``route`` is "direct" if the answer was given without a look at the documents.
        """
        from anyio import to_thread

        cancel = threading.Event()
        answer = partial(self._answer, question, tuple(collections or [ALL_COLLECTIONS]), cancel)
        try:
            with _tool_errors():
                return await to_thread.run_sync(answer, abandon_on_cancel=True)
        finally:
            cancel.set()  # the client has cancelled or disconnected

    def _answer(
        self, question: str, collections: tuple[str, ...], cancel: threading.Event
    ) -> dict[str, Any]:
        from agent import run as agent_run
        from agent.steering import Steering
        from tui import assemble
        from tui.ask.asking import request_of
        from tui.ask.terminal import AskOptions
        from tui.run.fold import RunFold

        fold = RunFold()
        request = request_of(AskOptions(question, collections), self._settings, interactive=False)
        with self._asking:
            parts = {**self._models, "learned": assemble.open_learned()}  # chosen since, perhaps
            for event in agent_run.run(request, steering=Steering(cancel), **parts):
                fold.take(event)
        result = fold.to_json()
        sources = [{name: source.get(name) for name in _SOURCE} for source in result["sources"]]
        fields = ("status", "route", "answer", "grounded", "missing", "run_id")
        return {**{name: result[name] for name in fields}, "sources": sources}


@contextmanager
def _tool_errors() -> Iterator[None]:
    """Turn our errors into tool errors, which the client's model reads."""
    from mcp.server.mcpserver.exceptions import ToolError

    try:
        yield
    except DeepthinkError as error:
        raise ToolError(f"{error.title}: {error.message} {error.way_out}".strip()) from error
