"""What a probe finds, and how it is remembered."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from models.probe import ProbeResult, probe, recall, remember
from models.protocols import GenerationCancelled
from models.servers.ollama import OllamaChat, OllamaServer
from tests.models.servers.ollama_server import LoopbackOllama
from tests.scripted import ScriptedChat
from traces import paths

RESULT = ProbeResult("m", 8192, True, None, True, 80.0, 20.0)
GOOD, BAD = '{"colour": "red", "count": 3}', "Spring is mild."


@pytest.fixture
def chat(ollama: LoopbackOllama) -> Iterator[OllamaChat]:
    chat = OllamaServer(ollama.url).open_chat("tiny", 2048)
    yield chat
    chat.close()


@pytest.mark.parametrize(
    ("replies", "server", "context", "schema", "measured"),
    [
        (["A", "1, 2, 3", GOOD], {}, 2048, True, True),
        (["A", "1, 2, 3", GOOD], {"grants_at_most": 1024}, 1024, True, True),
        (
            ["A", "1, 2, 3", GOOD, "What?"],
            {"grants_at_most": 1024, "tells_loaded_context": False},
            1024,
            True,
            True,
        ),
        (["A", "1, 2, 3", GOOD, "What?"], {"tells_loaded_context": False}, 2048, True, True),
        (["A", '{"choice": "A"}', "1, 2, 3", BAD], {"gives_logprobs": False}, 2048, False, False),
    ],
    ids=["healthy", "grants less and tells", "grants less", "does not tell", "no probabilities, no schema"],
)
def test_a_server_is_probed(
    ollama: LoopbackOllama,
    chat: OllamaChat,
    replies: list[str],
    server: dict[str, Any],
    context: int,
    schema: bool,
    measured: bool,
) -> None:
    ollama.replies = ["Hi", *replies]
    for name, value in server.items():
        setattr(ollama, name, value)
    steps: list[str] = []
    result = probe(chat, on_step=steps.append)
    assert (result.name, result.context_tokens) == ("ollama:tiny", context)
    assert (result.schema, result.schema_thinking, result.label_probabilities) == (schema, None, measured)
    assert result.prefill > 0
    assert result.generation > 0
    assert len(steps) == 5


@pytest.mark.parametrize(("plain", "thinking", "left"), [(GOOD, GOOD, False), (BAD, GOOD, True)])
def test_the_mode_that_honours_a_schema_is_kept(
    ollama: LoopbackOllama, chat: OllamaChat, plain: str, thinking: str, left: bool
) -> None:
    ollama.thinks, ollama.replies = True, ["Hi", "A", "1, 2, 3", plain, thinking]
    result = probe(chat)
    assert (result.schema, result.schema_thinking) == (plain == GOOD, True)
    assert chat.schema_thinking is left
    assert [body.get("think") for body in ollama.asked("/api/chat")][-2:] == [False, True]


def test_any_chat_can_be_probed_and_cancelled() -> None:
    cancel = threading.Event()
    with ScriptedChat(["Hi", {"A": 1}, "1, 2, 3", GOOD]) as scripted:
        result = probe(scripted)
    assert (result.context_tokens, result.schema) == (8192, True)
    cancel.set()
    with ScriptedChat([]) as scripted, pytest.raises(GenerationCancelled):
        probe(scripted, cancel=cancel)


def test_remembers() -> None:
    assert recall("m") is None
    remember(RESULT)
    remember(replace(RESULT, name="other"))
    assert recall("m") == RESULT
    remember(replace(RESULT, context_tokens=4096))
    again = recall("m")
    assert again is not None
    assert again.context_tokens == 4096
    assert recall("other") is not None
    assert [file.name for file in paths.probes_file().parent.glob("*.part")] == []


@pytest.mark.parametrize("content", ["{broken", "[]", '{"m": {"name": "m"}}'])
def test_a_damaged_memory_is_no_memory(content: str) -> None:
    paths.probes_file().parent.mkdir(parents=True, exist_ok=True)
    paths.probes_file().write_text(content, encoding="utf-8")
    assert recall("m") is None
    remember(RESULT)
    assert recall("m") == RESULT


def test_writers_do_not_overwrite_each_other() -> None:
    results = [replace(RESULT, name=f"m{n}") for n in range(8)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(remember, results))
    assert sorted(json.loads(paths.probes_file().read_text(encoding="utf-8"))) == [r.name for r in results]
