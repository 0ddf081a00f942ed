"""Ollama over its native API: server information, chat models (through langchain-ollama), embedders.

The OpenAI-compatible API under ``/v1`` is not used here: it ignores ``num_ctx`` and truncates long prompts.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import httpx
import numpy as np

from models.catalogue import CatalogueRole
from models.protocols import (
    ChatOptions,
    FinishReason,
    Message,
    ModelError,
    ModelMissing,
    ModelUnreachable,
    Reply,
    Vectors,
)
from models.servers.chat import Bill, Part, Patience, ServerChat, Wire, tls
from models.servers.kinds import Server

DEFAULT_URL = "http://127.0.0.1:11434"
_PORT = 11434
_BATCH = 32
# The prefixes of questions and passages by the authors of these models; without them recall is worse.
_PREFIXES = {
    "nomic-embed-text": ("search_query: ", "search_document: "),
    "mxbai-embed-large": ("Represent this sentence for searching relevant passages: ", ""),
    "snowflake-arctic-embed": ("Represent this sentence for searching relevant passages: ", ""),
    "snowflake-arctic-embed2": ("query: ", ""),
    "embeddinggemma": ("task: search result | query: ", "title: none | text: "),
    "qwen3-embedding": ("Instruct: Given a question, retrieve passages that answer it\nQuery: ", ""),
}


def base_url(url: str = "") -> str:
    """The server's address: ``url``, else ``OLLAMA_HOST``, else the default.

    The forms that Ollama accepts are accepted (``0.0.0.0``, ``host:port``), and a trailing ``/v1`` is
    dropped. Raises `ValueError` for an invalid ``url``, `ModelUnreachable` for an invalid ``OLLAMA_HOST``.
    """
    if url:
        return _normalise(url.strip())
    host = os.environ.get("OLLAMA_HOST", "").strip() or DEFAULT_URL
    try:
        return _normalise(host)
    except ValueError as error:
        raise ModelUnreachable(
            f"OLLAMA_HOST is {host!r}, which is not an address.",
            "Set it to one like http://127.0.0.1:11434, or unset it.",
        ) from error


def _normalise(text: str) -> str:
    if "://" not in text:
        text = f"http://{text}"
    parts = urlsplit(text)
    if not parts.netloc:
        raise ValueError("no host")
    host = parts.hostname or "127.0.0.1"
    host = "127.0.0.1" if host == "0.0.0.0" else host  # an address to listen on, not to connect to
    host = f"[{host}]" if ":" in host else host
    port = parts.port or {"http": _PORT, "https": 443}.get(parts.scheme, _PORT)
    path = parts.path.rstrip("/").removesuffix("/v1")
    login = f"{parts.username}:{parts.password}@" if parts.username else ""
    return f"{parts.scheme}://{login}{host}:{port}{path}"


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """A server's information about a model: the context it was trained for, and e.g. ``thinking``."""

    trained_context: int | None
    capabilities: frozenset[str]

    @property
    def thinks(self) -> bool:
        """Whether thinking can be switched for this model."""
        return "thinking" in self.capabilities


class OllamaServer(Server):
    """Its models, and requests other than chat and embedding; each may take ``patience.idle``.

    Every method raises `ModelUnreachable` if the server does not answer, `ModelMissing` for a model
    it does not have, `ModelError` for any other failure and `GenerationCancelled` if ``cancel`` is set.
    """

    TITLE = "Ollama"
    SUBJECT = "The Ollama server"
    ROLES = ("chat", "embedder")
    IS_USUAL = True
    LISTS_ALL = True
    FETCH = "Fetch it: `ollama pull {model}`."

    def __init__(self, url: str = "", patience: Patience | None = None) -> None:
        self.url = base_url(url)
        self.patience = patience or Patience()

    def open_chat(self, model: str, context_tokens: int) -> OllamaChat:
        return OllamaChat(model, self, context_tokens)

    def open_embedder(self, model: str) -> OllamaEmbedder:
        return OllamaEmbedder(model, self)

    def role(self, model: str) -> CatalogueRole:
        return "embedder" if "embedding" in self.facts(model).capabilities else "chat"

    def about(self) -> str:
        return f"version {self._ask('GET', '/api/version').get('version', '')} at {self.url}"

    @staticmethod
    def full_name(model: str) -> str:
        """A model's name with its tag: ``llama3`` is ``llama3:latest``."""
        return model if ":" in model.rsplit("/", 1)[-1] else f"{model}:latest"

    def models(self) -> Mapping[str, str]:
        models = self._ask("GET", "/api/tags").get("models") or ()
        return {str(model.get("name", "")): str(model.get("digest", "")) for model in models}

    def loaded_context(self, model: str, cancel: threading.Event | None = None) -> int | None:
        """The context that the loaded model really has, if the server reports it."""
        for running in self._ask("GET", "/api/ps", cancel=cancel).get("models") or ():
            if self.full_name(str(running.get("name", ""))) == self.full_name(model):
                granted = running.get("context_length")
                return granted if isinstance(granted, int) else None
        return None

    def facts(self, model: str, cancel: threading.Event | None = None) -> ModelFacts:
        description = self._ask("POST", "/api/show", {"model": model}, cancel)
        info = description.get("model_info") or {}
        lengths = [value for key, value in info.items() if key.endswith(".context_length")]
        context = lengths[0] if lengths and isinstance(lengths[0], int) else None
        return ModelFacts(context, frozenset(map(str, description.get("capabilities") or ())))

    def _ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        cancel: threading.Event | None = None,
    ) -> Mapping[str, Any]:
        wire = Wire("Ollama", self.patience.quick)

        def ask() -> Iterator[Mapping[str, Any]]:
            with httpx.Client(transport=wire, base_url=self.url, timeout=wire.timeouts) as client:
                answer = client.request(method, path, json=body)
                answer.raise_for_status()
                value = answer.json()
                if not isinstance(value, dict):
                    raise TypeError(f"{value!r:.40} is not an object")
                yield value

        with self.explain_errors(str(body["model"]) if body else ""):
            (answer,) = wire.run(ask, cancel)
        return answer

    @contextmanager
    def explain_errors(self, model: str) -> Iterator[None]:
        """Turns errors of the client libraries into errors that say what to do.

        Raises:
            ModelMissing, ModelUnreachable, ModelError: depending on the failure.
        """
        import ollama

        try:
            yield
        except ollama.ResponseError as refusal:
            raise _refusal_error(model, refusal.status_code, refusal.error) from refusal
        except httpx.HTTPStatusError as refusal:
            raise _refusal_error(model, refusal.response.status_code, refusal.response.text) from refusal
        except (ConnectionError, httpx.ConnectError, httpx.ConnectTimeout) as refusal:
            raise ModelUnreachable(
                f"No Ollama server answers at {self.url}.", "Start it with `ollama serve`."
            ) from refusal
        except (AttributeError, TypeError) as error:  # the libraries expect an object
            raise ModelUnreachable(
                f"The server at {self.url} does not speak Ollama's API.", "Check the address of the server."
            ) from error
        except (httpx.TransportError, ValueError) as error:
            raise self.interrupted() from error


def _refusal_error(model: str, status: int, text: str) -> ModelError:
    reason = " ".join(text.split())[:300]  # a server that is not Ollama may answer with a page
    if status == httpx.codes.NOT_FOUND:
        return ModelMissing(
            f"Ollama does not have the model {model}." if model else f"Ollama says: {reason}.",
            f"Fetch it with `ollama pull {model}`." if model else "Update Ollama.",
        )
    return ModelError(
        f"Ollama refused or failed: {reason or f'status {status}'}.",
        "Look at Ollama's log; too little memory is the usual reason.",
    )


class OllamaChat(ServerChat):
    """A chat model on an Ollama server.

    Answers under a schema and choices do not think, unless the server then drops the schema, which is
    detected at the first answer that is not JSON.

    Args:
        model: As ``ollama list`` shows it.
        context_tokens: Requested from the server as ``num_ctx``.
    """

    def __init__(self, model: str, server: OllamaServer, context_tokens: int) -> None:
        super().__init__(f"ollama:{model}", partial(Wire, "Ollama", server.patience))
        self.model = model
        self.server = server
        self._requested = context_tokens
        self.schema_thinking = False
        """Whether the model thinks before an answer under a schema; set by the first that is not JSON."""
        self._facts: ModelFacts | None = None

    @property
    def context_tokens(self) -> int:
        """The context requested from the server: at most what the model was trained for.

        The first use asks the server, and raises what `OllamaServer.facts` raises.
        """
        return min(self._requested, self.facts().trained_context or self._requested)

    def facts(self, cancel: threading.Event | None = None) -> ModelFacts:
        """The server's information about the model, cached. Raises what `OllamaServer.facts` raises."""
        if self._facts is None:
            self._facts = self.server.facts(self.model, cancel)
        return self._facts

    def _prepare(self, cancel: threading.Event | None) -> None:
        self.facts(cancel)

    def _generate(self, messages: Sequence[Message], options: ChatOptions) -> Reply:
        used_thinking = self.schema_thinking
        reply = super()._generate(messages, options)
        if options.schema is not None and not used_thinking and reply.finish_reason == "stop":
            self.schema_thinking = not _is_json(reply.text)
        return reply

    def _parts(self, messages: Sequence[Message], options: ChatOptions, top: int = 0) -> Generator[Part]:
        thinks = not top and (options.schema is None or self.schema_thinking)
        request: dict[str, Any] = {
            "options": {
                "num_ctx": self.context_tokens,
                "num_predict": options.max_tokens,
                "temperature": 0.0,
            },
            # Ollama rejects the switch for models without thinking.
            "reasoning": thinks if self.facts().thinks else None,
        }
        if options.schema is not None:
            request["format"] = dict(options.schema)
        if top:
            request |= {"logprobs": True, "top_logprobs": top}
        turns = [(message.role, message.content) for message in messages]
        wire = self._wire = self._new_wire()
        with self.server.explain_errors(self.model):
            for chunk in wire.run(lambda: self._stream(wire, turns, request), options.cancel):
                logprobs = chunk.response_metadata.get("logprobs") or [{}]
                top_logprobs = logprobs[0].get("top_logprobs") or ()
                yield Part(
                    str(chunk.content),
                    str(chunk.additional_kwargs.get("reasoning_content", "")),
                    [(str(entry["token"]), float(entry["logprob"])) for entry in top_logprobs],
                )

    def _stream(self, wire: Wire, turns: Any, request: dict[str, Any]) -> Iterator[Any]:
        from langchain_ollama import ChatOllama

        chat = ChatOllama(
            model=self.model,
            base_url=self.server.url,
            client_kwargs={"verify": tls()},
            sync_client_kwargs={"transport": wire, "timeout": wire.timeouts},
        )
        return iter(chat.stream(turns, **request))

    def _bill(self, messages: Sequence[Message]) -> Bill:
        last = self._wire.last
        if not last.get("done"):
            raise self.server.interrupted()
        read, cached = last.get("prompt_eval_count"), last.get("prompt_eval_cached_count")
        finish: FinishReason = "length" if last.get("done_reason") == "length" else "stop"
        # Some versions do not count cached tokens.
        return Bill(read, cached, int(last.get("eval_count") or 0), finish, cached is not None)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


class OllamaEmbedder:
    """An embedding model on an Ollama server; vectors are normalised to unit length here.

    Every method but `name` raises `ModelUnreachable`, `ModelMissing` or `ModelError`. One batch may take as
    long as ``patience.first_token``.
    """

    def __init__(self, model: str, server: OllamaServer) -> None:
        self.name = f"ollama:{model}"
        self._model = model
        self._server = server
        self._query, self._passage = _PREFIXES.get(model.rsplit("/", 1)[-1].split(":", 1)[0], ("", ""))

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        prefixed = [self._passage + text for text in texts]
        batches = range(0, len(prefixed), _BATCH)
        return np.concatenate([self._embed(prefixed[start : start + _BATCH]) for start in batches])

    def embed_query(self, text: str) -> Vectors:
        vector: Vectors = self._embed([self._query + text])[0]
        return vector

    def _embed(self, texts: list[str]) -> Vectors:
        import ollama

        wire = Wire("Ollama", self._server.patience)

        def ask() -> Iterator[Any]:
            with ollama.Client(host=self._server.url, transport=wire, timeout=wire.timeouts) as client:
                yield client.embed(model=self._model, input=texts)

        with self._server.explain_errors(self._model):
            (answer,) = wire.run(ask, None)
        try:
            vectors = np.asarray(answer.embeddings, dtype=np.float32)
        except ValueError as error:
            raise self._unusable_error("its vectors differ in length") from error
        if vectors.ndim != 2 or len(vectors) != len(texts):
            raise self._unusable_error(f"{len(vectors)} vectors came for {len(texts)} texts")
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not np.isfinite(lengths).all() or not lengths.all():
            raise self._unusable_error("a vector is zero or not a number")
        unit: Vectors = (vectors / lengths).astype(np.float32)
        return unit

    def _unusable_error(self, reason: str) -> ModelError:
        return ModelError(
            f"{self._model} on Ollama gave no usable vectors: {reason}.",
            "Choose an embedding model, e.g. `ollama pull nomic-embed-text`.",
        )
