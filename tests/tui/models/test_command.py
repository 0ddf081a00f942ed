"""`deepthink models`: what there is, choosing, and pulls that show how far they are."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from models.catalogue import ALL_MINILM_L6_V2, QWEN_CODER_1_5B, ModelEntry
from models.fetch.files import ChecksumMismatch, PullCancelled, PullProgress
from models.fetch.pull import DiskFull
from models.probe import ProbeResult
from models.servers.ollama import OllamaServer
from models.servers.openai import OpenAiServer
from tests.tui.conftest import Answering, Run
from tui.assemble import AddressNotConfirmed, open_chat
from tui.settings.settings import load


@pytest.fixture
def pulls(monkeypatch: pytest.MonkeyPatch, no_models: None) -> list[str]:
    """Names of the models that were pulled; nothing is fetched."""
    pulled: list[str] = []

    def pull(entry: ModelEntry, *, progress: Callable[[PullProgress], None], **_: Any) -> Path:
        def tell(phase: Any, done: int, *more: Any) -> None:
            progress(PullProgress(entry.name, phase, done, entry.size, *more))

        tell("waiting", 0)
        tell("fetching", 0, "publisher")
        tell("fetching", 0, "wheels", "publisher: example.org is away")
        tell("fetching", 0, "wheels")
        tell("fetching", entry.size // 2, "wheels")
        tell("checking", entry.size)
        tell("done", entry.size)
        pulled.append(entry.name)
        return Path("/models") / entry.name

    monkeypatch.setattr("tui.models.pulling.pull", pull)
    return pulled


def test_an_openai_server_is_listed_and_used(monkeypatch: pytest.MonkeyPatch, deepthink: Run) -> None:
    monkeypatch.setattr(OpenAiServer, "models", lambda _self: {"qwen3": None})
    nowhere = deepthink("models", "use", "openai:qwen3")
    assert (nowhere.code, "config set openai_url" in nowhere.err) == (5, True)
    deepthink("config", "set", "openai_url", "127.0.0.1:8080")
    assert deepthink("models", "use", "openai:qwen3").out == "model = openai:qwen3\n"
    assert "openai:qwen3  model, in use, at http://127.0.0.1:8080/v1" in deepthink("models").out
    listed = json.loads(deepthink("models", "--json").out)
    assert listed["openai"] == {
        "url": "http://127.0.0.1:8080/v1",
        "models": [{"name": "openai:qwen3", "role": "chat"}],
    }
    assert "has 1 model. Without openai:typo" in deepthink("models", "use", "openai:typo").err


def test_a_model_that_ollama_does_not_have_is_told_with_how_to_fetch_it(
    monkeypatch: pytest.MonkeyPatch, deepthink: Run
) -> None:
    monkeypatch.setattr(OllamaServer, "models", lambda _self: {"llama3:latest": ""})
    monkeypatch.setattr(OllamaServer, "role", lambda _self, _name: "chat")
    assert not deepthink("models", "use", "ollama:llama3").err
    assert "`ollama pull qwen3`" in deepthink("models", "use", "ollama:qwen3").err


def test_documents_are_sent_to_another_machine_only_once_that_is_confirmed(
    monkeypatch: pytest.MonkeyPatch, deepthink: Run
) -> None:
    monkeypatch.setattr(OpenAiServer, "models", lambda _self: {"qwen3": None})
    deepthink("config", "set", "openai_url", "http://box:8080")
    refused = deepthink("models", "use", "openai:qwen3")
    assert (refused.code, load().model) == (5, QWEN_CODER_1_5B.name)
    assert "passages of your documents would be sent to http://box:8080/v1" in refused.err
    with pytest.raises(AddressNotConfirmed):
        open_chat(load({"model": "openai:qwen3"}))
    deepthink("config", "set", "openai_confirmed", "box:8080")
    assert deepthink("models", "use", "openai:qwen3").code == 0
    open_chat(load()).close()
    deepthink("config", "set", "openai_url", "http://elsewhere:8080")
    with pytest.raises(AddressNotConfirmed):
        open_chat(load())


def test_a_pull_takes_the_default_models(pulls: list[str], deepthink: Run) -> None:
    ran = deepthink("models", "pull")
    assert (ran.code, ran.err) == (0, "")
    assert pulls == ["qwen2.5-coder-1.5b", "qwen2.5-coder-0.5b", "bge-small-en", "ms-marco-minilm-l12"]
    assert ran.out.splitlines()[:5] == [
        "qwen2.5-coder-1.5b: another process is fetching it",
        "qwen2.5-coder-1.5b: fetching 0 bytes of 1.1 GB from publisher",
        "qwen2.5-coder-1.5b: publisher: example.org is away",
        "qwen2.5-coder-1.5b: 1.1 GB in place, sha256 as the catalogue lists it.",
        "qwen2.5-coder-0.5b: another process is fetching it",
    ]


def test_a_pull_of_named_models_takes_each_once(
    pulls: list[str], deepthink: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert deepthink("models", "pull", "qwen2.5-coder-0.5b", "QWEN2.5-coder-0.5b").code == 0
    assert pulls == ["qwen2.5-coder-0.5b"]
    assert "Pick one of these" in deepthink("models", "pull", "nope").refused(5)

    def checked(*_: Any, **__: Any) -> Path:
        raise ChecksumMismatch("It differs.", "Pull it.")

    monkeypatch.setattr("tui.models.pulling.checked", checked)
    assert deepthink("models", "pull", "qwen2.5-coder-0.5b").code == 0
    assert len(pulls) == 2, "a file that is not the published one is fetched again"


@pytest.mark.parametrize(
    ("error", "code"),
    [(DiskFull("No room.", "Make some."), 5), (PullCancelled("It was cancelled.", "Pull again."), 130)],
)
def test_a_pull_that_fails_is_told(
    error: Exception, code: int, no_models: None, deepthink: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pull(*_: Any, **__: Any) -> Path:
        raise error

    monkeypatch.setattr("tui.models.pulling.pull", pull)
    ran = deepthink("models", "pull")
    assert ran.code == code
    assert len(ran.err.splitlines()) == 2


def test_use_writes_what_is_there(deepthink: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    gguf, embedder, reranker = (tmp_path / name for name in ("mine.gguf", "embedder", "reranker"))
    gguf.write_bytes(b"GGUF")
    embedder.mkdir()
    (embedder / "modules.json").write_text("[]")
    reranker.mkdir()
    (reranker / "config.json").write_text('{"architectures": ["BertForSequenceClassification"]}')
    assert deepthink("models", "use", "mine.gguf").out == f"model = {gguf}\n"
    assert deepthink("models", "use", str(reranker)).out == f"reranker = {reranker}\n"
    chosen = deepthink("models", "use", str(embedder))
    assert chosen.out == f"embedder = {embedder}\n"
    assert "embedded again" in chosen.err
    chosen_now = load().model, load().embedder, load().reranker
    assert chosen_now == (str(gguf), str(embedder), str(reranker))
    assert "as in ollama:llama3" in deepthink("models", "use", "ollama:").refused(5)
    assert deepthink("models", "use", "ollama:llama3").out == "model = ollama:llama3\n"
    as_reranker = deepthink("models", "use", "ollama:llama3", "--as", "reranker")
    assert "ollama:llama3 cannot be the reranker." in as_reranker.refused(5)
    ollama = deepthink("models", "use", "ollama:nomic-embed-text", "--as", "embedder")
    assert ollama.out == "embedder = ollama:nomic-embed-text\n"
    assert "ollama:llama3  model, in use" in deepthink("models").out


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nope", "no model called “nope”"),
        ("/nowhere/x.gguf", "no model file /nowhere/x.gguf"),
        ("/nowhere/folder", "no model in /nowhere/folder"),
        (ALL_MINILM_L6_V2.name, "is not on this machine"),
    ],
)
def test_use_refuses_what_is_not_there(name: str, words: str, no_models: None, deepthink: Run) -> None:
    ran = deepthink("models", "use", name)
    assert (ran.code, ran.out) == (5, "")
    assert words in ran.err


def test_a_probe_is_shown_and_remembered(deepthink: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def probe(chat: Answering, **_: Any) -> ProbeResult:
        return ProbeResult(chat.name, 4096, True, None, True, 85.2, 12.1)

    chat = Answering(name="llama.cpp:qwen2.5-coder-1.5b")
    monkeypatch.setattr("tui.assemble.open_chat", lambda _settings: chat)
    monkeypatch.setattr("tui.models.command.measure", probe)
    ran = deepthink("models", "probe")
    assert (ran.code, ran.err) == (0, "")
    assert "4,096 tokens are really granted" in ran.out
    assert chat.closed
    assert "measured: reads 85 tokens/s, writes 12 tokens/s" in deepthink("models").out
    assert json.loads(deepthink("models", "probe", "--json").out)["context_tokens"] == 4096
